"""docs/population.md is generated: it says what the stored results say, and nothing else."""

from pathlib import Path

from longsynth.benchmark.population import population_text
from longsynth.benchmark.results import read_results

ROOT = Path(__file__).parents[2]


def test_the_page_in_docs_is_the_one_the_results_give() -> None:
    results = read_results(ROOT / "benchmarks/results/population.parquet")
    assert (ROOT / "docs/population.md").read_text() == population_text(results, 504, 20_000)


def test_the_page_holds_every_method_and_both_references() -> None:
    text = (ROOT / "docs/population.md").read_text()
    for name in (
        "Bootstrap",
        "Independent",
        "Temporal-PCA",
        "ScoreDiff",
        "DP-Markov",
        "DP-Score",
        "TRUST-LONGSYNTH",
        "Train on real",
        "Base rate",
    ):
        assert name in text
