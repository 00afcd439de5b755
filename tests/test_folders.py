"""Output folders appear whole or not at all."""

from pathlib import Path

import pytest

from longsynth.errors import Refused
from longsynth.folders import new_folder


def test_a_folder_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    with new_folder(target) as scratch:
        (scratch / "file").write_text("x")
        assert not target.exists()
    assert (target / "file").read_text() == "x"
    assert [p.name for p in target.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("failure", [ValueError, MemoryError, SystemExit])
def test_a_failure_leaves_nothing(tmp_path: Path, failure: type[BaseException]) -> None:
    with pytest.raises(failure), new_folder(tmp_path / "out") as scratch:
        (scratch / "file").write_text("x")
        raise failure
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing_and_says_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="Run the same command"), new_folder(tmp_path / "out"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_an_existing_target_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(Refused, match="choose another --out"), new_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "mine").exists()


def test_a_target_below_a_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Refused, match="cannot be created"), new_folder(tmp_path / "file" / "out"):
        pass


def test_a_full_disk_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="No space left"), new_folder(tmp_path / "out"):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []
