"""A third party's method, installed as a real package, from plan to signature."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import preloaded
from support import random_cohort, small_schema, write_checked
from third_party import PACKAGE, VERSION, install

NOT_PROVED = "longsynth has not proved its sensitivity"
BUDGET = ("--epsilon", "4", "--delta", "1e-5")


class Place:
    """A folder with a cohort, and an environment in which the package is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        install(folder / "site")
        path = [str(folder / "site"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        self.environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
        (folder / "cohort").mkdir()
        cohort = random_cohort(300, seed=9)
        cohort.length[:], cohort.observed[:] = 4, True
        write_checked(folder / "cohort", small_schema(), [cohort])
        fit = ("fit", "cohort", *BUDGET, "--method", "honest", "--by", "A", "--out", "run")
        self.fitted = self.said(*fit)

    def longsynth(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return preloaded.longsynth(*arguments, cwd=self.folder, environment=self.environment)

    def said(self, *arguments: str) -> str:
        done = self.longsynth(*arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        return " ".join(done.stdout.split())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place"))


def test_a_method_that_repeats_one_patient_for_everybody_ends_with_two(place: Place) -> None:
    done = place.longsynth("fit", "cohort", *BUDGET, "--method", "repeats", "--out", "bad")
    assert done.returncode == 2
    assert "[dependent-rows]" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place.folder / "bad").exists()


def test_every_command_that_shows_the_release_says_it(place: Place) -> None:
    assert f"NOTE method 'honest' comes from the package {PACKAGE} {VERSION}" in place.fitted
    asked = ("plan", "cohort/schema.yaml", "--patients", "300", *BUDGET, "--method", "honest")
    for command in (
        asked,
        ("verify", "run/release"),
        ("status", "run"),
        ("ledger", "run/release"),
    ):
        said = place.said(*command)
        assert "NOTE method 'honest'" in said
        assert NOT_PROVED in said, command
    assert place.said("methods").count(NOT_PROVED) == 2  # of both methods of the package
    assert "read the 1 marked NOTE" in place.said("verify", "run/release")


def test_who_signs_is_told_and_the_signature_holds(place: Place) -> None:
    place.said("keygen", "--out", "key", "--name", "B")
    assert NOT_PROVED in place.said("sign", "run/release", "--key", "key")
    assert NOT_PROVED in place.said("verify", "run/release", "--key", "key.pub")


def test_json_shows_the_caution_and_that_all_holds(place: Place) -> None:
    found = json.loads(place.longsynth("verify", "run/release", "--json").stdout)
    assert found["holds"]
    assert [NOT_PROVED in f["sentence"] for f in found["findings"] if f["caution"]] == [True]
    status = json.loads(place.longsynth("status", "run", "--json").stdout)
    assert status["proved_by_longsynth"] is False
    assert status["method_from"] == f"the package {PACKAGE} {VERSION}"
    listed = json.loads(place.longsynth("methods", "--json").stdout)
    assert {m["distribution"] for m in listed} == {"longsynth", PACKAGE}


def test_the_dossier_opens_with_it(place: Place) -> None:
    place.said("dossier", "run", "--redraws", "0", "--out", "dossier.html")
    page = (place.folder / "dossier.html").read_text()
    masthead = page[page.index('<header class="masthead">') : page.index("</header>")]
    assert '<aside class="caution"' in masthead
    assert "Caution: not a method of longsynth." in masthead
    assert f"the package {PACKAGE} {VERSION}" in masthead
    assert NOT_PROVED in " ".join(masthead.split())


def test_ours_carry_none_of_it(place: Place) -> None:
    fitted = place.said("fit", "cohort", *BUDGET, "--method", "dp-score", "--out", "ours")
    shown = [place.said(command, "ours/release") for command in ("verify", "status", "ledger")]
    place.said("dossier", "ours", "--redraws", "0", "--out", "ours.html")
    statement = (place.folder / "ours/release/STATEMENT.md").read_text()
    page = (place.folder / "ours.html").read_text()
    for text in (fitted, *shown, statement, page):
        assert "NOTE" not in text
        assert "not proved" not in text
    assert '<aside class="caution"' not in page


def test_without_the_package_a_release_of_it_cannot_be_checked(place: Place) -> None:
    done = preloaded.longsynth("verify", "run/release", cwd=place.folder)
    assert done.returncode == 1
    assert "method 'honest' is unknown" in done.stdout
