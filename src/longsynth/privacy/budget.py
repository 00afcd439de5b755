"""Budget: the promise (ε, δ) and the ρ it buys. Every conversion is rounded to the safe side.

paper     ε = ρ + 2√(ρ ln 1/δ), as eq:composition
zcdp      the tight conversion of ρ-zCDP; discrete Gaussian noise needs no correction
gaussian  the exact curve of Gaussian noise with μ = √(2ρ); a little of ε and δ is kept back for
          the step to discrete noise, and the ledger checks that this little is enough

Formulas and proofs: docs/privacy.md, sections 6 and 7. All of it runs in decimal arithmetic with
120 digits and correctly rounded exp, ln and sqrt: errors stay far below the margin of 1e-50.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal, get_args

from longsynth.privacy.errors import Refused

Accounting = Literal["paper", "zcdp", "gaussian"]
ACCOUNTINGS: tuple[Accounting, ...] = get_args(Accounting)
DEFAULT_ACCOUNTING: Accounting = "gaussian"

EPSILON_RESERVE = Decimal("1e-9")  # of ε, kept back under `gaussian`
DELTA_RESERVE = Decimal("1e-6")  # share of δ, likewise
LARGEST_EPSILON, SMALLEST_DELTA = 100, 1e-30

_DIGITS, _MARGIN, _FINE = Context(prec=120), Decimal("1e-50"), Decimal("1e-25")
_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
    "86280348253421170679821480865132823066470938446095505822317253594081"
)


@dataclass(frozen=True)
class Budget:
    """One patient's complete record is protected with (ε, δ) under replacement (eq:dp)."""

    epsilon: float
    delta: float
    accounting: Accounting = DEFAULT_ACCOUNTING

    def __post_init__(self) -> None:
        if self.accounting not in ACCOUNTINGS:
            unknown = f"accounting {self.accounting!r} is unknown."
            raise Refused("budget-unusable", unknown, f"Use {', '.join(ACCOUNTINGS)}.")
        if not 1e-6 <= self.epsilon <= LARGEST_EPSILON:
            remedy = f"Give a number from 0.000001 to {LARGEST_EPSILON}; 1 to 12 is usual."
            raise Refused("budget-unusable", f"epsilon {self.epsilon} is not usable.", remedy)
        if not SMALLEST_DELTA <= self.delta < 1:
            remedy = f"Give a number from {SMALLEST_DELTA} to 1 / (10 · the number of patients)."
            raise Refused("budget-unusable", f"delta {self.delta} is not usable.", remedy)

    @cached_property
    def rho(self) -> Fraction:  # ρ
        """The largest total ρ whose ε does not exceed the promise, rounded down."""
        with localcontext(_DIGITS):
            epsilon, delta = _typed(self.epsilon), _typed(self.delta)
            tail = -delta.ln()
            match self.accounting:
                case "paper":
                    rho = ((tail + epsilon).sqrt() - tail.sqrt()) ** 2
                case "zcdp":
                    order = _best_order(lambda a: (_order_cost(a, tail) - epsilon) / a)
                    rho = (epsilon - _order_cost(order, tail)) / order
                case "gaussian":
                    e_kept, d_kept = epsilon - EPSILON_RESERVE, delta * (1 - DELTA_RESERVE)
                    mu = _last(lambda m: gaussian_delta(m, e_kept) <= d_kept, Decimal(40))
                    rho = mu * mu / 2
            return Fraction(Context(prec=15, rounding=ROUND_FLOOR).create_decimal(rho - _MARGIN))


def epsilon_of(rho: Fraction, delta: float, accounting: Accounting) -> float:
    """Return the ε that a total of ρ means at this δ, rounded up."""
    with localcontext(_DIGITS):
        total, d = Decimal(rho.numerator) / Decimal(rho.denominator), _typed(delta)
        tail = -d.ln()
        match accounting:
            case "paper":
                epsilon = total + 2 * (total * tail).sqrt()
            case "zcdp":
                order = _best_order(lambda a: a * total + _order_cost(a, tail))
                epsilon = order * total + _order_cost(order, tail)
            case "gaussian":
                mu, d_kept = (2 * total).sqrt(), d * (1 - DELTA_RESERVE)
                most = total + 2 * (-total * d_kept.ln()).sqrt()  # as for any noise of this ρ
                below = _last(lambda e: gaussian_delta(mu, e) > d_kept, most)
                epsilon = below + _FINE + EPSILON_RESERVE
        safe = max(epsilon, Decimal(0)) + _MARGIN
        return float(Context(prec=12, rounding=ROUND_CEILING).create_decimal(safe))


@lru_cache(16_384)  # whatever context a caller is in, the same arguments give the same digits
def gaussian_delta(mu: Decimal, epsilon: Decimal) -> Decimal:
    """Return δ_μ(ε), the exact δ of Gaussian noise, from above; up to ε = 100 tight to 1e-49."""
    with localcontext(_DIGITS):
        left = -epsilon / mu + mu / 2
        second = max(_normal_cdf(left - mu) - Decimal("1e-110"), Decimal(0))  # e^ε raises errors
        return _normal_cdf(left) - epsilon.exp() * second + _MARGIN


def _typed(number: float) -> Decimal:
    """The decimal number that was typed, not the binary one nearest to it."""
    return Decimal(repr(float(number)))


def _order_cost(order: Decimal, tail: Decimal) -> Decimal:
    return (tail - order.ln()) / (order - 1) + (1 - 1 / order).ln()


def _best_order(cost: Callable[[Decimal], Decimal]) -> Decimal:
    """Ternary search over α = 1 + 10^x for a quasi-convex cost. Any α > 1 gives a valid bound."""
    with localcontext(prec=40):
        low, high = Decimal(-5), Decimal(14)
        while high - low > Decimal("1e-15"):
            left, right = (2 * low + high) / 3, (low + 2 * high) / 3
            less = cost(1 + 10**left) <= cost(1 + 10**right)
            low, high = (low, right) if less else (left, high)
        return 1 + 10**low


def _last(holds: Callable[[Decimal], bool], high: Decimal) -> Decimal:
    """Bisect for the largest argument where a condition still holds; it holds at the result."""
    low = _FINE
    while high - low > _FINE:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _normal_cdf(x: Decimal) -> Decimal:
    """Φ(x) = ½ + φ(x)(x + x³/3 + x⁵/15 + …): terms of one sign, no cancellation inside."""
    if abs(x) > 60:
        return Decimal(0) if x < 0 else Decimal(1)
    term, total, n, square, least = x, x, 1, x * x, Decimal("1e-115") * abs(x)  # |x| ≤ |total|
    while abs(term) > least:
        n += 2
        term = term * square / n
        total += term
    return Decimal("0.5") + total * (-x * x / 2).exp() / (2 * _PI).sqrt()
