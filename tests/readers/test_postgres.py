"""A real Postgres server: the same cohort, byte for byte, as from Parquet."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

from longsynth.reading.importing import import_cohort
from longsynth.system.errors import CohortError
from readers.demo_tables import demo_tables
from readers.postgres_server import binaries, running
from readers.small_sources import (
    PEOPLE,
    ROWS,
    hashed,
    imported,
    omop,
    omop_postgres,
    omop_tables,
    renumbered,
    rows_of,
)

FOUND = binaries()
pytestmark = pytest.mark.skipif(
    FOUND is None, reason="no Postgres server: install Debian's package postgresql"
)
WRITTEN = ("patients.parquet", "observations.parquet", "schema.yaml", "internal/import.json")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    assert FOUND is not None
    with running(FOUND) as url:
        yield url


def in_cdm(url: str) -> str:
    return f"{url}&options=-csearch_path%3Dcdm"


def test_postgres_gives_the_bytes_that_parquet_gives(server: str, tmp_path: Path) -> None:
    omop_postgres(server)
    one = imported("omop", omop(tmp_path / "omop"), tmp_path)
    other = imported("omop", in_cdm(server), tmp_path)
    assert renumbered(rows_of(other)) == ROWS
    for name in WRITTEN:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_stamps_with_a_zone_are_read_in_utc_whatever_the_server_says(
    server: str, tmp_path: Path
) -> None:
    tables = omop_tables()
    for name, table in tables.items():
        for i, field in enumerate(table.schema):
            if field.type == pa.timestamp("us"):
                cells = table.column(i).to_pylist()
                if field.name == "measurement_datetime":
                    cells[7] = None  # midnight of its date, half an hour before the start
                zoned = pa.array(cells, pa.timestamp("us", "UTC"))
                table = table.set_column(i, field.name, zoned)
        tables[name] = table
    omop_postgres(server, tables)
    with psycopg.connect(server) as connection:
        connection.execute("ALTER DATABASE postgres SET timezone = 'Pacific/Marquesas'")
    try:
        assert renumbered(rows_of(imported("omop", in_cdm(server), tmp_path))) == ROWS[:-1]
    finally:
        with psycopg.connect(server) as connection:
            connection.execute("ALTER DATABASE postgres RESET timezone")


def test_cells_that_only_postgres_can_hold_stop_nothing(server: str, tmp_path: Path) -> None:
    omop_postgres(server)
    with psycopg.connect(server) as connection:
        for value in ("1e5000", "NaN", "Infinity"):
            connection.execute(
                "INSERT INTO cdm.measurement SELECT person_id, measurement_concept_id, 0, "
                f"measurement_date, measurement_datetime, '{value}' FROM cdm.measurement LIMIT 6"
            )
        for stamp in ("infinity", "-infinity", "4000-01-01 BC", "290000-01-01"):
            connection.execute(
                "INSERT INTO cdm.measurement SELECT person_id, measurement_concept_id, 0, "
                f"measurement_date, '{stamp}', 50 FROM cdm.measurement LIMIT 6"
            )
            connection.execute(
                f"INSERT INTO cdm.death VALUES ({hashed(2)}, '2021-06-01', '{stamp}')"
            )
    folder = imported("omop", in_cdm(server), tmp_path)
    assert renumbered(rows_of(folder)) == ROWS
    assert renumbered(rows_of(folder, "patients")) == PEOPLE


def test_more_rows_than_one_fetch_are_read(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    omop_postgres(server)
    monkeypatch.setattr("longsynth.reading.formats.omop.sources.ROWS", 2)
    assert renumbered(rows_of(imported("omop", in_cdm(server), tmp_path))) == ROWS


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("DROP TABLE cdm.death", "database postgres has no table death"),
        ("ALTER TABLE cdm.person DROP COLUMN year_of_birth", "person has no column year_of_birth"),
        (
            "ALTER TABLE cdm.person ALTER person_id TYPE double precision",
            "person.person_id is stored as float",
        ),
        (
            "ALTER TABLE cdm.death ALTER death_date TYPE varchar",
            "death.death_date is stored as text",
        ),
        (
            "ALTER TABLE cdm.measurement ALTER measurement_datetime TYPE timestamptz",
            "has a time zone and",
        ),
        ("DELETE FROM cdm.person", "the patient table is empty"),
        ("INSERT INTO cdm.person SELECT * FROM cdm.person", "an id twice"),
    ],
)
def test_what_is_wrong_with_a_database_is_named(
    server: str, tmp_path: Path, change: str, words: str
) -> None:
    omop_postgres(server)
    with psycopg.connect(server) as connection:
        connection.execute(change)
    with pytest.raises(CohortError, match=words):
        imported("omop", in_cdm(server), tmp_path)
    assert list(tmp_path.glob("cohort*")) == []


def test_a_user_without_the_right_to_read_is_told_so(server: str, tmp_path: Path) -> None:
    omop_postgres(server)
    with psycopg.connect(server) as connection:
        connection.execute("DROP ROLE IF EXISTS visitor")
        connection.execute("CREATE ROLE visitor LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA cdm TO visitor")
    address = in_cdm(server.replace("steward", "visitor"))
    with pytest.raises(CohortError, match="ask for the right to SELECT"):
        imported("omop", address, tmp_path)


def test_nothing_is_written_to_the_database(server: str, tmp_path: Path) -> None:
    omop_postgres(server)
    with psycopg.connect(server) as connection:
        connection.execute("ALTER ROLE steward SET default_transaction_read_only = on")
    try:
        imported("omop", in_cdm(server), tmp_path)
    finally:
        with psycopg.connect(server, options="-c default_transaction_read_only=off") as connection:
            connection.execute("ALTER ROLE steward RESET default_transaction_read_only")


DEMO = Path(os.environ.get("LONGSYNTH_COHORTS", "")) / "mimic4_demo_omop"
EXAMPLE = Path(__file__).parents[2] / "examples" / "schemas" / "mimic4_demo_omop.yaml"


@pytest.mark.skipif(
    "LONGSYNTH_COHORTS" not in os.environ or not DEMO.is_dir(),
    reason="set LONGSYNTH_COHORTS to the folder of open cohorts",
)
def test_the_omop_demo_is_the_same_from_postgres_and_from_parquet(
    server: str, tmp_path: Path
) -> None:
    omop_postgres(server, demo_tables(DEMO))
    import_cohort("omop", str(DEMO), EXAMPLE, tmp_path / "parquet")
    import_cohort("omop", in_cdm(server), EXAMPLE, tmp_path / "postgres")
    for name in WRITTEN:
        one, other = (tmp_path / where / name for where in ("parquet", "postgres"))
        assert one.read_bytes() == other.read_bytes(), name
