"""The sensitivity search: exact integers, nasty neighbours, and witnesses that it is not blind."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longsynth.methods.copula_score import CopulaScore
from longsynth.methods.dp_markov import DPMarkov
from longsynth.methods.dp_score import DPScore
from longsynth.methods.method import PrivateMethod
from longsynth.methods.trust import Trust
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema, condition_matrix
from longsynth_lab.markov import SMOOTHED, MarkovVariant
from longsynth_lab.paper.section_v import AS_PRINTED
from privacy.neighbouring_records import (
    Pair,
    added,
    integers,
    opposites,
    pairs,
    records,
    squared_distance,
    strangers,
    witnesses,
)
from support import examples, one_patient, random_cohort, replaced, small_schema
from ward import (
    PLANNED,
    pointed_ward_schema,
    timed_ward_cohort,
    timed_ward_schema,
    ward_cohort,
    ward_schema,
)

SETTINGS = {
    "separate": small_schema(),
    "paper": small_schema(condition_gram="released"),
    "joint": small_schema(release="joint"),
    "reference": small_schema(encoding="reference"),
    "tiny radius": small_schema(clip_radius=0.001),
    "full": small_schema(length="full"),
    "ward": ward_schema(),
    "joint ward": ward_schema(constants={"release": "joint"}),
    "one slot": ward_schema(slots=1),
    "one site": ward_schema(site=None),
    "band": small_schema(bandwidth=1),
    "joint band": ward_schema(constants={"release": "joint", "bandwidth": 1}),
    "diagonal": small_schema(covariance="diagonal"),
    "little": small_schema(strength=1.0),
    "much": small_schema(strength=1e6),
    "interpolated": small_schema(missing_values="interpolated", length="full"),
    "as printed": small_schema(**dict(AS_PRINTED)),
    "ward as printed": ward_schema(constants=dict(AS_PRINTED)),
    "times": timed_ward_schema(),
    "points": pointed_ward_schema(),
    "visits": ward_schema(visits=PLANNED),
}
RESOLVED = {name: schema.resolved(100) for name, schema in SETTINGS.items()}
OTHERS = {
    "one slot",
    "times",
    "points",
    "visits",
    "one site",
    "little",
    "much",
}  # nothing of which is trust's alone
METHODS: list[tuple[PrivateMethod, str]] = [(Trust(), s) for s in RESOLVED if s not in OTHERS]
METHODS += [
    (method, setting)
    for method in (DPScore(), DPMarkov(), MarkovVariant(SMOOTHED))
    for setting in ("separate", "ward", "ward as printed")
]
IN_PASSES: list[tuple[PrivateMethod, str]] = [
    (CopulaScore(), setting)
    for setting in (
        "separate",
        "full",
        "ward",
        "one slot",
        "one site",
        "little",
        "much",
        "times",
        "points",
        "visits",
    )
]
METHODS += [(m, s) for s in ("times", "points", "visits") for m in (Trust(), DPScore(), DPMarkov())]


def named(method: PrivateMethod) -> str:
    return f"{method.name}{' smoothed' if method == MarkovVariant(SMOOTHED) else ''}"


def cases(methods: list[tuple[PrivateMethod, str]]) -> list[ParameterSet]:
    return [
        pytest.param(method, RESOLVED[setting], n, id=f"{named(method)}, {setting}, pass {n + 1}")
        for method, setting in methods
        for n in range(len(method.stages(RESOLVED[setting])))
    ]


CASES, LATER = cases([*METHODS, *IN_PASSES]), cases(IN_PASSES[:3:2])


def require_within(method: PrivateMethod, schema: Schema, stage: int, pair: Pair) -> None:
    before, after = (added(record, schema, method, stage) for record in pair)
    for name, (statistic, one) in before.items():
        assert squared_distance(one, after[name][1]) <= statistic.row_sensitivity_squared, name


@pytest.mark.parametrize(("method", "schema", "stage"), CASES)
def test_no_neighbour_that_we_thought_of_moves_a_statistic_past_its_sensitivity(
    method: PrivateMethod, schema: Schema, stage: int
) -> None:
    for pair in pairs(schema):
        require_within(method, schema, stage, pair)


@pytest.mark.parametrize(("method", "schema", "stage"), cases(METHODS))
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_replacement_moves_a_statistic_past_its_sensitivity(
    method: PrivateMethod, schema: Schema, stage: int, data: st.DataObject
) -> None:
    require_within(method, schema, stage, (data.draw(records(schema)), data.draw(records(schema))))


@pytest.mark.parametrize(("method", "schema", "stage"), LATER)
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_replacement_moves_a_statistic_of_a_later_pass_past_its_sensitivity(
    method: PrivateMethod, schema: Schema, stage: int, data: st.DataObject
) -> None:
    require_within(method, schema, stage, (data.draw(records(schema)), data.draw(records(schema))))


@pytest.mark.parametrize(("method", "schema", "stage"), CASES)
def test_replacing_a_patient_moves_a_sum_by_that_patients_rows_alone(
    method: PrivateMethod, schema: Schema, stage: int
) -> None:
    static = any(schema.layout.static)
    ward = timed_ward_cohort if len(schema.outcomes) > 1 else ward_cohort
    cohort = cut(ward(50, seed=3) if static else random_cohort(50, seed=3), schema.slots)
    before = added(cohort, schema, method, stage)
    for i, other in zip((0, 17, 49, 8, 31), strangers(schema), strict=True):
        after = added(replaced(cohort, i, other), schema, method, stage)
        left, came = (
            added(cohort.take(slice(i, i + 1)), schema, method, stage),
            added(other, schema, method, stage),
        )
        for name, (_, whole) in before.items():
            moved = np.subtract(after[name][1], whole)
            assert np.array_equal(moved, np.subtract(came[name][1], left[name][1])), name


def cut(cohort: Cohort, slots: int) -> Cohort:
    """The first slots of every record."""
    return replace(
        cohort,
        values=cohort.values[:, :slots],
        observed=cohort.observed[:, :slots],
        gaps=cohort.gaps[:, :slots],
        length=np.minimum(cohort.length, slots),
    )


def number(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "kind": "continuous", "bounds": [-1, 1], "bounds_from": "-", **more}


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
    return Schema.model_validate(base | changes).resolved(100)


FAR = {"clip_radius": 4.0}  # so that it does not keep squares from their own bound
TIGHT = [
    pytest.param(Trust(), wide(NUMBERS), id="trust"),
    pytest.param(Trust(), wide(NUMBERS, length="full"), id="trust, all slots"),
    pytest.param(Trust(), wide(NUMBERS, constants={"release": "joint"}), id="trust, joint"),
    pytest.param(Trust(), wide(MIXED), id="trust, static and nominal"),
    pytest.param(
        Trust(), wide(MIXED, constants={"release": "joint"}), id="trust, joint, static and nominal"
    ),
    pytest.param(Trust(), wide(NUMBERS, constants={"bandwidth": 1}), id="trust, a band"),
    pytest.param(DPScore(), wide(NUMBERS, constants=FAR), id="dp-score"),
    pytest.param(DPMarkov(), wide(NUMBERS), id="dp-markov"),
    pytest.param(DPMarkov(), wide(MIXED), id="dp-markov, static and nominal"),
    pytest.param(MarkovVariant(SMOOTHED), wide(NUMBERS), id="dp-markov, smoothed"),
    pytest.param(
        MarkovVariant(SMOOTHED), wide(MIXED), id="dp-markov, smoothed, static and nominal"
    ),
]


def attained(method: PrivateMethod, schema: Schema) -> dict[str, Fraction]:
    """How far apart records get on each statistic, squared, out of what is claimed."""
    found: dict[str, Fraction] = {}
    for number, stage in enumerate(method.stages(schema)):
        for statistic in (line.statistic for line in stage):
            name, known = statistic.name, witnesses(schema)
            for pair in [known[name]] if name in known else [*known.values(), *opposites(schema)]:
                x, y = (added(one, schema, method, number)[name][1] for one in pair)
                part = squared_distance(x, y) / statistic.row_sensitivity_squared
                found[name] = max(part, found.get(name, Fraction(0)))
    return found


@pytest.mark.parametrize(("method", "schema"), TIGHT)
def test_the_claimed_sensitivity_is_nearly_attained_by_every_statistic(
    method: PrivateMethod, schema: Schema
) -> None:
    for name, part in attained(method, schema).items():
        assert Fraction(95, 100) ** 2 <= part <= 1, name


@pytest.mark.parametrize("method", [Trust(), DPScore(), DPMarkov(), CopulaScore()], ids=named)
def test_two_patients_attain_the_sensitivity_of_times_to_event_and_of_counts_in_pairs(
    method: PrivateMethod,
) -> None:
    schema = RESOLVED["times"]
    found = {
        name: added(one, schema, method)
        for name in ("times", "strata")
        for one in witnesses(schema)[name][:1]
    }
    for name, one in found.items():
        if name not in one:
            continue  # a method without a histogram of strata
        statistic, x = one[name]
        y = added(witnesses(schema)[name][1], schema, method)[name][1]
        assert squared_distance(x, y) == statistic.row_sensitivity_squared, name
        assert statistic.row_sensitivity_squared == {"times": 4, "strata": 6}[name]


@pytest.mark.parametrize("method", [Trust(), DPScore(), DPMarkov(), CopulaScore()], ids=named)
def test_two_patients_attain_the_sensitivity_of_point_masses(method: PrivateMethod) -> None:
    schema = RESOLVED["points"]
    (statistic, x), (_, y) = (
        added(one, schema, method)["point masses"] for one in witnesses(schema)["point masses"]
    )
    assert squared_distance(x, y) == statistic.row_sensitivity_squared == 2 * 2 * 60**2


def test_two_patients_reach_a_second_moments_bound_but_not_the_papers_which_is_larger() -> None:
    schema = wide(NUMBERS, constants={"gram_sensitivity": "triangle"})
    reached = attained(Trust(), schema)["second"]
    assert Fraction(95, 100) ** 2 / 2 <= reached <= Fraction(1, 2)


@pytest.mark.parametrize("release", ["separate", "joint"])
@pytest.mark.parametrize("bandwidth", [0, 1, 2, 3])
def test_products_of_slots_farther_apart_than_is_said_move_nothing(
    bandwidth: int, release: str
) -> None:
    """Records with values in two places, alike but for the sign in the second: only products of the
    two places tell them apart. What is static, here the first variable, is near to every slot."""
    variables = [number("age", static=True), *NUMBERS[:2]]
    schema = wide(variables, constants={"bandwidth": bandwidth, "release": release})
    method, name = Trust(), "joint" if release == "joint" else "second"
    (statistic,) = (s.statistic for s in method.stages(schema)[0] if s.name == name)
    said = f"slots at most {bandwidth} apart, or static"
    assert (said in statistic.meaning) == (bandwidth < 3)
    slots = [slot[:, None] & [False, True, True] for slot in np.eye(4, dtype=bool)]
    static = np.eye(4, dtype=bool)[0][:, None] & [True, False, False]
    for (a, first), (b, second) in combinations(enumerate([static, *slots], -1), 2):
        shape = {"observed": first | second, "length": 4, "shape": (4, 3)}
        pair = (one_patient(np.where(second, sign, 1.0), **shape) for sign in (1.0, -1.0))
        x, y = (np.array(added(one, schema, method)[name][1]) for one in pair)
        products = statistic.left * (1 + statistic.right)  # after the sums of a joint release
        assert np.array_equal(x[products:], y[products:]) == (a >= 0 and b - a > bandwidth)


COPULA = [
    pytest.param(wide(NUMBERS), {"lag blocks", "marginals"}, id="four variables"),
    pytest.param(wide(MIXED), {"lag blocks", "marginals"}, id="static and nominal"),
    pytest.param(
        wide(NUMBERS[:1], slots=1), {"marginals", "severity"}, id="one variable in one slot"
    ),
    pytest.param(
        wide(NUMBERS, constants={"strength": 2000.0}),
        {"lag blocks", "marginals", "labels"},
        id="labels",
    ),
]


@pytest.mark.parametrize(("schema", "loose"), COPULA)
def test_copula_score_attains_what_it_claims_or_is_known_to_stay_below(
    schema: Schema, loose: set[str]
) -> None:
    """No two records have opposite waves at every speed, or opposite products at every distance:
    there the ball is larger than what patients can fill. Nor does one variable alone carry a long
    severity score. And rows of labels are opposite only if an event is expected for sure."""
    for name, part in attained(CopulaScore(), schema).items():
        least = 0.35 if name in loose else 0.95
        assert least**2 <= part <= 1, name


def test_a_nominal_channel_can_only_rise_so_squares_of_it_stay_within_their_claim() -> None:
    """dp-score centres z² at ½ for every channel; of a nominal value one channel is 1 at most."""
    schema = wide(MIXED)
    (x, y), name = witnesses(schema)["squares"], "squares"
    statistic, one = added(x, schema, DPScore())[name]
    other = added(y, schema, DPScore())[name][1]
    assert 0 < squared_distance(one, other) <= statistic.row_sensitivity_squared


def test_the_released_condition_moment_is_bounded_over_all_pairs_of_strata() -> None:
    """c takes finitely many values, so this is a proof by enumeration; the bound is not tight."""
    schema = RESOLVED["paper"]
    statistic = Trust().lines(schema)["conditions"].statistic
    rows = condition_matrix(schema)
    sums = [integers(statistic, Contribution(rows[s : s + 1])) for s in range(len(rows))]
    worst = max(squared_distance(a, b) for a, b in combinations(sums, 2))
    assert 0 < worst <= statistic.row_sensitivity_squared


@pytest.mark.parametrize("sites", [1, 2, 3, 7])
def test_a_condition_vector_never_exceeds_its_declared_norm(sites: int) -> None:
    levels = {"column": "site", "levels": [f"s{i}" for i in range(sites)]}
    schema = Schema.model_validate(small_schema().model_dump() | {"site": levels})
    matrix = condition_matrix(schema)
    assert matrix.shape == (4 * sites, {1: 4}.get(sites, 5 + sites - 1))
    assert (matrix**2).sum(axis=1).max() == (4 if sites == 1 else 6)
