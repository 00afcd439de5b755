"""Spark, started once by whichever worker first needs it."""

from collections.abc import Iterator

import pytest

from spark_sessions import Sessions, why_not


@pytest.fixture(scope="session")
def sparks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    sessions = Sessions(tmp_path_factory.mktemp("spark"))
    yield sessions
    sessions.stop()
