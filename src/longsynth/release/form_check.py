"""Check a fit or a release against its governance form, and name every departure."""

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
from longsynth.system.errors import Code, Finding, Refused
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
    yield from _label_departures("outcome", says.outcome, schema.event)
    yield from _label_departures("audit_group", says.audit_group, schema.group)
    approved = {v.name: v for v in says.public_facts.variables}
    present = {v.name: v for v in schema.variables}
    place = "public_facts.variables"
    for name, variable in present.items():
        if name in approved:
            yield from _variable_departures(f"{place}: {name}", approved[name], variable)
        else:
            yield f"{place}: the schema has {name}, which is not approved."
    for name in (name for name in approved if name not in present):
        yield f"{place}: {name} is approved, but the schema lacks it."
    for site in says.held_back.sites:
        if site in schema.sites:
            yield f"held_back.sites: {site} is held back, but the schema names it."
    named = says.public_facts.schema_sha256
    if named not in hashes:
        why = "which is not the approved one"
        if named == _earlier_sha256(schema):
            why = "but the form states a hash of an earlier kind, without grid_bits and strength"
        yield f"public_facts.schema_sha256: the schema's is {hashes[0]}, {why}."


def _label_departures(place: str, approved: Label | None, labels: Labels | None) -> Iterator[str]:
    if labels is None or approved is None:
        if labels or approved:
            one, other = ("approves none", "has one") if labels else ("approves one", "has none")
            yield f"{place}: the form {one}, and the schema {other}."
        return
    if labels.column != approved.column:
        yield f"{place}.column: the schema uses {labels.column}; approved is {approved.column}."
    if labels.levels != approved.levels:
        here, wanted = ", ".join(labels.levels), ", ".join(approved.levels)
        yield f"{place}.levels: the schema has {here}; approved are {wanted}, in this order."


def _variable_departures(place: str, approved: Variable, variable: Variable) -> Iterator[str]:
    for what in ("kind", "bounds", "bounds_from"):
        here, wanted = getattr(variable, what), getattr(approved, what)
        if what == "bounds":
            here, wanted = (f"[{as_typed(low)}, {as_typed(high)}]" for low, high in (here, wanted))
        if here != wanted:
            yield f"{place}: the schema has {what} {here}; approved is {wanted}."


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
