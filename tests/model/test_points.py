"""Point masses: single values that many readings have exactly."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from pydantic import ValidationError

import longsynth
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import METHODS
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Model, Synthetic
from longsynth.sampling.points import GRAINS, point_rows
from longsynth.schema.file import dump, parse_text
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats
from support import NoNoise

PATIENTS, SLOTS = 800, 5
NUMBER = {"kind": "continuous", "bounds_from": "a device"}


def ventilated(**points: list[float]) -> Schema:
    variables: list[dict[str, object]] = [
        {"name": "peep", "bounds": [0, 30], "centre": 7, "scale": 3, "resolution": 1},
        {"name": "urine", "bounds": [0, 500], "centre": 60, "scale": 40},
        {"name": "alcohol", "bounds": [0, 100], "centre": 10, "scale": 10, "static": True},
    ]
    listed = [NUMBER | v | {"point_masses": points.get(str(v["name"]), [])} for v in variables]
    facts = {"longsynth": 1, "name": "unit", "slots": SLOTS, "max_gap": 24, "length": "full"}
    return Schema.model_validate(facts | {"variables": listed})


POINTS = {"peep": [5.0], "urine": [0.0, 100.0], "alcohol": [0.0]}
SHARES = {"peep": [0.05, 0.7], "urine": [0.0, 0.3, 0.35, 0.2], "alcohol": [0.0, 0.6]}  # of parts


@cache
def patients() -> Cohort:
    """The parts of each variable have these shares; a sicker patient has more of everything."""
    rng = np.random.default_rng(1)
    sick = rng.normal(size=(PATIENTS, 1, 1))
    z = 0.8 * sick + 0.6 * rng.normal(size=(PATIENTS, SLOTS, 3))
    z[:, :, 2] = z[:, :1, 2]
    rank = z.reshape(-1, 3).argsort(axis=0).argsort(axis=0).reshape(z.shape) / z[..., 0].size
    values = np.empty_like(z)
    values[..., 0] = np.select(
        [rank[..., 0] < 0.05, rank[..., 0] < 0.75], [3, 5], np.rint(6 + 30 * (rank[..., 0] - 0.75))
    )
    u = rank[..., 1]
    values[..., 1] = np.select(
        [u < 0.3, u < 0.65, u < 0.85], [0, 1 + 98 * (u - 0.3) / 0.35, 100], 101 + 300 * (u - 0.85)
    )
    values[..., 2] = np.where(rank[..., 2] < 0.6, 0, 1 + 50 * (rank[..., 2] - 0.6))
    observed = rng.random(values.shape) < 0.9
    observed[:, 1:, 2] = False
    event, nobody = (sick[:, 0, 0] > 1).astype(np.int64), np.zeros(PATIENTS, np.int64)
    gaps = rng.exponential(4, (PATIENTS, SLOTS))
    length = np.full(PATIENTS, SLOTS)
    return Cohort(np.where(observed, values, np.nan), observed, gaps, length, nobody, event, nobody)


@cache
def fitted(name: str, pointed: bool, epsilon: float = 8) -> Model:
    schema, cohort = ventilated(**POINTS if pointed else {}), patients()
    if isinstance(METHODS[name], PrivateMethod):
        plan = longsynth.plan(schema, PATIENTS, epsilon=epsilon, delta=1e-5, method=name)
        bundle = longsynth.fit(cohort, plan, noise=NoNoise())
    else:
        bundle = longsynth.fit_without_privacy(cohort, schema, name)
    return longsynth.model_of(bundle)


def generated(name: str, pointed: bool, epsilon: float = 8) -> Synthetic:
    return longsynth.sample(fitted(name, pointed, epsilon), 2000, seed=1)


def shares(made: Synthetic, v: int, points: list[float]) -> Floats:
    """Below the first point, at it, and so on."""
    known = made.observed[:, :, v]
    weight = np.broadcast_to(made.weight[:, None], known.shape)[known]
    numbers, found, below = made.values[:, :, v][known], [], -np.inf
    for point in points:
        found += [(numbers > below) & (numbers < point), numbers == point]
        below = point
    return np.array([np.average(part, weights=weight) for part in found])


@pytest.mark.parametrize("name", METHODS)
def test_the_share_of_every_point_is_that_of_the_patients(name: str) -> None:
    made = generated(name, pointed=True)
    for v, (variable, points) in enumerate(POINTS.items()):
        assert shares(made, v, points) == pytest.approx(SHARES[variable], abs=0.06), variable


@pytest.mark.parametrize("name", ["trust", "dp-score", "copula-score"])
def test_without_a_list_no_method_finds_the_points_by_itself(name: str) -> None:
    made = generated(name, pointed=False)
    worst = [
        np.abs(shares(made, v, points) - SHARES[variable]).max()
        for v, (variable, points) in enumerate(POINTS.items())
    ]
    assert max(worst) > 0.2


@pytest.mark.parametrize("name", ["trust", "copula-score"])
def test_the_largest_readings_stay_as_they_were_generated(name: str) -> None:
    model = fitted(name, pointed=True)
    made, free = (longsynth.sample(one, 2000, seed=1) for one in (model, replace(model, points=())))
    for v in range(2):
        x, y = (one.values[:, :, v][made.observed[:, :, v]] for one in (made, free))
        top = y > np.quantile(y, 0.9)
        assert np.abs(x - y)[top].mean() < 0.1 * y[top].std()


def test_readings_next_to_each_other_stay_alike() -> None:
    """A patient who is at the point in one slot is more often there in the next."""
    made = generated("copula-score", pointed=True)
    at, known = made.values[:, :, 0] == 5, made.observed[:, :, 0]
    both = known[:, 1:] & known[:, :-1]
    after = at[:, 1:][both & at[:, :-1]].mean(), at[:, 1:][both & ~at[:, :-1]].mean()
    assert after[0] > after[1] + 0.1


def test_noise_without_information_leaves_the_readings_alone() -> None:
    made = generated("dp-score", pointed=True, epsilon=0.01)
    assert shares(made, 0, [5.0])[1] < 0.5 and np.isfinite(made.values).all()


def test_a_patients_row_holds_the_parts_of_its_own_readings() -> None:
    schema = ventilated(**POINTS).resolved(10)
    cohort = patients().take(np.arange(2))
    cohort.values[:] = 5.4  # within half a step of a PEEP of 5; between the points of urine
    cohort.observed[:] = [[[True]], [[False]]]
    rows = point_rows(cohort, cohort.observed & schema.layout.exists, schema).reshape(2, 3, 6)
    assert rows[1].tolist() == [[GRAINS, 0, 0, 0, 0, 0]] * 3
    assert rows[0].argmax(axis=1).tolist() == [2, 3, 3] and (rows.sum(axis=2) == GRAINS).all()


@pytest.mark.parametrize(
    ("points", "problem"),
    [([5, 5], "smallest"), ([31], "outside"), ([5.5], "resolution"), ([8, 3], "smallest")],
)
def test_points_that_cannot_be_are_refused(points: list[float], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ventilated(peep=points)
    assert problem in str(caught.value)


def test_the_file_of_a_schema_keeps_its_points() -> None:
    schema = ventilated(**POINTS)
    assert parse_text(dump(schema), "here") == schema
    assert schema.canonical().variables[1].point_masses == (0, 100)
