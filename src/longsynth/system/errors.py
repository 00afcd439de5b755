"""Refusals and findings. Every refusal has a code, a problem and a remedy; none carries a patient's
value. A finding is what one check says.

Refused                 exit code 2, nothing was written
├── OverBudget          the request costs more ρ than is left (privacy core)
├── SchemaError         a public fact in schema.yaml is missing or wrong
├── CohortError         the cohort folder cannot be read as its schema says
├── DependentRows       a method lets patients into each other's rows
└── ReleaseError        a release folder cannot be used, or must not be written
ArithmeticFault         an exact sum failed its check: not the user's mistake
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from longsynth.privacy.errors import ArithmeticFault, OverBudget, Refused

__all__ = [
    "ArithmeticFault",
    "Code",
    "CohortError",
    "DependentRows",
    "Finding",
    "Note",
    "OverBudget",
    "Refused",
    "ReleaseError",
    "SchemaError",
    "is_interrupt",
    "notes",
    "noting",
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
    # schema, reading and writing
    CHECK_FAILED = "check-failed"
    COHORT_INCOMPLETE = "cohort-incomplete"
    COLUMN_MISSING = "column-missing"
    COLUMN_TWICE = "column-twice"
    COLUMN_TYPE = "column-type"
    COLUMNS_UNKNOWN = "columns-unknown"
    CSV_MALFORMED = "csv-malformed"
    DATABASE_UNREADABLE = "database-unreadable"
    FORMAT_UNKNOWN = "format-unknown"
    MAPPING_UNUSABLE = "mapping-unusable"
    MARKS_OPEN = "marks-open"
    NOT_CHECKED = "not-checked"
    PACKAGE_MISSING = "package-missing"
    PATIENT_IDS = "patient-ids"
    RECIPE_INVALID = "recipe-invalid"
    RECIPE_MISMATCH = "recipe-mismatch"
    SCHEMA_INVALID = "schema-invalid"
    SOURCE_INCOMPLETE = "source-incomplete"
    # methods, engines and sampling
    CONDITION_UNKNOWN = "condition-unknown"
    DEPENDENT_ROWS = "dependent-rows"
    ENGINE_UNSUITED = "engine-unsuited"
    METHOD_FAULTY = "method-faulty"
    METHOD_UNKNOWN = "method-unknown"
    METHOD_UNSUITED = "method-unsuited"
    METHOD_UNUSABLE = "method-unusable"
    SAMPLE_UNUSABLE = "sample-unusable"
    SPARK_FAILED = "spark-failed"
    START_DATE_MISSING = "start-date-missing"
    TOO_LARGE = "too-large"
    UNIT_UNKNOWN = "unit-unknown"
    # Python and data frames
    ALREADY_FITTED = "already-fitted"
    ARGUMENT_WRONG = "argument-wrong"
    NOT_A_TABLE = "not-a-table"
    NOT_FITTED = "not-fitted"
    # files
    FILE_UNREADABLE = "file-unreadable"
    NO_ROOM = "no-room"
    OUTPUT_BUSY = "output-busy"
    OUTPUT_EXISTS = "output-exists"
    OUTPUT_NOT_WRITTEN = "output-not-written"
    PROCESS_KILLED = "process-killed"
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
    # audit
    AUDIT_UNUSABLE = "audit-unusable"
    NOT_HELD_OUT = "not-held-out"
    TOO_FEW_TRIALS = "too-few-trials"
    WEIGHTS_UNUSABLE = "weights-unusable"
    # govern
    BOOK_DAMAGED = "book-damaged"
    BOOK_UNUSABLE = "book-unusable"
    CAP_FIXED = "cap-fixed"
    DATASET_UNKNOWN = "dataset-unknown"
    FORM_INVALID = "form-invalid"
    FORM_NOT_MET = "form-not-met"
    HEAD_MALFORMED = "head-malformed"
    KEY_UNUSABLE = "key-unusable"
    NAME_UNUSABLE = "name-unusable"
    PASSPHRASE_WRONG = "passphrase-wrong"
    SIGNATURE_MALFORMED = "signature-malformed"
    # show
    FORM_MISMATCH = "form-mismatch"
    PDF_UNAVAILABLE = "pdf-unavailable"
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


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check of a release or a budget book says."""

    good: bool
    sentence: str
    caution: bool = False  # the check passes, but whoever relies on it has to judge this


class Note(str):
    """A sentence on what a failure leaves behind. It is our own, so it may be shown."""

    __slots__ = ()


@contextmanager
def noting() -> Iterator[list[str]]:
    """Yield a list of sentences that are added to whatever ends the block early.

    For what is not undone, such as a charge in a budget book: append once it has happened.
    """
    sentences: list[str] = []
    try:
        yield sentences
    except BaseException as error:
        for sentence in sentences:
            error.add_note(Note(sentence))
        raise


def notes(error: BaseException) -> list[str]:
    """Return our own sentences; a library's notes could quote a record."""
    return [note for note in getattr(error, "__notes__", ()) if isinstance(note, Note)]


def is_interrupt(error: BaseException) -> bool:
    """Whether someone stopped the work. DuckDB drops an interrupt and raises its own error."""
    return not isinstance(error, Exception) or error.args == ("Query interrupted",)
