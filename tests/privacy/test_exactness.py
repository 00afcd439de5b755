"""Exact sums: the same integers for any chunking and order, and a check that sees a wrong one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from longsynth.encoding.record import one_hot
from longsynth.engines import sum_over
from longsynth.privacy.errors import ArithmeticFault
from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL, Statistic, kept
from longsynth.privacy.sums import (
    CHUNK,
    STEP,
    STRIP,
    Contribution,
    Sums,
    add_up,
    require_exact,
)
from longsynth.reading.records import Cohort
from refusals import refused
from support import earlier, random_cohort, rows_of, small_plan, small_schema

GRAM = Statistic("g", "g", "gram", right=5, right_squared=5 * 4096**2, grid=4096)
CROSS = Statistic(
    "c", "c", "cross", left=3, left_squared=3, right=5, right_squared=5 * 4096**2, grid=4096
)
COUNT = Statistic("n", "n", "count", right=6, blocks=2, grid=4)
JOINT = Statistic(
    "j", "j", "joint", 5, 5 * 4096**2, left=4, left_squared=1, sum_weight=4096, grid=4096
)
BAND = (2, 5, 3, 5, 5)  # the second keeps all, as what is static does
ALL = [COUNT, CROSS, GRAM, JOINT, replace(GRAM, band=BAND), replace(JOINT, band=BAND)]
each_kind = pytest.mark.parametrize(
    "statistic", ALL, ids=lambda s: s.kind + ", a band" * bool(s.band)
)


def rows(statistic: Statistic, n: int, seed: int = 0) -> Contribution:
    rng = np.random.default_rng(seed)
    right = rng.integers(-4096, 4097, (n, 5))
    match statistic.kind:
        case "cross":
            return Contribution(right, rng.integers(0, 2, (n, 3)))
        case "joint":
            return Contribution(right, one_hot(rng.integers(0, 5, n), 4))
        case "count":
            return Contribution(rng.integers(0, 3, (n, 6)))
    return Contribution(right)


def by_hand(statistic: Statistic, part: Contribution) -> list[int]:
    """The definition, in Python integers."""
    total = [0] * statistic.dimension
    lefts = part.left.tolist() or [[]] * len(part.right)
    for left, right in zip(lefts, part.right.tolist(), strict=True):
        if statistic.kind == "count":
            fits = all(sum(right[b : b + 3]) <= statistic.grid for b in (0, 3))
            total = [t + v * fits for t, v in zip(total, right, strict=True)]
            continue
        svec = [
            right[i] * right[j] * (DIAGONAL if i == j else OFF_DIAGONAL)
            for i, end in enumerate(statistic.band or [len(right)] * len(right))
            for j in range(i, end)
        ]
        vector = {
            "gram": svec,
            "cross": [a * b for a in left for b in right],
            "joint": [h * statistic.count_weight for h in left]
            + [h * b * statistic.sum_weight for h in left for b in right]
            + svec,
        }[statistic.kind]
        total = [t + v for t, v in zip(total, vector, strict=True)]
    return total


@each_kind
def test_a_sum_equals_its_definition_in_python_integers(statistic: Statistic) -> None:
    part = rows(statistic, 300)
    assert add_up(statistic, part).total.tolist() == by_hand(statistic, part)


@each_kind
@pytest.mark.parametrize("size", [1, 7, 4095, 4096, 4097, 9000])
def test_chunks_add_to_the_same_integers(statistic: Statistic, size: int) -> None:
    n = min(9000, size * 300)
    part = rows(statistic, n)
    whole = add_up(statistic, part)
    pieces: Sums | None = None
    for start in range(0, n, size):
        piece = add_up(statistic, Contribution(*(p[start : start + size] for p in part)))
        pieces = piece if pieces is None else pieces + piece
    assert pieces is not None
    assert pieces.rows == whole.rows == n
    assert np.array_equal(pieces.total, whole.total)


@pytest.mark.parametrize("n", [1, STEP - 1, STEP, STEP + 1, CHUNK - 1, CHUNK + STEP + 1])
def test_no_row_is_lost_or_counted_twice_where_steps_of_a_product_meet(n: int) -> None:
    part = rows(CROSS, n)
    expected = part.left.astype(np.int64).T @ part.right.astype(np.int64)
    assert np.array_equal(add_up(CROSS, part).total, expected.ravel())


def test_the_order_of_patients_and_the_batch_size_change_no_integer() -> None:
    cohort = random_cohort(200, seed=1)
    shuffled = cohort.take(np.random.default_rng(2).permutation(200))
    plan = small_plan(200)
    statistics = [line.statistic for line in plan.stages[0]]

    class InBatches:
        patients = 200

        def __init__(self, cohort: Cohort, size: int) -> None:
            self.cohort, self.size = cohort, size

        def batches(self):  # type: ignore[no-untyped-def]
            return self.cohort.batches(self.size)

    def features(batch: Cohort):  # type: ignore[no-untyped-def]
        stage = plan.stages[0]
        so_far = earlier(plan.method, plan.schema, stage)
        return rows_of(plan.method, batch, plan.schema, stage, so_far)

    expected = sum_over(cohort, statistics, features)
    for source in (InBatches(cohort, 1), InBatches(cohort, 33), InBatches(shuffled, 199)):
        for a, b in zip(expected, sum_over(source, statistics, features), strict=True):
            assert a.rows == b.rows
            assert np.array_equal(a.total, b.total)


def in_slots(slots: int, variables: int, bandwidth: int, static: int = 0) -> tuple[int, ...]:
    """The band of a record, slot by slot; the first numbers of the first slot are static."""
    width = slots * variables
    ends = ((i // variables + bandwidth + 1) * variables for i in range(width))
    return tuple(width if i < static else min(end, width) for i, end in enumerate(ends))


WIDE = 2 * STRIP + 44
BANDS = {
    "all": (),
    "diagonal": tuple(range(1, WIDE + 1)),
    "slots": in_slots(WIDE // 10, 10, bandwidth=3),
    "static": in_slots(WIDE // 10, 10, bandwidth=1, static=3),
    "one strip": (STRIP,) * STRIP + tuple(range(STRIP + 1, WIDE + 1)),
}


@cache
def whole_product() -> tuple[np.ndarray, np.ndarray]:
    """Rows, and their product in whole numbers, which takes a second."""
    x = np.random.default_rng(1).integers(-10, 11, (CHUNK + 7, WIDE))
    return x, x.T @ x


@pytest.mark.parametrize("band", BANDS.values(), ids=BANDS)
def test_each_number_of_a_band_is_its_own_pair_where_strips_of_a_product_meet(
    band: tuple[int, ...],
) -> None:
    statistic = Statistic("g", "g", "gram", WIDE, WIDE * 100, band=band, grid=10)
    x, whole = whole_product()
    found = add_up(statistic, Contribution(x)).total
    pairs = [(i, j) for i, end in enumerate(band or [WIDE] * WIDE) for j in range(i, end)]
    i, j = np.array(pairs).T
    assert len(found) == len(pairs) == statistic.dimension
    assert np.array_equal(found, whole[i, j] * np.where(i == j, DIAGONAL, OFF_DIAGONAL))
    assert np.array_equal(kept(statistic), [i, j])


@pytest.mark.parametrize(
    "band", [(5,), (5,) * 4, (5,) * 6, (6, 5, 5, 5, 5), (5, 1, 5, 5, 5), (0, 2, 3, 4, 5)], ids=str
)
def test_a_band_is_refused_unless_every_entry_has_an_end_after_it_in_the_row(
    band: tuple[int, ...],
) -> None:
    with refused("statistic-unusable"):
        replace(GRAM, band=band)


@pytest.mark.parametrize("statistic", ALL[1:], ids=lambda s: s.kind)
@pytest.mark.parametrize("place", [(0, -1), (-1, 0), (-1, -1)])
def test_a_processor_that_computes_one_entry_wrongly_is_caught(
    monkeypatch: pytest.MonkeyPatch, statistic: Statistic, place: tuple[int, int]
) -> None:
    part = rows(statistic, 10)
    with faulty_product(monkeypatch, place, 1), pytest.raises(ArithmeticFault, match="nothing was"):
        add_up(statistic, part)


@pytest.mark.parametrize("bit", range(50))
def test_a_flipped_bit_of_a_product_is_caught(bit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty_product(monkeypatch, (1, 2), 1 << bit), pytest.raises(ArithmeticFault):
        add_up(GRAM, rows(GRAM, 10))


@pytest.mark.parametrize("strip", [0, 1, 2])
def test_a_wrong_entry_of_any_strip_is_caught(strip: int, monkeypatch: pytest.MonkeyPatch) -> None:
    statistic = Statistic("g", "g", "gram", WIDE, WIDE * 100, band=BANDS["slots"], grid=10)
    part = Contribution(np.ones((10, WIDE), np.int64))
    with (
        faulty_product(monkeypatch, (3, 4), 1, call=strip),
        pytest.raises(ArithmeticFault),
    ):
        add_up(statistic, part)


@contextmanager
def faulty_product(
    monkeypatch: pytest.MonkeyPatch, place: tuple[int, int], error: int, call: int = 0
) -> Iterator[None]:
    """One call of the routine that multiplies gets one entry wrong."""
    honest, calls = np.matmul, []

    def faulty(*args: np.ndarray) -> np.ndarray:
        product = honest(*args)
        product[place] += error * (len(calls) == call)
        calls.append(place)
        return product  # type: ignore[no-any-return]

    with monkeypatch.context() as patch:
        patch.setattr(np, "matmul", faulty)
        yield
    assert len(calls) > call


@each_kind
def test_integers_of_any_width_add_to_the_same(statistic: Statistic) -> None:
    part = rows(statistic, 2500)
    expected = add_up(statistic, part).total
    narrow = Contribution(part.right.astype(np.int16), part.left.astype(np.int8))
    assert np.array_equal(add_up(statistic, narrow).total, expected)
    assert np.array_equal(
        add_up(statistic, Contribution(*(np.asfortranarray(p) for p in part))).total, expected
    )


def test_the_wildest_integers_become_the_zero_row_in_silence() -> None:
    wild = np.full((6, 5), 3)
    wild[:5, 0] = [2**63 - 1, -(2**63), 2**53 + 1, 4097, -4097]
    assert add_up(GRAM, Contribution(wild)).total[0] == DIAGONAL * 9
    counts = np.zeros((4, 6), np.int64)
    counts[:3, 0] = [2**63 - 1, -(2**63), 5]
    counts[3] = [4, 0, 0, 0, 0, 1]
    assert add_up(COUNT, Contribution(counts)).total.tolist() == [4, 0, 0, 0, 0, 1]


def test_full_chunks_at_the_largest_values_stay_exact() -> None:
    full = np.full((CHUNK, 5), 4096)
    total = add_up(GRAM, Contribution(full)).total
    assert total[0] == DIAGONAL * CHUNK * 4096**2
    assert total[1] == OFF_DIAGONAL * CHUNK * 4096**2


@pytest.mark.parametrize("seed", range(5))
def test_the_check_passes_the_largest_numbers_that_are_let_through(seed: int) -> None:
    grid = 1_480_000  # 4,096 squares of it stay just below 2⁵³
    finest = Statistic("f", "f", "gram", right=5, right_squared=5 * grid**2, grid=grid)
    require_exact(finest, 1)
    part = np.random.default_rng(seed).choice([-grid, 1 - grid, grid], (CHUNK, 5))
    by_integers = part[:, :1].astype(object).T @ part.astype(object)
    weights = [DIAGONAL] + [OFF_DIAGONAL] * 4
    found = add_up(finest, Contribution(part)).total[:5].tolist()
    assert found == [w * int(v) for w, v in zip(weights, by_integers[0], strict=True)]


def test_integers_that_could_overflow_are_refused_before_any_patient_is_read() -> None:
    with refused("too-fine-to-sum"):
        require_exact(GRAM, patients=10**15)
    with refused("too-fine-to-sum"):
        big = Statistic("x", "x", "gram", right=2, right_squared=1 << 43, grid=1 << 21)
        require_exact(big, patients=1)
    wide = Statistic(
        "j", "j", "joint", 1, (1 << 26) ** 2, left=2, left_squared=1, sum_weight=29, grid=1 << 26
    )
    with refused("too-fine-to-sum"):
        require_exact(wide, patients=5)
    require_exact(GRAM, patients=10**8)


def test_blocks_must_be_of_one_size() -> None:
    with refused("statistic-unusable"):
        Statistic("x", "x", "count", right=5, blocks=2)


def test_nobody_adds_nothing() -> None:
    none = add_up(COUNT, Contribution(np.zeros((0, 6), np.int64)))
    assert (none.rows, none.total.tolist()) == (0, [0] * 6)


def test_an_engine_takes_one_row_for_each_patient_of_a_batch() -> None:
    cohort = random_cohort(10, seed=1)

    def twice(batch: Cohort) -> dict[str, Contribution]:
        return {"n": Contribution(np.zeros((2 * batch.patients, 6), np.int64))}

    with pytest.raises(TypeError, match="one row for each patient"):
        sum_over(cohort, [COUNT], twice)


def test_a_hundred_million_patients_of_the_papers_size_fit_into_64_bits() -> None:
    from longsynth import plan, simulated_schema

    assert plan(simulated_schema(), 10**8, epsilon=1, delta=1e-10).ledger.patients == 10**8


@pytest.mark.parametrize(
    "part",
    [
        Contribution(np.ones((3, 5))),  # type: ignore[arg-type]
        Contribution(np.ones((3, 4), np.int64)),
        Contribution(np.ones(5, np.int64)),
    ],
    ids=["floats", "wrong width", "one axis"],
)
def test_what_is_no_integer_row_cannot_be_summed(part: Contribution) -> None:
    with pytest.raises(TypeError, match="contribution"):
        add_up(GRAM, part)


def test_parts_with_different_numbers_of_rows_cannot_be_summed() -> None:
    part = rows(JOINT, 4)
    with pytest.raises(TypeError, match="a row for each patient"):
        add_up(JOINT, Contribution(part.right, part.left[:3]))


def test_sums_of_different_statistics_cannot_be_added() -> None:
    with pytest.raises(TypeError, match="different"):
        _ = add_up(GRAM, rows(GRAM, 4)) + add_up(CROSS, rows(CROSS, 4))


def test_every_lift_makes_the_noise_fine_for_any_budget() -> None:
    for release in ("separate", "joint"):
        for line in small_plan(100, small_schema(release=release)).stages[0]:
            statistic = line.statistic
            assert statistic.sensitivity_squared >= 1 << 52
            assert statistic.sensitivity_squared == statistic.lift**2 * Fraction(
                statistic.row_sensitivity_squared
            )
