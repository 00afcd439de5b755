"""Asking Spark: its errors carry stack traces that may quote a cell, so none is passed on."""

import logging
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from longsynth.engines.spark.executor import FAILURE
from longsynth.system.errors import ArithmeticFault, CohortError, DependentRows, Refused
from longsynth.system.reader_errors import without_cells

T = TypeVar("T")
MORE = (
    "With a session of your own, longsynth.SparkCohort shows Spark's messages; they may quote a "
    "record"
)
REMEDIES = {  # by Spark's name for a condition
    "COLUMN_ALREADY_EXISTS": "a table has a column twice, capitals aside: rename one",
    "PACKAGE_NOT_INSTALLED": "run pip install 'longsynth[spark]'",
    "PYTHON_VERSION_MISMATCH": "the executors' Python has another version than this one; name the "
    "right one in PYSPARK_PYTHON",
    "TABLE_OR_VIEW_NOT_FOUND": "name the tables as Spark's catalogue does",
}
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_FAILED = re.compile(rf"{FAILURE} (\w+)\.")
_LACKING = re.compile(r"No module named '(\w+)")
_OURS = ("duckdb", "longsynth", "numpy", "opendp", "pyarrow", "pydantic", "scipy", "threadpoolctl")


def asked(doing: str, question: Callable[[], T]) -> T:
    """Return what Spark answers. `doing` says what it was about, for the message if it fails."""
    with _quiet(), without_cells(lambda error: _explained(doing, error)):
        return question()


def _explained(doing: str, error: Exception) -> Exception:
    """Return what to raise, made of our own words and of Spark's public names for conditions."""
    text = str(error)
    if found := _FAILED.search(text):
        return _from_executor(doing, found[1])
    lacking = _LACKING.search(text)
    if lacking and lacking[1] in _OURS:
        return Refused(
            f"Spark could not {doing}: the executors' Python has no {lacking[1]}. Install the "
            "driver's longsynth there, or name a Python that has it in PYSPARK_PYTHON."
        )
    condition = getattr(error, "getCondition", lambda: None)()
    if "PYTHON_VERSION_MISMATCH" in text:  # told by a worker, within another condition
        condition = "PYTHON_VERSION_MISMATCH"
    if condition in REMEDIES:
        return CohortError(f"Spark could not {doing} ({condition}): {REMEDIES[condition]}.")
    named = f" ({condition})" if re.fullmatch(r"[A-Z][A-Z0-9_.]*", condition or "") else ""
    return CohortError(f"Spark could not {doing}{named}. {MORE}.")


def _from_executor(doing: str, name: str) -> Exception:
    if name == ArithmeticFault.__name__:
        return ArithmeticFault("an exact sum failed its check on an executor; nothing was released")
    if name == DependentRows.__name__:
        return DependentRows()
    if name == MemoryError.__name__:
        return CohortError(
            f"Spark could not {doing}: an executor's Python ran out of memory. Give more partitions"
            " or raise spark.executor.memoryOverhead."
        )
    return CohortError(
        f"Spark could not {doing}: an executor stopped with {name}. Its text is withheld, as it "
        "could quote a record."
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """PySpark logs what went wrong in full, and warns of a pandas that is used for nothing here."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
            yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was
        logging.getLogger("py4j").setLevel(max(logging.getLogger("py4j").level, logging.WARNING))
