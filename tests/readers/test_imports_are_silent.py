"""What an import prints and tells depends on public facts alone, whatever the patients hold."""

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from longsynth.commands import __main__ as cli
from longsynth.reading.importing import import_cohort
from readers.small_sources import (
    SCHEMA,
    START,
    hashed,
    imported,
    meds,
    omop,
    omop_tables,
    rows_of,
)

DAY = timedelta(days=1)


def other_meds(folder: Path) -> Path:
    """Three other people: more rows, wild values and codes, no stay, events of nobody."""
    wild: list[Any] = [
        (1, START[1], "HR", value) for value in (float("nan"), float("inf"), -3e38, None)
    ]
    wild += [(2, START[2] + i * DAY, f"CODE {i}", 1.0) for i in range(300)]
    wild += [(2, START[2], "TEMP//stones", 3.0), (99, START[2], "HR", 70.0)]
    wild += [(2, datetime(1, 1, 1), "ADMIT//elsewhere", None), (1, START[1], None, 3.0)]
    wild += [(1, START[1], "MEDS_BIRTH", None), (2, datetime(9999, 12, 31), "MEDS_DEATH", None)]
    return meds(folder, wild)


def other_omop(folder: Path) -> Path:
    tables = omop_tables()
    rows = pa.concat_tables([tables["measurement"]] * 50)
    values = [(float("nan"), float("inf"), 1e300, None)[i % 4] for i in range(len(rows))]
    rows = rows.set_column(5, "value_as_number", pa.array(values, pa.float64()))
    units = pa.array(["stones"] * len(rows))
    tables["measurement"] = rows.set_column(8, "unit_source_value", units)
    tables["visit_occurrence"] = tables["visit_occurrence"].slice(0, 1)
    tables["death"] = pa.concat_tables([tables["death"]] * 3)
    wild = pa.array([2**63 - 1, -(2**63), None], pa.int64())
    for name in ("year_of_birth", "month_of_birth", "gender_concept_id"):
        place = tables["person"].schema.get_field_index(name)
        tables["person"] = tables["person"].set_column(place, name, wild)
    return omop(folder, tables)


PAIRS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Path], dict[str, Any]]] = {
    "meds": (meds, other_meds, SCHEMA),
    "omop": (omop, other_omop, SCHEMA),
}


@pytest.mark.parametrize("form", PAIRS)
def test_the_terminal_shows_the_same_for_any_patients(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    form: str,
) -> None:
    shown = []
    for number, source in enumerate(PAIRS[form][:2]):
        here = tmp_path / str(number)
        here.mkdir()
        source(here / "in")
        (here / "s.yaml").write_text(yaml.safe_dump(PAIRS[form][2], allow_unicode=True))
        monkeypatch.chdir(here)
        arguments = ["import", form, "in", "--schema", "s.yaml", "--out", "cohort"]
        monkeypatch.setattr(sys, "argv", ["longsynth", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        shown.append((ended.value.code, *capsys.readouterr()))
    assert shown[0] == shown[1]
    assert shown[0][0] in (0, None)
    assert "Wrote 3 patients" in shown[0][1]


@pytest.mark.parametrize("form", PAIRS)
def test_a_progress_bar_is_told_the_same_steps_for_any_patients(tmp_path: Path, form: str) -> None:
    told: list[list[str]] = []
    for number, source in enumerate(PAIRS[form][:2]):
        here = tmp_path / str(number)
        here.mkdir()
        (here / "s.yaml").write_text(yaml.safe_dump(PAIRS[form][2], allow_unicode=True))
        told.append([])
        import_cohort(
            form, str(source(here / "in")), here / "s.yaml", here / "out", told[-1].append
        )
    assert told[0] == told[1]
    assert len(told[0]) > 4


def test_ids_beyond_the_floats_are_not_compared_as_numbers(tmp_path: Path) -> None:
    """A hash that is the same float as a mapped one has no level all the same."""
    tables = omop_tables()
    visits = tables["visit_occurrence"]
    place = visits.schema.get_field_index("care_site_id")
    ids = pa.array([hashed(i) for i in visits[place].to_pylist()])
    tables["visit_occurrence"] = visits.set_column(place, "care_site_id", ids)
    source = {"column": "visit_occurrence.care_site_id", "values": {str(hashed(1)): "A"}}
    schema = SCHEMA | {"site": {"levels": ["A", "B"], "source": source}}
    folder = imported("omop", omop(tmp_path / "in", tables), tmp_path, schema)
    assert [row[3] for row in rows_of(folder, "patients")] == ["A", None, None]
