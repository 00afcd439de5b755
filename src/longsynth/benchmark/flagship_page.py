"""docs/flagship.md: what must be shown and whether it is, every row with its interval, losses."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from longsynth.benchmark.cells import WITHOUT_BUDGET
from longsynth.benchmark.experiments import REFERENCES
from longsynth.benchmark.judging import BOOSTED, FIDELITY, FORECASTS
from longsynth.benchmark.results import Results
from longsynth.benchmark.statistics import Comparison, compared, summary
from longsynth.benchmark.tables import interval, number
from longsynth.benchmark.targets import (
    FLAGSHIP,
    PBC,
    PHYSIONET,
    SIMULATED,
    Outcome,
    higher_is_better,
    outcome,
    targets,
)
from longsynth.report.study_style import look, metric_head, metric_label
from longsynth.report.study_tables import Table, markdown_body

SHOWN = ("auprc", BOOSTED + "auprc", *FORECASTS[1:], *FIDELITY[:-1])
TESTED = tuple(metric for metric in SHOWN if metric != "mean_prediction")
COSTS = ("fit_seconds", "slowest_pass_seconds", "passes", "sample_seconds", "peak_mb")
TITLES = {
    "simulated": "Simulated patients",
    "ablation": "Ablation",
    "two factors": "Stress: two latent factors",
    "wrong references": "Stress: wrong public references",
    "generic references": "Stress: bounds only",
    "larger samples": "Apart: larger synthetic samples",
    "physionet2012": "PhysioNet 2012",
    "pbc": "PBC",
    "cost": "Time and memory",
}
JUDGED = (SIMULATED, PHYSIONET, PBC)  # the rest explains
HARDLY_ANY_NOISE = 100.0  # the largest ε that a plan takes
HOW = (
    "Accounting `gaussian`, δ = 1e-5. Simulated patients are judged on 20,000 fresh ones of seed "
    "9001, with as many synthetic as training patients and population weights in every metric and "
    "fit. Numbers are means over seeds and intervals are 95 % t intervals over them. Classifiers "
    "see patient summaries: a standardised logistic regression (L2, C = 1, unbalanced) where no "
    "name is given, and histogram gradient boosting at its defaults. KS is total variation for "
    "variables with levels; the correlation error is that of patient summaries; the AC error that "
    "of pooled lag-1 correlations; ECE has ten bins of equal width.\n\n"
    "`dp-markov` has the rule, and *tuned* rows have the constants, that searches on development "
    "seeds found best (`search_dp_markov.py` and `search_constants.py` in `benchmarks`); a row of "
    "`trust` or `dp-score` without the word has the paper's. Tuned rows were added after the "
    "flagship had been judged, on the same seeds. Since then it makes its rows and samples in "
    "single precision, which moves an integer of a row by one, those of a row at the very edge of "
    "its ball by a few, and by a little what is drawn; it was not judged again."
)


def flagship_text(results: Results, earlier: Sequence[Results] = ()) -> str:
    """Return the whole page; every number comes from the result file, and from those of the
    versions that were judged before."""
    parts = ["# The flagship's evidence", HOW, *_must_show(results)]
    parts += [_judged_before(earlier)] if earlier else []
    names = dict.fromkeys(row.experiment for row in results.rows)
    for name in sorted(names, key=lambda n: list(TITLES).index(n) if n in TITLES else len(TITLES)):
        parts += [f"## {TITLES.get(name, name)}", *_experiment(results, name)]
    return "\n\n".join(parts) + "\n"


def _must_show(results: Results) -> Iterator[str]:
    found = [outcome(results, target) for target in targets()]
    run = [one for one in found if one.reached is not None]
    reached = sum(bool(one.reached) for one in run)
    yield "## What must be shown"
    yield f"{reached} of {len(found)} entries are reached; {len(found) - len(run)} were not run."
    head = ("Where", "ε", "Metric", "", "Found", "Must be")  # what is long stands last
    yield markdown_body(Table("", "", head, tuple(_entry(one) for one in found)))
    yield from _limits(results, [one for one in run if not one.reached])
    yield "All that it loses to another private row, in whichever metric the tables below show:"
    places = [(name, patients) for name in JUDGED for patients in _sizes(results, name)]
    yield "\n".join(
        f"- {TITLES[name]}, {patients:,} patients: {_losses(_tests(results, name, patients))}."
        for name, patients in places
    )


def _judged_before(earlier: Sequence[Results]) -> str:
    said = []
    for version, results in enumerate(earlier, 1):
        found = [outcome(results, target) for target in targets()]
        reached = sum(bool(one.reached) for one in found)
        seeds = ", ".join(map(str, results.seeds("simulated")))
        said.append(f"- Version {version} reached {reached} of {len(found)}, on seeds {seeds}.")
    return (
        "Earlier versions were judged before:\n\n" + "\n".join(said) + "\n\n"
        "What they missed led to changes, which were made on development seeds and on training "
        "stays alone. The version above is judged on seeds that had no part in any of it. Those "
        "who judge PhysioNet 2012 are the same people each time, so there it is look number "
        f"{len(earlier) + 1}; and PBC has so few patients that other splits of them were looked at "
        "before."
    )


def _limits(results: Results, missed: list[Outcome]) -> Iterator[str]:
    """Noise or model: what becomes of a missed entry at the largest budget there is."""
    said = []
    for one in missed:
        at_most = replace(one.target, epsilon=HARDLY_ANY_NOISE)
        there = outcome(results, at_most)
        if there.reached is not None:
            what = "noise" if there.reached else "the model"
            said.append(
                f"- {TITLES.get(one.target.experiment)}, {_label(one.target.metric)} at ε = "
                f"{one.target.epsilon:g}: {there.found.mean:.3f} at ε = {HARDLY_ANY_NOISE:g}, "
                f"so {what} limits it."
            )
    if said:
        yield "What limits the entries that are not reached:"
        yield "\n".join(dict.fromkeys(said))


def _entry(one: Outcome) -> tuple[str, ...]:
    target = one.target
    whose = f"{_multiple(target.limit)}{look(target.other).label}" if target.other else ""
    if target.other_epsilon not in (WITHOUT_BUDGET, target.epsilon):
        whose += f" at ε = {target.other_epsilon:g}"
    paired = target.rule == "not wholly worse than"
    must = f"{target.rule} " + (whose if paired else number(one.limit))
    must += f" ({whose})" if whose and not paired else ""
    sign = "+" if paired else ""
    mean = "–" if not one.found.seeds else f"{one.found.mean:{sign}.3f}"
    said = {True: "reached", False: "**not reached**", None: "not run"}[one.reached]
    if one.reached is False and not paired:
        by = abs(one.found.mean - one.limit)
        said += f" by {by:.3f}" if by >= 0.0005 else " by less than 0.0005"
    where = TITLES.get(target.experiment, target.experiment)
    shown = f"{mean} ({interval(one.found, sign=sign)})" if one.found.seeds else "–"
    return where, f"{target.epsilon:g}", _label(target.metric), said, shown, must


def _multiple(limit: float) -> str:
    return "" if limit in (0.0, 1.0) else f"{limit:g} × "


def _experiment(results: Results, name: str) -> Iterator[str]:
    metrics = COSTS if name == "cost" else SHOWN
    yield f"Seeds: {', '.join(map(str, results.seeds(name)))}."
    for patients in _sizes(results, name):
        lines = list(_lines(results, name, patients))
        drawn = [results.values(name, m, f"{patients} / {e}", metrics[0]) for m, e in lines]
        yield f"### {patients:,} training patients, {max(map(len, drawn), default=0)} seeds"
        head = ("Method", "ε", *(_head(m) for m in metrics))
        rows = [(*_who(m, e), *(_with(results, name, m, e, patients, x) for x in metrics))
                for m, e in lines]  # fmt: skip
        yield markdown_body(Table("", "", head, tuple(rows), (look(FLAGSHIP).label,)))
        if name != "cost":
            yield from _paired(results, name, patients)


def _paired(results: Results, name: str, patients: int) -> Iterator[str]:
    """The flagship less every other private row, budget by budget; losses by name."""
    tests = list(_tests(results, name, patients))
    if not tests:
        return
    rows = [
        (_label(test.metric), epsilon, look(test.baseline).label, *_cells(test))
        for epsilon, test in tests
    ]
    yield (
        f"{look(FLAGSHIP).label} less each other method, paired over seeds; p of the signed-rank "
        "test, and Holm's over the methods of one metric and budget."
    )
    head = ("Metric", "ε", "Less", "Difference", "95 % interval", "p", "Holm p")
    yield markdown_body(Table("", "", head, tuple(rows)))
    yield f"Losses, where the whole interval is on the wrong side: {_losses(tests)}."


def _tests(results: Results, name: str, patients: int) -> Iterator[tuple[str, Comparison]]:
    """ε and the comparison with every other private row of that ε, metric by metric."""
    lines = list(_lines(results, name, patients))
    for epsilon in dict.fromkeys(e for m, e in lines if m == FLAGSHIP):
        others = [m for m, e in lines if e == epsilon and m != FLAGSHIP]
        for metric in TESTED:
            tests = compared(
                results,
                metric,
                proposed=FLAGSHIP,
                baselines=others,
                experiment=name,
                setting=f"{patients} / {epsilon}",
            )
            yield from ((epsilon, test) for test in tests if test.difference.seeds > 1)


def _losses(tests: Iterable[tuple[str, Comparison]]) -> str:
    """Metrics that are lost, with budgets and rows."""
    lost: dict[str, dict[str, list[str]]] = {}
    for epsilon, test in tests:
        if _loses(test):
            against = lost.setdefault(_label(test.metric), {}).setdefault(epsilon, [])
            against.append(look(test.baseline).label)
    told = [
        f"{metric} at ε = {epsilon} against {', '.join(rows)}"
        for metric, budgets in lost.items()
        for epsilon, rows in budgets.items()
    ]
    return "; ".join(told) or "none"


def _loses(test: Comparison) -> bool:
    gap = test.difference
    return gap.upper < 0 if higher_is_better(test.metric) else gap.lower > 0


def _cells(test: Comparison) -> tuple[str, str, str, str]:
    gap = test.difference
    return f"{gap.mean:+.3f}", interval(gap, 3, "+"), number(test.p), number(test.holm)


def _sizes(results: Results, name: str) -> list[int]:
    return sorted({int(label.split(" / ")[0]) for label in results.settings(name)})


def _lines(results: Results, name: str, patients: int) -> Iterator[tuple[str, str]]:
    """Method and ε of every row, references last."""
    budgets = sorted(
        {e for n, e in (s.split(" / ") for s in results.settings(name)) if int(n) == patients},
        key=float,
    )
    methods = sorted(results.methods(name), key=lambda m: (m in REFERENCES, m != FLAGSHIP))
    metric = COSTS[0] if name == "cost" else "auprc"
    for method in methods:
        for epsilon in budgets:
            if results.values(name, method, f"{patients} / {epsilon}", metric):
                yield method, epsilon


def _who(method: str, epsilon: str) -> tuple[str, str]:
    return look(method).label, "–" if float(epsilon) == WITHOUT_BUDGET else epsilon


def _with(
    results: Results, name: str, method: str, epsilon: str, patients: int, metric: str
) -> str:
    found = summary(results.values(name, method, f"{patients} / {epsilon}", metric))
    if not found.seeds:
        return "–"
    return number(found.mean) + (f" ({interval(found)})" if found.seeds > 1 else "")


def _head(metric: str) -> str:
    return ("Boosted " if metric.startswith(BOOSTED) else "") + metric_head(
        metric.removeprefix(BOOSTED)
    )


def _label(metric: str) -> str:
    return ("boosted " if metric.startswith(BOOSTED) else "") + metric_label(
        metric.removeprefix(BOOSTED)
    )
