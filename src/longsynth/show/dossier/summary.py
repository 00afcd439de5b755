"""The first paragraph of a dossier: what a board is asked to approve, the risk, and the use."""

from collections.abc import Sequence
from dataclasses import dataclass

from longsynth.schema.schema import Schema
from longsynth.show.dossier.facts import Facts
from longsynth.show.dossier.guarantee import Guarantee, LedgerTable
from longsynth.show.dossier.verdicts import Verdict
from longsynth.show.dossier.words import listed, outcome_name


@dataclass(frozen=True, slots=True)
class Summary:
    asked: str
    risk: str
    quality: str  # empty: it was not measured
    avoid: str


def summary(
    facts: Facts, stated: Guarantee, ledger: LedgerTable, found: Sequence[Verdict] = ()
) -> Summary:
    """`found` is what an audit found, if there was one."""
    avoid = "; ".join(v.avoid for v in found if v.avoid)
    return Summary(
        asked=_asked(facts, ledger.numbers),
        risk=_risk(stated, ledger, [v for v in found if v.attack]),
        quality=" ".join(v.board for v in found if v.board),
        avoid="; or ".join(filter(None, (avoid, "decisions about a patient's care"))),
    )


def _asked(facts: Facts, numbers: str) -> str:
    bundle, schema = facts.bundle, facts.bundle.schema
    return (
        f"the release of {numbers} numbers about {bundle.patients:,} patients, each with random "
        f"noise added, and of any number of synthetic patients generated from them. The data are "
        f"“{schema.name}”: {len(schema.variables)} variables{_codes(facts)} at up to "
        f"{schema.slots} times per patient, and {_outcomes(schema)}. The method is "
        f"{bundle.method}. {_people(facts)}"
    )


def _outcomes(schema: Schema) -> str:
    """The primary outcome by name, then the others."""
    named = [f"“{outcome_name(schema, outcome)}”" for outcome in schema.outcomes]
    if not named:
        return "no outcome"
    if len(named) == 1:
        return f"the outcome {named[0]}"
    return f"the primary outcome {named[0]}, besides {listed(named[1:])}"


def _codes(facts: Facts) -> str:
    lists = facts.bundle.schema.codes
    named = (f"{len(c.levels):,} codes of “{c.name}”" for c in lists)
    return f", and {' and '.join(named)}" if lists else ""


def _people(facts: Facts) -> str:
    fitted, signed = facts.provenance.fitted_by, facts.signed
    by = f"Fitted by {fitted}" if fitted else "Fitted by someone who is not named"
    if facts.form:
        form = f"under the governance form “{facts.form.title}”"
    elif facts.provenance.governance:
        form = "under a governance form, which the data steward can show"
    else:
        form = "without a governance form"
    if not signed:
        return f"{by}, {form}; not signed, so nobody vouches for it yet."
    return f"{by}, {form}; signed by {signed.by or 'a signer without a name'}."


def _risk(stated: Guarantee, ledger: LedgerTable, attacks: Sequence[Verdict]) -> str:
    says = (
        f"ε = {stated.epsilon}, δ = {stated.delta}. An attacker who knows every other patient's "
        f"record, and that one patient's record is one of two, guesses which at most "
        f"{stated.correct} % of the time; a coin toss is right 50 % of the time. {stated.in_words}"
    )
    for d in ledger.datasets:
        says += (
            f" The budget book caps all fits of “{d.name}” together at {d.cap}: then at most "
            f"{d.correct} %."
        )
    if not ledger.datasets:
        says += " No budget book was kept: other releases about these patients add to this risk."
    return f"{says} {_attacked(attacks)}".rstrip()


def _attacked(attacks: Sequence[Verdict]) -> str:
    if not attacks:
        return ""
    won = [v.about.lower() for v in attacks if v.tone == "poor"]
    left = [v.about.lower() for v in attacks if v.tone == "open"]
    says = (
        f"In the audit, these attacks succeeded: {', '.join(won)}"
        if won
        else "No attack of the audit was shown to succeed"
    )
    says += f"; undecided: {', '.join(left)}." if left else "."
    return f"{says} That is no proof about other attacks."
