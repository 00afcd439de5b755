"""Labels, colours and markers of methods and metrics, the same in every table and figure."""

from dataclasses import dataclass

from longsynth.audit.metric import ARROWS as SPACED
from longsynth.audit.metric import Better
from longsynth.audit.registry import find_metric


@dataclass(frozen=True, slots=True)
class Look:
    label: str
    colour: str
    private: bool
    marker: str = "o"

    @property
    def suffix(self) -> str:
        """The label as part of a file name."""
        return self.label.replace("-", "_")


LOOKS = {  # colours that the colour-blind can tell apart
    "bootstrap": Look("Bootstrap", "#7f7f7f", False, "o"),
    "independent": Look("Independent", "#b8860b", False, "s"),
    "temporal-pca": Look("Temporal-PCA", "#56b4e9", False, "D"),
    "scorediff": Look("ScoreDiff", "#cc79a7", False, "^"),
    "dp-markov": Look("DP-Markov", "#009e73", True, "s"),
    "dp-score": Look("DP-Score", "#0072b2", True, "D"),
    "trust": Look("TRUST-LONGSYNTH", "#d55e00", True, "o"),
    "copula-score": Look("Copula-Score", "#882255", True, "P"),
    "train on real": Look("Train on real", "#000000", False, "|"),
    "base rate": Look("Base rate", "#000000", False, "|"),
}
_OTHERS = ("#332288", "#88ccee", "#117733", "#999933", "#aa4499")


def look(method: str) -> Look:
    """Return the label, colour and marker of a method. Unknown methods get a colour by name."""
    if method in LOOKS:
        return LOOKS[method]
    return Look(method, _OTHERS[sum(method.encode()) % len(_OTHERS)], False, "v")


OF_THE_LAB: dict[str, tuple[str, Better]] = {  # what an audit does not measure
    "length_tv": ("Length TV", "lower"),
    "slowest_pass_seconds": ("Slowest pass (s)", "lower"),
    "passes": ("Passes", "none"),
    "canary_exposure": ("Canary exposure", "lower"),
    "fit_seconds": ("Fit (s)", "lower"),
    "sample_seconds": ("Sample (s)", "lower"),
    "peak_mb": ("Peak MB", "lower"),
}
ARROWS: dict[Better, str] = {  # without spaces, for narrow columns
    better: arrow.replace(" 0.", ".").replace(" ", "") for better, arrow in SPACED.items()
}


def metric_label(metric: str) -> str:
    """The label of a metric, from the audit's registry."""
    return _label_and_direction(metric)[0]


def metric_head(metric: str) -> str:
    """The label with the direction of better, for the head of a table."""
    label, better = _label_and_direction(metric)
    return f"{label} {ARROWS[better]}".strip()


def _label_and_direction(metric: str) -> tuple[str, Better]:
    known = find_metric(metric)
    if known is not None:
        return known.short or known.label, known.better
    return OF_THE_LAB.get(metric, (metric.replace("_", " "), "none"))
