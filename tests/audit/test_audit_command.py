"""The command, as a steward runs it."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from audit.audit_support import weighted
from longsynth.audit.attacks.canary import COPIES, REFITS
from longsynth.commands import audit as command
from longsynth.commands.audit import audit
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.release.folder import load_release
from longsynth.release.run import run_fit
from longsynth.release.synthetic_folder import RECIPE, Recipe, recipe_json
from longsynth.system.errors import Code, Refused
from support import write_checked

DOCS = Path(__file__).parents[2] / "docs"
app = typer.Typer()
app.command()(audit)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    schema = simulated_schema()
    cohorts = {
        "train": simulate(90, seed=1),
        "test": simulate(80, seed=2),
        "control": simulate(50, seed=4),
        "drawn": weighted(simulate(100, seed=3), np.ones(100)),
    }
    for number, (name, cohort) in enumerate(cohorts.items()):
        (tmp_path / name).mkdir()
        write_checked(tmp_path / name, schema, [cohort], first=1000 * number + 1)
    return tmp_path


def run(work: Path, *more: object, out: str = "audit") -> tuple[int, str, BaseException | None]:
    arguments = ["--train", work / "train", "--test", work / "test", "--synthetic", work / "drawn"]
    done = CliRunner().invoke(app, [*map(str, [*arguments, "--out", work / out, *more])])
    return done.exit_code, done.output, done.exception


def test_it_writes_a_folder_and_shows_every_row(work: Path) -> None:
    code, output, error = run(work, "--bootstrap", 3)
    assert code == 0, error
    for words in ("train on synthetic", "train on real", "base rate", "mia_auc", "do not share it"):
        assert words in output
    assert "ε in the release's ledger" in " ".join(output.split())
    assert (work / "audit" / "AUDIT.md").is_file()


def test_json_is_what_the_file_says_and_the_control_cohort_counts(work: Path) -> None:
    code, output, error = run(work, "--bootstrap", 0, "--json")
    assert code == 0, error
    assert json.loads(output) == json.loads((work / "audit" / "audit.json").read_text())
    _, other, _ = run(
        work, "--bootstrap", 0, "--json", "--control", work / "control", out="another"
    )
    differ = {
        a["section"]
        for a, b in zip(json.loads(output), json.loads(other), strict=True)
        if a["value"] != b["value"]
    }
    assert differ == {"attacks"}


def test_schemas_that_differ_are_refused_and_nothing_is_written(work: Path) -> None:
    text = (work / "drawn" / "schema.yaml").read_text()
    assert "max_gap: 72" in text
    (work / "drawn" / "schema.yaml").write_text(text.replace("max_gap: 72", "max_gap: 24"))
    code, _, error = run(work)
    assert code != 0
    assert isinstance(error, Refused)
    assert error.code == Code.COHORTS_DISAGREE
    assert "synthetic cohort has max_gap 24" in str(error)
    assert not (work / "audit").exists()
    assert not list(work.glob(".audit*"))


@pytest.mark.parametrize(("method", "part"), [("trust", "release"), ("bootstrap", "internal")])
def test_a_run_is_fitted_again_with_canaries(work: Path, method: str, part: str) -> None:
    promise = {"epsilon": 4.0, "delta": 1e-5} if part == "release" else {}
    run_fit(work / "train", work / "run", method=method, **promise)  # type: ignore[arg-type]
    named = work / "run" / part if method == "trust" else work / "run"
    code, output, error = run(work, "--bootstrap", 20, "--canary", named)
    assert code == 0, error
    assert "canary_exposure_control" in output
    page = (work / "audit" / "AUDIT.md").read_text()
    assert "fitted again 16 times each" in page
    rows = {r["metric"]: r for r in json.loads((work / "audit" / "audit.json").read_text())}
    advantage = rows["canary_advantage_4"]
    assert advantage["lower"] <= advantage["value"] <= advantage["upper"]
    assert (advantage["lower"] > 0) == (method == "bootstrap")
    assert ("canary_auroc_bound_1" in rows) == (method == "trust")
    assert "nothing of these fits was released" in page
    assert f"({method}, {'ε = 4, δ = 1e-05' if method == 'trust' else 'NOT PRIVATE'})" in page
    assert (work / "audit" / "attacks.png").stat().st_size > 10_000


def test_patients_drawn_from_another_run_are_refused_before_anything_is_written(work: Path) -> None:
    for name in ("one", "another"):
        run_fit(work / "train", work / name, method="trust", epsilon=1.0, delta=1e-5)
    bundle = load_release(work / "another" / "release")
    (work / "drawn" / RECIPE).write_bytes(recipe_json(Recipe(bundle.fingerprint, 100, 3)))
    code, _, error = run(work, "--canary", work / "one")
    assert code != 0
    assert isinstance(error, Refused)
    assert error.code == Code.COHORTS_DISAGREE
    assert not (work / "audit").exists()


def test_a_cohort_of_another_size_than_the_fitted_one_is_refused(work: Path) -> None:
    run_fit(work / "test", work / "run", method="trust", epsilon=1.0, delta=1e-5)
    code, _, error = run(work, "--canary", work / "run")
    assert code != 0
    assert isinstance(error, Refused)
    assert error.code == Code.COHORTS_DISAGREE
    assert not (work / "audit").exists()


def test_the_help_and_the_docs_say_how_many_fits_canaries_cost() -> None:
    fits = f"{len(COPIES) * REFITS} "
    assert f"again {fits}times" in " ".join((inspect.getsource(command)).split())
    assert f"costs {fits}fits in memory" in (DOCS / "metrics.md").read_text()


def test_without_a_run_the_page_says_that_no_canary_was_planted(work: Path) -> None:
    run(work, "--bootstrap", 0)
    page = (work / "audit" / "AUDIT.md").read_text()
    assert "Canaries were not run" in page


def test_a_folder_that_is_no_run_is_refused_before_anything_is_written(work: Path) -> None:
    code, _, error = run(work, "--canary", work / "train")
    assert code != 0
    assert isinstance(error, Refused)
    assert not (work / "audit").exists()
