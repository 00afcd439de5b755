"""The cohort folder that an import writes: sorted, in longsynth's own columns, and its counts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longsynth.reading.mapping import LABELS, Finds, Target, among, since_start
from longsynth.reading.reading import require_distinct
from longsynth.reading.sql import literal, quoted
from longsynth.reading.stage import Stage
from longsynth.schema.file import dump
from longsynth.schema.mapping import Dataset
from longsynth.schema.schema import Column, Schema, Time

FORMAT = "(FORMAT parquet, ROW_GROUP_SIZE 65536)"
WITHOUT_TIME = "count(*) FILTER (NOT coalesce(isfinite(clock), false))"
UNITS_SHOWN = 20  # of each variable, in the internal counts
NOTICE = """# Not for release

`import.json` counts what was read and what could not be, without any protection. It is for whoever
holds the patients' data, and so are the tables of the cohort in the folder above.
"""


def count_patients(stage: Stage) -> int:
    """Return the rows of `people`; every one is a patient, whatever is known of it."""
    number, known, distinct = stage.row(
        "SELECT count(*), count(id), count(DISTINCT id) FROM people"
    )
    require_distinct(number, known, distinct)
    return number


def in_record(begins: bool) -> str:
    """SQL: an event of `placed` lies between the start and the end of its record."""
    since = "isfinite(hours) AND hours >= 0 AND (stop IS NULL OR hours <= stop)"
    return since if begins else "isfinite(hours)"


def observations(targets: Sequence[Target], *, begins: bool, time: str) -> str:
    """SQL for the rows over time: one an event, of which one variable is known."""
    over_time = [t for t in targets if not t.once]
    cells = ", ".join(
        f"CASE WHEN target = {t.number} THEN {'number' if t.levels is None else 'level'} END "
        f"AS {quoted(t.name)}"
        for t in over_time
    )
    return f"""
        SELECT id AS patient_id, {time} AS time, {cells}
        FROM (SELECT id, hours, target, number, level FROM placed
              WHERE {among(over_time)} AND {in_record(begins)}
              AND (number IS NOT NULL OR level IS NOT NULL)
              ORDER BY id, hours, target, number, level)"""


def wide_rows(targets: Sequence[Target], *, begins: bool, time: str) -> str:
    """SQL for the rows over time of a wide table: as many as there are, in its own order."""
    cells = ", ".join(f"w{t.number} AS {quoted(t.name)}" for t in targets if not t.once)
    hours = since_start("clock") if begins else "clock"
    return f"""
        SELECT id AS patient_id, {time} AS time, {cells}
        FROM (SELECT id, {hours} AS hours, stop, wide.* EXCLUDE (id, clock)
              FROM wide JOIN people USING (id))
        WHERE {in_record(begins)} ORDER BY ALL"""


def row_counts(stage: Stage) -> dict[str, Any]:
    rows, unread = stage.row(f"SELECT count(*), {WITHOUT_TIME} FROM wide")
    unknown = stage.row("SELECT count(*) FROM wide ANTI JOIN people USING (id)")
    return {
        "rows": rows,
        "rows_without_usable_time": unread,
        "rows_of_unknown_patients": unknown[0],
    }


def patients(targets: Sequence[Target], by_key: Finds, *, begins: bool) -> str:
    """SQL for the patient table: labels, then static variables."""
    once = [t for t in targets if t.once]
    first = [f"{_first(t, begins)} AS f{t.number}" for t in once if by_key(t)]
    found = f"""
        LEFT JOIN (SELECT id, {", ".join(first)} FROM placed
                   WHERE {among(t for t in once if by_key(t))} GROUP BY id) USING (id)"""
    order = [t for t in once if t.name in LABELS] + [t for t in once if t.name not in LABELS]
    columns = ", ".join(f"{_known(t, by_key)} AS {quoted(t.name)}" for t in order)
    return f"SELECT id AS patient_id, {columns} FROM people {found if first else ''} ORDER BY id"


def _first(target: Target, begins: bool) -> str:
    """SQL aggregate: the first value of a patient within the window, or whether there is one."""
    window = "isfinite(hours)" + (" AND hours >= 0" if begins else "")
    if target.codes.within is not None:
        window += f" AND hours <= {target.codes.within!r}"
    ours = f"target = {target.number} AND (timeless OR {window})"
    if target.fact == "occurs":
        return f"bool_or({ours})"
    value = "number" if target.levels is None else "level"
    return (
        f"first({value} ORDER BY hours NULLS FIRST, {value}) "
        f"FILTER (WHERE {ours} AND {value} IS NOT NULL)"
    )


def _known(target: Target, by_key: Finds) -> str:
    if target.fact == "age":
        return "age"
    if target.fact == "death":
        window = target.codes.within
        return _either(
            target,
            "death IS NOT NULL" if window is None else f"{since_start('death')} <= {window!r}",
        )
    if by_key(target):
        place = f"f{target.number}"
        return _either(target, place) if target.fact == "occurs" else place
    return f"c{target.number}"


def _either(target: Target, condition: str) -> str:
    reference, other = map(literal, target.levels or ())
    chosen = f"CASE WHEN {condition} THEN {other} ELSE {reference} END"
    return f"CAST({chosen} AS DOUBLE)" if target.numeric else chosen


def written_schema(schema: Schema, unit: str) -> Schema:
    """The same schema with the columns that an import writes, and without the mapping."""
    plain = {"source": None, "column": ""}
    labels = {
        what: label.model_copy(update={"source": None, "column": what})
        for what in LABELS
        if (label := getattr(schema, what)) is not None
    }
    return schema.model_copy(
        update={
            "patient": Column(),
            "time": Time.model_validate({"unit": unit}),
            "variables": tuple(v.model_copy(update=plain) for v in schema.variables),
            "source": Dataset(),
            **labels,
        }
    )


def write_table(stage: Stage, query: str, file: Path) -> None:
    stage.run(f"COPY ({query}) TO {literal(file)} {FORMAT}")
    file.chmod(0o600)  # patients: for their owner alone


def write_rest(folder: Path, schema: Schema, counts: dict[str, Any]) -> None:
    (folder / "schema.yaml").write_text(dump(schema), encoding="utf-8")
    internal = folder / "internal"
    internal.mkdir(mode=0o700)
    (internal / "import.json").write_text(
        json.dumps(counts, indent=2, ensure_ascii=False), encoding="utf-8"
    )
    (internal / "NOT_FOR_RELEASE.md").write_text(NOTICE, encoding="utf-8")


def event_counts(
    stage: Stage, targets: Sequence[Target], by_key: Finds, *, begins: bool
) -> dict[str, Any]:
    """What became of every event. Raw facts: never for a terminal."""
    rows, timeless = stage.row(f"SELECT count(*), {WITHOUT_TIME} FROM events")
    unknown = stage.row("SELECT count(*) FROM events ANTI JOIN people USING (id)")
    started = stage.row("SELECT count(*) FROM people WHERE start IS NULL")
    found = stage.connection.execute(f"""
        SELECT target, count(*), count(*) FILTER (timeless OR coalesce({in_record(begins)}, false)),
               count(*) FILTER (other_unit), count(*) FILTER (
                   NOT other_unit AND number IS NULL AND level IS NULL)
        FROM placed GROUP BY target""").fetchall()
    units: dict[int, dict[str, int]] = {}
    for number, unit, times in stage.connection.execute("""
        SELECT target, unit, count(*) AS n FROM placed WHERE other_unit
        GROUP BY target, unit ORDER BY n DESC, unit""").fetchall():
        if len(units.setdefault(number, {})) < UNITS_SHOWN:
            units[number][unit] = times
    names = ("events", "in_the_record", "in_a_unit_that_is_not_mapped", "without_a_usable_value")
    counted = {number: tuple(counts) for number, *counts in found}
    return {
        "events": rows,
        "events_without_usable_time": timeless,
        "events_of_unknown_patients": unknown[0],
        "patients_without_a_start": started[0],
        "by_name": {
            t.name: dict(zip(names, counted.get(t.number, (0, 0, 0, 0)), strict=True))
            | ({"units_that_are_not_mapped": units[t.number]} if t.number in units else {})
            for t in targets
            if by_key(t)
        },
    }


def unknown_labels(stage: Stage, file: Path, targets: Sequence[Target]) -> dict[str, int]:
    """Of each label and static variable, how many patients have none."""
    once = [t for t in targets if t.once]
    each = ", ".join(f"count(*) - count({quoted(t.name)})" for t in once)
    found = stage.row(f"SELECT {each} FROM read_parquet({literal(file)})")
    return dict(zip((t.name for t in once), found, strict=True))
