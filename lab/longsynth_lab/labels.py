"""Labels, colours and markers of methods and metrics, the same in every table and figure."""

from dataclasses import dataclass


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


METRICS = {
    "auroc": ("AUROC", "↑"),
    "auprc": ("AUPRC", "↑"),
    "brier": ("Brier", "↓"),
    "ece": ("ECE", "↓"),
    "calibration_slope": ("Calibration slope", "→1"),
    "calibration_intercept": ("Calibration intercept", "→0"),
    "mean_prediction": ("Mean prediction", ""),
    "group0_auprc": ("Group 0 AUPRC", "↑"),
    "group1_auprc": ("Group 1 AUPRC", "↑"),
    "worst_group_auprc": ("Worst-group AUPRC", "↑"),
    "group_gap_auprc": ("Group gap AUPRC", "↓"),
    "marginal_ks": ("Marginal KS", "↓"),
    "correlation_error": ("Correlation error", "↓"),
    "autocorrelation_error": ("AC error", "↓"),
    "transition_error": ("Transition error", "↓"),
    "prevalence_error": ("Prevalence error", "↓"),
    "prevalence_error_group0": ("Prevalence error, group 0", "↓"),
    "prevalence_error_group1": ("Prevalence error, group 1", "↓"),
    "missingness_error": ("Missingness error", "↓"),
    "length_tv": ("Length TV", "↓"),
    "slowest_pass_seconds": ("Slowest pass (s)", "↓"),
    "passes": ("Passes", ""),
    "gap_wasserstein": ("Gap Wasserstein (h)", "↓"),
    "visit_count_error": ("Visit count error", "↓"),
    "mia_auc": ("MIA AUROC", "→.5"),
    "mia_density_auc": ("Density MIA AUROC", "→.5"),
    "attribute_accuracy": ("Attribute inferred, members", ""),
    "attribute_accuracy_control": ("Attribute inferred, non-members", ""),
    "attribute_baseline": ("Attribute, majority class", ""),
    "attribute_advantage": ("Attribute advantage", "→0"),
    "canary_exposure": ("Canary exposure", "↓"),
    "fit_seconds": ("Fit (s)", "↓"),
    "sample_seconds": ("Sample (s)", "↓"),
    "peak_mb": ("Peak MB", "↓"),
}


def metric_label(metric: str) -> str:
    return METRICS.get(metric, (metric.replace("_", " "), ""))[0]


def metric_head(metric: str) -> str:
    """The label with an arrow toward better, for the head of a table."""
    label, arrow = METRICS.get(metric, (metric.replace("_", " "), ""))
    return f"{label} {arrow}".strip()
