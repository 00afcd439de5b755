"""A Spark session for one command: quiet, without a web page, and gone when the command ends.

Who has a session of their own passes that to `SparkCohort` and keeps their own settings and logs.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from longsynth.system.errors import Refused
from longsynth.system.scratch import ScratchFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INSTALL = "pip install 'longsynth[spark]'"


def require_spark() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise Refused(f"Spark is not installed: {INSTALL}, and Java 17 or newer.") from None


@contextmanager
def spark_session(
    master: str, settings: Mapping[str, str] | None = None
) -> Iterator["SparkSession"]:
    """Start Spark on a master such as local[2], spark://host:7077 or yarn; stop it afterwards.

    What the cluster's spark-defaults.conf says holds, but for what the caller must not see: what
    Spark prints goes nowhere, as it may quote a cell, and its web page stays off.
    """
    require_spark()
    from pyspark.sql import SparkSession

    from longsynth.engines.spark.asking import asked

    builder = SparkSession.builder.master(master).appName("longsynth")
    chosen: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with ScratchFolder() as folder:
        scratch = str(folder.path)
        if master.startswith("local"):  # this machine works: in a folder of its owner, with us
            chosen |= {"spark.local.dir": scratch, "spark.sql.warehouse.dir": scratch}
            chosen |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or it takes any python3
        with _handlers_kept(), _silenced():
            session = asked(
                f"start on {master}: it needs Java 17 or newer (set JAVA_HOME) and that master",
                builder.config(map=chosen | dict(settings or {})).getOrCreate,
            )
        with unlogged(), ExitStack() as ending:
            ending.callback(session.stop)
            yield session


@contextmanager
def unlogged() -> Iterator[None]:
    """Python's side of Spark logs tracebacks where a command is interrupted, by loggers of its own
    and by the root."""
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
    """Spark takes over Ctrl-C; how a command ends is ours to say."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _silenced() -> Iterator[None]:
    """What starts in here has nowhere to print to, for as long as it runs."""
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
