"""The guarantee in figures that a board can weigh: what the strongest possible attacker gains."""

from dataclasses import dataclass
from math import ceil

from longsynth.privacy.budget import ACCOUNTINGS, epsilon_of
from longsynth.privacy.ledger import Ledger
from longsynth.release.statement import Attacker, delta_warning, odds_in_words, promised, rounded_up
from longsynth.show.dossier.charts.lines import NORMAL, TRADEOFF, detected_at, mu_of, tradeoff
from longsynth.show.dossier.charts.svg import Figure
from longsynth.system.text import as_typed

TABLE = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5)  # rates of false alarms in the table
SLIDER = sorted({k / 1000 for k in range(1, 20)} | {k / 100 for k in range(2, 100)})
START = SLIDER.index(0.01)


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
        return (
            "Even an attacker who knows everyone else's record can do little better than toss a "
            "coin."
        )
    if correct < 0.8:
        return (
            "Even an attacker who knows everyone else's record has only a limited advantage over "
            "tossing a coin."
        )
    if correct < 0.95:
        return (
            "An attacker who knows everyone else's record could often guess correctly. The "
            "guarantee rules out certainty, not a good guess. A weaker attacker can do no better."
        )
    return (
        "Against an attacker who knows everyone else's record, this guarantee leaves almost "
        "nothing uncertain. It limits weaker attackers only because they know less."
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
