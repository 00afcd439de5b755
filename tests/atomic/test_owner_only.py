"""What shows patients can be read by its owner only, whoever writes it and whatever the umask."""

import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE

import pytest

from atomic.outputs import PROMISE, Work, main_here
from longsynth.system.folders import new_folder, write_whole
from readers.small_sources import imported, meds

OPEN_TO_ALL = 0o000


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(OPEN_TO_ALL)
    yield
    os.umask(before)


def done(*arguments: object) -> None:
    code, _, said = main_here(*arguments)
    assert code == 0, said


def open_to_others(folder: Path) -> list[str]:
    """What in a folder, itself included, others could read, write or enter."""
    every = [folder, *folder.rglob("*")]
    assert len(every) > 1, "an empty folder shows nothing"
    return [str(p.relative_to(folder)) for p in every if S_IMODE(p.stat().st_mode) & 0o077]


def plainly_private(folder: Path) -> bool:
    return all(
        S_IMODE(p.stat().st_mode) == (0o700 if p.is_dir() else 0o600)
        for p in (folder, *folder.rglob("*"))
    )


def test_fit(work: Work, place: Path) -> None:
    done("fit", work.cohort, *PROMISE, "--out", place / "run")
    assert open_to_others(place / "run" / "internal") == []
    assert plainly_private(place / "run" / "internal")
    assert S_IMODE((place / "run" / "release" / "STATEMENT.md").stat().st_mode) == 0o666


def test_fit_without_privacy_and_what_is_drawn_from_it(work: Work, place: Path) -> None:
    done("fit", work.cohort, "--method", "independent", "--out", place / "raw")
    assert plainly_private(place / "raw" / "internal")
    drawn = place / "drawn"
    done("sample", place / "raw" / "internal", "--patients", 9, "--seed", 1, "--out", drawn)
    assert plainly_private(drawn)


def test_import(place: Path) -> None:
    cohort = imported("meds", meds(place / "hospital"), place)
    assert (cohort / "internal" / "import.json").is_file()
    assert plainly_private(cohort)


def test_audit_and_the_internal_dossier(work: Work, place: Path) -> None:
    patients = ["--train", work.cohort, "--test", work.held_out, "--synthetic", work.synthetic]
    done("audit", *patients, "--bootstrap", 0, "--out", place / "audit")
    assert plainly_private(place / "audit")
    page = place / "dossier.html"
    audited = ("--audit", place / "audit", "--redraws", 2)
    done("dossier", work.folder / "run", *audited, "--out", page)
    assert S_IMODE(page.stat().st_mode) == 0o600


def test_demo(place: Path) -> None:
    done("demo", "--out", place / "demo")
    internal = place / "demo" / "run" / "internal"
    assert (internal / "comparison.json").is_file()
    assert plainly_private(internal)
    assert open_to_others(place / "demo" / "synthetic") != []


def test_whatever_is_added_to_an_internal_folder_later(tmp_path: Path) -> None:
    with new_folder(tmp_path / "run") as scratch:
        (scratch / "internal" / "deep").mkdir(parents=True)
        (scratch / "internal" / "deep" / "note").write_text("x")
        (scratch / "release").mkdir()
        (scratch / "release" / "note").write_text("x")
    write_whole(tmp_path / "run" / "internal" / "more", b"x")
    assert plainly_private(tmp_path / "run" / "internal")
    assert open_to_others(tmp_path / "run" / "release") == [".", "note"]
