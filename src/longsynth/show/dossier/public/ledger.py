"""The ledger as a bar and a table, and the total over all fits of these patients."""

from dataclasses import dataclass

from longsynth.govern.provenance import Account
from longsynth.privacy.budget import epsilon_of
from longsynth.privacy.ledger import Entry
from longsynth.release.statement import Attacker, constants_by_hand, natural, rounded_up
from longsynth.show.dossier.public.facts import Facts
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
    noise: str  # what the noise means
    stage: int
    colour: int


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


@dataclass(frozen=True, slots=True)
class LedgerTable:
    lines: tuple[Line, ...]
    total: str
    allowed: str
    numbers: str
    noise: str  # the kind of noise
    by_hand: str  # constants that do not follow from the rules
    summary: str
    datasets: tuple[Dataset, ...]
    entry: int | None
    head: str


def ledger_table(facts: Facts) -> LedgerTable:
    ledger, book = facts.bundle.ledger, facts.provenance.book
    lines = tuple(_line(facts, place, entry) for place, entry in enumerate(ledger.entries))
    largest = max(lines, key=lambda line: line.share)
    return LedgerTable(
        lines=lines,
        total=f"{float(ledger.spent):.6g}",
        allowed=f"{float(ledger.budget.rho):.6g}" if ledger.budget else "",
        numbers=f"{sum(e.statistic.dimension for e in ledger.entries):,}",
        noise=ledger.noise,
        by_hand=constants_by_hand(facts.bundle).replace("`", ""),
        summary=(
            f"{len(lines)} lines. The largest share, {largest.share:.0f} %, went to "
            f"“{largest.name}” ({largest.meaning})."
        ),
        datasets=tuple(_dataset(a, float(ledger.spent)) for a in (book.accounts if book else ())),
        entry=book.entry if book else None,
        head=book.head if book else "",
    )


def _line(facts: Facts, place: int, entry: Entry) -> Line:
    figures, name = natural(entry), entry.statistic.name
    return Line(
        name=name,
        meaning=entry.statistic.meaning,
        numbers=f"{entry.statistic.dimension:,}",
        share=float(100 * entry.share),
        rho=f"{figures['rho']:.4g}",
        sensitivity=f"{figures['sensitivity']:.4g}",
        sigma=f"{figures['sigma']:.4g}",
        noise=facts.noise[name],
        stage=facts.passes.get(name, 1),
        colour=place % COLOURS,
    )


def _dataset(account: Account, this: float) -> Dataset:
    cap, spent = account.cap, account.spent
    percent = float(100 * spent / cap.rho)
    return Dataset(
        name=account.dataset,
        cap=f"ε = {as_typed(cap.epsilon)}, δ = {as_typed(cap.delta)}",
        auc=Attacker.against(cap.rho).shown()[0],
        spent=f"{float(spent):.6g} of {float(cap.rho):.6g}",
        as_epsilon=rounded_up(epsilon_of(spent, cap.delta, cap.accounting)),
        percent=percent,
        this=min(100 * this / float(cap.rho), percent),
    )
