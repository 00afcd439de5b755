"""Raw exports: four conventions, one way in."""

import re
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from numpy.random import default_rng

from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.first_recipe import first_recipe
from longsynth.reading.importing import import_cohort
from longsynth.schema.recipe import parse_recipe
from longsynth.schema.units import conversion
from longsynth.system.errors import CohortError, SchemaError
from refusals import refused

ROOT = Path(__file__).parents[2]
EXPORTS = {
    "ward": ["ward.csv"],
    "laboratory": ["labor.txt", "patienten.txt"],
    "follow_up": ["suivi.csv"],
    "clinic": ["clinic.csv"],
}
ROUNDING = {"glucose": 0.2, "temperature": 0.06, "body_weight": 0.01}  # of the exports


def _maker() -> ModuleType:
    spec = spec_from_file_location("make_exports", ROOT / "examples/exports/make_exports.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    sys.modules["make_exports"] = module
    spec.loader.exec_module(module)
    return module


def settled(text: str) -> str:
    """A recipe whose marks a person has removed."""
    return re.sub(r" +# (?:CHECK|FILL IN).*", "", text)


def test_fewer_digits_than_the_catalogue_expects_are_for_a_person_to_confirm(
    tmp_path: Path,
) -> None:
    """The schema is released, and digits that were read from cells are not public."""
    rows = [f"p{n};0{n}.02.2024;1{n},5;7{n},{n}" for n in range(1, 10)]
    usual, whole = tmp_path / "usual.csv", tmp_path / "whole.csv"
    usual.write_text("\n".join(["PatID;Datum;CRP;Gewicht (kg)", *rows]))
    whole.write_text(usual.read_text().replace(",5;", ";"))
    marked = {
        path: [line for line in first_recipe([path]).splitlines() if "recorded in steps" in line]
        for path in (usual, whole)
    }
    assert not marked[usual]
    (line,) = marked[whole]
    assert "c_reactive_protein" in line and "resolution: 1.0" in line and "# CHECK" in line
    in_pounds = usual.read_text().replace("(kg)", "(lb)").replace(",5;", ";")
    whole.write_text(in_pounds.replace("CRP", "Puls"))
    assert "recorded in steps" not in first_recipe([whole])


def imported(folder: Path, names: list[str], change: Callable[[str], str] = settled) -> Path:
    files, recipe = [folder / name for name in names], folder / "recipe.yaml"
    recipe.write_text(change(first_recipe(files)), encoding="utf-8")
    import_cohort("table", files, recipe, folder / "cohort")
    return folder / "cohort"


@pytest.mark.parametrize("export", EXPORTS)
def test_an_export_in_any_convention_gives_the_patients_that_were_exported(
    export: str, tmp_path: Path
) -> None:
    truth = getattr(_maker(), export)(tmp_path, default_rng(3), 40)
    cohort = imported(tmp_path, EXPORTS[export])
    people = pq.read_table(cohort / "patients.parquet").to_pylist()
    rows = pq.read_table(cohort / "observations.parquet").to_pylist()
    assert {row["patient_id"].lstrip("PFC") for row in people} == {p.id for p in truth}
    by_id = {row["patient_id"].lstrip("PFC"): row for row in people}
    for patient in truth:
        row = by_id[patient.id]
        assert row["group"] == patient.sex
        assert row["event"] == ("yes" if patient.died else "no")
        first = patient.visits[0].time
        age = (first.date() - patient.born).days / 365.2425
        assert row["age"] == pytest.approx(np.floor(age), abs=1)
        for visit in patient.visits:
            hours = (visit.time - first).total_seconds() / 3600
            mine = [
                r
                for r in rows
                if r["patient_id"].lstrip("PFC") == patient.id and abs(r["time"] - hours) < 0.02
            ]
            for name, expected in visit.values.items():
                known = [r[name] for r in mine if r[name] is not None]
                if name == "c_reactive_protein" and expected < 5 and export == "ward":
                    expected = 5
                assert known == [pytest.approx(expected, abs=ROUNDING.get(name, 1e-6))], name
    assert sum(v is not None for r in rows for k, v in r.items() if k not in ("patient_id", "time"))


def test_a_first_recipe_depends_on_the_form_of_cells_and_not_on_their_values(
    tmp_path: Path,
) -> None:
    maker, recipes = _maker(), []
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        maker.ward(folder, default_rng(seed), 60)
        recipes.append(first_recipe([folder / "ward.csv"]))
    assert recipes[0] == recipes[1]


def _export(folder: Path, *lines: str) -> Path:
    path = folder / "export.csv"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def test_day_and_month_that_cannot_be_told_apart_are_left_to_a_person(tmp_path: Path) -> None:
    path = _export(
        tmp_path, "MRN;Date;Sex;Died;Pulse", "a;03/04/2024;M;0;70", "b;05/06/2024;F;1;80"
    )
    text = first_recipe([path])
    line = next(line for line in text.splitlines() if "# FILL IN" in line)
    assert "%d/%m/%Y" in line and "%m/%d/%Y" in line
    with refused("marks-open", SchemaError):
        import_cohort("table", [path], None, tmp_path / "cohort")
    assert not (tmp_path / "cohort").exists()


def test_numbers_in_unknown_units_are_counted_and_not_guessed(tmp_path: Path) -> None:
    path = _export(
        tmp_path,
        "MRN;Date;Sex;Died;Pulse;Glucose;Glucose unit",
        "a;13/04/2024;M;0;70;100;mg/dL",
        "b;14/04/2024;F;1;80;5,5;mmol/L",
    )
    text = settled(first_recipe([path]))
    path.write_text(path.read_text().replace("mmol/L", "spoons"), encoding="utf-8")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(text, encoding="utf-8")
    notes = import_cohort("table", [path], recipe, tmp_path / "cohort").notes
    assert any("glucose 1" in note for note in notes)
    assert not any("spoons" in note for note in notes)


def test_a_cell_that_does_not_split_is_counted_and_not_taken_for_every_part(
    tmp_path: Path,
) -> None:
    good = [f"{i};13/04/2024;M;0;12{i}/8{i}" for i in range(10)]
    path = _export(tmp_path, "MRN;Date;Sex;Died;BP", *good)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(settled(first_recipe([path])), encoding="utf-8")
    for cell in ("121", "121/71/5", "121/x"):
        path = _export(tmp_path, "MRN;Date;Sex;Died;BP", *good, f"odd;14/04/2024;F;1;{cell}")
        folder = tmp_path / cell.replace("/", "-")
        notes = import_cohort("table", [path], recipe, folder).notes
        assert any("diastolic_bp 1" in note for note in notes), cell
        rows = pq.read_table(folder / "observations.parquet").to_pylist()
        (odd,) = [row for row in rows if row["patient_id"] == "odd"]
        assert odd["diastolic_bp"] is None, cell


def test_an_empty_part_of_a_split_cell_is_missing_and_not_counted(tmp_path: Path) -> None:
    good = [f"{i};13/04/2024;M;0;12{i}/8{i}" for i in range(10)]
    path = _export(tmp_path, "MRN;Date;Sex;Died;BP", *good)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(settled(first_recipe([path])), encoding="utf-8")
    for number, cell in enumerate(("/70", " - / 70", "n.d./70")):
        path = _export(tmp_path, "MRN;Date;Sex;Died;BP", *good, f"odd;14/04/2024;F;1;{cell}")
        folder = tmp_path / f"cohort{number}"
        notes = import_cohort("table", [path], recipe, folder).notes
        assert not any("_bp" in note for note in notes), cell
        rows = pq.read_table(folder / "observations.parquet").to_pylist()
        (odd,) = (row for row in rows if row["patient_id"] == "odd")
        assert (odd["systolic_bp"], odd["diastolic_bp"]) == (None, 70.0), cell


def test_the_export_that_the_pages_use_is_what_its_script_writes(tmp_path: Path) -> None:
    _maker().ward(tmp_path, default_rng(2024))
    shipped = ROOT / "examples/exports/ward.csv"
    assert shipped.read_bytes() == (tmp_path / "ward.csv").read_bytes()


def test_no_message_of_an_import_repeats_a_cell(tmp_path: Path) -> None:
    path = _export(
        tmp_path,
        "MRN;Date;Sex;Died;Pulse",
        "SENTINEL1;13/04/2024;M;0;70",
        ";14/04/2024;F;1;SENTINEL2",
    )
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(settled(first_recipe([path])), encoding="utf-8")
    with refused("patient-ids", CohortError) as caught:
        import_cohort("table", [path], recipe, tmp_path / "cohort")
    assert "SENTINEL" not in str(caught.value)
    assert "SENTINEL" not in recipe.read_text(encoding="utf-8")


def test_rows_that_occur_twice_are_dropped_or_kept_as_the_recipe_says(tmp_path: Path) -> None:
    path = _export(tmp_path, "MRN;Date;Sex;Died;Pulse", *["a;13/04/2024;M;0;70"] * 2)
    for choice, rows in (("drop", 1), ("keep", 2)):
        folder = tmp_path / choice
        text = settled(first_recipe([path])).replace("duplicates: drop", f"duplicates: {choice}")
        recipe = tmp_path / f"{choice}.yaml"
        recipe.write_text(text, encoding="utf-8")
        import_cohort("table", [path], recipe, folder)
        assert pq.read_metadata(folder / "observations.parquet").num_rows == rows


def test_parquet_and_excel_give_what_csv_gives(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    _maker().clinic(tmp_path, default_rng(5), 20)
    table = pc.read_csv(
        tmp_path / "clinic.csv",
        parse_options=pc.ParseOptions(delimiter="|"),
        convert_options=pc.ConvertOptions(column_types={"DOB": "string", "Visit Date": "string"}),
    )
    pq.write_table(table, tmp_path / "clinic.parquet")
    book = openpyxl.Workbook()
    book.active.append(table.column_names)
    for row in table.to_pylist():
        book.active.append(list(row.values()))
    book.save(tmp_path / "clinic.xlsx")
    expected = None
    for name in ("clinic.csv", "clinic.parquet", "clinic.xlsx"):
        folder = tmp_path / name.replace(".", "-")
        recipe = tmp_path / f"{name}.yaml"
        recipe.write_text(settled(first_recipe([tmp_path / name])), encoding="utf-8")
        import_cohort("table", [tmp_path / name], recipe, folder)
        rows = pq.read_table(folder / "observations.parquet").to_pylist()
        assert rows and (expected is None or rows == expected)
        expected = rows


@pytest.mark.parametrize(
    ("given", "wanted", "variable", "number", "expected"),
    [
        ("°F", "°C", "temperature", 212.0, 100.0),
        ("[degF]", "°C", "temperature", 32.0, 0.0),
        ("mmol/L", "mg/dL", "glucose", 5.0, 90.078),
        ("µmol/L", "mg/dL", "creatinine", 88.4, 1.0),
        ("lb", "kg", "body_weight", 100.0, 45.359237),
        ("/min", "bpm", "heart_rate", 70.0, 70.0),
        ("mm[Hg]", "mmHg", "systolic_bp", 120.0, 120.0),
        ("g/L", "g/dL", "albumin", 40.0, 4.0),
        ("G/L", "10^9/L", "platelets", 250.0, 250.0),
        ("10*3/uL", "10^9/L", "white_cells", 7.0, 7.0),
    ],
)
def test_units_are_converted(
    given: str, wanted: str, variable: str, number: float, expected: float
) -> None:
    factor = conversion(given, wanted, variable)
    assert factor is not None
    assert factor[0] * number + factor[1] == pytest.approx(expected, rel=1e-3)


def test_amounts_become_masses_only_where_the_molar_mass_is_known() -> None:
    assert conversion("mmol/L", "mg/dL", "something") is None
    assert conversion("kg", "cm", "height") is None


def test_a_recipe_that_fills_no_variable_or_names_a_strange_one_is_refused(tmp_path: Path) -> None:
    path = _export(tmp_path, "MRN;Date;Sex;Died;Pulse", "a;13/04/2024;M;0;70")
    text = settled(first_recipe([path]))
    for wrong in (
        text.replace("variable: heart_rate", "variable: hart_rate"),
        text.replace("use: id", "use: ignore"),
        text.replace("{use: time, ", "{use: time, time_unit: hours, "),
    ):
        assert wrong != text
        with pytest.raises(SchemaError):
            parse_recipe(wrong, "recipe.yaml")


def test_records_start_at_zero_unless_the_export_has_their_start(tmp_path: Path) -> None:
    path = _export(
        tmp_path,
        "MRN;Date;Admitted;Sex;Died;Pulse",
        "a;13/04/2024 10:00;13/04/2024 08:00;M;0;70",
        "a;13/04/2024 12:00;13/04/2024 08:00;M;0;72",
    )
    text = settled(first_recipe([path]))
    with_start = text.replace(
        "Admitted: {use: ignore}", "Admitted: {use: start, format: '%d/%m/%Y %H:%M'}"
    )
    assert with_start != text
    for name, recipe, first, hours in (("a", text, "zero", 0), ("b", with_start, "any", 2)):
        (tmp_path / f"{name}.yaml").write_text(recipe, encoding="utf-8")
        import_cohort("table", [path], tmp_path / f"{name}.yaml", tmp_path / name)
        schema, cohort = read_cohort(tmp_path / name)
        assert schema.time.first == first
        assert cohort.gaps[0, 0] == pytest.approx(hours)
