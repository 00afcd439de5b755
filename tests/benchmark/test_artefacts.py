"""Artefacts: the data files are those that the paper's figures read, and every table is there."""

import csv
import json
import math
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from longsynth.benchmark.experiments import METHODS, REFERENCES
from longsynth.report.study_style import look

M7 = [
    "Bootstrap",
    "Independent",
    "Temporal-PCA",
    "ScoreDiff",
    "DP-Markov",
    "DP-Score",
    "TRUST-LONGSYNTH",
]
BARS = {"mean", "std"}
COLUMNS = (
    dict.fromkeys(
        (
            "main_auprc",
            "main_brier",
            "main_ece",
            "membership_auc",
            "marginal_ks",
            "correlation_error",
            "autocorrelation_error",
        ),
        BARS,
    )
    | {"canary": {"exposure_rate"}, "runtime_fit": {"mean"}, "peak_memory": {"mean"}}
    | {f"epsilon_{name}": {"epsilon", *BARS} for name in ("auprc", "membership", "autocorr")}
    | {
        f"{curve}_{method}": columns
        for curve, columns in {
            "roc_curves": {"fpr", "tpr"},
            "pr_curves": {"recall", "precision"},
            "calibration_curves": {"predicted", "observed"},
        }.items()
        for method in (
            "Independent",
            "Temporal_PCA",
            "ScoreDiff",
            "DP_Markov",
            "DP_Score",
            "TRUST_LONGSYNTH",
        )
    }
    | {
        f"{sweep}_{method}": {column, "mean"}
        for sweep, column in {
            "data_scarcity": "train_patients",
            "missingness_robustness": "extra_missing_rate",
        }.items()
        for method in ("Temporal_PCA", "DP_Score", "TRUST_LONGSYNTH")
    }
    | {
        f"scalability_{method}": {"patients_total", "fit_seconds", "sample_seconds"}
        for method in ("ScoreDiff", "DP_Score", "TRUST_LONGSYNTH")
    }
    | {"ablation_auprc": {"mean"}}
)
ABLATION = ["Full", "No fairness floor", "Diagonal covariance", "Unconditioned masks/gaps"]
TABLES = ("dataset", "configuration", "main", "statistics", "ablation", "departures", "runtime")
PREFIXES = (  # of files that a macro of the LaTeX document names in full
    "roc_curves",
    "pr_curves",
    "calibration_curves",
    "data_scarcity",
    "missingness_robustness",
)
FIGURES = ("main", "fidelity", "curves", "robustness", "efficiency")


def read(study: Path, name: str) -> list[dict[str, str]]:
    with (study / "figures/data" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_data_files_are_exactly_those_that_the_figures_read(study: Path) -> None:
    assert len(COLUMNS) == 41
    assert {p.stem for p in (study / "figures/data").iterdir()} == set(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_data_file_has_its_columns_filled_with_numbers(study: Path, name: str) -> None:
    rows = read(study, name)
    assert rows
    for row in rows:
        assert set(row) >= COLUMNS[name]
        assert None not in row  # no comma in a cell
        for column in COLUMNS[name]:
            assert math.isfinite(float(row[column]))


def test_bars_stand_in_the_order_of_their_labels(study: Path) -> None:
    for name, columns in COLUMNS.items():
        rows = read(study, name)
        if "method" in rows[0]:
            assert [row["method"] for row in rows] == M7
        elif name == "ablation_auprc":
            assert [row["variant"] for row in rows] == ABLATION
        else:  # lines are joined in file order
            x = next(iter(c for c in rows[0] if c in columns))
            values = [float(row[x]) for row in rows]
            assert values == sorted(values)


def test_logarithmic_axes_get_numbers_above_zero(study: Path) -> None:
    for name in ("runtime_fit", "peak_memory"):
        assert all(float(row["mean"]) > 0 for row in read(study, name))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_there_in_latex_and_markdown(study: Path, name: str) -> None:
    latex = (study / "tables" / f"{name}.tex").read_text(encoding="utf-8")
    assert rf"\label{{tab:{name}}}" in latex
    assert latex.isascii()
    assert "| ---" in (study / "tables" / f"{name}.md").read_text(encoding="utf-8")


def test_the_main_table_carries_train_on_real_base_rate_and_mean_prediction(study: Path) -> None:
    text = (study / "tables/main.md").read_text(encoding="utf-8")
    for method in (*METHODS, *REFERENCES):
        assert look(method).label in text
    assert "Mean prediction" in text


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_twice(study: Path, name: str) -> None:
    assert (study / "figures" / f"{name}.png").stat().st_size > 10_000
    assert (study / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="LaTeX is not installed")
def test_the_papers_own_source_compiles_with_our_data_beside_it(
    study: Path, tmp_path: Path
) -> None:
    paper = Path(os.environ.get("LONGSYNTH_COHORTS", "/nowhere")).parent / "paper/paper.tex"
    if not paper.is_file():
        pytest.skip("the paper's source is not at hand: set LONGSYNTH_COHORTS")
    missing = r"\resizebox{\textwidth}{!}{\includegraphics[]{ }}"  # a picture without a file
    assert missing in paper.read_text(encoding="utf-8")
    (tmp_path / "paper.tex").write_text(paper.read_text(encoding="utf-8").replace(missing, ""))
    shutil.copytree(study / "figures/data", tmp_path / "figures/data")
    compiled = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(compiled, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_latex_document_draws_every_data_file(study: Path) -> None:
    text = (study / "paper/study.tex").read_text(encoding="utf-8")
    for name in COLUMNS:
        prefix = next((p for p in PREFIXES if name.startswith(p)), name)
        assert f"{{{prefix}}}" in text or f"/{prefix}.csv" in text, name
    assert (study / "paper/architecture.tex").is_file()


def test_ledgers_versions_and_the_description_are_kept(study: Path) -> None:
    ledgers = [json.loads(p.read_text(encoding="utf-8")) for p in (study / "ledgers").iterdir()]
    assert {ledger["method"] for ledger in ledgers} == set(METHODS)
    private = {ledger["method"] for ledger in ledgers if "epsilon" in ledger}
    assert private == {"dp-markov", "dp-score", "trust"}
    assert all("NOT PRIVATE" in ledger["promise"] for ledger in ledgers if "promise" in ledger)
    assert {"numpy", "scikit-learn", "opendp"} <= set(
        json.loads((study / "versions.json").read_text())
    )
    assert json.loads((study / "study.json").read_text())["experiments"][0]["name"] == "dataset"


def test_the_report_shows_the_paper_beside_ours_and_names_differences(study: Path) -> None:
    text = (study / "REPORT.md").read_text(encoding="utf-8")
    assert "0.342 ± 0.106" in text  # the paper's
    assert "Ours less paper" in text
    assert "Train on real: the membership attack reaches AUROC 1.000" in text
    assert "(Holm p " in text
    assert "its ε allows 0.9" in text
