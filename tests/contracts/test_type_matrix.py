"""Every physical type that Parquet holds, at its extremes.

A cell of an accepted type stops no engine, and all engines agree about it. Any other type is
refused for its type alone, before anything is charged."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth import CohortFolder, SparkCohort, fit, plan
from longsynth.errors import CohortError, Refused
from longsynth.govern.book import Book, init_book
from longsynth.privacy.budget import Budget
from longsynth.run import run_fit
from spark_sessions import Sessions
from support import ConstantNoise, NoNoise

pytestmark = pytest.mark.xdist_group("spark")
PATIENTS, PER_PATIENT = 20, 3
ROWS = PATIENTS * PER_PATIENT
INF, NAN, MOST = float("inf"), float("nan"), 2**63 - 1


def text(*cells: bytes) -> pa.Array:
    """Text, whether or not the bytes are UTF-8."""
    raw = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def whole(kind: pa.DataType, low: int, high: int) -> pa.Array:
    return pa.array([low, high, None, 1], kind)


def ticks(unit: str, zone: str | None = None) -> pa.Array:
    return pa.array([MOST, -MOST, 9_999_999_999_999_999, None]).cast(pa.timestamp(unit, zone))


ODD_TEXT = text(b"", b"x" * 100_000, b"\xff\xfe", b"\x00", "\U0001f469".encode(), b"nan", b"1e999")
WHOLE = {
    f"{sign}int{bits}": whole(
        getattr(pa, f"{sign}int{bits}")(),
        0 if sign else -(2 ** (bits - 1)),
        2**bits - 1 if sign else 2 ** (bits - 1) - 1,
    )
    for sign, bits in [("", 8), ("", 16), ("", 32), ("", 64), ("u", 8), ("u", 16), ("u", 32)]
}
REAL = {
    "float": pa.array([NAN, INF, -INF, 3.4e38, 1e-45, -0.0, None], pa.float32()),
    "double": pa.array([NAN, INF, -INF, 1.7e308, 5e-324, -0.0, None], pa.float64()),
    "bool": pa.array([True, False, None]),
    "null": pa.nulls(3),
}
TEXT = {
    "string": ODD_TEXT,
    "large_string": ODD_TEXT.cast(pa.large_binary()).view(pa.large_string()),
    "string_view": pa.array(["", "x" * 100_000, "\x00", None], pa.string_view()),
    "dictionary of strings": pa.array(["a", "b", None]).dictionary_encode(),
}
STAMPS = {
    "timestamp[s]": pa.array([0, 253_402_300_800, None], pa.timestamp("s")),
    "timestamp[ms]": ticks("ms"),
    "timestamp[us]": ticks("us"),
    "timestamp[ns]": ticks("ns"),
    "timestamp[ms, zone]": ticks("ms", "America/New_York"),
    "timestamp[us, UTC]": ticks("us", "UTC"),
    "date32": pa.array([2**31 - 1, -(2**31), None], pa.int32()).cast(pa.date32()),
    "date64": pa.array([0, 86_400_000, None]).cast(pa.date64()),
}
OTHERS = {
    "uint64": pa.array([0, 2**64 - 1, None], pa.uint64()),
    "float16": pa.array(np.array([1, 65504, np.inf], np.float16)),
    "decimal128": pa.array([Decimal("9" * 36 + ".99"), None], pa.decimal128(38, 2)),
    "decimal256": pa.array([Decimal("9" * 70), None], pa.decimal256(76, 0)),
    "binary": pa.array([b"\xff", b"x" * 100_000, None]),
    "large_binary": pa.array([b"\xff", None], pa.large_binary()),
    "fixed_size_binary": pa.array([b"\xff" * 16, None], pa.binary(16)),
    "time32": pa.array([0, 86_399_999, None], pa.time32("ms")),
    "time64": pa.array([0, 86_399_999_999, None], pa.time64("us")),
    "time64[ns]": pa.array([0, 86_399_999_999_999, None], pa.time64("ns")),
    "duration": pa.array([MOST, -MOST, None], pa.duration("us")),
    "list": pa.array([[1.0], [], None]),
    "struct": pa.array([{"a": 1}, None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "dictionary of whole numbers": pa.array([MOST, None]).dictionary_encode(),
}
EVERY = WHOLE | REAL | TEXT | STAMPS | OTHERS
ACCEPTED: dict[str, set[str]] = {  # by what a column is used for
    "id": {*WHOLE, *TEXT, "null", "dictionary of whole numbers"},
    "value": {*WHOLE, *REAL, "dictionary of whole numbers"},
    "time": {*WHOLE, *REAL, "dictionary of whole numbers"},
    "stamp": {*STAMPS, "null"},
    "label": {*WHOLE, *REAL, *TEXT, "dictionary of whole numbers"},
}


def schema(**changes: Any) -> dict[str, Any]:
    pulse = {"kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"}
    return {
        "longsynth": 1,
        "name": "types",
        "slots": PER_PATIENT,
        "max_gap": 48,
        "site": {"column": "site", "levels": ["A", "B", "1"]},
        "variables": [{"name": "pulse"} | pulse],
    } | changes


def observations() -> dict[str, Any]:
    return {
        "patient_id": np.repeat(np.arange(PATIENTS), PER_PATIENT),
        "time": np.tile(np.arange(PER_PATIENT) * 6.0, PATIENTS),
        "pulse": np.linspace(30, 200, ROWS),
    }


def patients() -> dict[str, Any]:
    who = np.arange(PATIENTS)
    return {"patient_id": who, "group": who % 2, "event": who // 2 % 2, "site": ["A", "B"] * 10}


def repeated(cells: pa.Array, length: int) -> pa.Array:
    """A column in which every extreme stands, over and over."""
    return taken(cells, np.arange(length) % len(cells))


def taken(cells: pa.Array, places: np.ndarray) -> pa.Array:
    if cells.type == pa.string_view():  # which Arrow cannot take from
        return cells.cast(pa.string()).take(pa.array(places)).cast(cells.type)
    return cells.take(pa.array(places))


def write(folder: Path, rows: dict[str, Any], people: dict[str, Any], **changes: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "schema.yaml").write_text(json.dumps(schema(**changes)))
    pq.write_table(pa.table(rows), folder / "observations.parquet")
    pq.write_table(pa.table(people), folder / "patients.parquet")
    return folder


def cohort(folder: Path, role: str, kind: str) -> Path:
    """A cohort in which one column of this role has this type, at its extremes."""
    cells, rows, people = EVERY[kind], observations(), patients()
    match role:
        case "id":
            people["patient_id"] = ids_of(kind)
            ids = taken(people["patient_id"], rows["patient_id"])
            rows["patient_id"] = pa.nulls(ROWS) if kind == "null" else ids
            return write(folder, rows, people)
        case "value":
            rows["pulse"] = repeated(cells, ROWS)
            return write(folder, rows, people)
        case "label":
            people["site"] = repeated(cells, PATIENTS)
            return write(folder, rows, people)
        case "time":
            rows["time"] = repeated(cells, ROWS)
            return write(folder, rows, people)
        case _:
            rows["time"] = repeated(cells, ROWS)
            return write(folder, rows, people, time={"unit": "timestamp"})


def ids_of(kind: str) -> pa.Array:
    """Distinct ids of a type, its extremes among them; anything where there can be no ids."""
    cells = EVERY[kind]
    if kind in WHOLE:
        low, high = cells[0].as_py(), cells[1].as_py()
        return pa.array([low, high, *range(2, PATIENTS)], cells.type)
    names = pa.array([f"patient {i} \U0001f469" for i in range(PATIENTS)])
    match kind:
        case "string" | "null":
            return names
        case "large_string":
            return names.cast(pa.large_string())
        case "string_view":
            return names.cast(pa.string_view())
        case "dictionary of strings":
            return names.dictionary_encode()
        case "dictionary of whole numbers":
            return pa.array(np.arange(PATIENTS) - MOST).dictionary_encode()
    return repeated(cells, PATIENTS)


def sums(source: CohortFolder | SparkCohort) -> dict[str, list[int]]:
    planned = plan(source.schema, source.patients, epsilon=4, delta=1e-4, method="dp-markov")
    released = fit(source, planned, noise=NoNoise()).released
    return {name: found.values.tolist() for name, found in released.items()}


PAIRS = [(role, kind) for role in ACCEPTED for kind in EVERY]


def test_the_matrix_is_as_large_as_promised() -> None:
    stored = {kind: EVERY[kind].type for kind in EVERY}
    assert len(set(stored.values())) >= 25
    assert len(PAIRS) >= 150


@pytest.mark.parametrize("role", ACCEPTED)
def test_a_type_that_is_not_accepted_is_refused_for_itself_in_the_same_words_everywhere(
    role: str, tmp_path: Path, sparks: Sessions
) -> None:
    for kind in EVERY.keys() - ACCEPTED[role]:
        folder = cohort(tmp_path / kind, role, kind)
        with pytest.raises(CohortError, match="A fit reads") as here:
            CohortFolder(folder)
        with pytest.raises(CohortError) as there:
            SparkCohort(sparks.on(), folder)
        assert str(there.value) == str(here.value), kind


def agree(folder: Path, sparks: Sessions, *, counts: bool = False) -> None:
    with CohortFolder(folder) as here, SparkCohort(sparks.on(), folder, partitions=2) as there:
        assert sums(there) == sums(here)
        assert not counts or there.repairs() == here.repairs()


@pytest.mark.parametrize("kind", sorted(ACCEPTED["stamp"] | ACCEPTED["time"]))
def test_a_time_of_an_accepted_type_stops_no_engine_whatever_it_is(
    kind: str, tmp_path: Path, sparks: Sessions
) -> None:
    agree(cohort(tmp_path / kind, "stamp" if kind in STAMPS else "time", kind), sparks)


@pytest.mark.parametrize("kind", sorted(ACCEPTED["id"]))
def test_an_id_of_an_accepted_type_stops_no_engine_whatever_it_is(
    kind: str, tmp_path: Path, sparks: Sessions
) -> None:
    agree(cohort(tmp_path / kind, "id", kind), sparks)


def test_values_of_every_accepted_type_stop_no_engine_whatever_they_are(
    tmp_path: Path, sparks: Sessions
) -> None:
    kinds = sorted(ACCEPTED["value"])
    number = {"kind": "continuous", "bounds": [0, 9], "bounds_from": "-"}
    variables = [number | {"name": f"v{i}", "column": kind} for i, kind in enumerate(kinds)]
    static = [v | {"name": f"s{i}", "static": True} for i, v in enumerate(variables)]
    rows = observations() | {kind: repeated(EVERY[kind], ROWS) for kind in kinds}
    people = patients() | {kind: repeated(EVERY[kind], PATIENTS) for kind in kinds}
    agree(write(tmp_path / "all", rows, people, variables=variables + static), sparks, counts=True)


def test_labels_of_every_accepted_type_stop_no_engine_whatever_they_are(
    tmp_path: Path, sparks: Sessions
) -> None:
    kinds = sorted(ACCEPTED["label"])
    levels = {"kind": "nominal", "levels": ["1", "true", "a", "nan"]}
    variables = [levels | {"name": f"v{i}", "column": kind} for i, kind in enumerate(kinds)]
    rows = observations() | {kind: repeated(EVERY[kind], ROWS) for kind in kinds}
    agree(write(tmp_path / "levels", rows, patients(), variables=variables), sparks, counts=True)
    for kind in ("string", "double"):
        agree(cohort(tmp_path / kind, "label", kind), sparks)


def test_columns_that_no_one_uses_may_hold_anything_of_any_type(
    tmp_path: Path, sparks: Sessions
) -> None:
    plain = write(tmp_path / "plain", observations(), patients())
    rows = observations() | {f"unused {kind}": repeated(EVERY[kind], ROWS) for kind in EVERY}
    people = patients() | {f"unused {kind}": repeated(EVERY[kind], PATIENTS) for kind in EVERY}
    full = write(tmp_path / "full", rows, people)
    agree(full, sparks)
    with CohortFolder(plain) as before, CohortFolder(full) as after:
        assert sums(before) == sums(after)


def outcome(folder: Path, place: Path, sparks: Sessions | None) -> tuple[Any, ...]:
    """Everything that a fit with a book leaves, with noise that is always the same."""
    place.mkdir()
    book = place / "book"
    init_book(book).grant("ward", Budget(8.0, 1e-4, "zcdp"))
    try:
        source = folder if sparks is None else SparkCohort(sparks.on(), folder, partitions=2)
        bundle = run_fit(
            source, place / "run", epsilon=4, delta=1e-4, accounting="zcdp", method="dp-markov",
            book=book, dataset="ward", noise=ConstantNoise(),
        )  # fmt: skip
    except Refused:
        return ("refused",)
    release = place / "run/release"
    files = {file.name: file.read_bytes() for file in release.iterdir()}
    charged = [(type(e).__name__, getattr(e, "rho", None)) for e in Book(book).read().events]
    return bundle.fingerprint, files["statistics.json"], files["ledger.json"], len(files), charged


def test_one_wild_time_stamp_changes_neither_outcome_nor_book_on_any_engine(
    tmp_path: Path, sparks: Sessions
) -> None:
    """Spark's own reader stops at a number of milliseconds that is too large for its calendar."""
    hours = np.repeat(np.arange(PATIENTS), PER_PATIENT) + np.tile(np.arange(3), PATIENTS)
    stamps = pa.array(hours * 3_600_000).cast(pa.timestamp("ms"))
    found = []
    for name, tick in (("usual", 0), ("wild", 9_999_999_999_999_999)):
        cells = pa.concat_arrays([pa.array([tick]).cast(pa.timestamp("ms")), stamps[1:]])
        rows = observations() | {"time": cells}
        folder = write(tmp_path / name, rows, patients(), time={"unit": "timestamp"})
        found += [
            outcome(folder, tmp_path / f"{name} here", None),
            outcome(folder, tmp_path / f"{name} on spark", sparks),
        ]
    assert len(found[0]) > 1
    assert all(one == found[0] for one in found)


def test_tables_of_sparks_own_are_read_alike_and_their_time_stamps_are_refused(
    tmp_path: Path, sparks: Sessions
) -> None:
    spark, folder = sparks.on(), write(tmp_path / "cohort", observations(), patients())
    frames = {
        name: spark.read.parquet(f"{folder}/{name}.parquet")
        for name in ("observations", "patients")
    }
    with CohortFolder(folder) as here:
        with SparkCohort(spark, here.schema, **frames) as there:
            assert sums(there) == sums(here)
        stamped = frames["observations"].selectExpr(
            "patient_id", "timestamp_seconds(time) AS time", "pulse"
        )
        timed = here.schema.model_copy(
            update={"time": here.schema.time.model_copy(update={"unit": "timestamp"})}
        )
        with pytest.raises(CohortError, match="Give the times as numbers"):
            SparkCohort(spark, timed, observations=stamped, patients=frames["patients"])


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_the_clocks_of_a_cluster_change_no_sum(zone: str, tmp_path: Path, sparks: Sessions) -> None:
    spark = sparks.on()
    start = dt.datetime(2024, 3, 30, tzinfo=dt.UTC)  # clocks change in these days
    times = [start + dt.timedelta(minutes=97 * i) for i in range(ROWS)]
    rows = observations() | {"time": pa.array(times, pa.timestamp("us", "Europe/Berlin"))}
    folder = write(tmp_path / "cohort", rows, patients(), time={"unit": "timestamp"})
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        agree(folder, sparks)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_files_of_one_table_must_agree_on_the_types_that_are_read(
    tmp_path: Path, sparks: Sessions
) -> None:
    folder = write(tmp_path / "cohort", observations(), patients())
    table = pq.read_table(folder / "observations.parquet")
    (folder / "observations.parquet").unlink()
    (folder / "observations.parquet").mkdir()
    pq.write_table(table, folder / "observations.parquet/1.parquet")
    place = table.schema.get_field_index("pulse")
    shorter = table.set_column(place, "pulse", table.column("pulse").cast(pa.float32()))
    pq.write_table(shorter, folder / "observations.parquet/2.parquet")
    with pytest.raises(CohortError, match="column 'pulse' in different types"):
        SparkCohort(sparks.on(), folder)
