"""docs/real.md is what its result file gives, and no row stands alone."""

from pathlib import Path

from longsynth.benchmark.experiments import METHODS
from longsynth.benchmark.real import real_text
from longsynth.benchmark.results import read_results

ROOT = Path(__file__).parents[2]
RESULTS = read_results(ROOT / "benchmarks" / "results" / "real.parquet")


def test_the_page_is_what_the_results_give() -> None:
    assert (ROOT / "docs" / "real.md").read_text() == real_text(RESULTS)


def test_every_method_stands_beside_training_on_real_and_the_base_rate() -> None:
    for cohort in ("physionet2012", "pbc"):
        assert set(RESULTS.methods(cohort)) == {*METHODS, "train on real", "base rate"}
        assert {"1", "4", "12"} <= set(RESULTS.settings(cohort))
        assert len(RESULTS.seeds(cohort)) == 5
