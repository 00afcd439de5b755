"""MEMBERSHIP.md: the fair membership game, judged for all private rows together.

One 95 % interval in twenty misses a truth, so of many rows some miss it by luck: whether a row is
told apart from 0.5 is decided by Holm's correction over all private rows of all attacks.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from longsynth.audit.attacks.canary import attack_bound
from longsynth.privacy.budget import Accounting, Budget
from longsynth_lab.experiments import REFERENCES, Setting
from longsynth_lab.results import Results
from longsynth_lab.statistics import Summary, holm, mean_p, summary
from longsynth_lab.study_style import look
from longsynth_lab.study_tables import Table, markdown_body
from longsynth_lab.tables import interval, number
from longsynth_lab.variants import is_private

NAME = "membership"
CHANCE, LEVEL = 0.5, 0.05
ATTACKS = {
    "mia_auc_swapped": "nearest neighbour",
    "mia_density_auc_swapped": "density ratio",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of one attack. p and the bound are of private rows only."""

    metric: str
    method: str
    setting: str
    found: Summary
    holm: float | None = None
    bound: float | None = None  # no attacker may expect more, by the row's budget

    @property
    def told_apart(self) -> bool:
        if self.holm is None:
            return not self.found.contains(CHANCE)
        return self.holm < LEVEL


def verdicts(
    results: Results, budgets: Mapping[str, Setting], metrics: Iterable[str] = ATTACKS
) -> list[Verdict]:
    """Judge every row of these attacks as one family; `budgets` says what labels stand for."""
    rows = [
        (metric, method, label)
        for metric in metrics
        for method in sorted(results.methods(NAME), key=lambda m: m in REFERENCES)
        for label in (budgets if _private(method) else [*budgets][:1])
    ]
    values = {row: results.values(NAME, row[1], row[2], row[0]) for row in rows}
    adjusted = holm(
        {" ".join(row): mean_p(values[row], CHANCE) for row in rows if _private(row[1])}
    )
    return [
        Verdict(
            *row,
            summary(values[row]),
            adjusted.get(" ".join(row)),
            _bound(budgets[row[2]]) if _private(row[1]) else None,
        )
        for row in rows
    ]


def membership_text(results: Results) -> str:
    """Return the page; every number and verdict comes from the results."""
    budgets = _budgets(results)
    rows = verdicts(results, budgets)
    first = next(iter(budgets.values()))
    (train_patients,) = {row.train_patients for row in results.rows if row.experiment == NAME}
    parts = [
        "# Membership",
        "Can someone who holds a patient's record and the synthetic patients tell whether the "
        "patient was in the cohort? The game is fair: two groups of "
        f"{train_patients} simulated people of one law, neither split nor stratified, change "
        "places. The method is fitted to each, each is told from the other, and the two AUROCs "
        "are averaged, so that whoever is easy to find by chance counts once on either side. A "
        "third group gives distances their unit and densities their reference.",
        f"Means over {len(results.seeds(NAME))} seeds, each with people and noise of its own, and "
        "95 % t intervals over them, which hold the luck of patients, of noise and of sampling. "
        "Some such intervals miss 0.5 by luck where there are many: a private row counts as "
        f"*told apart* if its p, corrected by Holm over all private rows of this page, is below "
        f"{LEVEL}. *Bound*: what the row's ε allows any attacker to expect "
        f"(δ = {first.delta:g}, accounting `{first.accounting}`); "
        "[how it follows](metrics.md#what-the-guarantee-allows).",
        *(part for metric in ATTACKS for part in _attack(metric, rows)),
        "## What can be said",
        "\n".join(f"- {line}" for line in _said(rows)),
    ]
    return "\n\n".join(parts) + "\n"


def _budgets(results: Results) -> dict[str, Setting]:
    """What each label stands for, as the private rows say it."""
    found = {
        row.setting: Setting(epsilon=row.epsilon, delta=row.delta, accounting=row.accounting)  # type: ignore[arg-type]
        for row in results.rows
        if row.experiment == NAME and row.accounting
    }
    return {label: found[label] for label in results.settings(NAME)}


def _attack(metric: str, rows: list[Verdict]) -> Iterator[str]:
    yield f"## By {ATTACKS[metric]}"
    head = ("Method", "ε", "AUROC →.5", "95 % interval", "Holm p", "Bound", "")
    shown = tuple(_line(row) for row in rows if row.metric == metric)
    yield markdown_body(Table("", "", head, shown))


def _line(row: Verdict) -> tuple[str, ...]:
    return (
        look(row.method).label,
        row.setting if row.bound is not None else "–",
        number(row.found.mean),
        interval(row.found),
        "–" if row.holm is None else f"{row.holm:.3f}" if row.holm >= 0.001 else "< 0.001",
        "none" if row.bound is None else number(row.bound),
        "told apart" if row.told_apart else "",
    )


def _said(rows: list[Verdict]) -> Iterator[str]:
    private = [row for row in rows if row.bound is not None]
    if private:
        yield from _of_private(private)
    open_ = [row for row in rows if row.bound is None and row.told_apart]
    if open_:
        yield f"The attacks are not blind: {'; '.join(map(_name, open_))}."


def _of_private(private: list[Verdict]) -> Iterator[str]:
    apart = [row for row in private if row.told_apart]
    missed = [row for row in private if not row.found.contains(CHANCE)]
    yield (
        f"{len(missed)} of {len(private)} private rows have a single 95 % interval that misses "
        f"0.5; {len(apart)} are told apart from it after the correction"
        + (f": {'; '.join(map(_name, apart))}." if apart else ".")
    )
    if apart:
        yield (
            "What is told apart is real: members of these releases can be guessed a little better "
            "than by chance. A budget bounds that, it does not make it nothing."
        )
    widest = max(row.found.upper - row.found.mean for row in private)
    yield (
        "Not told apart is no proof that nothing is given away: intervals reach up to "
        f"{widest:.3f} to either side, and other attacks may find more. The bound speaks about all "
        "of them."
    )
    over = [row for row in private if row.bound is not None and row.found.lower > row.bound]
    yield (
        f"ABOVE THEIR BOUND, so the promise is broken: {'; '.join(map(_name, over))}."
        if over
        else "No private row is above its bound."
    )


def _name(row: Verdict) -> str:
    budget = f" at ε = {row.setting}" if row.bound is not None else ""
    return (
        f"{look(row.method).label}{budget} by {ATTACKS[row.metric]}, "
        f"{number(row.found.mean)} ({interval(row.found)})"
    )


def _private(method: str) -> bool:
    return method not in REFERENCES and is_private(method)


def _bound(setting: Setting) -> float:
    return _most_auroc(setting.epsilon, setting.delta, setting.accounting)


@lru_cache
def _most_auroc(epsilon: float, delta: float, accounting: Accounting) -> float:
    return attack_bound(Budget(epsilon, delta, accounting)).between_people
