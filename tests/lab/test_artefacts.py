"""Artefacts: the data files are those that the paper's figures read, and every table is there."""

import csv
import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from longsynth_lab.experiments import METHODS, REFERENCES
from longsynth_lab.labels import look
from longsynth_lab.results import read_results

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
    | {"canary": {"exposure_rate"}}
    | {name: {"mean", "least", "most"} for name in ("runtime_fit", "peak_memory")}
    | {f"epsilon_{name}": {"epsilon", *BARS} for name in ("auprc", "membership", "autocorr")}
    | {
        f"{curve}_{method}": columns
        for curve, columns in {
            "roc_curves": {"fpr", "tpr"},
            "pr_curves": {"recall", "precision"},
            "calibration_curves": {"predicted", "observed", "patients"},
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
        f"scalability_{method}": {
            "patients_total",
            "fit_seconds",
            "sample_seconds",
            *("seconds", "least", "most"),
        }
        for method in ("ScoreDiff", "DP_Score", "TRUST_LONGSYNTH")
    }
    | {"ablation_auprc": {"mean"}}
)
ABLATION = ["Full", "No fairness floor", "Diagonal covariance", "Unconditioned masks/gaps"]
TABLES = (
    *("dataset", "configuration", "main", "statistics", "ablation", "departures", "runtime"),
    *("utility", "subgroups", "fidelity", "prevalence", "membership", "attribute", "canary"),
    *("support", "clipping", "attacks"),
)
SECTION_V = (  # every metric that the paper's section V names, as a table's column says it
    *("AUROC", "AUPRC", "Brier", "ECE", "Calibration slope"),
    *("Group 0 AUPRC", "Group 1 AUPRC", "Worst-group AUPRC", "Group gap AUPRC"),
    *("Marginal KS", "Correlation error", "AC error", "Transition error"),
    *("Prevalence error", "Prevalence error, group 0", "Prevalence error, group 1"),
    *("Missingness error", "Gap Wasserstein (h)"),
    *("MIA AUROC", "Attribute inferred, members", "Attribute advantage", "4 copies"),
    *("Fit (s)", "Sample (s)", "Peak MB"),
)
PREFIXES = (  # of files that a macro of the LaTeX document names in full
    "roc_curves",
    "pr_curves",
    "calibration_curves",
    "data_scarcity",
    "missingness_robustness",
)
FIGURES = ("main", "fidelity", "curves", "robustness", "efficiency")
LATEX = pytest.mark.skipif(not shutil.which("pdflatex"), reason="LaTeX is not installed")


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


def test_every_metric_that_section_v_names_has_a_column_with_numbers(study: Path) -> None:
    columns: dict[str, list[str]] = {}
    for path in (study / "tables").glob("*.md"):
        table = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
        rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]
        for place, name in enumerate(rows[0]):
            plain = re.sub(r" (↑|↓|→\S+)$", "", name)
            columns.setdefault(plain, []).extend(row[place] for row in rows[2:])
    for name in SECTION_V:
        assert any(re.match(r"-?\d", cell) for cell in columns[name]), name


def test_the_report_has_a_place_for_every_metric_that_section_v_names(study: Path) -> None:
    text = (study / "REPORT.md").read_text(encoding="utf-8")
    assert [name for name in SECTION_V if f"| {name} " not in text] == []
    for heading in ("### Support", "### Clipping", "### Attacks"):
        assert heading in text


def test_calibration_says_how_many_patients_each_bin_has(study: Path) -> None:
    predictions = pq.read_table(study / "predictions.parquet").to_pylist()
    for method in METHODS[1:]:
        judged = [
            row
            for row in predictions
            if (row["experiment"], row["method"]) == ("comparison", method)
        ]
        bins = read(study, f"calibration_curves_{look(method).suffix}")
        patients = [int(row["patients"]) for row in bins]
        assert sum(patients) == len(judged)
        events = sum(float(row["observed"]) * n for row, n in zip(bins, patients, strict=True))
        assert events == pytest.approx(sum(row["event"] for row in judged))


def test_the_latex_figures_carry_the_papers_labels_and_whiskers(study: Path) -> None:
    text = (study / "paper/study.tex").read_text(encoding="utf-8")
    figures = re.findall(r"\\begin\{figure\}.*?\\end\{figure\}", text, re.DOTALL)
    labels = [re.search(r"\\label\{fig:(\w+)\}", figure) for figure in figures]
    assert [found and found[1] for found in labels] == ["architecture", *FIGURES]
    for command in ("onebar", "onerange", "onesweep", "budget", "growth"):
        body = text.split(f"\\newcommand{{\\{command}}}")[1].split(r"\newcommand")[0]
        assert "y explicit" in body, command
    ablation = text[text.index("(f) Components") :].split("ablation_auprc.csv")[0]
    assert "y error=std" in ablation


@LATEX
def test_the_latex_document_compiles_without_an_overfull_line(study: Path, tmp_path: Path) -> None:
    for folder in ("paper", "tables", "figures/data"):
        shutil.copytree(study / folder, tmp_path / folder)
    for document in ("architecture", "study", "study"):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{document}.tex"]
        done = subprocess.run(
            command, cwd=tmp_path / "paper", capture_output=True, text=True, errors="replace"
        )
        assert done.returncode == 0, done.stdout[-2000:]
        assert r"Overfull \hbox" not in done.stdout
    assert "undefined" not in done.stdout
    assert (tmp_path / "paper/study.pdf").read_bytes().startswith(b"%PDF")


def test_the_latex_document_draws_every_data_file(study: Path) -> None:
    text = (study / "paper/study.tex").read_text(encoding="utf-8")
    for name in COLUMNS:
        prefix = next((p for p in PREFIXES if name.startswith(p)), name)
        assert f"{{{prefix}}}" in text or f"/{prefix}.csv" in text, name
    assert (study / "paper/architecture.tex").is_file()


def test_records_of_clipping_support_and_attacks_say_that_patients_are_simulated(
    study: Path,
) -> None:
    found = {
        name: json.loads((study / "records" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("clipping", "support", "attacks")
    }
    assert all("simulated" in content["about"] for content in found.values())
    assert {(part["seed"], part["part"]) for part in found["clipping"]["parts"]} == {
        (seed, part) for seed in (11, 22) for part in ("train", "test")
    }
    shares = [part["clipped_patients_share"] for part in found["clipping"]["parts"]]
    assert all(0 <= share <= 1 for share in shares)
    assert max(shares) > 0, "as printed, interpolated values reach the radius for some"
    results = read_results(study / "results.parquet")
    for part in found["support"]["parts"]:
        counted = sum(stratum["patients"] for stratum in part["strata"])
        metric = f"{part['part']}_patients"
        assert counted == results.by_seed("dataset", "train on real", "main", metric)[part["seed"]]
    assert found["attacks"]["settings"]["canary"]["copies"] == "4, 1, 0"
    assert found["attacks"]["settings"]["membership by density"]["neighbours"] == 3


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
    assert "Ours − paper" in text
    assert "Train on real: the membership attack reaches AUROC 1.000" in text
    assert "(Holm p " in text
    assert "its bound is 0.9" in text
