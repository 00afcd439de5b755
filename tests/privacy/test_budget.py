"""(ε, δ) to ρ and back, against other people's accountants, and never to the unsafe side."""

from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath as mp
import pytest
from dp_accounting import GaussianDpEvent, NeighboringRelation
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from longsynth.privacy.budget import (
    ACCOUNTINGS,
    DELTA_RESERVE,
    EPSILON_RESERVE,
    Accounting,
    Budget,
    epsilon_of,
    gaussian_delta,
)
from longsynth.privacy.errors import Refused

# ε at δ = 1e-5: paper, zcdp, gaussian
TABLE = {
    0.5: (0.005314, 0.008506, 0.010112),
    1: (0.020820, 0.030557, 0.035926),
    2: (0.080045, 0.108256, 0.125777),
    4: (0.297652, 0.373144, 0.427749),
    8: (1.049136, 1.229715, 1.387829),
    12: (2.119769, 2.402056, 2.683607),
    16: (3.430668, 3.806539, 4.220902),
}


@pytest.mark.parametrize(("epsilon", "expected"), TABLE.items())
def test_the_three_accountings_agree_with_the_published_table(
    epsilon: float, expected: tuple[float, float, float]
) -> None:
    found = [float(Budget(epsilon, 1e-5, a).rho) for a in ACCOUNTINGS]
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("accounting", ACCOUNTINGS)
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1, 3.7, 12, 60, 100])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01])
def test_spending_the_whole_budget_never_exceeds_the_promise(
    accounting: Accounting, epsilon: float, delta: float
) -> None:
    rho = Budget(epsilon, delta, accounting).rho
    assert epsilon_of(rho, delta, accounting) <= epsilon * (1 + 1e-11)
    assert epsilon_of(rho * (1 + Fraction(1, 10**9)), delta, accounting) > epsilon * (1 - 1e-8)


@pytest.mark.parametrize("delta", [1e-30, 1e-12, 1e-5, 0.5])
@pytest.mark.parametrize("rho", [1, 50, 100, 150, 200, 600, 5_000])
def test_no_cost_is_too_large_to_be_told_in_full(rho: int, delta: float) -> None:
    """Where e^ε is large it raises every error in the tail that it meets."""
    found = epsilon_of(Fraction(rho), delta, "gaussian")
    with mp.workdps(100):
        mu, epsilon = mp.sqrt(2 * mp.mpf(rho)), mp.mpf(found)
        left = -epsilon / mu + mu / 2
        assert mp.ncdf(left) - mp.exp(epsilon) * mp.ncdf(left - mu) <= delta
    assert found <= epsilon_of(Fraction(rho), delta, "zcdp") * (1 + 1e-6)


def gaussian_event(rho: Fraction) -> GaussianDpEvent:
    return GaussianDpEvent(float(1 / (2 * rho)) ** 0.5)  # σ/Δ


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 12.0])
def test_the_exact_curve_agrees_with_googles_accountant(epsilon: float) -> None:
    rho = Budget(epsilon, 1e-5, "gaussian").rho
    accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(gaussian_event(rho))
    assert accountant.get_epsilon(1e-5) == pytest.approx(epsilon, rel=3e-4)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 12.0])
def test_the_tight_conversion_agrees_with_googles_accountant(epsilon: float) -> None:
    rho = Budget(epsilon, 1e-5, "zcdp").rho
    orders = [1 + x / 1000 for x in range(1, 60_000, 7)]
    accountant = RdpAccountant(orders, NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(gaussian_event(rho))
    assert accountant.get_epsilon(1e-5) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("rho", [0.01, 0.373144, 2.4])
def test_the_tight_conversion_agrees_with_opendp(rho: float) -> None:
    from opendp import combinators, domains, measurements, metrics, mod

    mod.enable_features("contrib")
    domain, metric = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l2_distance("f64")
    scale = (1 / (2 * rho)) ** 0.5
    mechanism = combinators.make_zCDP_to_approxDP(
        measurements.make_gaussian(domain, metric, scale=scale)
    )
    theirs = mechanism.map(1.0).epsilon(delta=1e-5)
    assert theirs == pytest.approx(epsilon_of(Fraction(rho), 1e-5, "zcdp"), rel=1e-6)


def test_the_exact_curve_agrees_with_high_precision() -> None:
    import mpmath

    mpmath.mp.dps = 60
    for mu, epsilon in ((0.268, 1.0), (2.3, 12.0), (0.01, 0.05), (2.9, 16.0)):
        m, e = mpmath.mpf(str(mu)), mpmath.mpf(str(epsilon))
        exact = mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
        ours = mpmath.mpf(str(gaussian_delta(Decimal(str(mu)), Decimal(str(epsilon)))))
        assert 0 < ours - exact < mpmath.mpf("2e-50")


def test_a_conversion_that_is_remembered_has_the_digits_that_it_is_computed_to_have() -> None:
    mu, epsilon = Decimal("1.7"), Decimal("12.0")
    with localcontext(prec=9):  # what a caller rounds to has no say
        remembered = gaussian_delta(mu, epsilon)
    assert gaussian_delta(mu, Decimal(12)) == remembered  # 12 is 12.0: the same entry
    assert gaussian_delta.__wrapped__(mu, Decimal(12)) == remembered
    assert len(remembered.as_tuple().digits) > 60


def least_epsilon(rho: Fraction, delta: float, accounting: Accounting) -> mp.mpf:
    """The ε that ρ means, from the formulas, in 60 digits and without any rounding up."""
    total, tail = mp.mpf(rho.numerator) / rho.denominator, -mp.log(mp.mpf(str(delta)))
    if accounting == "paper":
        return total + 2 * mp.sqrt(total * tail)
    if accounting == "gaussian":
        mu, kept = mp.sqrt(2 * total), mp.mpf(str(delta)) * (1 - mp.mpf(str(DELTA_RESERVE)))
        low, high = mp.mpf(0), mp.mpf(200)
        for _ in range(160):
            middle = (low + high) / 2
            tails = mp.ncdf(mu / 2 - middle / mu), mp.ncdf(-mu / 2 - middle / mu)
            below = tails[0] - mp.exp(middle) * tails[1] <= kept
            low, high = (low, middle) if below else (middle, high)
        return high + mp.mpf(str(EPSILON_RESERVE))

    def at(x: mp.mpf) -> mp.mpf:
        a = 1 + mp.exp(x)
        return a * total + (tail - mp.log(a)) / (a - 1) + mp.log(1 - 1 / a)

    low, high = mp.mpf(-10), mp.mpf(30)
    for _ in range(130):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, right) if at(left) <= at(right) else (left, high)
    return at(low)


@pytest.mark.parametrize("accounting", ACCOUNTINGS)
@pytest.mark.parametrize("epsilon", [0.5, 4.0, 12.0])
def test_no_last_digit_is_rounded_to_the_unsafe_side(
    accounting: Accounting, epsilon: float
) -> None:
    mp.mp.dps = 60
    rho = Budget(epsilon, 1e-5, accounting).rho
    assert least_epsilon(rho, 1e-5, accounting) <= epsilon
    for spent in (rho, rho / 3):
        assert least_epsilon(spent, 1e-5, accounting) <= epsilon_of(spent, 1e-5, accounting)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf"), 101.0])
def test_an_unusable_epsilon_is_refused_with_a_remedy(epsilon: float) -> None:
    with pytest.raises(Refused, match="1 to 12 is the usual range"):
        Budget(epsilon, 1e-5)


@pytest.mark.parametrize("delta", [0.0, -1e-5, 1.0, float("nan"), float("inf"), 1e-40])
def test_an_unusable_delta_is_refused_with_a_remedy(delta: float) -> None:
    with pytest.raises(Refused, match="the number of patients"):
        Budget(1.0, delta)


def test_an_unknown_accounting_is_refused() -> None:
    with pytest.raises(Refused, match="paper, zcdp, gaussian"):
        Budget(1.0, 1e-5, "renyi")  # type: ignore[arg-type]
