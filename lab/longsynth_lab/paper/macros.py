"""paper/macros.tex: the eleven macros that the paper's text reads, from the results.

A gain that is a loss says so, in the sign and in a word: the paper's sentences call every one of
them a gain or a decrease, and must not turn a loss into one.
"""

from longsynth_lab.experiments import PROPOSED
from longsynth_lab.labels import look
from longsynth_lab.paper.study_tables import REFERENCE_BASELINE, at
from longsynth_lab.results import Results
from longsynth_lab.tables import number

LEVELS = {
    "TrustAUPRC": "auprc",
    "TrustBrier": "brier",
    "TrustECE": "ece",
    "TrustCorr": "correlation_error",
    "TrustAuto": "autocorrelation_error",
    "TrustMIA": "mia_auc",
}
GAINS = {"AUPRCGain": "auprc"}
REDUCTIONS = {
    "BrierReduction": "brier",
    "ECEReduction": "ece",
    "CorrReduction": "correlation_error",
    "AutoReduction": "autocorrelation_error",
}
NAMES = (*LEVELS, *GAINS, *REDUCTIONS)
UNKNOWN = "not measured"


def macros(results: Results) -> dict[str, str]:
    """Return name → LaTeX: means over seeds, and changes of the mean relative to DP-Score."""
    found = {}
    for name, metric in LEVELS.items():
        mean = at(results, PROPOSED, metric).mean
        found[name] = UNKNOWN if mean != mean else number(mean)
    for name, metric in GAINS.items():
        found[name] = _percent(_change(results, metric), "a loss")
    for name, metric in REDUCTIONS.items():
        found[name] = _percent(-_change(results, metric), "an increase")
    return found


def macros_text(results: Results) -> str:
    seeds = ", ".join(map(str, results.seeds("comparison")))
    lines = [
        f"% Means over seeds {seeds}; changes of the mean relative to "
        f"{look(REFERENCE_BASELINE).label}.",
        *(rf"\newcommand{{\{name}}}{{{value}}}" for name, value in macros(results).items()),
    ]
    return "\n".join(lines) + "\n"


def _change(results: Results, metric: str) -> float:
    ours, theirs = at(results, PROPOSED, metric).mean, at(results, REFERENCE_BASELINE, metric).mean
    return 100 * (ours / theirs - 1) if theirs else float("nan")


def _percent(gain: float, if_negative: str) -> str:
    if gain != gain:
        return UNKNOWN
    shown = f"{abs(gain):.1f}"
    if gain < 0 and float(shown):
        return rf"$-${shown}\% ({if_negative})"
    return rf"{shown}\%"
