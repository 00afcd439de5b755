"""Cohorts with next to nothing in them: a fit still ends, and what it makes is in order."""

from dataclasses import replace

import numpy as np
import pytest

from copula.fitted import bundle_of
from longsynth import model_of, sample
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Synthetic
from longsynth.schema.schema import Schema
from support import NoNoise, random_cohort, small_schema
from ward import ward_cohort, ward_schema


def made(cohort: Cohort, schema: Schema, **more: object) -> Synthetic:
    drawn = sample(model_of(bundle_of(cohort, schema, **more)), 200, seed=1)  # type: ignore[arg-type]
    used = np.arange(schema.slots) < drawn.length[:, None]
    moving = ~np.array(schema.layout.static)
    assert not drawn.observed[:, :, moving][~used].any()
    assert np.isfinite(drawn.values[drawn.observed]).all()
    assert np.isfinite(drawn.gaps).all()
    assert (drawn.gaps >= 0).all()
    assert (drawn.weight >= 0).all()
    assert np.isfinite(drawn.weight).all()
    for v, variable in enumerate(schema.variables):
        seen = drawn.values[:, :, v][drawn.observed[:, :, v]]
        assert ((seen >= variable.bounds[0]) & (seen <= variable.bounds[1])).all()
        if variable.kind != "continuous":
            assert np.array_equal(seen, np.rint(seen))
    return drawn


@pytest.mark.parametrize("patients", [1, 2, 3, 5])
def test_a_handful_of_patients(patients: int) -> None:
    made(ward_cohort(patients, seed=patients), ward_schema())


@pytest.mark.parametrize("patients", [1, 4])
def test_a_handful_of_patients_without_noise(patients: int) -> None:
    made(random_cohort(patients, seed=patients), small_schema(), noise=NoNoise())


@pytest.mark.parametrize("event", [0, 1])
def test_an_event_that_all_or_none_have(event: int) -> None:
    cohort = random_cohort(300, seed=1)
    cohort.event[:] = event
    drawn = made(cohort, small_schema(), epsilon=50)
    share = (drawn.event * drawn.weight).sum() / drawn.weight.sum()
    assert share == pytest.approx(event, abs=0.1)


def test_records_that_are_empty() -> None:
    cohort = random_cohort(300, seed=1)
    cohort.length[:] = 0
    drawn = made(cohort, small_schema(), epsilon=50)
    assert (drawn.length * drawn.weight).sum() / drawn.weight.sum() < 0.5


def test_a_variable_that_is_never_observed() -> None:
    cohort = ward_cohort(300, seed=1)
    cohort.observed[:, :, 3] = False
    drawn = made(cohort, ward_schema(constants={"least_observations": 0}), epsilon=50)
    used = (np.arange(6) < drawn.length[:, None]).sum()
    assert drawn.observed[:, :, 3].sum() < 0.1 * used
    assert drawn.observed[:, :, 4].sum() > 0.6 * used


def test_one_slot() -> None:
    ward = ward_cohort(300, seed=1)
    short = replace(
        ward,
        values=ward.values[:, :1],
        observed=ward.observed[:, :1],
        gaps=ward.gaps[:, :1],
        length=np.minimum(ward.length, 1),
    )
    drawn = made(short, ward_schema(slots=1), epsilon=50)
    assert drawn.values.shape == (200, 1, 7)


def test_one_variable_at_one_site() -> None:
    base = small_schema().model_dump()
    schema = Schema.model_validate(base | {"variables": base["variables"][:1], "site": None})
    cohort = random_cohort(300, seed=2)
    alone = replace(
        cohort,
        values=cohort.values[:, :, :1],
        observed=cohort.observed[:, :, :1],
        site=np.zeros(300, np.int64),
    )
    assert made(alone, schema).values.shape == (200, 4, 1)


def test_a_value_that_never_changes() -> None:
    cohort = random_cohort(400, seed=3)
    cohort.values[:, :, 0] = 100.0
    drawn = made(cohort, small_schema(), epsilon=50)
    seen = drawn.values[:, :, 0][drawn.observed[:, :, 0]]
    assert np.quantile(np.abs(seen - 100), 0.8) < 10
