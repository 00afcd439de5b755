"""Check a fit or a release against its governance form, and name every departure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain, combinations
from typing import Any

from longsynth.bundle import Bundle
from longsynth.govern.form import (
    ApprovedCodes,
    ApprovedGroup,
    ApprovedOutcome,
    ApprovedVariable,
    Form,
    group_facts,
    outcome_facts,
    protected_combinations,
)
from longsynth.govern.provenance import is_among
from longsynth.privacy.budget import Budget
from longsynth.release.folder import Release
from longsynth.schema.constants import SET_BY_RULE, Constants
from longsynth.schema.file import schema_sha256
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Finding, Refused
from longsynth.system.text import as_typed, shortened

Named = ApprovedOutcome | ApprovedGroup | ApprovedCodes | ApprovedVariable
CODE_FACTS = ("name", "levels", "cap")  # what a form states of each
VARIABLE_FACTS = ("name", "kind", "bounds", "bounds_from", "levels")


def allows(
    form: Form,
    *,
    schema: Schema,
    method: str,
    budget: Budget | None,
    patients: int,
    dataset: str | None,
    fitted_by: str | None,
    today: date | None = None,
) -> None:
    """Refuse a fit that departs from its form. Name each departure.

    `dataset` is the one charged in a budget book, None without a book.
    """
    departures = [
        *outside_approval(form, today or date.today()),
        *schema_departures(form, schema),
        *_fit_departures(form, method, budget, patients, dataset, fitted_by),
    ]
    if departures:
        raise Refused(
            Code.FORM_NOT_MET,
            "\n- ".join(["the governance form does not allow this fit:", *departures]),
            "\nChange the fit, or have the form changed and approved.",
        )


def check_form(form: Form, release: Release) -> Iterator[Finding]:
    """Compare a release with its form. The day of the fit is not recorded."""
    named, bundle = release.provenance.governance, release.bundle
    if named is None:
        yield Finding(False, "the release names NO governance form.")
    elif named != form.sha256:
        yield Finding(False, f"the release was fitted under ANOTHER form, SHA-256 {named}.")
    else:
        yield Finding(True, f"the release was fitted under this form, SHA-256 {named}.")
    book = release.provenance.book
    departures = [
        *schema_departures(form, bundle.schema, released_sha256(bundle)),
        *_fit_departures(
            form,
            bundle.method,
            bundle.ledger.budget,
            bundle.patients,
            book.accounts[0].dataset if book else None,
            release.provenance.fitted_by,
        ),
    ]
    for departure in departures:
        yield Finding(False, f"the form does NOT allow this: {departure}")
    if not departures:
        yield Finding(True, "the form allows this schema, method, budget and fitter.")


def check_signer(form: Form, signer: str | None) -> Finding:
    if signer is None:
        return Finding(False, "people.sign: the form names who may sign, but no name was given.")
    if not is_among(signer, form.says.people.sign):
        return Finding(False, f"people.sign: the form does NOT allow {signer} to sign.")
    return Finding(True, f"the form allows {signer} to sign.")


def released_sha256(bundle: Bundle) -> list[str]:
    """The hashes of all schemas that can give this release. A release states every constant. A
    constant that follows from its rule may or may not have been written in the schema."""
    constants, chosen = bundle.schema.resolved_constants.model_dump(), bundle.by_hand
    ruled = [name for name in SET_BY_RULE if name not in chosen]
    hashes = []
    for names in chain.from_iterable(combinations(ruled, n) for n in range(len(ruled) + 1)):
        left_out = dict.fromkeys(set(ruled) - set(names))
        written = Constants.model_validate(constants | left_out)
        hashes.append(schema_sha256(bundle.schema.model_copy(update={"constants": written})))
    return hashes


def _earlier_sha256(schema: Schema) -> str:
    """The hash that forms stated before the grid and the strength were part of it."""
    resolved = schema.resolved(1)
    constants = resolved.constants.model_copy(update={"grid_bits": 12, "strength": 1.0})
    return schema_sha256(resolved.model_copy(update={"constants": constants}))


def schema_departures(form: Form, schema: Schema, hashes: Sequence[str] = ()) -> Iterator[str]:
    """Yield each departure as one line. A schema as written has one hash; the schema of a release
    may have several."""
    for departure in _schema_departures(form, schema, hashes or [schema_sha256(schema)]):
        yield shortened(departure, longest=500)


def _schema_departures(form: Form, schema: Schema, hashes: Sequence[str]) -> Iterator[str]:
    says = form.says
    facts = says.public_facts
    yield from _departures("outcomes", says.outcomes, outcome_facts(schema))
    yield from _departures("groups", says.groups, group_facts(schema))
    codes = ({what: getattr(c, what) for what in CODE_FACTS} for c in schema.codes)
    yield from _departures("codes", says.codes, codes)
    stated = "protected" in facts.model_fields_set  # earlier forms leave it to the hash
    if stated and facts.protected != (here := protected_combinations(schema)):
        told = f"the schema has {_told(here)}; approved is {_told(facts.protected)}"
        yield f"public_facts.protected: {told}."
    levelled = {v.name for v in facts.variables if v.levels is not None}
    variables = (
        {
            what: getattr(v, what)
            for what in VARIABLE_FACTS
            if what != "levels" or v.name in levelled
        }
        for v in schema.variables
    )
    yield from _departures("public_facts.variables", facts.variables, variables)
    for site in says.held_back.sites:
        if site in schema.sites:
            yield f"held_back.sites: {site} is held back, but the schema names it."
    named = says.public_facts.schema_sha256
    if named not in hashes:
        why = "which is not the approved one"
        if named == _earlier_sha256(schema):
            why = "but the form states a hash of an earlier kind, without grid_bits and strength"
        yield f"public_facts.schema_sha256: the schema's is {hashes[0]}, {why}."


def _departures(
    place: str, approved: Sequence[Named], present: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Compare what the schema states of each outcome, group, list or variable, by its name."""
    listed = {entry.name: entry for entry in approved}
    for facts in present:
        name = facts["name"]
        if (entry := listed.pop(name, None)) is None:
            yield f"{place}: the schema has {name}, which is not approved."
            continue
        for what, here in facts.items():
            if here != (wanted := getattr(entry, what)):
                told = f"{what} {_told(here)}; approved is {_told(wanted)}"
                yield f"{place}: {name}: the schema has {told}."
    for name in listed:
        yield f"{place}: {name} is approved, but the schema lacks it."


def _told(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(v if isinstance(v, str) else as_typed(v) for v in value)}]"
    return "none" if value is None else str(value)


def _fit_departures(
    form: Form,
    method: str,
    budget: Budget | None,
    patients: int,
    dataset: str | None,
    fitted_by: str | None,
) -> Iterator[str]:
    says = form.says
    limits, people = says.budget, says.people.fit
    if method not in limits.methods:
        yield f"budget.methods: '{method}' is not one of {', '.join(limits.methods)}."
    if budget is None:
        yield "budget.epsilon: a fit without a budget is not private."
    else:
        if budget.epsilon > limits.epsilon:
            yield f"budget.epsilon: {as_typed(budget.epsilon)} is over {as_typed(limits.epsilon)}."
        if budget.delta > limits.delta:
            yield f"budget.delta: {as_typed(budget.delta)} is over {as_typed(limits.delta)}."
        if budget.accounting not in limits.accounting:
            allowed = ", ".join(limits.accounting)
            yield f"budget.accounting: '{budget.accounting}' is not one of {allowed}."
    least, most = says.protection.patients_at_least, says.protection.patients_at_most
    if not least <= patients <= most:
        yield f"protection: {patients:,} patients are not between {least:,} and {most:,}."
    if dataset is None and limits.book == "required":
        yield "budget.book: every fit must be charged to a budget book, and this one is not."
    if dataset is not None and dataset != says.data.dataset:
        yield f"data.dataset: '{dataset}' is charged; approved is '{says.data.dataset}'."
    if fitted_by is None:
        yield "people.fit: the form names who may fit, but you gave no name."
    elif not is_among(fitted_by, people):
        yield f"people.fit: {fitted_by} is not one of {', '.join(people)}."


def outside_approval(form: Form, today: date) -> Iterator[str]:
    data = form.says.data
    if today < data.valid_from:
        yield f"data.valid_from: the approval begins on {data.valid_from}."
    if today > data.valid_until:
        yield f"data.valid_until: the approval ended on {data.valid_until}."
