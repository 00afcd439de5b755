"""Numerical checks of the theorems in docs/privacy.md.

Everything here is rebuilt from the statements alone: the package is not imported, so a mistake
in the code cannot hide a mistake in the mathematics. Most claims come with a negative control,
a nearby claim that is false and that the same search refutes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting import pld, rdp
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

DIAGONAL, OFF_DIAGONAL = 29, 41  # whole-number stand-ins for 1 and sqrt(2)
EPSILON_RESERVE = mpf(10) ** -9
DELTA_RESERVE = mpf(10) ** -6
SHAPE_CAP = 4 * mpf(10) ** -7  # cap on A
PAGE = Path(__file__).parents[2] / "docs" / "privacy.md"


@pytest.fixture(autouse=True)
def fifty_digits() -> Iterator[None]:
    with mp.workdps(50):
        yield


# --------------------------------------------------------------------------------------------
# Sensitivities: every pair of small integer rows
# --------------------------------------------------------------------------------------------


def ball(dimension: int, squared_radius: int) -> np.ndarray:
    """All integer vectors of the given dimension whose squared norm is within the bound."""
    reach = math.isqrt(squared_radius)
    grid = itertools.product(range(-reach, reach + 1), repeat=dimension)
    return np.array([k for k in grid if sum(x * x for x in k) <= squared_radius])


def svec(z: np.ndarray, off_diagonal: int = OFF_DIAGONAL) -> np.ndarray:
    i, j = np.triu_indices(z.shape[1])
    return np.where(i == j, DIAGONAL, off_diagonal) * z[:, i] * z[:, j]


def widest(rows: np.ndarray) -> int:
    """The largest squared distance between two rows, in exact integers."""
    rows = rows.astype(np.int64)
    norms = (rows * rows).sum(axis=1)
    return int((norms[:, None] + norms[None, :] - 2 * rows @ rows.T).max())


def joint_rows(z: np.ndarray, strata: int, histogram: int, cross: int) -> np.ndarray:
    """Every (stratum or none, z) as one row (W_h e_s, W_B e_s x z, svec zz')."""
    blocks = []
    for stratum in range(-1, strata):
        hot = np.zeros((len(z), strata), dtype=np.int64)
        if stratum >= 0:
            hot[:, stratum] = 1
        outer = (hot[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        blocks.append(np.hstack([histogram * hot, cross * outer, svec(z)]))
    return np.vstack(blocks)


def joint_claim(squared_radius: int, cross: int) -> int:
    """58^2 times the claimed squared sensitivity of Joint, so that it is an integer."""
    return 2 * (DIAGONAL * 58 * squared_radius + cross * cross) ** 2


def test_moving_one_patient_between_cells_moves_a_count_by_root_two_at_most() -> None:
    cells = np.vstack([np.eye(5, dtype=int), np.zeros((1, 5), dtype=int)])
    assert widest(cells) == 2


@pytest.mark.parametrize("total", [1, 2, 3])
@pytest.mark.parametrize("blocks", [1, 2])
def test_non_negative_blocks_move_by_q_root_2b_and_no_less_will_do(total: int, blocks: int) -> None:
    block = [k for k in itertools.product(range(total + 1), repeat=3) if sum(k) <= total]
    rows = np.array([sum(parts, ()) for parts in itertools.product(block, repeat=blocks)])
    assert widest(rows) == 2 * blocks * total**2


def test_signed_blocks_break_the_bound_for_non_negative_ones() -> None:
    block = [k for k in itertools.product(range(-2, 3), repeat=2) if sum(map(abs, k)) <= 2]
    assert widest(np.array(block)) == 4 * 2**2


@pytest.mark.parametrize(("left", "right"), [((2, 2), (2, 5)), ((3, 6), (2, 5)), ((1, 1), (3, 9))])
def test_a_cross_moment_moves_by_twice_the_product_of_radii_and_no_less_will_do(
    left: tuple[int, int], right: tuple[int, int]
) -> None:
    c, z = ball(*left), ball(*right)
    rows = (c[:, None, :, None] * z[None, :, None, :]).reshape(len(c) * len(z), -1)
    assert widest(rows) == 4 * left[1] * right[1]


def test_centring_a_mask_at_one_half_makes_the_cross_bound_exact() -> None:
    c = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    mask = np.array(list(itertools.product((0, 2), repeat=4)))  # in units of one half
    measured = []
    for z in (mask, mask - 1):
        rows = (c[:, None, :, None] * z[None, :, None, :]).reshape(len(c) * len(z), -1)
        measured.append(widest(rows) / (4 * 2 * (z * z).sum(axis=1).max()))
    assert measured == [0.25, 1.0]


def padded_rows(padding: int) -> np.ndarray:
    """Every mask of one static cell and three slots of two variables, by length: ±1 or padding."""
    rows = []
    for length in range(4):
        for used in itertools.product((-1, 1), repeat=1 + 2 * length):
            rows.append([*used, *[padding] * (2 * (3 - length))])
    return np.array(rows)


def test_padding_at_the_centre_of_a_mask_costs_nothing_and_anywhere_else_it_would() -> None:
    c = np.array([[1, 0], [1, 1]])
    measured = {}
    for padding in (-2, 0, 2):
        z = padded_rows(padding)
        rows = (c[:, None, :, None] * z[None, :, None, :]).reshape(len(c) * len(z), -1)
        measured[padding] = widest(rows) / (4 * 2 * 7)  # 4·R_c²·C with seven cells
    assert measured[0] == 1
    assert measured[-2] > 1
    assert measured[2] > 1


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_the_channels_of_a_nominal_cell_have_norm_one_however_many_there_are(levels: int) -> None:
    cell = np.vstack([np.eye(levels, dtype=int), np.zeros((1, levels), dtype=int)])
    rows = np.array([np.concatenate(pair) for pair in itertools.product(cell, repeat=2)])
    assert (rows * rows).sum(axis=1).max() == 2  # two cells
    assert widest(rows) == 2 * 2, "two records of nominal cells: √2 of the radius, not 2"
    several = np.array(list(itertools.product((0, 1), repeat=levels)))
    assert (several * several).sum(axis=1).max() == levels, "were levels not exclusive"


def test_squares_centred_at_one_half_stay_within_a_half_with_padding_in_the_middle() -> None:
    r = np.linspace(-1, 1, 201)
    entries = np.append(r**2 - 0.5, 0.0)
    assert np.abs(entries).max() == 0.5
    rows = np.array(list(itertools.product(entries[::20], repeat=3)))
    assert (rows**2).sum(axis=1).max() == pytest.approx(3 / 4)


@pytest.mark.parametrize(("dimension", "squared_radius"), [(2, 25), (2, 50), (3, 9), (4, 4)])
def test_a_gram_matrix_moves_by_29_root_2_r_squared_and_no_less_will_do(
    dimension: int, squared_radius: int
) -> None:
    measured = widest(svec(ball(dimension, squared_radius)))
    claim = 2 * DIAGONAL**2 * squared_radius**2
    assert 0.999 * claim <= measured <= claim


def test_41_is_the_largest_weight_the_off_diagonal_can_carry() -> None:
    squared_radius = 50  # (5, 5) and (5, -5) differ off the diagonal only
    claim = 2 * DIAGONAL**2 * squared_radius**2
    assert widest(svec(ball(2, squared_radius), OFF_DIAGONAL)) <= claim
    assert widest(svec(ball(2, squared_radius), OFF_DIAGONAL + 1)) > claim


BANDS = [(1, 2, 3, 4), (2, 3, 4, 4), (4, 3, 4, 4), (3, 2, 4, 4)]


def banded(z: np.ndarray, ends: tuple[int, ...]) -> np.ndarray:
    """svec without the products of entry i with the entries from ends[i] on."""
    i, j = np.triu_indices(z.shape[1])
    return svec(z)[:, j < np.array(ends)[i]]


@pytest.mark.parametrize("ends", BANDS, ids=str)
def test_a_band_of_a_gram_matrix_moves_by_no_more_than_all_of_it_and_no_less_will_do(
    ends: tuple[int, ...],
) -> None:
    z, claim = ball(4, 4), 2 * DIAGONAL**2 * 4**2
    rows = banded(z, ends)
    assert rows.shape[1] == sum(ends) - 6
    assert widest(rows) == claim
    assert widest(rows) > claim * rows.shape[1] / 10  # what a price by the number would be, of ten


@pytest.mark.parametrize("ends", BANDS, ids=str)
@pytest.mark.parametrize("cross", [58, 116])
def test_a_joint_release_of_a_band_attains_the_bound_of_all_of_it(
    ends: tuple[int, ...], cross: int
) -> None:
    z = ball(4, 4)
    sums = joint_rows(z, 2, cross**2 // 58, cross)[:, : 2 * (1 + 4)]
    rows = np.hstack([sums, np.tile(banded(z, ends), (3, 1))])
    assert 58**2 * widest(rows) == joint_claim(4, cross)


@pytest.mark.parametrize(("dimension", "squared_radius"), [(2, 25), (3, 9)])
@pytest.mark.parametrize("cross", [0, 29, 58, 116, 201, 580])
def test_joint_rows_stay_within_their_bound_for_every_allowed_histogram_weight(
    dimension: int, squared_radius: int, cross: int
) -> None:
    z = ball(dimension, squared_radius)
    for histogram in {0, cross**2 // 116, cross**2 // 58}:
        measured = 58**2 * widest(joint_rows(z, 2, histogram, cross))
        assert measured <= joint_claim(squared_radius, cross)


@pytest.mark.parametrize("cross", [58, 116, 580])
def test_the_joint_bound_is_attained_across_strata(cross: int) -> None:
    rows = joint_rows(ball(2, 25), 2, cross**2 // 58, cross)
    assert 58**2 * widest(rows) == joint_claim(25, cross)


def test_the_joint_bound_is_attained_within_one_stratum() -> None:
    cross = 201  # 201^2 is close to 1682 * 24, the optimum for z = (4, 3) and w = (-3, -4)
    rows = joint_rows(ball(2, 25), 1, 0, cross)
    assert 58**2 * widest(rows) >= 0.999 * joint_claim(25, cross)


@pytest.mark.parametrize("cross", [58, 116])
def test_a_heavier_histogram_breaks_the_joint_bound(cross: int) -> None:
    z, allowed = ball(2, 25), cross**2 // 58
    for histogram in (allowed + 1, 2 * allowed):
        measured = 58**2 * widest(joint_rows(z, 2, histogram, cross))
        assert measured > joint_claim(25, cross)


def test_a_lift_multiplies_every_distance_and_so_leaves_rho_alone() -> None:
    rows = joint_rows(ball(2, 9), 2, 58, 58)
    assert widest(1024 * rows) == 1024**2 * widest(rows)


# --------------------------------------------------------------------------------------------
# The integer encoding
# --------------------------------------------------------------------------------------------


def box_of(dimension: int) -> int:
    return math.isqrt((2**63 - 1) // dimension) // 2


def rounded(u: np.ndarray, squared_radius: int) -> np.ndarray:
    """The rounding rule alone: nearest integers, and a shrunken second try for a long row."""
    k = np.rint(u).astype(np.int64)
    if int((k * k).sum()) <= squared_radius:
        return k
    shrunk = math.sqrt(squared_radius) - math.sqrt(len(u)) / 2 - 1
    if shrunk <= 0:
        return np.zeros_like(k)
    return np.rint(shrunk * (u / np.linalg.norm(u))).astype(np.int64)


def encode(
    u: np.ndarray,
    squared_radius: int,
    rule: Callable[[np.ndarray, int], np.ndarray] = rounded,
) -> np.ndarray:
    """Box, round by the rule, and let only rows that pass the integer check through."""
    box = box_of(len(u))
    boxed = np.clip(np.nan_to_num(u, nan=0.0, posinf=0.0, neginf=0.0), -box, box)
    k = np.clip(rule(boxed, squared_radius), -box, box)
    return k if int((k * k).sum()) <= squared_radius else np.zeros_like(k)


def adversarial_rows(dimension: int, radius: float, rng: np.random.Generator) -> np.ndarray:
    direction = rng.standard_normal((6, dimension))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    halves = np.floor(radius * direction) + 0.5
    near = np.concatenate([radius * f * direction for f in (1, 1 + 1e-15, 1 + 1e-9, 1.001, 1e12)])
    flat = radius / math.sqrt(dimension)
    level = np.array([np.full(dimension, v) for v in (flat, -flat, flat + 0.5, 0.5, -0.0, 1e308)])
    spike = np.eye(1, dimension) * np.array([[radius], [radius + 0.5], [1e300], [-1e308]])
    return np.concatenate([halves, near, level, spike])


@pytest.mark.parametrize("dimension", [1, 2, 7, 84, 1000])
def test_the_rounding_rule_alone_keeps_adversarial_rows_inside_the_ball(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    for radius in (0.5, 1.0, math.sqrt(dimension) / 2 + 1.5, 100.0, 4096.0, 2.0**30):
        squared_radius = int(radius**2)
        for u in adversarial_rows(dimension, radius, rng):
            boxed = np.clip(u, -box_of(dimension), box_of(dimension))
            assert int((rounded(boxed, squared_radius) ** 2).sum()) <= squared_radius


def test_rescaling_to_the_radius_itself_would_not_be_enough() -> None:
    u = np.full(84, 40.5)
    squared_radius = int(84 * 40.5**2)
    careless = np.rint(math.sqrt(squared_radius) * u / np.linalg.norm(u) + 1e-9)
    assert int((careless**2).sum()) > squared_radius


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=12),
    st.integers(0, 10_000),
)
def test_no_row_at_all_leaves_the_integer_ball(row: list[float], squared_radius: int) -> None:
    k = encode(np.array(row), squared_radius)
    assert sum(int(x) ** 2 for x in k) <= squared_radius  # Python integers cannot overflow


@pytest.mark.parametrize(
    "rule",
    [
        lambda u, _: np.rint(u).astype(np.int64),
        lambda u, _: np.full(len(u), 2**31, dtype=np.int64),
        lambda u, _: np.full(len(u), np.iinfo(np.int64).min + 1),
    ],
    ids=["never clips", "constant and far too large", "smallest machine integer"],
)
def test_the_check_keeps_the_bound_even_when_the_rounding_rule_is_wrong(
    rule: Callable[[np.ndarray, int], np.ndarray],
) -> None:
    u = np.array([1e9, np.nan, -np.inf, 3.0])
    assert encode(u, 25, rule).tolist() == [0, 0, 0, 0]


def test_without_a_box_an_overflow_would_slip_past_the_check() -> None:
    k = np.array([2**32], dtype=np.int64)
    assert int((k * k).sum()) <= 25 < (2**32) ** 2


# --------------------------------------------------------------------------------------------
# The discrete Gaussian under zCDP
# --------------------------------------------------------------------------------------------


def total_mass(s: mpf) -> mpf:
    """Z, from whichever side of Poisson's identity converges at once."""
    if s < 1:
        return 1 + 2 * mp.fsum(mp.exp(-(mpf(k) ** 2) / (2 * s * s)) for k in range(1, 30))
    dual = mp.fsum(mp.exp(-2 * (mp.pi * s * n) ** 2) for n in range(1, 6))
    return s * mp.sqrt(2 * mp.pi) * (1 + 2 * dual)


def masses(s: mpf, reach: int) -> dict[int, mpf]:
    half = [mp.exp(-(mpf(k) ** 2) / (2 * s * s)) for k in range(reach + 1)]
    z = total_mass(s)
    return {k: half[abs(k)] / z for k in range(-reach, reach + 1)}


def test_poissons_identity_gives_the_normaliser_and_its_lower_bound() -> None:
    for s in map(mpf, ("1", "1.2", "1.5")):
        direct = mp.fsum(mp.exp(-(mpf(k) ** 2) / (2 * s * s)) for k in range(-60, 61))
        assert mp.almosteq(direct, total_mass(s), rel_eps=mpf(10) ** -45)
        assert direct > s * mp.sqrt(2 * mp.pi)
        shifted = mp.fsum(mp.exp(-((k - mpf("0.3")) ** 2) / (2 * s * s)) for k in range(-60, 61))
        assert shifted < direct


@pytest.mark.parametrize("s", ["0.3", "0.7", "1", "2.5", "6"])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_the_renyi_divergence_never_exceeds_alpha_rho_and_reaches_it(s: str, shift: int) -> None:
    scale, attained = mpf(s), mpf(0)
    for alpha in map(mpf, ("1.1", "1.5", "2", "3.7", "8")):
        centre = (1 - alpha) * shift
        width = int(16 * scale) + 8
        window = range(int(centre) - width, int(centre) + width)
        terms = (
            mp.exp(-(alpha * mpf(k) ** 2 + (1 - alpha) * mpf(k - shift) ** 2) / (2 * scale**2))
            for k in window
        )
        divergence = mp.log(mp.fsum(terms) / total_mass(scale)) / (alpha - 1)
        ratio = divergence / (alpha * shift**2 / (2 * scale**2))
        assert ratio <= 1 + mpf(10) ** -40
        attained = max(attained, ratio)
    assert attained > 1 - mpf(10) ** -12  # any integer order gives equality


def adaptive_divergence(alpha: float, charge_after: Callable[[int], float]) -> float:
    """D_alpha of two stages, in units of alpha; the second is charged by the first output."""
    k = np.arange(-400, 401)
    s, shift = 10.0, 3
    log_p = -(k**2) / (2 * s * s)
    log_p -= np.log(np.exp(log_p).sum())
    log_q = -((k - shift) ** 2) / (2 * s * s)
    log_q -= np.log(np.exp(log_q).sum())
    later = np.array([alpha * (alpha - 1) * charge_after(int(o)) for o in k])
    total = np.exp(alpha * log_p + (1 - alpha) * log_q + later).sum()
    return float(np.log(total) / (alpha - 1) / alpha)


@pytest.mark.parametrize("alpha", [1.2, 2.0, 5.0])
def test_charges_chosen_after_seeing_outputs_stay_under_a_cap_fixed_beforehand(
    alpha: float,
) -> None:
    first, cap = 0.045, 0.1
    wishes = lambda o: 0.2 if o < -5 else 0.05 if o < 3 else 0.01  # noqa: E731
    granted = adaptive_divergence(alpha, lambda o: wishes(o) if first + wishes(o) <= cap else 0.0)
    assert granted <= cap
    assert adaptive_divergence(alpha, wishes) > cap  # without the refusal it fails


# --------------------------------------------------------------------------------------------
# Conversions
# --------------------------------------------------------------------------------------------


def phi(x: mpf) -> mpf:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def phi_inverse(p: mpf) -> mpf:
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


def gaussian_delta(mu: mpf, epsilon: mpf) -> mpf:
    return phi(mu / 2 - epsilon / mu) - mp.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


def log_delta(rho: mpf, epsilon: mpf, alpha: mpf) -> mpf:
    gain = (alpha - 1) * mp.log(alpha - 1) - alpha * mp.log(alpha)
    return (alpha - 1) * (alpha * rho - epsilon) + gain


def zcdp_epsilon(rho: mpf, delta: mpf, alpha: mpf) -> mpf:
    return alpha * rho - mp.log(delta * alpha) / (alpha - 1) + mp.log(1 - 1 / alpha)


def rho_paper(epsilon: mpf, delta: mpf) -> mpf:
    return (mp.sqrt(epsilon - mp.log(delta)) - mp.sqrt(-mp.log(delta))) ** 2


def rho_at(epsilon: mpf, delta: mpf, alpha: mpf) -> mpf:
    return (epsilon + mp.log(delta * alpha) / (alpha - 1) - mp.log(1 - 1 / alpha)) / alpha


def rho_zcdp(epsilon: mpf, delta: mpf) -> mpf:
    """The best order by ternary search; a poor one would be valid too, only smaller."""
    low, high = mpf(-4), mpf(8)  # log(alpha - 1)
    for _ in range(110):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if rho_at(epsilon, delta, 1 + mp.exp(a)) < rho_at(epsilon, delta, 1 + mp.exp(b)):
            low = a
        else:
            high = b
    return rho_at(epsilon, delta, 1 + mp.exp(low))


def mu_gaussian(epsilon: mpf, delta: mpf) -> mpf:
    low, high = mpf(10) ** -6, mpf(20)
    for _ in range(130):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return low


def mu_reserved(epsilon: mpf, delta: mpf) -> mpf:
    return mu_gaussian(epsilon - EPSILON_RESERVE, delta * (1 - DELTA_RESERVE))


def floor_to(value: mpf, digits: int) -> str:
    scaled = int(mp.floor(value * 10**digits))
    return f"{scaled // 10**digits}.{scaled % 10**digits:0{digits}d}"


def test_the_two_forms_of_the_zcdp_conversion_agree() -> None:
    for alpha in map(mpf, ("1.01", "2", "17.5", "900")):
        epsilon = zcdp_epsilon(mpf("0.3"), mpf(10) ** -5, alpha)
        difference = log_delta(mpf("0.3"), epsilon, alpha) - mp.log(mpf(10) ** -5)
        assert abs(difference) < mpf(10) ** -40


def test_the_factor_in_the_zcdp_conversion_is_a_true_maximum() -> None:
    x = np.linspace(0, 60, 600_001)
    for alpha in (1.05, 1.5, 3.0, 40.0):
        measured = ((1 - np.exp(-x)) * np.exp(-(alpha - 1) * x)).max()
        claim = (1 - 1 / alpha) ** alpha / (alpha - 1)
        assert 0.999 * claim <= measured <= claim * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4", "16"])
def test_the_paper_spends_least_then_zcdp_then_gaussian(epsilon: str) -> None:
    e, d = mpf(epsilon), mpf(10) ** -5
    rho = rho_zcdp(e, d)
    assert rho_paper(e, d) < rho < mu_gaussian(e, d) ** 2 / 2
    assert gaussian_delta(mp.sqrt(2 * rho), e) < d


def gaussian_event(rho: mpf) -> dp.GaussianDpEvent:
    return dp.GaussianDpEvent(noise_multiplier=float(1 / mp.sqrt(2 * rho)))


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4", "16"])
@pytest.mark.parametrize("delta", ["1e-5", "1e-9"])
def test_the_zcdp_conversion_agrees_with_an_independent_renyi_accountant(
    epsilon: str, delta: str
) -> None:
    rho = rho_zcdp(mpf(epsilon), mpf(delta))
    accountant = rdp.RdpAccountant(
        orders=1 + np.geomspace(0.01, 2000, 4000),
        neighboring_relation=dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    )
    measured = accountant.compose(gaussian_event(rho)).get_epsilon(float(delta))
    assert measured == pytest.approx(float(epsilon), rel=1e-5)


@pytest.mark.parametrize("epsilon", ["1", "4", "8"])
def test_the_gaussian_conversion_agrees_with_an_independent_loss_accountant(epsilon: str) -> None:
    mu = mu_gaussian(mpf(epsilon), mpf("1e-5"))
    accountant = pld.PLDAccountant(
        neighboring_relation=dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
        value_discretization_interval=2e-4,
    )
    measured = accountant.compose(gaussian_event(mu**2 / 2)).get_epsilon(1e-5)
    assert measured == pytest.approx(float(epsilon), abs=5e-4)


def test_rounding_rho_to_nearest_would_overstep_the_promise() -> None:
    delta, best = mpf("1e-5"), rho_zcdp(mpf(1), mpf("1e-5"))
    orders = [1 + mp.exp(mpf(k) / 1000) for k in range(1000, 4500)]
    assert min(zcdp_epsilon(mpf("0.030557"), delta, a) for a in orders) > 1
    assert floor_to(best, 6) == "0.030556"


def test_the_page_prints_the_budgets_the_formulas_give_rounded_down() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## 6")[1].split("## 7")[0]
    table = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:3] == "| *"]
    assert [float(row[0].strip("*")) for row in table] == [0.5, 1, 2, 4, 8, 12, 16]
    for row in table:
        e, d = mpf(row[0].strip("*")), mpf(10) ** -5
        rhos = rho_paper(e, d), rho_zcdp(e, d), mu_reserved(e, d) ** 2 / 2
        assert [cell.strip() for cell in row[1:]] == [floor_to(rho, 6) for rho in rhos]


def test_the_page_prints_the_attackers_success_rounded_up() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## 8")[1].split("## 9")[0]
    table = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:3] == "| *"]
    assert len(table) == 7
    for row in table:
        e, d = mpf(row[0].strip("*")), mpf(10) ** -5
        expected = []
        for mu in (mp.sqrt(2 * rho_zcdp(e, d)), mu_reserved(e, d)):
            for bound in (phi(mu / mp.sqrt(2)), phi(phi_inverse(mpf("0.01")) + mu)):
                expected.append(f"{int(mp.ceil(bound * 1000)) / 1000:.3f}")
        assert [cell.strip() for cell in row[1:]] == expected


# --------------------------------------------------------------------------------------------
# Gaussian accounting for discrete noise
# --------------------------------------------------------------------------------------------


def shape(y: mpf, s: mpf) -> mpf:
    """psi(y): the log ratio of the rounded normal's mass to the normal density's value."""
    root = s * mp.sqrt(2)
    mass = (mp.erfc((y - mpf(1) / 2) / root) - mp.erfc((y + mpf(1) / 2) / root)) / 2
    return mp.log(mass * s * mp.sqrt(2 * mp.pi)) + y * y / (2 * s * s)


@pytest.mark.parametrize("s", ["0.4", "1", "3", "64", "1024", "1048576", "34359738368"])
def test_the_discrete_mass_exceeds_the_rounded_normal_by_one_24th_of_s_squared_at_most(
    s: str,
) -> None:
    with mp.workdps(400 if mpf(s) < 1 else 140):  # erfc differences far out cancel
        scale = mpf(s)
        log_z = mp.log(total_mass(scale) / (scale * mp.sqrt(2 * mp.pi)))
        for t in ("0", "0.1", "1", "3", "9", "20"):
            k = mp.floor(mpf(t) * scale)
            excess = -log_z - shape(k, scale)  # r(k) = log p(k)/q(k)
            assert excess <= 1 / (24 * scale**2)
            assert t != "0" or scale < 3 or excess > mpf("0.95") / (24 * scale**2)


@pytest.mark.parametrize("s", ["0.4", "1", "3", "64", "1024", "1048576", "34359738368"])
def test_the_shape_function_bends_by_one_12th_of_s_to_the_fourth_at_most(s: str) -> None:
    with mp.workdps(400 if mpf(s) < 1 else 160):
        scale, attained = mpf(s), mpf(0)
        for t in ("0", "0.1", "1", "3", "9", "20"):
            for step in (mpf(1), mpf(1) / 8):
                y = mpf(t) * scale
                bend = shape(y + step, scale) - 2 * shape(y, scale) + shape(y - step, scale)
                ratio = bend / step**2 * 12 * scale**4
                assert 0 <= ratio <= 1
                attained = max(attained, ratio)
        assert scale < 3 or attained > mpf("0.95")


def lower_sum(edge: int, s: mpf) -> mpf:
    """The sum of exp(-k^2/2s^2) over k <= edge: direct, or Euler-Maclaurin for wide noise."""
    if s <= 64:
        reach = int(20 * s) + 10
        return mp.fsum(mp.exp(-(mpf(k) ** 2) / (2 * s * s)) for k in range(edge - reach, edge + 1))
    x, v = mpf(edge), s * s
    g = mp.exp(-x * x / (2 * v))
    first, third = -x / v, (3 * x * v - x**3) / v**3
    fifth = -(x**5 - 10 * x**3 * v + 15 * x * v * v) / v**5
    integral = s * mp.sqrt(2 * mp.pi) * phi(x / s)
    return integral + g * (mpf(1) / 2 + first / 12 - third / 720 + fifth / 30240)


def discrete_delta(shift: int, s: mpf, epsilon: mpf) -> mpf:
    """The hockey-stick divergence between integer noise at 0 and the same noise at shift."""
    edge = mp.ceil((mpf(shift) ** 2 / (2 * s * s) - epsilon) * s * s / shift) - 1
    low = int(edge)  # the last k whose privacy loss exceeds epsilon
    below, moved = lower_sum(low, s), lower_sum(low - shift, s)
    return (below - mp.exp(epsilon) * moved) / total_mass(s)


def transferred(mu: mpf, epsilon: mpf, t: mpf, a: mpf) -> mpf:
    return mp.exp(a) * gaussian_delta(mu, epsilon) + mp.exp(-t * t / 2)


def test_euler_maclaurin_agrees_with_direct_summation() -> None:
    s = mpf(200)
    for edge in (-1100, -300, 0):
        direct = mp.fsum(mp.exp(-(mpf(k) ** 2) / (2 * s * s)) for k in range(edge - 3500, edge + 1))
        assert mp.almosteq(lower_sum(edge, s), direct, rel_eps=mpf(10) ** -14)


@pytest.mark.parametrize("s", ["0.4", "1", "2.5", "16", "64", "1024", "1048576", "34359738368"])
@pytest.mark.parametrize("mu", ["0.25", "1", "3"])
def test_discrete_noise_stays_within_the_transferred_gaussian_curve(s: str, mu: str) -> None:
    scale = mpf(s)
    shift = max(1, int(mpf(mu) * scale))
    exact_mu = shift / scale
    for epsilon in map(mpf, ("0", "0.5", "1", "4", "10")):
        for share in (mpf(10) ** -1, mpf(10) ** -6):
            t = mp.sqrt(-2 * mp.log(share * gaussian_delta(exact_mu, epsilon)))
            gamma = (2 * t * exact_mu + exact_mu**2) / (24 * scale**2)
            bound = transferred(exact_mu, epsilon, t, 1 / (24 * scale**2))
            assert discrete_delta(shift, scale, epsilon + gamma) <= bound


@pytest.mark.parametrize("s", [1, 2, 4, 16])
@pytest.mark.parametrize("dimension", [25, 100])
def test_the_correction_to_epsilon_does_not_grow_with_the_number_of_integers(
    s: int, dimension: int
) -> None:
    k = np.arange(-12 * s - 4, 12 * s + 5)
    p = np.exp(-(k**2) / (2 * s * s))
    p /= p.sum()
    total = np.ones(1)
    for _ in range(dimension):
        total = np.convolve(total, p)
    sums = np.arange(len(total)) - len(total) // 2  # the sum of all noise, sufficient here
    mu, a = math.sqrt(dimension) / s, dimension / (24 * s * s)
    for epsilon in (0.5, 2.0, 8.0):
        exact = float(gaussian_delta(mpf(mu), mpf(epsilon)))
        t = math.sqrt(-2 * math.log(0.1 * exact))
        gamma = (2 * t * mu + mu * mu) / (24 * s * s)
        loss = (dimension - 2 * sums) / (2 * s * s)
        gain = -np.expm1(np.minimum(epsilon + gamma - loss, 0))
        assert float((total * gain).sum()) <= math.exp(a) * exact + 0.1 * exact


def test_at_scale_one_the_uncorrected_gaussian_curve_is_exceeded() -> None:
    measured = discrete_delta(1, mpf(1), mpf(4))
    assert measured > mpf("1.1") * gaussian_delta(mpf(1), mpf(4))


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4", "16"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-5", "1e-12"])
@pytest.mark.parametrize("dimension", [1, 100, 10**4, 10**6])
def test_the_reserve_pays_for_discreteness_at_the_coarsest_scale_it_admits(
    epsilon: str, delta: str, dimension: int
) -> None:
    e, d = mpf(epsilon), mpf(delta)
    mu, t = mu_reserved(e, d), mp.sqrt(2 * mp.log(2 * 10**6 / d))
    assert mp.almosteq(mp.exp(-t * t / 2), d * 5 / 10**7)
    per_gamma = mp.sqrt((2 * t * mu + mu**2) / 24 / EPSILON_RESERVE)
    s = mp.ceil(max(per_gamma, mp.sqrt(dimension / (24 * SHAPE_CAP))))
    assert transferred(mu, e - EPSILON_RESERVE, t, dimension / (24 * s * s)) <= d
    shift = int(mu * s)
    assert discrete_delta(shift, s, e) <= d


def test_the_reserve_would_not_pay_for_a_larger_shape_term() -> None:
    half = 5 / mpf(10) ** 7
    assert mp.exp(SHAPE_CAP) * (1 - DELTA_RESERVE) + half <= 1 - mpf("0.99e-7")
    assert mp.exp(6 * mpf(10) ** -7) * (1 - DELTA_RESERVE) + half > 1


# --------------------------------------------------------------------------------------------
# What the numbers mean, and one thing the paper gives away
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", [1, 4, 40])
@pytest.mark.parametrize("mu", [1, 2])
def test_the_best_attacker_on_discrete_noise_does_no_better_than_stated(s: int, mu: int) -> None:
    scale, shift = mpf(s), mu * s
    slack = 1 / (24 * scale**2)
    p = masses(scale, 12 * s + 8)
    out, area = mpf(0), mpf(0)  # false positives so far and the area under the ROC curve
    hits, rate = mpf(0), None
    for k in sorted(p, reverse=True):  # outputs by falling likelihood ratio
        gain, cost = p.get(k - shift, mpf(0)), p[k]
        if rate is None and out + cost > mpf("0.01"):
            rate = hits + gain * (mpf("0.01") - out) / cost
        area += cost * (hits + gain / 2)
        out, hits = out + cost, hits + gain
    assert rate is not None
    assert area <= phi(mu / mp.sqrt(2)) + 2 * slack
    assert rate <= phi(phi_inverse(mpf("0.01") + slack) + mu) + slack
    if s == 40:
        assert area >= mpf("0.999") * phi(mu / mp.sqrt(2))
        assert rate >= mpf("0.97") * phi(phi_inverse(mpf("0.01")) + mu)


def test_a_second_look_at_the_conditions_gives_away_every_raw_stratum_count() -> None:
    rng = np.random.default_rng(7)
    strata = list(itertools.product((0, 1, 2), (0, 1), (0, 1)))
    c = np.array([[1, g, y, k == 1, k == 2, g * y, y * (k == 2)] for k, g, y in strata], float)
    counts = rng.integers(0, 90, len(strata))
    beta = rng.standard_normal((7, 84))  # any released coefficients of full rank
    noisy_second = rng.standard_normal((84, 84))  # any released second moment
    gram = (c.T * counts) @ c / counts.sum()
    residual = noisy_second - beta.T @ gram @ beta  # eq:covraw, taken literally

    inverse = np.linalg.pinv(beta)
    leaked = inverse.T @ (noisy_second - residual) @ inverse * counts.sum()
    design = np.array([np.outer(row, row).ravel() for row in c]).T
    solved, _, rank, _ = np.linalg.lstsq(design, leaked.ravel(), rcond=None)
    assert rank == len(strata)
    assert np.rint(solved).astype(int).tolist() == counts.tolist()
