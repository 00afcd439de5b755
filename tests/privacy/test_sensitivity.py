"""The sensitivity search: exact integers, nasty neighbours, and witnesses that it is not blind."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longsynth.conditions import condition_matrix
from longsynth.methods.method import PrivateMethod
from longsynth.methods.private.dp_markov import DPMarkov
from longsynth.methods.private.dp_score import DPScore
from longsynth.methods.private.trust import Trust
from longsynth.privacy.sums import Contribution
from longsynth.schema import Schema
from privacy.neighbouring_records import (
    Pair,
    added,
    integers,
    pairs,
    records,
    squared_distance,
    strangers,
    witnesses,
)
from support import random_cohort, replaced, small_schema
from ward import ward_cohort, ward_schema

SETTINGS = {
    "separate": small_schema(),
    "paper": small_schema(condition_gram="released"),
    "joint": small_schema(release="joint"),
    "reference": small_schema(encoding="reference"),
    "tiny radius": small_schema(clip_radius=0.001),
    "full": small_schema(length="full"),
    "ward": ward_schema(),
    "joint ward": ward_schema(constants={"release": "joint"}),
}
SETTLED = {name: schema.settled(100) for name, schema in SETTINGS.items()}
METHODS: list[tuple[PrivateMethod, str]] = [(Trust(), setting) for setting in SETTLED]
METHODS += [
    (method, setting) for method in (DPScore(), DPMarkov()) for setting in ("separate", "ward")
]
CASES = [
    pytest.param(method, SETTLED[setting], id=f"{method.name}, {setting}")
    for method, setting in METHODS
]


def require_within(method: PrivateMethod, schema: Schema, pair: Pair) -> None:
    before, after = (added(record, schema, method) for record in pair)
    for name, (statistic, one) in before.items():
        assert squared_distance(one, after[name][1]) <= statistic.row_sensitivity_squared, name


@pytest.mark.parametrize(("method", "schema"), CASES)
def test_no_neighbour_that_we_thought_of_moves_a_statistic_past_its_sensitivity(
    method: PrivateMethod, schema: Schema
) -> None:
    for pair in pairs(schema):
        require_within(method, schema, pair)


@pytest.mark.parametrize(("method", "schema"), CASES)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_replacement_moves_a_statistic_past_its_sensitivity(
    method: PrivateMethod, schema: Schema, data: st.DataObject
) -> None:
    require_within(method, schema, (data.draw(records(schema)), data.draw(records(schema))))


@pytest.mark.parametrize(("method", "schema"), CASES)
def test_replacing_a_patient_moves_a_sum_by_that_patients_rows_alone(
    method: PrivateMethod, schema: Schema
) -> None:
    static = any(schema.layout.static)
    cohort = ward_cohort(50, seed=3) if static else random_cohort(50, seed=3)
    before = added(cohort, schema, method)
    for i, other in zip((0, 17, 49, 8, 31), strangers(schema), strict=True):
        after = added(replaced(cohort, i, other), schema, method)
        left, came = (
            added(cohort.take(slice(i, i + 1)), schema, method),
            added(other, schema, method),
        )
        for name, (_, whole) in before.items():
            moved = np.subtract(after[name][1], whole)
            assert np.array_equal(moved, np.subtract(came[name][1], left[name][1])), name


def number(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "kind": "continuous", "bounds": [-1, 1], "bounds_from": "-", **more}


NUMBERS = [number(f"v{i}") for i in range(4)]
LEVELS = {"kind": "nominal", "levels": ["a", "b", "c"]}
MIXED = [
    number("age", static=True),
    {"name": "blood", "static": True, **LEVELS},
    *NUMBERS[:3],
    {"name": "rhythm", **LEVELS},
]


def wide(variables: list[dict[str, object]], **changes: object) -> Schema:
    base = {
        "longsynth": 1,
        "name": "wide",
        "slots": 4,
        "max_gap": 48,
        "site": {"column": "site", "levels": ["A", "B"]},
        "variables": variables,
    }
    return Schema.model_validate(base | changes).settled(100)


FAR = {"clip_radius": 4.0}  # so that it does not keep squares from their own bound
TIGHT = [
    pytest.param(Trust(), wide(NUMBERS), id="trust"),
    pytest.param(Trust(), wide(NUMBERS, length="full"), id="trust, all slots"),
    pytest.param(Trust(), wide(NUMBERS, constants={"release": "joint"}), id="trust, joint"),
    pytest.param(Trust(), wide(MIXED), id="trust, static and nominal"),
    pytest.param(
        Trust(), wide(MIXED, constants={"release": "joint"}), id="trust, joint, static and nominal"
    ),
    pytest.param(DPScore(), wide(NUMBERS, constants=FAR), id="dp-score"),
    pytest.param(DPMarkov(), wide(NUMBERS), id="dp-markov"),
    pytest.param(DPMarkov(), wide(MIXED), id="dp-markov, static and nominal"),
]


@pytest.mark.parametrize(("method", "schema"), TIGHT)
def test_the_claimed_sensitivity_is_nearly_attained_by_every_statistic(
    method: PrivateMethod, schema: Schema
) -> None:
    for statistic, _ in method.stages(schema)[0]:
        x, y = (
            added(one, schema, method)[statistic.name][1]
            for one in witnesses(schema)[statistic.name]
        )
        attained = squared_distance(x, y) / statistic.row_sensitivity_squared
        assert Fraction(95, 100) ** 2 <= attained <= 1, statistic.name


def test_a_nominal_channel_can_only_rise_so_squares_of_it_stay_within_their_claim() -> None:
    """dp-score centres z² at ½ for every channel; of a nominal value one channel is 1 at most."""
    schema = wide(MIXED)
    (x, y), name = witnesses(schema)["squares"], "squares"
    statistic, one = added(x, schema, DPScore())[name]
    other = added(y, schema, DPScore())[name][1]
    assert 0 < squared_distance(one, other) <= statistic.row_sensitivity_squared


def test_the_released_condition_moment_is_bounded_over_all_pairs_of_strata() -> None:
    """c takes finitely many values, so this is a proof by enumeration; the bound is not tight."""
    schema = SETTLED["paper"]
    statistic = next(s for s, _ in Trust().stages(schema)[0] if s.name == "conditions")
    rows = condition_matrix(schema)
    sums = [integers(statistic, Contribution(rows[s : s + 1])) for s in range(len(rows))]
    worst = max(squared_distance(a, b) for a, b in combinations(sums, 2))
    assert 0 < worst <= statistic.row_sensitivity_squared


@pytest.mark.parametrize("sites", [1, 2, 3, 7])
def test_a_condition_vector_never_exceeds_its_declared_norm(sites: int) -> None:
    levels = {"column": "site", "levels": [f"s{i}" for i in range(sites)]}
    schema = Schema.model_validate(small_schema().model_dump() | {"site": levels})
    matrix = condition_matrix(schema)
    assert matrix.shape == (4 * sites, {1: 4}.get(sites, 5 + sites - 1))
    assert (matrix**2).sum(axis=1).max() == (4 if sites == 1 else 6)
