"""Rows in time become slots: merged, cut and measured by rules that a hand can check."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema
from slot_rows import Rows, pack

NAN = np.nan


def schema_of(slots: int, variables: int = 1, *, absolute: bool = False) -> Schema:
    listed = [
        {"name": f"v{v}", "kind": "continuous", "bounds": [0, 1], "bounds_from": "-"}
        for v in range(variables)
    ]
    unit = "timestamp" if absolute else "hours"
    about = {"longsynth": 1, "name": "-", "slots": slots, "max_gap": 48, "time": {"unit": unit}}
    return Schema.model_validate(about | {"variables": listed})


def rows(*found: tuple[int, float, float], sites: dict[int, int] | None = None) -> Rows:
    """Rows of patient, time and the value of one variable."""
    patient, time, value = zip(*found, strict=True)
    labels = [[(sites or {}).get(p, 0), 0, 1] for p in patient]
    return Rows(
        np.array(patient), np.array(time, float), np.array(value, float)[:, None], np.array(labels)
    )


def packed(*found: tuple[int, float, float], slots: int = 3, absolute: bool = False) -> Cohort:
    return pack(rows(*found), schema_of(slots, absolute=absolute))


def shown(cohort: Cohort) -> list[list[float | None]]:
    """Each patient's slots in use; None: not observed."""
    return [
        [x if known else None for x, known in zip(values[:n], seen[:n], strict=True)]
        for values, seen, n in zip(
            cohort.values[:, :, 0].tolist(),
            cohort.observed[:, :, 0].tolist(),
            cohort.length,
            strict=True,
        )
    ]


def test_each_patient_fills_slots_from_the_first_and_leaves_the_rest_unobserved() -> None:
    cohort = packed((1, 0, 10), (1, 4, 11), (2, 1, 20))
    assert shown(cohort) == [[10, 11], [20]]
    assert cohort.length.tolist() == [2, 1]
    assert cohort.observed.sum() == 3


def test_a_gap_is_the_time_since_the_slot_before_and_the_first_since_zero() -> None:
    cohort = packed((1, 2, 0), (1, 5, 0), (2, 7, 0), (2, 7.5, 0))
    assert cohort.gaps.tolist() == [[2, 3, 0], [7, 0.5, 0]]


def test_with_absolute_times_the_first_slot_has_no_gap() -> None:
    cohort = packed((1, 1000, 0), (1, 1005, 0), (2, 2000, 0), absolute=True)
    assert cohort.gaps.tolist() == [[0, 5, 0], [0, 0, 0]]


def test_rows_past_the_last_slot_are_cut() -> None:
    cohort = packed(*((1, t, t) for t in range(5)), (2, 0, 9))
    assert shown(cohort) == [[0, 1, 2], [9]]


def test_a_row_without_any_value_still_takes_a_slot() -> None:
    assert shown(packed((1, 0, NAN), (1, 1, 5))) == [[None, 5]]


def test_a_patient_without_rows_has_no_slot() -> None:
    cohort = packed((1, NAN, NAN), (2, 0, 5), (3, NAN, NAN))
    assert shown(cohort) == [[], [5], []]
    assert cohort.gaps.tolist() == [[0, 0, 0]] * 3


@pytest.mark.parametrize(
    ("recorded", "kept"),
    [
        ([5, 7], 5),
        ([7, 5, 6], 6),
        ([4, 1, 3, 2], 2),
        ([NAN, 7], 7),
        ([np.inf, 9, -np.inf, 8, NAN], 8),
        ([NAN, np.inf], None),
        ([3, 3, 900], 3),
    ],
)
def test_rows_of_one_time_become_one_slot_with_the_lower_median(
    recorded: list[float], kept: float | None
) -> None:
    assert shown(packed((1, 0, 1), *((1, 2, x) for x in recorded), (1, 3, 4))) == [[1, kept, 4]]


def test_each_variable_of_a_shared_time_has_a_median_of_its_own() -> None:
    values = np.array([[1, NAN], [3, 20], [2, 10]])
    found = Rows(np.ones(3, int), np.zeros(3), values, np.zeros((3, 3), int))
    assert pack(found, schema_of(1, 2)).values.tolist() == [[[2, 10]]]


def test_the_same_time_of_two_patients_is_not_shared() -> None:
    assert shown(packed((1, 2, 10), (2, 2, 20))) == [[10], [20]]


def test_shared_times_count_once_towards_the_last_slot() -> None:
    assert shown(packed((1, 0, 1), (1, 0, 2), (1, 1, 3), (1, 2, 4), (1, 3, 5))) == [[1, 3, 4]]


@pytest.mark.parametrize("value", [np.inf, -np.inf, NAN])
def test_a_value_that_is_not_finite_is_not_observed(value: float) -> None:
    assert shown(packed((1, 0, value))) == [[None]]


def test_a_wild_value_passes_unchanged() -> None:
    assert shown(packed((1, 0, 1e308), (1, 1, -1e308))) == [[1e308, -1e308]]


def test_times_of_any_size_give_finite_gaps_without_a_warning() -> None:
    cohort = packed((1, -1e308, 1), (1, 1e308, 2), (2, 5, 3))
    assert cohort.gaps.tolist() == [[-1e308, np.finfo(float).max, 0], [5, 0, 0]]


def test_labels_are_those_of_the_patients_rows() -> None:
    found = rows((1, 0, 0), (1, 1, 0), (4, NAN, NAN), (9, 0, 0), sites={1: 2, 4: 1})
    cohort = pack(found, schema_of(3))
    assert cohort.site.tolist() == [2, 1, 0]
    assert cohort.event.tolist() == [1, 1, 1]


cells = st.sampled_from([NAN, np.inf, -np.inf, -1e308, 1e308, 0.0, 1.0, 2.0, 3.0])
times = st.sampled_from([-1e308, -3.0, 0.0, 0.5, 1.0, 1e308])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.tuples(times, cells), max_size=12), min_size=1, max_size=4),
    st.permutations(range(4)),
    st.integers(1, 4),
)
def test_a_record_depends_on_its_own_rows_alone_and_not_on_their_order(
    patients: list[list[tuple[float, float]]], order: list[int], slots: int
) -> None:
    def joined(rows_of: dict[int, list[tuple[float, float]]]) -> Cohort:
        found = [
            (p, t, x)
            for p, some in rows_of.items()
            for t, x in sorted(some, key=lambda row: row[0]) or [(NAN, NAN)]
        ]
        return packed(*found, slots=slots)

    together = joined(dict(enumerate(patients)))
    for i, found in enumerate(patients):
        shuffled = [found[j] for j in np.argsort([order[k % 4] for k in range(len(found))])]
        alone = joined({7: shuffled})
        for name in Cohort.__slots__:
            mine, expected = getattr(together, name)[i], getattr(alone, name)[0]
            assert np.array_equal(mine, expected, equal_nan=mine.dtype.kind == "f")
