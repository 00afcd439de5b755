"""The quick part of `make mutants`: a sound list, a clean source, and a handful killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mutants.catalogue import MUTANTS
from mutants.detectors import DETECTORS, NAMES
from mutants.mutant import Edit, Mutant, Rotten, mutated
from mutants.runner import ROOT, bench, tried, tried_one

PACKAGE = ROOT / "src" / "longsynth"
HANDFUL = (  # one for each detector that takes a second or two
    "√2 too little noise",
    "wrong in ledger and mechanism alike",
    "charge after noise",
    "counted twice at the edge of a chunk",
    "clip fraction in the manifest",
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with bench() as scratch:
        yield scratch


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_to_the_source_as_it_is(mutant: Mutant) -> None:
    changed = mutated(mutant, PACKAGE)
    assert all(path.read_text(encoding="utf-8") != text for path, text in changed.items())
    assert mutant.bug.endswith(".")


def test_mutants_have_names_of_their_own_and_every_detector_is_needed() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 20
    assert {mutant.by for mutant in MUTANTS} == set(NAMES)
    assert all((ROOT / "tests" / file).is_file() for d in DETECTORS for file in d.files)


def test_a_mutant_whose_lines_are_gone_or_stand_twice_is_refused() -> None:
    for old in ("no such line\n", "    )\n"):
        edit = Edit("privacy/curator.py", old, "")
        with pytest.raises(Rotten, match=r"holds this (0|[2-9]) times"):
            mutated(Mutant("x", "x.", "noise", (edit,)), PACKAGE)


def test_the_source_as_it_is_alarms_no_detector(folder: Path) -> None:
    outcome = tried_one(folder, None)
    assert outcome.as_it_should_be, (outcome.caught, outcome.trouble)


def test_a_handful_of_mutants_is_killed(folder: Path) -> None:
    chosen = {mutant.name: mutant for mutant in MUTANTS}
    for name in HANDFUL:
        outcome = tried_one(folder, chosen[name], (chosen[name].by,))
        assert outcome.as_it_should_be, (name, outcome.trouble)


DOC = '"""Algorithm 1 (alg:fit): from patients to a private bundle and its ledger.\n'
HARMLESS = Mutant("harmless", "A comment.", "noise", (Edit("fit.py", DOC, DOC + "\nSo be it.\n"),))
BROKEN = Mutant("broken", "A crash.", "noise", (Edit("fit.py", DOC, "assert False\n" + DOC),))


def test_what_is_harmless_and_what_merely_crashes_counts_as_no_kill(folder: Path) -> None:
    harmless, broken = tried(folder, (HARMLESS, BROKEN), ("noise",))
    assert (harmless.caught, harmless.trouble) == ({}, "")
    assert broken.caught == {}
    assert "exits with 3" in broken.trouble
    assert not harmless.as_it_should_be
    assert not broken.as_it_should_be
