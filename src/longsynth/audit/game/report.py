"""GameReport: what was claimed, what the attacker reached, and what contradicts the claim."""

from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Any, Literal

BUNDLE = "whole bundle"  # stands in a row's `line` where all lines are played together

Played = Literal["noise redrawn", "real fits"]


@dataclass(frozen=True, slots=True)
class GameRow:
    """One test, played many times."""

    line: str
    pair: str  # the line's own worst pair, or the bundle's
    played: Played
    noise: str
    trials: int  # per side
    mu_claimed: float  # μ = √(2ρ)
    attained: float  # share of μ that the pair reaches, if the noise is as claimed
    tight: bool  # near enough to 1 that a smaller μ̂ is a finding
    mu: float  # μ̂, measured
    mu_error: float  # one standard error
    enough: bool  # trials for that error to be at most .03 μ
    epsilon_claimed: float
    epsilon_gaussian: float  # at least this, at 95 %, if the statistic is normal
    epsilon_counted: float  # at least this, at 95 %, by Clopper-Pearson: assumes nothing
    mu_surely: float  # μ is at least this, at the confidence of a verdict
    epsilon_surely: float  # ε likewise, counted


@dataclass(frozen=True, slots=True)
class MeasuredNoise:
    """The noise on one line as it was drawn, in units of the claimed σ. The auditor knows the exact
    sums, so every number's noise can be measured."""

    line: str
    noise: str
    fits: int
    numbers: int
    measured: float  # of all numbers together; 1 is as claimed
    error: float  # one standard error
    lowest: float  # of a single number
    highest: float
    chance: float  # of a value as far from 1, in all or in one number, if the claim is true


@dataclass(frozen=True, slots=True)
class GameReport:
    method: str
    patients: int
    epsilon: float
    delta: float
    accounting: str
    seed: int
    rows: tuple[GameRow, ...]
    spreads: tuple[MeasuredNoise, ...]
    failures: tuple[str, ...]  # sentences; none if nothing contradicts the claim

    @property
    def holds(self) -> bool:
        return not self.failures

    def as_json(self) -> dict[str, Any]:
        """Plain values. Infinite values, as without noise, are null."""
        content = asdict(self) | {"holds": self.holds}
        content["rows"] = [_finite(row) for row in content["rows"]]
        return content | {"failures": list(self.failures)}


def read_report(content: dict[str, Any]) -> GameReport:
    """Return the report that `as_json` wrote."""
    fields = {name: content[name] for name in GameReport.__slots__}
    fields["rows"] = tuple(GameRow(**_infinite(row)) for row in content["rows"])
    fields["spreads"] = tuple(MeasuredNoise(**line) for line in content["spreads"])
    return GameReport(**fields | {"failures": tuple(content["failures"])})


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in row.items()}


def _infinite(row: dict[str, Any]) -> dict[str, Any]:
    return {k: inf if v is None else v for k, v in row.items()}
