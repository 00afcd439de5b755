"""Every public setting of `copula-score`, as a rule of T, V and ν, with its reason.

ν = N·μ is patients times the Gaussian strength of the budget: noise on a mean is 2·radius / ν
over the root of its share. A larger radius cuts fewer patients and adds noise to all, so radii
grow slowly with ν. Nothing here is read off a cohort.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from longsynth.sampling.copula.channels import rulers
from longsynth.schema.schema import Schema

EVENT, STRATA, LENGTHS = "event", "strata", "lengths"
MARGINALS, BLOCKS, SCORE, EFFECTS = "marginals", "lag blocks", "severity", "effects"

# Parts of ρ where there is little to learn (ν = 300 or less) and where there is much (3,000 or
# more). Little: what matters most is one number, how far an event moves severity, and how many
# events there are. Much: each channel's own effect and the correlations are within reach.
# Sizes by trial; half as much again or a third less of a line was not better on development seeds
# (docs/rivals.md).
LITTLE = {EVENT: 6, STRATA: 2, LENGTHS: 4, MARGINALS: 20, BLOCKS: 36, SCORE: 22, EFFECTS: 9}
MUCH = {EVENT: 4, STRATA: 2, LENGTHS: 4, MARGINALS: 20, BLOCKS: 38, SCORE: 6, EFFECTS: 26}

GRID = 1 << 14  # integers in a radius: rounding stays far below the noise
GAP_WEIGHTS = (0.25, 0.5)  # of the waves of the first and of later gaps, beside those of values
EVENT_WEIGHT, PLACE_WEIGHT = 2, 1  # events are rarer and matter more than sites and groups
SHAPE_WEIGHTS = np.array([1.0, 2.0, 1.5])  # of a score's level, slope and bend: they differ less
BALANCE = 1 / 3  # events among synthetic patients, at least; weights restore the population


@dataclass(frozen=True)
class Rules:
    variables: int  # V
    slots: int  # T
    strength: float  # ν

    @classmethod
    def of(cls, schema: Schema) -> "Rules":
        return cls(len(schema.variables), schema.slots, schema.resolved_constants.strength)

    @property
    def waves(self) -> int:
        """K: more detail of a distribution than noise lets through would only waste room."""
        return int(np.clip(self.strength**0.4, 6, 64))

    @property
    def mark_weight(self) -> float:
        """Of the observed share, beside the waves of a variable's values."""
        return 0.5

    def wave_weights(self, number: int) -> NDArray[np.float64]:
        """Slow waves first: they carry the place and width, and move the distance most."""
        return np.asarray(1 / np.sqrt(np.arange(1, number + 1)))

    @property
    def marginal_radius(self) -> float:
        """A patient's mean wave is about a third of its height, and most cells are observed."""
        waves = float((self.wave_weights(self.waves) ** 2).sum())
        norm = sqrt(self.variables * (0.13 * waves + 0.55 * self.mark_weight**2))
        return norm * float(np.clip((self.strength / 1000) ** 0.1, 0.9, 1.3))

    @property
    def block_radius(self) -> float:
        return self._room * float(np.clip((self.strength / 1000) ** 0.2, 0.6, 1.6))

    @property
    def score_radius(self) -> float:
        """The level of the severity score has deviation one, and the rest is less."""
        return 1.8 * float(np.clip((self.strength / 1000) ** 0.2, 0.7, 1.5))

    @property
    def effect_radius(self) -> float:
        return 0.7 * sqrt(self._room) * float(np.clip((self.strength / 1000) ** 0.2, 0.5, 1.2))

    @property
    def _room(self) -> float:
        """Mean squares of a patient's channels in a slot, less what time averages out."""
        return 0.6 * self.variables + 1


def weights(schema: Schema, rules: Rules) -> list[NDArray[np.float64]]:
    """Of the waves of each measure: variables, the first gap, later gaps."""
    found = []
    for j, ruler in enumerate(rulers(schema)):
        gap = j - len(schema.variables)
        plain = rules.wave_weights(min(rules.waves, ruler.cells - 1))
        found.append(plain * (GAP_WEIGHTS[gap] if gap >= 0 else 1.0))
    return found


def shares(
    schema: Schema, little: Mapping[str, float] = LITTLE, most: Mapping[str, float] = MUCH
) -> dict[str, Fraction]:
    """Where every record is full there is no length to learn, and the rest shares its part."""
    way = float(np.clip(np.log10(schema.resolved_constants.strength / 300), 0.0, 1.0))
    much = Fraction(round(way * 20), 20)
    names = [n for n in little if n != LENGTHS or schema.length != "full"]
    parts = {n: (1 - much) * Fraction(little[n]) + much * Fraction(most[n]) for n in names}
    whole = sum(parts.values())
    return {name: part / whole for name, part in parts.items()}
