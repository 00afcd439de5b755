"""The slot rule, claim by claim, and against a plain reading of it in Python."""

import re
from math import isfinite, isinf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from slot_rows import Rows, pack, row_counts

Row = tuple[float, list[float]]  # time, and a value of each variable

NAN = np.nan
PULSE = {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "-"}
SODIUM = {"name": "sodium", "kind": "continuous", "bounds": [90, 190], "bounds_from": "-"}
COMA = {"name": "coma", "kind": "ordinal", "bounds": [3, 15], "bounds_from": "-"}
OXYGEN = {"name": "oxygen", "kind": "binary"}
RHYTHM = {"name": "rhythm", "kind": "nominal", "levels": ["sinus", "paced", "other"]}
AGE = {"name": "age", "kind": "continuous", "static": True, "bounds": [0, 99], "bounds_from": "-"}


def schema_of(
    *variables: dict[str, Any], slots: int = 4, unit: str = "hours", **rule: object
) -> Schema:
    about = {"longsynth": 1, "name": "-", "slots": slots, "max_gap": 48, "time": {"unit": unit}}
    return Schema.model_validate(about | {"variables": variables, "slot_rule": rule})


def rows_of(schema: Schema, *patients: list[Row], static: float = NAN) -> Rows:
    """Patients, each a list of rows in any order; static columns hold `static` in every row."""
    found = []
    for p, rows in enumerate(patients):
        for time, values in sorted(rows or [(NAN, [])], key=lambda row: row[0]):
            over_time = iter(values or [NAN] * len(schema.variables))
            found.append(
                (p, time, [static if v.static else next(over_time) for v in schema.variables])
            )
    number, time, values = zip(*found, strict=True)
    labels = np.zeros((len(found), 3), np.int64)
    return Rows(np.array(number), np.array(time), np.array(values), labels)


def packed(schema: Schema, *patients: list[Row], static: float = NAN) -> Cohort:
    return pack(rows_of(schema, *patients, static=static), schema)


def shown(cohort: Cohort, v: int = 0, patient: int = 0) -> list[float | None]:
    """One variable's slots in use; None: not observed."""
    used = slice(0, cohort.length[patient])
    cells = zip(cohort.values[patient, used, v], cohort.observed[patient, used, v], strict=True)
    return [float(x) if seen else None for x, seen in cells]


def at(*times_and_pulses: tuple[float, float]) -> list[Row]:
    return [(time, [pulse]) for time, pulse in times_and_pulses]


def test_a_slot_opens_where_an_anchor_was_measured_and_takes_what_follows() -> None:
    schema = schema_of(PULSE, SODIUM, anchors=["pulse"])
    rows = [(1.0, [80, NAN]), (2.0, [NAN, 140]), (3.0, [90, NAN]), (9.0, [NAN, 130])]
    cohort = packed(schema, rows)
    assert shown(cohort, 0) == [80, 90]
    assert shown(cohort, 1) == [140, 130]
    assert cohort.gaps[0, :2].tolist() == [1, 2]


def test_any_of_several_anchors_opens_a_slot() -> None:
    schema = schema_of(PULSE, SODIUM, OXYGEN, anchors=["pulse", "sodium"])
    cohort = packed(schema, [(0, [80, NAN, NAN]), (1, [NAN, 140, NAN]), (2, [NAN, NAN, 1])])
    assert shown(cohort, 0) == [80, None]
    assert shown(cohort, 2) == [None, 1]


def test_rows_before_the_first_slot_belong_to_it() -> None:
    schema = schema_of(PULSE, SODIUM, anchors=["pulse"])
    cohort = packed(schema, [(0, [NAN, 140]), (5, [80, NAN]), (6, [90, NAN])])
    assert shown(cohort, 1) == [140, None]
    assert cohort.gaps[0, :2].tolist() == [5, 1]


def test_a_patient_whose_anchors_were_never_measured_has_no_slot_and_stays() -> None:
    schema = schema_of(AGE, PULSE, SODIUM, anchors=["pulse"])
    nobody, somebody = [(0, [NAN, 140]), (1, [np.inf, 150])], [(0, [80, 130])]
    cohort = packed(schema, nobody, [], somebody, static=40.0)
    assert cohort.length.tolist() == [0, 0, 1]
    assert cohort.observed[:, :, 1:].sum() == 2
    assert cohort.values[:, 0, 0].tolist() == [40, 40, 40]
    assert cohort.observed[:, :, 0].tolist() == [[True, False, False, False]] * 3


def test_the_next_slot_opens_a_merge_window_after_the_last_one_opened() -> None:
    """Not after the last row: a busy hour is not stretched."""
    schema = schema_of(PULSE, merge=2.0, aggregate="last")
    cohort = packed(schema, at((0, 1), (1.5, 2), (2, 3), (3, 4), (3.9, 5), (4, 6), (9, 7)))
    assert shown(cohort) == [2, 5, 6, 7]
    assert cohort.gaps[0].tolist() == [0, 2, 2, 5]


def test_the_window_of_one_patient_is_not_moved_by_another() -> None:
    schema = schema_of(PULSE, merge=2.0)
    alone = packed(schema, at((1, 5), (2, 6), (3, 7)))
    between = packed(schema, at((0, 1), (2.5, 2)), at((1, 5), (2, 6), (3, 7)), at((0.5, 9)))
    assert shown(between, patient=1) == shown(alone) == [5, 7]


@pytest.mark.parametrize("unit", [1 / 60, 1 / 3600])
def test_times_an_hour_apart_are_an_hour_apart_in_any_unit(unit: float) -> None:
    """Minutes and seconds are no round numbers of hours in binary."""
    schema = schema_of(PULSE, slots=2, merge=1.0)
    hour = round(1 / unit)
    for start in range(0, 48 * hour, max(hour // 7, 1)):
        rows = at((start * unit, 1), ((start + hour) * unit, 2))
        assert shown(packed(schema, rows)) == [1, 2]
        rows = at((start * unit, 1), ((start + hour - 1) * unit, 2))
        assert shown(packed(schema, rows)) == [1]


def test_rows_past_the_horizon_are_not_used_and_those_on_it_are() -> None:
    schema = schema_of(PULSE, SODIUM, horizon=48.0)
    cohort = packed(schema, [(0, [80, NAN]), (2880 / 60, [90, 140]), (48.01, [99, 150])])
    assert shown(cohort, 0) == [80, 90]
    late_only = packed(schema, [(50, [80, 140])])
    assert late_only.length.tolist() == [0]


def test_a_late_row_does_not_slip_into_the_last_slot() -> None:
    schema = schema_of(PULSE, SODIUM, anchors=["pulse"], horizon=10.0)
    cohort = packed(schema, [(0, [80, NAN]), (11, [NAN, 140])])
    assert shown(cohort, 1) == [None]


def test_with_time_stamps_horizon_and_first_gap_count_from_the_patients_first_row() -> None:
    schema = schema_of(PULSE, SODIUM, unit="timestamp", anchors=["pulse"], horizon=10.0)
    hour = 486_000.0
    rows = [(hour, [NAN, 140]), (hour + 3, [80, NAN]), (hour + 10, [90, NAN]), (hour + 11, [99, 1])]
    cohort = packed(schema, rows, [(7.0, [70, NAN])])
    assert shown(cohort, 0) == [80, 90]
    assert cohort.gaps[0, :2].tolist() == [3, 7]
    assert cohort.gaps[1, 0] == 0


def test_what_comes_after_the_last_kept_slot_opened_a_new_one_and_is_cut() -> None:
    schema = schema_of(PULSE, slots=2, merge=1.0, aggregate="max")
    cohort = packed(schema, at((0, 1), (0.5, 2), (1, 3), (1.5, 4), (2, 99), (7, 98)))
    assert shown(cohort) == [2, 4]
    assert cohort.length.tolist() == [2]


@pytest.mark.parametrize(
    ("aggregate", "expected"), [("mean", 4.75), ("median", 3), ("last", 5), ("min", 2), ("max", 9)]
)
def test_each_aggregate_of_a_slot(aggregate: str, expected: float) -> None:
    schema = schema_of(PULSE, merge=4.0, aggregate=aggregate)
    rows = at((1, 3), (2, 9), (1.5, 2), (3, 5), (2.5, np.inf), (3.5, NAN))
    assert shown(packed(schema, rows)) == [expected]
    assert shown(packed(schema, rows[::-1])) == [expected]


def test_a_variable_may_have_an_aggregate_of_its_own() -> None:
    schema = schema_of(PULSE, SODIUM | {"aggregate": "min"}, merge=4.0, aggregate="max")
    cohort = packed(schema, [(0, [80, 140]), (1, [90, 130])])
    assert shown(cohort, 0) == [90]
    assert shown(cohort, 1) == [130]


def test_levels_are_never_averaged() -> None:
    schema = schema_of(COMA, OXYGEN, RHYTHM, merge=4.0, aggregate="mean")
    cohort = packed(schema, [(0, [3, 0, 2]), (1, [15, 1, 0]), (2, [NAN, 1, NAN])])
    assert [shown(cohort, v) for v in range(3)] == [[3], [1], [0]]


def test_of_several_last_levels_the_one_listed_last_is_taken_in_any_order() -> None:
    schema = schema_of(RHYTHM, merge=4.0)
    for order in ([0, 2, 1], [2, 1, 0], [1, 0, 2]):
        assert shown(packed(schema, [(1.0, [level]) for level in order])) == [2]


def test_rows_of_one_time_fall_into_one_slot_though_only_one_of_them_has_the_anchor() -> None:
    schema = schema_of(PULSE, SODIUM, anchors=["pulse"])
    for tied in ([[80, NAN], [NAN, 140]], [[NAN, 140], [80, NAN]]):
        rows = [(0.0, [70, 130]), *((5.0, values) for values in tied)]
        assert shown(packed(schema, rows), 1) == [130, 140]


def test_the_picture_in_the_documentation_shows_what_happens() -> None:
    page = Path(__file__).parents[2] / "docs"
    (rule,) = re.findall(r"slot_rule: (\{.*\})", (page / "schema.md").read_text("utf-8"))
    temperature = PULSE | {"name": "temperature"}
    schema = schema_of(PULSE, temperature, SODIUM, **yaml.safe_load(rule))
    pulse = {1.0: 82, 1.7: 86, 2.5: 90, 6.0: 95, 7.2: 99, 8.6: 92, 11.5: 88}
    warmth, salt = {2.8: 37.1, 7.4: 38.0, 11.9: 37.6}, {0.4: 141, 3.8: 138}
    rows = [
        (t, [lane.get(t, NAN) for lane in (pulse, warmth, salt)]) for t in {*pulse, *warmth, *salt}
    ]
    cohort = packed(schema, rows)
    gaps = [f"{gap:g} h" for gap in np.round(cohort.gaps[0, :3], 6)]
    drawn = (page / "slots.svg").read_text("utf-8")
    slots = re.findall(r">slot \d</text>(.*?)<rect", drawn, re.DOTALL)
    shown_values = [re.findall(r'class="value"[^>]*>(.*?)<', slot) for slot in slots]
    assert cohort.length.tolist() == [3] == [len(shown_values)]
    for s, (gap, *found) in enumerate(shown_values):
        assert gap == gaps[s]
        assert [None if x == "–" else float(x) for x in found] == [
            shown(cohort, v)[s] for v in range(3)
        ]
    for lane in (pulse, warmth, salt):
        assert all(f">{value}<" in drawn for value in lane.values())


# The rule once more, a patient and a row at a time.


def in_slots(rows: list[Row], schema: Schema) -> tuple[float, list[float], list[list[Row]]]:
    """Time zero, when slots open, and the rows in each."""
    rule, names = schema.slot_rule, [v.name for v in schema.variables]
    zero = min((t for t, _ in rows), default=0.0) if schema.time.unit == "timestamp" else 0.0
    rows = [(t, x) for t, x in rows if rule.horizon is None or t - zero <= rule.horizon]
    anchors = [names.index(a) for a in rule.anchors]
    openings: list[float] = []
    for time, values in sorted(rows, key=lambda row: row[0]):
        opens = not anchors or any(isfinite(values[a]) for a in anchors)
        if opens and (not openings or (time > openings[-1] and time >= openings[-1] + rule.merge)):
            openings.append(time)
    inside: list[list[Row]] = [[] for _ in openings]
    for time, values in rows if openings else []:
        inside[max(sum(o <= time for o in openings) - 1, 0)].append((time, values))
    return zero, openings, inside


def plain(rows: list[Row], schema: Schema) -> tuple[list[float], list[list[float | None]]]:
    """Gaps, and the values of each slot."""
    zero, openings, inside = in_slots(rows, schema)
    usual = schema.slot_rule.aggregate
    gaps = [b - a for a, b in zip([zero, *openings], openings, strict=False)]
    merged = [
        [
            one([(t, x[v]) for t, x in found if isfinite(x[v])], variable, usual)
            for v, variable in enumerate(schema.variables)
        ]
        for found in inside
    ]
    return gaps[: schema.slots], merged[: schema.slots]


def one(found: list[tuple[float, float]], variable: Variable, usual: str) -> float | None:
    rule = variable.aggregate or usual
    if variable.kind == "nominal":
        rule = "last"
    elif rule == "mean" and variable.kind != "continuous":
        rule = "median"
    values = sorted(x for _, x in found)
    if not values:
        return None
    match rule:
        case "mean":
            mean = sum(values) / len(values)
            return None if isinf(mean) else mean
        case "median":
            return values[(len(values) - 1) // 2]
        case "last":
            return max(found)[1]
    return values[0] if rule == "min" else values[-1]


ALL = (PULSE, COMA, OXYGEN, RHYTHM)
AGGREGATES = ("mean", "median", "last", "min", "max")
cells = st.sampled_from([NAN, NAN, np.inf, -np.inf, 0.0, 1.0, 2.0, 2.0, 7.0])
quarters = st.integers(-8, 48).map(lambda q: q / 4)  # of hours: exact in binary
a_row = st.tuples(quarters, st.lists(cells, min_size=len(ALL), max_size=len(ALL)))


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    own = draw(st.sampled_from([None, *AGGREGATES]))
    return schema_of(
        PULSE | {"aggregate": own},
        *ALL[1:],
        slots=draw(st.integers(1, 5)),
        unit=draw(st.sampled_from(["hours", "timestamp"])),
        anchors=draw(st.lists(st.sampled_from([v["name"] for v in ALL]), unique=True)),
        merge=draw(st.sampled_from([0.0, 0.25, 1.0, 2.5, 6.0, 100.0])),
        horizon=draw(st.sampled_from([None, 0.5, 4.0, 10.0])),
        aggregate=draw(st.sampled_from(AGGREGATES)),
    )


@settings(max_examples=400, deadline=None)
@given(schemas(), st.lists(st.lists(a_row, max_size=14), min_size=1, max_size=4), st.randoms())
def test_the_rule_is_the_one_that_is_written_down(
    schema: Schema, patients: list[list[Row]], chance: Any
) -> None:
    shuffled = [chance.sample(rows, len(rows)) for rows in patients]
    cohort = packed(schema, *shuffled)
    for p, rows in enumerate(patients):
        gaps, merged = plain(rows, schema)
        assert cohort.length[p] == len(gaps)
        assert cohort.gaps[p].tolist() == gaps + [0.0] * (schema.slots - len(gaps))
        for v in range(len(ALL)):
            assert shown(cohort, v, p) == [values[v] for values in merged]
        assert not cohort.observed[p, len(gaps) :].any()


@settings(max_examples=400, deadline=None)
@given(schemas(), st.lists(st.lists(a_row, max_size=14), min_size=1, max_size=4))
def test_each_row_is_counted_once_by_what_becomes_of_it(
    schema: Schema, patients: list[list[Row]]
) -> None:
    kept = [in_slots(rows, schema)[2][: schema.slots] for rows in patients]
    later = [in_slots(rows, schema)[2][schema.slots :] for rows in patients]
    found = row_counts(rows_of(schema, *patients), schema)
    assert sum(found.values()) == sum(map(len, patients))
    assert found["slots_in_use"] == sum(map(len, kept))
    assert found["slots_in_use"] + found["rows_merged_into_the_slot_of_another"] == sum(
        len(slot) for slots in kept for slot in slots
    )
    assert found["rows_past_the_last_slot"] == sum(len(slot) for slots in later for slot in slots)
    unanchored = schema.model_copy(
        update={"slot_rule": schema.slot_rule.model_copy(update={"anchors": ()})}
    )
    in_time = sum(len(slot) for rows in patients for slot in in_slots(rows, unanchored)[2])
    assert found["rows_past_the_horizon"] == sum(map(len, patients)) - in_time


def test_rows_of_a_patient_without_an_anchor_are_counted_as_such() -> None:
    schema = schema_of(PULSE, SODIUM, anchors=["pulse"], merge=2, horizon=10, slots=2)
    never = [(1.0, [NAN, 140.0]), (2.0, [NAN, 141.0])]
    often = [(0.0, [80.0, NAN]), (1.0, [81.0, NAN]), (2.0, [82.0, NAN]), (4.0, [83.0, NAN])]
    late = [(11.0, [84.0, NAN])]
    assert row_counts(rows_of(schema, never, [], often + late), schema) == {
        "rows_past_the_horizon": 1,
        "rows_of_patients_without_an_anchor": 2,
        "rows_past_the_last_slot": 1,
        "rows_merged_into_the_slot_of_another": 1,
        "slots_in_use": 2,
    }
