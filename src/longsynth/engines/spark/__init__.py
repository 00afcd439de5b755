"""The Spark engine: patients are added up where they lie. It adds no noise and keeps no ledger.

Here are the Spark session, and the one way to ask it for something.

The session of a command is quiet, has no web page and stops when the command ends. If you have a
session of your own, pass it to `SparkCohort` and keep your settings and logs.

Spark's errors carry stack traces that may quote a cell, so `ask` passes none of them on.
"""

import logging
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from longsynth.engines import Distributed
from longsynth.system.errors import (
    ArithmeticFault,
    Code,
    CohortError,
    DependentRows,
    Refused,
    without_cells,
)
from longsynth.system.scratch import ScratchFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
INSTALL = "pip install 'longsynth[spark]'"
FAILURE = "longsynth failed on an executor with"  # and the name of an error
MORE = (
    "To see Spark's messages, use longsynth.SparkCohort with a session of your own. They may quote "
    "a record."
)
REMEDIES = {  # by Spark's name for a condition
    "COLUMN_ALREADY_EXISTS": "A table has a column twice, ignoring capitals: rename one.",
    "PACKAGE_NOT_INSTALLED": f"Run {INSTALL}.",
    "PYTHON_VERSION_MISMATCH": "The executors' Python has another version than this one: name the "
    "right one in PYSPARK_PYTHON.",
    "TABLE_OR_VIEW_NOT_FOUND": "Name the tables as Spark's catalogue does.",
}
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_FAILED = re.compile(rf"{FAILURE} (\w+)\.")
_LACKING = re.compile(r"No module named '(\w+)")
_OURS = ("duckdb", "longsynth", "numpy", "opendp", "pyarrow", "pydantic", "scipy", "threadpoolctl")


def require_spark() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise Refused(
            Code.PACKAGE_MISSING,
            "Spark is not installed.",
            f"Run {INSTALL}, and install Java 17 or newer.",
        ) from None


@contextmanager
def spark_cohort(
    cohort: Path, *, master: str, tables: str | None = None, partitions: int | None = None
) -> Iterator[Distributed]:
    """Yield the patients of a cohort folder; Spark starts when this is entered. With `tables`, a
    database in Spark's catalogue, its tables observations and patients replace the folder's."""
    require_spark()
    from longsynth.engines.spark.cohort import SparkCohort

    named = {name: f"{tables}.{name}" for name in ("observations", "patients") if tables}
    with (
        spark_session(master) as session,
        SparkCohort(session, cohort, partitions=partitions, **named) as source,
    ):
        yield source


@contextmanager
def spark_session(
    master: str, settings: Mapping[str, str] | None = None
) -> Iterator["SparkSession"]:
    """Start Spark on a master such as local[2], spark://host:7077 or yarn, and stop it afterwards.

    The cluster's spark-defaults.conf applies, with two exceptions: Spark's own output is discarded,
    as it may quote a cell, and its web page stays off.
    """
    require_spark()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("longsynth")
    chosen: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with ScratchFolder() as folder:
        scratch = str(folder.path)
        if master.startswith("local"):  # Spark works on this machine, in our scratch folder
            chosen |= {"spark.local.dir": scratch, "spark.sql.warehouse.dir": scratch}
            chosen |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or it uses any python3
        with _handlers_kept(), _silenced():
            session = ask(
                f"start on {master}, which needs Java 17 or newer (set JAVA_HOME) and that master",
                builder.config(map=chosen | dict(settings or {})).getOrCreate,
            )
        with unlogged(), ExitStack() as stack:
            stack.callback(session.stop)
            yield session


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep Py4J's tracebacks out of the logs when a command is interrupted. It uses loggers of its
    own and the root logger."""
    own = logging.getLogger("py4j")
    passed_on, own.propagate = own.propagate, False
    logging.root.addFilter(_not_of_py4j)
    try:
        yield
    finally:
        own.propagate = passed_on
        logging.root.removeFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Undo Spark's handler of Ctrl-C: longsynth decides how a command ends."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _silenced() -> Iterator[None]:
    """Discard everything that processes started in here print, for as long as they run."""
    streams = (1, 2)
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in streams]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in streams:
            os.dup2(nowhere, number)
        yield
    finally:
        for number, copy in zip(streams, kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)


def ask(doing: str, action: Callable[[], T]) -> T:
    """Return what Spark returns for an action. `doing` names the action in a refusal."""
    with _quiet(), without_cells(lambda error: _explained(doing, error)):
        return action()


def _explained(doing: str, error: Exception) -> Exception:
    """Return what to raise: only our own words and Spark's public names for conditions."""
    text = str(error)
    if failed := _FAILED.search(text):
        return _from_executor(doing, failed[1])
    lacking = _LACKING.search(text)
    if lacking and lacking[1] in _OURS:
        return Refused(
            Code.PACKAGE_MISSING,
            f"Spark could not {doing}: the executors' Python has no {lacking[1]}.",
            "Install the driver's longsynth there, or name a Python that has it in PYSPARK_PYTHON.",
        )
    condition = getattr(error, "getCondition", lambda: None)()
    if "PYTHON_VERSION_MISMATCH" in text:  # reported by a worker, within another condition
        condition = "PYTHON_VERSION_MISMATCH"
    named = f" ({condition})" if re.fullmatch(r"[A-Z][A-Z0-9_.]*", condition or "") else ""
    return CohortError(
        Code.SPARK_FAILED, f"Spark could not {doing}{named}.", REMEDIES.get(condition or "", MORE)
    )


def _from_executor(doing: str, name: str) -> Exception:
    if name == ArithmeticFault.__name__:
        return ArithmeticFault("an exact sum failed its check on an executor; nothing was released")
    if name == DependentRows.__name__:
        return DependentRows()
    if name == MemoryError.__name__:
        return CohortError(
            Code.NO_ROOM,
            f"Spark could not {doing}: an executor's Python ran out of memory.",
            "Use more partitions, or raise spark.executor.memoryOverhead.",
        )
    return CohortError(
        Code.SPARK_FAILED,
        f"Spark could not {doing}: an executor stopped with {name}. Its text is withheld, as it "
        "could quote a record.",
        "Check the executors' Python and memory, then try again.",
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Stop PySpark from logging errors in full and from warning about pandas, which is not used."""
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
