"""Signals as a terminal leaves them, and what takes long to make, made once for all workers."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest

# Before numpy is loaded. A second thread finds nothing to do in products this small, and waits in
# a loop that takes half of the processor time.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
os.environ.update(ONE_THREAD)

# Whatever the machine prefers: every worker would compile all tests anew, and every process that a
# test starts the package.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

from caching import remember  # noqa: E402

remember()

from preloaded import stop_server  # noqa: E402
from spark_sessions import Sessions, why_not  # noqa: E402

# `nohup` and `&` have these ignored, every child inherits that, and a fit could not be interrupted
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

MADE_ONCE = {  # folder and fixture: what takes five seconds and more
    ("lab", "kept"),
    ("lab", "study"),
    ("cli", "work"),
    ("dossier", "world"),
    ("leaks", "world"),
    ("pages", "site"),
}


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in this very hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Send the tests that share a slow fixture to the same worker, where it is made once."""
    for item in items:
        for name in getattr(item, "fixturenames", ()):
            if (item.path.parent.name, name) in MADE_ONCE:
                made_of = item.callspec.params.get(name, "") if hasattr(item, "callspec") else ""
                group = f"{item.path.parent.name} {name} {made_of}".rstrip()
                item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session", autouse=True)
def _server() -> Iterator[None]:
    """What runs commands, if a test starts it, ends with the tests."""
    yield
    stop_server()


@pytest.fixture(scope="session")
def sparks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    """Spark, started once: tests that need it are in the group `spark`."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    sessions = Sessions(tmp_path_factory.mktemp("spark"))
    yield sessions
    sessions.stop()
