"""How the dossier writes numbers, and names times, variables, levels and outcomes."""

import re
from collections.abc import Sequence

from longsynth.audit.description import level_names as coded_levels
from longsynth.audit.registry import label_of
from longsynth.schema.columns import Labels, TimeUnit, time_unit
from longsynth.schema.outcomes import Outcome
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable

GAPS = "gap_wasserstein"  # the one score in hours
_MEASURED = re.compile(r"_site_|_(?:auprc|ece|false_negatives|mae|concordance)$")
# what `Labels.numbered` writes after a meaning when it replaces levels by 0, 1, …
_CODED = re.compile(r"^(?:(?P<meaning>.*); )?(?P<levels>0 is .+, 1 is .+)$")


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


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


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
    """The levels of event, group or site. 0, 1, … are named by what they stand for."""
    labels, levels = getattr(schema, what), schema.levels(what)
    if labels is None or levels != tuple(map(str, range(len(levels)))):
        return levels
    if coded := _CODED.match(labels.meaning):
        marks = (f"{i} is " for i in range(1, len(levels)))
        pattern = "0 is (.+), " + ", ".join(f"{mark}(.+)" for mark in marks)
        if named := re.fullmatch(pattern, coded["levels"]):
            return named.groups()
    if len(levels) > 2:
        return tuple(f"{labels.name or what} {level}" for level in levels)
    said = labels.meaning or labels.name
    if said or what == "event":
        return f"{said or what}: no", f"{said or what}: yes"
    return f"{what} 0", f"{what} 1"


def outcome_name(schema: Schema, outcome: Outcome) -> str:
    """What people call an outcome."""
    kept_as_label = outcome.variable is None
    return meaning_of(schema, "event") if kept_as_label else spaced(outcome.name)


def target_name(schema: Schema, target: str) -> str:
    """What people call that which an audit predicted: an outcome, or one of its levels."""
    for outcome in schema.outcomes:
        if target == outcome.name or target.startswith(f"{outcome.name}: "):
            return outcome_name(schema, outcome) + target.removeprefix(outcome.name)
    return spaced(target)


def outcome_levels(schema: Schema, outcome: Outcome) -> tuple[str, ...]:
    """The levels of an outcome; for a time to event how it ended, censored first."""
    column = outcome.status if outcome.kind == "time_to_event" else outcome.variable
    if column is None:
        return levels_of(schema, "event")
    return tuple(level_names(schema.variables[column]))


def part_name(schema: Schema, part: str) -> str:
    """A part of the patients as readers know it: `sex=F&age=over 80` becomes sex: F, age: over
    80."""
    if numbered := re.fullmatch(r"group(\d+)", part):
        return levels_of(schema, "group")[int(numbered[1])]
    facts = (fact.partition("=") for fact in part.split("&"))
    return ", ".join(f"{spaced(what)}: {level}" if level else what for what, _, level in facts)


def levels_only(schema: Schema, part: str) -> str:
    """The same where there is little room: F, over 80."""
    return ", ".join(name.rpartition(": ")[2] for name in part_name(schema, part).split(", "))


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
    named = re.sub(r"(?<=, )group\d+", lambda found: part_name(schema, found[0]), named)
    if "=" in metric:
        part = _MEASURED.split(metric)[0]
        named = named.replace(part, part_name(schema, part))
    return named.replace("hours", gap_unit(schema).name) if metric == GAPS else named
