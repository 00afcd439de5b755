"""docs/import.md: its examples run, its keys are those of the format, its numbers are right."""

import os
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from longsynth.reading.cohort_folder import CohortFolder
from longsynth.reading.importing import import_cohort
from longsynth.schema.mapping import Dataset, Source
from readers.small_sources import rows_of

PAGE = (Path(__file__).parents[2] / "docs" / "import.md").read_text("utf-8")
COHORTS = os.environ.get("LONGSYNTH_COHORTS")


def block(title: str) -> str:
    (found,) = re.findall(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE, re.DOTALL)
    return str(found)


def test_the_example_of_tidy_tables_gives_the_rows_that_the_page_tells(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("patients.csv", "events.csv"):
        (tmp_path / "in" / name).write_text(block(f"tidy/{name}"), encoding="utf-8")
    (tmp_path / "s.yaml").write_text(block("events.yaml"), encoding="utf-8")
    import_cohort("events", str(tmp_path / "in"), tmp_path / "s.yaml", tmp_path / "out")
    rows = rows_of(tmp_path / "out")
    assert [row[:3] for row in rows] == [
        ("1", 1.0, 80.0),
        ("1", 1.0, None),
        ("2", 0.0, 90.0),
        ("2", 0.5, None),
    ]
    assert [row[3] for row in rows] == [None, pytest.approx(37.5), None, 38.0]
    assert len(rows_of(tmp_path / "out", "patients")) == 3


@pytest.mark.skipif(COHORTS is None, reason="set LONGSYNTH_COHORTS to the folder of open cohorts")
@pytest.mark.parametrize("form", ["meds", "omop"])
def test_the_examples_of_meds_and_omop_import_a_real_cohort(tmp_path: Path, form: str) -> None:
    (tmp_path / "s.yaml").write_text(block(f"{form}.yaml"), encoding="utf-8")
    source = Path(COHORTS or "") / f"mimic4_demo_{form}"
    found = import_cohort(form, str(source), tmp_path / "s.yaml", tmp_path / "out")  # type: ignore[arg-type]
    assert found.patients == 100
    with CohortFolder(tmp_path / "out") as cohort:
        (batch,) = cohort.batches()
    assert (batch.length > 3).mean() > 0.5, "the others had no monitor in their first stay"
    rows = pq.read_table(tmp_path / "out/observations.parquet")
    degrees = rows["temperature"].drop_null().to_numpy()
    assert len(degrees) > 1000
    assert (abs(degrees - 37) < 5).mean() > 0.99, "°F was converted"


def test_every_key_of_a_mapping_is_explained() -> None:
    explained = set(re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGE, re.MULTILINE))
    keys = {key for cell in explained for key in re.findall(r"`(\w+)`", cell)}
    assert keys - {"source"} == set(Source.model_fields) | set(Dataset.model_fields)
