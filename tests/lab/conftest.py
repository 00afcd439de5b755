"""One finished miniature study for all tests, and the scripts of `lab`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.miniature import SEEDS, miniature
from longsynth_lab.studies import run_paper

SCRIPTS = Path(__file__).parents[2] / "lab"


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
