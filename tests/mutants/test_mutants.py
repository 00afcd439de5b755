"""The quick part of `make mutants`: a sound list, and a handful killed.

`make mutants` also holds the source as it is against every detector. The detectors are tests that
`make test` runs anyhow."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mutants.catalogue import MUTANTS
from mutants.detectors import DETECTORS, NAMES
from mutants.examine import ROOT
from mutants.mutant import Edit, Mutant, Rotten, mutated
from mutants.runner import bench, tried, tried_one

PACKAGE = ROOT / "src" / "longsynth"
HANDFUL = (  # one for each detector that takes a second or two
    "√2 too little noise",
    "wrong in ledger and mechanism alike",
    "charge after noise",
    "counted twice at the edge of a chunk",
    "clip fraction in the manifest",
    "a forged release passes verify",
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


def test_a_handful_of_mutants_is_killed(folder: Path) -> None:
    chosen = [mutant for mutant in MUTANTS if mutant.name in HANDFUL]
    assert len(chosen) == len(HANDFUL)
    for mutant in chosen:
        outcome = tried_one(folder, mutant, (mutant.by,))
        assert outcome.as_it_should_be, (mutant.name, outcome.trouble)


def no_bug(name: str, file: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"It is {name}.", "exactness", (Edit(file, old, new),))


def test_what_is_harmless_and_what_merely_crashes_counts_as_no_kill(folder: Path) -> None:
    begin, rows = (
        "    method = plan.method\n",
        "    n, shared = len(contribution.right), {} if shared is None else shared\n",
    )
    harmless, broken, touchy = tried(
        folder,
        (
            no_bug("harmless", "fit.py", begin, "    # so be it\n" + begin),
            no_bug("broken", "fit.py", begin, "    assert plan is None\n" + begin),
            no_bug(
                "touchy",
                "privacy/sums.py",
                rows,
                rows + "    assert n\n",
            ),
        ),
        ("exactness",),
    )
    assert (harmless.caught, harmless.trouble) == ({}, "")
    assert (broken.caught, "`longsynth fit` exits with 3" in broken.trouble) == ({}, True)
    assert (touchy.caught, "nobody adds nothing" in touchy.trouble) == ({}, True)
    assert not any(o.as_it_should_be for o in (harmless, broken, touchy))
