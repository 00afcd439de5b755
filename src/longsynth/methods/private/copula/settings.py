"""Settings: what the rules come to for one schema and budget, in words, for `longsynth plan`."""

from longsynth.methods.private.copula.calibration import FEWEST, MOST
from longsynth.methods.private.copula.choices import Choices
from longsynth.methods.private.copula.rules import (
    EVENT_WEIGHT,
    GRID,
    PLACE_WEIGHT,
    SHAPE_WEIGHTS,
    Rules,
    weights,
)
from longsynth.sampling.copula.channels import channel_number
from longsynth.sampling.copula.effects import time_shapes
from longsynth.sampling.copula.lags import Lags
from longsynth.schema.schema import Schema

SHAPES = ("level", "slope", "bend")


def settings(schema: Schema, choices: Choices) -> dict[str, str]:
    """Return name and text of every public setting; all follow from T, V, N, ε and δ."""
    rules, channels = Rules.of(schema), channel_number(schema)
    length = "" if schema.length == "full" else ", the length"
    found = {
        "strength": f"ν = N·μ = {rules.strength:,.4g}",
        "waves": f"K = {rules.waves}{_fewer(schema, rules)}",
        "radius of marginals": f"{rules.marginal_radius:.4g}",
        "radius of lag blocks": f"{rules.block_radius:.4g}",
        "radius of severity": f"{rules.score_radius:.4g}",
        "radius of effects": f"{rules.effect_radius:.4g}",
        "grid": f"{GRID:,} integers in each radius",
        "channels": f"m = {channels}: values, marks, the gap" + length,
        "distances": f"{_distances(Lags(schema.slots, channels))} slots",
        "time shapes": ", ".join(SHAPES[: len(time_shapes(schema.slots))]),
        "weights of severity": ", ".join(
            f"{w:g}" for w in SHAPE_WEIGHTS[: len(time_shapes(schema.slots))]
        ),
        "left of effects": f"{EVENT_WEIGHT} by event, {PLACE_WEIGHT} by site and group",
        "balance": f"events are at least {100 * choices.balance:.3g} % of synthetic patients, "
        "before floors",
        "calibration": f"{choices.rounds} rounds of N simulated patients, "
        f"from {FEWEST:,} to {MOST:,}",
    }
    steps = [(v.name, v.resolution, v.unit) for v in schema.variables]
    given = [f"{name} {step:g} {unit}".rstrip() for name, step, unit in steps if step]
    return found | ({"recording resolution": ", ".join(given)} if given else {})


def _fewer(schema: Schema, rules: Rules) -> str:
    """Measures with few levels, which a few waves describe whole."""
    sizes = zip(schema.variables, weights(schema, rules), strict=False)
    few = [f"{len(w)} for {v.name}" for v, w in sizes if len(w) < rules.waves]
    return f" ({', '.join(few)})" if few else ""


def _distances(lags: Lags) -> str:
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in lags.groups)
