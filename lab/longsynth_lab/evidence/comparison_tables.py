"""Tables of the evidence pages: all rows with their references, and comparisons with rivals."""

from collections.abc import Iterable, Iterator, Sequence

from longsynth.audit.classifiers import INVERSE_PENALTY
from longsynth.methods import DEFAULT
from longsynth_lab.evidence.comparisons import ACCOUNTING, DELTA
from longsynth_lab.evidence.rivals import Verdict, best_row, verdicts
from longsynth_lab.experiments import BASE_RATE, REFERENCES, TRAIN_ON_REAL
from longsynth_lab.labels import look, metric_head, metric_label
from longsynth_lab.measures import BOOSTED
from longsynth_lab.paper import study_tables
from longsynth_lab.results import Results
from longsynth_lab.statistics import Summary, summary
from longsynth_lab.tables import Table, interval, markdown_body, number
from longsynth_lab.variants import is_private

UTILITY = ("auprc", "boosted_auprc", "auroc", "brier", "ece", "mean_prediction")
FIDELITY = (*study_tables.FIDELITY, "visit_count_error")
COMPARED = (
    *(start + metric for metric in ("auprc", "auroc", "brier", "ece") for start in ("", BOOSTED)),
    "worst_group_auprc",
    *FIDELITY,
)
_DELTA = f"{DELTA:g}".replace("e-0", "e-")
CONDITIONS = (
    f"**Methods.** Accounting `{ACCOUNTING}`, δ = {_DELTA}. Each release generates as many "
    "synthetic patients as there are training patients, and every metric uses their population "
    "weights. Two classifiers are trained on summaries of synthetic patients and tested on "
    f"held-out patients: a logistic regression (L2 penalty, C = {INVERSE_PENALTY:g}, standardised "
    "inputs) and, in columns named *boosted*, gradient-boosted trees. *Train on real* is the same "
    "classifier trained on the real training patients. *Base rate* predicts their event rate for "
    "everyone. Methods without an ε give no privacy guarantee. [Metrics](metrics.md) explains "
    "every column."
)
RIVALS_AT_BEST = (
    "**Rivals at their best.** Each rival has one row with its default settings, and one row for "
    "each setting that a [search](rivals.md) on development seeds found best for some metric. "
    "Every comparison uses the rival's best row for that metric and ε. That row is chosen from the "
    "results below, which favours the rival."
)


def label(row: str) -> str:
    """A row's name for readers: the method's label and its variant."""
    base, apart, setting = row.partition(", ")
    return look(base).label + apart + setting


def metric_name(metric: str) -> str:
    name = _in_full(metric_label(metric.removeprefix(BOOSTED)))
    return f"{name}, boosted" if metric.startswith(BOOSTED) else name


def metric_title(metric: str) -> str:
    """The head of a column, with an arrow toward better."""
    head = _in_full(metric_head(metric.removeprefix(BOOSTED)))
    return f"Boosted {head}" if metric.startswith(BOOSTED) else head


def _in_full(text: str) -> str:
    return text.replace("AC error", "Autocorrelation error")


def lines(results: Results, experiment: str) -> list[tuple[str, str]]:
    """Row and ε of every line of a table: ours first, references last. Rows without a budget have
    one line."""
    rows = sorted(
        results.methods(experiment),
        key=lambda r: (r in REFERENCES, not is_private(r), r != DEFAULT),
    )
    labels = results.settings(experiment)
    return [
        (row, setting) for row in rows for setting in (labels if is_private(row) else labels[:1])
    ]


def table(
    results: Results,
    experiment: str,
    heads: dict[str, str],
    *,
    rows: Sequence[str] | None = None,
    intervals: Iterable[str] = (),
) -> str:
    """One line per row and ε; `heads` names the metrics."""
    wide = tuple(intervals)
    body = []
    for row, setting in lines(results, experiment):
        if rows is not None and row not in rows:
            continue
        cells = [
            cell(summary(results.values(experiment, row, setting, metric)), metric in wide)
            for metric in heads
        ]
        if set(cells) != {"–"}:
            body.append((label(row), setting if is_private(row) else "–", *cells))
    head = ("Method", "ε", *heads.values())
    return markdown_body(Table("", "", head, tuple(body), (look(DEFAULT).label,)))


def cell(found: Summary, with_interval: bool) -> str:
    if not with_interval or found.seeds < 2:
        return number(found.mean)
    return f"{number(found.mean)} ({interval(found)})"


def in_short(results: Results, experiment: str) -> Iterator[str]:
    """Utility in words: both references, and the best private row at each ε."""
    labels = results.settings(experiment)
    real, guess = (
        summary(results.values(experiment, row, labels[0], "auprc"))
        for row in (TRAIN_ON_REAL, BASE_RATE)
    )
    yield (
        f"Training on real patients gives an AUPRC of {number(real.mean)}; predicting the base "
        f"rate gives {number(guess.mean)}."
    )
    private = [row for row in results.methods(experiment) if is_private(row)]
    for setting in labels:
        best = best_row(results, experiment, setting, "auprc", private)
        if best is not None:
            found = summary(results.values(experiment, best, setting, "auprc"))
            ours = summary(results.values(experiment, DEFAULT, setting, "auprc"))
            beside = (
                "" if best == DEFAULT else f"; {look(DEFAULT).label} reaches {cell(ours, True)}"
            )
            told = f"{label(best)} with {cell(found, True)}{beside}"
            yield f"At ε = {setting}, the best private row is {told}."


def outcomes(results: Results, experiment: str) -> Iterator[str]:
    """Losses first, then wins and undecided comparisons, then the table of all of them."""
    found = list(verdicts(results, experiment, COMPARED))
    ours = look(DEFAULT).label
    for said, outcome in (("is behind", "behind"), ("is ahead", "ahead")):
        chosen = [v for v in found if v.outcome == outcome]
        yield (
            f"**Where {ours} {said}** ({len(chosen)} of {len(found)} comparisons; the 95 % "
            "interval of the paired difference excludes zero):"
        )
        yield "\n".join(_grouped(chosen)) or "- nowhere."
    level = sum(v.outcome == "level" for v in found)
    yield (
        f"In the other {level} comparisons the interval contains zero, so neither method is shown "
        "to be better. Intervals are not corrected for the number of comparisons. If two methods "
        "did not differ at all, about one comparison in twenty would still be called ahead or "
        "behind."
    )
    yield markdown_body(Table("", "", _HEAD, tuple(_line(v) for v in found)))


_HEAD = (
    "Metric",
    "ε",
    look(DEFAULT).label,
    "Best row of the rival",
    "Rival",
    "Difference",
    "Verdict",
)


def _line(found: Verdict) -> tuple[str, ...]:
    gap = found.gap
    return (
        metric_name(found.metric),
        found.setting,
        number(found.ours.mean),
        label(found.best),
        number(found.theirs.mean),
        f"{gap.mean:+.3f} ({interval(gap, 3, '+')})",
        {"ahead": "ahead", "behind": "**behind**", "level": ""}[found.outcome],
    )


def _grouped(found: Sequence[Verdict]) -> Iterator[str]:
    """One line per rival and metric, with the budgets and differences."""
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for one in found:
        groups.setdefault((one.rival, one.metric), []).append(one)
    for (rival, metric), some in groups.items():
        told = ", ".join(f"{v.gap.mean:+.3f} at ε = {v.setting}" for v in some)
        yield f"- {metric_name(metric)} against {look(rival).label}: {told}"
