"""Static variables, levels, lengths and the slot rule: what a schema accepts of them."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from longsynth.schema.file import dump, parse_text
from longsynth.schema.record import Layout
from longsynth.schema.schema import Schema, SlotRule
from ward import ward_schema

PULSE = {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"}
AGE = PULSE | {"name": "age", "static": True}
STAGE = {"name": "stage", "kind": "ordinal", "levels": ["I", "II", "III"]}
BLOOD = {"name": "blood", "kind": "nominal", "levels": ["A", "B", "AB", "O"]}


def schema(*variables: dict[str, Any], **changes: object) -> Schema:
    base = {"longsynth": 1, "name": "n", "slots": 4, "max_gap": 48, "variables": variables}
    return Schema.model_validate(base | changes)


BROKEN = {
    "nominal without levels": (
        [{"name": "x", "kind": "nominal"}],
        {},
        ("kind",),
        "needs its levels",
    ),
    "one level": ([BLOOD | {"levels": ["A"]}], {}, ("levels",), "at least 2 items"),
    "a level twice": ([BLOOD | {"levels": ["A", "A"]}], {}, ("levels",), "must differ"),
    "levels of a number": ([PULSE | {"levels": ["low", "high"]}], {}, ("levels",), "no levels"),
    "three levels of a yes or no": (
        [STAGE | {"kind": "binary"}],
        {},
        ("levels",),
        "the reference first",
    ),
    "levels and bounds": ([STAGE | {"bounds": [0, 5]}], {}, ("bounds",), "leave the bounds out"),
    "an empty level": ([BLOOD | {"levels": ["A", ""]}], {}, ("levels", 1), "at least 1 character"),
    "the mean of levels": ([STAGE | {"aggregate": "mean"}], {}, ("aggregate",), "no level"),
    "the median of names": (
        [BLOOD | {"aggregate": "median"}],
        {},
        ("aggregate",),
        "only be merged by 'last'",
    ),
    "merging what is static": (
        [PULSE, AGE | {"aggregate": "min"}],
        {},
        ("aggregate",),
        "nothing to merge",
    ),
    "nothing over time": ([AGE], {}, (), "measured over time"),
    "an anchor that is no variable": (
        [PULSE],
        {"slot_rule": {"anchors": ["pulse", "HR"]}},
        ("slot_rule", "anchors", 1),
        "'HR' is no variable over time",
    ),
    "a static anchor": (
        [PULSE, AGE],
        {"slot_rule": {"anchors": ["age"]}},
        ("slot_rule", "anchors", 0),
        "no variable over time",
    ),
    "a negative window": (
        [PULSE],
        {"slot_rule": {"merge": -1}},
        ("slot_rule", "merge"),
        "greater than or equal to 0",
    ),
    "no horizon at all": (
        [PULSE],
        {"slot_rule": {"horizon": 0}},
        ("slot_rule", "horizon"),
        "greater than 0",
    ),
    "an unknown aggregate": (
        [PULSE],
        {"slot_rule": {"aggregate": "sum"}},
        ("slot_rule", "aggregate"),
        "'median'",
    ),
    "an unknown length": ([PULSE], {"length": "fixed"}, ("length",), "'full'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_rule_is_refused_at_its_place(case: str) -> None:
    variables, changes, place, said = BROKEN[case]
    with pytest.raises(ValidationError) as refused:
        schema(*variables, **changes)
    error = max(refused.value.errors(), key=lambda e: len(e["loc"]))
    cause = error.get("ctx", {}).get("error")
    found = error["loc"] + getattr(cause, "place", ())
    assert found[-len(place) :] == place if place else True
    assert said in str(cause or error["msg"])


def test_the_bounds_of_levels_are_their_positions_and_need_no_source() -> None:
    stage, blood = schema(STAGE, BLOOD).variables
    assert stage.bounds == (0, 2)
    assert blood.bounds == (0, 3)
    assert (stage.channels, blood.channels) == (1, 4)


def test_lengths_vary_and_any_row_opens_a_slot_unless_said_otherwise() -> None:
    usual = schema(PULSE)
    assert usual.length == "variable"
    assert usual.slot_rule == SlotRule(anchors=(), merge=0, horizon=None, aggregate="median")


def test_every_new_key_comes_back_from_its_file_and_defaults_are_not_written() -> None:
    given = ward_schema(
        length="full",
        slot_rule={"anchors": ["pulse"], "merge": 4, "horizon": 48, "aggregate": "max"},
    )
    assert parse_text(dump(given), "s.yaml") == given
    plain = dump(schema(PULSE))
    assert "slot_rule" not in plain
    assert "static" not in plain
    assert "length" not in plain
    assert "bounds" not in dump(schema(PULSE, BLOOD)).partition("blood")[2]


def test_the_canonical_schema_keeps_levels_and_lengths_and_has_no_rule_left_to_apply() -> None:
    given = ward_schema(slot_rule={"anchors": ["pulse"], "merge": 4, "aggregate": "max"})
    canonical = given.canonical()
    assert canonical.slot_rule == SlotRule()
    assert canonical.length == given.length
    assert canonical.variables == given.variables
    assert canonical.layout == given.layout


def test_a_copy_with_other_variables_has_a_layout_of_its_own() -> None:
    first = schema(PULSE)
    assert first.width == 4
    assert first.model_copy(update={"slots": 9}).width == 9


# The layout: a record as one row.

WARD = ward_schema()  # six slots; 1 + 1 + 4 static channels, 1 + 1 + 1 + 3 over time


def test_what_is_static_stands_in_a_row_once_and_a_nominal_value_takes_a_channel_a_level() -> None:
    assert WARD.layout.cells == 3 + 6 * 4
    assert WARD.width == WARD.layout.width == 6 + 6 * 6
    assert (WARD.layout.value_slot == -1).sum() == 6
    assert (WARD.layout.cell_slot == -1).sum() == 3
    for slot in range(6):
        assert (WARD.layout.value_slot == slot).sum() == 6
        assert (WARD.layout.cell_slot == slot).sum() == 4


def test_a_row_goes_back_to_where_it_came_from() -> None:
    layout, rng = WARD.layout, np.random.default_rng(0)
    values, cells = rng.normal(size=(3, 6, 12)), rng.normal(size=(3, 6, 7))
    rows = layout.value_rows(values)
    spread = layout.values_of(rows)
    assert np.array_equal(layout.value_rows(spread), rows)
    assert (spread[:, 1:, :6] == 0).all()
    assert np.array_equal(spread[:, :, 6:], values[:, :, 6:])
    back = layout.cells_of(layout.cell_rows(cells), elsewhere=9.0)
    assert np.array_equal(back[:, 0], cells[:, 0])
    assert (back[:, 1:, :3] == 9).all()


def test_without_anything_static_or_nominal_a_row_is_slots_times_variables() -> None:
    layout = Layout(4, (1, 1), (False, False))
    values = np.arange(24.0).reshape(3, 4, 2)
    assert np.array_equal(layout.value_rows(values), values.reshape(3, 8))
    assert layout.value_slot.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
