"""Tables of our numbers with intervals, next to the paper's."""

from collections.abc import Iterator, Sequence

from longsynth_lab.experiments import MAIN, METHODS, PROPOSED, REFERENCES
from longsynth_lab.labels import look, metric_head, metric_label
from longsynth_lab.paper import published
from longsynth_lab.paper.section_v import ABLATION, CANARIES, OURS, SEEDS
from longsynth_lab.paper.study_tables import (
    ABLATION_METRICS,
    COSTS,
    DEPARTED,
    DEPARTURE_METRICS,
    TESTED,
    at,
    departure,
)
from longsynth_lab.results import Results
from longsynth_lab.statistics import Summary, less_published, summary
from longsynth_lab.tables import Table, interval, markdown_body, number, with_interval

SWEEPS = {
    "epsilon": ("ε", ("auprc", "mia_auc", "autocorrelation_error")),
    "scarcity": ("training patients", ("auprc",)),
    "missingness": ("added missing rate", ("auprc",)),
}


def beside(results: Results, metric: str) -> Iterator[str]:
    rows = []
    for method in METHODS:
        found, (mean, sd) = at(results, method, metric), published.MAIN[method][metric]
        gap = less_published(found, mean, sd, published.SEEDS)
        rows.append(
            (
                look(method).label,
                with_interval(found),
                f"{mean:.3f} ± {sd:.3f}",
                with_interval(gap, "+"),
                "" if gap.contains(0) or gap.lower != gap.lower else "differs",
            )
        )
    yield f"### {metric_head(metric)}"
    head = ("Method", "Ours (95 % interval)", "Paper", "Ours − paper (95 % interval)", "Verdict")
    yield markdown_body(Table("", "", head, tuple(rows)))


def differing(results: Results, metrics: Sequence[str]) -> list[str]:
    """List the numbers of tab:main that differ from ours, with the interval of the difference."""
    told = []
    for metric in metrics:
        for method in METHODS:
            mean, sd = published.MAIN[method][metric]
            gap = less_published(at(results, method, metric), mean, sd, published.SEEDS)
            if gap.lower > 0 or gap.upper < 0:
                told.append(f"{metric_label(metric)} of {look(method).label} by {_short(gap)}")
    return told


def metric_beside(results: Results, metric: str) -> Table:
    quoted = published.TEXT.get(metric, {})
    rows = []
    for method in (*METHODS, *REFERENCES):
        found = at(results, method, metric)
        if found.seeds:
            paper = f"{quoted[method]:.3f}" if method in quoted else ""
            verdict = _verdict(found, quoted[method]) if method in quoted else ""
            rows.append((look(method).label, number(found.mean), interval(found), paper, verdict))
    head = (metric_head(metric), "Ours", "95 % interval", "Paper (text)", "Verdict")
    return Table("", "", head, tuple(rows))


def statistics_beside(results: Results) -> str:
    rows = []
    for metric in TESTED:
        mean, p, holm = published.STATISTICS[metric]
        found = summary(paired(results, metric, "dp-score"))
        rows.append(
            (
                metric_label(metric),
                _signed(found.mean),
                interval(found, 3, "+"),
                _signed(mean),
                f"{p:.3f}",
                f"{holm:.3f}",
                _verdict(found, mean),
            )
        )
    head = (
        "Difference from DP-Score",
        "Ours",
        "95 % interval",
        "Paper",
        "Paper p",
        "Paper Holm p",
        "Verdict",
    )
    return markdown_body(Table("", "", head, tuple(rows)))


def sweep(results: Results, experiment: str) -> Iterator[str]:
    label, metrics = SWEEPS[experiment]
    for metric in metrics:
        settings, known = results.settings(experiment), results.methods(experiment)
        methods = [method for method in (*METHODS, *REFERENCES) if method in known]
        rows = []
        for setting in settings:
            found = [summary(results.values(experiment, m, setting, metric)) for m in methods]
            rows.append((setting, *(with_interval(one) for one in found)))
        yield f"### {metric_head(metric)} by {label}"
        head = (label, *(look(method).label for method in methods))
        kept = [i for i in range(len(head)) if any(row[i] != "–" for row in rows)]
        shown = tuple(tuple(row[i] for i in kept) for row in rows)
        yield markdown_body(Table("", "", tuple(head[i] for i in kept), shown))


def ablation_beside(results: Results) -> Table:
    rows = []
    for variant in ABLATION:
        cells = []
        for metric in ABLATION_METRICS:
            found = summary(results.values("ablation", PROPOSED, variant, metric))
            cells += [with_interval(found), _marked(found, published.ABLATION[variant][metric])]
        rows.append((variant, *cells))
    head = [c for m in ABLATION_METRICS for c in (metric_head(m), "paper")]
    return Table("", "", ("Variant", *head), tuple(rows))


def ablation_less_full(results: Results) -> Table:
    rows = [
        (variant, *(with_interval(less_full(results, variant, m), "+") for m in ABLATION_METRICS))
        for variant in list(ABLATION)[1:]
    ]
    return Table("", "", ("Variant", *map(metric_head, ABLATION_METRICS)), tuple(rows))


def less_full(results: Results, variant: str, metric: str) -> Summary:
    """The difference of a variant from the full method, paired over seeds."""
    return _less(results, "ablation", PROPOSED, (variant, next(iter(ABLATION))), metric)


def departures_less_ours(results: Results) -> Table:
    rows = [
        (
            departure(method, setting),
            *(
                with_interval(_less(results, experiment, method, (setting, OURS), metric), "+")
                for metric in DEPARTURE_METRICS
            ),
        )
        for experiment, method, settings in DEPARTED
        for setting in settings
        if setting != OURS
    ]
    return Table("", "", ("Choice", *map(metric_head, DEPARTURE_METRICS)), tuple(rows))


def _less(
    results: Results, experiment: str, method: str, settings: tuple[str, str], metric: str
) -> Summary:
    """The difference between two settings, paired over seeds."""
    one, other = (results.by_seed(experiment, method, s, metric) for s in settings)
    return summary([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())])


def canary_beside(results: Results) -> Table:
    quoted = published.TEXT["canary_exposure"]
    rows = [
        (
            look(method).label,
            *(
                with_interval(summary(results.values("canary", method, label, "canary_exposure")))
                for label in CANARIES
            ),
            _marked(
                summary(results.values("canary", method, next(iter(CANARIES)), "canary_exposure")),
                quoted[method],
            )
            if method in quoted
            else "",
        )
        for method in METHODS
    ]
    return Table("", "", ("Method", *CANARIES, "Paper (4 copies)"), tuple(rows))


def cost_beside(results: Results) -> Table:
    rows = []
    for method in METHODS:
        cells = []
        for metric, digits in COSTS.items():
            found = summary(results.values("cost", method, MAIN, metric))
            printed = f"{published.RUNTIME[method][metric]:.{published.RUNTIME_DIGITS[metric]}f}"
            cells += [with_interval(found, "", digits), printed]
        rows.append((look(method).label, *cells))
    head = [c for metric in COSTS for c in (metric_label(metric), "paper")]
    return Table("", "", ("Method", *head), tuple(rows))


def dataset_beside() -> str:
    said = "; ".join(
        f"{fact.replace('_', ' ')} {' / '.join(f'{value:g}' for value in values)}"
        for fact, values in published.DATASET.items()
    )
    return f"In the paper (seed {SEEDS[0]}; all / train / test): {said}."


def paired(results: Results, metric: str, other: str) -> list[float]:
    ours = results.by_seed("comparison", PROPOSED, MAIN, metric)
    theirs = results.by_seed("comparison", other, MAIN, metric)
    return [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]


def _verdict(found: Summary, paper: float) -> str:
    if found.seeds < 2:
        return ""
    return "" if found.contains(paper) else "differs"


def _marked(found: Summary, paper: float) -> str:
    """A printed number without a standard deviation, marked if it lies outside our interval."""
    verdict = _verdict(found, paper)
    return f"{paper:.3f} ({verdict})" if verdict else f"{paper:.3f}"


def _short(gap: Summary) -> str:
    return f"{gap.mean:+.3f} ({gap.lower:+.3f} to {gap.upper:+.3f})"


def _signed(value: float) -> str:
    return "–" if value != value else f"{value:+.3f}"
