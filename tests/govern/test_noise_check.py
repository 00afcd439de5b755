"""The noise check sees forged noise, and does not suspect honest noise.

Every draw has a seed, so these tests cannot fail by chance.
"""

import time
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import smirnov

from longsynth import Refused, plan
from longsynth.bundle import Bundle
from longsynth.govern.keys import load_private, make_keys
from longsynth.methods.fact import Fact, each
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import METHODS, private_method
from longsynth.privacy.budget import Budget
from longsynth.privacy.ledger import Ledger, Released, price
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution, Sums, add_up
from longsynth.reading.records import Cohort
from longsynth.release.folder import Release, release_files
from longsynth.release.noise_check import (
    IMPOSSIBLE,
    UNUSUAL,
    Look,
    NoiseCheck,
    check_noise,
    in_words,
    possible_sums,
    similar_numbers,
    too_large,
    too_small,
)
from longsynth.release.verify import sign, verify
from longsynth.schema.schema import Schema
from longsynth_lab.forgery import (
    FORGERIES,
    Exposed,
    below_the_lift,
    exposed,
    less_noise,
    no_noise,
    on_every_other,
    one_or_two,
    the_same_on_all,
)
from longsynth_lab.paper.section_v import AS_PRINTED
from support import earlier, rows_of
from ward import ward_cohort, ward_schema

PATIENTS = 300
PRIVATE = [name for name, method in METHODS.items() if isinstance(method, PrivateMethod)]
CASES: dict[str, tuple[str, Schema]] = {name: (name, ward_schema()) for name in PRIVATE} | {
    "trust, joint": ("trust", ward_schema(constants={"release": "joint"})),
    "trust, conditions": ("trust", ward_schema(constants={"condition_gram": "released"})),
    "trust, as printed": ("trust", ward_schema(constants=dict(AS_PRINTED))),
    "dp-markov, full": ("dp-markov", ward_schema(length="full")),
    "copula-score, full": ("copula-score", ward_schema(length="full")),
}


@cache
def scene(case: str, epsilon: float = 4.0) -> Exposed:
    """True sums behind a plan; with a large ε, the noise is smaller than the units of the sums."""
    name, schema = CASES[case]
    planned = plan(schema, PATIENTS, epsilon=epsilon, delta=1e-5, method=name, accounting="zcdp")
    return exposed(ward_cohort(PATIENTS, seed=2), planned, seed=1)


@cache
def facts_in(method: str, schema: Schema) -> tuple[Fact, ...]:
    return tuple(private_method(method).facts(schema))


def checked(bundle: Bundle) -> NoiseCheck:
    return check_noise(bundle, facts_in(bundle.method, bundle.schema))


def written(bundle: Bundle, folder: Path) -> Path:
    folder.mkdir()
    for name, content in release_files(Release(bundle)).items():
        (folder / name).write_bytes(content)
    return folder


# --- the hole ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRIVATE)
def test_true_sums_plus_one_or_two_fail_verify_and_cannot_be_signed(
    name: str, tmp_path: Path
) -> None:
    forged = scene(name).release(default_rng(3), one_or_two)
    assert min(e.sigma for e in forged.ledger.entries) > 1e7, "where the noise is this large"
    release = written(forged, tmp_path / "release")
    failures = [finding.sentence for finding in verify(release) if not finding.good]
    assert len(failures) == 1
    assert "do NOT carry the noise" in failures[0]
    make_keys(tmp_path / "key", name="steward")
    with pytest.raises(Refused, match=r"cannot be signed:\n- .*do NOT carry the noise"):
        sign(release, load_private(tmp_path / "key"), signer="steward")
    assert not (release / "signature.json").exists()


@pytest.mark.parametrize("name", PRIVATE)
def test_honest_noise_passes_verify_and_its_probability_is_said(name: str, tmp_path: Path) -> None:
    release = written(scene(name).release(default_rng(4)), tmp_path / "release")
    findings = verify(release)
    assert all(finding.good for finding in findings)
    said = [f.sentence for f in findings]
    assert sum("The numbers alone cannot prove that" in s for s in said) == 1
    assert sum("look like noise of the stated size" in s for s in said) == 1


# --- what is known is true of every patient ---------------------------------------------------


def strange_patients() -> Cohort:
    """The ward's, and some whose records hold what no record should."""
    cohort = ward_cohort(24, seed=9)
    wild = cohort.values[:8]
    wild[:4], wild[4:6], wild[6:8] = 1e308, np.nan, -np.inf
    cohort.gaps[4:12:3], cohort.gaps[2:12:3] = np.inf, -5.0
    cohort.observed[::2] = True
    cohort.length[::5] = 99
    return cohort


@cache
def sums_of_each(case: str) -> list[dict[str, Sums]]:
    name, schema = CASES[case]
    method, resolved = METHODS[name], schema.resolved(PATIENTS, 1.0)
    assert isinstance(method, PrivateMethod)
    cohort = strange_patients()
    rows: list[tuple[Statistic, Contribution]] = []
    with np.errstate(all="ignore"):
        for stage in method.stages(resolved):
            so_far = earlier(method, resolved, stage)
            found = rows_of(method, cohort, resolved, stage, so_far)
            rows += [(line.statistic, found[line.name]) for line in stage]
    return [
        {s.name: add_up(s, Contribution(*(side[i : i + 1] for side in c))) for s, c in rows}
        for i in range(cohort.patients)
    ]


@pytest.mark.parametrize("case", CASES)
def test_facts_hold_for_every_patient_alone(case: str) -> None:
    name, schema = CASES[case]
    facts = list(private_method(name).facts(schema.resolved(PATIENTS, 1.0)))
    assert facts
    for sums in sums_of_each(case):
        for fact in facts:
            found = sum(w.astype(np.int64) @ sums[n].total for n, w in fact.weights.items())
            assert (found == fact.value).all(), fact.says


@pytest.mark.parametrize("case", CASES)
def test_no_number_has_a_part_in_two_sums_of_a_fact(case: str) -> None:
    name, schema = CASES[case]
    for fact in list(private_method(name).facts(schema.resolved(PATIENTS, 1.0))):
        for weights in fact.weights.values():
            assert ((weights != 0).sum(axis=0) <= 1).all(), fact.says


@pytest.mark.parametrize("case", CASES)
def test_every_patient_adds_a_multiple_of_the_unit_within_the_range(case: str) -> None:
    reached = False
    for sums in sums_of_each(case):
        for found in sums.values():
            possible, total = possible_sums(found.statistic), found.total * found.statistic.lift
            assert (total % possible.unit == 0).all()
            assert (total >= possible.low).all()
            assert (total <= possible.high).all()
            reached |= bool((total[total != 0] == possible.high[total != 0]).any())
    assert reached, "a range that nobody reaches could be any"


@pytest.mark.parametrize(
    "statistic",
    [
        Statistic("count", "", "count", 12, blocks=2),
        Statistic("cross", "", "cross", 6, 9, left=3, left_squared=4),
        Statistic("gram", "", "gram", 5, 9),
        Statistic("band", "", "gram", 5, 9, band=(2, 3, 5, 5, 5)),
        Statistic("joint", "", "joint", 5, 9, left=3, left_squared=1, sum_weight=58),
        Statistic("one", "", "count", 1),
    ],
    ids=lambda s: s.name,
)
def test_similar_numbers_are_pairs_at_one_distance_and_none_is_used_twice(
    statistic: Statistic,
) -> None:
    """Each number named by what it stands for: its place in a row, or two places in a matrix."""
    if statistic.kind in ("gram", "joint"):
        ends = statistic.band or (statistic.right,) * statistic.right
        named = [(i, j) for i in range(statistic.right) for j in range(i, ends[i])]
    else:
        named = []
    cells = statistic.left if statistic.kind == "joint" else 0
    rows = statistic.dimension - len(named) - cells
    names = [None] * cells + [(-1 - k // statistic.right, k % statistic.right) for k in range(rows)]
    names += named
    assert len(names) == statistic.dimension
    found = list(similar_numbers(statistic))
    assert len(found) == statistic.right - 1
    for distance, (one, other) in enumerate(found, 1):
        assert len(set(one) | set(other)) == 2 * len(one)
        for a, b in zip(one, other, strict=True):
            (i, j), (k, m) = names[a], names[b]  # type: ignore[misc]
            assert m - j == distance
            assert k - i == (distance if i >= 0 else 0)


# --- honest noise -----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [4.0, 90.0])
@pytest.mark.parametrize("case", CASES)
def test_no_test_gives_honest_noise_a_smaller_chance_than_it_has(case: str, epsilon: float) -> None:
    """Each chance is as large as a uniform number, or larger (one-sided Kolmogorov–Smirnov)."""
    exposed_, rng, n = scene(case, epsilon), default_rng(5), 60
    checks = [checked(exposed_.release(rng)) for _ in range(n)]
    assert {c.outcome for c in checks} == {"like noise"}
    chances = np.sort([[t.chance for t in c.tests] for c in checks], axis=0)
    above = (np.arange(1, n + 1) / n)[:, None] - chances
    assert smirnov(n, max(float(above.max()), 0.0)) > 1e-6
    together = np.sort([c.chance for c in checks])
    assert smirnov(n, max(float((np.arange(1, n + 1) / n - together).max()), 0.0)) > 1e-3


def test_distances_of_noise_alone_are_judged_neither_too_small_nor_too_large() -> None:
    rng, n = default_rng(6), 2000
    for size in (1, 2, 7, 64, 500):
        drawn = np.abs(rng.standard_normal((n, size)))
        for judge in (too_small, too_large):
            chances = np.sort([judge(row) for row in drawn])
            above = np.arange(1, n + 1) / n - chances
            assert smirnov(n, float(above.max())) > 1e-6, (size, judge)
            assert (chances < 0.2).mean() > 0.02, "and not so cautious that it never speaks"


def test_distances_that_are_off_by_a_factor_are_seen() -> None:
    drawn = np.abs(default_rng(7).standard_normal(200))
    assert too_small(drawn / 2) < IMPOSSIBLE < 0.01 < too_large(drawn / 2)
    assert too_large(drawn * 2) < IMPOSSIBLE < 0.01 < too_small(drawn * 2)
    few = drawn.copy()
    few[:4] = 1e-7
    assert too_small(few) < IMPOSSIBLE, "four of two hundred are exact"
    few[:4] = 7.0
    assert too_large(few) < IMPOSSIBLE
    for nothing in (np.zeros(0), np.array([1.0])):
        assert too_small(nothing) > 0.1 < too_large(nothing)


def test_a_coincidence_that_whole_numbers_allow_is_not_held_impossible() -> None:
    """Two equal numbers and a zero have a chance of about 1e-8 each, not of nothing."""
    bundle = scene("trust").release(default_rng(13))
    line = bundle.released["values"]
    at_zero, equal = line.values.copy(), line.values.copy()
    at_zero[3], equal[1] = 0, equal[0]
    for values in (at_zero, equal):
        moved = bundle.released | {"values": replace(line, values=values)}
        found = checked(replace(bundle, released=moved))
        assert found.outcome != "impossible"
        assert 1e-9 < min(look.chance for look in found.tests) < 1e-3


# --- forged noise -----------------------------------------------------------------------------

ON_ALL_LINES = {
    "no noise": no_noise,
    "plus one or two": one_or_two,
    "a thousandth": less_noise(1000),
    "a tenth": less_noise(10),
    "on every other number": on_every_other,
    "the same on all": the_same_on_all,
    "below the lift": below_the_lift,
}


@pytest.mark.parametrize("forged", ON_ALL_LINES)
@pytest.mark.parametrize("case", CASES)
def test_forged_noise_on_all_lines_is_rejected(case: str, forged: str) -> None:
    rng = default_rng(8)
    found = [checked(scene(case).release(rng, ON_ALL_LINES[forged])) for _ in range(3)]
    assert [c.outcome for c in found] == ["impossible"] * 3


@pytest.mark.parametrize("epsilon", [4.0, 90.0])
@pytest.mark.parametrize("case", CASES)
def test_a_line_without_noise_is_rejected_if_it_has_more_than_one_number(
    case: str, epsilon: float
) -> None:
    found, rng = scene(case, epsilon), default_rng(9)
    for forgery in (no_noise, one_or_two):
        for line, sums in found.sums.items():
            outcome = checked(found.release(rng, forgery, line)).outcome
            assert outcome == ("impossible" if len(sums) > 1 else "unusual"), line


def test_the_right_noise_from_a_known_seed_is_not_noticed() -> None:
    """What the documentation says that nobody can find from the numbers."""
    forgery = FORGERIES["the right noise, from a known seed"]
    for name in PRIVATE:
        assert checked(scene(name).release(default_rng(0), forgery)).outcome == "like noise"


def test_strata_that_add_up_too_well_or_too_badly_are_said_so() -> None:
    found = scene("trust")
    bundle = found.release(default_rng(10))
    fact = facts_in("trust", bundle.schema)[0]
    line = bundle.released["strata"]
    lift, sigma = line.entry.statistic.lift, line.entry.sigma
    values = line.values.copy()
    values[0] += PATIENTS * lift - values.sum()
    for shift, bad in ((0, 0), (int(4 * 12**0.5 * sigma), 1)):
        values[0] += shift
        moved = bundle.released | {"strata": replace(line, values=values)}
        chances = [
            t.chance
            for t in check_noise(replace(bundle, released=moved), [fact]).tests
            if fact.says in t.sentence
        ]
        assert chances[bad] < 2e-4 < 0.5 < chances[1 - bad]
    exact = sigma * 12**0.5
    values[0] = line.values[0] + PATIENTS * lift - line.values.sum()
    moved = bundle.released | {"strata": replace(line, values=values)}
    tests = check_noise(replace(bundle, released=moved), [fact]).tests
    chance = next(t.chance for t in tests if fact.says in t.sentence)
    assert chance == pytest.approx(2 / exact / (2 * np.pi) ** 0.5, rel=1e-3), "of that very number"


# --- verdicts and words -----------------------------------------------------------------------


def test_chances_are_multiplied_by_the_number_of_tests() -> None:
    worst = Look("'x': bad.", 3e-11)
    assert NoiseCheck((worst,)).outcome == "impossible"
    assert NoiseCheck((worst, *[Look("'y': bad.", 0.5)] * 39)).outcome == "unusual"
    assert NoiseCheck((worst, *[Look("'y': bad.", 0.5)] * 39)).chance == pytest.approx(1.2e-9)
    assert NoiseCheck((Look("'x': bad.", 2e-4),)).outcome == "like noise"
    assert NoiseCheck(()).chance == 1.0
    assert (IMPOSSIBLE, UNUSUAL) == (1e-9, 1e-4)


def test_a_verdict_names_what_is_wrong_and_how_rare_it_is() -> None:
    bad = tuple(Look(f"'{i}': bad.", 0.0) for i in range(5))
    said = NoiseCheck(bad).sentence
    assert "fewer than 1 of 10³⁰ releases" in said
    assert "'0': bad. '1': bad. '2': bad. 2 more tests say so." in said
    unusual = NoiseCheck((Look("'x': bad.", 1e-6),)).sentence
    assert unusual.startswith("UNUSUAL noise")
    assert "1 of 1,000,000 releases. 'x': bad." in unusual


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (1.0, "up to 100 of 100 releases"),
        (0.334, "up to 34 of 100 releases"),
        (0.0101, "up to 2 of 100 releases"),
        (0.004, "up to 1 of 250 releases"),
        (3.1e-5, "up to 1 of 32,000 releases"),
        (2.5e-13, "fewer than 1 of 10¹² releases"),
        (0.0, "fewer than 1 of 10³⁰ releases"),
    ],
)
def test_a_chance_is_told_as_a_number_of_releases(chance: float, words: str) -> None:
    assert in_words(chance) == words


# --- any numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("value", [-(1 << 63), (1 << 63) - 1, 0, 1])
def test_any_numbers_get_a_verdict(case: str, value: int) -> None:
    bundle = scene(case).release(default_rng(11))
    filled = {
        n: Released(np.full(len(r.values), value, np.int64), r.entry)
        for n, r in bundle.released.items()
    }
    assert checked(replace(bundle, released=filled)).outcome == "impossible"


def bundle_of(statistic: Statistic, patients: int) -> Bundle:
    entry = price(statistic, Fraction(1, 2), Budget(4.0, 1e-5, "zcdp"))
    noise = default_rng(12).standard_normal(statistic.dimension) * entry.sigma
    released = {statistic.name: Released(np.rint(noise).astype(np.int64), entry)}
    return Bundle("other", ward_schema(), Ledger(None, patients, (entry,)), released)


def test_a_hundred_thousand_numbers_take_less_than_a_second() -> None:
    bundle = bundle_of(Statistic("large", "", "gram", 446, 1 << 30, grid=1 << 14), 1000)
    numbers = len(bundle.released["large"].values)
    facts = [Fact("all are 0", {"large": each(np.arange(numbers), numbers)})]
    before = time.process_time()
    found = check_noise(bundle, facts)
    assert time.process_time() - before < 1.0
    assert (found.outcome, numbers > 99_000) == ("like noise", True)


@pytest.mark.parametrize("right", [1, 2, 3])
def test_lines_of_hardly_any_numbers_are_checked(right: int) -> None:
    for kind, more in (
        ("count", {}),
        ("cross", {"right_squared": 1 << 60, "left": 1, "left_squared": 1}),
        ("gram", {"right_squared": 9}),
    ):
        statistic = Statistic("few", "", kind, right, **more)  # type: ignore[arg-type]
        found = check_noise(
            bundle_of(statistic, 5), [Fact("nothing", {"few": each(np.arange(0), right)})]
        )
        assert found.outcome == "like noise"
