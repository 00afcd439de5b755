"""GameReport: what was claimed, what the attacker reached, and where that does not fit together."""

from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Any, Literal

from longsynth.audit.game.spread import Spread

BUNDLE = "whole bundle"  # stands in a row's `line` where all lines are played together

Played = Literal["noise redrawn", "real fits"]


@dataclass(frozen=True, slots=True)
class Row:
    """One test, played many times."""

    line: str
    pair: str  # the line's own worst pair, or the bundle's
    played: Played
    noise: str
    trials: int  # a side
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
class GameReport:
    method: str
    patients: int
    epsilon: float
    delta: float
    accounting: str
    seed: int
    rows: tuple[Row, ...]
    spreads: tuple[Spread, ...]
    failures: tuple[str, ...]  # sentences; none where the claim stood

    @property
    def holds(self) -> bool:
        return not self.failures

    def as_json(self) -> dict[str, Any]:
        """Plain values. What is infinite, as without noise, is null."""
        plain = asdict(self) | {"holds": self.holds}
        plain["rows"] = [_finite(row) for row in plain["rows"]]
        return plain | {"failures": list(self.failures)}


def read_report(content: dict[str, Any]) -> GameReport:
    """Return the report that `as_json` wrote."""
    given = {name: content[name] for name in GameReport.__slots__}
    given["rows"] = tuple(Row(**_infinite(row)) for row in content["rows"])
    given["spreads"] = tuple(Spread(**spread) for spread in content["spreads"])
    return GameReport(**given | {"failures": tuple(content["failures"])})


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in row.items()}


def _infinite(row: dict[str, Any]) -> dict[str, Any]:
    return {k: inf if v is None else v for k, v in row.items()}
