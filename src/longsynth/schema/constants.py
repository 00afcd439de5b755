"""Constants: every public number a method uses, its default and the reason for it.

Symbols are those of the paper (tab:notation). None is read off a cohort; a schema may set any of
them under `constants:`.
"""

from math import sqrt
from typing import Literal, Self

from pydantic import Field, model_validator

from longsynth.system.yaml_text import FrozenModel, InvalidField

STABLE = 1e12  # constants that stabilise a model lie within this factor of one
SET_BY_RULE = ("clip_radius", "grid_bits", "eigen_cap", "strength")  # if a schema leaves them out


class Constants(FrozenModel):
    clip_radius: float | None = Field(
        default=None,
        ge=0.001,
        description="L: the largest norm of one patient's encoded values. Left out: ⅔·√(T·V), "
        "a patient who sits two thirds of the way from the midpoint to a bound at every slot.",
    )
    grid_bits: int | None = Field(
        default=None,
        ge=6,
        le=16,
        description="Encoded values become whole multiples of 2^-bits. Left out: 12, finer than "
        "any recording; 13 above ten million patients, where rounding would show before noise.",
    )
    bandwidth: int = Field(
        default=3,
        ge=0,
        description="b: covariance is kept, and `trust` releases second moments, between slots at "
        "most this far apart (eq:banding); the paper's value.",
    )
    covariance: Literal["banded", "diagonal"] = Field(
        default="banded",
        description="banded: eq:banding; diagonal: no dependence beyond the conditional mean, for "
        "ablation.",
    )
    ridge: float = Field(
        default=0.01,
        gt=0,
        description="λ: a condition met by this share of the patients has its effect halved "
        "(eq:beta).",
    )
    eigen_floor: float = Field(
        default=0.001,
        gt=0,
        description="η: the least variance in any direction (eq:banding), a spread of 3 % of a "
        "half range, so that no direction is frozen.",
    )
    eigen_cap: float | None = Field(
        default=None,
        gt=0,
        description="κ: the largest variance in any direction. Left out: L², which the clipping "
        "already implies for the real patients.",
    )
    event_floor: float = Field(
        default=0.02,
        ge=0,
        le=0.5,
        description="α: each protected stratum gets at least this weight before normalising "
        "(eq:fair), about ten of 500 synthetic patients.",
    )
    missing_min: float = Field(
        default=0.01, ge=0, lt=1, description="p_min: no cell is certain to be observed."
    )
    missing_max: float = Field(
        default=0.95, gt=0, le=1, description="p_max: no cell is certain to be missing."
    )
    shrinkage: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="How much of a condition's effect on masks and gaps is kept beside the "
        "overall mean; half, as the effects are the noisier part.",
    )
    least_observations: int = Field(
        default=2,
        ge=0,
        le=100,
        description="Observations of each variable over time that a synthetic patient has at the "
        "least, as far as its length allows; the paper's value. 0 where variables can be absent.",
    )
    steps: int = Field(
        default=20,
        ge=1,
        le=1000,
        description="K: noise levels of the score path (eq:transport). The end point is the same "
        "for any K; more steps leave room for correction operators.",
    )
    release: Literal["separate", "joint"] = Field(
        default="separate",
        description="separate: histogram, cross moment and second moment each with its own noise, "
        "as the paper; joint: one release of all three with less noise in total.",
    )
    condition_gram: Literal["derived", "released"] = Field(
        default="derived",
        description="derived: A follows from the released histogram and costs nothing; released: "
        "its own ledger line, as the paper.",
    )
    gram_sensitivity: Literal["tight", "triangle"] = Field(
        default="tight",
        description="How far one patient can move a sum of products of a vector with itself. "
        "tight: √2·L², which two patients reach; triangle: 2·L², the paper's bound, and so √2 "
        "times the noise on the second moment and on A.",
    )
    second_moment: Literal["band", "whole"] = Field(
        default="band",
        description="band: of the second moment only what the model reads is released; whole: all "
        "of it, as the paper, and the rest is thrown away afterwards. The noise is the same.",
    )
    missing_values: Literal["midpoint", "interpolated"] = Field(
        default="midpoint",
        description="What stands for a missing value in the moments of `trust` and `dp-score`. "
        "midpoint: the middle of the bounds (eq:encoding); interpolated: on the line in time "
        "between the patient's own values before and after, as the paper's text; at the ends the "
        "nearest one, and the midpoint if there is none.",
    )
    mask_coding: Literal["centred", "zero_one"] = Field(
        default="centred",
        description="How `trust`, `dp-score` and `dp-markov` add up masks. centred: missing and "
        "observed are ±½, with half the norm; zero_one: 1 and 0, as the paper, and so twice the "
        "noise.",
    )
    strata_draw: Literal["even", "independent"] = Field(
        default="even",
        description="even: strata of synthetic patients are dealt out as near to their shares as "
        "whole patients allow; independent: each patient's is drawn alone (alg:sample), as the "
        "paper, and shares differ by chance.",
    )
    marginals_by: Literal["event", "stratum"] = Field(
        default="event",
        description="Whose marginals `independent` keeps apart. event: two tables with enough "
        "patients in each; stratum: one for each site, group and event, as the paper.",
    )
    encoding: Literal["bounds", "reference"] = Field(
        default="bounds",
        description="bounds: eq:encoding, the public bounds become -1 and 1; reference: centre and "
        "three scales of each variable do, where the schema gives them.",
    )

    strength: float | None = Field(
        default=None,
        gt=0,
        description="ν = N·μ: how much there is to learn, patients times the Gaussian strength of "
        "the budget. Left out: what the plan's N, ε and δ give. Radii and details of "
        "`copula-score` follow from it.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.missing_min >= self.missing_max:
            raise InvalidField("missing_min must lie below missing_max", "missing_min")
        if (self.clip_radius or 0) > 1e4:
            raise InvalidField("too large; √(T·V) always suffices", "clip_radius")
        for what in ("ridge", "eigen_floor", "eigen_cap"):
            if not 1 / STABLE <= (getattr(self, what) or 1) <= STABLE:
                raise InvalidField(f"must lie between {1 / STABLE:g} and {STABLE:g}", what)
        for what, required in (("condition_gram", "derived"), ("gram_sensitivity", "tight")):
            if self.release == "joint" and getattr(self, what) != required:
                raise InvalidField(f"a joint release needs {what}: {required}", what)
        return self

    def resolved(self, *, cells: int, patients: int, mu: float = 1.0) -> "ResolvedConstants":
        """Return the constants with every rule applied; N, the budget's μ and the cells of a
        record, T·V if nothing is static, are public."""
        radius = self.clip_radius or sqrt(cells) * 2 / 3
        bits = self.grid_bits or (12 if patients <= 10_000_000 else 13)
        cap = self.eigen_cap or radius**2
        given = self.model_dump() | {
            "clip_radius": radius,
            "grid_bits": bits,
            "eigen_cap": cap,
            "strength": self.strength or max(patients, 1) * mu,
        }
        return ResolvedConstants.model_validate(given)


class ResolvedConstants(Constants):
    """Constants as a fit uses them, and as a release states them."""

    clip_radius: float = Field(gt=0)  # L
    grid_bits: int = Field(ge=6, le=16)
    eigen_cap: float = Field(gt=0)  # κ
    strength: float = Field(gt=0)  # ν

    def by_hand(self, *, cells: int, patients: int, mu: float) -> dict[str, float | str]:
        """Return the constants that are not what the rules give: someone has chosen them."""
        usual = Constants(clip_radius=self.clip_radius).resolved(  # on which κ depends
            cells=cells, patients=patients, mu=mu
        )
        free = Constants().resolved(cells=cells, patients=patients, mu=mu).clip_radius
        rules = usual.model_dump() | {"clip_radius": free}
        return {name: value for name, value in self.model_dump().items() if value != rules[name]}
