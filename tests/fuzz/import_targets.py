"""Malformed tables of hospitals, and the imports that turn them into cohort folders."""

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.random import Generator

from fuzz.cohorts import ROWS
from fuzz.csv_inputs import any_csv
from fuzz.fhir_inputs import any_fhir, mapping, odd_patient
from fuzz.kind import Fault, Kind, made_once
from fuzz.mutation import mutated, one_of
from fuzz.parquet_inputs import (
    COLUMNS,
    FLOATS,
    TEXTS,
    any_parquet,
    damaged_parquet,
    write_parquet,
)
from leaks.sentinels import MARK
from longsynth.reading.importing import import_cohort
from longsynth.system.errors import Refused
from readers.small_fhir import fhir
from readers.small_fhir import schema as fhir_schema
from readers.small_sources import MEDS_ROWS, SCHEMA, meds, omop, omop_duckdb, omop_tables

FORMS: tuple[str, ...] = ("meds", "omop", "fhir")
LAYOUTS: tuple[dict[str, Any], ...] = (  # of OMOP: a record may span visits, or start at an event
    {},
    {"start": {"visits": [9201]}, "end": {"hours": 12}},
    {"start": {"concepts": [3027018]}, "end": {"hours": 8760}},
    {"start": {"column": "person.birth_datetime"}},
    {"end": {"visits": [9201]}},
)
TIMES = (None, 0, 1_577_865_600_000_000, 2**63 - 1, -(2**63), -(10**17), 10**17)  # in µs


@cache
def _base() -> Path:
    """The three patients as MEDS, as FHIR, as OMOP tables and as an OMOP database."""
    place = made_once() / "sources"
    meds(place / "meds")
    omop(place / "omop")
    omop_duckdb(place / "omop.duckdb")
    fhir(place / "fhir")
    return place


def _make_import(folder: Path, rng: Generator) -> None:
    form = one_of(rng, ("events", "long", "meds", "meds", "omop", "omop", "duckdb", "fhir", "fhir"))
    layout = one_of(rng, LAYOUTS) if form == "omop" and rng.random() < 0.5 else SCHEMA["source"]
    (folder / "schema.yaml").write_text(json.dumps(SCHEMA | {"source": layout}))
    source = folder / form
    if form == "events":
        source.mkdir()
        one_of(rng, (any_csv, any_parquet))(source, rng)
        shutil.copy(source / "schema.yaml", folder)
    elif form == "long":
        source.mkdir()
        _long(source, rng)
    elif form == "fhir":
        (folder / "schema.yaml").write_text(json.dumps(mapping(rng)))
        any_fhir(source, rng)
    elif form == "duckdb":
        source.write_bytes(mutated((_base() / "omop.duckdb").read_bytes(), rng, most=2))
    else:
        shutil.copytree(_base() / form, source)
        for _ in range(int(rng.integers(1, 3))):
            _change(one_of(rng, sorted(source.rglob("*.parquet"))), rng)


def _long(folder: Path, rng: Generator) -> None:
    """A table of events, one value a line."""
    lines = ["patient_id,time,variable,value"]
    for who, when, pulse in zip(ROWS["patient_id"], ROWS["time"], ROWS["pulse"], strict=True):
        lines.append(f"{who},{when},{one_of(rng, ('HR', 'HR', MARK, ''))},{pulse}")
    people = (
        "patient_id,group,event,site,age\n" + f"{MARK}-0,M,alive,A,50\n{MARK}-1,F,dead,B,{MARK}\n"
    )
    tables = {"events": "\n".join(lines), "patients": people}
    name = one_of(rng, ("events", "patients"))
    for table, text in tables.items():
        damaged = mutated(text.encode(), rng) if table == name else text.encode()
        (folder / f"{table}.csv").write_bytes(damaged)


def _change(path: Path, rng: Generator) -> None:
    """Damage a Parquet file, or give one of its columns another type."""
    if rng.random() < 0.4:
        path.write_bytes(damaged_parquet(path.read_bytes(), rng))
        return
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError):
        return
    at = int(rng.integers(len(table.column_names)))
    made = one_of(rng, COLUMNS)(rng, len(table))
    column = made if isinstance(made, pa.Array) else pa.array(made)
    write_parquet(path, table.set_column(at, table.column_names[at], column), rng)


def _import(folder: Path, rng: Generator) -> list[str]:
    (source,) = [path for path in folder.iterdir() if path.name != "schema.yaml"]
    form: dict[str, str] = {"long": "events", "duckdb": "omop"}
    told: list[str] = []
    import_cohort(
        form.get(source.name, source.name),  # type: ignore[arg-type]
        str(source),
        folder / "schema.yaml",
        folder / "out",
        told.append,
    )
    return told


def _make_cells(folder: Path, rng: Generator) -> None:
    """The cells of the first patient replaced within their columns' types."""
    for form in FORMS:
        _reference(form)  # now, as what is made while reading must not stay
    form = one_of(rng, FORMS)
    (folder / "schema.yaml").write_text(json.dumps(_schema(form)))
    if form == "meds":
        _meds_cells(folder / "meds", rng)
    elif form == "fhir":
        odd_patient(folder / "fhir", rng)
    else:
        omop(folder / "omop", {name: _odd_cells(t, rng) for name, t in omop_tables().items()})


def _meds_cells(folder: Path, rng: Generator) -> None:
    meds(folder)
    rows = [row for row in MEDS_ROWS if row[0] == 1]
    codes = [row[2] for row in MEDS_ROWS] + list(TEXTS) + ["TEMP//" + MARK, "O2//\x00", "SEX//"]
    n = int(rng.integers(0, len(rows) + 1))
    odd = {
        "subject_id": pa.array([1] * n, pa.int64()),
        "time": pa.array([one_of(rng, TIMES) for _ in range(n)], pa.int64()).cast(
            pa.timestamp("us")
        ),
        "code": _text([one_of(rng, codes).encode() for _ in range(n)], rng),
        "numeric_value": pa.array([one_of(rng, FLOATS) for _ in range(n)], pa.float64()),
    }
    write_parquet(folder / "data/train/0.parquet", pa.table(odd), rng)


def _text(cells: list[bytes], rng: Generator) -> pa.Array:
    raw = [rng.bytes(6) if rng.random() < 0.1 else cell for cell in cells]
    return pa.Array.from_buffers(pa.string(), len(raw), pa.array(raw, pa.binary()).buffers())


def _odd_cells(table: pa.Table, rng: Generator) -> pa.Table:
    if "person_id" not in table.column_names:
        return table
    mine = [who == 2**62 + 1 for who in table.column("person_id").to_pylist()]
    for at, name in enumerate(table.column_names):
        make = ODD.get(table.schema.field(at).type)
        if make and not name.endswith("person_id"):
            old = table.column(at).combine_chunks()
            new = make(rng, len(table)).cast(old.type)
            picked = pa.array([m and bool(rng.random() < 0.5) for m in mine])
            table = table.set_column(at, name, pc.if_else(picked, new, old))
    return table


def _many(*options: Any) -> Callable[[Generator, int], pa.Array]:
    return lambda rng, n: pa.array([one_of(rng, options) for _ in range(n)])


def _stamps(rng: Generator, n: int) -> pa.Array:
    return pa.array([one_of(rng, TIMES) for _ in range(n)], pa.int64()).cast(pa.timestamp("us"))


def _days(rng: Generator, n: int) -> pa.Array:
    whole = pa.array([one_of(rng, (None, 0, 2**31 - 1, -(2**31))) for _ in range(n)], pa.int32())
    return whole.cast(pa.date32())


ODD: dict[pa.DataType, Callable[[Generator, int], pa.Array]] = {
    pa.int64(): _many(None, 0, -1, 2**63 - 1, -(2**63), 9201, 3027018, 45878),
    pa.float64(): _many(None, *FLOATS),
    pa.string(): _many(None, *TEXTS),
    pa.timestamp("us"): _stamps,
    pa.date32(): _days,
}


def _cells(folder: Path, rng: Generator) -> list[str]:
    (source,) = [path for path in folder.iterdir() if path.name != "schema.yaml"]
    form: str = source.name
    try:
        found = _others(form, source, folder)
    except Refused as refusal:
        raise Fault(f"a patient's cells caused a refusal: {refusal}") from refusal
    if found != _reference(form):
        raise Fault(f"one patient's cells moved another's rows of {form}")
    return []


def _others(form: str, source: Path, folder: Path) -> list[Any]:
    import_cohort(form, str(source), folder / "schema.yaml", folder / "out")
    tables = [
        pq.read_table(folder / f"out/{name}.parquet") for name in ("patients", "observations")
    ]
    shutil.rmtree(folder / "out")
    return [
        row
        for table in tables
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
        if row[0] not in (1, "1", 2**62 + 1)
    ]


@cache
def _reference(form: str) -> list[Any]:
    folder = made_once() / f"reference {form}"
    folder.mkdir()
    (folder / "schema.yaml").write_text(json.dumps(_schema(form)))
    return _others(form, _base() / form, folder)


def _schema(form: str) -> dict[str, Any]:
    return fhir_schema() if form == "fhir" else SCHEMA


IMPORT = Kind("import", 2, _make_import, _import)
IMPORT_CELLS = Kind("import cells", 1, _make_cells, _cells)
