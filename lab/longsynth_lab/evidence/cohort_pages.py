"""docs/population.md and docs/real.md: all methods on simulated patients and on real cohorts."""

from collections.abc import Iterator

from longsynth.audit.utility import FEW_EVENTS
from longsynth.methods import DEFAULT
from longsynth.schema.file import load_schema
from longsynth_lab.evidence.comparison_tables import (
    CONDITIONS,
    FIDELITY,
    RIVALS_AT_BEST,
    UTILITY,
    in_short,
    label,
    metric_title,
    outcomes,
    table,
)
from longsynth_lab.evidence.comparisons import (
    FRESH,
    LARGE,
    PBC,
    PHYSIONET,
    SMALL,
    WITH,
    WITHOUT,
    attacks_on,
    hints_on,
)
from longsynth_lab.evidence.rivals import SHOWN_EARLIER, family, verdicts
from longsynth_lab.experiments import BASE_RATE, TRAIN_ON_REAL
from longsynth_lab.labels import look, metric_head
from longsynth_lab.measures import TOLD_APART
from longsynth_lab.patients import CHECKOUT, OPEN_COHORTS, RECORDED, merges_readings
from longsynth_lab.results import Results
from longsynth_lab.seeds import looked_at
from longsynth_lab.statistics import summary
from longsynth_lab.tables import Table, interval, markdown_body, number
from longsynth_lab.versions import only

SIMULATED = {SMALL: "504 training patients", LARGE: "5,000 training patients"}
GROUP_METRICS = ("worst_group_auprc", "group_gap_auprc", "prevalence_error")


def population_text(results: Results) -> str:
    """Return docs/population.md; every number and verdict comes from the results."""
    found = only(results, SIMULATED)
    parts = [
        "# Simulated patients",
        CONDITIONS,
        RIVALS_AT_BEST,
        f"**Patients.** For each seed, training patients and {FRESH:,} held-out patients are "
        "simulated from the same population. Numbers are means over seeds with 95 % t intervals.",
    ]
    for experiment, title in SIMULATED.items():
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
        for name, metrics in (
            ("Utility", UTILITY),
            ("Groups", GROUP_METRICS),
            ("Fidelity", FIDELITY),
        ):
            heads = {metric: metric_title(metric) for metric in metrics}
            parts += [f"### {name}", table(found, experiment, heads, intervals=metrics[:2])]
    return "\n\n".join(parts) + "\n"


def steering_text(results: Results) -> str:
    """Return the report of `longsynth bench population`."""
    name = "population"
    sizes = {row.train_patients for row in results.rows}
    parts = [
        "# Methods on simulated patients",
        CONDITIONS,
        f"Means over {len(results.seeds(name))} seeds of {max(sizes):,} training patients each.",
    ]
    for title, metrics in (("Utility", UTILITY), ("Groups", GROUP_METRICS), ("Fidelity", FIDELITY)):
        heads = {metric: metric_title(metric) for metric in metrics}
        parts += [f"## {title}", table(results, name, heads, intervals=metrics[:2])]
    return "\n\n".join(parts) + "\n"


REAL = {
    PBC: "PBC: 312 trial patients",
    PHYSIONET: "PhysioNet 2012: 8,000 intensive care stays",
}
GROUPS = {PBC: ("under 60", "60 or older"), PHYSIONET: ("men", "women")}
ATTACKS = (
    "mia_auc",
    "mia_density_auc",
    "attribute_accuracy",
    "attribute_accuracy_control",
    "attribute_advantage",
)


def real_text(results: Results, developed: Results) -> str:
    """Return docs/real.md; every number and verdict comes from the results, `developed` on
    development seeds."""
    wanted = [*REAL, *map(attacks_on, REAL)]
    found = only(results, wanted)
    parts = [
        "# Real cohorts",
        CONDITIONS,
        RIVALS_AT_BEST,
        "**Patients.** The schemas are in `examples/schemas`. Each seed splits a cohort at random: "
        "70 % of the patients train and 30 % are held out. Each split is repeated with several "
        "draws of privacy noise and synthetic patients, and we average over these. Intervals are "
        "95 % t intervals over splits. Splits share patients, so the intervals are too narrow for "
        "conclusions about other patients.",
    ]
    for cohort, title in REAL.items():
        if found.seeds(cohort):
            parts += [f"## {title}", *_cohort(found, cohort)]
            parts += _hints(only(developed, [hints_on(cohort)]), cohort)
    return "\n\n".join(parts) + "\n"


def _cohort(results: Results, cohort: str) -> Iterator[str]:
    splits = len(results.seeds(cohort))
    yield f"{splits} splits, {draws_of(results, cohort)} draws each. " + " ".join(
        in_short(results, cohort)
    )
    yield f"**Earlier looks at these patients.** {looked_at()[cohort]}"
    yield "### AUPRC against DP-Markov and its variants"
    yield from _beside_markov(results, cohort)
    yield "### Who is ahead"
    yield from outcomes(results, cohort)
    for title, metrics in (("Utility", UTILITY), ("Fidelity", FIDELITY)):
        yield f"### {title}"
        heads = {metric: metric_title(metric) for metric in metrics}
        yield table(results, cohort, heads, intervals=metrics[:2])
    yield "### Groups"
    yield from _groups(results, cohort)
    yield "### Attacks"
    heads = {metric: metric_head(metric) for metric in ATTACKS}
    yield table(results, attacks_on(cohort), heads, intervals=(*ATTACKS[:2], ATTACKS[-1]))


def _hints(results: Results, cohort: str) -> Iterator[str]:
    """How well trees tell real from synthetic patients, without and with hints in the schema."""
    name, recorded = hints_on(cohort), RECORDED[cohort]
    if not results.rows:
        return
    steps = ", ".join(f"{variable} {step:g}" for variable, step in recorded.steps.items())
    first = " and the first visit is at time zero" if recorded.first == "zero" else ""
    last = merges_readings(load_schema(CHECKOUT / OPEN_COHORTS[cohort].schema))
    yield "### Real against synthetic, without and with hints"
    yield (
        "Boosted trees try to tell held-out real patients from synthetic ones by summaries of "
        "their records: AUC, 0.5 is best. *With hints*, the schema also says how values are "
        "recorded "
        f"(`resolution`: {steps}){first}."
        + (" A slot then has its last reading instead of a mean." if last else "")
        + f" {len(results.seeds(name))} splits of development seeds, {draws_of(results, name)} "
        "draws each; 95 % t intervals over splits. Real patients against other real patients: "
        + f"{_real_against_real(results, name)}. By one variable alone, a number well below 0.5 "
        "also shows a difference: equal records share a fold, so a whole number that a fold never "
        f"trained on is taken for synthetic. {recorded.remark}".rstrip()
    )
    epsilons = list(dict.fromkeys(label.partition(",")[0] for label in results.settings(name)))
    rows = [("All summaries", TOLD_APART)] + [
        (metric.removeprefix(f"{TOLD_APART}_").replace("_", " "), metric)
        for metric in dict.fromkeys(row.metric for row in results.rows)
        if metric.startswith(f"{TOLD_APART}_")
    ]
    body = []
    for title, metric in rows:
        cells = []
        for epsilon in epsilons:
            pair = [
                results.by_seed(name, DEFAULT, f"{epsilon}, {hinted}", metric)
                for hinted in (WITHOUT, WITH)
            ]
            gap = summary([pair[1][seed] - pair[0][seed] for seed in pair[0]])
            cells += [number(summary(list(found.values())).mean) for found in pair]
            cells.append(f"{gap.mean:+.3f} ({interval(gap, 3, '+')})")
        body.append((title, *cells))
    head = [f"{what}, ε = {e}" for e in epsilons for what in (WITHOUT, WITH, "difference")]
    yield markdown_body(Table("", "", ("By", *head), tuple(body), strong=("All summaries",)))


def draws_of(results: Results, experiment: str) -> int:
    return 1 + max(row.draw for row in results.rows if row.experiment == experiment)


def _real_against_real(results: Results, experiment: str) -> str:
    found = results.values(experiment, TRAIN_ON_REAL, results.settings(experiment)[0], TOLD_APART)
    return number(summary(found).mean)


def _beside_markov(results: Results, cohort: str) -> Iterator[str]:
    """The default DP-Markov, the variants that earlier pages showed, and the best of all."""
    named = ("dp-markov", *SHOWN_EARLIER["dp-markov"])
    rows = family(results, cohort, "dp-markov")
    found = {v.setting: v for v in verdicts(results, cohort, ["auprc"]) if v.rival == "dp-markov"}
    body = []
    for setting, verdict in found.items():
        means = [
            number(summary(results.values(cohort, row, setting, "auprc")).mean)
            for row in (DEFAULT, *named)
        ]
        best = f"{number(verdict.theirs.mean)} ({label(verdict.best)})"
        gap = f"{verdict.gap.mean:+.3f} ({interval(verdict.gap, 3, '+')})"
        body.append((setting, *means, best, gap))
    ours = look(DEFAULT).label
    head = ("ε", ours, *map(label, named), f"Best of {len(rows)} rows", f"{ours} − best")
    yield markdown_body(Table("", "", head, tuple(body)))
    words = {"ahead": "beats", "behind": "**loses to**", "level": "does not differ clearly from"}
    yield "\n".join(
        f"- At ε = {v.setting}, {ours} {words[v.outcome]} {label(v.best)}, the best variant: "
        f"difference in AUPRC {v.gap.mean:+.3f}, 95 % interval {interval(v.gap, 3, '+')}."
        for v in found.values()
    )


def _groups(results: Results, cohort: str) -> Iterator[str]:
    named = {f"group{g}": name for g, name in enumerate(GROUPS[cohort])}
    heads = {f"{part}_auprc": f"AUPRC, {name} ↑" for part, name in named.items()}
    heads |= {m: metric_head(m) for m in ("worst_group_auprc", "group_gap_auprc")}
    heads |= {f"{part}_ece": f"ECE, {name} ↓" for part, name in named.items()}
    yield table(results, cohort, heads, intervals=("worst_group_auprc",))
    events = {
        row.metric.removesuffix("_events"): _mean_events(results, cohort, row.metric)
        for row in results.rows
        if (row.experiment, row.method) == (cohort, BASE_RATE) and row.metric.endswith("_events")
    }
    within = {
        part: f"{named[part[:6]]}, {part.partition('_site_')[2]}" for part in events if "_s" in part
    }
    yield "AUPRC per group and site, with the number of events in the test part of one split:"
    heads = {
        f"{part}_auprc": f"{name} ({events[part]:.0f} events)" for part, name in within.items()
    }
    yield table(results, cohort, heads)
    few = [name for part, name in (named | within).items() if events[part] < FEW_EVENTS]
    if few:
        yield (
            f"> **Too few events for conclusions** (fewer than {FEW_EVENTS} in one split): "
            f"{'; '.join(few)}. Differences between methods or groups are mostly chance there."
        )


def _mean_events(results: Results, cohort: str, metric: str) -> float:
    return summary(results.values(cohort, BASE_RATE, results.settings(cohort)[0], metric)).mean
