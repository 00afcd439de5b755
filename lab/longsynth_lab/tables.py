"""The paper's tables, filled from seed-level results. No number is typed here."""

from longsynth_lab.experiments import (
    ABLATION,
    BASELINES,
    DEPARTURES,
    MAIN,
    MARGINALS,
    METHODS,
    PRINTED,
    PROPOSED,
    REFERENCES,
)
from longsynth_lab.results import Results
from longsynth_lab.split import SHARES
from longsynth_lab.statistics import Comparison, Summary, compared, summary
from longsynth_lab.study_style import look, metric_head, metric_label
from longsynth_lab.study_tables import Table
from longsynth_lab.trial import schema_of

MAIN_METRICS = (
    "auprc",
    "brier",
    "ece",
    "mean_prediction",
    "autocorrelation_error",
    "mia_auc",
)
TESTED = ("auprc", "brier", "ece", "correlation_error", "autocorrelation_error", "mia_auc")
REFERENCE_BASELINE = "dp-score"  # the one that tab:statistics shows
ABLATION_METRICS = ("auprc", "autocorrelation_error", "ece")
DEPARTURE_METRICS = (
    "auprc",
    "ece",
    "marginal_ks",
    "correlation_error",
    "autocorrelation_error",
    "missingness_error",
)
DEPARTED = (  # experiment, method, settings
    ("departures", PROPOSED, DEPARTURES),
    ("marginals", "independent", MARGINALS),
)
COSTS = {"fit_seconds": 4, "sample_seconds": 4, "peak_mb": 2}  # digits
FACTS = {
    "patients": ("Patients", 0),
    "event_rate": ("Rare-event rate", 3),
    "group_share": ("Protected-group share", 3),
    "missing_rate": ("Missing-entry rate", 3),
    "mean_gap": ("Mean gap (h)", 2),
}


def study_tables(results: Results) -> list[Table]:
    return [
        dataset(results),  # tab:dataset
        configuration(results),  # tab:configuration
        main(results),  # tab:main
        statistics(results),  # tab:statistics
        statistics_of_all(results),
        ablation(results),  # tab:ablation
        departures(results),
        runtime(results),  # tab:runtime
    ]


def dataset(results: Results) -> Table:
    seeds = results.seeds("dataset")
    first = seeds[0] if seeds else 0
    rows = []
    for fact, (label, digits) in FACTS.items():
        cells = []
        for part in ("all", "train", "test"):
            found = results.by_seed("dataset", "train on real", MAIN, f"{part}_{fact}")
            cells.append(number(found.get(first, float("nan")), digits))
        rows.append((label, *cells))
    caption = f"One population and its partition (seed {first})."
    return Table("dataset", caption, ("Property", "All", "Train", "Test"), tuple(rows))


def configuration(results: Results) -> Table:
    setting, schema = PRINTED, schema_of(PRINTED)
    patients = results.by_seed("dataset", "train on real", MAIN, "all_patients")
    counts = sorted({int(n) for n in patients.values()})
    shares = " / ".join(f"{round(100 * share)} %" for share in SHARES)
    resolved = schema.resolved(counts[0] if counts else 1).resolved_constants
    rows = (
        ("Independent populations", f"{len(results.seeds('comparison'))} seeds"),
        ("Patients per population", ", ".join(map(str, counts))),
        ("Observation slots / variables", f"{schema.slots} / {len(schema.variables)}"),
        ("Split", f"{shares}, patient-disjoint, stratified by site, group and event"),
        ("Synthetic records", "as many as training patients"),
        ("Privacy parameters", f"ε = {setting.epsilon:g}, δ = {setting.delta:g}"),
        ("Accounting", setting.accounting),
        ("Clip radius", f"{resolved.clip_radius:.3f}"),
        ("Covariance bandwidth", f"{resolved.bandwidth} slots"),
        ("Protected-event floor", f"{resolved.event_floor:g}"),
        ("Choices that differ from our defaults", "as the paper prints them; see the departures"),
        (
            "Downstream classifier",
            "regularised logistic regression on patient summaries, without weights",
        ),
        ("Fidelity and attacks", "held against validation and test patients"),
    )
    caption = "Configuration of the comparison."
    return Table("configuration", caption, ("Item", "Setting"), rows, text=True)


def main(results: Results) -> Table:
    rows = [
        (look(method).label, *(spread(at(results, method, metric)) for metric in MAIN_METRICS))
        for method in (*METHODS, *REFERENCES)
    ]
    seeds = len(results.seeds("comparison"))
    rate = summary(results.values("dataset", "train on real", MAIN, "test_event_rate"))
    caption = (
        f"Train on synthetic, test on real: mean ± standard deviation over {seeds} seeds. Last "
        "two rows: the same classifier trained on the real training patients, and one that "
        f"predicts their event rate for everyone. The test patients' event rate, which the mean "
        f"prediction should meet, is {spread(rate)}. AC: lag-1 autocorrelation. "
        "Private: DP-Markov, DP-Score, TRUST-LONGSYNTH."
    )
    head = ("Method", *(metric_head(metric) for metric in MAIN_METRICS))
    labels = (look(PROPOSED).label,)
    return Table("main", caption, head, tuple(rows), labels, look(REFERENCES[0]).label)


def statistics(results: Results) -> Table:
    rows = []
    for metric in TESTED:
        tests = compared(results, metric, proposed=PROPOSED, baselines=BASELINES)
        chosen = next(test for test in tests if test.baseline == REFERENCE_BASELINE)
        rows.append((metric_label(metric), *_tested(chosen)))
    seeds = len(results.seeds("comparison"))
    caption = (
        f"{look(PROPOSED).label} less {look(REFERENCE_BASELINE).label}, paired over {seeds} "
        f"seeds: mean difference with its 95 % interval, Wilcoxon p, and Holm's p over the "
        f"{len(BASELINES)} baselines of the metric."
    )
    head = ("Metric", "Mean diff.", "95 % interval", "p", "Holm p")
    return Table("statistics", caption, head, tuple(rows))


def statistics_of_all(results: Results) -> Table:
    rows = [
        (f"{metric_label(metric)}: {look(test.baseline).label}", *_tested(test))
        for metric in TESTED
        for test in compared(results, metric, proposed=PROPOSED, baselines=BASELINES)
    ]
    caption = f"{look(PROPOSED).label} less every baseline, paired over seeds."
    head = ("Metric: baseline", "Mean diff.", "95 % interval", "p", "Holm p")
    return Table("statistics-all", caption, head, tuple(rows))


def ablation(results: Results) -> Table:
    rows = []
    for variant in ABLATION:
        found = [
            summary(results.values("ablation", PROPOSED, variant, metric))
            for metric in ABLATION_METRICS
        ]
        rows.append((variant, *(spread(one) for one in found)))
    seeds = len(results.seeds("ablation"))
    caption = f"Components of {look(PROPOSED).label}: mean ± standard deviation over {seeds} seeds."
    head = ("Variant", *(metric_head(metric) for metric in ABLATION_METRICS))
    return Table("ablation", caption, head, tuple(rows))


def departures(results: Results) -> Table:
    rows = []
    for experiment, method, settings in DEPARTED:
        for setting in settings:
            found = [
                summary(results.values(experiment, method, setting, metric))
                for metric in DEPARTURE_METRICS
            ]
            rows.append((departure(method, setting), *(spread(one) for one in found)))
    seeds = len(results.seeds("departures"))
    caption = (
        f"Departures from the paper, of {look(PROPOSED).label} where no other method is named: our "
        "defaults, the paper as printed, and our defaults with one choice of the paper. Mean ± "
        f"standard deviation over {seeds} seeds."
    )
    head = ("Choice", *(metric_head(metric) for metric in DEPARTURE_METRICS))
    return Table("departures", caption, head, tuple(rows))


def departure(method: str, setting: str) -> str:
    """The name of a row: a departure, and whose it is if not the proposed method's."""
    return setting if method == PROPOSED else f"{look(method).label}: {setting}"


def runtime(results: Results) -> Table:
    rows = []
    for method in METHODS:
        found = {m: summary(results.values("cost", method, MAIN, m)).mean for m in COSTS}
        rows.append((look(method).label, *(number(found[m], COSTS[m]) for m in COSTS)))
    caption = (
        "Cost at the size of the comparison, one thread: seconds to fit (with building the model) "
        "and to sample, and the peak of traced memory over both."
    )
    head = ("Method", *(metric_label(metric) for metric in COSTS))
    return Table("runtime", caption, head, tuple(rows))


def at(results: Results, method: str, metric: str) -> Summary:
    """The summary of a metric in the comparison."""
    return summary(results.values("comparison", method, MAIN, metric))


def number(value: float, digits: int = 3) -> str:
    return "–" if value != value else f"{value:.{digits}f}"


def spread(found: Summary, digits: int = 3) -> str:
    if found.seeds < 2:
        return number(found.mean, digits)
    return f"{found.mean:.{digits}f} ± {found.sd:.{digits}f}"


def interval(found: Summary, digits: int = 3, sign: str = "") -> str:
    if found.seeds < 2:
        return "–"
    return f"{found.lower:{sign}.{digits}f} to {found.upper:{sign}.{digits}f}"


def _tested(test: Comparison) -> tuple[str, str, str, str]:
    mean = test.difference.mean
    shown = "–" if mean != mean else f"{mean:+.3f}"
    return shown, interval(test.difference, 3, "+"), number(test.p), number(test.holm)
