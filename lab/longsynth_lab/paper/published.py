"""The numbers printed in the paper. Where its text and tables differ, the tables."""

# tab:main: mean and standard deviation over five seeds
MAIN: dict[str, dict[str, tuple[float, float]]] = {
    method: dict(
        zip(("auprc", "brier", "ece", "autocorrelation_error", "mia_auc"), found, strict=True)
    )
    for method, found in {
        "bootstrap": (
            (0.378, 0.104),
            (0.180, 0.023),
            (0.237, 0.028),
            (0.056, 0.027),
            (0.792, 0.008),
        ),
        "independent": (
            (0.431, 0.068),
            (0.201, 0.037),
            (0.237, 0.054),
            (0.397, 0.041),
            (0.503, 0.032),
        ),
        "temporal-pca": (
            (0.339, 0.138),
            (0.339, 0.320),
            (0.349, 0.329),
            (0.265, 0.037),
            (0.495, 0.037),
        ),
        "scorediff": (
            (0.318, 0.097),
            (0.214, 0.123),
            (0.291, 0.159),
            (0.245, 0.044),
            (0.503, 0.013),
        ),
        "dp-markov": (
            (0.371, 0.069),
            (0.094, 0.013),
            (0.096, 0.016),
            (0.148, 0.064),
            (0.503, 0.024),
        ),
        "dp-score": (
            (0.319, 0.143),
            (0.094, 0.010),
            (0.099, 0.015),
            (0.453, 0.057),
            (0.486, 0.041),
        ),
        "trust": ((0.342, 0.106), (0.088, 0.006), (0.082, 0.008), (0.317, 0.031), (0.499, 0.040)),
    }.items()
}

SEEDS = 5  # behind each mean of tab:main

# tab:main and the text of section V give different numbers for the same thing
CONTRADICTED = {
    ("independent", "auprc"): 0.549,
    ("dp-markov", "auprc"): 0.415,
    ("bootstrap", "mia_auc"): 0.741,
}

# fig:main: where the axes of panels (b) and (c) end
AXIS_TOPS = {"brier": 0.25, "ece": 0.30}

# section V, in the text: means without a spread
TEXT: dict[str, dict[str, float]] = {
    "correlation_error": {"dp-score": 0.308, "trust": 0.222},
    "worst_group_auprc": {"dp-markov": 0.256, "dp-score": 0.224, "trust": 0.183},
    "canary_exposure": {"dp-score": 0.288, "trust": 0.018},
}

# the macros of its text: changes of the mean relative to DP-Score
MACROS: dict[str, tuple[str, str]] = {
    "AUPRCGain": ("AUPRC gained", "7.5 %"),
    "BrierReduction": ("Brier score reduced by", "6.1 %"),
    "ECEReduction": ("ECE reduced by", "17.0 %"),
    "CorrReduction": ("Correlation error reduced by", "28.0 %"),
    "AutoReduction": ("Lag-1 error reduced by", "30.1 %"),
}

# tab:statistics: mean difference from DP-Score, p and Holm p
STATISTICS: dict[str, tuple[float, float, float]] = {
    "auprc": (0.024, 0.625, 1.000),
    "brier": (-0.006, 0.188, 0.375),
    "ece": (-0.017, 0.062, 0.375),
    "correlation_error": (-0.086, 0.062, 0.375),
    "autocorrelation_error": (-0.137, 0.062, 0.375),
    "mia_auc": (0.013, 0.625, 1.000),
}

# tab:ablation: three-seed means
ABLATION: dict[str, dict[str, float]] = {
    variant: dict(zip(("auprc", "autocorrelation_error", "ece"), found, strict=True))
    for variant, found in {
        "Full": (0.360, 0.292, 0.083),
        "No fairness floor": (0.350, 0.296, 0.103),
        "Diagonal covariance": (0.213, 0.453, 0.466),
        "Unconditioned masks/gaps": (0.364, 0.294, 0.077),
    }.items()
}

# tab:runtime
RUNTIME_DIGITS = {"fit_seconds": 3, "sample_seconds": 3, "peak_mb": 2}
RUNTIME: dict[str, dict[str, float]] = {
    method: dict(zip(("fit_seconds", "sample_seconds", "peak_mb"), found, strict=True))
    for method, found in {
        "bootstrap": (0.000, 0.002, 0.65),
        "independent": (0.050, 0.041, 2.00),
        "temporal-pca": (0.064, 0.019, 1.83),
        "scorediff": (0.048, 0.020, 2.36),
        "dp-markov": (0.531, 1.370, 11.04),
        "dp-score": (0.048, 0.023, 2.05),
        "trust": (0.049, 0.022, 2.43),
    }.items()
}

# tab:dataset, seed 11: all, train, test
DATASET: dict[str, tuple[float, float, float]] = {
    "patients": (720, 503, 109),
    "event_rate": (0.092, 0.091, 0.092),
    "group_share": (0.228, 0.227, 0.229),
    "missing_rate": (0.147, 0.149, 0.145),
    "mean_gap": (11.11, 11.11, 11.31),
}
