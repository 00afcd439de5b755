"""Errors of readers: their text may quote a cell, so it never goes any further.

A reader is whatever parses patients' data: Arrow, DuckDB, Spark, a database driver, a decoder. Its
calls run inside `without_cells`, which raises an error of ours in place of the reader's. Ours may
depend on the kind of the reader's error, which is public, and on nothing else of it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, ENOSPC

from longsynth.system.errors import Code, CohortError

READERS = {"_csv", "_duckdb", "duckdb", "ibis", "psycopg", "py4j", "pyarrow", "pyspark", "sqlglot"}
DAMAGED = "Check that the files are complete and not damaged."


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
