"""The search for the worst pair: neighbours indeed, from any schema, and what they reach."""

from typing import Any

import numpy as np
import pytest

from longsynth.audit.game.candidates import bystanders, changed, in_stratum, ordinary, structured
from longsynth.audit.game.neighbours import (
    WorstPairs,
    noise_requests,
    squared_length,
    surroundings_of,
    worst_pairs,
)
from longsynth.plan import plan
from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulated_schema
from longsynth.schema.schema import Schema
from redteam.game_support import two_stage_plan
from support import small_plan, small_schema


def found(schema: Schema, method: str = "trust", tries: int = 0) -> WorstPairs:
    planned = plan(schema, 100, epsilon=4, delta=1e-5, method=method)
    return worst_pairs(planned, np.random.default_rng(1), tries=tries)


BASE = small_schema(length="full").model_dump()
PULSE, DOSE, OXYGEN = BASE["variables"]
NOMINAL = {"name": "ward", "kind": "nominal", "levels": ["a", "b", "c"]}
CHANGES: dict[str, dict[str, Any]] = {
    "one site": {"site": None},
    "seventy sites": {"site": {"column": "site", "levels": [f"s{i}" for i in range(70)]}},
    "one variable": {"variables": [PULSE]},
    "one cell": {"variables": [OXYGEN], "slots": 1},
    "logarithm": {"variables": [PULSE | {"transform": "log"}]},
    "variable lengths": {"length": "variable"},
    "nominal": {"variables": [PULSE, NOMINAL]},
    "static": {"variables": [PULSE, DOSE | {"static": True}, NOMINAL | {"static": True}]},
}
ODD = {name: Schema.model_validate(BASE | change) for name, change in CHANGES.items()} | {
    "reference": small_schema(length="full", encoding="reference"),
    "all allowed": small_schema(length="full", clip_radius=100.0),
    "hardly anything allowed": small_schema(length="full", clip_radius=0.001),
}


STILL = {("hardly anything allowed", "squares"), ("one cell", "transitions")}  # never move


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("method", ["trust", "dp-score", "dp-markov"])
def test_any_schema_and_method_has_a_pair_for_every_line_within_its_sensitivity(
    name: str, method: str
) -> None:
    worst = found(ODD[name], method)
    for line, entry in enumerate(worst.plan.ledger.entries):
        reached = squared_length(worst.lines[line].difference(line))
        assert reached <= entry.statistic.sensitivity_squared, entry.statistic.name
        assert (reached > 0) == ((name, entry.statistic.name) not in STILL)


def test_a_pair_is_two_cohorts_that_differ_in_one_patient() -> None:
    worst = found(small_schema(), tries=30)
    for pair in (*worst.lines, worst.bundle):
        assert pair.one.patients == pair.other.patients == worst.plan.ledger.patients
        for name in Cohort.__slots__:
            one, other = getattr(pair.one, name)[1:], getattr(pair.other, name)[1:]
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def test_the_lines_and_the_noise_are_those_of_the_claim() -> None:
    """Three patients play for a hundred; nothing but their number is another."""
    claim = small_plan(100)
    worst = worst_pairs(claim, np.random.default_rng(1), tries=0)
    assert worst.plan.ledger.patients == 3
    assert worst.plan.ledger.entries == claim.ledger.entries
    assert (worst.plan.stages, worst.plan.schema) == (claim.stages, claim.schema)
    for given, entry in zip(worst.bundle.requests_one, claim.ledger.entries, strict=True):
        assert given.sigma == entry.sigma


def test_planning_for_so_few_patients_would_give_the_same_lines_and_noise() -> None:
    claim = small_plan(100)
    few = small_plan(3, claim.schema)
    assert few.ledger.entries == claim.ledger.entries


def test_what_a_pair_gives_is_what_the_real_fit_gives_again() -> None:
    worst = found(small_schema(release="joint", length="full"))
    for cohort, given in ((worst.bundle.one, worst.bundle.requests_one),):
        again = noise_requests(cohort, worst.plan)
        assert all(np.array_equal(a.sums, b.sums) for a, b in zip(again, given, strict=True))


@pytest.mark.parametrize("release", ["separate", "joint"])
@pytest.mark.parametrize("bandwidth", [3, 13])
def test_every_line_of_the_papers_schema_has_a_tight_pair_unless_its_band_is_narrow(
    release: str, bandwidth: int
) -> None:
    schema = simulated_schema()
    changes = {"release": release, "bandwidth": bandwidth}
    constants = schema.constants.model_copy(update=changes)
    worst = found(schema.model_copy(update={"constants": constants}))
    lines = range(len(worst.lines))
    for line in lines:
        part = worst.lines[line].attained(worst.plan, [line])
        if bandwidth == 3 and worst.plan.ledger.entries[line].statistic.band:
            assert 0.85 <= part < 0.95
        else:
            assert part >= 0.99
    reached = worst.bundle.attained(worst.plan, lines)
    assert (reached >= 0.95) == (release == "joint" and bandwidth == 13)
    assert reached >= 0.8


def test_climbing_helps_where_the_structured_pairs_are_not_best() -> None:
    schema = small_schema(release="joint", length="full")
    starts, climbed = found(schema), found(schema, tries=200)
    lines = range(len(starts.lines))
    assert climbed.bundle.attained(climbed.plan, lines) > starts.bundle.attained(starts.plan, lines)


def test_a_later_stage_is_compared_after_the_same_earlier_releases() -> None:
    """The second stage turns with the first: two patients who differ in stratum alone would seem
    to differ in it, were what the first released not held fixed."""
    claim = two_stage_plan()
    around = surroundings_of(claim, bystanders(claim.schema), ordinary(claim.schema))
    one = next(iter(structured(claim.schema)))
    first, second = (around.requests(in_stratum(one, claim.schema, s)) for s in (0, 5))
    assert not np.array_equal(first[0].sums, second[0].sums)
    assert np.array_equal(first[1].sums, second[1].sums)
    free = [
        noise_requests(around.cohort(in_stratum(one, claim.schema, s)), around.plan)[1].sums
        for s in (0, 5)
    ]
    assert not np.array_equal(*free)


def test_a_method_in_two_stages_has_tight_pairs_for_both() -> None:
    worst = worst_pairs(two_stage_plan(), np.random.default_rng(1), tries=0)
    for line in (0, 1):
        assert 0.99 <= worst.lines[line].attained(worst.plan, [line]) <= 1


def test_a_change_touches_one_field_of_one_patient_and_leaves_the_parent_alone() -> None:
    schema = small_schema().resolved(100)
    parent, rng = ordinary(schema), np.random.default_rng(2)
    before = {name: getattr(parent, name).copy() for name in Cohort.__slots__}
    seen = set()
    for _ in range(200):
        child = changed(parent, schema, rng)
        assert child.patients == 1
        seen |= {
            name
            for name in Cohort.__slots__
            if not np.array_equal(getattr(child, name), before[name], equal_nan=True)
        }
    assert seen == set(Cohort.__slots__) - {"codes"}  # the schema lists none
    for name, array in before.items():
        assert np.array_equal(getattr(parent, name), array, equal_nan=True)


def test_structured_records_reach_beyond_every_bound() -> None:
    records = list(structured(small_schema().resolved(100)))
    values = np.concatenate([record.values.ravel() for record in records])
    gaps = np.concatenate([record.gaps.ravel() for record in records])
    for numbers in (values, gaps):
        assert np.isinf(numbers).any() and np.isnan(numbers).any()
        assert np.nanmin(numbers[np.isfinite(numbers)]) < -1e300
    assert {int(record.length[0]) for record in records} >= {0, 1, 4}
    assert min(int(record.site[0]) for record in records) < 0
