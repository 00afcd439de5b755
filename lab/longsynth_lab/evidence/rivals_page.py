"""docs/rivals.md: what searches found for each rival, metric by metric, and what each choice gives
up."""

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


def rivals_text(results: Results) -> str:
    """Return the page from the results of the searches."""
    found = only(results, [f"search {method}" for method in (*RIVALS, DEFAULT)])
    budgets = ", ".join(f"{e:g}" for e in SEARCHED_AT)
    seeds = found.seeds(f"search {RIVALS[0]}")
    parts = [
        "# Rivals at their best",
        CONDITIONS,
        "A method is judged fairly only beside rivals at their best, and a setting that is best "
        "for one metric is seldom best for another. So every setting that was tried is compared "
        "metric by metric. The best one for each metric has a row of its own on the pages on "
        "[simulated](population.md) and [real](real.md) patients, beside the method's plain form.",
        f"Searches use development seeds only ({seeds[0]} to {seeds[-1]}), 504 simulated patients "
        f"judged on {FRESH_IN_SEARCHES:,} fresh ones, and the mean over ε = {budgets}.",
    ]
    for rival in RIVALS:
        parts += [f"## {look(rival).label}", *_searched(found, rival)]
    parts += [
        f"## {look(DEFAULT).label}",
        "The same for the default method, whose shares of the budget were searched. It has one "
        "row on the other pages, whatever stands here.",
        *_searched(found, DEFAULT),
    ]
    return "\n\n".join(parts) + "\n"


def _searched(results: Results, rival: str) -> Iterator[str]:
    experiment, best = f"search {rival}", best_settings(results, rival)
    shown = list(dict.fromkeys((rival, *best.values())))
    yield f"{len(searched(rival))} settings were tried. In bold: the best of all in that metric."
    rows = []
    for row in shown:
        cells = []
        for metric in CHOSEN_FOR:
            value = number(mean_over_budgets(results, experiment, row, metric))
            cells.append(f"**{value}**" if best[metric] == row else value)
        rows.append((label(row) if row != rival else f"{label(row)} (plain)", *cells))
    head = ("Setting", *(metric_title(metric) for metric in CHOSEN_FOR))
    yield markdown_body(Table("", "", head, tuple(rows)))
    yield "What each choice gives up:"
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
