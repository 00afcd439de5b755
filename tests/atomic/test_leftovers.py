"""What a killed process leaves in the temporary folder, the next one removes; and nothing else."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atomic.outputs import PROMISE, Work
from longsynth.system import scratch
from longsynth.system.scratch import PREFIX, ScratchFolder


def started(work: Work, out: Path, temporary: Path) -> subprocess.Popen[bytes]:
    """Start a fit, and return once it has a scratch folder and has locked it."""
    before = set(temporary.iterdir())
    fit = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "longsynth.commands.__main__",
            "fit",
            work.cohort,
            *PROMISE,
            "--out",
            out,
        ],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 120
    while not any(map(is_locked, set(temporary.glob(f"{PREFIX}*")) - before)):
        assert fit.poll() is None, "the fit ended before it was seen"
        assert time.monotonic() < end
        time.sleep(0.001)
    fit.send_signal(signal.SIGSTOP)  # so that it can be looked at
    return fit


def is_locked(folder: Path) -> bool:
    """Ask the system: to try the lock would be in the way of whoever takes it."""
    held = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    inodes = {words[5].rpartition(":")[2] for words in held if words[1] == "FLOCK"}
    try:
        return str(folder.stat().st_ino) in inodes
    except FileNotFoundError:
        return False


def finished(work: Work, out: Path, temporary: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "longsynth.commands.__main__",
        "fit",
        work.cohort,
        *PROMISE,
        "--out",
        out,
    ]
    subprocess.run(command, env=os.environ | {"TMPDIR": str(temporary)}, check=True)


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def test_the_next_run_removes_what_a_killed_fit_left(
    work: Work, temporary: Path, place: Path
) -> None:
    killed = started(work, place / "killed", temporary)
    (left,) = temporary.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    (left / "copy.parquet").write_bytes(b"patients")
    killed.kill()
    killed.wait()
    assert (left / "copy.parquet").exists()
    finished(work, place / "next", temporary)
    assert list(temporary.iterdir()) == []


def test_what_a_living_fit_uses_is_left_alone(work: Work, temporary: Path, place: Path) -> None:
    living = started(work, place / "living", temporary)
    try:
        (used,) = temporary.iterdir()
        finished(work, place / "other", temporary)
        assert list(temporary.iterdir()) == [used]
        living.send_signal(signal.SIGCONT)
        assert living.wait(timeout=120) == 0
        assert (place / "living" / "release").is_dir()
        assert list(temporary.iterdir()) == []
    finally:
        living.kill()
        living.wait()


@pytest.fixture
def here(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary folder of this process, in which nobody has looked for leftovers yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    scratch._remove_leftovers.cache_clear()
    yield temporary
    scratch._remove_leftovers.cache_clear()


def left_in(temporary: Path, name: str = f"{PREFIX}abcdefgh") -> Path:
    left = temporary / name
    left.mkdir(mode=0o700)
    (left / "patients").write_text("x")
    return left


def test_a_scratch_folder_is_private_and_gone_once_it_is_closed(here: Path) -> None:
    old = os.umask(0)
    try:
        with ScratchFolder() as folder:
            assert folder.path.parent == here
            assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    finally:
        os.umask(old)
    assert list(here.iterdir()) == []


def test_a_leftover_is_removed_with_all_that_is_in_it(here: Path) -> None:
    left = left_in(here)
    (left / "deep").mkdir()
    (left / "deep" / "patients").write_text("x")
    ScratchFolder().close()
    assert list(here.iterdir()) == []


def test_only_folders_of_this_kind_are_leftovers(here: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    left_in(tmp_path, "mine")
    (here / f"{PREFIX}symlink_").symlink_to(mine)
    (here / f"{PREFIX}regular_").write_text("x")
    os.mkfifo(here / f"{PREFIX}apipe___")
    left_in(here, "longsynth-results")
    left_in(here, f"{PREFIX}of_my_own")
    left_in(here, f"{PREFIX}forgroup").chmod(0o750)
    before = sorted(here.iterdir())
    ScratchFolder().close()
    assert sorted(here.iterdir()) == before
    assert (mine / "patients").exists()


def test_a_link_inside_a_leftover_is_not_followed(here: Path, tmp_path: Path) -> None:
    mine = left_in(tmp_path, "mine")
    (left_in(here) / "link").symlink_to(mine)
    ScratchFolder().close()
    assert list(here.iterdir()) == []
    assert (mine / "patients").exists()


def test_what_belongs_to_someone_else_stays(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = left_in(here)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    ScratchFolder().close()
    assert list(here.iterdir()) == [left]


def test_trouble_with_leftovers_stops_nobody(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left_in(here)

    def fails(*_: object, **__: object) -> None:
        raise OSError

    for name in ("scandir", "lstat", "open"):
        with monkeypatch.context() as patched:
            scratch._remove_leftovers.cache_clear()
            patched.setattr(scratch.os, name, fails)
            folder = ScratchFolder()
            assert folder.path.is_dir()
        folder.close()


CROWD = """
import sys
from longsynth.system import scratch
for turn in range(150):
    scratch._remove_leftovers.cache_clear()
    with scratch.ScratchFolder() as folder:
        (folder.path / "patients").write_text("x")
        scratch._remove_leftovers.cache_clear()
        with scratch.ScratchFolder() as other:
            assert other.path != folder.path
        assert (folder.path / "patients").read_text() == "x"
"""


def test_many_at_once_never_take_a_folder_in_use_for_a_leftover(temporary: Path) -> None:
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", CROWD],
            env=os.environ | {"TMPDIR": str(temporary)},
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    for process in crowd:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    assert list(temporary.iterdir()) == []
