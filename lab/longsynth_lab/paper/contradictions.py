"""Contradictions in the paper, each with our own result."""

from collections.abc import Iterator, Mapping

from longsynth_lab.experiments import BASE_RATE, BASELINES, METHODS, PROPOSED
from longsynth_lab.labels import look, metric_label
from longsynth_lab.paper import published
from longsynth_lab.paper.beside_published import less_full
from longsynth_lab.paper.section_v import ABLATION
from longsynth_lab.paper.study_tables import REFERENCE_BASELINE, at
from longsynth_lab.results import Results
from longsynth_lab.statistics import Summary, summary
from longsynth_lab.tables import with_interval

FULL, NO_FLOOR, DIAGONAL, _ = ABLATION


def contradictions(results: Results) -> list[str]:
    """Sentences: the paper's two statements with its own numbers, then our result."""
    return [
        *_table_and_text(results),
        _floor(results),
        _scorediff(results),
        _who_is_better(results),
        _base_rate(results),
        _marginals(results),
        _diagonal(results),
        _cut_bars(),
        *OTHERS,
    ]


OTHERS = (
    "The method section and the conclusion call the benchmarks semi-synthetic. By the paper's own "
    "description, all patients are simulated and no real record is used. We do the same.",
    "`eq:encoding` puts missing values at the public midpoint. The next sentence says that they "
    "are interpolated. This study interpolates; our own default is the midpoint.",
    "The section on privacy allocates the budget before fitting and rejects a request that exceeds "
    "it. Algorithm 1 checks the sum after all releases. Our code charges each release before it "
    "happens. [From the paper to the code](paper.md) lists the other places where the method does "
    "not keep its guarantee.",
)


def table_against_text() -> Iterator[str]:
    """The numbers for which the paper gives two values."""
    for (method, metric), text in published.CONTRADICTED.items():
        printed = published.MAIN[method][metric][0]
        yield (
            f"{look(method).label}, {metric_label(metric)}: {printed:.3f} in its table, "
            f"{text:.3f} in its text"
        )


def _table_and_text(results: Results) -> Iterator[str]:
    for said, (method, metric) in zip(table_against_text(), published.CONTRADICTED, strict=True):
        yield f"{said}. Ours: {_ours(at(results, method, metric))}."


def _floor(results: Results) -> str:
    with_floor, without = (published.ABLATION[name]["auprc"] for name in (FULL, NO_FLOOR))
    gap = less_full(results, NO_FLOOR, "auprc")
    return (
        "The text says that removing the fairness floor can raise AUPRC. The table has "
        f"{with_floor:.3f} with the floor and {without:.3f} without. Our difference, without minus "
        f"with: {_ours(gap, '+')}."
    )


def _scorediff(results: Results) -> str:
    printed = {method: published.MAIN[method]["auprc"][0] for method in METHODS}
    means = {method: at(results, method, "auprc").mean for method in METHODS}
    return (
        f"The text calls {look('scorediff').label} strong in discrimination. In the table its "
        f"AUPRC is {printed['scorediff']:.3f}, {_place(printed, 'scorediff')}. Ours: "
        f"{_ours(at(results, 'scorediff', 'auprc'))}, {_place(means, 'scorediff')}."
    )


def _who_is_better(results: Results) -> str:
    ours = published.MAIN[PROPOSED]["auprc"][0]
    above = [m for m in BASELINES if published.MAIN[m]["auprc"][0] > ours]
    here = [
        method
        for method in BASELINES
        if at(results, method, "auprc").mean > at(results, PROPOSED, "auprc").mean
    ]
    return (
        f"The text names two baselines with a higher AUPRC than {look(PROPOSED).label}. The table "
        f"has {_named(above)}. Ours: {_named(here)}."
    )


def _base_rate(results: Results) -> str:
    rate = published.DATASET["event_rate"][2]
    (brier, _), (ece, _) = (published.MAIN[PROPOSED][metric] for metric in ("brier", "ece"))
    found = ", ".join(
        f"{metric_label(metric)} {_ours(at(results, BASE_RATE, metric))} against "
        f"{_ours(at(results, PROPOSED, metric))}"
        for metric in ("brier", "ece")
    )
    return (
        f"The paper presents Brier {brier:.3f} and ECE {ece:.3f} of {look(PROPOSED).label} as its "
        f"strength. Predicting the event rate {rate:.3f} for everyone gives Brier "
        f"{rate * (1 - rate):.4f} and an ECE near 0, which is better in both. Ours, base rate "
        f"against {look(PROPOSED).label}: {found}."
    )


def _marginals(results: Results) -> str:
    return (
        f"The text says that {look('scorediff').label} preserved marginals best. "
        f"{look('bootstrap').label} resamples whole training patients, so its marginals are the "
        f"real ones. Ours, {metric_label('marginal_ks')}: {look('scorediff').label} "
        f"{_ours(at(results, 'scorediff', 'marginal_ks'))}, {look('bootstrap').label} "
        f"{_ours(at(results, 'bootstrap', 'marginal_ks'))}."
    )


def _diagonal(results: Results) -> str:
    other = look(REFERENCE_BASELINE).label
    here, there = published.ABLATION[DIAGONAL], published.MAIN[REFERENCE_BASELINE]
    ours = summary(results.values("ablation", PROPOSED, DIAGONAL, "ece"))
    return (
        f"With diagonal covariance, {look(PROPOSED).label} is close to {other}, and the paper has "
        f"the same lag-1 error for both, {here['autocorrelation_error']:.3f} and "
        f"{there['autocorrelation_error'][0]:.3f}. Their ECEs are {here['ece']:.3f} and "
        f"{there['ece'][0]:.3f}, without an explanation. Our ECEs: {_ours(ours)} and "
        f"{_ours(at(results, REFERENCE_BASELINE, 'ece'))}."
    )


def _cut_bars() -> str:
    cut = ", ".join(
        f"{metric_label(metric)} {published.MAIN[method][metric][0]:.3f} of {look(method).label} "
        f"(axis up to {top:g})"
        for metric, top in published.AXIS_TOPS.items()
        for method in METHODS
        if published.MAIN[method][metric][0] > top
    )
    return (
        f"The axes of `fig:main` end below numbers of the main table: {cut}. Our axes show all "
        "bars."
    )


def _place(means: Mapping[str, float], method: str) -> str:
    """The rank of a method, counted from the highest mean."""
    known = {name: mean for name, mean in means.items() if mean == mean}
    if method not in known:
        return "not measured"
    above = sum(mean > known[method] for mean in known.values())
    return f"number {above + 1} of {len(known)}"


def _named(methods: list[str]) -> str:
    return f"{len(methods)} ({', '.join(look(m).label for m in methods) or 'none'})"


def _ours(found: Summary, sign: str = "") -> str:
    return with_interval(found, sign) if found.seeds else "not measured"
