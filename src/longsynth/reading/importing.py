"""An import from start to end: prepare, count patients, match events, write a cohort folder.

Slots are made later, by a fit. adapter.py describes the tables that an adapter prepares.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from longsynth.reading.adapter import (
    Prepared,
    Request,
    Step,
    Target,
    among,
    level,
    moment,
    since_start,
    targets_of,
)
from longsynth.reading.columns import literal, quoted
from longsynth.reading.first_recipe import first_recipe
from longsynth.reading.formats import input_format
from longsynth.reading.session import Session
from longsynth.schema.columns import LABELS
from longsynth.schema.file import dump, load_schema
from longsynth.schema.recipe import Recipe, load_recipe, parse_recipe
from longsynth.schema.schema import Schema
from longsynth.schema.units import conversion
from longsynth.system.errors import Code, Refused, checked
from longsynth.system.folders import new_folder

PATHS = "Give paths. For data frames, use Synthesizer or read_frames."
MEMORY = 512  # MB that DuckDB may use before it sorts on disk
FORMAT = "(FORMAT parquet, ROW_GROUP_SIZE 65536)"
WITHOUT_TIME = "count(*) FILTER (NOT coalesce(isfinite(clock), false))"
USED = "used"
UNITS_LISTED = 20  # per variable, in the internal counts
UNITS = pa.schema(
    [("target", "int32"), ("unit", "string"), ("factor", "float64"), ("more", "float64")]
)
NOTICE = """# Not for release

`import.json` counts what was read and what could not be, without any protection. It is for the data
steward only, like the tables of the cohort in the folder above.
"""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import wrote, and what to look at. For the data steward only."""

    patients: int
    variables: int
    notes: tuple[str, ...] = ()  # sentences


@checked(source=PATHS, described_by=PATHS, out=PATHS)
def import_cohort(
    form: str,
    source: Path | str | Sequence[Path | str],
    described_by: Path | str | None,
    out: Path | str,
    step: Step = lambda _: None,
) -> Imported:
    """Write a complete cohort folder, or nothing. `form` is a name in `reading.formats.FORMATS`. It
    says whether there may be several sources, and whether a schema or a recipe describes them. A
    recipe is kept with the cohort. Without one, the recipe that the files suggest must leave
    nothing open.

    This runs on the private side. What it returns and says is for the data steward, and it quotes
    no cell.

    >>> import longsynth
    >>> longsynth.import_cohort("events", "hospital", "cohort/schema.yaml", "imported").patients
    200
    """
    chosen = input_format(form)
    sources = (source,) if isinstance(source, Path | str) else tuple(source)
    if len(sources) > 1 and not chosen.several:
        raise Refused(
            Code.OPTIONS_CONFLICT,
            f"the format {form} reads one source, and {len(sources)} are given.",
            "Give one folder, file or address.",
        )
    recipe, text = None, ""
    if chosen.described_by == "recipe":
        recipe, text = _recipe([Path(path) for path in sources], described_by)
        loaded = recipe.schema_of_cohort
    elif described_by is not None:
        loaded = load_schema(described_by)
    else:
        raise Refused(Code.OPTIONS_CONFLICT, f"the format {form} needs a schema.", "Give its path.")
    targets = targets_of(loaded)
    for target in targets:
        if target.otherwise and form != "events":
            problem = "'otherwise' names a column, which only tables of events have"
            raise target.refused(problem, "Leave it out, and write one column with the time.")
    with (
        new_folder(Path(out), owner_only=True) as folder,
        Session(
            len(loaded.variables), memory=MEMORY, problem="the source cannot be read."
        ) as session,
        session.guard(),
    ):
        names = tuple(map(str, sources))
        prepared = chosen.load()(Request(names, loaded, targets, session, step, recipe))
        patients = session.count_patients()
        tables = _Cohort(session, targets, prepared)
        if not prepared.wide:
            tables.match_events()
        step("writing patients")
        _write(session, tables.patients(), folder / "patients.parquet")
        step("writing observations")
        _write(session, tables.observations(), folder / "observations.parquet")
        step("counting")
        counts: dict[str, Any] = {"patients": patients, **prepared.notes}
        counts |= tables.row_counts() if prepared.wide else tables.event_counts()
        counts["patients_without"] = tables.patients_without(folder / "patients.parquet")
        unit = "timestamp" if prepared.stamps else "hours"
        _write_rest(folder, loaded.in_own_columns(unit), counts)
        if recipe:
            (folder / "recipe.yaml").write_text(text, encoding="utf-8")
    return Imported(patients, len(loaded.variables), tuple(_notes(counts)))


def _recipe(files: Sequence[Path], given: Path | str | None) -> tuple[Recipe, str]:
    if given is not None:
        return load_recipe(Path(given))
    text = first_recipe(files)
    return parse_recipe(text, "the recipe that these files suggest"), text


@dataclass(frozen=True, slots=True)
class _Cohort:
    """The two tables of the cohort, as SQL over what the adapter prepared."""

    session: Session
    targets: Sequence[Target]
    prepared: Prepared

    @property
    def _once(self) -> list[Target]:
        return [t for t in self.targets if t.once]

    @property
    def _over_time(self) -> list[Target]:
        return [t for t in self.targets if not t.once]

    @property
    def _hours(self) -> str:
        return since_start("clock") if self.prepared.relative else "clock"

    @property
    def _in_record(self) -> str:
        """SQL: `hours` lies between the start and the end of the record."""
        started = " AND hours >= 0" if self.prepared.relative else ""
        return f"isfinite(hours){started} AND (stop IS NULL OR hours <= stop)"

    def match_events(self) -> None:
        """Define `matched`: the events of the schema's targets, in its units and levels."""
        used = [t for t in self.targets if self.prepared.from_events(t)]
        numbers = [t for t in used if t.levels is None]
        converted = [t for t in used if t.codes.units or self._converts(t)]
        self.session.connection.register("units", self._units(converted))
        levels = [f"WHEN {t.number} THEN {_level(t)}" for t in used if t.levels is not None]
        ends = [
            f"WHEN {t.number} THEN {t.codes.within!r}"
            for t in used
            if t.once and t.codes.within is not None  # it may lie beyond the end of the record
        ]
        self.session.run(f"""
            CREATE VIEW matched AS
            SELECT id, target, clock, start, {self._hours} AS hours, unit,
                   {f"CASE target {' '.join(ends)} ELSE stop END" if ends else "stop"} AS stop,
                   {among(converted)} AND factor IS NULL AS other_unit,
                   CASE WHEN {among(numbers)} AND isfinite(x) THEN x END AS number,
                   {f"CASE target {' '.join(levels)} END" if levels else "NULL::VARCHAR"} AS level
            FROM (SELECT * EXCLUDE (x), CASE WHEN {among(converted)} THEN x * factor + more
                         ELSE x END AS x
                  FROM (SELECT e.id, k.target, e.key, e.clock, p.start, p.stop, u.factor, u.more,
                               coalesce(k.unit, e.unit, '') AS unit, {_number(used)} AS x,
                               coalesce(k.raw, e.raw, CAST(e.number AS VARCHAR), e.key) AS raw
                        FROM events e JOIN keys k ON k.key = e.key JOIN people p ON p.id = e.id
                        LEFT JOIN units u
                        ON u.target = k.target AND u.unit = coalesce(k.unit, e.unit, '')))""")

    def _converts(self, target: Target) -> bool:
        """Whether units that nobody wrote down are converted."""
        stated = self.prepared.with_units and bool(target.unit) and not target.codes.units
        return target.levels is None and (target.codes.convert or stated)

    def _units(self, converted: Sequence[Target]) -> pa.Table:
        """How each unit becomes the variable's own. Looks at units, never at values."""
        factors = {
            (t.number, unit): pair for t in converted for unit, pair in t.codes.units.items()
        }
        by_number = {t.number: t for t in converted if self._converts(t)}
        if by_number:
            there = self.session.rows(f"""
                SELECT DISTINCT k.target, coalesce(k.unit, e.unit)
                FROM events e JOIN keys k ON k.key = e.key
                WHERE {among(by_number.values())} AND coalesce(k.unit, e.unit) IS NOT NULL""")
            for number, unit in there:
                pair = conversion(unit, by_number[number].unit, by_number[number].name)
                if pair:
                    factors.setdefault((number, unit), pair)
        rows = [
            {"target": number, "unit": unit, "factor": factor, "more": more}
            for (number, unit), (factor, more) in factors.items()
        ]
        return pa.Table.from_pylist(rows, schema=UNITS)

    def observations(self) -> str:
        """SQL for the rows over time: as many as the wide table has, or one per event, in which
        one variable is known."""
        time = moment("hours") if self.prepared.stamps else "hours"
        if self.prepared.wide:
            cells = ", ".join(f"w{t.number} AS {quoted(t.name)}" for t in self._over_time)
            return f"""
                SELECT id AS patient_id, {time} AS time, {cells}
                FROM (SELECT id, {self._hours} AS hours, stop, wide.* EXCLUDE (id, clock)
                      FROM wide JOIN people USING (id))
                WHERE {self._in_record} ORDER BY ALL"""
        cells = ", ".join(
            f"CASE WHEN target = {t.number} THEN {_value(t)} END AS {quoted(t.name)}"
            for t in self._over_time
        )
        return f"""
            SELECT id AS patient_id, {time} AS time, {cells}
            FROM (SELECT id, hours, target, number, level FROM matched
                  WHERE {among(self._over_time)} AND {self._in_record}
                  AND (number IS NOT NULL OR level IS NOT NULL)
                  ORDER BY id, hours, target, number, level)"""

    def patients(self) -> str:
        """SQL for the patient table: labels, then static variables."""
        by_event = [t for t in self._once if self.prepared.from_events(t)]
        firsts = "".join(f", {self._first(t)} AS f{t.number}" for t in by_event)
        joined = f"""
            LEFT JOIN (SELECT id {firsts} FROM matched
                       WHERE {among(by_event)} GROUP BY id) USING (id)"""
        order = sorted(self._once, key=lambda t: t.name not in LABELS)
        columns = ", ".join(f"{self._known(t)} AS {quoted(t.name)}" for t in order)
        return f"""
            SELECT id AS patient_id, {columns} FROM people {joined if by_event else ""}
            ORDER BY id"""

    def _first(self, target: Target) -> str:
        """SQL aggregate: a patient's first value within the window, or whether there is one."""
        ours = f"target = {target.number} AND (clock IS NULL OR {self._in_record})"
        if target.fact == "occurs":
            return f"bool_or({ours})"
        value = _value(target)
        return (
            f"first({value} ORDER BY hours NULLS FIRST, {value}) "
            f"FILTER (WHERE {ours} AND {value} IS NOT NULL)"
        )

    def _known(self, target: Target) -> str:
        """SQL for a label or a static variable."""
        if target.fact == "age":
            return "age"
        if target.fact == "death":
            within = target.codes.within
            died = f"{since_start('death')} <= {within!r}"
            return _either(target, "death IS NOT NULL" if within is None else died)
        if self.prepared.from_events(target):
            first = f"f{target.number}"
            return _either(target, first) if target.fact == "occurs" else first
        return f"c{target.number}"

    def row_counts(self) -> dict[str, Any]:
        """Count the rows of a wide table. Raw facts."""
        rows, timeless = self.session.row(f"SELECT count(*), {WITHOUT_TIME} FROM wide")
        unknown = self.session.row("SELECT count(*) FROM wide ANTI JOIN people USING (id)")[0]
        counts = {"rows": rows, "rows_without_usable_time": timeless}
        return counts | {"rows_of_unknown_patients": unknown}

    def event_counts(self) -> dict[str, Any]:
        """Count what became of every event. Raw facts: never for a terminal."""
        rows, timeless, unknown = self.session.row(f"""
            SELECT count(*), {WITHOUT_TIME}, count(*) FILTER (people.id IS NULL)
            FROM events LEFT JOIN people USING (id)""")
        not_started = self.session.row("SELECT count(*) FROM people WHERE start IS NULL")
        occurs = among([t for t in self.targets if t.fact == "occurs"])
        reasons = self.session.rows(f"""
            SELECT target, CASE
                WHEN start IS NULL THEN 'of_patients_without_a_start'
                WHEN clock IS NULL AND {among(self._once)} THEN
                    {_value_reason(occurs)}
                WHEN NOT coalesce(isfinite(hours), false) THEN 'without_a_usable_time'
                WHEN {self._in_record} THEN {_value_reason(occurs)}
                WHEN hours < 0 THEN 'before_the_start' ELSE 'after_the_end' END AS reason,
                CASE WHEN other_unit THEN unit END AS unit, count(*)
            FROM matched GROUP BY ALL ORDER BY count(*) DESC, target, reason, unit""")
        counted: dict[int, dict[str, int]] = {}
        units: dict[int, dict[str, int]] = {}
        for number, reason, unit, times in reasons:
            by_reason, by_unit = counted.setdefault(number, {}), units.setdefault(number, {})
            by_reason[reason] = by_reason.get(reason, 0) + times
            if unit is not None and (unit in by_unit or len(by_unit) < UNITS_LISTED):
                by_unit[unit] = by_unit.get(unit, 0) + times
        return {
            "events": rows,
            "events_without_usable_time": timeless,
            "events_of_unknown_patients": unknown,
            "patients_without_a_start": not_started[0],
            "by_name": {
                t.name: _counts(counted.get(t.number, {}))
                | ({"units_that_are_not_mapped": named} if (named := units.get(t.number)) else {})
                for t in self.targets
                if self.prepared.from_events(t)
            },
        }

    def patients_without(self, file: Path) -> dict[str, int]:
        """For each label and static variable, how many patients have none."""
        if not self._once:
            return {}
        each = ", ".join(f"count(*) - count({quoted(t.name)})" for t in self._once)
        counts = self.session.row(f"SELECT {each} FROM read_parquet({literal(file)})")
        return dict(zip((t.name for t in self._once), counts, strict=True))


def _counts(reasons: dict[str, int]) -> dict[str, Any]:
    """All events of a target, those that count, and why the others do not."""
    left_out = {reason: times for reason, times in sorted(reasons.items()) if reason != USED}
    used = reasons.get(USED, 0)
    return {"events": used + sum(left_out.values()), "used": used, "left_out": left_out}


def _value_reason(occurs: str) -> str:
    """SQL for what becomes of an event in the record."""
    return f"""CASE WHEN {occurs} THEN '{USED}' WHEN other_unit THEN 'in_a_unit_that_is_not_mapped'
        WHEN number IS NULL AND level IS NULL THEN 'without_a_usable_value' ELSE '{USED}' END"""


def _number(targets: Sequence[Target]) -> str:
    """SQL for an event's number; a censored one stands for itself, its half or nothing."""
    limit = "TRY_CAST(ltrim(e.raw, '<>≤≥= ') AS DOUBLE)"
    half = among([t for t in targets if t.codes.censored == "half"], "k.target")
    missing = among([t for t in targets if t.codes.censored == "missing"], "k.target")
    return f"""CASE WHEN e.number IS NOT NULL THEN e.number
        WHEN left(e.raw, 1) NOT IN ('<', '>', '≤', '≥') OR {missing} THEN NULL
        WHEN left(e.raw, 1) IN ('<', '≤') AND {half} THEN {limit} / 2 ELSE {limit} END"""


def _level(target: Target) -> str:
    """The value of a code may be a dose: the code itself comes first."""
    value = level("raw", target)
    return f"coalesce({level('key', target)}, {value})" if target.coded else value


def _value(target: Target) -> str:
    return "number" if target.levels is None else "level"


def _either(target: Target, condition: str) -> str:
    reference, other = map(literal, target.levels or ())
    chosen = f"CASE WHEN {condition} THEN {other} ELSE {reference} END"
    return f"CAST({chosen} AS DOUBLE)" if target.numeric else chosen


def _write(session: Session, query: str, file: Path) -> None:
    session.run(f"COPY ({query}) TO {literal(file)} {FORMAT}")
    file.chmod(0o600)  # patients: only for their owner


def _write_rest(folder: Path, schema: Schema, counts: dict[str, Any]) -> None:
    (folder / "schema.yaml").write_text(dump(schema), encoding="utf-8")
    internal = folder / "internal"
    internal.mkdir(mode=0o700)
    text = json.dumps(counts, indent=2, ensure_ascii=False)
    (internal / "import.json").write_text(text, encoding="utf-8")
    (internal / "NOT_FOR_RELEASE.md").write_text(NOTICE, encoding="utf-8")


def _notes(counts: dict[str, Any]) -> Iterator[str]:
    for file, csv in counts.get("csv", {}).items():
        if number := csv.get("cells_with_a_line_break"):
            yield (
                f"{file}: cells with a line break: {number:,}. If there should be none, a "
                "quotation mark is missing."
            )
        if number := csv.get("cells_that_are_too_long"):
            yield f"{file}: cells that are too long for any value: {number:,}. They are left out."
    for file, number in counts.get("duplicate_rows_dropped", {}).items():
        yield f"{file}: rows that occur twice: {number:,}. One of each is kept."
    unread = counts.get("cells_that_could_not_be_read", {})
    if unread:
        each = ", ".join(f"{name} {number:,}" for name, number in unread.items())
        yield f"cells that are neither a number nor a level: {each}. They count as missing."
    if counts.get("rows_without_usable_time"):
        yield (
            f"rows without a readable time: {counts['rows_without_usable_time']:,} of "
            f"{counts['rows']:,}. They are left out."
        )
