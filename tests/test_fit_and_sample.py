"""Fit and sample together: what repeats, what must not, and what the model learns."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from longsynth import Refused, Synthetic, fit, model_of, plan, sample, simulate, simulated_schema
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.sample import CHUNK, sample_chunks
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code
from support import NoNoise, random_cohort, small_plan, small_schema, write_checked


def arrays(drawn: Synthetic) -> list[np.ndarray]:
    return [getattr(drawn, f.name) for f in fields(drawn) if f.name != "fingerprint"]


def same(a: Synthetic, b: Synthetic) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(arrays(a), arrays(b), strict=True))


def test_two_fits_of_one_cohort_differ_in_every_statistic() -> None:
    cohort, planned = random_cohort(50, 1), small_plan(50)
    first, second = fit(cohort, planned), fit(cohort, planned)
    for name in first.released:
        assert not np.array_equal(first.released[name].values, second.released[name].values)
    assert first.fingerprint != second.fingerprint


def test_the_same_seed_draws_the_same_patients_and_another_does_not() -> None:
    model = model_of(fit(random_cohort(50, 1), small_plan(50)))
    first = sample(model, 100, seed=7)
    assert same(first, sample(model, 100, seed=7))
    assert not same(first, sample(model, 100, seed=8))


def test_chunks_are_the_sample() -> None:
    model = model_of(fit(random_cohort(50, 1), small_plan(50)))
    whole = sample(model, CHUNK + 10, seed=1)
    chunks = list(sample_chunks(model, CHUNK + 10, seed=1))
    assert [c.patients for c in chunks] == [CHUNK, 10]
    assert np.array_equal(whole.values[CHUNK:], chunks[1].values)
    assert np.array_equal(whole.values[:CHUNK], sample(model, CHUNK, seed=1).values)


def test_shuffled_files_release_the_same_integers_before_noise(tmp_path: Path) -> None:
    schema = simulated_schema()
    plain = tmp_path / "plain"
    plain.mkdir()
    write_checked(plain, schema, simulate(300, seed=4).batches(100))
    shuffled = tmp_path / "shuffled"
    shuffled.mkdir()
    (shuffled / "schema.yaml").write_bytes((plain / "schema.yaml").read_bytes())
    rng = np.random.default_rng(0)
    for name in ("observations.parquet", "patients.parquet"):
        table = pq.read_table(plain / name)
        pq.write_table(table.take(rng.permutation(len(table))), shuffled / name)
    released = []
    for folder in (plain, shuffled):
        with CohortFolder(folder) as source:
            planned = plan(source.schema, source.patients, epsilon=1, delta=1e-5)
            released.append(fit(source, planned, noise=NoNoise()).released)
    for name in released[0]:
        assert np.array_equal(released[0][name].values, released[1][name].values)


@pytest.mark.parametrize(
    ("release", "condition_gram"),
    [("separate", "derived"), ("separate", "released"), ("joint", "derived")],
)
def test_without_noise_the_model_learns_the_cohorts_moments(
    release: str, condition_gram: str
) -> None:
    base = simulated_schema()
    wanted = {
        "ridge": 1e-9,
        "clip_radius": 20.0,
        "bandwidth": 13,
        "eigen_floor": 1e-9,
        "shrinkage": 1.0,
        "event_floor": 0.0,
        "release": release,
        "condition_gram": condition_gram,
    }
    schema = Schema.model_validate(base.model_dump() | {"constants": wanted})
    cohort = simulate(4000, seed=101)
    model = model_of(
        fit(cohort, plan(schema, 4000, epsilon=4, delta=1e-5, method="trust"), noise=NoNoise())
    )
    mass = np.bincount((cohort.site * 2 + cohort.group) * 2 + cohort.event, minlength=12) / 4000
    assert model.strata.mass == pytest.approx(mass, abs=1e-9)
    assert model.strata.weight[mass > 0] == pytest.approx(1, abs=1e-6)
    drawn = sample(model, 20_000, seed=1)
    assert drawn.event.mean() == pytest.approx(cohort.event.mean(), abs=0.01)
    assert 1 - drawn.observed.mean() == pytest.approx(1 - cohort.observed.mean(), abs=0.01)
    logs = np.log1p(drawn.gaps).mean(), np.log1p(cohort.gaps).mean()
    assert logs[0] == pytest.approx(logs[1], abs=0.02)
    midpoint = np.where(cohort.observed, cohort.values, 125.0)[:, :, 0]  # of the pulse, as encoded
    assert drawn.values[:, :, 0].mean() == pytest.approx(midpoint.mean(), abs=0.5)
    lag = [np.corrcoef(x[:, 0], x[:, 1])[0, 1] for x in (drawn.values[:, :, 0], midpoint)]
    assert lag[0] == pytest.approx(lag[1], abs=0.05)


def test_weighted_strata_return_to_the_released_masses() -> None:
    model = model_of(fit(random_cohort(400, 2), small_plan(400, epsilon=12)))
    drawn = sample(model, 60_000, seed=3)
    stratum = (drawn.site * 2 + drawn.group) * 2 + drawn.event
    weighted = np.bincount(stratum, drawn.weight, minlength=12) / drawn.patients
    assert weighted == pytest.approx(model.strata.mass, abs=0.01)
    assert drawn.weight.mean() == pytest.approx(1, abs=0.02)


def test_synthetic_patients_respect_the_public_schema() -> None:
    schema = small_schema()
    drawn = sample(model_of(fit(random_cohort(50, 1), small_plan(50))), 2000, seed=1)
    for v, variable in enumerate(schema.variables):
        low, high = variable.bounds
        assert (drawn.values[:, :, v] >= low).all()
        assert (drawn.values[:, :, v] <= high).all()
        if variable.kind != "continuous":
            assert (drawn.values[:, :, v] % 1 == 0).all()
    twice = np.minimum(drawn.length, 2)[:, None]
    assert (drawn.observed.sum(axis=1) >= twice).all()
    assert not drawn.observed[np.arange(schema.slots) >= drawn.length[:, None]].any()
    assert (drawn.gaps >= 0).all()
    assert (drawn.gaps <= schema.max_gap * (1 + 1e-12)).all()
    assert set(drawn.length.tolist()) <= set(range(schema.slots + 1))


def test_where_the_schema_says_so_every_synthetic_patient_uses_all_slots() -> None:
    schema = small_schema(length="full")
    bundle = fit(random_cohort(50, 1), small_plan(50, schema))
    assert "lengths" not in bundle.released
    drawn = sample(model_of(bundle), 500, seed=1)
    assert (drawn.length == schema.slots).all()
    assert (drawn.observed.sum(axis=1) >= 2).all()


def test_conditions_are_met_and_weights_match() -> None:
    model = model_of(fit(random_cohort(400, 2), small_plan(400, epsilon=12)))
    drawn = sample(model, 5000, seed=3, where={"event": "1", "site": "B"})
    assert (drawn.event == 1).all()
    assert (drawn.site == 1).all()
    allowed = (model.schema.strata[:, 0] == 1) & (model.schema.strata[:, 2] == 1)
    mass = model.strata.mass * allowed / (model.strata.mass * allowed).sum()
    stratum = (drawn.site * 2 + drawn.group) * 2 + drawn.event
    weighted = np.bincount(stratum, drawn.weight, minlength=12) / 5000
    assert weighted == pytest.approx(mass, abs=0.03)


@pytest.mark.parametrize(
    ("where", "remedy"),
    [({"event": "2"}, "0, 1"), ({"ward": "3"}, "site, group, event")],
)
def test_an_unknown_condition_names_what_there_is(where: dict[str, str], remedy: str) -> None:
    model = model_of(fit(random_cohort(50, 1), small_plan(50)))
    with pytest.raises(Refused, match=remedy) as caught:
        sample(model, 10, seed=1, where=where)
    assert caught.value.code == Code.CONDITION_UNKNOWN


@pytest.mark.parametrize(("patients", "seed"), [(0, 1), (-5, 1), (5, -1)])
def test_a_sample_needs_patients_and_a_seed(patients: int, seed: int) -> None:
    model = model_of(fit(random_cohort(50, 1), small_plan(50)))
    with pytest.raises(Refused):
        sample(model, patients, seed=seed)


@pytest.mark.parametrize("sites", [None, ["only"], ["a", "b"], list("abcdefg")])
def test_any_number_of_sites_can_be_fitted_and_drawn(sites: list[str] | None) -> None:
    content = small_schema().model_dump() | {
        "site": None if sites is None else {"column": "site", "levels": sites}
    }
    schema = Schema.model_validate(content)
    cohort = random_cohort(60, 1)
    cohort.site[:] = np.arange(60) % len(schema.sites)
    drawn = sample(model_of(fit(cohort, small_plan(60, schema, epsilon=50))), 3000, seed=1)
    assert set(drawn.site.tolist()) == set(range(len(schema.sites)))
