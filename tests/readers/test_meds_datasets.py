"""MEDS 0.4: codes, shards, subjects, and the real validator's opinion of the test data."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from meds import DataSchema

from longsynth.reading.cohort_folder import read_cohort
from longsynth.system.errors import CohortError, SchemaError
from readers.small_sources import (
    MEDS_ROWS,
    MEDS_TYPES,
    PEOPLE,
    ROWS,
    SCHEMA,
    imported,
    meds,
    rows_of,
    write,
)

HOUR = timedelta(hours=1)


def with_variable(**source: Any) -> dict[str, Any]:
    return SCHEMA | {"variables": [dict(SCHEMA["variables"][0], source=source)], "slot_rule": {}}


def test_the_dataset_of_these_tests_is_valid_meds(tmp_path: Path) -> None:
    folder = meds(tmp_path / "meds")
    for shard in (folder / "data").rglob("*.parquet"):
        DataSchema.validate(pq.read_table(shard))


def test_the_order_of_events_and_shards_does_not_matter(tmp_path: Path) -> None:
    one = imported("meds", meds(tmp_path / "one"), tmp_path)
    turned = meds(tmp_path / "other", MEDS_ROWS[::-1])
    (turned / "data/train/0.parquet").rename(turned / "data/z.parquet")
    other = imported("meds", turned, tmp_path)
    for table in ("observations", "patients"):
        assert rows_of(one, table) == rows_of(other, table)


def test_every_subject_of_the_list_is_a_patient_and_nobody_else(tmp_path: Path) -> None:
    folder = meds(tmp_path / "meds")
    ids = pa.table({"subject_id": [7, 2]})
    write(folder / "metadata/subject_splits.parquet", ids)
    read = imported("meds", folder, tmp_path)
    assert rows_of(read, "patients") == [PEOPLE[1], (7, None, "alive", None, None)]
    assert {row[0] for row in rows_of(read)} == {2}


def test_a_dataset_without_a_list_of_subjects_is_refused(tmp_path: Path) -> None:
    """Otherwise a patient whose events are removed would change N, which is public."""
    folder = meds(tmp_path / "meds")
    (folder / "metadata/subject_splits.parquet").unlink()
    with pytest.raises(CohortError, match="Add the list of all subjects"):
        imported("meds", folder, tmp_path)


def test_a_subject_without_any_event_stays_a_patient(tmp_path: Path) -> None:
    folder = meds(tmp_path / "meds")
    shards = sorted((folder / "data").rglob("*.parquet"))
    for shard in shards:
        pq.write_table(pq.read_table(shard).slice(0, 0), shard)
    assert len(rows_of(imported("meds", folder, tmp_path), "patients")) == len(PEOPLE)


def test_without_a_start_the_first_event_after_birth_opens_the_record(tmp_path: Path) -> None:
    schema = SCHEMA | {"source": {}}
    rows = rows_of(imported("meds", meds(tmp_path / "meds"), tmp_path, schema))
    assert [row[:3] for row in rows if row[2]] == [
        (1, 0.0, 70.0),
        (1, 2.0, 80.0),
        (1, 42.0, 60.0),
        (2, 0.0, 90.0),
        (3, 0.0, 88.0),
    ]


def test_times_are_exact_at_the_edges_of_a_record(tmp_path: Path) -> None:
    """Whatever minute of whatever century a record begins in: 40.2 hours are 40.2 hours."""
    rows: list[Any] = []
    for i in range(300):
        start = datetime(2100, 1, 1) + i * timedelta(days=77, minutes=7)
        rows += [(i, start, "ADMIT//ward A", None), (i, start + 40.2 * HOUR, "DISCHARGE", None)]
        rows += [(i, start + 40.2 * HOUR, "HR", 80.0), (i, start + 50.2 * HOUR, "MEDS_DEATH", None)]
    folder = meds(tmp_path / "meds", rows)
    subjects = {"subject_id": list(range(300)), "split": ["train"] * 300}
    pq.write_table(pa.table(subjects), folder / "metadata/subject_splits.parquet")
    event = {"levels": ["alive", "dead"], "source": {"fact": "death", "within": 50.2}}
    read = imported("meds", folder, tmp_path, SCHEMA | {"event": event})
    assert [row[1] for row in rows_of(read)] == [40.2] * 300
    assert {row[2] for row in rows_of(read, "patients")} == {"dead"}


def test_what_occurs_before_the_start_does_not_count(tmp_path: Path) -> None:
    source = {"codes": ["HR"], "fact": "occurs", "within": 0.5}
    schema = SCHEMA | {"event": {"levels": ["no", "yes"], "source": source}}
    read = imported("meds", meds(tmp_path / "meds"), tmp_path, schema)
    assert [row[2] for row in rows_of(read, "patients")] == ["no", "yes", "no"]


@pytest.mark.parametrize("fact", ["occurs", "death"])
def test_a_binary_static_variable_may_be_a_fact(tmp_path: Path, fact: str) -> None:
    source = {"fact": fact, "codes": ["MEDS_DEATH"], "within": 48}  # after the record's end
    died = {"name": "died", "kind": "binary", "static": True, "source": source}
    schema = SCHEMA | {"variables": [*SCHEMA["variables"], died]}
    folder = imported("meds", meds(tmp_path / "meds"), tmp_path, schema)
    assert [row[5] for row in rows_of(folder, "patients")] == [1.0, 0.0, 0.0]
    assert read_cohort(folder)[1].values[:, 0, 4].tolist() == [1.0, 0.0, 0.0]


def test_an_end_before_the_start_closes_nothing(tmp_path: Path) -> None:
    early = (1, MEDS_ROWS[3][1] - 30 * HOUR, "DISCHARGE", None)  # type: ignore[operator]
    folder = meds(tmp_path / "meds", [*MEDS_ROWS, early])
    assert rows_of(imported("meds", folder, tmp_path)) == ROWS


def test_a_pattern_must_match_the_whole_code(tmp_path: Path) -> None:
    extra = [*MEDS_ROWS, (2, MEDS_ROWS[14][1], "HRV", 5.0)]
    for source in ({"codes": ["HR"]}, {"pattern": "HR"}, {"pattern": "H[RX]"}):
        folder = imported(
            "meds", meds(tmp_path / str(source), extra), tmp_path, with_variable(**source)
        )
        assert [r[2] for r in rows_of(folder)] == [80.0, 90.0]


def test_a_unit_may_stand_in_a_column_of_its_own(tmp_path: Path) -> None:
    rows = [(*row, "F" if row[2] == "HR" else None) for row in MEDS_ROWS]
    folder = meds(tmp_path / "meds", rows, {"unit": pa.string()})
    schema = with_variable(codes=["HR"], units={"F": 2})
    schema |= {"source": SCHEMA["source"] | {"unit": "unit"}}
    assert [r[2] for r in rows_of(imported("meds", folder, tmp_path, schema))] == [160.0, 180.0]


def test_text_values_are_levels(tmp_path: Path) -> None:
    rows = [(*row, "tube" if row[2] == "HR" else None) for row in MEDS_ROWS]
    folder = meds(tmp_path / "meds", rows, {"text_value": pa.large_string()})
    oxygen = dict(SCHEMA["variables"][2], source={"codes": ["HR"]})
    schema = SCHEMA | {"variables": [oxygen], "slot_rule": {}}
    assert {r[2] for r in rows_of(imported("meds", folder, tmp_path, schema))} == {"tube"}


def test_the_list_of_codes_is_not_needed(tmp_path: Path) -> None:
    folder = meds(tmp_path / "meds")
    (folder / "metadata/codes.parquet").unlink()
    assert rows_of(imported("meds", folder, tmp_path)) == ROWS


def test_a_code_that_the_dataset_does_not_declare_is_refused(tmp_path: Path) -> None:
    for source in ({"codes": ["PULSE"]}, {"pattern": "PULSE.*"}):
        with pytest.raises(SchemaError, match=r"^variables.pulse: .*none of its codes"):
            imported("meds", meds(tmp_path / str(source)), tmp_path, with_variable(**source))


def test_a_variable_without_codes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"^variables.pulse: nothing says which codes"):
        imported("meds", meds(tmp_path / "meds"), tmp_path, with_variable(concepts=[3]))


def test_units_of_exact_codes_cannot_be_converted(tmp_path: Path) -> None:
    schema = with_variable(codes=["HR"], units={"bpm": 1})
    with pytest.raises(SchemaError, match=r"^variables.pulse: its units cannot be converted"):
        imported("meds", meds(tmp_path / "meds"), tmp_path, schema)


def test_a_shard_of_no_rows_is_read(tmp_path: Path) -> None:
    folder = meds(tmp_path / "meds")
    write(folder / "data/empty.parquet", pa.schema(MEDS_TYPES.items()).empty_table())
    assert rows_of(imported("meds", folder, tmp_path)) == ROWS
