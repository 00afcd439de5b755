"""What longsynth refuses. Every refusal has a code, a problem and a remedy, and none carries a
patient's value.

Refused                 exit code 2, nothing was written
├── OverBudget          the request costs more ρ than is left (privacy core)
├── SchemaError         a public fact in schema.yaml is missing or wrong
├── CohortError         the cohort folder cannot be read as its schema says
├── DependentRows       a method lets patients into each other's rows
└── ReleaseError        a release folder cannot be used, or must not be written
ArithmeticFault         an exact sum failed its check: not the user's mistake
"""

from enum import StrEnum

from longsynth.privacy.errors import ArithmeticFault, OverBudget, Refused

__all__ = [
    "ArithmeticFault",
    "Code",
    "CohortError",
    "DependentRows",
    "OverBudget",
    "Refused",
    "ReleaseError",
    "SchemaError",
]


class Code(StrEnum):
    """What kind of problem a refusal is about. docs/errors.md explains each."""

    # the privacy core, which names them as plain text
    BUDGET_UNUSABLE = "budget-unusable"
    NO_PATIENTS = "no-patients"
    NOISE_TOO_COARSE = "noise-too-coarse"
    NOT_AS_PLANNED = "not-as-planned"
    OVER_BUDGET = "over-budget"
    STATISTIC_UNUSABLE = "statistic-unusable"
    TOO_FINE_TO_SUM = "too-fine-to-sum"
    # data frames
    ALREADY_FITTED = "already-fitted"
    NOT_A_TABLE = "not-a-table"
    NOT_FITTED = "not-fitted"
    # methods
    DEPENDENT_ROWS = "dependent-rows"
    # files
    COLUMN_MISSING = "column-missing"
    FILE_UNREADABLE = "file-unreadable"
    ID_MISSING = "id-missing"
    MARKS_OPEN = "marks-open"
    PACKAGE_MISSING = "package-missing"
    UNIT_UNKNOWN = "unit-unknown"
    OUTPUT_EXISTS = "output-exists"
    OUTPUT_NOT_WRITTEN = "output-not-written"
    # release
    BUDGET_MISSING = "budget-missing"
    FOLDER_UNKNOWN = "folder-unknown"
    NOT_A_RELEASE = "not-a-release"
    NOT_PRIVATE = "not-private"
    NOT_SIGNABLE = "not-signable"
    OPTIONS_CONFLICT = "options-conflict"
    RELEASE_ALTERED = "release-altered"
    RELEASE_FORMAT = "release-format"
    SYNTHETIC_ALTERED = "synthetic-altered"
    # govern
    BOOK_DAMAGED = "book-damaged"
    BOOK_UNUSABLE = "book-unusable"
    CAP_FIXED = "cap-fixed"
    DATASET_UNKNOWN = "dataset-unknown"
    FORM_NOT_MET = "form-not-met"
    HEAD_MALFORMED = "head-malformed"
    KEY_UNUSABLE = "key-unusable"
    NAME_UNUSABLE = "name-unusable"
    PASSPHRASE_WRONG = "passphrase-wrong"
    SIGNATURE_MALFORMED = "signature-malformed"
    # commands
    ARGUMENT_NOT_PRINTABLE = "argument-not-printable"
    COHORTS_DISAGREE = "cohorts-disagree"
    FILE_MISSING = "file-missing"
    LAB_MISSING = "lab-missing"
    OPTION_MISSING = "option-missing"
    OPTION_UNUSABLE = "option-unusable"
    PASSPHRASE_MISSING = "passphrase-missing"


class SchemaError(Refused):
    """A public fact is missing or wrong."""


class CohortError(Refused):
    """The cohort folder cannot be read as its schema says. Never raised for a patient's values."""


class DependentRows(Refused):
    """A method lets patients into each other's rows. Says no more than that: about the code, not
    about who was looked at."""

    def __init__(self, *_: str) -> None:
        super().__init__(
            Code.DEPENDENT_ROWS,
            "the method computed different rows for the same patient among other patients, or on a "
            "second call, so its noise may protect nobody. Nothing of this pass was released.",
            "Use another method, or ask its author to fix it: a row may depend only on its own "
            "patient, the schema and earlier releases, to the last bit.",
        )


class ReleaseError(Refused):
    """A release folder cannot be used, or must not be written."""
