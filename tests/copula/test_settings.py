"""Settings: what the rules come to is public, printed by a plan, and what a fit then uses."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from longsynth import plan, simulated_schema
from longsynth.commands.app import app
from longsynth.methods.copula_score.settings import (
    LITTLE,
    MUCH,
    Settings,
    Sizes,
    measure_weights,
    shares_of,
)
from longsynth.methods.registry import private_method
from longsynth.schema.file import dump
from support import small_schema
from ward import ward_schema

METHOD = private_method("copula-score")


def planned(tmp_path: Path, *more: str, method: str = "copula-score") -> str:
    (tmp_path / "schema.yaml").write_text(dump(simulated_schema()))
    promise = ["--patients", "504", "--epsilon", "4", "--delta", "1e-5", "--method", method]
    done = CliRunner().invoke(app, ["plan", str(tmp_path / "schema.yaml"), *promise, *more])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_plan_prints_every_setting_with_the_numbers_a_fit_uses(tmp_path: Path) -> None:
    schema = plan(simulated_schema(), 504, epsilon=4, delta=1e-5, method="copula-score").schema
    rules, shown = Sizes.of(schema), planned(tmp_path)
    for name, text in METHOD.settings_text(schema).items():
        assert name in shown
        assert text in shown
    for number in (
        rules.strength,
        rules.marginal_radius,
        rules.block_radius,
        rules.score_radius,
        rules.effect_radius,
    ):
        assert f"{number:.4g}" in shown
    assert f"K = {rules.waves}" in shown
    assert "33.3 %" in shown
    told = json.loads(planned(tmp_path, "--json"))
    assert told["settings"] == METHOD.settings_text(schema)


def test_a_method_without_settings_of_its_own_prints_none(tmp_path: Path) -> None:
    assert private_method("trust").settings_text(simulated_schema().resolved(504)) == {}
    assert "Settings of" not in planned(tmp_path, method="trust")
    assert "settings" not in json.loads(planned(tmp_path, "--json", method="trust"))


@pytest.mark.parametrize("schema", [small_schema(), ward_schema(), ward_schema(slots=1)])
def test_settings_follow_from_the_schema_and_the_strength_alone(schema: object) -> None:
    """Twice the patients at half the strength of the budget are the same to every rule."""
    one = METHOD.settings_text(schema.resolved(100, 1.0))  # type: ignore[attr-defined]
    same = METHOD.settings_text(schema.resolved(200, 0.5))  # type: ignore[attr-defined]
    more = METHOD.settings_text(schema.resolved(100_000, 1.0))  # type: ignore[attr-defined]
    assert one == same
    assert one["radius of lag blocks"] != more["radius of lag blocks"]


def test_radii_and_waves_grow_with_the_strength_and_stay_within_limits() -> None:
    rules = [Sizes(6, 14, strength) for strength in np.geomspace(1e-3, 1e9, 40)]
    for name in ("waves", "marginal_radius", "block_radius", "score_radius", "effect_radius"):
        found = [getattr(r, name) for r in rules]
        assert found == sorted(found), name
        assert 0 < found[0] < found[-1] < 100, name


def test_shares_add_up_to_the_whole_budget_with_and_without_lengths() -> None:
    assert set(LITTLE) == set(MUCH)
    for length, patients in (("variable", 50), ("variable", 10**6), ("full", 50), ("full", 900)):
        found = shares_of(small_schema(length=length).resolved(patients), Settings())
        assert sum(found.values()) == 1
        without = {"lengths"} if length == "full" else set()
        assert set(found) == set(LITTLE) - without - (set() if patients >= 1000 else {"labels"})


def test_with_more_to_learn_the_budget_moves_from_severity_to_each_channels_effect() -> None:
    few, some, many = (
        shares_of(small_schema().resolved(n), Settings()) for n in (100, 1000, 10_000)
    )
    assert few["severity"] > some["severity"] > many["severity"]
    assert few["effects"] < some["effects"] < many["effects"]


def test_a_measure_with_few_levels_has_no_more_waves_than_it_can_tell() -> None:
    schema = ward_schema().resolved(10**6)
    levels = [None, 2, 4, None, 5, 2, 3, None, None]
    for waves, of in zip(measure_weights(schema, Sizes.of(schema)), levels, strict=True):
        assert len(waves) == (64 if of is None else of - 1)
