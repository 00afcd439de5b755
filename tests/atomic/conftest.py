"""A small cohort, its run and its synthetic cohort, made once by each worker."""

from pathlib import Path

import pytest

from atomic.outputs import Work, main_here


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    made = Work(tmp_path_factory.mktemp("work"))
    promise = ("--epsilon", 12, "--delta", 1e-5)
    for step in (
        ("simulate", "--patients", 300, "--out", made.cohort),
        ("simulate", "--seed", 12, "--patients", 100, "--out", made.held_out),
        ("fit", made.cohort, *promise, "--out", made.folder / "run"),
        ("sample", made.release, "--patients", 200, "--seed", 7, "--out", made.synthetic),
    ):
        code, _, said = main_here(*step)
        assert code == 0, said
    return made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a command is told to write, and nothing else stands."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder
