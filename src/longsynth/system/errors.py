"""Refusals and findings. Every refusal has a code, a problem and a remedy; none carries a patient's
value. A finding is what one check says.

Refused                 exit code 2, nothing was written
├── OverBudget          the request costs more ρ than is left (privacy core)
├── SchemaError         a public fact in schema.yaml is missing or wrong
├── CohortError         the cohort folder cannot be read as its schema says
├── DependentRows       a method lets patients into each other's rows
└── ReleaseError        a release folder cannot be used, or must not be written
ArithmeticFault         an exact sum failed its check: not the user's mistake

`without_cells` keeps the text of a reader's error from going any further, as it may quote a cell. A
reader is whatever parses patients' data: Arrow, DuckDB, Spark, a database driver, a decoder. Ours
may depend on the kind of the reader's error, which is public, and on nothing else of it. `checked`
refuses an argument of the wrong kind by naming its kind, never its content, which can be patients.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from errno import EDQUOT, EFBIG, ENOSPC
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral
from types import GenericAlias, UnionType
from typing import Any, ParamSpec, TypeVar, get_args, get_origin

from longsynth.privacy.errors import ArithmeticFault as ArithmeticFault
from longsynth.privacy.errors import OverBudget as OverBudget
from longsynth.privacy.errors import Refused as Refused

READERS = {"_csv", "_duckdb", "duckdb", "ibis", "psycopg", "py4j", "pyarrow", "pyspark", "sqlglot"}
DAMAGED = "Check that the files are complete and not damaged."
P = ParamSpec("P")
R = TypeVar("R")


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
    CONDITION_RARE = "condition-rare"
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


def instead_of(name: str, known: Iterable[str]) -> str:
    """The remedy for an unknown name: those that are known, and the one that may be meant."""
    known = list(known)
    near = [other for other in known if name and name.lower() in other]
    near = near or get_close_matches(name, known)
    return f"Choose {', '.join(known)}." + (f" Did you mean '{near[0]}'?" if near else "")


@contextmanager
def without_cells(
    problem: str | Callable[[Exception], Exception], remedy: str = DAMAGED, *, every: bool = False
) -> Iterator[None]:
    """Replace a reader's error by a CohortError with this problem and remedy, or by what `problem`
    returns.

    With `every`, all errors count as a reader's, our own included: Spark logs what an executor
    raises.
    """
    try:
        yield
    except Exception as error:
        if not every and not is_of_reader(error):
            raise
        if _names(error) & {"InterruptException"}:
            raise KeyboardInterrupt from None
        ours = problem(error) if callable(problem) else replacement(error, problem, remedy)
        try:
            raise ours from None
        finally:  # or the reader's error, with its text, would stay attached
            ours.__context__ = None


def is_of_reader(error: Exception) -> bool:
    """Whether the error is a library's, the system's or a decoder's, and no mistake of our code."""
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return isinstance(error, MemoryError | OSError | UnicodeError) or bool(modules & READERS)


def replacement(error: Exception, problem: str, remedy: str = DAMAGED) -> CohortError:
    """Return what to raise in place of a reader's error."""
    full = _names(error) & {"ArrowMemoryError", "MemoryError", "OutOfMemoryException"}
    no_disk = isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT, EFBIG)
    if full or no_disk:
        return CohortError(
            Code.NO_ROOM,
            "there is not enough memory or disk space to read and sort the patients.",
            "Free some, or leave out variables.",
        )
    return CohortError(Code.FILE_UNREADABLE, problem, remedy)


def _names(error: Exception) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def checked(**remedies: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check that nothing is missing in a call, and that the named arguments are of the annotated
    kinds. Each name comes with the remedy for it."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        expected, name = signature(function), function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            given = expected.bind_partial(*args, **kwargs).arguments
            for argument, remedy in remedies.items():
                kind = _kind(expected.parameters[argument].annotation)
                if argument in given and not isinstance(given[argument], kind):
                    wrong = type(given[argument]).__name__
                    problem = f"{name} cannot use a {wrong} as {argument}."
                    raise Refused(Code.ARGUMENT_WRONG, problem, remedy)
            for argument, parameter in expected.parameters.items():
                if argument not in given and parameter.default is Parameter.empty:
                    remedy = remedies.get(argument, f"See help(longsynth.{name}).")
                    raise Refused(Code.ARGUMENT_WRONG, f"{name} needs {argument}.", remedy)
            return function(*args, **kwargs)

        return call

    return decorate


def _kind(annotation: Any) -> Any:
    """What `isinstance` understands; whole numbers of NumPy are whole numbers too."""
    if annotation is Any:
        return object
    if isinstance(annotation, UnionType):
        return tuple(map(_kind, get_args(annotation)))
    if isinstance(annotation, GenericAlias):
        return get_origin(annotation)
    return Integral if annotation is int else annotation
