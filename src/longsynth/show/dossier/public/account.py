"""The ledger as rows and a bar, and what all fits of these patients add up to."""

from dataclasses import dataclass

from longsynth.privacy.budget import epsilon_of
from longsynth.release.statement import Attacker, constants_by_hand, natural, rounded_up
from longsynth.show.dossier.facts import Facts
from longsynth.system.text import as_typed

COLOURS = 8  # that style.css has for segments of the bar


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    meaning: str
    numbers: str
    share: float  # of the budget, percent
    rho: str
    sensitivity: str
    sigma: str
    blur: str
    stage: int
    colour: int


@dataclass(frozen=True, slots=True)
class Account:
    lines: tuple[Line, ...]
    total: str
    allowed: str
    numbers: str
    noise: str
    by_hand: str  # constants that do not follow from the rules
    summary: str
    datasets: tuple["Dataset", ...]
    entry: int | None
    head: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """One line of the budget book after this fit."""

    name: str
    cap: str
    auc: str
    spent: str
    as_epsilon: str
    percent: float  # of the cap, this fit included
    this: float  # of the cap, this fit alone


def account(facts: Facts) -> Account:
    ledger, book = facts.bundle.ledger, facts.provenance.book
    lines = tuple(_line(facts, i) for i in range(len(ledger.entries)))
    largest = max(lines, key=lambda line: line.share)
    numbers = sum(e.statistic.dimension for e in ledger.entries)
    summary = (
        f"{len(lines)} lines; the largest share, {largest.share:.0f} %, went to "
        f"“{largest.name}” ({largest.meaning})."
    )
    return Account(
        lines=lines,
        total=f"{float(ledger.spent):.6g}",
        allowed=f"{float(ledger.budget.rho):.6g}" if ledger.budget else "",
        numbers=f"{numbers:,}",
        noise=ledger.noise,
        by_hand=constants_by_hand(facts.bundle).replace("`", ""),
        summary=summary,
        datasets=tuple(
            Dataset(
                name=a.dataset,
                cap=f"ε = {as_typed(a.cap.epsilon)}, δ = {as_typed(a.cap.delta)}",
                auc=Attacker.against(a.cap.rho).shown()[0],
                spent=f"{float(a.spent):.6g} of {float(a.cap.rho):.6g}",
                as_epsilon=rounded_up(epsilon_of(a.spent, a.cap.delta, a.cap.accounting)),
                percent=float(100 * a.spent / a.cap.rho),
                this=min(float(100 * ledger.spent / a.cap.rho), float(100 * a.spent / a.cap.rho)),
            )
            for a in (book.accounts if book else ())
        ),
        entry=book.entry if book else None,
        head=book.head if book else "",
    )


def _line(facts: Facts, place: int) -> Line:
    entry = facts.bundle.ledger.entries[place]
    plain = natural(entry)
    name = entry.statistic.name
    return Line(
        name=name,
        meaning=entry.statistic.meaning,
        numbers=f"{entry.statistic.dimension:,}",
        share=float(100 * entry.share),
        rho=f"{float(entry.rho or 0):.4g}",
        sensitivity=f"{plain['sensitivity']:.4g}",
        sigma=f"{plain['sigma']:.4g}",
        blur=facts.blur[name],
        stage=facts.passes.get(name, 1),
        colour=place % COLOURS,
    )
