"""How the dossier writes numbers, and names times, variables, levels and outcomes."""

import re

from longsynth.audit.description import level_names as coded_levels
from longsynth.audit.registry import label_of
from longsynth.schema.columns import Labels, TimeUnit, time_unit
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable

OUTCOMES, GROUPS = ("event",), ("group",)  # what a schema calls them
GAPS = "gap_wasserstein"  # the one score in hours
# what `Labels.numbered` writes after a meaning when it replaces two levels by 0 and 1
_CODED = re.compile(r"^(?:(?P<meaning>.*); )?0 is (?P<first>.+), 1 is (?P<second>.+)$")


def number(value: float) -> str:
    """Three significant digits, or whole numbers from a thousand on."""
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def signed(value: float, digits: int = 2) -> str:
    """With a sign and a true minus; zero is never negative."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "+")


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}\u00a0%"


def spaced(name: str) -> str:
    """A variable's name for readers: heart_rate becomes heart rate."""
    return name.replace("_", " ")


def short(name: str, letters: int) -> str:
    """Leave out the middle of a long name: names often differ at their end."""
    return name if len(name) <= letters else f"{name[: letters - 5]}…{name[-4:]}"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def gap_unit(schema: Schema) -> TimeUnit:
    return time_unit(schema.max_gap, schema.slot_rule.horizon)


def record_unit(schema: Schema) -> TimeUnit:
    """For the time since a record began."""
    return time_unit(schema.slot_rule.horizon or schema.max_gap)


def meaning_of(schema: Schema, what: str) -> str:
    """What event, group or site means, without the codes of its levels; else its own name."""
    labels: Labels | None = getattr(schema, what)
    meaning = labels.meaning if labels else ""
    coded = _CODED.match(meaning)
    return (coded["meaning"] if coded else meaning) or (labels.name if labels else "") or what


def levels_of(schema: Schema, what: str) -> tuple[str, ...]:
    """The levels of event, group or site. 0 and 1 are named by what they stand for."""
    labels, levels = getattr(schema, what), schema.levels(what)
    if levels != ("0", "1"):
        return levels
    if coded := _CODED.match(labels.meaning):
        return coded["first"], coded["second"]
    if labels.meaning or what == "event":
        return f"{labels.meaning or what}: no", f"{labels.meaning or what}: yes"
    return f"{what} 0", f"{what} 1"


def sides_of(schema: Schema, what: str) -> tuple[str, ...]:
    """The two sides that scores compare: the first level, and the other or all others."""
    first, *others = levels_of(schema, what)
    return (first, *(others if len(others) < 2 else [f"not {first}"]))


def level_names(variable: Variable) -> list[str]:
    """The levels of a variable, in order; no and yes, if a binary variable has no names."""
    if variable.kind == "binary" and variable.levels is None:
        return ["no", "yes"]
    return coded_levels(variable)


def metric_label(schema: Schema, metric: str) -> str:
    """A metric's label with levels in place of their numbers."""

    def level(match: re.Match[str]) -> str:
        return f", {sides_of(schema, match[1])[int(match[2])]}"

    named = re.sub(r"(?:,| in) (event|group) ([01])\b", level, label_of(metric))
    return named.replace("hours", gap_unit(schema).name) if metric == GAPS else named
