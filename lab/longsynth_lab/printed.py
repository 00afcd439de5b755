"""The paper as it is printed: every departure that a constant can undo, and all of them undone.

docs/paper.md has the full list, also of departures without a constant: undone, those would break
the privacy promise.
"""

Constant = tuple[str, str | int | float]

MARGINALS = "Marginals by stratum"  # the one that touches `independent` alone
DEPARTURES: dict[str, tuple[Constant, ...]] = {  # by what the paper does instead
    "Condition Gram released": (("condition_gram", "released"),),
    "Sensitivity by the triangle inequality": (("gram_sensitivity", "triangle"),),
    "Whole second moment": (("second_moment", "whole"),),
    "Missing values interpolated": (("missing_values", "interpolated"),),
    "Masks as 0 and 1": (("mask_coding", "zero_one"),),
    "Strata drawn one by one": (("strata_draw", "independent"),),
    MARGINALS: (("marginals_by", "stratum"),),
}
AS_PRINTED: tuple[Constant, ...] = tuple(c for undone in DEPARTURES.values() for c in undone)
