"""One finished miniature study for all tests."""

from pathlib import Path

import pytest

from benchmark.miniature import SEEDS, miniature
from longsynth.benchmark.study import run_paper


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished miniature study; tests that change it take a copy."""
    out = tmp_path_factory.mktemp("finished") / "study"
    found = run_paper(out, seeds=SEEDS, experiments=miniature())
    assert found.valid, [str(mismatch) for mismatch in found.mismatches[:5]]
    return out
