"""One finished miniature study for all tests."""

import time
from pathlib import Path

import pytest

from benchmark.miniature import SEEDS, miniature
from longsynth.benchmark.study import run_paper


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A finished miniature study, made by one worker; tests that change it take a copy."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    out, made = shared / "study", shared / "study-is-made"
    try:
        (shared / "study-lock").mkdir()
    except FileExistsError:
        end = time.monotonic() + 300
        while not made.exists() and time.monotonic() < end:
            time.sleep(0.2)
        return out
    try:
        found = run_paper(out, seeds=SEEDS, experiments=miniature())
        assert found.valid, [str(mismatch) for mismatch in found.mismatches[:5]]
    finally:
        made.touch()
    return out
