"""What noise means, in the units of the schema's variables. Computed from public facts alone."""

from collections.abc import Iterator

import numpy as np

from longsynth.encoding.scaling import Scaling
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats

NAMED = 3  # variables, the first of the schema


def means_in_units(schema: Schema, scaling: Scaling, deviations: Floats) -> str:
    """Say what noise in the means of the encoded variables (V,) is in their own units."""
    return _listed(_means(schema, scaling, deviations))


def spreads_in_units(schema: Schema, scaling: Scaling, deviation: float) -> str:
    """Say which standard deviations are too small to stand out from noise in a mean square of an
    encoded variable."""
    halves, least, words = scaling.half_ranges(), float(np.sqrt(deviation)), []
    for variable, half in zip(schema.variables, halves, strict=True):
        if variable.kind == "continuous" and variable.transform == "none":
            words.append(f"{_number(least * half)} {variable.unit} in {variable.name}".strip())
    return f"; it hides a standard deviation below {_listed(iter(words))}" if words else ""


def _means(schema: Schema, scaling: Scaling, deviations: Floats) -> Iterator[str]:
    halves = scaling.half_ranges()
    for variable, half, deviation in zip(schema.variables, halves, deviations, strict=True):
        if variable.kind == "nominal":
            yield f"±{points(deviation)} in the share of each level of {variable.name}"
        elif variable.kind == "binary":
            yield f"±{points(deviation / 2)} in the share of {variable.name}"
        elif variable.transform == "log":
            factor = np.expm1(min(deviation * half, 20.0))
            yield f"±{percent(factor)} in the typical {variable.name}"
        else:
            noise = f"±{_number(deviation * half)} {variable.unit}".rstrip()
            yield f"{noise} in the mean {variable.name}"


def _listed(words: Iterator[str]) -> str:
    first = [word for word, _ in zip(words, range(NAMED), strict=False)]
    return ", ".join(first) + (", …" if next(words, None) is not None else "")


def points(share: float) -> str:
    return f"{_number(100 * share)} percentage points"


def percent(share: float) -> str:
    return f"{_number(100 * share)} %"


def _number(x: float) -> str:
    return f"{x:.2g}" if abs(x) < 100 else f"{x:,.0f}"
