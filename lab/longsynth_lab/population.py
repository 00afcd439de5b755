"""docs/population.md: methods side by side on simulated patients, where differences can be seen."""

from longsynth_lab.evidence import FRESH, LARGE, SMALL
from longsynth_lab.evidence_tables import (
    CONDITIONS,
    FIDELITY,
    RIVALS_AT_BEST,
    UTILITY,
    in_short,
    metric_title,
    outcomes,
    table,
)
from longsynth_lab.results import Results
from longsynth_lab.versions import only

TITLES = {SMALL: "504 training patients", LARGE: "5,000 training patients"}
GROUPS = ("worst_group_auprc", "group_gap_auprc", "prevalence_error")


def population_text(results: Results) -> str:
    """Return the page; every number and verdict comes from the results."""
    found = only(results, TITLES)
    parts = [
        "# Simulated patients",
        CONDITIONS,
        RIVALS_AT_BEST,
        f"**Patients.** Each seed draws training patients and {FRESH:,} fresh ones of the same "
        "simulated population who judge. Numbers are means over seeds, and intervals are 95 % t "
        "intervals over them.",
    ]
    for experiment, title in TITLES.items():
        seeds = found.seeds(experiment)
        if not seeds:
            continue
        parts += [
            f"## {title}",
            f"{len(seeds)} seeds, {seeds[0]} to {seeds[-1]}. "
            + " ".join(in_short(found, experiment)),
            "### Who is ahead",
            *outcomes(found, experiment),
        ]
        for name, metrics in (("Utility", UTILITY), ("Groups", GROUPS), ("Fidelity", FIDELITY)):
            heads = {metric: metric_title(metric) for metric in metrics}
            parts += [f"### {name}", table(found, experiment, heads, intervals=metrics[:2])]
    return "\n\n".join(parts) + "\n"


def steering_text(results: Results) -> str:
    """Return what `longsynth bench population` found, as a page of its own."""
    name = "population"
    sizes = {row.train_patients for row in results.rows}
    parts = [
        "# Methods on simulated patients",
        CONDITIONS,
        f"Means over {len(results.seeds(name))} seeds of {max(sizes):,} training patients each.",
    ]
    for title, metrics in (("Utility", UTILITY), ("Groups", GROUPS), ("Fidelity", FIDELITY)):
        heads = {metric: metric_title(metric) for metric in metrics}
        parts += [f"## {title}", table(results, name, heads, intervals=metrics[:2])]
    return "\n\n".join(parts) + "\n"
