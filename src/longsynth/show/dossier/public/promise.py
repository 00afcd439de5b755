"""The promise in figures that a board can weigh: what the best possible attacker gains."""

from dataclasses import dataclass
from math import ceil

from longsynth.privacy.budget import ACCOUNTINGS, epsilon_of
from longsynth.privacy.ledger import Ledger
from longsynth.release.statement import Attacker, delta_warning, odds_in_words, promised, rounded_up
from longsynth.show.dossier.charts.figure import Figure
from longsynth.show.dossier.charts.tradeoff import NORMAL, found_at, mu_of, tradeoff
from longsynth.show.dossier.facts import Facts
from longsynth.system.text import as_typed

SLIDER = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5)  # rates of false alarms that the table tells


@dataclass(frozen=True, slots=True)
class Promise:
    epsilon: str
    delta: str
    accounting: str
    auc: str
    found: str  # at 1 % false alarms
    odds: str
    right: str  # of 100 guesses between two records
    warning: str | None
    accountings: tuple[tuple[str, str, bool], ...]  # name, ε, whether it is the claim
    rates: tuple[tuple[str, str], ...]  # false alarms, found at most
    mu: float
    in_words: str
    curve: Figure


def promise(facts: Facts) -> Promise:
    ledger = facts.bundle.ledger
    budget, mu = promised(ledger), mu_of(float(ledger.spent))
    auc, found = Attacker.against(ledger.spent).shown()
    right = up(NORMAL.cdf(mu / 2), 1)
    return Promise(
        epsilon=as_typed(budget.epsilon),
        delta=as_typed(budget.delta),
        accounting=budget.accounting,
        auc=auc,
        found=found,
        odds=odds_in_words(budget.epsilon),
        right=right,
        warning=delta_warning(budget, ledger.patients),
        accountings=tuple(
            (a, rounded_up(epsilon_of(ledger.spent, budget.delta, a)), a == budget.accounting)
            for a in ACCOUNTINGS
        ),
        rates=tuple((f"{100 * rate:g} %", f"{up(found_at(mu, rate), 1)} %") for rate in SLIDER),
        mu=mu,
        in_words=in_words(NORMAL.cdf(mu / 2)),
        curve=_curve(ledger, mu, auc),
    )


def up(share: float, digits: int) -> str:
    """A percentage rounded up, so that a limit is never exceeded."""
    scale = 10**digits
    return f"{min(ceil(100 * scale * share - 1e-9) / scale, 100):.{digits}f}"


def in_words(right: float) -> str:
    """How strong the promise is against the strongest attacker; never stronger than it is."""
    if right < 0.6:
        return (
            "Even an attacker who knows everyone else's record can do little better than tossing "
            "a coin."
        )
    if right < 0.8:
        return (
            "Even an attacker who knows everyone else's record is held to a limited advantage over "
            "tossing a coin."
        )
    if right < 0.95:
        return (
            "An attacker who knows everyone else's record could often guess right. The promise "
            "rules out certainty, not a good guess; weaker attackers are held to less."
        )
    return (
        "Against an attacker who knows everyone else's record this promise leaves almost nothing "
        "uncertain. It limits what weaker attackers learn only so far as they are weaker."
    )


def _curve(ledger: Ledger, mu: float, auc: str) -> Figure:
    title = "What the best possible attacker gains"
    summary = (
        f"At 1 % false alarms the attacker finds at most {up(found_at(mu, 0.01), 1)} %, at 10 % at "
        f"most {up(found_at(mu, 0.1), 1)} %, at 50 % at most {up(found_at(mu, 0.5), 1)} %. Pure "
        f"guessing finds as many as it accuses. The area under the curve is at most {auc}."
    )
    about = (
        "Share of true alarms over share of false alarms for the strongest test between two "
        f"records of one patient, for a total of ρ = {float(ledger.spent):.4g}. {summary}"
    )
    return Figure("tradeoff", title, tradeoff("tradeoff", title, about, mu), summary)
