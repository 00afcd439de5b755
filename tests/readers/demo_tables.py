"""The OMOP demo's tables in the model's types: its dates and stamps are stored as text."""

from pathlib import Path

import duckdb
import pyarrow as pa

TABLES = {  # what the example schema needs
    "person": "person_id, gender_concept_id, year_of_birth,"
    " month_of_birth::BIGINT AS month_of_birth, day_of_birth::BIGINT AS day_of_birth",
    "visit_occurrence": "visit_occurrence_id, person_id, visit_concept_id,"
    " visit_start_date::DATE AS visit_start_date,"
    " visit_start_datetime::TIMESTAMP AS visit_start_datetime,"
    " visit_end_date::DATE AS visit_end_date, visit_end_datetime::TIMESTAMP AS visit_end_datetime",
    "death": "person_id, death_date::DATE AS death_date,"
    " death_datetime::TIMESTAMP AS death_datetime",
    "measurement": "person_id, measurement_concept_id, measurement_source_concept_id,"
    " measurement_source_value, measurement_date, measurement_datetime, value_as_number,"
    " value_as_concept_id, unit_concept_id, unit_source_value",
}


def demo_tables(folder: Path) -> dict[str, pa.Table]:
    with duckdb.connect() as connection:
        return {
            name: connection.sql(
                f"SELECT {columns} FROM '{folder / name}.parquet'"
            ).to_arrow_table()
            for name, columns in TABLES.items()
        }
