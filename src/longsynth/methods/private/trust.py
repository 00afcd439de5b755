"""trust: the paper's generator. Bounded moments, a stabilised Gaussian, masks, gaps, a floor."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from longsynth import encoding
from longsynth.bundle import Bundle
from longsynth.conditions import condition_matrix, largest_norm_squared
from longsynth.methods.method import Stage
from longsynth.model.auxiliary import shrunken_means
from longsynth.model.covariance import block_band, clipped_spectrum, residual_covariance
from longsynth.model.gaps import Gaps, gap_variance
from longsynth.model.masks import Masks
from longsynth.model.mean import gram_of_strata, positive_part, ridge_solution
from longsynth.model.model import Model
from longsynth.model.score import ScorePath, noise_levels
from longsynth.model.strata import population_masses, synthesis_strata
from longsynth.privacy.ledger import Entry, Released
from longsynth.privacy.statistic import DIAGONAL, Statistic
from longsynth.privacy.sums import Contribution
from longsynth.records import Cohort
from longsynth.scaling import Scaling
from longsynth.schema import Schema

Floats = NDArray[np.float64]

STRATA, CONDITIONS, VALUES, SECOND, JOINT = "strata", "conditions", "values", "second", "joint"
MASKS, GAPS, GAP_SQUARES = "masks", "gaps", "gap squares"

# Shares of ρ out of 100. The second moment has the most numbers and the least signal in each, so
# it gets most; the histogram is cheap to know well; a gap's spread needs little.
SHARES = {STRATA: 5, VALUES: 25, SECOND: 45, MASKS: 15, GAPS: 7, GAP_SQUARES: 3}
CONDITIONS_SHARE = 5  # taken from the second moment where the paper's own release of A is wanted


@dataclass(frozen=True, slots=True)
class Moments:
    """The released means over patients, in the paper's symbols."""

    histogram: Floats  # p̃ (S,)
    gram: Floats  # A (p, p)
    cross: Floats  # B (p, D)
    second: Floats  # S (D, D)


class Trust:
    name: ClassVar[str] = "trust"
    summary: ClassVar[str] = "the paper's generator: conditional moments, analytic score path"
    private: ClassVar[bool] = True

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        """One pass: eq:moments, then the condition moments of masks and gaps."""
        constants, conditions = schema.fixed, condition_matrix(schema)
        strata, p = conditions.shape
        norm, slots, width = largest_norm_squared(conditions), schema.slots, schema.width
        grid = 1 << constants.grid_bits
        squared = max(int((Fraction(constants.clip_radius) * grid) ** 2), 1)  # R² = (L·grid)²
        share = {name: Fraction(percent, 100) for name, percent in SHARES.items()}
        values = {"right": width, "right_squared": squared, "grid": grid}

        def cross(name: str, meaning: str, right: int, right_squared: int, grid: int) -> Statistic:
            return Statistic(
                name,
                meaning,
                "cross",
                left=p,
                left_squared=norm,
                right=right,
                right_squared=right_squared,
                grid=grid,
            )

        gap_grid_squared = slots * grid**2
        lines = {
            STRATA: Statistic(STRATA, "patients by site, group and event", "count", right=strata),
            VALUES: cross(VALUES, "condition × encoded value", width, squared, grid),
            SECOND: Statistic(SECOND, "encoded value × encoded value", "gram", **values),
            MASKS: cross(MASKS, "condition × missing, centred", width, width, 2),
            GAPS: cross(GAPS, "condition × log gap", slots, gap_grid_squared, grid),
            GAP_SQUARES: Statistic(
                GAP_SQUARES,
                "squared log gap by slot, centred",
                "cross",
                left=1,
                left_squared=1,
                right=slots,
                right_squared=gap_grid_squared // 4,
                grid=grid,
            ),
        }
        if constants.release == "joint":
            lines[JOINT] = Statistic(
                JOINT,
                "patients, values and value × value by stratum, together",
                "joint",
                left=strata,
                left_squared=1,
                sum_weight=DIAGONAL * isqrt(squared),  # sums and products weigh alike
                **values,
            )
            share[JOINT] = sum((share.pop(name) for name in (STRATA, VALUES, SECOND)), Fraction(0))
        elif constants.condition_gram == "released":
            lines[CONDITIONS] = Statistic(
                CONDITIONS,
                "condition × condition",
                "gram",
                right=p,
                right_squared=norm,
            )
            share[CONDITIONS] = Fraction(CONDITIONS_SHARE, 100)
            share[SECOND] -= share[CONDITIONS]
        return (tuple((lines[name], share[name]) for name in share),)

    def contributions(
        self, batch: Cohort, schema: Schema, stage: Stage, released: Mapping[str, Released]
    ) -> Mapping[str, Contribution]:
        """alg:fit, lines 1 and 2: encode by public rules, clip each patient."""
        scaling = Scaling(schema)
        statistics = {statistic.name: statistic for statistic, _ in stage}
        moment = statistics[JOINT if JOINT in statistics else SECOND]
        cell = encoding.strata(batch, schema)
        conditions = condition_matrix(schema)[cell]
        one_hot = encoding.one_hot(cell, len(schema.strata))
        z = encoding.values(batch, scaling, grid=moment.grid, squared=moment.right_squared)
        gaps = encoding.log_gaps(batch, scaling)
        grid = statistics[GAPS].grid
        everything = {
            STRATA: Contribution(one_hot),
            CONDITIONS: Contribution(conditions),
            VALUES: Contribution(z, conditions),
            SECOND: Contribution(z),
            JOINT: Contribution(z, one_hot),
            MASKS: Contribution(encoding.missing(batch), conditions),
            GAPS: Contribution(encoding.on_grid(gaps, grid), conditions),
            GAP_SQUARES: Contribution(
                encoding.on_grid(gaps**2 - 0.5, grid), np.ones((batch.patients, 1), np.int64)
            ),
        }
        return {name: everything[name] for name in statistics}

    def blur(self, entry: Entry, schema: Schema, patients: int) -> str:
        """What the noise on a line does to what a reader knows the statistic as."""
        sd = entry.sigma / (entry.statistic.unit * entry.statistic.lift)
        mean = sd / patients
        match entry.statistic.name:
            case "strata":
                return f"±{sd:.1f} patients in each stratum"
            case "conditions":
                return f"±{100 * mean:.2g} % of the patients in each entry"
            case "values":
                return f"±{100 * mean:.2g} % of a half range in each mean{_example(schema, mean)}"
            case "second":
                return f"±{mean:.2g} in each mean square (half ranges²)"
            case "joint":
                return (
                    f"±{mean:.2g} in each mean square (half ranges²); counts and means ride along"
                )
            case "masks":
                return f"±{100 * mean:.2g} percentage points in each missing rate"
            case "gaps":
                factor = np.expm1(mean * np.log1p(schema.max_gap) / 2)
                return f"±{100 * factor:.2g} % of (1 h + gap) in each mean gap"
            case _:
                return f"±{mean:.2g} in each mean square of a log gap"

    def model(self, bundle: Bundle) -> Model:
        """alg:fit, lines 6 to 8: anyone can repeat them from the released integers."""
        schema, constants = bundle.schema, bundle.schema.fixed
        conditions, scaling = condition_matrix(schema), Scaling(schema)
        moments = released_moments(bundle, conditions)
        mass = population_masses(moments.histogram)

        beta = ridge_solution(moments.gram, moments.cross, constants.ridge)  # eq:beta
        raw = residual_covariance(moments.second, moments.gram, beta)  # eq:covraw
        banded = block_band(raw, len(schema.variables), constants.bandwidth)
        spectrum = clipped_spectrum(
            banded, constants.eigen_floor, constants.eigen_cap
        )  # eq:banding

        shrink = {"ridge": constants.ridge, "keep": constants.shrinkage}
        missing = 0.5 + shrunken_means(moments.gram, bundle.mean(MASKS), conditions, **shrink)
        gaps = shrunken_means(moments.gram, bundle.mean(GAPS), conditions, **shrink)
        squares = 0.5 + bundle.mean(GAP_SQUARES)[0]
        return Model(
            schema=schema,
            strata=synthesis_strata(mass, schema.protected_strata, constants.event_floor),
            values=ScorePath(
                means=conditions @ beta,
                spectrum=spectrum,
                levels=noise_levels(constants.steps, constants.eigen_cap),
                scaling=scaling,
            ),
            masks=Masks(
                np.clip(missing, constants.missing_min, constants.missing_max).reshape(
                    len(conditions), schema.slots, -1
                )
            ),
            gaps=Gaps(gaps, gap_variance(squares, gaps, mass), scaling),
            fingerprint=bundle.fingerprint,
        )


def _example(schema: Schema, mean: float) -> str:
    """One variable to make a share of a half range tangible."""
    half = Scaling(schema).half_ranges()
    for variable, width in zip(schema.variables, half, strict=True):
        if variable.kind == "continuous" and np.isfinite(width):
            return f" ({variable.name}: ±{mean * width:.2g} {variable.unit})".replace(" )", ")")
    return ""


def released_moments(bundle: Bundle, conditions: NDArray[np.int64]) -> Moments:
    """Return the moments of eq:moments from either form of release."""
    if JOINT in bundle.released:
        histogram, by_stratum, second = bundle.mean(JOINT)
        cross = conditions.T @ by_stratum
    else:
        histogram, cross, second = (bundle.mean(name) for name in (STRATA, VALUES, SECOND))
    if CONDITIONS in bundle.released:
        gram = positive_part(bundle.mean(CONDITIONS))
    else:
        gram = gram_of_strata(population_masses(histogram), conditions)
    return Moments(histogram, gram, cross, second)
