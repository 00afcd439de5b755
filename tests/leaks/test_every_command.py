"""No command says or leaves a patient's value or id, whatever the cells hold."""

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from leaks.capture import everything_said, private_tmp, removed_folders
from leaks.planted import COHORTS, write_fhir
from leaks.scenarios import NO_DATA, PROMISE, Step, every_command, steps
from leaks.sentinels import IDENTITIES, NEEDLES, SHORT, error_texts, found_in, found_under
from longsynth.commands import exit as ending
from longsynth.commands.app import app
from longsynth.govern.keys import make_keys

WITH_PATIENTS = ("taken", "taken fhir", "parts/train", "parts/holdout")  # cohort folders


@dataclass(frozen=True, slots=True)
class Ran:
    step: Step
    exit_code: int
    printed: str  # standard output and error, and logs
    raised: str  # the chain of an exception

    @property
    def said(self) -> str:
        return self.printed + self.raised


def run(step: Step) -> Ran:
    """Run a command in this process, as `longsynth` does, and keep all that it says."""
    chain: list[str] = []

    def watched() -> object:
        try:
            return app()
        except BaseException as error:
            chain.extend(error_texts(error))
            raise

    with (
        everything_said() as said,
        mock.patch("sys.argv", ["longsynth", *step.argv]),
        pytest.raises(SystemExit) as stop,
    ):
        ending.run(watched)
    code = stop.value.code
    return Ran(step, code if isinstance(code, int) else 0, said.getvalue(), "\n".join(chain))


@dataclass(frozen=True, slots=True)
class World:
    """All steps on one cohort, what was said, and the folder with all that was written."""

    work: Path
    ran: list[Ran]
    left: list[str]
    open_to_others: list[str]
    removed: list[str]


@pytest.fixture(scope="module", params=COHORTS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    base = tmp_path_factory.mktemp("world")
    write, kind = COHORTS[request.param]
    work, scratch = base / "work", base / "scratch"
    cohort = write(base / "cohort", kind)
    write_fhir(base / "fhir")
    work.mkdir()
    scratch.mkdir()
    make_keys(work / "key")
    with private_tmp(scratch), removed_folders() as removed:
        ran = [run(step) for step in steps(cohort, work)]
    left = [p.name for p in scratch.iterdir()] + [p.name for p in work.rglob(".*")]
    return World(work, ran, left, removed.open_to_others, removed.files)


def test_every_command_is_run_on_sentinels_or_known_to_take_no_data(tmp_path: Path) -> None:
    tried = {step.command for step in steps(tmp_path, tmp_path)}
    assert tried | set(NO_DATA) == every_command()
    assert not tried & set(NO_DATA)


def test_no_command_says_a_value_or_an_id(world: World) -> None:
    for ran in world.ran:
        assert ran.printed.strip(), "nothing was heard: this test is deaf"
        # what an audit prints is computed from patients: a rounded number can be there by chance
        needles = NEEDLES if ran.step.command == "audit" else NEEDLES + SHORT
        assert not found_in(ran.said, needles), ran.step.argv


def test_whatever_the_cells_hold_each_command_ends_alike(world: World) -> None:
    for ran in world.ran:
        assert ran.exit_code == ran.step.exit_code, (ran.step.argv, ran.said[-500:])
        assert "unexpected" not in ran.said, ran.step.argv


def outputs(world: World) -> Iterator[tuple[Path, tuple[bytes, ...]]]:
    """Each file or folder written, and what may not be in it."""
    cohorts = {world.work / folder for folder in WITH_PATIENTS}
    raw = {world.work / ran.step.raw_output for ran in world.ran if ran.step.raw_output}
    for path in sorted(world.work.rglob("*")):
        if path.is_file() and path.parent not in cohorts:  # which hold patients and ids
            within = raw & {path, *path.parents}
            yield path, IDENTITIES if within else NEEDLES


def test_no_file_holds_an_id_and_only_what_must_not_leave_holds_a_value(world: World) -> None:
    for path, needles in outputs(world):
        assert not found_in(path.read_bytes(), needles), path
    for folder in ("run/release", "drawn", "markov/release", "run/internal", "audit"):
        assert not found_under(world.work / folder), folder
    for folder in ("raw", "redrawn"):
        assert not found_under(world.work / folder, IDENTITIES), folder


def test_what_must_not_leave_can_be_read_by_its_owner_alone(world: World) -> None:
    internal = ("run/internal", "markov/internal", "raw/internal", "parts/internal")
    for folder in (*internal, "parts", "parts/train", "redrawn", "audit", "taken", "taken fhir"):
        assert stat.S_IMODE((world.work / folder).stat().st_mode) == 0o700, folder


def test_temporary_files_are_the_owners_alone_and_do_not_stay(world: World) -> None:
    assert world.removed, "the readers' copies were not seen: this test is blind"
    assert not world.open_to_others
    assert not world.left


def test_a_fit_says_the_same_whatever_the_cells_hold(tmp_path: Path) -> None:
    """But for the fingerprint and the head of the book, which cover the noised numbers."""
    said = {}
    with private_tmp(tmp_path):
        for name, (write, kind) in COHORTS.items():
            cohort, out = write(tmp_path / "cohort", kind), tmp_path / "run"
            ran = run(Step("fit", (cohort, *PROMISE, "--out", out)))
            statement = (out / "release/STATEMENT.md").read_text()
            said[name] = re.sub(r"[0-9a-f]{64}", "…", ran.said + statement), ran.exit_code
            cohort.rename(tmp_path / f"cohort of {name}")
            out.rename(tmp_path / f"run of {name}")
    assert len(set(said.values())) == 1, said
