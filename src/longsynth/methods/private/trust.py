"""trust: the paper's generator. Bounded moments, a stabilised Gaussian, masks, gaps, a floor."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from longsynth.bundle import Bundle, per_unit
from longsynth.encoding import rows as encoding
from longsynth.encoding.scaling import Scaling
from longsynth.methods.fact import Fact, each, weighted
from longsynth.methods.method import Stage
from longsynth.methods.private import lines
from longsynth.methods.private.lines import GAP_SQUARES, GAPS, LENGTHS, MASKS, STRATA, VALUES
from longsynth.privacy.ledger import Entry
from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL, Statistic
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.auxiliary import gaps_from, masks_from, shrunken_means
from longsynth.sampling.covariance import (
    block_band,
    clipped_spectrum,
    residual_covariance,
)
from longsynth.sampling.lengths import Users
from longsynth.sampling.mean import gram_of_strata, means_in_use, positive_part
from longsynth.sampling.model import Model
from longsynth.sampling.score import ScorePath, noise_levels
from longsynth.sampling.strata import population_masses, synthesis_strata
from longsynth.schema.schema import Schema, condition_matrix, largest_norm_squared
from longsynth.system.arrays import Floats

SECOND, CONDITIONS, JOINT = "second", "conditions", "joint"

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
    second: Floats  # S (D, D); nan outside the band that is released


class Trust:
    name: ClassVar[str] = "trust"
    summary: ClassVar[str] = "the paper's generator: conditional moments, analytic score path"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        """One pass: eq:moments, lengths, then the condition moments of masks and gaps."""
        constants, conditions = schema.resolved_constants, condition_matrix(schema)
        share = lines.shares(SHARES, schema)
        squared = lines.value_radius_squared(schema)
        pairs: dict[str, Any] = {
            "right": schema.width,
            "right_squared": lines.gram_radius_squared(squared, schema),
            "band": kept_pairs(schema),
            "grid": lines.grid(schema),
        }
        found = [
            lines.strata(schema),
            lines.values(schema),
            Statistic(SECOND, f"encoded value × encoded value{_apart(schema)}", "gram", **pairs),
            *lines.lengths(schema),
            lines.masks(schema, conditioned=True),
            lines.gaps(schema, conditioned=True),
            lines.gap_squares(schema),
        ]
        if constants.release == "joint":
            share[JOINT] = sum((share.pop(name) for name in (STRATA, VALUES, SECOND)), Fraction(0))
            found.append(
                Statistic(
                    JOINT,
                    f"patients and values by stratum; value × value{_apart(schema)}; together",
                    "joint",
                    left=len(conditions),
                    left_squared=1,
                    sum_weight=DIAGONAL * isqrt(squared),  # sums and products weigh alike
                    **pairs,
                )
            )
        elif constants.condition_gram == "released":
            share[CONDITIONS] = Fraction(CONDITIONS_SHARE, 100)
            share[SECOND] -= share[CONDITIONS]
            unit = _condition_grid(schema)
            norm = lines.gram_radius_squared(largest_norm_squared(conditions) * unit**2, schema)
            size = conditions.shape[1]
            found.append(
                Statistic(CONDITIONS, "condition × condition", "gram", size, norm, grid=unit)
            )
        return (tuple((s, share[s.name]) for s in found if s.name in share),)

    def contributions(
        self, batch: Cohort, schema: Schema, stage: Stage, so_far: Bundle
    ) -> Mapping[str, Contribution]:
        """alg:fit, lines 1 and 2: encode by public rules, clip each patient."""
        grid = lines.grid(schema)
        cell = encoding.strata(batch, schema)
        conditions = condition_matrix(schema).take(cell, axis=0)
        one_hot = encoding.one_hot(cell, len(schema.strata))
        squared = lines.value_radius_squared(schema)
        observed = encoding.seen(batch, schema)
        z = encoding.values(batch, schema, grid=grid, squared=squared, observed=observed)
        gaps, gap_squares = encoding.log_gaps(batch, schema)
        ones = np.ones((batch.patients, 1), np.int64)
        everything = {
            STRATA: Contribution(one_hot),
            CONDITIONS: Contribution(_condition_grid(schema) * conditions),
            VALUES: Contribution(z, conditions),
            SECOND: Contribution(z),
            JOINT: Contribution(z, one_hot),
            MASKS: Contribution(encoding.missing(batch, schema, observed), conditions),
            GAPS: Contribution(encoding.on_grid(gaps, grid), conditions),
            GAP_SQUARES: Contribution(encoding.on_grid(gap_squares, grid), ones),
        }
        if schema.length == "variable":
            everything[LENGTHS] = lines.length_rows(batch, schema)
        return {statistic.name: everything[statistic.name] for statistic, _ in stage}

    def facts(self, schema: Schema) -> list[Fact]:
        """Also: the first condition is 1, so products with it are counts of strata."""
        released = {s.name: s for stage in self.stages(schema) for s, _ in stage}
        found = lines.patient_facts(schema, released.get(JOINT))
        if CONDITIONS in released:
            numbers, conditions = released[CONDITIONS].dimension, condition_matrix(schema)
            unit, once = _condition_grid(schema) ** 2, {CONDITIONS: each(np.array([0]), numbers)}
            found.append(Fact(f"'{CONDITIONS}' counts every patient once", once, DIAGONAL * unit))
            for j in range(1, conditions.shape[1]):
                both = {
                    CONDITIONS: each(np.array([j]), numbers),
                    STRATA: weighted(-OFF_DIAGONAL * unit * conditions[:, j]),
                }
                found.append(Fact(f"'{CONDITIONS}' and '{STRATA}' count the same patients", both))
        return found

    def blur(self, entry: Entry, schema: Schema, patients: int) -> str:
        mean = entry.sigma / per_unit(entry.statistic) / patients
        match entry.statistic.name:
            case "conditions":
                return f"±{100 * mean:.2g} % of the patients in each entry"
            case "second":
                return f"±{mean:.2g} in each mean square (half ranges²)"
            case "joint":
                return f"±{mean:.2g} in each mean square (half ranges²); the rest rides along"
        return lines.blur(entry, schema, patients)

    def model(self, bundle: Bundle) -> Model:
        """alg:fit, lines 6 to 8: anyone can repeat them from the released integers."""
        schema, constants = bundle.schema, bundle.schema.resolved_constants
        conditions, scaling = condition_matrix(schema), Scaling(schema)
        moments = released_moments(bundle, conditions)
        mass, lengths = population_masses(moments.histogram), lines.lengths_in(bundle)
        users, layout = Users(mass, lengths.in_use), schema.layout
        slot, cells, slots = layout.value_slot, layout.cell_slot, np.arange(schema.slots)

        means = means_in_use(  # eq:beta
            moments.gram, moments.cross, conditions, users, slot, constants.ridge
        )
        raw = residual_covariance(moments.second, means, users, slot)  # eq:covraw
        if constants.covariance == "diagonal":
            raw = np.diag(np.diag(raw))
        banded = block_band(raw, slot, constants.bandwidth)
        spectrum = clipped_spectrum(
            banded, constants.eigen_floor, constants.eigen_cap
        )  # eq:banding

        missing, gaps = (
            shrunken_means(moments.gram, bundle.mean(name), users, where, schema)
            for name, where in ((MASKS, cells), (GAPS, slots))
        )
        return Model(
            schema=schema,
            strata=synthesis_strata(mass, schema.protected_strata, constants.event_floor),
            lengths=lengths,
            values=ScorePath(
                means=means,
                spectrum=spectrum,
                levels=noise_levels(constants.steps, constants.eigen_cap),
                scaling=scaling,
            ),
            masks=masks_from(missing, schema),
            gaps=gaps_from(gaps, bundle.mean(GAP_SQUARES)[0], users, schema),
            fingerprint=bundle.fingerprint,
        )


def _condition_grid(schema: Schema) -> int:
    """Integers in one unit of a condition. Conditions are whole numbers, but 2^¼ times their norm
    is not: on a grid it is, nearly enough."""
    return 1 if schema.resolved_constants.gram_sensitivity == "tight" else lines.grid(schema)


def kept_pairs(schema: Schema) -> tuple[int, ...]:
    """Return the band of S that the model reads (eq:banding); the rest need not leave, and does
    only by the schema's `second_moment`. A record goes slot by slot, with what is static in the
    first: what a row keeps is in one piece. What is static goes with every slot."""
    constants, width = schema.resolved_constants, np.arange(schema.width)
    if constants.second_moment == "whole":
        return (len(width),) * len(width)
    if constants.covariance == "diagonal":
        return tuple((width + 1).tolist())
    slot, bandwidth = schema.layout.value_slot, min(constants.bandwidth, schema.slots)
    ends = np.searchsorted(np.maximum(slot, 0), slot + bandwidth, side="right")
    return tuple(np.where(slot < 0, len(width), ends).tolist())


def _apart(schema: Schema) -> str:
    """Say which pairs are kept, unless all are."""
    bandwidth, static = schema.resolved_constants.bandwidth, any(schema.layout.static)
    if schema.resolved_constants.second_moment == "whole":
        return ""
    if schema.resolved_constants.covariance == "diagonal":
        return ", each with itself"
    if bandwidth >= schema.slots - 1:
        return ""
    return f", slots at most {bandwidth} apart{', or static' if static else ''}"


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
