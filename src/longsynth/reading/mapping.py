"""What the readers share: which code belongs to which variable, unit and level.

An adapter prepares two tables. `people` has a row for each patient: `id`; `start`, in hours since
1970; `stop`, in hours since the start; `age`; `death`; and `c3`, … for what stands in a column.
`events` has a row for each event: `id`; `clock`, in hours (NULL: it belongs to no time; NaN: its
time cannot be read); `key`, the code; `number`, `raw` and `unit`. From these and the schema follows
`placed`: the events that the schema names, in its units and levels, in hours since the start.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from longsynth.reading.sql import literal
from longsynth.reading.stage import Stage
from longsynth.schema.mapping import Codes, Source
from longsynth.schema.schema import Labels, Schema
from longsynth.schema.variable import Variable
from longsynth.system.errors import SchemaError

LABELS = ("group", "event", "site")
PLACES = 2.0**53  # numbers beyond are ids, which are compared as text only
KEYS = pa.schema([("key", "string"), ("target", "int32"), ("unit", "string"), ("raw", "string")])


@dataclass(frozen=True, slots=True)
class Target:
    """A variable or a label that an import fills."""

    number: int
    name: str  # of the column that is written
    place: str  # in the schema, for messages
    source: Source | None
    levels: tuple[str, ...] | None  # None: numbers
    once: bool  # one value a patient: static variables and labels
    column: str  # in tables that have one
    numeric: bool = True  # written as a number, whether or not there are levels to choose from

    @property
    def codes(self) -> Source:
        return self.source or Source()

    @property
    def fact(self) -> str | None:
        return self.codes.fact

    def refused(self, why: str) -> SchemaError:
        return SchemaError(f"{self.place}: {why}.")


Key = tuple[str, int, str | None, str | None]  # code, target, unit, raw
Finds = Callable[[Target], bool]
Step = Callable[[str], None]  # told what is being done, in public words


@dataclass(frozen=True, slots=True)
class Prepared:
    """What an adapter says of the tables it prepared."""

    by_key: Finds  # which targets come from events
    begins: bool = True  # times count from each patient's start
    stamps: bool = False  # times stay time stamps, as the source has no start
    wide: bool = False  # the table `wide` stands in for `events`
    notes: dict[str, Any] = field(default_factory=dict)  # raw facts


def targets_of(schema: Schema) -> tuple[Target, ...]:
    """Everything that the schema names, and what is wrong with how it is mapped."""
    named: list[tuple[str, str, Variable | Labels]] = [
        (v.name, f"variables.{v.name}", v) for v in schema.variables
    ]
    named += [(what, what, label) for what in LABELS if (label := getattr(schema, what))]
    made = [_target(i, name, place, found) for i, (name, place, found) in enumerate(named)]
    for target in made:
        _check(target)
    return tuple(made)


def _target(number: int, name: str, place: str, found: Variable | Labels) -> Target:
    once = isinstance(found, Labels) or found.static
    levels = found.levels
    if levels is None and found.source and found.source.fact in ("death", "occurs"):
        levels = ("0", "1") if isinstance(found, Variable) and found.kind == "binary" else None
    column, numeric = found.column or name, found.levels is None
    return Target(number, name, place, found.source, levels, once, column, numeric)


def _check(target: Target) -> None:
    source = target.codes
    if target.fact and not target.once:
        raise target.refused(f"'fact: {target.fact}' is one value a patient; add static: true")
    if target.fact == "age" and target.levels is not None:
        raise target.refused("an age is a number; use it for a continuous static variable")
    if target.fact in ("death", "occurs") and len(target.levels or ()) != 2:
        raise target.refused(f"'fact: {target.fact}' needs two levels, the reference first")
    unknown = [level for level in source.values.values() if level not in (target.levels or ())]
    if unknown:
        raise target.refused(f"values leads to {unknown[0]!r}, which is none of its levels")


def check_units(target: Target, unit: str) -> None:
    """Units can only be converted where a column or a part of the code names them."""
    if target.codes.units and not unit and "unit" not in target.codes.groups():
        raise target.refused(
            "its units cannot be converted, as nothing says which unit an event has; put a group "
            "(?P<unit>…) into its pattern, or name a column with source: {unit: …}"
        )


def matches(code: str, wanted: Codes) -> tuple[str | None, str | None] | None:
    """Return the unit and value that a code itself names, or None if it is another code."""
    found = re.fullmatch(wanted.pattern, code) if wanted.pattern else None
    if found is None:
        return (None, None) if code in wanted.codes else None
    groups = found.groupdict()
    return groups.get("unit"), groups.get("value")


def keys_of(codes: Iterable[str], wanted: dict[int, Codes]) -> Iterator[Key]:
    """Yield which of the codes belong to which targets."""
    for code in codes:
        for number, source in wanted.items():
            found = matches(code, source)
            if found is not None:
                yield code, number, *found


def register_keys(stage: Stage, keys: Iterable[Key]) -> None:
    rows = [dict(zip(KEYS.names, key, strict=True)) for key in keys]
    stage.connection.register("keys", pa.Table.from_pylist(rows, schema=KEYS))


def place_events(stage: Stage, targets: Sequence[Target], by_key: Finds, *, begins: bool) -> None:
    """Define `placed`. `begins`: times count from each patient's start."""
    used = [t for t in targets if by_key(t)]
    numbers = [t for t in used if t.levels is None]
    converted = [t for t in used if t.codes.units]
    units = [(t.number, u, a, b) for t in converted for u, (a, b) in t.codes.units.items()]
    table = pa.table(
        [pa.array(column) for column in zip(*units, strict=True)] if units else [[], [], [], []],
        schema=pa.schema(
            [("target", "int32"), ("unit", "string"), ("factor", "float64"), ("more", "float64")]
        ),
    )
    stage.connection.register("units", table)
    hours = since_start("clock") if begins else "clock"
    levels = [f"WHEN {t.number} THEN {level('raw', t)}" for t in used if t.levels is not None]
    stage.run(f"""
        CREATE VIEW placed AS
        SELECT id, target, clock IS NULL AS timeless, {hours} AS hours, stop, unit,
               {among(converted)} AND factor IS NULL AS other_unit,
               CASE WHEN {among(numbers)} AND isfinite(x) THEN x END AS number,
               {f"CASE target {' '.join(levels)} END" if levels else "NULL::VARCHAR"} AS level
        FROM (SELECT e.id, k.target, e.clock, p.start, p.stop, u.factor,
                     coalesce(k.unit, e.unit, '') AS unit,
                     CASE WHEN {among(converted, "k.target")}
                          THEN e.number * u.factor + u.more ELSE e.number END AS x,
                     coalesce(k.raw, e.raw, CAST(e.number AS VARCHAR), e.key) AS raw
              FROM events e JOIN keys k ON k.key = e.key JOIN people p ON p.id = e.id
              LEFT JOIN units u ON u.target = k.target AND u.unit = coalesce(k.unit, e.unit, ''))
    """)


def among(targets: Iterable[Target], column: str = "target") -> str:
    """SQL: the row belongs to one of these."""
    numbers = [str(t.number) for t in targets]
    return f"{column} IN ({', '.join(numbers)})" if numbers else "false"


def level(raw: str, target: Target, number: str = "") -> str:
    """SQL for the level that a text or number stands for, or NULL."""
    number = number or f"TRY_CAST({raw} AS DOUBLE)"
    pairs = list(target.codes.values.items()) + [(name, name) for name in target.levels or ()]
    texts = [f"WHEN {raw} = {literal(text)} THEN {literal(name)}" for text, name in pairs]
    numbers = [
        f"WHEN {number} = {float(text)!r} THEN {literal(name)}"
        for text, name in pairs
        if _is_number(text)
    ]
    return f"CASE {' '.join(texts + numbers)} END"


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < PLACES
    except ValueError:
        return False


def since_start(clock: str) -> str:
    """SQL for hours since the start, to the millisecond: what is an hour apart is so exactly."""
    return f"round(({clock} - start) * 3.6e6) / 3.6e6"


def age(start: str, year: str, month: str, day: str) -> str:
    """SQL for whole years at the start; an unknown month or day is the first."""
    at = moment(start)
    born = f"coalesce({month}, 1)::DOUBLE * 100 + coalesce({day}, 1)"
    passed = f"month({at}) * 100 + day({at}) >= {born}"
    return f"year({at}) - {year}::DOUBLE - CASE WHEN {passed} THEN 0 ELSE 1 END"


def moment(hours: str) -> str:
    """SQL for a time stamp of hours since 1970; NULL beyond the years 1 to 9999.

    NaN passes the comparison where a file states its bounds, as these leave NaN out and DuckDB
    then takes it for always true; so the cast must take it too.
    """
    sane = f"CASE WHEN {hours} BETWEEN -17259888 AND 70389527 THEN {hours} END"
    return f"make_timestamp(TRY_CAST(round(({sane}) * 3.6e6) AS BIGINT) * 1000)"
