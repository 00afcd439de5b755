"""The sensitivity search: exact integers, nasty neighbours, and witnesses that it is not blind."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longsynth.conditions import condition_matrix
from longsynth.encoding import one_hot
from longsynth.methods.method import PrivateMethod
from longsynth.methods.private.dp_markov import DPMarkov
from longsynth.methods.private.dp_score import DPScore
from longsynth.methods.private.trust import Trust
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, add_up
from longsynth.records import Cohort
from longsynth.schema import Schema
from support import one_patient, random_cohort, replaced, small_schema
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
LINES = [
    pytest.param(method, SETTLED[setting], line, id=f"{method.name}, {setting}: {line.name}")
    for method, setting in METHODS
    for line, _ in method.stages(SETTLED[setting])[0]
]

nasty_number = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 20.0, 80.0, 220.0, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan]
) | st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def patients(draw: st.DrawFn, schema: Schema) -> Cohort:
    shape = (schema.slots, len(schema.variables))
    cells = shape[0] * shape[1]
    values = draw(st.lists(nasty_number, min_size=cells, max_size=cells))
    observed = draw(st.lists(st.booleans(), min_size=cells, max_size=cells))
    return one_patient(
        np.reshape(values, shape),
        observed=np.reshape(observed, shape),
        gaps=draw(st.lists(nasty_number, min_size=shape[0], max_size=shape[0])),
        length=draw(st.integers(0, shape[0])),
        group=draw(st.integers(0, 1)),
        event=draw(st.integers(0, 1)),
        site=draw(st.integers(0, 2)),
        shape=shape,
    )


def contribution(
    cohort: Cohort, schema: Schema, statistic: Statistic, method: PrivateMethod | None = None
) -> list[int]:
    """What a cohort adds to a statistic, as Python integers."""
    method = method or Trust()
    stage = method.stages(schema)[0]
    with np.errstate(all="ignore"):
        part = method.contributions(cohort, schema, stage, {})[statistic.name]
    return [int(k) for k in add_up(statistic, part).total]


def squared_distance(a: list[int], b: list[int]) -> int:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize(("method", "schema", "statistic"), LINES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_replacement_moves_a_statistic_past_its_sensitivity(
    method: PrivateMethod, schema: Schema, statistic: Statistic, data: st.DataObject
) -> None:
    x, y = data.draw(patients(schema)), data.draw(patients(schema))
    distance = squared_distance(
        contribution(x, schema, statistic, method), contribution(y, schema, statistic, method)
    )
    assert distance <= statistic.row_sensitivity_squared


@pytest.mark.parametrize(("method", "schema", "statistic"), LINES)
def test_replacing_a_patient_moves_a_sum_by_that_patients_rows_alone(
    method: PrivateMethod, schema: Schema, statistic: Statistic
) -> None:
    static = any(schema.layout.static)
    cohort = ward_cohort(50, seed=3) if static else random_cohort(50, seed=3)
    shape = (schema.slots, len(schema.variables))
    with_poison = one_patient(np.nan, gaps=np.inf, group=1, event=1, site=2, shape=shape)
    for i in (0, 17, 49):
        neighbour = replaced(cohort, i, with_poison)
        moved = np.subtract(
            contribution(cohort, schema, statistic, method),
            contribution(neighbour, schema, statistic, method),
        )
        own = np.subtract(
            contribution(cohort.take(slice(i, i + 1)), schema, statistic, method),
            contribution(with_poison, schema, statistic, method),
        )
        assert np.array_equal(moved, own)


def number(name: str, **more: object) -> dict[str, object]:
    return {
        "name": name,
        "kind": "continuous",
        "bounds": [-1, 1],
        "bounds_from": "-",
        **more,
    }


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


def witnesses(schema: Schema) -> dict[str, tuple[Cohort, Cohort]]:
    """Two records for each statistic that are as far apart as it says two can be."""
    numbers = np.array([v.kind == "continuous" for v in schema.variables])
    shape = (schema.slots, len(numbers))

    def someone(z: object = 0.0, *, observed: object = True, first: bool = False, **more) -> Cohort:
        """In the last stratum, or the first."""
        label = 0 if first else 1
        labels = {"group": label, "event": label, "site": label}
        given = labels | {"length": schema.slots, "gaps": 5.0, "shape": shape} | more
        return one_patient(z, observed=observed, **given)

    early = np.where((np.arange(schema.slots) % 2 == 0)[:, None], 1.0, -1.0)  # ⊥ to all ones
    moving = numbers & ~np.array(schema.layout.static)
    one = {
        "strata": (someone(first=True), someone()),
        "lengths": (someone(length=0), someone()),
        "values": (someone(1.0, observed=numbers), someone(-1.0, observed=numbers)),
        "second": (someone(1.0, observed=moving), someone(early, observed=moving)),
        "joint": (someone(1.0, observed=moving), someone(early, observed=moving, first=True)),
        "masks": (someone(), someone(observed=False)),
        "gaps": (someone(gaps=0.0), someone(gaps=48.0)),
        "gap squares": (someone(gaps=48.0), someone(gaps=np.nan)),
        "squares": (someone(1.0, observed=numbers), someone(observed=False)),
    }
    chains = (someone(-1.0), someone(1.0))
    return one | {"first bins": chains, "transitions": chains}


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
            contribution(one, schema, statistic, method)
            for one in witnesses(schema)[statistic.name]
        )
        attained = squared_distance(x, y) / statistic.row_sensitivity_squared
        assert Fraction(95, 100) ** 2 <= attained <= 1, statistic.name


def test_a_nominal_channel_can_only_rise_so_squares_of_it_stay_within_their_claim() -> None:
    """dp-score centres z² at ½ for every channel; of a nominal value one channel is 1 at most."""
    schema = wide(MIXED)
    (statistic,) = (s for s, _ in DPScore().stages(schema)[0] if s.name == "squares")
    x, y = (contribution(one, schema, statistic, DPScore()) for one in witnesses(schema)["squares"])
    assert 0 < squared_distance(x, y) <= statistic.row_sensitivity_squared


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
    both = add_up(statistic, Contribution(np.concatenate([rows, inside])))
    alone = add_up(statistic, Contribution(inside))
    assert both.rows == 2
    assert np.array_equal(both.total, alone.total)


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
