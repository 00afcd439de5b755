"""Tables of the study, filled from seed-level results: the paper's own, and every other metric of
its section V. No number is typed here."""

from longsynth.reading.simulation import simulated_schema
from longsynth_lab.experiments import BASELINES, MAIN, METHODS, PROPOSED, REFERENCES
from longsynth_lab.labels import look, metric_head, metric_label
from longsynth_lab.paper.section_v import (
    ABLATION,
    CANARIES,
    DEPARTURES,
    MARGINALS,
    PRINTED,
    attack_settings,
)
from longsynth_lab.patients import GROUPS, support_metric
from longsynth_lab.results import Results
from longsynth_lab.split import SHARES
from longsynth_lab.statistics import Comparison, Summary, compared, summary
from longsynth_lab.tables import Table, interval, number, spread
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
    caption = f"One population and its split (seed {first})."
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
        ("Choices that differ from our defaults", "as printed in the paper; see the departures"),
        (
            "Downstream classifier",
            "regularised logistic regression on patient summaries, without weights",
        ),
        ("Fidelity and attacks", "compared with validation and test patients"),
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
        f"predicts their event rate for everyone. The mean prediction should match the event rate "
        f"of the test patients, {spread(rate)}. AC: lag-1 autocorrelation. "
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
        f"{look(PROPOSED).label} minus {look(REFERENCE_BASELINE).label}, paired over {seeds} "
        f"seeds: mean difference with its 95 % interval, Wilcoxon p, and Holm's p over the "
        f"{len(BASELINES)} baselines for that metric."
    )
    head = ("Metric", "Mean diff.", "95 % interval", "p", "Holm p")
    return Table("statistics", caption, head, tuple(rows))


def statistics_of_all(results: Results) -> Table:
    rows = [
        (f"{metric_label(metric)}: {look(test.baseline).label}", *_tested(test))
        for metric in TESTED
        for test in compared(results, metric, proposed=PROPOSED, baselines=BASELINES)
    ]
    caption = f"{look(PROPOSED).label} minus each baseline, paired over seeds."
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
        "Departures from the paper: our defaults, the paper as printed, and our defaults with one "
        f"choice of the paper, for {look(PROPOSED).label} unless another method is named. Mean ± "
        f"standard deviation over {seeds} seeds."
    )
    head = ("Choice", *(metric_head(metric) for metric in DEPARTURE_METRICS))
    return Table("departures", caption, head, tuple(rows))


def departure(method: str, setting: str) -> str:
    """The name of a row: a departure, with its method unless that is the proposed one."""
    return setting if method == PROPOSED else f"{look(method).label}: {setting}"


def runtime(results: Results) -> Table:
    rows = []
    for method in METHODS:
        found = {m: summary(results.values("cost", method, MAIN, m)).mean for m in COSTS}
        rows.append((look(method).label, *(number(found[m], COSTS[m]) for m in COSTS)))
    caption = (
        "Cost at the size of the comparison on one thread: seconds to fit (including the model) "
        "and to sample, and peak traced memory over both."
    )
    head = ("Method", *(metric_label(metric) for metric in COSTS))
    return Table("runtime", caption, head, tuple(rows))


def at(results: Results, method: str, metric: str) -> Summary:
    """The summary of a metric in the comparison."""
    return summary(results.values("comparison", method, MAIN, metric))


def _tested(test: Comparison) -> tuple[str, str, str, str]:
    mean = test.difference.mean
    shown = "–" if mean != mean else f"{mean:+.3f}"
    return shown, interval(test.difference, 3, "+"), number(test.p), number(test.holm)


UTILITY = ("auroc", "auprc", "brier", "ece", "calibration_slope", "calibration_intercept")
SUBGROUPS = ("group0_auprc", "group1_auprc", "worst_group_auprc", "group_gap_auprc")
FIDELITY = (
    "marginal_ks",
    "correlation_error",
    "autocorrelation_error",
    "transition_error",
    "missingness_error",
    "gap_wasserstein",
)
PREVALENCE = ("prevalence_error", "prevalence_error_group0", "prevalence_error_group1")
MEMBERSHIP = ("mia_auc", "mia_density_auc")
ATTRIBUTE = (
    "attribute_accuracy",
    "attribute_accuracy_control",
    "attribute_baseline",
    "attribute_advantage",
)
CLIPPED = {
    "clip_radius": "Clip radius L",
    "clipped_patients_share": "Patients whose row of values was clipped",
    "clipped_values_share": "Observed values outside the public bounds",
    "clipped_gaps_share": "Gaps above the public maximum",
}
SIMULATED = "All patients are simulated."


def further_tables(results: Results) -> list[Table]:
    return [
        *compared_tables(results),
        canary(results),
        support(results),
        clipping(results),
        attacks(),
    ]


def compared_tables(results: Results) -> list[Table]:
    """One row per method and reference, from the comparison."""
    seeds = f"mean ± standard deviation over {len(results.seeds('comparison'))} seeds"
    return [
        _compared(results, "utility", f"Train on synthetic, test on real: {seeds}.", UTILITY),
        _compared(
            results,
            "subgroups",
            f"AUPRC per group of test patients: {seeds}. Group 1 is the protected group. It has "
            "few events per seed; seeds in which a group has no event are left out.",
            SUBGROUPS,
        ),
        _compared(
            results,
            "fidelity",
            f"Synthetic patients compared with held-out patients: {seeds}.",
            FIDELITY,
        ),
        _compared(
            results,
            "prevalence",
            "Absolute difference in the share of patients with the event between synthetic "
            f"patients (weighted) and held-out patients: {seeds}.",
            PREVALENCE,
        ),
        _compared(
            results,
            "membership",
            f"AUROC of two membership attacks on the split of each seed: {seeds}. 0.5 is chance.",
            MEMBERSHIP,
        ),
        _compared(
            results,
            "attribute",
            "Attribute inference from the nearest synthetic patient, mean of two attributes: "
            f"{seeds}. Only the advantage (members minus non-members) is evidence of a leak.",
            ATTRIBUTE,
        ),
    ]


def canary(results: Results) -> Table:
    rows = [
        (
            look(method).label,
            *(
                spread(summary(results.values("canary", method, label, "canary_exposure")))
                for label in CANARIES
            ),
        )
        for method in METHODS
    ]
    caption = (
        "Share of synthetic records near a planted extreme record: mean ± standard deviation over "
        f"{len(results.seeds('canary'))} seeds. The column without a canary is the baseline."
    )
    strong = (look(PROPOSED).label,)
    return Table("canary", caption, ("Method", *CANARIES), tuple(rows), strong)


def support(results: Results) -> Table:
    """Patients and events per site and group, as a range over seeds."""
    rows = []
    for site in simulated_schema().sites:
        for group in GROUPS:
            cells = []
            for part in ("train", "test"):
                for counted in ("patients", "events"):
                    metric = f"{part}_{support_metric(site, group, counted)}"
                    cells.append(_range(results, metric))
            rows.append((f"Site {site}, group {group}", *cells))
    caption = (
        f"Patients and events per stratum, lowest to highest over "
        f"{len(results.seeds('dataset'))} seeds. Group 1 is the protected group. {SIMULATED}"
    )
    head = ("Stratum", "Train patients", "Train events", "Test patients", "Test events")
    return Table("support", caption, head, tuple(rows))


def clipping(results: Results) -> Table:
    rows = [
        (
            label,
            *(
                spread(summary(results.values("dataset", "train on real", MAIN, f"{part}_{fact}")))
                for part in ("train", "test")
            ),
        )
        for fact, label in CLIPPED.items()
    ]
    caption = (
        "What the public bounds and the clip radius clip before anything is summed: mean ± "
        f"standard deviation over {len(results.seeds('dataset'))} seeds. Clipping scales a whole "
        f"row to the radius. {SIMULATED}"
    )
    return Table("clipping", caption, ("Property", "Train", "Test"), tuple(rows))


def attacks() -> Table:
    rows = tuple(
        (f"{attack}: {name.replace('_', ' ')}", str(value).replace("_", " "))
        for attack, settings in attack_settings().items()
        for name, value in settings.items()
    )
    caption = f"Settings of the attacks, the same for all methods. {SIMULATED}"
    return Table("attacks", caption, ("Setting", "Value"), rows, text=True)


def _compared(results: Results, name: str, caption: str, metrics: tuple[str, ...]) -> Table:
    """One row per method and reference that has any of the metrics."""
    rows = []
    for method in (*METHODS, *REFERENCES):
        found = [summary(results.values("comparison", method, MAIN, m)) for m in metrics]
        if any(one.seeds for one in found):
            rows.append((look(method).label, *(spread(one) for one in found)))
    head = ("Method", *(metric_head(metric) for metric in metrics))
    before = next((look(m).label for m in REFERENCES if look(m).label in {r[0] for r in rows}), "")
    return Table(name, caption, head, tuple(rows), (look(PROPOSED).label,), before)


def _range(results: Results, metric: str) -> str:
    found = [int(value) for value in results.values("dataset", "train on real", MAIN, metric)]
    if not found:
        return "–"
    low, high = min(found), max(found)
    return str(low) if low == high else f"{low} to {high}"
