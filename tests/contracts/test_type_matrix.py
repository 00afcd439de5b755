"""Every physical type that Parquet holds, at its extremes.

A cell of an accepted type stops no engine, and all engines agree about it. Any other type is
refused for its type alone, before anything is charged."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contracts.physical_types import (
    ACCEPTED,
    EVERY,
    PATIENTS,
    PER_PATIENT,
    ROWS,
    STAMPS,
    cohort_of,
    observations,
    patients,
    repeated,
    write_typed,
)
from longsynth import CohortFolder, SparkCohort, fit, plan
from longsynth.govern.book import Book, init_book
from longsynth.privacy.budget import Budget
from longsynth.release.run import run_fit
from longsynth.system.errors import CohortError, Refused
from spark_sessions import Sessions
from support import ConstantNoise, NoNoise

pytestmark = pytest.mark.xdist_group("spark")


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
        folder = cohort_of(tmp_path / kind, role, kind)
        with pytest.raises(CohortError, match="A fit reads") as here:
            CohortFolder(folder)
        with pytest.raises(CohortError) as there:
            SparkCohort(sparks.on(), folder)
        assert str(there.value) == str(here.value), kind


def agree(folder: Path, sparks: Sessions, *, counts: bool = False) -> None:
    with CohortFolder(folder) as here, SparkCohort(sparks.on(), folder, partitions=2) as there:
        assert sums(there) == sums(here)
        assert not counts or there.repairs() == here.repairs()


# What Spark reads alike: of each, one type is read on Spark as a time and as an id too. As values,
# all types are read on Spark in one pass.
READ_ALIKE = {
    "int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32", "uint32": "int64",
    "date64": "timestamp[ms]", "timestamp[us, UTC]": "timestamp[us]",
    "large_string": "string", "string_view": "string",
}  # fmt: skip


def agree_unless_alike(folder: Path, kind: str, sparks: Sessions) -> None:
    if kind not in READ_ALIKE:
        return agree(folder, sparks)
    with CohortFolder(folder) as here:
        assert sums(here)
    return None


def test_types_that_spark_reads_alike_have_one_that_it_reads() -> None:
    assert set(READ_ALIKE.values()) <= EVERY.keys() - READ_ALIKE.keys()
    assert READ_ALIKE.keys() <= EVERY.keys()


@pytest.mark.parametrize("kind", sorted(ACCEPTED["stamp"] | ACCEPTED["time"]))
def test_a_time_of_an_accepted_type_stops_no_engine_whatever_it_is(
    kind: str, tmp_path: Path, sparks: Sessions
) -> None:
    folder = cohort_of(tmp_path / kind, "stamp" if kind in STAMPS else "time", kind)
    agree_unless_alike(folder, kind, sparks)


@pytest.mark.parametrize("kind", sorted(ACCEPTED["id"]))
def test_an_id_of_an_accepted_type_stops_no_engine_whatever_it_is(
    kind: str, tmp_path: Path, sparks: Sessions
) -> None:
    agree_unless_alike(cohort_of(tmp_path / kind, "id", kind), kind, sparks)


def test_values_of_every_accepted_type_stop_no_engine_whatever_they_are(
    tmp_path: Path, sparks: Sessions
) -> None:
    kinds = sorted(ACCEPTED["value"])
    number = {"kind": "continuous", "bounds": [0, 9], "bounds_from": "-"}
    variables = [number | {"name": f"v{i}", "column": kind} for i, kind in enumerate(kinds)]
    static = [v | {"name": f"s{i}", "static": True} for i, v in enumerate(variables)]
    rows = observations() | {kind: repeated(EVERY[kind], ROWS) for kind in kinds}
    people = patients() | {kind: repeated(EVERY[kind], PATIENTS) for kind in kinds}
    agree(
        write_typed(tmp_path / "all", rows, people, variables=variables + static),
        sparks,
        counts=True,
    )


def test_labels_of_every_accepted_type_stop_no_engine_whatever_they_are(
    tmp_path: Path, sparks: Sessions
) -> None:
    kinds = sorted(ACCEPTED["label"])
    levels = {"kind": "nominal", "levels": ["1", "true", "a", "nan"]}
    variables = [levels | {"name": f"v{i}", "column": kind} for i, kind in enumerate(kinds)]
    rows = observations() | {kind: repeated(EVERY[kind], ROWS) for kind in kinds}
    agree(
        write_typed(tmp_path / "levels", rows, patients(), variables=variables), sparks, counts=True
    )
    for kind in ("string", "double"):
        agree(cohort_of(tmp_path / kind, "label", kind), sparks)


def test_columns_that_no_one_uses_may_hold_anything_of_any_type(
    tmp_path: Path, sparks: Sessions
) -> None:
    plain = write_typed(tmp_path / "plain", observations(), patients())
    rows = observations() | {f"unused {kind}": repeated(EVERY[kind], ROWS) for kind in EVERY}
    people = patients() | {f"unused {kind}": repeated(EVERY[kind], PATIENTS) for kind in EVERY}
    full = write_typed(tmp_path / "full", rows, people)
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
        folder = write_typed(tmp_path / name, rows, patients(), time={"unit": "timestamp"})
        found += [
            outcome(folder, tmp_path / f"{name} here", None),
            outcome(folder, tmp_path / f"{name} on spark", sparks),
        ]
    assert len(found[0]) > 1
    assert all(one == found[0] for one in found)


def test_tables_of_sparks_own_are_read_alike_and_their_time_stamps_are_refused(
    tmp_path: Path, sparks: Sessions
) -> None:
    spark, folder = sparks.on(), write_typed(tmp_path / "cohort", observations(), patients())
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
    folder = write_typed(tmp_path / "cohort", rows, patients(), time={"unit": "timestamp"})
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        agree(folder, sparks)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_files_of_one_table_must_agree_on_the_types_that_are_read(
    tmp_path: Path, sparks: Sessions
) -> None:
    folder = write_typed(tmp_path / "cohort", observations(), patients())
    table = pq.read_table(folder / "observations.parquet")
    (folder / "observations.parquet").unlink()
    (folder / "observations.parquet").mkdir()
    pq.write_table(table, folder / "observations.parquet/1.parquet")
    place = table.schema.get_field_index("pulse")
    shorter = table.set_column(place, "pulse", table.column("pulse").cast(pa.float32()))
    pq.write_table(shorter, folder / "observations.parquet/2.parquet")
    with pytest.raises(CohortError, match="column 'pulse' in different types"):
        SparkCohort(sparks.on(), folder)
