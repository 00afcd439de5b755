"""The sensitivity search: exact integers, nasty neighbours, and witnesses that it is not blind."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from longsynth.conditions import condition_matrix
from longsynth.encoding import one_hot
from longsynth.methods.method import PrivateMethod
from longsynth.methods.private.dp_markov import DPMarkov
from longsynth.methods.private.dp_score import DPScore
from longsynth.methods.private.trust import Trust
from longsynth.privacy.errors import ArithmeticFault
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, add_up
from longsynth.records import Cohort
from longsynth.schema import Schema
from support import SLOTS, VARIABLES, one_patient, random_cohort, replaced, small_schema

SETTINGS = {
    "separate": small_schema(),
    "paper": small_schema(condition_gram="released"),
    "joint": small_schema(release="joint"),
    "reference": small_schema(encoding="reference"),
    "tiny radius": small_schema(clip_radius=0.001),
    "wide radius": small_schema(clip_radius=3.4642),  # just above √12: nobody is clipped
}
SETTLED = {name: schema.settled(100) for name, schema in SETTINGS.items()}
METHODS: list[tuple[PrivateMethod, str]] = [(Trust(), setting) for setting in SETTLED]
METHODS += [(DPMarkov(), "separate"), (DPScore(), "separate"), (DPScore(), "wide radius")]
LOOSE = ("trust, tiny radius", "dp-score, separate")  # clipping keeps rows far from some bounds
CASES = [
    pytest.param(method, SETTLED[setting], id=f"{method.name}, {setting}")
    for method, setting in METHODS
]

EXAMPLES = 3 * settings.default.max_examples  # 300, or fewer under a quicker profile

nasty_number = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 20.0, 80.0, 220.0, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan]
) | st.floats(allow_nan=True, allow_infinity=True)
nasty_label = st.integers(-1, 4) | st.sampled_from([np.iinfo(np.int64).min, np.iinfo(np.int64).max])


@st.composite
def patients(draw: st.DrawFn) -> Cohort:
    cells = SLOTS * VARIABLES
    values = draw(st.lists(nasty_number, min_size=cells, max_size=cells))
    observed = draw(st.lists(st.booleans(), min_size=cells, max_size=cells))
    return one_patient(
        np.reshape(values, (SLOTS, VARIABLES)),
        observed=np.reshape(observed, (SLOTS, VARIABLES)),
        gaps=draw(st.lists(nasty_number, min_size=SLOTS, max_size=SLOTS)),
        length=draw(st.integers(0, SLOTS + 2)),
        group=draw(nasty_label),
        event=draw(nasty_label),
        site=draw(nasty_label),
    )


def added(
    cohort: Cohort, schema: Schema, method: PrivateMethod | None = None
) -> dict[str, tuple[Statistic, list[int]]]:
    """What a cohort adds to each statistic, as Python integers."""
    method = method or Trust()
    stage = method.stages(schema)[0]
    with np.errstate(all="ignore"):  # as in a fit: no warning may tell of a wild value
        parts = method.contributions(cohort, schema, stage, {})
    return {s.name: (s, _integers(s, parts[s.name])) for s, _ in stage}


def _integers(statistic: Statistic, part: Contribution) -> list[int]:
    try:
        with np.errstate(all="ignore"):
            sums = add_up(statistic, part)
        assert sums.rows == len(part.right)
        return [int(k) for k in sums.total]
    except ArithmeticFault:
        pytest.fail(f"'{statistic.name}': one patient's row stopped the sum, which tells of it")


def squared_distance(a: list[int], b: list[int]) -> int:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


LARGE = {"group": 1, "event": 1, "site": 2}  # the longest condition vector of three sites
MIXED = np.array([[220.0, 4, 1]] * 2 + [[20.0, 0, 0]] * 2)
PAIRS = [  # neighbours that come close to a bound, and some that no one should have to think of
    (one_patient([220.0, 4, 1], **LARGE), one_patient([20.0, 0, 0], **LARGE)),
    (one_patient([220.0, 4, 1], **LARGE), one_patient(MIXED, **LARGE)),
    (one_patient([220.0, 4, 1], **LARGE), one_patient(MIXED)),
    (one_patient(80.0, **LARGE), one_patient(80.0, observed=False, **LARGE)),
    (one_patient(gaps=0.0, **LARGE), one_patient(gaps=48.0, **LARGE)),
    (one_patient(gaps=48.0, **LARGE), one_patient(gaps=6.0)),
    (one_patient(observed=False), one_patient(observed=False, site=2)),
    (one_patient(observed=False), one_patient([220.0, 4, 1], site=99, group=-1, event=7)),
    (one_patient(np.nan, gaps=np.nan), one_patient([220.0, 4, 1], **LARGE)),
    (one_patient(np.inf, gaps=-np.inf, **LARGE), one_patient(-np.inf, gaps=np.inf)),
    (one_patient(1e308, gaps=1e308, **LARGE), one_patient(-1e308, gaps=-1e308, length=1)),
]


def with_pairs(test: Callable[..., None]) -> Callable[..., None]:
    for x, y in PAIRS:
        test = example(x=x, y=y)(test)
    return test


@pytest.mark.parametrize(("method", "schema"), CASES)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(x=patients(), y=patients())
@with_pairs
def test_no_replacement_moves_a_statistic_past_its_sensitivity(
    method: PrivateMethod, schema: Schema, x: Cohort, y: Cohort
) -> None:
    before, after = added(x, schema, method), added(y, schema, method)
    for name, (statistic, integers) in before.items():
        distance = squared_distance(integers, after[name][1])
        assert distance <= statistic.row_sensitivity_squared, name


@pytest.mark.parametrize(("method", "schema"), [c for c in CASES if c.id not in LOOSE])
def test_the_search_comes_close_to_every_sensitivity(method: PrivateMethod, schema: Schema) -> None:
    """A search that stays far from a bound would not see one that is too small."""
    nearest: dict[str, float] = {}
    for x, y in PAIRS:
        after = added(y, schema, method)
        for name, (statistic, integers) in added(x, schema, method).items():
            share = squared_distance(integers, after[name][1]) / statistic.row_sensitivity_squared
            nearest[name] = max(nearest.get(name, 0.0), float(share) ** 0.5)
    nearest.pop("conditions", None)  # enumerated below; its bound is not tight
    assert {name: share for name, share in nearest.items() if share < 0.95} == {}


@pytest.mark.parametrize(("method", "schema"), CASES)
def test_replacing_a_patient_moves_a_sum_by_that_patients_rows_alone(
    method: PrivateMethod, schema: Schema
) -> None:
    cohort = random_cohort(50, seed=3)
    for other in (
        one_patient(np.nan, gaps=np.inf, group=1, event=1, site=2),
        one_patient(1e308, gaps=1e308, group=9, event=-1, site=5),
        one_patient(observed=False, length=0),
    ):
        for i in (0, 17, 49):
            before, after = (
                added(cohort, schema, method),
                added(replaced(cohort, i, other), schema, method),
            )
            left = added(cohort.take(slice(i, i + 1)), schema, method)
            came = added(other, schema, method)
            for name, (_, integers) in before.items():
                moved = np.subtract(after[name][1], integers)
                assert np.array_equal(moved, np.subtract(came[name][1], left[name][1])), name


def halves(sign: float) -> np.ndarray:
    """Orthogonal to its own mirror image: the upper half at +1, the lower half at ±1."""
    values = np.full((2, 4), 1.0)
    values[1] *= sign
    return values


WIDE = Schema.model_validate(
    {
        "longsynth": 1,
        "name": "wide",
        "slots": 2,
        "max_gap": 48,
        "site": {"column": "site", "levels": ["A", "B"]},
        "variables": [
            {"name": f"v{i}", "kind": "continuous", "bounds": [-1, 1], "bounds_from": "-"}
            for i in range(4)
        ],
    }
)
FULL = {"group": 1, "event": 1, "site": 1, "shape": (2, 4)}
WITNESSES = {
    "strata": (one_patient(0, shape=(2, 4)), one_patient(0, **FULL)),
    "values": (one_patient(1.0, **FULL), one_patient(-1.0, **FULL)),
    "second": (one_patient(halves(1), **FULL), one_patient(halves(-1), **FULL)),
    "joint": (one_patient(halves(1), **FULL), one_patient(halves(-1), shape=(2, 4))),
    "masks": (one_patient(0.0, **FULL), one_patient(0.0, observed=False, **FULL)),
    "gaps": (one_patient(gaps=0.0, **FULL), one_patient(gaps=48.0, **FULL)),
    "gap squares": (one_patient(gaps=48.0, length=2, **FULL), one_patient(length=0, **FULL)),
}


@pytest.mark.parametrize("release", ["separate", "joint"])
def test_the_claimed_sensitivity_is_nearly_attained_by_every_statistic(release: str) -> None:
    constants = WIDE.constants.model_copy(update={"release": release})
    schema = WIDE.model_copy(update={"constants": constants}).settled(100)
    for statistic, _ in Trust().stages(schema)[0]:
        x, y = WITNESSES[statistic.name]
        distance = squared_distance(
            added(x, schema)[statistic.name][1], added(y, schema)[statistic.name][1]
        )
        assert Fraction(95, 100) ** 2 <= distance / statistic.row_sensitivity_squared <= 1


def test_the_released_condition_moment_is_bounded_over_all_pairs_of_strata() -> None:
    """c takes finitely many values, so this is a proof by enumeration; the bound is not tight."""
    schema = SETTLED["paper"]
    statistic = next(s for s, _ in Trust().stages(schema)[0] if s.name == "conditions")
    rows = condition_matrix(schema)
    sums = [
        [int(k) for k in add_up(statistic, Contribution(rows[s : s + 1])).total]
        for s in range(len(rows))
    ]
    worst = max(squared_distance(a, b) for a, b in combinations(sums, 2))
    assert 0 < worst <= statistic.row_sensitivity_squared


@pytest.mark.parametrize("sites", [1, 2, 3, 7])
def test_a_condition_vector_never_exceeds_its_declared_norm(sites: int) -> None:
    levels = {"column": "site", "levels": [f"s{i}" for i in range(sites)]}
    schema = Schema.model_validate(small_schema().model_dump() | {"site": levels})
    matrix = condition_matrix(schema)
    assert matrix.shape == (4 * sites, {1: 4}.get(sites, 5 + sites - 1))
    assert (matrix**2).sum(axis=1).max() == (4 if sites == 1 else 6)


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
    assert _integers(statistic, both) == _integers(statistic, Contribution(inside))


@pytest.mark.parametrize("kind", ["gram", "cross", "joint"])
def test_a_row_one_integer_past_its_radius_counts_as_zero(kind: str) -> None:
    left = 3 if kind != "gram" else 0
    statistic = Statistic(
        "x", "x", kind, 4, 10**6, left=left, left_squared=left and 1, sum_weight=1000, grid=10**6
    )
    inside, outside = [600, 0, 800, 0], [600, 0, 800, 1]  # 1000² and 1000² + 1
    cell = np.eye(3, dtype=np.int64)[:1] if left else np.zeros((1, 0), np.int64)
    assert any(_integers(statistic, Contribution(np.array([inside]), cell)))
    beyond = _integers(statistic, Contribution(np.array([outside]), cell))
    nothing = _integers(statistic, Contribution(np.zeros((1, 4), np.int64), cell))
    assert beyond == nothing


def test_a_cell_outside_the_histogram_counts_nowhere() -> None:
    statistic = Statistic("x", "x", "count", right=3)
    cells = np.array([0, 2, 3, -1, np.iinfo(np.int64).min])
    assert add_up(statistic, Contribution(one_hot(cells, 3))).total.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "row", [[2, 0, 0, 0], [1, 1, 0, 0], [0, 0, -1, 1], [0, 0, 0, np.iinfo(np.int64).min]], ids=str
)
def test_a_row_that_is_no_count_counts_nowhere(row: list[int]) -> None:
    statistic = Statistic("x", "x", "count", right=4, blocks=2)
    assert add_up(statistic, Contribution(np.array([row]))).total.tolist() == [0, 0, 0, 0]


@given(st.lists(st.integers(-2, 6), min_size=12, max_size=12))
def test_blocks_of_counts_stay_within_their_sensitivity(numbers: list[int]) -> None:
    statistic = Statistic("x", "x", "count", right=6, blocks=3, grid=5)
    x, y = (
        add_up(statistic, Contribution(np.array([numbers[i : i + 6]]))).total.tolist()
        for i in (0, 6)
    )
    assert squared_distance(x, y) <= statistic.row_sensitivity_squared == 2 * 3 * 25


def test_blocks_of_counts_attain_their_sensitivity() -> None:
    statistic = Statistic("x", "x", "count", right=6, blocks=3, grid=5)
    x, y = (
        add_up(statistic, Contribution(np.array([row]))).total.tolist()
        for row in ([5, 0] * 3, [0, 5] * 3)
    )
    assert squared_distance(x, y) == statistic.row_sensitivity_squared
