"""The governance form: its questions, its rules, and a blank copy. Titles are for its page,
descriptions for the person who completes it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any, Literal, Self, get_args, get_origin

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from longsynth.govern.provenance import is_among, require_name, same_name
from longsynth.methods.registry import private_method
from longsynth.privacy.budget import LARGEST_EPSILON, SMALLEST_DELTA, Accounting
from longsynth.schema.columns import Labels
from longsynth.schema.file import schema_sha256
from longsynth.schema.outcomes import Group, Outcome, OutcomeKind
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Level, Variable
from longsynth.system.errors import Code, Refused
from longsynth.system.text import NAME, Answer, ColumnName, as_typed
from longsynth.system.yaml_text import Format, FrozenModel, InvalidField

FILL = "FILL IN"  # what a blank form says instead of an answer


def _day(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return value
    raise ValueError('write the day in quotes as "2031-01-31"')


def _name(value: str) -> str:
    try:
        require_name(value)
    except Refused as refusal:
        raise ValueError(str(refusal).removesuffix(".")) from None
    return value


Texts = Annotated[tuple[Answer, ...], Field(min_length=1)]
Name = Annotated[str, StringConstraints(max_length=NAME), AfterValidator(_name)]
Names = Annotated[tuple[Name, ...], Field(min_length=1)]
Day = Annotated[date, BeforeValidator(_day)]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Section(FrozenModel):
    @field_validator("*", mode="before")
    @classmethod
    def _filled_in(cls, value: Any, info: ValidationInfo) -> Any:
        """Report a placeholder as such, not as text where a number is expected."""
        answers = enumerate(value) if isinstance(value, list) else [(None, value)]
        for i, answer in answers:
            if isinstance(answer, str) and answer.strip() == FILL:
                asked = cls.model_fields[info.field_name or ""].description or ""
                what = f": {asked[0].lower()}{asked[1:].rstrip('.')}" if asked else ""
                raise InvalidField(f"not filled in yet{what}", *([] if i is None else [i]))
        return value


class Study(Section):
    title: Answer = Field(title="Title", description="What the study is called.")
    question: Answer = Field(title="Question", description="What it is meant to find out.")
    recipients: Answer = Field(
        title="Recipients", description="Who may receive the release, and for what purpose."
    )


class Data(Section):
    owner: Answer = Field(title="Owner", description="Who answers for the data.")
    dataset: Name = Field(
        title="Dataset",
        description="The owner's name for these patients, the same in the budget book. A new "
        "extract of the same patients keeps it.",
    )
    source: Answer = Field(
        title="Source", description="Where the records come from, and which of them."
    )
    approved_by: Answer = Field(title="Approved by", description="Which body allowed this use.")
    approval: Answer = Field(
        title="Approval", description="The approval's reference, so that it can be found."
    )
    valid_from: Day = Field(
        title="Valid from", description='The approval\'s first day, as "2031-01-31".'
    )
    valid_until: Day = Field(
        title="Valid until", description="The approval's last day, written likewise."
    )

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        if self.valid_until < self.valid_from:
            raise InvalidField(
                f"the approval would end before {self.valid_from} begins", "valid_until"
            )
        return self


class Protection(Section):
    unit: Literal["patient"] = Field(
        title="Unit of protection",
        description="Whose record is protected as a whole: one patient's.",
    )
    adjacency: Literal["replacement"] = Field(
        title="Adjacency",
        description="What protection is measured against: the record is replaced by any other. The "
        "number of patients is public.",
    )
    patients_at_least: int = Field(
        ge=1, title="Patients, at least", description="The fewest patients that may be fitted."
    )
    patients_at_most: int = Field(
        ge=1,
        title="Patients, at most",
        description="The most patients that may be fitted; δ should be at most one in ten times as "
        "many.",
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.patients_at_most < self.patients_at_least:
            raise InvalidField(f"must not be below {self.patients_at_least}", "patients_at_most")
        return self


Called = Annotated[Answer, Field(title="Name", description="Its name, as in schema.yaml.")]
InFile = Annotated[ColumnName, Field(title="Column", description="Its column in the files.")]
Levels = Annotated[tuple[Level, ...], Field(min_length=2)]
Meant = Annotated[Answer, Field(title="Meaning", description="What it stands for.")]
Use = Annotated[Answer, Field(title="Approved use", description="What it may be used for.")]
FIRST = "Its levels, the reference first"


class ApprovedOutcome(Section):
    name: Called
    kind: OutcomeKind = Field(title="Kind", description="What its values are.")
    column: InFile
    levels: Levels | None = Field(
        title="Levels", description=f"{FIRST}; how a time to event ends; null for a number."
    )
    horizon: Answer | None = Field(
        default=None, title="Horizon", description="The longest time to event, with its unit."
    )
    meaning: Meant
    approved_use: Use


class ApprovedGroup(Section):
    name: Called
    column: InFile
    levels: Levels = Field(title="Levels", description=f"{FIRST}.")
    meaning: Meant
    approved_use: Use


class ApprovedVariable(Section, Variable):
    pass


class ApprovedCodes(Section):
    name: Called
    levels: Levels = Field(title="Codes", description="All codes of the list.")
    cap: int = Field(
        ge=1, title="Codes per patient, at most", description="How many of one patient count."
    )


class PublicFacts(Section):
    schema_sha256: Hash = Field(
        title="SHA-256 of the schema",
        description="The SHA-256 of the whole schema, which `longsynth governance check` shows.",
    )
    variables: tuple[ApprovedVariable, ...] = Field(
        min_length=1,
        title="Variables",
        description="As in schema.yaml: name and kind, and unless binary, bounds and bounds_from, "
        "the source of the bounds, which is never the cohort itself; or levels.",
    )
    protected: tuple[Answer, ...] | None = Field(
        default=None,
        title="Protected combinations",
        description='A list of the combinations that sampling keeps, as "sex = F and age = 80 and '
        'over"; null if schema.yaml names none.',
    )


class HeldBack(Section):
    kind: Literal["site", "period"] = Field(
        title="Held back",
        description="What is kept untouched for external validation: site or period.",
    )
    what: Answer = Field(title="Which", description="Which sites or which time, and why those.")
    sites: tuple[Level, ...] = Field(
        default=(),
        title="Sites",
        description="Levels of the site column that no fit may name; [] for a period.",
    )
    opened: Answer = Field(
        title="Opened", description="When it may be looked at, by whom, and how often."
    )

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.kind == "site" and not self.sites:
            raise InvalidField("name the sites that are held back", "sites")
        return self


class BudgetLimits(Section):
    epsilon: float = Field(
        ge=1e-6,
        le=LARGEST_EPSILON,
        title="ε of one fit, at most",
        description="The largest ε of one fit.",
    )
    epsilon_reason: Answer = Field(
        title="Reason for ε", description="Why this ε and no smaller one."
    )
    delta: float = Field(
        ge=SMALLEST_DELTA, lt=1, title="δ, at most", description="The largest δ, as 1.0e-6."
    )
    delta_reason: Answer = Field(title="Reason for δ", description="Why this δ.")
    accounting: tuple[Accounting, ...] = Field(
        min_length=1,
        title="Accounting",
        description="How ρ may become ε: a list of paper, zcdp, gaussian.",
    )
    methods: tuple[str, ...] = Field(
        min_length=1,
        title="Methods",
        description="A list of the private methods allowed; `longsynth methods` shows them.",
    )
    book: Literal["required", "not kept"] = Field(
        title="Budget book",
        description="Whether every fit is charged to a budget book: required, or not kept. "
        "Without one, repeated fits are not added up.",
    )

    @field_validator("methods")
    @classmethod
    def _private(cls, methods: tuple[str, ...]) -> tuple[str, ...]:
        for i, name in enumerate(methods):
            try:
                private_method(name)
            except Refused as refusal:
                raise InvalidField(str(refusal).removesuffix("."), i) from None
        return methods


class Attacks(Section):
    suite: Texts = Field(
        title="Attacks",
        description="A list of the attacks to run before a release, with their settings.",
    )
    by: Answer = Field(title="Run by", description="Who runs them.")


class People(Section):
    fit: Names = Field(title="May fit", description="A list of who may fit.")
    sign: Names = Field(
        title="May sign",
        description="A list of who may sign a release. The person who fitted it must not sign it.",
    )
    internal: Names = Field(
        title="May see internal/",
        description="A list of who may see internal/, which holds raw facts about patients.",
    )

    @model_validator(mode="after")
    def _two(self) -> Self:
        for i, fits in enumerate(self.fit):
            if all(same_name(fits, signs) for signs in self.sign):
                raise InvalidField(
                    f"no one but {fits} may sign what {fits} fits: name someone else", "fit", i
                )
        return self


class RedTeam(Section):
    by: Name = Field(
        title="Red team",
        description="Who tries to break the release, and does not fit.",
    )
    task: Answer = Field(title="Task", description="What they are given, and what they try.")
    outcome: Answer = Field(title="Outcome", description="Who gets their report, and by when.")


class StopRule(Section):
    when: Answer = Field(title="When", description="What is found.")
    then: Answer = Field(title="Then", description="What is done about it, and by whom.")


class Governance(Section):
    governance: Literal[1] = Field(description="Version of this form's format.")
    study: Study = Field(title="The study")
    data: Data = Field(title="The data and their approval")
    protection: Protection = Field(title="What is protected")
    outcomes: tuple[ApprovedOutcome, ...] = Field(
        title="Outcomes",
        description="The primary outcome first. Of each: name and column as in schema.yaml; kind "
        f"({', '.join(get_args(OutcomeKind))}); levels, or null for a number; of a time to event "
        "also horizon, as 365 days; meaning; approved use. [] if there is none.",
    )
    groups: tuple[ApprovedGroup, ...] = Field(
        title="Groups",
        description="Of each: name, column and levels as in schema.yaml; meaning; approved use. "
        "[] if there is none.",
    )
    codes: tuple[ApprovedCodes, ...] = Field(
        default=(),
        title="Code lists",
        description="Of each, as in schema.yaml: name, levels (the codes) and cap (how many codes "
        "of one patient count). [] if there is none.",
    )
    public_facts: PublicFacts = Field(title="Public facts and where they come from")
    held_back: HeldBack = Field(title="Held back for external validation")
    budget: BudgetLimits = Field(title="The privacy budget")
    attacks: Attacks = Field(title="The attack suite")
    people: People = Field(title="People")
    red_team: RedTeam = Field(title="Independent red team")
    stop_rules: tuple[StopRule, ...] = Field(
        min_length=1,
        title="Stop rules",
        description="What stops a fit or a release, or withdraws a release, and what is done then.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_of_each(cls, given: Any) -> Any:
        """A form for a schema with `event` and `group` may say `outcome` and `audit_group`."""
        if not isinstance(given, dict):
            return given
        given = dict(given)
        for one, many, name in (
            ("outcome", "outcomes", "event"),
            ("audit_group", "groups", "group"),
        ):
            if one not in given or many in given:
                continue
            label = given.pop(one)
            if isinstance(label, dict):
                kinds = {"kind": "nominal" if len(label.get("levels") or ()) > 2 else "binary"}
                label = [{"name": name} | (kinds if one == "outcome" else {}) | label]
            given[many] = [] if label is None else label
        return given

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if is_among(self.red_team.by, self.people.fit):
            raise InvalidField(
                f"{self.red_team.by} may fit: name someone independent", "red_team", "by"
            )
        names = [v.name.casefold() for v in self.public_facts.variables]
        for i, name in enumerate(names):
            if name in names[:i]:
                place = ("public_facts", "variables", i, "name")
                raise InvalidField("two variables have this name, apart from case", *place)
        return self


FORMAT = Format(
    Governance,
    "governance form",
    "governance: 1",
    "longsynth governance new",
    Refused,
    Code.FORM_INVALID,
    listed=200,
)


@dataclass(frozen=True, slots=True)
class Form:
    says: Governance
    sha256: str  # what a release's manifest names


def load_form(path: Path | str) -> Form:
    """Read and check a form. Each problem and each open question names its line."""
    content = FORMAT.read(Path(path))
    says = FORMAT.parse(FORMAT.decode(content, str(path)), str(path))
    return Form(says, sha256(content).hexdigest())


def json_schema() -> dict[str, Any]:
    """The same rules for other tools, except those that relate two answers."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Governance.model_json_schema(),
        "title": "longsynth governance form",
    }


_SHOWN = ("name", "unit", "kind", "levels", "bounds", "bounds_from")  # of a variable
_HEAD = f"""\
# Governance form of longsynth. Complete it and have it approved before anyone touches the data.
#
# Replace every {FILL}. An answer of several lines starts with >- on the line of its key. Then:
#   longsynth governance check   lists what is still open or wrong
#   longsynth governance page    makes a page to read and to sign
#   longsynth fit                refuses what the form does not allow
# A release names the SHA-256 of this file. Once the form is approved, do not change anything in it.
"""


def blank_form(schema: Schema | None = None) -> str:
    """Return the YAML of a blank form. A schema answers the questions that it can."""
    known = _from_schema(schema) if schema else {}
    return "\n".join([_HEAD, *_questions(Governance, known, "")]) + "\n"


def outcome_facts(schema: Schema) -> Iterator[dict[str, Any]]:
    """Yield what a form states of each outcome, but for meaning and use."""
    for outcome in schema.outcomes:
        column = _column(schema, outcome.variable, schema.event)
        facts: dict[str, Any] = {"name": outcome.name, "kind": outcome.kind, "column": column}
        facts["levels"] = outcome.levels
        if outcome.kind == "time_to_event" and outcome.variable is not None:
            longest = schema.variables[outcome.variable].bounds[1]
            facts["horizon"] = f"{as_typed(longest)} {outcome.unit}"
        yield facts


def group_facts(schema: Schema) -> Iterator[dict[str, Any]]:
    """Yield what a form states of each group, likewise."""
    for group in schema.groups:
        column = _column(schema, group.variable, schema.group)
        yield {"name": group.name, "column": column, "levels": group.levels}


def protected_combinations(schema: Schema) -> tuple[str, ...] | None:
    if schema.protected is None:
        return None
    return tuple(" and ".join(f"{n} = {level}" for n, level in r.items()) for r in schema.protected)


def _column(schema: Schema, variable: int | None, label: Labels | None) -> str:
    if variable is None:
        return label.column if label else ""
    return schema.variables[variable].column or schema.variables[variable].name


def _from_schema(schema: Schema) -> dict[str, Any]:
    return {
        "outcomes": _with_questions(outcome_facts(schema), schema.outcomes),
        "groups": _with_questions(group_facts(schema), schema.groups),
        "codes": [{"name": c.name, "levels": list(c.levels), "cap": c.cap} for c in schema.codes],
        "public_facts": {
            "schema_sha256": schema_sha256(schema),
            "variables": [_variable(v) for v in schema.variables],
            "protected": (rules := protected_combinations(schema)) and list(rules),
        },
    }


def _with_questions(
    facts: Iterable[dict[str, Any]], entries: Sequence[Outcome | Group]
) -> list[dict[str, Any]]:
    return [
        {what: list(v) if isinstance(v, tuple) else v for what, v in known.items()}
        | {"meaning": entry.meaning or FILL, "approved_use": FILL}
        for known, entry in zip(facts, entries, strict=True)
    ]


def _variable(variable: Variable) -> dict[str, Any]:
    known = variable.model_dump(mode="json", exclude_unset=True)
    dropped = ("bounds", "bounds_from") if variable.levels else ()  # they follow from the levels
    return {k: known[k] for k in _SHOWN if known.get(k) and k not in dropped}


def _questions(model: type[BaseModel], known: dict[str, Any], indent: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind, parts = get_origin(field.annotation), get_args(field.annotation)
        inner = next((p for p in (field.annotation, *parts) if _is_model(p)), None)
        if inner and not indent:
            yield f"\n# {field.title}"
        for line in wrap(field.description or "", 98 - len(indent)):
            yield f"{indent}# {line}"
        if inner and kind is not tuple:
            yield f"{indent}{name}:"
            yield from _questions(inner, known.get(name, {}), indent + "  ")
        else:
            blank = _blank(inner, kind, parts, optional=not field.is_required())
            yield from _answer(f"{indent}{name}:", known.get(name, blank), indent)


def _blank(inner: Any, kind: Any, parts: tuple[Any, ...], *, optional: bool) -> Any:
    if inner and not optional:
        fields = inner.model_fields.items()
        shown = (n for n in _SHOWN if n != "levels")  # most variables have bounds
        asked = shown if inner is ApprovedVariable else (n for n, f in fields if f.is_required())
        return [dict.fromkeys(asked, FILL)]
    if kind is Literal and len(parts) == 1:
        return parts[0]
    return [FILL] if kind is tuple and not optional else FILL


def _is_model(part: object) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _answer(key: str, value: Any, indent: str) -> Iterator[str]:
    """Yield the key and its answer. A list of mappings takes one line for each key."""
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        yield f"{key} {_flow(value)}"
        return
    yield key
    for item in value:
        for i, (name, given) in enumerate(item.items()):
            yield f"{indent}  {' ' if i else '-'} {name}: {_flow(given)}"


def _flow(value: Any) -> str:
    style = '"' if isinstance(value, str) and not value.isprintable() else None
    text = yaml.safe_dump(
        value, default_style=style, default_flow_style=True, width=10_000, allow_unicode=True
    )
    return text.removesuffix("...\n").strip()
