"""Spark, started once by whichever worker first needs it."""

from collections.abc import Iterator

import pytest

from spark_sessions import Sessions, why_not


@pytest.fixture(scope="session")
def sparks() -> Iterator[Sessions]:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    sessions = Sessions()
    yield sessions
    sessions.stop()
