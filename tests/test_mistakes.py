"""A call with the wrong thing is refused: the message names its kind, and says what to call."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import longsynth
from refusals import refused

SECRET = "ZQXW"
FRAME = pa.table({SECRET: [SECRET]})


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    schema, cohort = longsynth.simulated_schema(), longsynth.simulate(60, seed=1)
    plan = longsynth.plan(schema, 60, epsilon=4, delta=1e-5, method="dp-score")
    bundle = longsynth.fit(cohort, plan)
    synthetic = longsynth.sample(longsynth.model_of(bundle), 5, seed=1)
    return {
        "schema": schema, "cohort": cohort, "plan": plan, "bundle": bundle, "synthetic": synthetic
    }  # fmt: skip


MISTAKES: dict[str, tuple[Callable[[Any], object], str]] = {
    "fit(frame)": (lambda m: longsynth.fit(FRAME), "Synthesizer"),
    "fit(frame, plan)": (lambda m: longsynth.fit(FRAME, m["plan"]), "Synthesizer"),
    "fit(cohort)": (lambda m: longsynth.fit(m["cohort"]), "plan("),
    "fit(cohort, schema)": (lambda m: longsynth.fit(m["cohort"], m["schema"]), "plan("),
    "sample(bundle)": (lambda m: longsynth.sample(m["bundle"]), "model_of("),
    "sample(bundle, 5)": (lambda m: longsynth.sample(m["bundle"], 5, seed=1), "model_of("),
    "sample(model)": (lambda m: longsynth.sample(longsynth.model_of(m["bundle"])), "Give"),
    "model_of(plan)": (lambda m: longsynth.model_of(m["plan"]), "fit("),
    "model_of()": (lambda m: longsynth.model_of(), "fit("),
    "plan(path)": (
        lambda m: longsynth.plan("schema.yaml", 60, epsilon=4, delta=1e-5), "load_schema("),
    "plan(schema, cohort)": (
        lambda m: longsynth.plan(m["schema"], m["cohort"], epsilon=4, delta=1e-5), ".patients"),
    "write_cohort(synthetic, folder)": (
        lambda m: longsynth.write_cohort(m["synthetic"], "folder"), "folder, schema, [patients]"),
    "write_cohort without a list": (
        lambda m: longsynth.write_cohort(".", m["schema"], m["synthetic"]), "[patients]"),
    "load_schema(frame)": (lambda m: longsynth.load_schema(FRAME), "path"),
    "read_cohort(frame)": (lambda m: longsynth.read_cohort(FRAME), "read_frames"),
    "load_release(bundle)": (lambda m: longsynth.load_release(m["bundle"]), "folder"),
    "audit of a frame": (
        lambda m: longsynth.audit(m["schema"], FRAME, FRAME, FRAME), "(observations, patients)"),
    "Synthesizer.fit(frame)": (
        lambda m: longsynth.Synthesizer(m["schema"], epsilon=4, delta=1e-5).fit(FRAME),
        "fit(observations, patients)",
    ),
    "CohortFolder(frame)": (lambda m: longsynth.CohortFolder(FRAME), "read_frames"),
    "run_fit(frame)": (lambda m: longsynth.run_fit(FRAME, "run", epsilon=4, delta=1e-5), "folder"),
    "verify(bundle)": (lambda m: longsynth.verify(m["bundle"]), "folder"),
    "import_cohort(frame)": (
        lambda m: longsynth.import_cohort("events", FRAME, "schema.yaml", "out"),
        "read_frames",
    ),
    "Schema.suggest(frame)": (lambda m: longsynth.Schema.suggest(FRAME), "columns"),
    "Synthesizer(frame)": (lambda m: longsynth.Synthesizer(FRAME, epsilon=4, delta=1e-5), "Schema"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_remedy_says_what_to_call(name: str, made: dict[str, Any]) -> None:
    call, remedy = MISTAKES[name]
    with refused("argument-wrong") as caught:
        call(made)
    assert remedy in caught.value.remedy
    assert SECRET not in str(caught.value)


def test_whole_numbers_of_numpy_are_numbers(made: dict[str, Any]) -> None:
    import numpy as np

    plan = longsynth.plan(made["schema"], np.int64(60), epsilon=4, delta=1e-5, method="dp-score")
    assert repr(plan) == repr(made["plan"])


def test_a_baseline_has_to_be_asked_for() -> None:
    schema = longsynth.simulated_schema()
    with refused("not-private") as caught:
        longsynth.Synthesizer(schema, method="bootstrap")
    assert "fit_without_privacy" in caught.value.remedy
    with refused("budget-missing"):
        longsynth.Synthesizer(schema)
