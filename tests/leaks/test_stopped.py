"""A fit that is stopped leaves nothing; one that is killed outright leaves only what its owner
alone can read, and the next one clears the output away."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leaks.planted import write_parquet
from leaks.scenarios import PROMISE
from leaks.sentinels import NEEDLES, SHORT, found_in
from longsynth.reading.cohort_folder import CohortFolder

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cohort that takes a while to read: its ids are text, and it is not sorted."""
    folder = write_parquet(tmp_path_factory.mktemp("large") / "cohort", "valid")
    path = folder / "observations.parquet"
    pq.write_table(pa.concat_tables([pq.read_table(path)] * 20_000), path)
    return folder


class Fit:
    """A fit in a process of its own, with temporary files, home and work in places of their own."""

    def __init__(self, cohort: Path, place: Path) -> None:
        self.scratch, self.home, self.work = (place / n for n in ("scratch", "home", "work"))
        for folder in (self.scratch, self.home, self.work):
            folder.mkdir()
        environment = os.environ | {"TMPDIR": str(self.scratch), "HOME": str(self.home)}
        command = [sys.executable, "-m", "longsynth.commands", "fit", str(cohort), *PROMISE]
        self.process = subprocess.Popen(
            [*command, "--out", str(self.work / "run")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=self.work,
        )

    def wait_for_copies(self) -> None:
        """Until patients' cells stand in a temporary file."""
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            if any(p.stat().st_size > 4 for p in self.scratch.rglob("*.parquet")):
                return
            time.sleep(0.005)
        raise AssertionError("the fit ended before it could be stopped")

    def end(self, number: int) -> bytes:
        self.process.send_signal(number)
        said, _ = self.process.communicate(timeout=120)
        return said


@pytest.fixture
def fit(large: Path, tmp_path: Path) -> Iterator[Fit]:
    started = Fit(large, tmp_path)
    try:
        started.wait_for_copies()
        yield started
    finally:
        started.process.kill()
        started.process.wait()


@pytest.mark.parametrize("number", STOPS, ids=lambda n: n.name)
def test_a_fit_that_is_stopped_leaves_nothing_and_says_nothing_of_patients(
    fit: Fit, number: int
) -> None:
    said = fit.end(number)
    assert fit.process.returncode != 0
    assert not found_in(said, NEEDLES + SHORT), said
    for folder in (fit.scratch, fit.home, fit.work):
        assert not list(folder.iterdir()), number


def test_what_a_killed_fit_leaves_only_its_owner_can_read(fit: Fit) -> None:
    said = fit.end(signal.SIGKILL)
    assert not found_in(said, NEEDLES + SHORT)
    left = [*fit.scratch.iterdir(), *fit.work.iterdir()]
    copies = [p for p in fit.scratch.rglob("*") if p.is_file()]
    assert any(found_in(p.read_bytes()) for p in copies), "no copy was caught: a blind test"
    assert not list(fit.home.iterdir())
    for path in left:
        assert path.name.startswith(("longsynth-", ".run.partial")), path
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path


def test_what_the_sorter_cannot_hold_in_memory_goes_to_the_owners_scratch_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with CohortFolder(write_parquet(tmp_path / "cohort", "valid")) as source:
        (scratch,) = tmp_path.glob("longsynth-*")
        assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
        query = "SELECT current_setting('temp_directory')"
        assert source._session.connection.execute(query).fetchall() == [(str(scratch),)]
    assert not scratch.exists()
