"""Macros of the paper's text: they say what the results say, and a loss never reads as a gain."""

import re
from pathlib import Path

import pytest

from longsynth_lab.paper.macros import LEVELS, NAMES, macros, macros_text
from longsynth_lab.results import Results, Row, read_results

METRICS = ("auprc", "brier", "ece", "correlation_error", "autocorrelation_error", "mia_auc")


def made_up(trust: float, dp_score: float) -> Results:
    return Results(
        Row("comparison", method, seed, "main", metric, value)
        for method, value in (("trust", trust), ("dp-score", dp_score))
        for seed in (11, 22)
        for metric in METRICS
    )


def test_a_higher_auprc_is_a_gain_and_higher_errors_are_increases() -> None:
    found = macros(made_up(0.33, 0.30))
    assert found["AUPRCGain"] == r"10.0\%"
    for name in ("BrierReduction", "ECEReduction", "CorrReduction", "AutoReduction"):
        assert found[name] == r"$-$10.0\% (an increase)"


def test_a_lower_auprc_reads_as_a_loss_and_lower_errors_as_reductions() -> None:
    found = macros(made_up(0.27, 0.30))
    assert found["AUPRCGain"] == r"$-$10.0\% (a loss)"
    assert found["BrierReduction"] == r"10.0\%"


def test_no_difference_is_zero_without_a_sign() -> None:
    for ours in (0.3, 0.29999):
        assert macros(made_up(ours, 0.3))["AUPRCGain"] == r"0.0\%"


def test_what_was_not_measured_says_so() -> None:
    assert set(macros(Results(())).values()) == {"not measured"}


def test_the_file_defines_every_macro_once_with_the_numbers_of_the_results(study: Path) -> None:
    text = (study / "paper/macros.tex").read_text(encoding="utf-8")
    results = read_results(study / "results.parquet")
    assert text == macros_text(results)
    defined = dict(re.findall(r"\\newcommand\{\\(\w+)\}\{(.*)\}", text))
    assert tuple(defined) == NAMES
    for name, metric in LEVELS.items():
        values = results.values("comparison", "trust", "main", metric)
        assert float(defined[name]) == pytest.approx(sum(values) / len(values), abs=6e-4)
