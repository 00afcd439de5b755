"""Signals as a terminal leaves them, and Spark, started once by whichever worker first needs it."""

import signal
from collections.abc import Iterator

import pytest

from spark_sessions import Sessions, why_not

# `nohup` and `&` have these ignored, every child inherits that, and a fit could not be interrupted
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def sparks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    sessions = Sessions(tmp_path_factory.mktemp("spark"))
    yield sessions
    sessions.stop()
