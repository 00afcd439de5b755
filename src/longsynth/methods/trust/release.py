"""The lines of `trust`, in one pass: eq:moments, lengths, then the condition moments of masks and
gaps (alg:fit, lines 1 and 2: encode by public rules, clip each patient)."""

from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from longsynth.encoding.rows import Encoded
from longsynth.encoding.scaling import grid_of, value_radius_squared
from longsynth.methods import lines
from longsynth.methods.fact import Fact, each, weighted
from longsynth.methods.method import Line, Stage
from longsynth.methods.trust.settings import CONDITIONS, CONDITIONS_SHARE, JOINT, SECOND, SHARES
from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL, Statistic
from longsynth.privacy.sums import Contribution
from longsynth.sampling.auxiliary import STRATA, VALUES
from longsynth.schema.schema import Schema, condition_matrix, largest_norm_squared


def trust_lines(schema: Schema) -> Stage:
    shares = lines.shares_of(SHARES, schema)
    rest = [
        *lines.ends(schema, shares),
        lines.masks(schema, shares, conditioned=True),
        lines.gaps(schema, shares, conditioned=True),
        lines.gap_squares(schema, shares),
    ]
    if schema.resolved_constants.release == "joint":
        together = sum((shares[name] for name in (STRATA, VALUES, SECOND)), Fraction(0))
        return (*rest, _joint(schema, together))
    conditions = []
    if schema.resolved_constants.condition_gram == "released":
        share = Fraction(CONDITIONS_SHARE, 100)
        shares[SECOND] -= share
        conditions = [_conditions(schema, share)]
    return (
        lines.strata(schema, shares),
        lines.values(schema, shares),
        _second(schema, shares[SECOND]),
        *rest,
        *conditions,
    )


def _second(schema: Schema, share: Fraction) -> Line:
    meaning = f"encoded value × encoded value{_band_in_words(schema)}"
    summed = Statistic(SECOND, meaning, "gram", **_pairs(schema))
    return Line(summed, share, _second_rows, partial(lines.squares_noise, schema))


def _second_rows(encoded: Encoded) -> Contribution:
    return Contribution(encoded.values)


def _joint(schema: Schema, share: Fraction) -> Line:
    summed = Statistic(
        JOINT,
        f"patients and values by stratum; value × value{_band_in_words(schema)}; together",
        "joint",
        left=len(schema.strata),
        left_squared=1,
        sum_weight=DIAGONAL * isqrt(value_radius_squared(schema)),  # sums and products weigh alike
        **_pairs(schema),
    )
    return Line(summed, share, _joint_rows, partial(_joint_noise, schema))


def _joint_rows(encoded: Encoded) -> Contribution:
    return Contribution(encoded.values, encoded.strata)


def _joint_noise(schema: Schema, sd: float, patients: int) -> str:
    return f"{lines.squares_noise(schema, sd, patients)}; the rest rides along"


def _conditions(schema: Schema, share: Fraction) -> Line:
    unit, conditions = _condition_grid(schema), condition_matrix(schema)
    norm = lines.gram_radius_squared(largest_norm_squared(conditions) * unit**2, schema)
    size = conditions.shape[1]
    summed = Statistic(CONDITIONS, "condition × condition", "gram", size, norm, grid=unit)
    return Line(summed, share, _condition_rows, _conditions_noise)


def _condition_rows(encoded: Encoded) -> Contribution:
    return Contribution(_condition_grid(encoded.schema) * encoded.conditions)


def _conditions_noise(sd: float, patients: int) -> str:
    return f"±{100 * sd / patients:.2g} % of the patients in each entry"


def _condition_grid(schema: Schema) -> int:
    """Integers in one unit of a condition. Conditions are whole numbers, but 2^¼ times their norm
    is not: on a grid it is, nearly enough."""
    return 1 if schema.resolved_constants.gram_sensitivity == "tight" else grid_of(schema)


def _pairs(schema: Schema) -> dict[str, Any]:
    """What a Gram of encoded values declares."""
    return {
        "right": schema.width,
        "right_squared": lines.gram_radius_squared(value_radius_squared(schema), schema),
        "band": kept_pairs(schema),
        "grid": grid_of(schema),
    }


def kept_pairs(schema: Schema) -> tuple[int, ...]:
    """Return the band of S that the model reads (eq:banding). The rest need not be released, and is
    only by the schema's `second_moment`. A record goes slot by slot, with static variables in the
    first: the band of a row is in one piece. Static variables pair with every slot."""
    constants, width = schema.resolved_constants, np.arange(schema.width)
    if constants.second_moment == "whole":
        return (len(width),) * len(width)
    if constants.covariance == "diagonal":
        return tuple((width + 1).tolist())
    slot, bandwidth = schema.layout.value_slot, min(constants.bandwidth, schema.slots)
    ends = np.searchsorted(np.maximum(slot, 0), slot + bandwidth, side="right")
    return tuple(np.where(slot < 0, len(width), ends).tolist())


def _band_in_words(schema: Schema) -> str:
    """Say which pairs are kept, unless all are."""
    constants, static = schema.resolved_constants, any(schema.layout.static)
    if constants.second_moment == "whole":
        return ""
    if constants.covariance == "diagonal":
        return ", each with itself"
    if constants.bandwidth >= schema.slots - 1:
        return ""
    return f", slots at most {constants.bandwidth} apart{', or static' if static else ''}"


def trust_facts(schema: Schema) -> list[Fact]:
    """Also: the first condition is 1, so products with it are counts of strata."""
    released = {line.name: line.statistic for line in trust_lines(schema)}
    facts = lines.patient_facts(schema, released.get(JOINT))
    if CONDITIONS in released:
        numbers, conditions = released[CONDITIONS].dimension, condition_matrix(schema)
        unit, once = _condition_grid(schema) ** 2, {CONDITIONS: each(np.array([0]), numbers)}
        facts.append(Fact(f"'{CONDITIONS}' counts every patient once", once, DIAGONAL * unit))
        for j in range(1, conditions.shape[1] if released[STRATA].blocks == 1 else 0):
            both = {
                CONDITIONS: each(np.array([j]), numbers),
                STRATA: weighted(-OFF_DIAGONAL * unit * conditions[:, j]),
            }
            facts.append(Fact(f"'{CONDITIONS}' and '{STRATA}' count the same patients", both))
    return facts
