"""Spark's own side of Python says nothing while a command of ours uses it."""

import logging
from collections.abc import Iterator

import pytest

from longsynth.engines.spark import unlogged


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """What reaches the root's handlers."""
    found: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logging.root.addHandler(handler)
    yield found
    logging.root.removeHandler(handler)


def test_what_py4j_logs_is_not_passed_on_while_a_session_lasts(heard: list[str]) -> None:
    theirs, others = logging.getLogger("py4j.clientserver"), logging.getLogger("another")
    by_root = logging.LogRecord("root", logging.ERROR, "py4j/x.py", 1, "by the root", (), None)
    before = logging.getLogger("py4j").propagate  # another test's session may last still
    with unlogged():
        theirs.error("by a logger of its own")
        logging.root.handle(by_root)
        others.error("by another")
    assert heard == ["by another"]
    assert logging.getLogger("py4j").propagate == before
