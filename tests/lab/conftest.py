"""One finished miniature study for all tests, and the scripts of `lab`."""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from lab.miniature import SEEDS, miniature
from longsynth_lab.results import Results, read_results
from longsynth_lab.studies import run_paper

SCRIPTS = Path(__file__).parents[2] / "lab"
Kept = Callable[[str], Results]


@pytest.fixture(scope="package")
def kept() -> Kept:
    """The stored results by name; nothing where they were not measured yet. A million cells: they
    are read where they are needed, by one worker, and never while tests are collected."""

    @cache
    def results(name: str) -> Results:
        path = SCRIPTS / "results" / f"{name}.parquet"
        return read_results(path) if path.is_file() else Results(())

    return results


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished miniature study; tests that change it take a copy."""
    out = tmp_path_factory.mktemp("finished") / "study"
    found = run_paper(out, seeds=SEEDS, experiments=miniature())
    assert found.valid, [str(mismatch) for mismatch in found.mismatches[:5]]
    return out


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test import them by name; afterwards nobody has them."""
    monkeypatch.syspath_prepend(SCRIPTS)
    yield
    for path in SCRIPTS.glob("*.py"):
        sys.modules.pop(path.stem, None)
