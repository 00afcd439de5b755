"""MEDS 0.4: shards of events under data/, the subjects and the vocabulary under metadata/."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from longsynth.reading.adapter import (
    START,
    STOP,
    Prepared,
    Request,
    Target,
    age,
    check_moments,
    check_units,
    define_moments,
    keys_of,
    matches,
    moment,
    register_keys,
    since_start,
)
from longsynth.reading.columns import quoted
from longsynth.reading.parquet import is_number, is_text, type_name
from longsynth.reading.session import Session, Table
from longsynth.schema.mapping import Codes
from longsynth.system.errors import Code, CohortError

COLUMNS = ("subject_id", "time", "code", "numeric_value")
SUBJECTS = "metadata/subject_splits.parquet"
WHOLE = (pa.int64(), pa.int32(), pa.int16(), pa.uint32())  # they fit into 64 bits with a sign
BIRTH, DEATH = -3, -4  # targets beside those of the schema
BORN = Codes(pattern="MEDS_BIRTH(//.*)?")
DIED = Codes(pattern="MEDS_DEATH(//.*)?")
ANY = Codes(pattern="(?!MEDS_BIRTH)[^\\0]*")  # a birth comes long before a record


def prepare(request: Request) -> Prepared:
    folder, schema, targets = Path(request.source), request.schema, request.targets
    session, step = request.session, request.step
    shards = sorted((folder / "data").rglob("*.parquet"))
    if not shards:
        raise CohortError(
            Code.SOURCE_INCOMPLETE,
            f"{folder} has no data/*.parquet.",
            "Give the root of a MEDS dataset.",
        )
    subjects = _subjects(folder, session)
    named = {t.number: t.codes for t in targets if by_code(t)}
    for target in targets:
        _check(target, schema.source.unit)
    _check_vocabulary(folder, targets, session)
    layout = schema.source
    check_moments(layout, start=("codes", "pattern"), end=("codes", "pattern", "hours"))
    extra = ["text_value", *([schema.source.unit] if schema.source.unit else [])]
    tables = []
    for i, shard in enumerate(shards, 1):
        step(f"reading shard {i} of {len(shards)}")
        tables.append(_shard(session, shard, str(shard.relative_to(folder)), extra))
    session.run("CREATE VIEW events AS " + " UNION ALL ".join(map(_events, tables)))

    step("matching codes")
    start = layout.start if layout.start.named else ANY
    wanted = named | {START: start, STOP: layout.end, BIRTH: BORN, DEATH: DIED}
    register_keys(session, keys_of(session.texts("SELECT DISTINCT key FROM events"), wanted))
    step("finding the start of each record")
    by_target = "SELECT id, clock, NULL::DOUBLE AS until FROM events JOIN keys USING (key)"
    closers = f"{by_target} WHERE target = {STOP}" if layout.end.named else ""
    define_moments(session, f"{by_target} WHERE target = {START}", closers, layout.end.hours)
    _people(session, subjects)
    return Prepared(by_code)


def by_code(target: Target) -> bool:
    return target.fact not in ("age", "death")


def _check(target: Target, unit: str) -> None:
    if not by_code(target):
        return
    if not target.codes.named:
        raise target.refused(
            "nothing says which codes it comes from",
            "Add source: {codes: […]} or source: {pattern: …}.",
        )
    check_units(target, unit)


def _check_vocabulary(folder: Path, targets: Sequence[Target], session: Session) -> None:
    """Refuse a variable none of whose codes is in the dataset's own list of codes."""
    path = folder / "metadata" / "codes.parquet"
    if not path.is_file():
        return
    table = session.parquet(path, "metadata/codes.parquet", ["code"])
    _require_text(table, "metadata/codes.parquet", "code")
    known = session.texts(f"SELECT code FROM {table.scan} WHERE code IS NOT NULL")
    for target in targets:
        if by_code(target) and all(matches(code, target.codes) is None for code in known):
            raise target.refused(
                "metadata/codes.parquet has none of its codes", "Correct the codes or the pattern."
            )


def _shard(session: Session, path: Path, label: str, extra: Sequence[str]) -> Table:
    table = session.parquet(path, label, COLUMNS, extra)
    kinds = table.types
    time, value = kinds["time"], kinds["numeric_value"]
    if kinds["subject_id"] not in WHOLE:
        raise _wrong_type(label, "subject_id", kinds["subject_id"], "int64")
    if not pa.types.is_timestamp(time):
        raise _wrong_type(label, "time", time, "timestamp[us]")
    if time.tz is not None:
        raise CohortError(
            Code.COLUMN_TYPE,
            f"{label} stores time with a time zone, which MEDS does not.",
            "Convert all times to one clock and remove the zone.",
        )
    _require_text(table, label, "code")
    if not is_number(value):
        raise _wrong_type(label, "numeric_value", value, "float32")
    for column in extra:
        if column in kinds:
            _require_text(table, label, column)
        elif column != "text_value":
            raise CohortError(
                Code.COLUMN_MISSING,
                f"{label} has no column {column!r}.",
                "Correct source: {unit: …}.",
            )
    return table


def _require_text(table: Table, label: str, column: str) -> None:
    kind = table.types[column]
    if not (is_text(kind) or pa.types.is_null(kind)):
        raise _wrong_type(label, column, kind, "text")


def _wrong_type(label: str, column: str, kind: pa.DataType, standard: str) -> CohortError:
    return CohortError(
        Code.COLUMN_TYPE,
        f"{label} stores {column} as {type_name(kind)}.",
        f"Convert it: MEDS has {standard}.",
    )


def _events(table: Table) -> str:
    text = "CAST(text_value AS VARCHAR)" if "text_value" in table.types else "NULL::VARCHAR"
    units = [c for c in table.types if c not in (*COLUMNS, "text_value")]
    unit = f"CAST({quoted(units[0])} AS VARCHAR)" if units else "NULL::VARCHAR"
    return f"""
        SELECT CAST(subject_id AS BIGINT) AS id, CASE WHEN isfinite(time) THEN time END AS clock,
               CAST(code AS VARCHAR) AS key, CAST(numeric_value AS DOUBLE) AS number,
               {text} AS raw, {unit} AS unit FROM {table.scan}"""


def _subjects(folder: Path, session: Session) -> str:
    """SQL for the ids in the dataset's own list of subjects. Without that list, the number of
    patients, which is public, would depend on who has an event."""
    path = folder / SUBJECTS
    if not path.is_file():
        raise CohortError(
            Code.SOURCE_INCOMPLETE,
            f"{folder} has no {SUBJECTS}. The number of patients is public, so events must not "
            "decide it.",
            "Add the list of all subjects, with a column 'subject_id'.",
        )
    table = session.parquet(path, SUBJECTS, ["subject_id"])
    if table.types["subject_id"] not in WHOLE:
        raise _wrong_type(SUBJECTS, "subject_id", table.types["subject_id"], "int64")
    return f"SELECT CAST(subject_id AS BIGINT) AS id FROM {table.scan}"


def _people(session: Session, subjects: str) -> None:
    born = moment("birth")
    session.run(f"""
        CREATE TEMP TABLE people AS
        SELECT s.id, start, {since_start("stop")} AS stop, death,
               {age("start", f"year({born})", f"month({born})", f"day({born})")} AS age
        FROM ({subjects}) AS s LEFT JOIN moments ON moments.id = s.id
        LEFT JOIN (SELECT id, min(clock) FILTER (target = {BIRTH}) AS birth,
                          min(clock) FILTER (target = {DEATH}) AS death
                   FROM events JOIN keys USING (key) WHERE target IN ({BIRTH}, {DEATH})
                   GROUP BY id) AS life ON life.id = s.id""")
