"""The guarantee in figures that a board can weigh: what the strongest possible attacker gains, the
ledger as a bar and a table, and the total over all fits of these patients."""

from dataclasses import dataclass
from math import ceil

from longsynth.govern.provenance import Account
from longsynth.privacy.budget import ACCOUNTINGS, epsilon_of
from longsynth.privacy.ledger import Entry, Ledger
from longsynth.release.statement import (
    Attacker,
    constants_by_hand,
    delta_warning,
    natural,
    odds_in_words,
    promised,
    rounded_up,
)
from longsynth.show.dossier.facts import Facts
from longsynth.show.dossier.lines import NORMAL, TRADEOFF, detected_at, mu_of, tradeoff
from longsynth.show.dossier.svg import Figure
from longsynth.system.text import as_typed

TABLE = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5)  # rates of false alarms in the table
SLIDER = sorted({k / 1000 for k in range(1, 20)} | {k / 100 for k in range(2, 100)})
START = SLIDER.index(0.01)
COLOURS = 8  # that style.css has for segments of the bar


@dataclass(frozen=True, slots=True)
class Guarantee:
    epsilon: str
    delta: str
    accounting: str
    auc: str
    detected: str  # true alarms at 1 % false alarms
    odds: str
    correct: str  # percentage of guesses between two equally likely records
    warning: str | None
    accountings: tuple[tuple[str, str, bool], ...]  # name, ε, whether it is the claim
    rates: tuple[tuple[str, str], ...]  # false alarms, true alarms at most
    points: tuple[dict[str, object], ...]  # of the curve, for the slider
    in_words: str
    curve: Figure


def guarantee(ledger: Ledger) -> Guarantee:
    """Every limit is rounded up, so that it is never exceeded."""
    budget, mu = promised(ledger), mu_of(float(ledger.spent))
    auc, detected = Attacker.against(ledger.spent).shown()
    return Guarantee(
        epsilon=as_typed(budget.epsilon),
        delta=as_typed(budget.delta),
        accounting=budget.accounting,
        auc=auc,
        detected=detected,
        odds=odds_in_words(budget.epsilon),
        correct=percent_up(NORMAL.cdf(mu / 2)),
        warning=delta_warning(budget, ledger.patients),
        accountings=tuple(
            (a, rounded_up(epsilon_of(ledger.spent, budget.delta, a)), a == budget.accounting)
            for a in ACCOUNTINGS
        ),
        rates=tuple((f"{100 * a:g} %", f"{_detected(mu, a)} %") for a in TABLE),
        points=tuple(
            {
                "alarms": f"{100 * a:g}",
                "detected": _detected(mu, a),
                "x": round(TRADEOFF.px(a), 1),
                "y": round(TRADEOFF.py(detected_at(mu, a)), 1),
            }
            for a in SLIDER
        ),
        in_words=in_words(NORMAL.cdf(mu / 2)),
        curve=_curve(ledger, mu, auc),
    )


def percent_up(share: float) -> str:
    """A percentage with one decimal, rounded up."""
    return f"{min(ceil(1000 * share - 1e-9) / 10, 100):.1f}"


def _detected(mu: float, alarms: float) -> str:
    return percent_up(detected_at(mu, alarms))


def in_words(correct: float) -> str:
    """How strong the guarantee is against the strongest attacker; never overstated."""
    if correct < 0.6:
        return "That is little better than tossing a coin."
    if correct < 0.8:
        return "That is a limited advantage over a coin toss."
    if correct < 0.95:
        return "The guarantee rules out certainty, not a good guess. Weaker attackers do no better."
    return (
        "Against such an attacker the guarantee leaves almost nothing uncertain. It limits weaker "
        "attackers only because they know less."
    )


def _curve(ledger: Ledger, mu: float, auc: str) -> Figure:
    title = "Limit on the strongest attacker"
    summary = (
        f"With 1 % false alarms, the attacker has at most {_detected(mu, 0.01)} % true alarms; "
        f"with 10 %, at most {_detected(mu, 0.1)} %; with 50 %, at most {_detected(mu, 0.5)} %. "
        f"Guessing has equally many of both. The area under the curve is at most {auc}."
    )
    about = (
        "Rate of true alarms by rate of false alarms, for the strongest test between two records "
        f"of one patient, at a total of ρ = {float(ledger.spent):.4g}. {summary}"
    )
    return Figure("tradeoff", title, tradeoff("tradeoff", title, about, mu), summary)


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
    correct: str  # percentage of guesses, as in `Guarantee`
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
        correct=percent_up(NORMAL.cdf(mu_of(float(cap.rho)) / 2)),
        spent=f"{float(spent):.6g} of {float(cap.rho):.6g}",
        as_epsilon=rounded_up(epsilon_of(spent, cap.delta, cap.accounting)),
        percent=percent,
        this=min(100 * this / float(cap.rho), percent),
    )
