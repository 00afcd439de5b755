"""Several outcomes and groups in one schema: how they are written, and what they become."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import longsynth
from longsynth.reading.records import Cohort
from longsynth.sampling.strata import masses_from_tables
from longsynth.schema.file import dump, parse_text
from longsynth.schema.schema import Schema, condition_matrix, counted_tables
from support import NoNoise

PULSE = {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"}
DEATH = {"name": "death", "kind": "binary", "levels": ["alive", "dead"], "column": "died"}
STAY = {"name": "stay", "kind": "count", "unit": "days", "bounds": [0, 90], "bounds_from": "a rule"}
SURVIVAL = {
    "name": "survival",
    "kind": "time_to_event",
    "unit": "days",
    "horizon": 3650,
    "column": "futime",
    "status": {"column": "status", "levels": ["censored", "dead", "transplanted"]},
}
SEX = {"name": "sex", "levels": ["M", "F"]}
BANDS = {"name": "band", "levels": ["under 60", "60 to 79", "80 and over"]}


def schema(**given: Any) -> Schema:
    base = {"longsynth": 1, "name": "n", "slots": 4, "max_gap": 48, "variables": [PULSE]}
    return Schema.model_validate(base | given)


def test_the_first_outcome_with_levels_becomes_the_event_and_the_others_static_variables() -> None:
    several = schema(outcomes=[DEATH, STAY, SURVIVAL])
    assert several.event is not None
    assert (several.event.column, several.event.levels) == ("died", ("alive", "dead"))
    kinds = {o.name: (o.kind, o.primary) for o in several.outcomes}
    assert kinds == {
        "death": ("binary", True),
        "stay": ("continuous", False),
        "survival": ("time_to_event", False),
    }
    assert [v.name for v in several.variables] == ["pulse", "stay", "survival_status", "survival"]
    assert all(v.static for v in several.variables[1:])


def test_a_time_to_event_may_be_primary_and_its_end_is_then_the_event() -> None:
    timed = schema(outcomes=[SURVIVAL])
    assert timed.levels("event") == ("censored", "dead", "transplanted")
    (outcome,) = timed.outcomes
    assert (outcome.kind, outcome.primary, outcome.status) == ("time_to_event", True, None)
    assert timed.variables[outcome.variable or 0].bounds == (0, 3650)


def test_a_primary_outcome_without_levels_and_no_outcome_at_all_leave_no_event() -> None:
    assert schema(outcomes=[STAY, DEATH]).event is None
    assert schema(outcomes=[STAY, DEATH]).outcomes[0].name == "stay"
    nothing = schema(outcomes=[], groups=[])
    assert (nothing.event, nothing.group, nothing.outcomes, nothing.groups) == (None, None, (), ())
    assert len(nothing.strata) == 1


def test_the_first_group_takes_part_in_the_strata_with_all_its_levels() -> None:
    grouped = schema(groups=[BANDS, SEX])
    assert grouped.label_sizes == (1, 3, 2)
    assert [g.name for g in grouped.groups] == ["band", "sex"]
    assert grouped.variables[-1].kind == "binary"


def test_event_and_group_are_still_a_short_way_to_write_one_of_each() -> None:
    short = schema(event={"column": "died", "levels": ["alive", "dead"]})
    assert [(o.name, o.primary) for o in short.outcomes] == [("event", True)]


@pytest.mark.parametrize("given", [{"outcomes": [DEATH, STAY, SURVIVAL]}, {"groups": [BANDS, SEX]}])
def test_outcomes_and_groups_come_back_from_their_file(given: dict[str, Any]) -> None:
    several = schema(**given, protected=[{"event": "1"}] if "groups" in given else None)
    assert parse_text(dump(several), "schema.yaml") == several
    canonical = several.canonical()
    assert parse_text(dump(canonical), "schema.yaml") == canonical
    assert [o.name for o in canonical.outcomes] == [o.name for o in several.outcomes]


WRONG = {
    "both ways": ({"outcomes": [DEATH], "event": {"column": "e", "levels": [0, 1]}}, "outcomes"),
    "no bounds": ({"outcomes": [{"name": "stay", "kind": "continuous"}]}, "bounds"),
    "no horizon": ({"outcomes": [SURVIVAL | {"horizon": None}]}, "horizon"),
    "no unit of time": ({"outcomes": [SURVIVAL | {"unit": "beats"}]}, "one of seconds"),
    "a status without a time": ({"outcomes": [DEATH | {"status": SURVIVAL["status"]}]}, "status"),
    "no levels": ({"outcomes": [{"name": "place", "kind": "categorical"}]}, "levels"),
    "one level": ({"groups": [{"name": "g", "levels": ["a"]}]}, "at least 2"),
    "a protected level that is none": (
        {"groups": [BANDS], "protected": [{"band": "young"}]},
        "none of under 60",
    ),
    "a protected name that is none": ({"protected": [{"ward": "A"}]}, "none of"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_named(case: str) -> None:
    given, said = WRONG[case]
    with pytest.raises(ValidationError, match=said):
        schema(**given)


def test_protected_combinations_name_groups_as_people_do() -> None:
    given = schema(groups=[BANDS], outcomes=[DEATH], protected=[{"band": "80 and over"}])
    assert given.strata[given.protected_strata].tolist() == [[0, 2, 0], [0, 2, 1]]
    assert given.canonical().protected == ({"band": "2"},)


def many() -> Schema:
    """Four sites, three groups and two events."""
    return schema(site={"column": "site", "levels": list("ABCD")}, groups=[BANDS])


def test_the_papers_conditions_are_those_of_the_papers_schema() -> None:
    paper = schema(site={"column": "site", "levels": list("ABC")})
    site, group, event = paper.strata.T
    columns = [group * 0 + 1, group, event, site == 1, site == 2, group * event]
    expected = np.stack([*columns, event * (site == 2)], axis=1)
    assert (condition_matrix(paper) == expected).all()
    assert (counted_tables(paper) == np.eye(12)).all()


def test_with_more_levels_patients_are_counted_in_pairs_of_labels() -> None:
    counted = counted_tables(many())
    assert counted.shape == (24, 3 * 12)
    assert (counted.reshape(24, 3, 12).sum(axis=2) == 1).all()  # one cell of each table
    assert condition_matrix(many()).shape == (24, 1 + 2 + 1 + 3 + 2 + 1)


def test_masses_come_back_from_pairs_and_noise_leaves_labels_independent() -> None:
    rng, counted = np.random.default_rng(1), counted_tables(many())
    pairwise = rng.normal(0, 0.5, 36)
    truth = np.exp(counted @ pairwise)  # no more than pairs of labels depend on each other
    truth /= truth.sum()
    assert np.allclose(masses_from_tables(truth @ counted, 1e-9, many()), truth, atol=1e-4)
    blurred = masses_from_tables(truth @ counted, 1.0, many()).reshape(4, 3, 2)
    alone = [blurred.sum(axis=tuple({0, 1, 2} - {axis})) for axis in range(3)]
    assert np.allclose(blurred, np.einsum("i,j,k->ijk", *alone), atol=1e-6)


def patients(several: Schema, number: int) -> Cohort:
    """Patients whose static variables are all known, and whose labels depend on each other."""
    rng = np.random.default_rng(2)
    shape = number, several.slots, len(several.variables)
    values = np.stack([rng.uniform(*v.bounds, shape[:2]) for v in several.variables], axis=2)
    observed = np.ones(shape, bool)
    observed[:, 1:] = ~np.array(several.layout.static)
    site, group, event = (rng.integers(size, size=number) for size in several.label_sizes)
    event = np.where(group == several.label_sizes[1] - 1, several.label_sizes[2] - 1, event)
    gaps = rng.uniform(1, 10, shape[:2])
    length = np.full(number, several.slots)
    return Cohort(np.rint(values), observed, gaps, length, group, event, site)


PRIVATE = ("copula-score", "trust", "dp-score", "dp-markov")
METHODS = (*PRIVATE, "bootstrap", "independent", "scorediff")
SCHEMAS = {
    "many levels": {"groups": [BANDS, SEX], "outcomes": [SURVIVAL, DEATH, STAY]},
    "nothing": {"groups": [], "outcomes": []},
    "a number": {"groups": [SEX], "outcomes": [STAY]},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", SCHEMAS)
def test_every_method_takes_any_number_of_levels(case: str, method: str) -> None:
    several = schema(site={"column": "site", "levels": list("ABCD")}, **SCHEMAS[case])
    cohort = patients(several, 400)
    if method in PRIVATE:
        plan = longsynth.plan(several, 400, epsilon=4, delta=1e-5, method=method)
        bundle = longsynth.fit(cohort, plan, noise=NoNoise())
    else:
        bundle = longsynth.fit_without_privacy(cohort, several, method)
    synthetic = longsynth.sample(longsynth.model_of(bundle), 2000, seed=1)
    for what, size in zip(("site", "group", "event"), several.label_sizes, strict=True):
        levels = getattr(synthetic, what)
        assert levels.min() >= 0
        assert levels.max() < size
    last = synthetic.group == several.label_sizes[1] - 1  # who all have the last event
    ended = synthetic.event[last] == several.label_sizes[2] - 1
    others = np.average(synthetic.event == synthetic.event.max(), weights=synthetic.weight)
    assert np.average(ended, weights=synthetic.weight[last]) > min(others + 0.15, 0.9)


def test_a_condition_is_given_by_the_name_that_people_use() -> None:
    several = schema(outcomes=[DEATH], groups=[BANDS])
    plan = longsynth.plan(several, 400, epsilon=4, delta=1e-5)
    model = longsynth.model_of(longsynth.fit(patients(several, 400), plan, noise=NoNoise()))
    old = longsynth.sample(model, 50, seed=1, where={"band": "80 and over"})
    assert (old.group == 2).all()
