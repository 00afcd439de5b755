"""docs/membership.md and MEMBERSHIP.md: the fair membership game.

One 95 % interval in twenty misses the truth, so among many rows some miss it by chance. Holm's
correction over all private rows of all attacks decides whether a row differs from 0.5.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from longsynth.audit.attacks.canary import attack_bound
from longsynth.privacy.budget import Accounting, Budget
from longsynth_lab.experiments import REFERENCES, Setting
from longsynth_lab.labels import look
from longsynth_lab.results import Results
from longsynth_lab.statistics import Summary, holm, mean_p, summary
from longsynth_lab.tables import Table, interval, markdown_body, number
from longsynth_lab.variants import is_private

NAME = "membership"
CHANCE, LEVEL = 0.5, 0.05
ATTACKS = {
    "mia_auc_swapped": "nearest neighbour",
    "mia_density_auc_swapped": "density ratio",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of one attack. Only private rows have a p value and a bound."""

    metric: str
    method: str
    setting: str
    found: Summary
    holm: float | None = None
    bound: float | None = None  # no attacker may expect more, by the row's budget

    @property
    def differs(self) -> bool:
        if self.holm is None:
            return not self.found.contains(CHANCE)
        return self.holm < LEVEL


def verdicts(
    results: Results, budgets: Mapping[str, Setting], metrics: Iterable[str] = ATTACKS
) -> list[Verdict]:
    """Judge all rows of these attacks as one family. `budgets` gives the setting of each label."""
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
    delta = f"{first.delta:g}".replace("e-0", "e-")
    (train_patients,) = {row.train_patients for row in results.rows if row.experiment == NAME}
    parts = [
        "# Membership",
        f"**Methods.** Accounting `{first.accounting}`, δ = {delta}. The two attacks measure "
        "distances; no classifier is trained.",
        "An attacker has a patient's record and the synthetic patients. Can they tell whether the "
        f"patient was in the cohort? The game is fair. Two groups of {train_patients} people are "
        "simulated from the same population, without splitting or stratifying. The method is "
        "fitted to each group, each time the attack separates members from non-members, and we "
        "average the two AUROCs. A person who is easy to find by chance thus counts once on each "
        "side. A third group sets the unit of distances and the reference density.",
        f"Numbers are means over {len(results.seeds(NAME))} seeds, each with its own people and "
        "noise, with 95 % t intervals. With many intervals, some miss 0.5 by chance. A private row "
        "therefore *differs* from 0.5 only if its p value, with Holm's correction over all private "
        f"rows on this page, is below {LEVEL}. *Bound* is the highest AUROC that any attacker can "
        "expect, given the row's ε and δ; [the derivation](metrics.md#what-the-guarantee-allows).",
        *(part for metric in ATTACKS for part in _attack(metric, rows)),
        "## Conclusions",
        "\n".join(f"- {line}" for line in _said(rows)),
    ]
    return "\n\n".join(parts) + "\n"


def _budgets(results: Results) -> dict[str, Setting]:
    """The setting of each label, from the private rows."""
    found = {
        row.setting: Setting(epsilon=row.epsilon, delta=row.delta, accounting=row.accounting)  # type: ignore[arg-type]
        for row in results.rows
        if row.experiment == NAME and row.accounting
    }
    return {label: found[label] for label in results.settings(NAME)}


def _attack(metric: str, rows: list[Verdict]) -> Iterator[str]:
    yield f"## Attack by {ATTACKS[metric]}"
    head = ("Method", "ε", "AUROC →.5", "95 % interval", "Holm p", "Bound", "Verdict")
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
        "differs" if row.differs else "",
    )


def _said(rows: list[Verdict]) -> Iterator[str]:
    private = [row for row in rows if row.bound is not None]
    if private:
        yield from _of_private(private)
    open_ = [row for row in rows if row.bound is None and row.differs]
    if open_:
        yield f"The attacks work: {'; '.join(map(_name, open_))}."


def _of_private(private: list[Verdict]) -> Iterator[str]:
    apart = [row for row in private if row.differs]
    missed = [row for row in private if not row.found.contains(CHANCE)]
    yield (
        f"{len(missed)} of {len(private)} private rows have an uncorrected 95 % interval that "
        f"misses 0.5; {len(apart)} differ from it after the correction"
        + (f": {'; '.join(map(_name, apart))}." if apart else ".")
    )
    if apart:
        yield (
            "These differences are real: an attacker can identify members slightly better than "
            "by chance. A privacy budget bounds this leak; it does not remove it."
        )
    widest = max(row.found.upper - row.found.mean for row in private)
    yield (
        "A row that does not differ from 0.5 may still leak: intervals extend up to "
        f"{widest:.3f} to either side, and other attacks may find more. Only the bound covers all "
        "attacks."
    )
    over = [row for row in private if row.bound is not None and row.found.lower > row.bound]
    yield (
        f"ABOVE THEIR BOUND, so the guarantee is broken: {'; '.join(map(_name, over))}."
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
