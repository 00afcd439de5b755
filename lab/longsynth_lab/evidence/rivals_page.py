"""docs/rivals.md: the best settings of each rival per metric, and what each of them gives up."""

from collections.abc import Iterator

from longsynth.methods import DEFAULT
from longsynth_lab.evidence.comparison_tables import CONDITIONS, label, metric_name, metric_title
from longsynth_lab.evidence.comparisons import FRESH_IN_SEARCHES, RIVALS, SEARCHED_AT
from longsynth_lab.evidence.rivals import (
    CHOSEN_FOR,
    best_settings,
    higher_is_better,
    mean_over_budgets,
)
from longsynth_lab.labels import look
from longsynth_lab.results import Results
from longsynth_lab.tables import Table, markdown_body, number
from longsynth_lab.variants import searched
from longsynth_lab.versions import only

TERMS = {  # the words in names of settings
    "dp-markov": "*threshold t*: counts below t times the noise are treated as zero (default 1). "
    "*n bins*: bins per continuous variable (default 10); *centred* and *narrow bins* are finer "
    "near the public centre. *floor*: the smallest share of synthetic patients with the event. "
    "*steady*: masks and gaps are shrunk toward their mean over time. *smoothed*: few states, bins "
    "per half of the record, and tables shrunk toward simpler ones; *temper* and *effect* set how "
    "much of an event's effect remains. *more for* and *less for*: shares of the budget.",
    "trust": "*bounds* or *reference*: the encoding of values. *separate* or *joint*: the release "
    "of the statistics. *radius*: the clip radius in parts of √(T·V). *floor*: the event floor. "
    "[Constants](constants.md) explains them.",
    "dp-score": "*bounds* or *reference*: the encoding of values. *radius*: the clip radius in "
    "parts of √(T·V). *floor*: the event floor. *ridge*: the ridge of the mean. "
    "[Constants](constants.md) explains them.",
    DEFAULT: "*more for* or *less for* a ledger line: 1.5 times its share of the budget, or two "
    "thirds of it.",
}


def rivals_text(results: Results) -> str:
    """Return the page from the results of the searches."""
    found = only(results, [f"search {method}" for method in (*RIVALS, DEFAULT)])
    budgets = ", ".join(f"{e:g}" for e in SEARCHED_AT)
    seeds = found.seeds(f"search {RIVALS[0]}")
    parts = [
        "# Rivals at their best",
        CONDITIONS,
        "A fair comparison needs rivals at their best, and the best setting for one metric is "
        "rarely the best for another. We therefore compare all settings metric by metric. On the "
        "pages on [simulated](population.md) and [real](real.md) patients, the best setting for "
        "each metric has its own row, next to the default settings.",
        f"Searches use development seeds only ({seeds[0]} to {seeds[-1]}), 504 simulated training "
        f"patients, {FRESH_IN_SEARCHES:,} held-out ones, and the mean over ε = {budgets}.",
    ]
    for rival in RIVALS:
        parts += [f"## {look(rival).label}", *_searched(found, rival)]
    parts += [
        f"## {look(DEFAULT).label}",
        "The same search for our default method, over its shares of the budget. On the other "
        "pages it has one row only, whatever this search finds.",
        *_searched(found, DEFAULT),
    ]
    return "\n\n".join(parts) + "\n"


def _searched(results: Results, rival: str) -> Iterator[str]:
    experiment, best = f"search {rival}", best_settings(results, rival)
    shown = list(dict.fromkeys((rival, *best.values())))
    yield f"We tried {len(searched(rival))} settings. Bold: the best of all for that metric."
    yield TERMS[rival]
    rows = []
    for row in shown:
        cells = []
        for metric in CHOSEN_FOR:
            value = number(mean_over_budgets(results, experiment, row, metric))
            cells.append(f"**{value}**" if best[metric] == row else value)
        rows.append((label(row) if row != rival else f"{label(row)} (default)", *cells))
    head = ("Setting", *(metric_title(metric) for metric in CHOSEN_FOR))
    yield markdown_body(Table("", "", head, tuple(rows)))
    yield "What each setting gives up compared with the best one for that metric:"
    yield "\n".join(_gives_up(results, experiment, best, row) for row in shown if row != rival)


def _gives_up(results: Results, experiment: str, best: dict[str, str], row: str) -> str:
    chosen = [metric_name(metric) for metric in CHOSEN_FOR if best[metric] == row]
    lost = []
    for metric in CHOSEN_FOR:
        here, there = (
            mean_over_budgets(results, experiment, r, metric) for r in (row, best[metric])
        )
        gap = there - here if higher_is_better(metric) else here - there
        if best[metric] != row and gap >= 0.0005:
            lost.append((gap, f"{gap:.3f} of {metric_name(metric)}"))
    told = ", ".join(text for _, text in sorted(lost, reverse=True))
    return f"- {label(row)}, best for {', '.join(chosen)}: {told or 'nothing'}."
