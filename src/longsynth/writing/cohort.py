"""Cohort folders and events as longsynth writes them: canonical columns, by patient and time.

In the format `parts`, each table is a folder of Parquet files with the same number of chunks each.
A part depends only on its own patients, so parts can be written anywhere and in any order. Spark,
Polars, DuckDB and pandas read such a folder as one table.

A row holds at most one code of each list. A slot with more codes has more rows, at the same time:
the first has the values, and all others have codes alone.

In the format `events`, the patient table stands beside one row per observation (patient, time,
variable, value). `longsynth import events` reads it back. A slot without observations leaves no
trace.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from longsynth.schema.file import dump
from longsynth.schema.mapping import Source
from longsynth.schema.record import Trajectories, given_codes
from longsynth.schema.schema import Schema, code_offsets
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Bools, Floats, Ints, sizes_only
from longsynth.system.errors import checked
from longsynth.writing import Writer

CHUNKS = 16  # per part
ASIDE = ".part-"  # prefix of the folder where a part is first written
Tables = Mapping[str, Callable[[Trajectories, Ints], pa.Table]]


LISTED = "Call write_cohort(folder, schema, [patients]): a folder, a Schema and a list."


@checked(folder=LISTED, schema=LISTED, chunks=LISTED)
def write_cohort(
    folder: Path | str, schema: Schema, chunks: Iterable[Trajectories], *, first: int = 1
) -> None:
    """Write observations.parquet, patients.parquet and schema.yaml, chunk by chunk. Patients are
    numbered from `first` on.

    The schema comes last: without it, a folder where writing stopped is not taken for a cohort,
    even if both tables are closed.

    >>> import longsynth
    >>> longsynth.write_cohort(".", longsynth.simulated_schema(), [longsynth.simulate(20, seed=1)])
    """
    folder = Path(folder)
    write_tables(folder, chunks, cohort_tables(schema), first=first)
    write_schema(folder, schema)


def cohort_tables(schema: Schema) -> Tables:
    """How to make each table of a cohort folder from a chunk and its patients' ids."""
    return {
        "observations": lambda chunk, ids: _observations(chunk, schema, ids),
        "patients": lambda chunk, ids: patient_table(chunk, schema, ids),
    }


def write_schema(folder: Path, schema: Schema) -> None:
    (folder / "schema.yaml").write_text(dump(schema.canonical()), encoding="utf-8")


def write_tables(
    folder: Path,
    chunks: Iterable[Trajectories],
    tables: Tables,
    *,
    first: int = 1,
) -> int:
    """Write NAME.parquet for each table, chunk by chunk, and return the number of patients, whose
    ids start at `first`."""
    writers: dict[str, pq.ParquetWriter] = {}
    number = first
    with ExitStack() as open_files:
        for chunk in chunks:
            ids = np.arange(number, number + chunk.patients)
            number += chunk.patients
            for name, make in tables.items():
                table = make(chunk, ids)
                if name not in writers:
                    writer = parquet_writer(folder / f"{name}.parquet", table.schema)
                    writers[name] = open_files.enter_context(writer)
                writers[name].write_table(table)
    return number - first


def parquet_writer(file: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Floats hardly ever repeat: to search for a dictionary of them would take longer than
    everything else."""
    repeating = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(file, schema, compression="snappy", use_dictionary=repeating)


@dataclass(frozen=True, slots=True)
class ObservationRows:
    """Which rows the observations of a chunk take."""

    slot: Ints  # (R,), position among all slots of the chunk
    repeated: Bools  # (R,): not the first row of its slot
    codes: tuple[Ints, ...]  # (R,) for each list: the position of a code in it; -1: none

    __repr__ = sizes_only


def observation_rows(chunk: Trajectories, schema: Schema) -> ObservationRows:
    slots, lists = chunk.gaps.shape[1], len(schema.codes)
    number = (np.arange(slots) < chunk.length[:, None]).astype(np.int64).ravel()
    patient, slot, code = given_codes(chunk.codes)
    slot, before = slots * patient + slot, code_offsets(schema)
    which = np.searchsorted(before, code, side="right") - 1  # list of each code
    places = []
    for i in range(lists):
        ours = np.flatnonzero((which == i) & (number[slot] > 0))
        of_slot = slot[ours]  # ascending
        place = np.arange(len(ours)) - np.searchsorted(of_slot, of_slot)
        places.append((of_slot, place, code[ours] - before[i]))
    for of_slot, place, _ in places:
        np.maximum.at(number, of_slot, place + 1)
    end = np.cumsum(number)
    rows = np.repeat(np.arange(len(number)), number)
    first = end - number
    codes = []
    for of_slot, place, position in places:
        column = np.full(len(rows), -1)
        column[first[of_slot] + place] = position
        codes.append(column)
    return ObservationRows(rows, np.arange(len(rows)) > first[rows], tuple(codes))


def _observations(chunk: Trajectories, schema: Schema, ids: Ints) -> pa.Table:
    used = np.arange(schema.slots) < chunk.length[:, None]  # (n, T)
    shown = observation_rows(chunk, schema)
    whole = used.all() and not shown.repeated.any()
    rows = slice(None) if whole else shown.slot
    times = rising(np.cumsum(np.where(used, chunk.gaps, 0.0), axis=1))
    columns: dict[str, Any] = {
        "patient_id": np.repeat(ids, schema.slots)[rows],
        "time": times.reshape(-1)[rows],
    }
    values = chunk.values.reshape(-1, len(schema.variables))
    missing = ~chunk.observed.reshape(values.shape)
    for v, variable in enumerate(schema.variables):
        if not variable.static:
            gone = missing[rows, v] | shown.repeated
            columns[variable.name] = _column(variable, values[rows, v], gone)
    for listed, place in zip(schema.codes, shown.codes, strict=True):
        names = np.array(listed.levels, dtype=object)[place]
        columns[listed.name] = pa.array(names, pa.string(), mask=place < 0)
    return pa.table(columns)


def _column(variable: Variable, values: Floats, missing: Bools) -> pa.Array:
    """Numbers, or the names of levels."""
    if variable.levels is None:
        return pa.array(values, mask=missing)
    return pa.array(text_of_levels(variable.levels, values), pa.string(), mask=missing)


def text_of_levels(levels: tuple[str, ...], positions: Floats) -> NDArray[np.object_]:
    place = np.clip(np.nan_to_num(np.rint(positions)), 0, len(levels) - 1).astype(np.int64)
    return np.asarray(np.array(levels, dtype=object)[place])


def rising(times: Floats, smallest: float = 0.0) -> Floats:
    """Keep two slots with no gap between them apart: a reader would merge equal times."""
    for t in range(1, times.shape[1]):
        least = np.maximum(times[:, t - 1] + smallest, np.nextafter(times[:, t - 1], np.inf))
        times[:, t] = np.maximum(times[:, t], least)
    return times


def patient_table(chunk: Trajectories, schema: Schema, ids: Ints) -> pa.Table:
    columns: dict[str, Any] = {
        "patient_id": ids,
        "group": chunk.group.astype(np.int8),
        "event": chunk.event.astype(np.int8),
        "site": pa.array(np.array(schema.sites, dtype=object)[chunk.site], pa.string()),
    }
    for v, variable in enumerate(schema.variables):
        if variable.static:
            cells = chunk.values[:, 0, v], ~chunk.observed[:, 0, v]
            columns[variable.name] = _column(variable, *cells)
    weight = getattr(chunk, "weight", None)
    if weight is not None:
        columns["weight"] = weight
    return pa.table(columns)


@dataclass(frozen=True, slots=True)
class LongRows:
    patient: Ints  # (R,), position in the chunk
    time: Floats  # (R,), hours since the start of the record
    variable: Ints  # (R,), position among the variables and then the code lists of the schema
    value: Floats  # (R,); for levels, the position

    __repr__ = sizes_only


def long_rows(chunk: Trajectories, schema: Schema, smallest: float = 0.0) -> LongRows:
    """Return what was observed over time, one row per observation or code, sorted by patient, time
    and variable. Two slots are at least `smallest` hours apart, and never equal: equal times would
    be read back as one slot."""
    used = np.arange(schema.slots) < chunk.length[:, None]  # (n, T)
    times = rising(np.cumsum(np.where(used, chunk.gaps, 0.0), axis=1), smallest)
    over_time = ~np.array(schema.layout.static)
    patient, slot, variable = np.nonzero(chunk.observed & used[:, :, None] & over_time)
    value = chunk.values[patient, slot, variable]
    if schema.codes:
        owner, at, code = given_codes(chunk.codes)
        within, before = used[owner, at], code_offsets(schema)
        owner, at, code = owner[within], at[within], code[within]
        which = np.searchsorted(before, code, side="right") - 1
        patient, slot = np.concatenate([patient, owner]), np.concatenate([slot, at])
        variable = np.concatenate([variable, len(schema.variables) + which])
        value = np.concatenate([value, (code - before[which]).astype(np.float64)])
        order = np.lexsort((value, variable, slot, patient))
        patient, slot, variable = patient[order], slot[order], variable[order]
        value = value[order]
    return LongRows(patient, times[patient, slot], variable, value)


def named_levels(schema: Schema) -> list[tuple[str, tuple[str, ...] | None]]:
    """Names and levels of what `LongRows.variable` counts."""
    variables = [(v.name, v.levels) for v in schema.variables]
    return variables + [(listed.name, listed.levels) for listed in schema.codes]


def part_file(table: str, part: int) -> str:
    return f"{table}.parquet/part-{part:05d}.parquet"


def write_parts(folder: Path, schema: Schema, chunks: Iterable[Trajectories]) -> None:
    """Write all parts, one after the other."""
    rest, first = iter(chunks), 1
    for part, head in enumerate(rest):
        first += write_part(folder, schema, _together(head, rest), part=part, first=first)
    write_schema(folder, schema)


def write_part(
    folder: Path, schema: Schema, chunks: Iterable[Trajectories], *, part: int, first: int
) -> int:
    """Write one part, whose patients are numbered from `first` on, and return their number.

    It is written aside and renamed, so that two writers of the same part both leave it complete.
    """
    tables = cohort_tables(schema)
    with TemporaryDirectory(prefix=ASIDE, dir=folder) as aside:
        patients = write_tables(Path(aside), chunks, tables, first=first)
        for table in tables:
            target = folder / part_file(table, part)
            target.parent.mkdir(exist_ok=True)
            (Path(aside) / f"{table}.parquet").replace(target)
    return patients


def remove_unfinished(folder: Path) -> None:
    """Remove what killed writers left behind."""
    for aside in folder.glob(f"{ASIDE}*"):
        shutil.rmtree(aside)


def _together(head: Trajectories, rest: Iterator[Trajectories]) -> Iterator[Trajectories]:
    yield head
    yield from islice(rest, CHUNKS - 1)


def _parts(table: str, chunks: int) -> list[str]:
    return [part_file(table, part) for part in range(-(-chunks // CHUNKS))]


COHORT = Writer(
    write_cohort,
    people_files=lambda _: ["patients.parquet"],
    other_files=lambda _: ["observations.parquet"],
)
PARTS = Writer(
    write_parts,
    people_files=lambda chunks: _parts("patients", chunks),
    other_files=lambda chunks: _parts("observations", chunks),
)


def write_events(folder: Path, schema: Schema, chunks: Iterable[Trajectories]) -> None:
    (folder / "schema.yaml").write_text(dump(events_schema(schema)), encoding="utf-8")
    write_tables(
        folder,
        chunks,
        {
            "events": lambda chunk, ids: _events(chunk, schema, ids),
            "patients": lambda chunk, ids: patient_table(chunk, schema, ids),
        },
    )


def events_schema(schema: Schema) -> Schema:
    """The canonical schema, with each variable and code list over time under its own name."""
    canonical = schema.canonical()
    named = [
        v if v.static else v.model_copy(update={"source": Source(codes=(v.name,))})
        for v in canonical.variables
    ]
    lists = [c.model_copy(update={"source": Source(codes=(c.name,))}) for c in canonical.codes]
    return canonical.model_copy(update={"variables": tuple(named), "codes": tuple(lists)})


def _events(chunk: Trajectories, schema: Schema, ids: Ints) -> pa.Table:
    rows = long_rows(chunk, schema)
    names = np.array([name for name, _ in named_levels(schema)], dtype=object)
    value: pa.Array = pa.array(rows.value)
    if schema.codes or any(v.levels for v in schema.variables if not v.static):
        value = value.cast(pa.string())  # then every value is text
        for i, (_, levels) in enumerate(named_levels(schema)):
            if levels:
                of_it = pa.array(rows.variable == i)
                texts = pa.array(text_of_levels(levels, rows.value), pa.string())
                value = pa.compute.if_else(of_it, texts, value)
    return pa.table(
        {
            "patient_id": ids[rows.patient],
            "time": rows.time,
            "variable": pa.array(names[rows.variable], pa.string()),
            "value": value,
        }
    )


EVENTS = Writer(
    write_events,
    people_files=lambda _: ["patients.parquet"],
    other_files=lambda _: ["events.parquet"],
)
