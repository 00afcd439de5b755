"""Score: a number that never travels alone."""

from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower", "half", "one", "zero", "none"]  # where a perfect value lies


@dataclass(frozen=True, slots=True)
class Score:
    metric: str  # snake case, unique: auprc, brier, marginal_ks, mia_auc, …
    value: float
    lower: float  # 95 % interval, bootstrap over patients; NaN where none was asked for
    upper: float
    better: Better
    note: str = ""  # a warning in words, for instance too few events to say anything
