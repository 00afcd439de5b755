"""The core holds every row to its radius, whatever a method hands it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longsynth.encoding.record import one_hot
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, Shared, add_up
from privacy.neighbouring_records import integers, squared_distance

HOSTILE = [
    np.full((1, 12), np.iinfo(np.int64).min),
    np.full((1, 12), np.iinfo(np.int64).max),
    np.full((1, 12), 2**32),  # its square wraps to zero
    np.array([[2**31] + [0] * 11]),
]


@pytest.mark.parametrize("rows", HOSTILE, ids=["min", "max", "wrap", "one entry"])
def test_a_row_outside_its_radius_counts_as_zero_whatever_its_size(rows: np.ndarray) -> None:
    statistic = Statistic("x", "x", "gram", right=12, right_squared=1000)
    inside = np.ones((1, 12), np.int64)
    both = Contribution(np.concatenate([rows, inside]))
    assert integers(statistic, both) == integers(statistic, Contribution(inside))


@pytest.mark.parametrize("kind", ["gram", "cross", "joint"])
def test_a_row_one_integer_past_its_radius_counts_as_zero(kind: str) -> None:
    left = 3 if kind != "gram" else 0
    statistic = Statistic(
        "x", "x", kind, 4, 10**6, left=left, left_squared=left and 1, sum_weight=1000, grid=10**6
    )
    inside, outside = [600, 0, 800, 0], [600, 0, 800, 1]  # 1000² and 1000² + 1
    cell = np.eye(3, dtype=np.int64)[:1] if left else np.zeros((1, 0), np.int64)
    assert any(integers(statistic, Contribution(np.array([inside]), cell)))
    beyond = integers(statistic, Contribution(np.array([outside]), cell))
    assert beyond == integers(statistic, Contribution(np.zeros((1, 4), np.int64), cell))


def test_rows_that_statistics_share_are_held_to_the_radius_of_each() -> None:
    rows, cell = np.array([[6, 8], [3, 4], [0, 7]]), np.array([[1, 0], [0, 1], [1, 1]])
    shared = Shared()
    for radius in (10, 5, 10, 1, 7):
        for box in (1, 6, 10):
            for kind, left in (("gram", 0), ("cross", 1), ("cross", 2)):
                sizes = {"left": left and 2, "left_squared": left, "grid": box}
                statistic = Statistic("x", "x", kind, 2, radius**2, **sizes)
                given = Contribution(rows, cell) if left else Contribution(rows)
                found = add_up(statistic, given, shared).total.tolist()
                assert found == integers(statistic, given)


def test_what_was_held_is_added_though_the_rows_change_afterwards() -> None:
    statistic = Statistic("x", "x", "gram", 2, 100, grid=10)
    rows, shared = np.array([[6, 8]]), Shared()
    before = add_up(statistic, Contribution(rows), shared).total.tolist()
    rows[:] = 1000
    assert add_up(statistic, Contribution(rows), shared).total.tolist() == before
    for _, held in shared.values():
        with pytest.raises(ValueError, match="read-only"):
            held[:] = 1000.0


def test_new_rows_are_never_taken_for_old_ones() -> None:
    """Arrays that come and go have each other's place in memory, and so each other's name."""
    statistic = Statistic("x", "x", "gram", 2, 10**6, grid=1000)
    shared = Shared()
    found = [add_up(statistic, Contribution(np.array([[k, 1]])), shared).total for k in range(50)]
    assert len({each[0] for each in found}) == 50


@pytest.mark.parametrize(
    "left", [[2, 1, 0], [0, -3, 0], [2**32, 0, 0], [0, 0, np.iinfo(np.int64).min]], ids=str
)
def test_a_left_side_outside_its_radius_takes_its_row_with_it(left: list[int]) -> None:
    """It counts as if there were none. The second moments of a joint release have no left side."""
    for kind, squared in (("cross", 4), ("joint", 1)):
        statistic = Statistic(
            "x", "x", kind, 2, 100, left=3, left_squared=squared, sum_weight=10, grid=10
        )
        rows, nowhere, usual = np.array([[6, 8], [3, 4]]), [0, 0, 0], [0, 1, 0]
        outside, none = (
            integers(statistic, Contribution(rows, np.array([of_first, usual])))
            for of_first in (left, nowhere)
        )
        assert outside == none


def test_a_cell_outside_the_histogram_counts_nowhere() -> None:
    statistic = Statistic("x", "x", "count", right=3)
    cells = np.array([0, 2, 3, -1, np.iinfo(np.int64).min])
    assert integers(statistic, Contribution(one_hot(cells, 3))) == [1, 0, 1]


@pytest.mark.parametrize(
    "row", [[2, 0, 0, 0], [1, 1, 0, 0], [0, 0, -1, 1], [0, 0, 0, np.iinfo(np.int64).min]], ids=str
)
def test_a_row_that_is_no_count_counts_nowhere(row: list[int]) -> None:
    statistic = Statistic("x", "x", "count", right=4, blocks=2)
    assert integers(statistic, Contribution(np.array([row]))) == [0, 0, 0, 0]


@given(st.lists(st.integers(-2, 6), min_size=12, max_size=12))
def test_blocks_of_counts_stay_within_their_sensitivity(numbers: list[int]) -> None:
    statistic = Statistic("x", "x", "count", right=6, blocks=3, grid=5)
    x, y = (integers(statistic, Contribution(np.array([numbers[i : i + 6]]))) for i in (0, 6))
    assert squared_distance(x, y) <= statistic.row_sensitivity_squared == 2 * 3 * 25


def test_blocks_of_counts_attain_their_sensitivity() -> None:
    statistic = Statistic("x", "x", "count", right=6, blocks=3, grid=5)
    x, y = (integers(statistic, Contribution(np.array([row]))) for row in ([5, 0] * 3, [0, 5] * 3))
    assert squared_distance(x, y) == statistic.row_sensitivity_squared
