"""Every method gives its synthetic patients codes, from the released lines alone."""

import numpy as np
import pytest

from code_cohorts import code_cohort, code_schema, with_given
from longsynth import fit, model_of, plan, sample
from longsynth.encoding.record import COURSES, STARTS, counted_codes, course_of
from longsynth.fit import fit_without_privacy
from longsynth.methods.method import OpenMethod
from longsynth.methods.registry import METHODS
from longsynth.reading.records import Cohort
from longsynth.sample import sample_chunks
from longsynth.sampling.codes import slots_of
from longsynth.sampling.model import Model, Synthetic
from longsynth.schema.record import unpacked_codes
from longsynth.schema.schema import Schema
from support import NoNoise, random_cohort


def ever(patients: Cohort | Synthetic, schema: Schema) -> np.ndarray:
    return np.asarray(counted_codes(patients, schema).any(axis=1))


def model(name: str, cohort: Cohort, schema: Schema, epsilon: float = 8, **more: object) -> Model:
    if isinstance(METHODS[name], OpenMethod):
        return model_of(fit_without_privacy(cohort, schema, name))
    planned = plan(schema, cohort.patients, epsilon=epsilon, delta=1e-5, method=name)
    return model_of(fit(cohort, planned, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", METHODS)
def test_no_synthetic_patient_has_more_codes_than_the_cap_or_codes_past_the_end(name: str) -> None:
    schema = code_schema()
    made = sample(model(name, code_cohort(60, schema, share=0.4), schema), 400, seed=1)
    given = unpacked_codes(made.codes, len(schema.code_names))
    assert given.any(), "codes are there"
    assert (given[:, :, :5].any(axis=1).sum(axis=1) <= 2).all()
    assert (given[:, :, 5:].any(axis=1).sum(axis=1) <= 3).all()
    used = np.arange(schema.slots) < made.length[:, None]
    assert not given[~used].any()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("what", ["no codes", "all codes", "no rows"])
def test_a_method_survives_any_codes(name: str, what: str) -> None:
    schema = code_schema()
    cohort = code_cohort(40, schema, share=0.0 if what == "no codes" else 1.0)
    if what == "no rows":
        cohort.length[:] = 0
    made = sample(model(name, cohort, schema, epsilon=0.5), 200, seed=1)
    assert made.codes.shape == (200, schema.slots, 2)


def classes(patients: int, schema: Schema) -> Cohort:
    """Codes 0 and 1 come together, codes 5 and 6 exclude each other, code 8 goes with the event."""
    rng, size = np.random.default_rng(5), len(schema.code_names)
    base = random_cohort(patients, seed=6)
    base.length[:] = schema.slots
    chance = np.full((patients, size), 0.02)
    kind = rng.random(patients) < 0.5
    chance[:, 0] = chance[:, 1] = np.where(kind, 0.6, 0.05)
    chance[:, 5], chance[:, 6] = np.where(kind, 0.5, 0.02), np.where(kind, 0.02, 0.5)
    chance[:, 8] = np.where(base.event == 1, 0.6, 0.1)
    given = np.zeros((patients, schema.slots, size), bool)
    given[:, 1:] = (rng.random((patients, size)) < chance)[:, None]
    return with_given(base, given)


@pytest.mark.parametrize("name", ["dp-score", "independent"])
def test_without_noise_prevalences_pairs_and_contrasts_are_kept(name: str) -> None:
    schema = code_schema()
    cohort = classes(6000, schema)
    more = {} if name == "independent" else {"noise": NoNoise()}
    made = sample(model(name, cohort, schema, **more), 20_000, seed=1)
    real, synthetic, weight = (
        ever(cohort, schema),
        ever(made, schema),
        made.weight / made.weight.sum(),
    )
    assert weight @ synthetic == pytest.approx(real.mean(axis=0), abs=0.03)
    for i, j in ((0, 1), (5, 6)):
        together = weight @ (synthetic[:, i] & synthetic[:, j])
        assert together == pytest.approx((real[:, i] & real[:, j]).mean(), abs=0.03)
    for level in (0, 1):
        mine, theirs = made.event == level, cohort.event == level
        assert synthetic[mine, 8].mean() == pytest.approx(real[theirs, 8].mean(), abs=0.05)
    given = unpacked_codes(made.codes, len(schema.code_names))
    assert given[:, 0].mean() < 0.01, "no code starts in the first slot"
    assert given[:, 1:, 8].sum(axis=1)[synthetic[:, 8]].mean() > 2.3, "codes go on until the end"


def test_any_number_of_jobs_gives_the_same_codes() -> None:
    schema = code_schema()
    made = model("dp-score", code_cohort(60, schema), schema)
    one, two = (list(sample_chunks(made, 17_000, seed=3, jobs=jobs)) for jobs in (1, 2))
    assert [a.codes.tobytes() for a in one] == [b.codes.tobytes() for b in two]
    assert one[0].codes.any()
    whole = sample(made, 17_000, seed=3)
    assert whole.codes.tobytes() == b"".join(a.codes.tobytes() for a in one)


def test_a_condition_selects_patients_with_their_codes() -> None:
    schema = code_schema()
    made = model("dp-score", classes(3000, schema), schema, noise=NoNoise())
    sick = sample(made, 4000, seed=1, where={"event": "1"})
    well = sample(made, 4000, seed=1, where={"event": "0"})
    assert ever(sick, schema)[:, 8].mean() > ever(well, schema)[:, 8].mean() + 0.2


@pytest.mark.parametrize("length", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("start", range(STARTS))
@pytest.mark.parametrize("course", range(COURSES))
def test_a_generated_course_is_read_as_the_course_that_was_asked_for(
    length: int, start: int, course: int
) -> None:
    number, rng = 200, np.random.default_rng(1)
    starts, courses = np.zeros((STARTS, number)), np.zeros((COURSES, number))
    starts[start], courses[course] = 1, 1
    lengths = np.full(number, length)
    given = slots_of(lengths, starts, courses, 9, rng)
    assert given.any(axis=1).all()
    assert not given[:, length:].any()
    found, went = course_of(given, lengths)
    if length > 2:
        assert (found == start).all()
    roomy = length - 1 - given.argmax(axis=1) >= 2  # slots after the first
    assert (went[roomy] == course).all()
