"""A recipe in reverse: a synthetic export is read by the recipe that reads the real one."""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest
from numpy.random import default_rng

from longsynth import fit, model_of, plan
from longsynth.bundle import Bundle
from longsynth.reading.cohort_folder import CohortFolder, read_cohort
from longsynth.reading.first_recipe import first_recipe
from longsynth.reading.importing import import_cohort
from longsynth.release.synthetic_folder import Recipe, check_synthetic, write_synthetic
from longsynth.sample import sample
from longsynth.schema.recipe import parse_recipe
from longsynth.writing.export import export_writer
from readers.test_table import EXPORTS, _maker, imported, settled
from refusals import refused
from support import NoNoise

PATIENTS = 70
START = "2023-03-01"
# Half a step of each variable's resolution, in the record's unit, where the export has another.
ROUNDING = {"glucose": 0.51, "temperature": 0.051, "body_weight": 0.051}


@dataclass(frozen=True)
class Fitted:
    """An export, imported and fitted."""

    name: str
    bundle: Bundle
    recipe: str

    def written(self, folder: Path, recipe: str = "") -> Path:
        settings = {"recipe": recipe or self.recipe, "start_date": START}
        folder.mkdir()
        sampling = Recipe(self.bundle.fingerprint, PATIENTS, 5, form="export", settings=settings)
        write_synthetic(folder, model_of(self.bundle), sampling)
        return folder

    def verified(self, folder: Path) -> bool:
        return all(f.good for f in check_synthetic(self.bundle, model_of(self.bundle), folder))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Fitted]:
    @cache
    def made(name: str) -> Fitted:
        folder = tmp_path_factory.mktemp(name)
        getattr(_maker(), name)(folder, default_rng(8), 60)
        cohort = imported(folder, EXPORTS[name])
        with CohortFolder(cohort) as patients:
            budget = {"epsilon": 40, "delta": 1e-4, "method": "dp-score"}
            planned = plan(patients.schema, patients.patients, **budget)
            bundle = fit(patients, planned, noise=NoNoise())  # the same patients every time
        return Fitted(name, bundle, (cohort / "recipe.yaml").read_text(encoding="utf-8"))

    return made


@pytest.mark.parametrize("name", EXPORTS)
def test_a_synthetic_export_is_imported_as_the_patients_that_were_generated(
    fitted: Callable[[str], Fitted], tmp_path: Path, name: str
) -> None:
    release = fitted(name)
    out = release.written(tmp_path / "out")
    files = [out / file for file in EXPORTS[name]]
    (tmp_path / "recipe.yaml").write_text(release.recipe, encoding="utf-8")
    assert (
        import_cohort("table", files, tmp_path / "recipe.yaml", tmp_path / "back").patients
        == PATIENTS
    )
    schema, back = read_cohort(tmp_path / "back")
    drawn = sample(model_of(release.bundle), PATIENTS, seed=5)
    assert (back.group == drawn.group).all() and (back.event == drawn.event).all()

    static = np.array(schema.layout.static)
    names = [v.name for v in schema.variables]
    age = names.index("age")
    used = np.arange(schema.slots) < drawn.length[:, None]
    visited = drawn.length > 0
    if name == "laboratory":  # a long table has no row, so no age, without any value
        visited = (used[:, :, None] & drawn.observed & ~static).any(axis=(1, 2))
    assert visited.mean() > 0.5
    assert (back.observed[:, 0, age] == drawn.observed[:, 0, age])[visited].all()
    seen = drawn.observed[:, 0, age] & visited
    assert (back.values[seen, 0, age] == np.floor(drawn.values[seen, 0, age])).all()

    empty = used & ~(drawn.observed & ~static).any(axis=2)
    whole = drawn.length > 0
    if name == "laboratory":  # a long table has no row for a slot without values
        whole &= ~empty.any(axis=1)
    assert whole.mean() > 0.5
    assert (back.length == drawn.length)[whole].all()
    written = drawn.observed.copy()
    if "systolic_bp" in names:  # 121/71 is in one cell: it is there, or it is not
        both = [names.index("systolic_bp"), names.index("diastolic_bp")]
        written[:, :, both[1]] = written[:, :, both[0]]
    over_time = used[:, :, None] & written & ~static & whole[:, None, None]
    assert (back.observed == written)[(used & whole[:, None])][:, ~static].all()
    for v, variable in enumerate(names):
        cells = over_time[:, :, v]
        if not static[v]:
            off = np.abs(back.values - drawn.values)[:, :, v][cells]
            assert cells.any() and off.max() <= ROUNDING.get(variable, 1e-6), variable
    hours = [np.cumsum(c.gaps, axis=1)[used & whole[:, None]] for c in (back, drawn)]
    step = 24 if name == "follow_up" else 1 / 60
    assert np.median(np.abs(hours[0] - hours[1])) <= step
    assert (back.gaps[:, 0] == 0).all() and (drawn.gaps[:, 0] == 0).all()


@pytest.mark.parametrize("name", EXPORTS)
def test_a_synthetic_export_looks_like_the_real_one(
    fitted: Callable[[str], Fitted], tmp_path: Path, name: str
) -> None:
    maker, real = _maker(), tmp_path / "real"
    real.mkdir()
    getattr(maker, name)(real, default_rng(8), 60)
    out = fitted(name).written(tmp_path / "out")
    encoding = {"laboratory": "cp1252"}.get(name, "utf-8-sig")
    above = 2 if name == "laboratory" else 0
    for file in EXPORTS[name]:
        lines = [(d / file).read_text(encoding=encoding).splitlines() for d in (real, out)]
        skip = above if file == EXPORTS[name][0] else 0
        marks = [(d / file).read_bytes().startswith(b"\xef\xbb\xbf") for d in (real, out)]
        assert marks[0] == marks[1], "the byte-order mark"
        assert lines[0][skip] == lines[1][skip], "the header"
        separator = {"ward": ";", "laboratory": "\t", "follow_up": ",", "clinic": "|"}[name]
        rows = [list(csv.reader(text[skip + 1 :], delimiter=separator)) for text in lines]
        for column, header in enumerate(next(csv.reader([lines[0][skip]], delimiter=separator))):
            shapes = [{re.sub(r"\d+", "9", row[column]) for row in table} for table in rows]
            if header in ("Room", "Médecin"):
                assert shapes[1] == {""}
            elif header in ("MRN", "PatNr", "IPP"):
                assert shapes[1] == {"S9"}
            elif header == "Einheit":  # the record's units
                assert shapes[1] == {"mg/L", "mg/dL", "°C"}
            else:  # a cell may be empty
                assert {s for s in shapes[1] if s.strip("9")} <= shapes[0] | {"9,9"}, header


def test_dates_of_birth_and_visits_are_on_the_calendar_of_the_start_date(
    fitted: Callable[[str], Fitted], tmp_path: Path
) -> None:
    text = (fitted("ward").written(tmp_path / "out") / "ward.csv").read_text("utf-8-sig")
    firsts: dict[str, datetime] = {}
    for row in csv.DictReader(text.splitlines(), delimiter=";"):
        at = datetime.strptime(row["Visit date"], "%d/%m/%Y %H:%M")
        firsts.setdefault(row["MRN"], at)
        assert at >= datetime(2023, 3, 1)
        if row["DOB"]:  # an age may be missing
            assert datetime.strptime(row["DOB"], "%d/%m/%Y") < datetime(2023, 3, 1)
    assert len(firsts) == PATIENTS
    assert set(firsts.values()) == {datetime(2023, 3, 1)}


@pytest.mark.parametrize("name", EXPORTS)
def test_verify_generates_an_export_again_and_finds_a_change(
    fitted: Callable[[str], Fitted], tmp_path: Path, name: str
) -> None:
    release = fitted(name)
    out = release.written(tmp_path / "out")
    assert release.verified(out)
    file = out / EXPORTS[name][0]
    file.write_bytes(re.sub(rb"S0(?=\d)", b"S1", file.read_bytes(), count=1))
    assert not release.verified(out)


@pytest.mark.parametrize("form", ["parquet", "excel"])
def test_an_export_can_be_in_files_that_have_types(
    fitted: Callable[[str], Fitted], tmp_path: Path, form: str
) -> None:
    release = fitted("clinic")
    file = {"parquet": "clinic.parquet", "excel": "clinic.xlsx"}[form]
    changed = release.recipe.replace("clinic.csv", file).replace("form: csv", f"form: {form}")
    out = release.written(tmp_path / "out", changed)
    assert release.verified(out)
    if form == "parquet":
        weight = pq.read_table(out / file)["Weight (lb)"].to_pylist()
    else:
        sheet = openpyxl.load_workbook(out / file).active
        weight = [row[5] for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert {type(x) for x in weight if x is not None} <= {float, int}
    (tmp_path / "recipe.yaml").write_text(changed, encoding="utf-8")
    assert (
        import_cohort("table", [out / file], tmp_path / "recipe.yaml", tmp_path / "b").patients
        == PATIENTS
    )


def test_a_recipe_of_another_record_or_without_its_dates_is_refused(
    fitted: Callable[[str], Fitted], tmp_path: Path
) -> None:
    recipe = fitted("ward").recipe
    with refused("start-date-missing"):
        export_writer(recipe)
    with refused("start-date-missing"):
        export_writer(recipe, "1/2/2024")
    other = recipe.replace("[male, female]", "[female, male]")
    assert other != recipe
    with refused("recipe-mismatch"):
        fitted("ward").written(tmp_path / "out", other)


@pytest.mark.parametrize(
    "files", ["../ward.csv", "/tmp/ward.csv", "schema.yaml", ".ward", "*/x.csv", "[!a].csv"]
)
def test_a_recipe_never_chooses_a_place_outside_the_folder(tmp_path: Path, files: str) -> None:
    path = tmp_path / "ward.csv"
    path.write_text("MRN;Date;Sex;Died;Pulse\na;13/04/2024;M;0;70\nb;14/04/2024;F;1;80\n")
    recipe = settled(first_recipe([path])).replace("files: ward.csv", f"files: {json.dumps(files)}")
    parse_recipe(recipe, "recipe.yaml")
    with refused("recipe-invalid"):
        export_writer(recipe, START)


def test_patterns_of_files_lead_to_one_name(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    path.write_text("MRN;Date;Sex;Died;Pulse\na;13/04/2024;M;0;70\nb;14/04/2024;F;1;80\n")
    recipe = settled(first_recipe([path])).replace("files: ward.csv", 'files: "wa?d-*.csv"')
    assert "wa0d-synthetic.csv" in export_writer(recipe, START).files(1)


def test_two_tables_of_an_export_can_be_sheets_of_one_workbook(
    fitted: Callable[[str], Fitted], tmp_path: Path
) -> None:
    release = fitted("laboratory")
    recipe = release.recipe
    for file in EXPORTS["laboratory"]:
        sheet = Path(file).stem
        recipe = recipe.replace(f"files: {file}", f"files: all.xlsx\n    sheet: {sheet}")
    recipe = recipe.replace("form: csv", "form: excel")
    out = release.written(tmp_path / "out", recipe)
    assert openpyxl.load_workbook(out / "all.xlsx").sheetnames == ["labor", "patienten"]
    assert release.verified(out)
    (tmp_path / "recipe.yaml").write_text(recipe, encoding="utf-8")
    back = import_cohort("table", [out / "all.xlsx"], tmp_path / "recipe.yaml", tmp_path / "back")
    assert back.patients == PATIENTS
    schema, cohort = read_cohort(tmp_path / "back")
    drawn = sample(model_of(release.bundle), PATIENTS, seed=5)
    over_time = ~np.array(schema.layout.static)
    used = np.arange(schema.slots) < drawn.length[:, None]
    expected = (drawn.observed & used[:, :, None])[:, :, over_time]
    assert cohort.observed[:, :, over_time].sum() == expected.sum() > 0
