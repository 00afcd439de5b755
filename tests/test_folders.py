"""Outputs appear whole or not at all, whatever ends their writing, and a failure is a sentence."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from longsynth.system import folders
from longsynth.system.errors import Code, Refused, notes, noting
from longsynth.system.folders import new_folder, whole_file, write_whole
from refusals import refused

HOLDING = """
import sys, time
from pathlib import Path
from longsynth.system.folders import new_folder
with new_folder(Path(sys.argv[1])) as scratch:
    (scratch / "raw").write_text("x")
    print("ready", flush=True)
    time.sleep(60)
"""
RACING = """
import sys, time
from pathlib import Path
from longsynth.system.errors import Refused
from longsynth.system.folders import new_folder
me, start, won = sys.argv[2], float(sys.argv[3]), []
for turn in range(25):
    while time.time() < start + turn * 0.03:
        pass
    try:
        with new_folder(Path(sys.argv[1], str(turn))) as scratch:
            (scratch / "a").write_text(me)
            (scratch / "b").write_text(me)
        won.append(turn)
    except Refused:
        pass
print(*won)
"""


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_folder_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    with new_folder(target) as scratch:
        (scratch / "file").write_text("x")
        assert not target.exists()
    assert (target / "file").read_text() == "x"
    assert [p.name for p in target.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("failure", [ValueError, MemoryError, SystemExit, KeyboardInterrupt])
def test_a_failure_leaves_nothing(tmp_path: Path, failure: type[BaseException]) -> None:
    with pytest.raises(failure), new_folder(tmp_path / "out") as scratch:
        (scratch / "file").write_text("x")
        raise failure
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_stays_one_and_says_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as stop, new_folder(tmp_path / "out"):
        raise KeyboardInterrupt
    (note,) = notes(stop.value)
    assert (
        note == f"Nothing was written at {tmp_path / 'out'}: run the same command to start again."
    )


def test_duckdbs_own_error_after_an_interrupt_is_taken_for_one(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as stop, new_folder(tmp_path / "out"):
        raise RuntimeError("Query interrupted")
    assert "run the same command" in notes(stop.value)[0]
    with pytest.raises(RuntimeError) as fault, new_folder(tmp_path / "out"):
        raise RuntimeError("another")
    assert notes(fault.value) == []


def lines_of_a_success(target: Path, interrupted_at: int) -> bool:
    """Write a folder with an interrupt before the given line of folders.py; was there one?"""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        nonlocal count
        if frame.f_code.co_filename != folders.__file__:
            return None
        if event == "line":
            count += 1
            if count == interrupted_at:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with new_folder(target) as scratch:
            (scratch / "file").write_text("x")
            (scratch / "inner").mkdir()
            (scratch / "inner" / "file").write_text("y")
    except KeyboardInterrupt as stop:
        sys.settrace(before)
        (note,) = notes(stop) or [""]
        assert ("is whole" in note) == target.exists() or not note
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_at_any_line_leaves_all_or_nothing(tmp_path: Path) -> None:
    after = set()
    for line in range(1, 500):
        target = tmp_path / str(line) / "out"
        interrupted = lines_of_a_success(target, line)
        left = {p.name for p in target.parent.iterdir()} if target.parent.exists() else set()
        assert left in (set(), {"out"}), (line, left)
        if left:
            assert (target / "file").read_text() + (target / "inner/file").read_text() == "xy"
        after.add((interrupted, bool(left)))
        if not interrupted:
            break
    assert after == {(True, False), (True, True), (False, True)}
    assert line > 40


def test_an_existing_target_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    (tmp_path / "file").write_text("x")
    (tmp_path / "nowhere").symlink_to(tmp_path / "no such")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    before = sorted(tmp_path.rglob("*"))
    for name in ("out", "file", "nowhere", "link", "out/..", "none/.."):
        with refused(Code.OUTPUT_EXISTS):
            new_folder(tmp_path / name).__enter__()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("full", [False, True])
def test_what_appears_at_the_target_meanwhile_is_never_touched(tmp_path: Path, full: bool) -> None:
    target = tmp_path / "out"
    with refused(Code.OUTPUT_EXISTS), new_folder(target):
        target.mkdir(mode=0o705)
        if full:
            (target / "theirs").write_text("x")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert mode(target) == 0o705
    assert [p.name for p in target.iterdir()] == (["theirs"] if full else [])


def test_what_appears_after_the_last_look_is_kept_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, rename = tmp_path / "out", Path.rename

    def late(self: Path, to: Path) -> Path:
        target.mkdir()
        (target / "theirs").write_text("x")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", late)
    with refused(Code.OUTPUT_EXISTS), new_folder(target):
        pass
    assert [p.name for p in target.iterdir()] == ["theirs"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_target_below_a_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("file/out", "file/deep/out"):
        with refused(Code.OUTPUT_NOT_WRITTEN):
            new_folder(tmp_path / name).__enter__()


def test_a_name_that_is_too_long_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for name in ("n" * 250, "n" * 300, "n" * 300 + "/out"):
        with refused(Code.OUTPUT_NOT_WRITTEN):
            new_folder(tmp_path / name).__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_systems_refusal_is_a_sentence_without_the_librarys_text(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal, new_folder(tmp_path / "out"):
        raise OSError(errno.ENOSPC, "cell 'Miller' of column 3: No space left on device")
    assert str(refusal.value) == (
        f"{tmp_path / 'out'} could not be written: No space left on device. Free some space, or "
        "choose another output path."
    )
    assert list(tmp_path.iterdir()) == []


def test_only_the_owner_can_look_into_a_scratch_folder(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with new_folder(tmp_path / "out") as scratch:
            assert mode(scratch) == 0o700
        with new_folder(tmp_path / "inner", owner_only=True) as scratch:
            assert mode(scratch) == 0o700
    finally:
        os.umask(before)
    assert mode(tmp_path / "out") == 0o750
    assert mode(tmp_path / "inner") == 0o700


def test_all_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink()
        happened.append(name.relative_to(tmp_path).as_posix())
        fsync(descriptor)

    def renamed(self: Path, to: Path) -> Path:
        happened.append("renamed")
        return rename(self, to)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    with new_folder(tmp_path / "out") as scratch:
        (scratch / "inner").mkdir()
        (scratch / "inner" / "b").write_text("x")
        write_whole(scratch / "a", b"x")
        with new_folder(scratch / "nested"):
            pass
        happened.clear()
    inside = [".out.partial", *(f".out.partial/{n}" for n in ("a", "inner", "inner/b", "nested"))]
    assert sorted(happened[:-2]) == inside
    assert happened[-2:] == ["renamed", "."]


def held(target: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDING, str(target)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout and child.stdout.readline() == "ready\n"
    return child


def test_a_second_writer_is_refused_and_a_killed_ones_scratch_removed(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with held(target) as child:
        with pytest.raises(Refused, match="another command is writing"):
            new_folder(target).__enter__()
        assert (tmp_path / ".out.partial" / "raw").exists()
        child.send_signal(signal.SIGKILL)
    left = tmp_path / ".out.partial"
    assert [p.name for p in left.iterdir()] == ["raw"]
    assert mode(left) == 0o700
    with new_folder(target) as scratch:
        (scratch / "new").write_text("x")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert [p.name for p in target.iterdir()] == ["new"]


def test_of_many_at_once_exactly_one_wins_and_is_whole(tmp_path: Path) -> None:
    import time

    start = time.time() + 1.5
    children = [
        subprocess.Popen(
            [sys.executable, "-c", RACING, str(tmp_path), str(n), str(start)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    won = {n: child.communicate(timeout=60)[0].split() for n, child in enumerate(children)}
    assert sorted(int(turn) for turns in won.values() for turn in turns) == list(range(25))
    for n, turns in won.items():
        for turn in turns:
            assert (tmp_path / turn / "a").read_text() == (tmp_path / turn / "b").read_text()
            assert (tmp_path / turn / "a").read_text() == str(n)
    assert not list(tmp_path.glob(".*"))


def test_a_scratch_folder_that_was_taken_for_abandoned_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, times = folders.fcntl.flock, []

    def late(folder: int, how: int) -> None:
        times.append(folder)
        if len(times) == 1:  # another removes it between its making and its locking
            (tmp_path / ".out.partial").rmdir()
            (tmp_path / ".out.partial").mkdir()
        flock(folder, how)

    monkeypatch.setattr(folders.fcntl, "flock", late)
    with new_folder(tmp_path / "out") as scratch:
        (scratch / "file").write_text("x")
    assert len(times) == 3  # ours, the other's, and ours again
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_one_who_comes_just_after_another_finished_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = folders._claim

    def finished_first(scratch: Path, target: Path) -> int | None:
        target.mkdir()
        return claim(scratch, target)

    monkeypatch.setattr(folders, "_claim", finished_first)
    with refused(Code.OUTPUT_EXISTS), new_folder(tmp_path / "out"):
        pytest.fail("the work was begun")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_where_nothing_can_be_locked_what_is_left_is_named_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, "no locks")

    monkeypatch.setattr(folders.fcntl, "flock", refuse)
    with new_folder(tmp_path / "out"):
        pass
    with pytest.raises(ValueError), new_folder(tmp_path / "failed"):
        raise ValueError
    (tmp_path / ".other.partial").mkdir()
    with pytest.raises(Refused, match="If none is running, remove it"):
        new_folder(tmp_path / "other").__enter__()
    assert {p.name for p in tmp_path.iterdir()} == {"out", ".other.partial"}


def test_a_file_in_the_way_of_the_scratch_folder_is_named_and_kept(tmp_path: Path) -> None:
    (tmp_path / ".out.partial").write_text("x")
    with refused(Code.OUTPUT_BUSY):
        new_folder(tmp_path / "out").__enter__()
    assert (tmp_path / ".out.partial").read_text() == "x"


def test_a_folder_within_one_leaves_the_message_to_the_outer(tmp_path: Path) -> None:
    with (
        pytest.raises(Refused) as refusal,
        new_folder(tmp_path / "out") as scratch,
        new_folder(scratch / "inner"),
    ):
        raise OSError(errno.EROFS, "x")
    assert str(refusal.value).startswith(f"{tmp_path / 'out'} could not be written")
    with (
        pytest.raises(KeyboardInterrupt) as stop,
        new_folder(tmp_path / "out") as scratch,
        new_folder(scratch / "inner"),
    ):
        raise KeyboardInterrupt
    assert len(notes(stop.value)) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_undone_is_said_whatever_ends_it_but_only_once_it_happened(
    tmp_path: Path,
) -> None:
    refusal = Refused("code", "problem", "remedy")
    for error in (OSError(errno.ENOSPC, "x"), KeyboardInterrupt(), refusal, ValueError("x")):
        with pytest.raises(BaseException) as stop, noting() as after, new_folder(tmp_path / "out"):
            after.append("The charge is spent.")
            raise error
        assert notes(stop.value)[-1] == "The charge is spent."
    with pytest.raises(Refused) as refusal, new_folder(tmp_path / "out"), noting() as after:
        after.append("The charge is spent.")
        raise OSError(errno.ENOSPC, "x")
    assert notes(refusal.value) == ["The charge is spent."]
    with pytest.raises(ValueError) as early, noting() as after:
        raise ValueError
    assert notes(early.value) == []


def test_a_librarys_note_is_not_ours_to_show() -> None:
    error = ValueError()
    error.add_note("cell 'Miller' of column 3")
    assert notes(error) == []


def test_a_file_is_replaced_only_by_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_whole(path, b"old")
    for failure in (ValueError, KeyboardInterrupt):
        with pytest.raises(failure), whole_file(path) as scratch:
            scratch.write_bytes(b"ne")
            assert path.read_bytes() == b"old"
            raise failure
    with refused(Code.OUTPUT_NOT_WRITTEN), whole_file(path) as scratch:
        scratch.write_bytes(b"ne")
        raise OSError(errno.ENOSPC, "x")
    assert path.read_bytes() == b"old"
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in path.parent.iterdir()] == ["file"]
