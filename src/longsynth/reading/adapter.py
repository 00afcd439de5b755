"""The contract between an import and the adapter of a format, and what adapters share.

An adapter is one function, `prepare(request) -> Prepared`, in a file of reading/formats/. It gets a
`Request`: the source, the schema, the targets (the variables and labels to fill) and a session. It
opens the source's tables in the session, checks names and types of columns, and defines these
tables with SQL:

`people`: one row per patient of the source's own list of patients, whether or not there is anything
else about the patient.
    id      the patient's id, whole number or text
    start   hours since 1970 at which the record starts; NULL: it never started
    stop    hours since the start at which the record ends; NULL: it does not end
    age     whole years at the start, or NULL
    death   hours since 1970, or NULL
    c0, c1  for each target that is in a column of its own, by the target's number: its value

`events` and `keys`: one row per event, and which codes belong to which target (`register_keys`).
    id      the patient's id, in the same type
    clock   hours since 1970; NULL: the event has no time; NaN: its time cannot be read
    key     the event's code
    number  its value as a number, or NULL
    raw     its value as text, or NULL; a censored number is only here, as in <5
    unit    its unit, or NULL

or, instead of both, `wide`: one row per time, with `id`, `clock` and `w0`, `w1`, … for each target
over time, already in the schema's units and levels.

It returns a `Prepared`, which says which of these it defined. The import does the rest: it counts
patients, matches codes, converts units and levels, clips nothing, and writes the cohort folder.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from longsynth.reading.columns import literal
from longsynth.reading.session import Session
from longsynth.schema.columns import LABELS, CodeList, Labels
from longsynth.schema.mapping import Codes, Dataset, Source
from longsynth.schema.recipe import Recipe
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.errors import Code, SchemaError

START, STOP = -1, -2  # targets beside those of the schema: what opens and closes a record
LARGEST = 2.0**53  # larger numbers are ids, which are compared as text only
KEYS = pa.schema([("key", "string"), ("target", "int32"), ("unit", "string"), ("raw", "string")])


@dataclass(frozen=True, slots=True)
class Target:
    """A variable, a label or a list of codes that an import fills."""

    number: int
    name: str  # of the column that is written
    place: str  # in the schema, for messages
    source: Source | None
    levels: tuple[str, ...] | None  # None: numbers
    once: bool  # one value per patient: static variables and labels
    column: str  # in tables with one column per variable
    numeric: bool = True  # written as a number, with or without levels to choose from
    unit: str = ""  # of the variable
    coded: bool = False  # a list of codes: the code of an event can be the level itself
    otherwise: str = ""  # in such tables, the column that counts where the first has no number

    @property
    def codes(self) -> Source:
        return self.source or Source()

    @property
    def fact(self) -> str | None:
        return self.codes.fact

    def refused(self, problem: str, remedy: str) -> SchemaError:
        return SchemaError(Code.MAPPING_UNUSABLE, f"{self.place}: {problem}.", remedy)


Key = tuple[str, int, str | None, str | None]  # code, number of the target, unit, raw
Step = Callable[[str], None]  # receives the name of the current step, which is public


@dataclass(frozen=True, slots=True)
class Request:
    """What an adapter gets."""

    sources: tuple[str, ...]  # paths or addresses, as the user gave them
    schema: Schema
    targets: tuple[Target, ...]
    session: Session
    step: Step  # call it at the start of each step, with the same words for all patients
    recipe: Recipe | None = None  # of a format that a recipe describes

    @property
    def source(self) -> str:
        """The only source of a format that takes one."""
        return self.sources[0]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What an adapter returns: which tables it defined in the session."""

    from_events: Callable[[Target], bool]  # whether a target comes from `events`
    relative: bool = True  # times count from each patient's start
    stamps: bool = False  # times stay time stamps, as the source has no start
    wide: bool = False  # the table `wide` takes the place of `events`
    notes: dict[str, Any] = field(default_factory=dict)  # counts for internal/; raw facts
    with_units: bool = False  # the source states the unit of every number, so each is converted


Adapter = Callable[[Request], Prepared]


def targets_of(schema: Schema) -> tuple[Target, ...]:
    """Return everything that the schema names. Refuse a mapping that contradicts itself."""
    named: list[tuple[str, str, Variable | Labels | CodeList]] = [
        (v.name, f"variables.{v.name}", v) for v in schema.variables
    ]
    named += [(what, what, label) for what in LABELS if (label := getattr(schema, what))]
    named = [
        entry
        for entry in named
        if isinstance(entry[2], CodeList) or not schema.numbers_of(entry[2])  # a fit derives those
    ]
    named += [(listed.name, f"codes.{listed.name}", listed) for listed in schema.codes]
    targets = [_target(i, name, place, entry) for i, (name, place, entry) in enumerate(named)]
    for target in targets:
        _check(target)
    return tuple(targets)


def _target(number: int, name: str, place: str, entry: Variable | Labels | CodeList) -> Target:
    if isinstance(entry, CodeList):
        column, source = entry.column or name, _of_codes(entry)
        return Target(number, name, place, source, entry.levels, False, column, False, coded=True)
    once = isinstance(entry, Labels) or entry.static
    levels = None if entry.bands else entry.levels
    if levels is None and entry.source and entry.source.fact in ("death", "occurs"):
        levels = ("0", "1") if isinstance(entry, Variable) and entry.kind == "binary" else None
    column, numeric = entry.column or name, entry.levels is None or bool(entry.bands)
    unit, otherwise = "", ""
    if isinstance(entry, Variable):
        unit, otherwise = entry.unit, entry.otherwise
    target = Target(number, name, place, entry.source, levels, once, column, numeric, unit)
    return replace(target, otherwise=otherwise)


def _of_codes(entry: CodeList) -> Source:
    """Where nothing else is said, the codes of a list are those of events."""
    source = entry.source or Source()
    if source.named or source.concepts:
        return source
    concepts = tuple(int(code) for code in entry.levels if code.isdecimal() and len(code) < 10)
    return source.model_copy(update={"codes": entry.levels, "concepts": concepts})


def _check(target: Target) -> None:
    source = target.codes
    if target.fact and not target.once:
        raise target.refused(f"'fact: {target.fact}' is one value per patient", "Add static: true.")
    if target.fact == "age" and target.levels is not None:
        raise target.refused("an age is a number", "Use it for a continuous static variable.")
    if target.fact in ("death", "occurs") and len(target.levels or ()) != 2:
        raise target.refused(
            f"'fact: {target.fact}' needs two levels", "Give both, the reference first."
        )
    unknown = [level for level in source.values.values() if level not in (target.levels or ())]
    if unknown:
        raise target.refused(
            f"values leads to {unknown[0]!r}, which is not one of its levels",
            "Correct the value, or add the level.",
        )


def check_units(target: Target, unit: str) -> None:
    """Units can only be converted if a column or a part of the code names them."""
    source = target.codes
    if (source.units or source.convert) and not unit and "unit" not in source.groups():
        raise target.refused(
            "its units cannot be converted, as nothing says which unit an event has",
            "Put a group (?P<unit>…) into its pattern, or name a column with source: {unit: …}.",
        )


def matches(code: str, wanted: Codes) -> tuple[str | None, str | None] | None:
    """Return the unit and value that a code itself names, or None if it is another code."""
    match = re.fullmatch(wanted.pattern, code) if wanted.pattern else None
    if match is None:
        return (None, None) if code in wanted.codes else None
    groups = match.groupdict()
    return groups.get("unit"), groups.get("value")


def check_moments(layout: Dataset, *, start: Iterable[str], end: Iterable[str] = ()) -> None:
    """Refuse a start or an end that says only what a format does not read. If `end` is empty, the
    format has an end of its own, and what is said for other formats does no harm."""
    for what, moment, read in (("start", layout.start, start), ("end", layout.end, end)):
        if read and moment.model_fields_set and not moment.model_fields_set & set(read):
            raise SchemaError(
                Code.MAPPING_UNUSABLE,
                f"source.{what}: this format does not read "
                f"{', '.join(sorted(moment.model_fields_set))}.",
                f"Give one of {', '.join(read)}.",
            )


def define_moments(session: Session, openers: str, closers: str, hours: float | None) -> None:
    """Define `moments`: when each patient's record starts and stops, in hours since 1970.

    Both queries have `id` and `clock`. An opener's `until` is when it ends itself, which closes the
    record if neither `closers` nor `hours` are given.
    """
    session.run(f"""
        CREATE TEMP TABLE opened AS
        SELECT id, min(clock) AS start, arg_min(until, (clock, until)) AS until
        FROM ({openers}) WHERE isfinite(clock) GROUP BY id""")
    closed = "SELECT id, until AS closed FROM opened"
    if closers:
        closed = f"""SELECT id, min(clock) AS closed FROM ({closers}) JOIN opened USING (id)
                     WHERE isfinite(clock) AND clock > start GROUP BY id"""
    latest = "NULL::DOUBLE"
    if hours is not None:
        latest = f"start + {hours!r}"
        closed = closed if closers else "SELECT NULL AS id, NULL::DOUBLE AS closed"
    session.run(f"""
        CREATE TEMP TABLE moments AS SELECT id, start, least(closed, {latest}) AS stop
        FROM opened LEFT JOIN ({closed}) USING (id)""")


def keys_of(codes: Iterable[str], wanted: dict[int, Codes]) -> Iterator[Key]:
    """Yield which of the codes belong to which targets."""
    for code in codes:
        for number, source in wanted.items():
            named = matches(code, source)
            if named is not None:
                yield code, number, *named


def register_keys(session: Session, keys: Iterable[Key]) -> None:
    """Define `keys`: which codes belong to which targets."""
    rows = [dict(zip(KEYS.names, key, strict=True)) for key in keys]
    session.connection.register("keys", pa.Table.from_pylist(rows, schema=KEYS))


def among(targets: Iterable[Target], column: str = "target") -> str:
    """SQL: the row belongs to one of these targets."""
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
        return abs(float(text)) < LARGEST
    except ValueError:
        return False


def since_start(clock: str) -> str:
    """SQL for hours since the start, rounded to the millisecond so that whole hours are exact."""
    return f"round(({clock} - start) * 3.6e6) / 3.6e6"


def age(start: str, year: str, month: str, day: str) -> str:
    """SQL for whole years at the start; an unknown month or day counts as the first."""
    at = moment(start)
    born = f"coalesce({month}, 1)::DOUBLE * 100 + coalesce({day}, 1)"
    passed = f"month({at}) * 100 + day({at}) >= {born}"
    return f"year({at}) - {year}::DOUBLE - CASE WHEN {passed} THEN 0 ELSE 1 END"


def moment(hours: str) -> str:
    """SQL for a time stamp from hours since 1970; NULL outside the years 1 to 9999.

    If a file states its bounds, which leave NaN out, DuckDB takes the comparison for always true
    and NaN passes. So the cast must accept NaN too.
    """
    sane = f"CASE WHEN {hours} BETWEEN -17259888 AND 70389527 THEN {hours} END"
    return f"make_timestamp(TRY_CAST(round(({sane}) * 3.6e6) AS BIGINT) * 1000)"
