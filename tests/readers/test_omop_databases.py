"""OMOP: which visit, which rows, and the corners of the model."""

import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from longsynth.reading.cohort_folder import read_cohort
from longsynth.schema.record import given_codes
from longsynth.system.errors import Code, Refused, SchemaError
from readers.small_sources import (
    PEOPLE,
    ROWS,
    SCHEMA,
    START,
    hashed,
    imported,
    omop,
    omop_tables,
    renumbered,
    rows_of,
)


def changed(table: str, **columns: Any) -> dict[str, pa.Table]:
    """The tables with some columns replaced, or added."""
    tables = omop_tables()
    for name, values in columns.items():
        place = tables[table].schema.get_field_index(name)
        kept = tables[table] if place < 0 else tables[table].remove_column(place)
        tables[table] = kept.append_column(
            name, values if isinstance(values, pa.Array) else [values]
        )
    return tables


def read(tmp: Path, tables: dict[str, pa.Table], **schema: Any) -> list[tuple[Any, ...]]:
    folder = tmp / f"omop{len(list(tmp.iterdir()))}"
    return renumbered(rows_of(imported("omop", omop(folder, tables), tmp, SCHEMA | schema)))


def test_the_first_visit_of_the_wanted_kind_and_length_is_the_record(tmp_path: Path) -> None:
    longer = SCHEMA["source"] | {"start": {"visits": [9201]}}
    assert read(tmp_path, omop_tables(), source=longer)[0][:2] != ROWS[0][:2]
    any_kind = SCHEMA["source"] | {"start": {}}
    tables = omop_tables()
    folder = imported("omop", omop(tmp_path / "a", tables), tmp_path, SCHEMA | {"source": any_kind})
    assert rows_of(folder, "patients")[0][3] == "B", "the ward of the earlier visit"


def test_a_person_without_a_visit_is_an_empty_record(tmp_path: Path) -> None:
    folder = imported("omop", omop(tmp_path / "omop"), tmp_path)
    assert renumbered(rows_of(folder, "patients"))[2] == PEOPLE[2]
    assert {row[0] for row in renumbered(rows_of(folder))} == {1, 2}


def test_ids_of_64_bits_stay_exact(tmp_path: Path) -> None:
    folder = imported("omop", omop(tmp_path / "omop"), tmp_path)
    assert [row[0] for row in rows_of(folder, "patients")] == [hashed(i) for i in (1, 2, 3)]
    assert float(hashed(1)) == float(hashed(3)), "a float could not tell them apart"


def test_a_measurement_without_a_stamp_lies_at_midnight_of_its_date(tmp_path: Path) -> None:
    tables = omop_tables()
    stamps = tables["measurement"]["measurement_datetime"].to_pylist()
    dates = tables["measurement"]["measurement_date"].to_pylist()
    stamps[1], dates[1] = None, date(2020, 1, 2)
    tables = changed(
        "measurement",
        measurement_datetime=pa.array(stamps, pa.timestamp("us")),
        measurement_date=pa.array(dates, pa.date32()),
    )
    assert (1, 16.0, 80.0, None, None) in read(tmp_path, tables)


def test_a_visit_that_ends_on_a_date_ends_with_that_day(tmp_path: Path) -> None:
    ends = omop_tables()["visit_occurrence"]["visit_end_datetime"].to_pylist()
    for known, last in ((ends[2], 80.0), (None, 60.0), (START[1], 60.0)):
        ends[2] = known  # none, or one that does not lie after the start
        tables = changed("visit_occurrence", visit_end_datetime=pa.array(ends, pa.timestamp("us")))
        pulses = [row[2] for row in read(tmp_path, tables) if row[0] == 1 and row[2]]
        assert pulses[-1] == last, "41 hours after the start is still the day of the end"


def test_columns_that_the_model_leaves_open_may_be_absent(tmp_path: Path) -> None:
    tables = omop_tables()
    tables["measurement"] = tables["measurement"].drop_columns(
        ["measurement_datetime", "unit_concept_id", "measurement_source_concept_id"]
    )
    tables["person"] = tables["person"].drop_columns(["month_of_birth", "day_of_birth"])
    folder = imported("omop", omop(tmp_path / "omop", tables), tmp_path)
    assert rows_of(folder, "patients")[0][4] == 60.0, "the year alone counts as its first day"


def test_a_unit_may_be_a_concept(tmp_path: Path) -> None:
    tables = changed(
        "measurement",
        unit_concept_id=pa.array([9289 if i == 2 else None for i in range(10)], pa.int64()),
        unit_source_value=pa.nulls(10, pa.string()),
    )
    source = SCHEMA["variables"][1]["source"] | {"units": {"9289": 2}}
    variables = [dict(SCHEMA["variables"][1], source=source)]
    rows = read(tmp_path, tables, variables=variables, slot_rule={})
    assert rows == [(1, 2.0, 199.0)]


def test_rows_that_no_concept_stands_for_are_found_by_their_source_value(tmp_path: Path) -> None:
    tables = changed("measurement", measurement_source_value=pa.array(["50912"] * 10))
    variables = [dict(SCHEMA["variables"][0], source={"codes": ["50912"]})]
    rows = read(tmp_path, tables, variables=variables, slot_rule={})
    assert [row[2] for row in rows] == [80.0, 99.5, 90.0, 38.0, 311.0]


def test_a_row_counts_once_though_both_its_concepts_are_named(tmp_path: Path) -> None:
    tables = changed("measurement", measurement_source_concept_id=pa.array([2000000001] * 10))
    source = {"concepts": [3027018, 2000000001]}
    variables = [dict(SCHEMA["variables"][0], source=source)]
    rows = read(tmp_path, tables, variables=variables, slot_rule={})
    assert [row[:3] for row in rows] == sorted({row[:3] for row in rows})


def test_an_outcome_may_be_a_condition_within_a_window(tmp_path: Path) -> None:
    tables = omop_tables()
    tables["condition_occurrence"] = pa.table(
        {
            "person_id": [hashed(1), hashed(2), hashed(3)],
            "condition_concept_id": [197320] * 3,
            "condition_start_date": pa.array(
                [START[1].date() + timedelta(days=1), date(2022, 1, 1), date(2020, 1, 1)],
                pa.date32(),
            ),
            "condition_start_datetime": pa.nulls(3, pa.timestamp("us")),
        }
    )
    source = {"concepts": [197320], "table": "condition_occurrence", "fact": "occurs", "within": 24}
    event = {"levels": ["no", "kidney injury"], "source": source}
    folder = imported("omop", omop(tmp_path / "omop", tables), tmp_path, SCHEMA | {"event": event})
    assert [row[2] for row in rows_of(folder, "patients")] == ["kidney injury", "no", "no"]


@pytest.mark.parametrize(("hours", "event"), [(48, "dead"), (47.9, "alive"), (None, "dead")])
def test_death_counts_within_its_window(tmp_path: Path, hours: float | None, event: str) -> None:
    source = {"fact": "death"} | ({"within": hours} if hours else {})
    schema = SCHEMA | {"event": {"levels": ["alive", "dead"], "source": source}}
    folder = imported("omop", omop(tmp_path / "omop"), tmp_path, schema)
    assert rows_of(folder, "patients")[0][2] == event


def test_stamps_with_a_zone_are_compared_in_utc(tmp_path: Path) -> None:
    tables = omop_tables()
    for name, table in tables.items():
        for i, field in enumerate(table.schema):
            if field.type == pa.timestamp("us"):
                zoned = table.column(i).cast(pa.timestamp("us", "UTC"))
                table = table.set_column(i, field.name, zoned)
        tables[name] = table
    assert read(tmp_path, tables) == ROWS


def test_a_variable_without_concepts_is_refused(tmp_path: Path) -> None:
    variables = [dict(SCHEMA["variables"][0], source={"pattern": "HR"})]
    with pytest.raises(SchemaError, match=r"^variables.pulse: nothing says where it is"):
        read(tmp_path, omop_tables(), variables=variables, slot_rule={})


def test_odd_cells_cost_their_own_patient_alone(tmp_path: Path) -> None:
    """Wild years, months and stamps of patient 3 change nothing of the other two."""
    wild = 2**63 - 1
    tables = changed("person", year_of_birth=pa.array([1991, 1960, -wild]))
    tables["person"] = tables["person"].set_column(
        2, "month_of_birth", pa.array([6, 5, wild], pa.int64())
    )
    stamps = tables["visit_occurrence"]["visit_start_datetime"].cast(pa.int64()).to_pylist()
    extra = tables["visit_occurrence"].slice(4, 1)
    extra = extra.set_column(1, "person_id", pa.array([hashed(3)]))
    extra = extra.set_column(4, "visit_start_datetime", pa.array([wild], pa.timestamp("us")))
    tables["visit_occurrence"] = pa.concat_tables([tables["visit_occurrence"], extra])
    assert len(stamps) == 5
    assert [row for row in read(tmp_path, tables) if row[0] < 3] == ROWS


def test_the_last_second_before_a_birthday_is_still_the_year_before(tmp_path: Path) -> None:
    for start, age in ((datetime(2021, 5, 31, 23, 59), 29.0), (datetime(2021, 6, 1), 30.0)):
        tables = omop_tables()
        stamps = tables["visit_occurrence"]["visit_start_datetime"].to_pylist()
        stamps[3] = start
        tables = changed(
            "visit_occurrence", visit_start_datetime=pa.array(stamps, pa.timestamp("us"))
        )
        number = len(list(tmp_path.iterdir()))
        folder = imported("omop", omop(tmp_path / f"o{number}", tables), tmp_path)
        assert rows_of(folder, "patients")[1][4] == age


def with_source(start: dict[str, Any], end: dict[str, Any] | None = None) -> dict[str, Any]:
    return SCHEMA | {"source": {"start": start} | ({"end": end} if end else {})}


def spanning(folder: Path) -> Path:
    """An observation period that begins before the first visit and ends after the last."""
    day = pa.date32()
    periods = pa.table(
        {
            "person_id": [hashed(1), hashed(2)],
            "observation_period_start_date": pa.array([datetime(2019, 12, 1)] * 2).cast(day),
            "observation_period_end_date": pa.array([datetime(2020, 1, 3)] * 2).cast(day),
        }
    )
    drugs = pa.table(
        {
            "person_id": [hashed(1), hashed(2)],
            "drug_concept_id": [1125315, 1125315],
            "drug_exposure_start_date": pa.array([START[1], datetime(2024, 1, 1)]).cast(day),
            "drug_exposure_start_datetime": pa.array(
                [START[1] + timedelta(hours=5), datetime(2024, 1, 1)], pa.timestamp("us")
            ),
        }
    )
    return omop(folder, omop_tables() | {"observation_period": periods, "drug_exposure": drugs})


PERIOD = (
    {"column": "observation_period.observation_period_start_date"},
    {"column": "observation_period.observation_period_end_date"},
)


@pytest.mark.parametrize(
    ("start", "end", "pulses"),
    [
        (*PERIOD, 3),  # before, during and after the visit
        ({"visits": [9201], "min_hours": 1}, {"hours": 41}, 3),
        ({"visits": [9201], "min_hours": 1}, None, 2),
        ({"concepts": [3020891]}, None, 1),  # from the first temperature on
        ({"concepts": [3020891]}, {"hours": 10}, 0),
    ],
)
def test_a_record_may_span_visits(
    tmp_path: Path, start: dict[str, Any], end: dict[str, Any] | None, pulses: int
) -> None:
    source = spanning(tmp_path / "omop")
    folder = imported("omop", source, tmp_path, with_source(start, end))
    assert len([row for row in rows_of(folder) if row[2] is not None]) == pulses


def test_what_occurs_years_after_the_end_does_not_count(tmp_path: Path) -> None:
    source = {"fact": "occurs", "concepts": [1125315], "table": "drug_exposure"}
    schema = SCHEMA | {"event": {"levels": ["no", "yes"], "source": source}}
    folder = imported("omop", spanning(tmp_path / "omop"), tmp_path, schema)
    by_id = {row[0]: row[2] for row in renumbered(rows_of(folder, "patients"))}
    assert by_id == {1: "yes", 2: "no", 3: "no"}
    counts = json.loads((folder / "internal/import.json").read_text())["by_name"]["event"]
    assert counts == {"events": 2, "used": 1, "left_out": {"after_the_end": 1}}


@pytest.mark.parametrize(
    "start", [{"column": "admitted"}, {"column": "person.x.y"}, {"codes": ["A"]}]
)
def test_a_start_that_omop_cannot_read_is_refused(tmp_path: Path, start: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        imported("omop", omop(tmp_path / "omop"), tmp_path, with_source(start))
    assert refused.value.code in (Code.MAPPING_UNUSABLE, Code.COLUMN_MISSING)


def test_drugs_and_procedures_become_codes_in_the_slots_in_which_they_were_given(
    tmp_path: Path,
) -> None:
    tables, hour = omop_tables(), timedelta(hours=1)
    given = {  # person, concept, hours since the start of the visit
        "drug": [(1, 111, 1.5), (1, 222, 1.6), (1, 999, 1.7), (2, 222, 0.2), (1, 111, -5)],
        "procedure": [(2, 333, 0.1), (1, 444, 1.2)],
    }
    names = {
        "drug": ("drug_exposure", "drug_exposure_start"),
        "procedure": ("procedure_occurrence", "procedure"),
    }
    for prefix, rows in given.items():
        table, stem = names[prefix]
        when = [START[who] + after * hour for who, _, after in rows]
        tables[table] = pa.table(
            {
                "person_id": [hashed(who) for who, _, _ in rows],
                f"{prefix}_concept_id": [concept for _, concept, _ in rows],
                f"{stem}_datetime": pa.array(when, pa.timestamp("us")),
                f"{stem}_date": pa.array([at.date() for at in when], pa.date32()),
            }
        )
    codes = [
        {"name": "drugs", "levels": ["111", "222"], "cap": 2}
        | {"source": {"concepts": [111, 222], "table": "drug_exposure"}},
        {"name": "procedures", "levels": ["333", "444"], "cap": 1}
        | {"source": {"concepts": [333, 444], "table": "procedure_occurrence"}},
    ]
    folder = imported("omop", omop(tmp_path / "omop", tables), tmp_path, SCHEMA | {"codes": codes})
    schema, cohort = read_cohort(folder)
    patient, slot, code = given_codes(cohort.codes)
    found = [
        (int(p) + 1, int(s), schema.code_names[c])
        for p, s, c in zip(patient, slot, code, strict=True)
    ]
    assert found == [(1, 0, "111"), (1, 0, "222"), (1, 0, "444"), (2, 0, "222"), (2, 0, "333")]
