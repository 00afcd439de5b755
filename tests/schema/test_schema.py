"""The rules a schema keeps, and what follows from it, asked without a file."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from longsynth.schema.constants import Constants, ResolvedConstants
from longsynth.schema.schema import Schema, stratum_of
from longsynth.schema.variable import RESERVED

PULSE = {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"}
Content = dict[str, Any]


def content(**changes: object) -> Content:
    sites = {"column": "site", "levels": ["A", "B", "C"]}
    least = {"longsynth": 1, "name": "n", "slots": 4, "max_gap": 48, "variables": [dict(PULSE)]}
    return least | {"site": sites} | changes


def schema(**changes: object) -> Schema:
    return Schema.model_validate(content(**changes))


def with_variable(**changes: object) -> Content:
    return content(variables=[PULSE | changes])


def the_problem(given: Content) -> tuple[tuple[str | int, ...], str]:
    """Where the problem lies, and what is said about it. (A list with a bad item is also short.)"""
    with pytest.raises(ValidationError) as refused:
        Schema.model_validate(given)
    error = max(refused.value.errors(), key=lambda e: len(e["loc"]))
    cause = error.get("ctx", {}).get("error")
    return error["loc"] + getattr(cause, "place", ()), str(cause or error["msg"])


BROKEN = {
    "unknown format": (content(longsynth=2), ("longsynth",), "should be 1"),
    "empty name": (content(name=""), ("name",), "at least 1 character"),
    "no slot": (content(slots=0), ("slots",), "greater than or equal to 1"),
    "too many slots": (content(slots=2001), ("slots",), "less than or equal to 2000"),
    "half a slot": (content(slots=1.5), ("slots",), "integer"),
    "no gap": (content(max_gap=0), ("max_gap",), "greater than 0"),
    "endless gap": (content(max_gap=float("inf")), ("max_gap",), "finite"),
    "no variable": (content(variables=[]), ("variables",), "at least 1 item"),
    "unknown time unit": (content(time={"unit": "weeks"}), ("time", "unit"), "'timestamp'"),
    "unknown key": (content(slot=3), ("slot",), "not permitted"),
    "no level": (
        content(site={"column": "s", "levels": []}),
        ("site", "levels"),
        "at least 1 item",
    ),
    "empty level": (
        content(site={"column": "s", "levels": [""]}),
        ("site", "levels", 0),
        "at least 1 character",
    ),
    "truth value as a level": (
        content(site={"column": "s", "levels": [True, "B"]}),
        ("site", "levels", 0),
        "quote it",
    ),
    "level twice": (
        content(site={"column": "s", "levels": ["A", "A"]}),
        ("site", "levels"),
        "levels must differ",
    ),
    "level twice, as numbers": (
        content(site={"column": "s", "levels": [1, 1.0]}),
        ("site", "levels"),
        "levels must differ",
    ),
    "one group": (
        content(group={"column": "g", "levels": ["a"]}),
        ("group", "levels"),
        "at least two levels, the reference first",
    ),
    "one event": (
        content(event={"column": "e", "levels": ["a"]}),
        ("event", "levels"),
        "at least two levels, the reference first",
    ),
    "protected level that is none": (
        content(protected=[{"group": 1}, {"site": "D"}]),
        ("protected", 1, "site"),
        "'D' is none of A, B, C",
    ),
    "bounds missing": (
        content(variables=[{"name": "pulse", "kind": "continuous"}]),
        ("variables", 0),
        "give bounds",
    ),
    "bounds without a source": (with_variable(bounds_from=" "), ("variables", 0), "bounds_from"),
    "bounds that fall": (
        with_variable(bounds=[220, 20]),
        ("variables", 0, "bounds"),
        "220 is not below 20",
    ),
    "bounds that coincide": (
        with_variable(bounds=[5, 5]),
        ("variables", 0, "bounds"),
        "5 is not below 5",
    ),
    "bounds beyond arithmetic": (
        with_variable(bounds=[-1.7e308, 1.7e308]),
        ("variables", 0, "bounds"),
        "narrow them",
    ),
    "bounds not finite": (
        with_variable(bounds=[0, float("nan")]),
        ("variables", 0, "bounds", 1),
        "finite",
    ),
    "binary with other bounds": (
        with_variable(kind="binary", bounds=[0, 2]),
        ("variables", 0, "bounds"),
        "leave them out",
    ),
    "ordinal between levels": (
        with_variable(kind="ordinal", bounds=[0, 4.5]),
        ("variables", 0, "bounds"),
        "first and last level",
    ),
    "logarithm of zero": (
        with_variable(bounds=[0, 5], transform="log"),
        ("variables", 0, "transform"),
        "bounds above zero",
    ),
    "logarithm of a scale": (
        with_variable(bounds=[1, 5], kind="ordinal", transform="log"),
        ("variables", 0, "transform"),
        "needs a continuous variable",
    ),
    "centre outside": (
        with_variable(centre=19),
        ("variables", 0, "centre"),
        "must lie inside the bounds",
    ),
    "scale of zero": (with_variable(scale=0), ("variables", 0, "scale"), "greater than 0"),
    "name with a space": (with_variable(name="heart rate"), ("variables", 0, "name"), "pattern"),
    "name twice": (
        content(variables=[PULSE, PULSE]),
        ("variables", 1, "name"),
        "two variables have this name",
    ),
    "name twice but for capitals": (
        content(variables=[PULSE, PULSE | {"name": "Pulse"}]),
        ("variables", 1, "name"),
        "capitals aside",
    ),
    "missingness upside down": (
        content(constants={"missing_min": 0.9, "missing_max": 0.9}),
        ("constants", "missing_min"),
        "below missing_max",
    ),
    "radius without end": (
        content(constants={"clip_radius": 1e5}),
        ("constants", "clip_radius"),
        "always suffices",
    ),
    "joint release of a released Gram": (
        content(constants={"release": "joint", "condition_gram": "released"}),
        ("constants", "condition_gram"),
        "needs condition_gram: derived",
    ),
    "joint release with the paper's sensitivity": (
        content(constants={"release": "joint", "gram_sensitivity": "triangle"}),
        ("constants", "gram_sensitivity"),
        "needs gram_sensitivity: tight",
    ),
    "reference encoding without a reference": (
        content(constants={"encoding": "reference"}),
        ("variables", 0),
        "needs its centre and scale",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_rule_is_refused_at_its_place_with_a_remedy(case: str) -> None:
    given, place, said = BROKEN[case]
    found, message = the_problem(given)
    assert found == place
    assert said in message


@pytest.mark.parametrize("name", [*sorted(RESERVED), "Time", "WEIGHT"])
def test_a_variable_cannot_be_named_as_a_column_of_the_format(name: str) -> None:
    place, message = the_problem(with_variable(name=name))
    assert place == ("variables", 0, "name")
    assert "use another" in message


def test_a_variable_may_be_stored_under_a_name_of_the_format() -> None:
    assert schema(variables=[PULSE | {"column": "time"}]).variables[0].column == "time"


def test_what_needs_no_statement_has_a_default() -> None:
    least = schema(site=None)
    assert least.patient.column == "patient_id"
    assert (least.time.column, least.time.unit) == ("time", "hours")
    assert least.group.levels == least.event.levels == ("0", "1")
    assert least.constants == Constants()


def test_a_binary_variable_needs_neither_bounds_nor_their_source() -> None:
    (variable,) = schema(variables=[{"name": "oxygen", "kind": "binary"}]).variables
    assert variable.bounds == (0.0, 1.0)


def test_levels_are_text_and_a_whole_number_is_written_as_one() -> None:
    labels = {"column": "s", "levels": [0, 1.0, 2.5, "x"]}
    assert schema(site=labels).sites == ("0", "1", "2.5", "x")


def test_a_schema_cannot_be_changed_once_it_is_checked() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        schema().slots = 9  # type: ignore[misc]


def test_a_cohort_without_sites_has_one() -> None:
    single = schema(site=None)
    assert single.sites == ("all",)
    assert single.strata.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]


@pytest.mark.parametrize("sites", [1, 2, 3, 40])
def test_each_stratum_is_a_site_a_group_and_an_event_in_the_order_of_its_number(sites: int) -> None:
    several = schema(site={"column": "s", "levels": [f"s{i}" for i in range(sites)]})
    assert several.strata.shape == (4 * sites, 3)
    assert stratum_of(several.strata.T, several).tolist() == list(range(4 * sites))


def test_the_width_is_slots_times_variables() -> None:
    assert schema(variables=[PULSE, PULSE | {"name": "other"}]).width == 8


def protected(*rules: dict[str, object]) -> list[list[int]]:
    """Site, group and event of each protected stratum."""
    found = schema(protected=list(rules))
    return found.strata[found.protected_strata].tolist()


def test_group_and_event_together_are_protected_unless_said_otherwise() -> None:
    default = schema()
    assert default.strata[default.protected_strata].tolist() == [[c, 1, 1] for c in range(3)]
    assert not np.any(schema(protected=[]).protected_strata)


def test_a_protected_rule_covers_every_stratum_with_all_of_its_levels() -> None:
    assert protected({"event": 1, "site": "B"}) == [[1, 0, 1], [1, 1, 1]]
    assert protected({"site": "C"}) == [[2, 0, 0], [2, 0, 1], [2, 1, 0], [2, 1, 1]]


def test_one_protected_rule_suffices() -> None:
    both = protected({"group": 1, "event": 1, "site": "A"}, {"group": 0, "event": 1, "site": "A"})
    assert both == [[0, 0, 1], [0, 1, 1]]


def test_a_single_site_can_be_named_in_a_protected_rule() -> None:
    single = schema(site=None, protected=[{"site": "all", "event": 1}])
    assert single.protected_strata.tolist() == [False, True, False, True]


def test_settling_spells_out_every_constant() -> None:
    resolved = schema(slots=4).resolved(500)
    assert isinstance(resolved.constants, ResolvedConstants)
    assert resolved.resolved_constants.clip_radius == pytest.approx(
        4 / 3
    )  # ⅔·√(4 slots · 1 variable)
    assert resolved.resolved_constants.eigen_cap == pytest.approx(16 / 9)
    assert resolved.resolved_constants.grid_bits == 12
    assert None not in resolved.resolved_constants.model_dump().values()


def test_the_grid_is_finer_above_ten_million_patients() -> None:
    assert schema().resolved(10_000_000).resolved_constants.grid_bits == 12
    assert schema().resolved(10_000_001).resolved_constants.grid_bits == 13


def test_settling_keeps_what_the_schema_states() -> None:
    given = {"clip_radius": 2.0, "grid_bits": 8, "eigen_cap": 0.5, "steps": 7}
    resolved = schema(constants=given).resolved(500).resolved_constants
    assert given.items() <= resolved.model_dump().items()


def test_settling_twice_is_settling_once() -> None:
    once = schema().resolved(500)
    assert once.resolved(500) == once


def test_only_a_resolved_schema_has_fixed_constants() -> None:
    with pytest.raises(TypeError, match="resolved"):
        _ = schema().resolved_constants


def test_the_canonical_schema_has_longsynths_own_columns_units_and_labels() -> None:
    mapped = schema(
        patient={"column": "pid"},
        time={"column": "at", "unit": "timestamp"},
        group={"column": "sex", "levels": ["m", "f"], "meaning": "sex"},
        event={"column": "died", "levels": ["n", "y"], "meaning": "death"},
        site={"column": "ward", "levels": ["west", "east"], "meaning": "ward"},
        protected=[{"group": "f", "site": "east"}, {"event": "y"}],
        variables=[PULSE | {"column": "HR"}],
    )
    assert mapped.canonical() == schema(
        group={"column": "group", "levels": ["0", "1"], "meaning": "sex; 0 is m, 1 is f"},
        event={"column": "event", "levels": ["0", "1"], "meaning": "death; 0 is n, 1 is y"},
        site={"column": "site", "levels": ["west", "east"], "meaning": "ward"},
        protected=[{"group": "1", "site": "east"}, {"event": "1"}],
    )


@pytest.mark.parametrize("rules", [None, [], [{"group": 1}]])
@pytest.mark.parametrize("sites", [None, {"column": "s", "levels": ["x", "y"]}])
def test_the_canonical_schema_describes_the_same_strata_and_is_its_own_canonical(
    rules: object, sites: object
) -> None:
    given = schema(site=sites, protected=rules)
    canonical = given.canonical()
    assert canonical.sites == given.sites
    assert canonical.protected_strata.tolist() == given.protected_strata.tolist()
    assert canonical.canonical() == canonical
