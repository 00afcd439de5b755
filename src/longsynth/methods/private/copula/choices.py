"""Choices: what a search tries and an ablation leaves out. The defaults are the method."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from longsynth.methods.private.copula.rules import BALANCE, LITTLE, MUCH


@dataclass(frozen=True)
class Choices:
    little: Mapping[str, float] = field(default_factory=lambda: LITTLE)  # parts of ρ, ν ≤ 300
    much: Mapping[str, float] = field(default_factory=lambda: MUCH)  # and where ν ≥ 3,000
    rounds: int = 4  # of calibration
    toward_factors: bool = True  # correlations shrink toward the factor fit; else toward none
    along_severity: bool = True  # an event's effect may be wide along the loadings
    marks_in_copula: bool = True  # what is observed goes with values and gaps
    balanced: bool = True  # draws have the means and covariance of their law
    balance: float = BALANCE  # events among synthetic patients, at least
