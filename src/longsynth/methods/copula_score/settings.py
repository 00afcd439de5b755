"""Every public setting of `copula-score`, as a rule of T, V and ν, with its reason.

ν = N·μ is patients times the Gaussian strength of the budget: noise on a mean is 2·radius / ν
over the root of its share. A larger radius clips fewer patients and adds noise to all, so radii
grow slowly with ν. Nothing here is read off a cohort.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from longsynth.methods.copula_score.channels import channel_number, measures_of
from longsynth.methods.copula_score.features import Lags, time_shapes
from longsynth.sampling.auxiliary import LENGTHS, STRATA
from longsynth.schema.schema import Schema

EVENT = "event"
MARGINALS, BLOCKS, SCORE, EFFECTS = "marginals", "lag blocks", "severity", "effects"
LABELS = "labels"

# Parts of ρ where there is little to learn (ν = 300 or less) and where there is much (3,000 or
# more). Little: what matters most is one number, how far an event moves severity, and how many
# events there are. Much: each channel's own effect and the correlations are within reach.
# Found by trial: 50 % more or a third less for one line was not better on development seeds
# (docs/rivals.md).
_PARTS = {
    EVENT: (6, 4),
    STRATA: (2, 2),
    LENGTHS: (4, 4),
    MARGINALS: (20, 20),
    BLOCKS: (36, 38),
    SCORE: (22, 6),
    EFFECTS: (9, 20),
    LABELS: (8, 16),
}
LITTLE, MUCH = ({name: parts[much] for name, parts in _PARTS.items()} for much in (0, 1))

GRID = 1 << 14  # integers in a radius: rounding stays far below the noise
GAP_WEIGHTS = (0.25, 0.5)  # of the waves of the first and of later gaps, beside those of values
EVENT_WEIGHT, PLACE_WEIGHT = 2, 1  # events are rarer and matter more than sites and groups
SHAPE_WEIGHTS = np.array([1.0, 2.0, 1.5])  # of a score's level, slope and bend: they differ less
BALANCE = 1 / 3  # events among synthetic patients, at least; weights restore the population
FEWEST, MOST = 4_000, 20_000  # simulated patients of a calibration
LEAST_STRENGTH = 1000  # ν from which on labels have a model of their own
POOL = 16_384  # patients of the copula to whom the label model is fitted
SHAPES = ("level", "slope", "bend")


@dataclass(frozen=True)
class Settings:
    """What a search tries and an ablation leaves out. The defaults are the method."""

    little: Mapping[str, float] = field(default_factory=lambda: LITTLE)  # parts of ρ, ν ≤ 300
    much: Mapping[str, float] = field(default_factory=lambda: MUCH)  # and where ν ≥ 3,000
    rounds: int = 4  # of calibration
    toward_factors: bool = True  # correlations shrink toward the factor fit; else toward zero
    along_severity: bool = True  # an event's effect may be wide along the loadings
    marks_in_copula: bool = True  # observation marks correlate with values and gaps
    labels: bool = True  # the event is drawn last, from a model of its own
    balanced: bool = True  # draws have the means and covariance of their law
    balance: float = BALANCE  # events among synthetic patients, at least


@dataclass(frozen=True)
class Sizes:
    """What the rules come to for one schema and budget."""

    variables: int  # V
    slots: int  # T
    strength: float  # ν

    @classmethod
    def of(cls, schema: Schema) -> "Sizes":
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

    def label_radius(self, width: int) -> float:
        """Whitened columns have mean square one. Patients with a rare event are the long rows."""
        return 0.86 * sqrt(width)

    @property
    def _room(self) -> float:
        """Mean squares of a patient's channels in a slot, less what time averages out."""
        return 0.6 * self.variables + 1


def measure_weights(schema: Schema, sizes: Sizes) -> list[NDArray[np.float64]]:
    """Weights of the waves of each measure: variables, the first gap, later gaps."""
    weights = []
    for j, cells in enumerate(measures_of(schema)):
        gap = j - len(schema.variables)
        of_waves = sizes.wave_weights(min(sizes.waves, cells.number - 1))
        weights.append(of_waves * (GAP_WEIGHTS[gap] if gap >= 0 else 1.0))
    return weights


def has_labels(schema: Schema, settings: Settings) -> bool:
    """Whether the event is drawn last. With less to learn, the label model would be its prior."""
    enough = schema.resolved_constants.strength >= LEAST_STRENGTH
    return settings.labels and enough and schema.event is not None


def shares_of(schema: Schema, settings: Settings) -> dict[str, Fraction]:
    """Where every record is full there is no length to learn, and other lines share its part."""
    way = float(np.clip(np.log10(schema.resolved_constants.strength / 300), 0.0, 1.0))
    much = Fraction(round(way * 20), 20)
    without = {LENGTHS} if schema.length == "full" else set()
    without |= {EVENT} if schema.event is None else set()
    without |= set() if has_labels(schema, settings) else {LABELS}
    names = [n for n in settings.little if n not in without]
    parts = {
        n: (1 - much) * Fraction(settings.little[n]) + much * Fraction(settings.much[n])
        for n in names
    }
    whole = sum(parts.values())
    return {name: part / whole for name, part in parts.items()}


def settings_text(schema: Schema, settings: Settings) -> dict[str, str]:
    """Return name and text of every public setting; all follow from T, V, N, ε and δ."""
    sizes, channels = Sizes.of(schema), channel_number(schema)
    length = "" if schema.length == "full" else ", the length"
    text = {
        "strength": f"ν = N·μ = {sizes.strength:,.4g}",
        "waves": f"K = {sizes.waves}{_fewer(schema, sizes)}",
        "radius of marginals": f"{sizes.marginal_radius:.4g}",
        "radius of lag blocks": f"{sizes.block_radius:.4g}",
        "radius of severity": f"{sizes.score_radius:.4g}",
        "radius of effects": f"{sizes.effect_radius:.4g}",
        "labels": _labels_text(schema, settings),
        "grid": f"{GRID:,} integers in each radius",
        "channels": f"m = {channels}: values, marks, the gap" + length,
        "distances": f"{_distances(Lags(schema.slots, channels))} slots",
        "time shapes": ", ".join(SHAPES[: len(time_shapes(schema.slots))]),
        "weights of severity": ", ".join(
            f"{w:g}" for w in SHAPE_WEIGHTS[: len(time_shapes(schema.slots))]
        ),
        "left of effects": f"{EVENT_WEIGHT} by event, {PLACE_WEIGHT} by site and group",
        "balance": f"events are at least {100 * settings.balance:.3g} % of synthetic patients, "
        "before floors",
        "calibration": f"{settings.rounds} rounds of N simulated patients, "
        f"from {FEWEST:,} to {MOST:,}",
    }
    steps = zip(schema.variables, schema.steps, strict=True)
    given = [f"{v.name} {step:g} {v.unit}".rstrip() for v, step in steps if step]
    return text | ({"recording resolution": ", ".join(given)} if given else {})


def _labels_text(schema: Schema, settings: Settings) -> str:
    if not has_labels(schema, settings):
        return f"those of the copula: a model of their own needs ν = {LEAST_STRENGTH} or more"
    return f"a model of their own, fitted to {POOL:,} simulated patients"


def _fewer(schema: Schema, sizes: Sizes) -> str:
    """Measures with few levels, which a few waves describe completely."""
    of_variables = zip(schema.variables, measure_weights(schema, sizes), strict=False)
    few = [f"{len(w)} for {v.name}" for v, w in of_variables if len(w) < sizes.waves]
    return f" ({', '.join(few)})" if few else ""


def _distances(lags: Lags) -> str:
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in lags.groups)
