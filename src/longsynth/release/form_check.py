"""What a governance form allows: every way in which a fit or a release departs from it."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import chain, combinations

from longsynth.bundle import Bundle
from longsynth.govern.form import Form, Label
from longsynth.govern.provenance import is_among
from longsynth.privacy.budget import Budget
from longsynth.release.folder import Release
from longsynth.schema.columns import Labels
from longsynth.schema.constants import SET_BY_RULE, Constants
from longsynth.schema.file import schema_sha256
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.errors import Refused
from longsynth.system.finding import Finding
from longsynth.system.text import as_typed, shortened


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
    """Refuse a fit that departs from its form, naming each departure.

    `dataset` is the one charged in a budget book, None without a book.
    """
    departures = [
        *out_of_time(form, today or date.today()),
        *schema_departures(form, schema),
        *_fit_departures(form, method, budget, patients, dataset, fitted_by),
    ]
    if departures:
        told = "\n- ".join(["the governance form does not allow this fit:", *departures])
        raise Refused(f"{told}\nChange the fit, or have the form amended and approved again.")


def check_form(form: Form, release: Release) -> Iterator[Finding]:
    """Hold a release against its form. The day of the fit is not on record."""
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
        yield Finding(False, f"NOT as the form allows: {departure}")
    if not departures:
        yield Finding(True, "the form allows this schema, method, budget and fitter.")


def check_signer(form: Form, signer: str | None) -> Finding:
    if signer is None:
        return Finding(False, "people.sign: the form says who may sign, but no name was given.")
    if not is_among(signer, form.says.people.sign):
        return Finding(False, f"people.sign: the form does NOT let {signer} sign.")
    return Finding(True, f"the form lets {signer} sign.")


def released_sha256(bundle: Bundle) -> list[str]:
    """The hashes of all schemas from which a release can come. It spells every constant out; one
    that is what its rule gives may have been written or left out."""
    constants, chosen = bundle.schema.resolved_constants.model_dump(), bundle.by_hand
    ruled = [name for name in SET_BY_RULE if name not in chosen]
    found = []
    for names in chain.from_iterable(combinations(ruled, n) for n in range(len(ruled) + 1)):
        left_out = dict.fromkeys(set(ruled) - set(names))
        written = Constants.model_validate(constants | left_out)
        found.append(schema_sha256(bundle.schema.model_copy(update={"constants": written})))
    return found


def _earlier_sha256(schema: Schema) -> str:
    """What forms were given before the grid and the strength were part of the hash."""
    resolved = schema.resolved(1)
    constants = resolved.constants.model_copy(update={"grid_bits": 12, "strength": 1.0})
    return schema_sha256(resolved.model_copy(update={"constants": constants}))


def schema_departures(form: Form, schema: Schema, hashes: Sequence[str] = ()) -> Iterator[str]:
    """Each departure in one line, whatever words a schema or a form uses. A schema as written has
    one hash, that of a release may have several."""
    for departure in _schema_departures(form, schema, hashes or [schema_sha256(schema)]):
        yield shortened(departure, longest=500)


def _schema_departures(form: Form, schema: Schema, hashes: Sequence[str]) -> Iterator[str]:
    says = form.says
    yield from _label_departures("outcome", says.outcome, schema.event)
    yield from _label_departures("audit_group", says.audit_group, schema.group)
    approved = {v.name: v for v in says.public_facts.variables}
    found = {v.name: v for v in schema.variables}
    place = "public_facts.variables"
    for name, variable in found.items():
        if name in approved:
            yield from _variable_departures(f"{place}: {name}", approved[name], variable)
        else:
            yield f"{place}: the schema has {name}, which is not approved."
    for name in (name for name in approved if name not in found):
        yield f"{place}: {name} is approved, but the schema lacks it."
    for site in says.held_back.sites:
        if site in schema.sites:
            yield f"held_back.sites: {site} is held back, but the schema names it."
    named = says.public_facts.schema_sha256
    if named not in hashes:
        told = "which is not the approved one"
        if named == _earlier_sha256(schema):
            told = "approved is an earlier kind, without grid_bits and strength: amend the form"
        yield f"public_facts.schema_sha256: the schema's is {hashes[0]}, {told}."


def _label_departures(place: str, approved: Label, found: Labels) -> Iterator[str]:
    if found.column != approved.column:
        yield f"{place}.column: the schema takes {found.column}, approved is {approved.column}."
    if found.levels != approved.levels:
        told, wanted = ", ".join(found.levels), ", ".join(approved.levels)
        yield f"{place}.levels: the schema has {told}; approved are {wanted}, in this order."


def _variable_departures(place: str, approved: Variable, found: Variable) -> Iterator[str]:
    for what in ("kind", "bounds", "bounds_from"):
        here, wanted = getattr(found, what), getattr(approved, what)
        if what == "bounds":
            here, wanted = (f"[{as_typed(low)}, {as_typed(high)}]" for low, high in (here, wanted))
        if here != wanted:
            yield f"{place}: {what} {here} in the schema, {wanted} approved."


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
        yield f"budget.methods: '{method}' is none of {', '.join(limits.methods)}."
    if budget is None:
        yield "budget.epsilon: a fit without a budget is not private."
    else:
        if budget.epsilon > limits.epsilon:
            yield f"budget.epsilon: {as_typed(budget.epsilon)} is over {as_typed(limits.epsilon)}."
        if budget.delta > limits.delta:
            yield f"budget.delta: {as_typed(budget.delta)} is over {as_typed(limits.delta)}."
        if budget.accounting not in limits.accounting:
            told = ", ".join(limits.accounting)
            yield f"budget.accounting: '{budget.accounting}' is none of {told}."
    least, most = says.protection.patients_at_least, says.protection.patients_at_most
    if not least <= patients <= most:
        yield f"protection: {patients:,} patients are not from {least:,} to {most:,}."
    if dataset is None and limits.book == "required":
        yield "budget.book: every fit is to be charged to a budget book, and this one is not."
    if dataset is not None and dataset != says.data.dataset:
        yield f"data.dataset: '{dataset}' is charged, approved is '{says.data.dataset}'."
    if fitted_by is None:
        yield "people.fit: the form says who may fit, but no name was given: add --by."
    elif not is_among(fitted_by, people):
        yield f"people.fit: {fitted_by} is none of {', '.join(people)}."


def out_of_time(form: Form, today: date) -> Iterator[str]:
    data = form.says.data
    if today < data.valid_from:
        yield f"data.valid_from: the approval begins on {data.valid_from}."
    if today > data.valid_until:
        yield f"data.valid_until: the approval ended on {data.valid_until}."
