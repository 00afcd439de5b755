"""What the governance form asks. Titles are for its page, descriptions for who fills it in."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from longsynth.govern.form.answers import Day, Hash, Name, Names, Section, Texts
from longsynth.govern.names import is_among, same_name
from longsynth.methods.registry import private_method
from longsynth.privacy.budget import LARGEST_EPSILON, SMALLEST_DELTA, Accounting
from longsynth.schema.variable import InvalidField, Level, Variable
from longsynth.system.errors import Refused
from longsynth.system.outside_text import Answer, ColumnName


class Study(Section):
    title: Answer = Field(title="Title", description="What the study is called.")
    question: Answer = Field(title="Question", description="What it is to find out.")
    recipients: Answer = Field(
        title="Recipients", description="Who may receive the release, and to what end."
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


class Label(Section):
    column: ColumnName = Field(title="Column", description="Its column, as in schema.yaml.")
    levels: tuple[Level, Level] = Field(
        title="Levels", description="Its two levels, the reference first, as in schema.yaml."
    )
    meaning: Answer = Field(title="Meaning", description="What it stands for.")
    approved_use: Answer = Field(title="Approved use", description="What it may be used for.")


class ApprovedVariable(Section, Variable):
    pass


class PublicFacts(Section):
    schema_sha256: Hash = Field(
        title="SHA-256 of the schema",
        description="The SHA-256 of the whole schema, which `longsynth governance check FORM "
        "--schema schema.yaml` shows.",
    )
    variables: tuple[ApprovedVariable, ...] = Field(
        min_length=1,
        title="Variables",
        description="As in schema.yaml: name, kind, and unless binary bounds and bounds_from, "
        "where the bounds come from. Never the cohort itself.",
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
        description="A list of the attacks to run before anything leaves, with their settings.",
    )
    by: Answer = Field(title="Run by", description="Who runs them.")


class People(Section):
    fit: Names = Field(title="May fit", description="A list of who may fit, for `fit --by`.")
    sign: Names = Field(
        title="May sign",
        description="A list of who may sign a release. Who fitted one does not sign it.",
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
                    f"no one but {fits} may sign what {fits} fits: name another", "fit", i
                )
        return self


class RedTeam(Section):
    by: Name = Field(
        title="Red team", description="Who tries to break the release, and has no part in fitting."
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
    outcome: Label = Field(title="The outcome (event)")
    audit_group: Label = Field(title="The audit group (group)")
    public_facts: PublicFacts = Field(title="Public facts and where they come from")
    held_back: HeldBack = Field(title="Held back for external validation")
    budget: BudgetLimits = Field(title="The privacy budget")
    attacks: Attacks = Field(title="The attack suite")
    people: People = Field(title="People")
    red_team: RedTeam = Field(title="Independent red team")
    stop_rules: tuple[StopRule, ...] = Field(
        min_length=1,
        title="Stop rules",
        description="What ends a fit, holds a release back or withdraws it, and what is done then.",
    )

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
                raise InvalidField("two variables have this name, capitals aside", *place)
        return self
