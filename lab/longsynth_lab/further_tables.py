"""Tables of what the paper's section V measures but does not tabulate, and of how it was set up.

With the tables of `tables.py` and the figures, every metric that section V names has a place.
"""

from longsynth.reading.simulation import simulated_schema
from longsynth_lab.attack_settings import attack_settings
from longsynth_lab.experiments import CANARIES, MAIN, METHODS, PROPOSED, REFERENCES
from longsynth_lab.patient_facts import GROUPS, support_metric
from longsynth_lab.results import Results
from longsynth_lab.statistics import summary
from longsynth_lab.study_style import look, metric_head
from longsynth_lab.study_tables import Table
from longsynth_lab.tables import spread

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
    """One row for each method and reference, from the comparison."""
    seeds = f"mean ± standard deviation over {len(results.seeds('comparison'))} seeds"
    return [
        _compared(results, "utility", f"Train on synthetic, test on real: {seeds}.", UTILITY),
        _compared(
            results,
            "subgroups",
            f"AUPRC of each group of test patients: {seeds}. Group 1 is the protected group. Each "
            "seed has few events in it, and seeds where a group has none are left out.",
            SUBGROUPS,
        ),
        _compared(
            results,
            "fidelity",
            f"Synthetic patients held against patients that no method saw: {seeds}.",
            FIDELITY,
        ),
        _compared(
            results,
            "prevalence",
            "Absolute difference in the share of patients with the event, between synthetic "
            f"patients (weighted) and patients that no method saw: {seeds}.",
            PREVALENCE,
        ),
        _compared(
            results,
            "membership",
            f"AUROC of two membership attacks on the split of each seed: {seeds}. 0.5 is random.",
            MEMBERSHIP,
        ),
        _compared(
            results,
            "attribute",
            "Attribute inference from the nearest synthetic patient, mean of two attributes: "
            f"{seeds}. Only the advantage, members less outsiders, is about membership.",
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
        f"{len(results.seeds('canary'))} seeds. Without a canary: what the population alone does."
    )
    strong = (look(PROPOSED).label,)
    return Table("canary", caption, ("Method", *CANARIES), tuple(rows), strong)


def support(results: Results) -> Table:
    """Patients and events of each site and group, as a range over seeds."""
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
        f"Patients and events of each stratum, lowest to highest over "
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
        "What public bounds and the clip radius cut off before anything is summed: mean ± standard "
        f"deviation over {len(results.seeds('dataset'))} seeds. A clipped row is scaled back to "
        f"the radius as a whole. {SIMULATED}"
    )
    return Table("clipping", caption, ("Property", "Train", "Test"), tuple(rows))


def attacks() -> Table:
    rows = tuple(
        (f"{attack}: {name.replace('_', ' ')}", str(value).replace("_", " "))
        for attack, settings in attack_settings().items()
        for name, value in settings.items()
    )
    caption = f"Settings of the attacks, the same for every method. {SIMULATED}"
    return Table("attacks", caption, ("Setting", "Value"), rows, text=True)


def _compared(results: Results, name: str, caption: str, metrics: tuple[str, ...]) -> Table:
    """A row for each method and reference that has any of the metrics."""
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
