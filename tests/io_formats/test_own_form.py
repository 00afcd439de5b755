"""Synthetic patients in the user's own columns, levels and decimals, as files that people open."""

import csv
import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest

import longsynth
from longsynth import CohortFolder, Schema, fit, model_of, plan, read_cohort, sample
from longsynth.audit.inputs import read_synthetic
from longsynth.commands import __main__ as cli
from longsynth.release.synthetic_folder import (
    Recipe,
    check_synthetic,
    read_recipe,
    write_synthetic,
)
from longsynth.schema.variable import Variable
from longsynth.writing import files as sheets
from longsynth.writing.files import excel_rows
from refusals import refused
from support import random_cohort

FORMS = ("csv", "parquet", "excel")
PATIENTS = 40


def own_schema() -> Schema:
    """A hospital's own columns and levels. One column takes the name that weights would have."""
    number = {"kind": "continuous", "bounds_from": "a book"}
    return Schema.model_validate(
        {
            "longsynth": 1,
            "name": "own",
            "slots": 4,
            "max_gap": 48,
            "patient": {"column": "MRN"},
            "time": {"column": "day", "unit": "days", "first": "zero"},
            "group": {"column": "sex", "levels": ["M", "F"]},
            "event": {"column": "died", "levels": ["alive", "=dead"]},
            "variables": [
                number | {"name": "pulse", "bounds": [20, 300], "resolution": 1},
                number | {"name": "heat", "column": "Temp (°C)", "bounds": [25, 45]}
                | {"centre": 37, "scale": 0.5},
                {"name": "oxygen", "kind": "binary", "levels": ["room air", "oxygen, mask"]},
                number | {"name": "mass", "column": "weight", "bounds": [20, 350]}
                | {"static": True, "resolution": 0.1},
            ],
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def bundle() -> longsynth.Bundle:
    schema, n, rng = own_schema(), 80, np.random.default_rng(3)
    values = np.stack(
        [
            rng.normal(80, 10, (n, 4)),
            rng.normal(37, 0.5, (n, 4)),
            rng.integers(0, 2, (n, 4)).astype(float),
            np.repeat(rng.normal(70, 9, (n, 1)), 4, axis=1),
        ],
        axis=2,
    )
    cohort = random_cohort(n, seed=3)
    cohort = type(cohort)(
        values=values,
        observed=rng.random(values.shape) < 0.8,
        gaps=rng.exponential(9, (n, 4)) * (np.arange(4) > 0),
        length=rng.integers(1, 5, n),
        group=rng.integers(0, 2, n),
        event=rng.integers(0, 2, n),
        site=np.zeros(n, np.int64),
    )
    return fit(cohort, plan(schema, n, epsilon=40, delta=1e-4, method="dp-score"))


def written(bundle: longsynth.Bundle, form: str, folder: Path) -> Path:
    folder.mkdir()
    recipe = Recipe(bundle.fingerprint, PATIENTS, 4, form=form)
    write_synthetic(folder, model_of(bundle), recipe)
    return folder


def tables(folder: Path, form: str) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """The rows of patients and observations, with numbers as numbers."""
    names = ("patients", "observations")
    if form == "parquet":
        both = [pq.read_table(folder / f"{name}.parquet").to_pylist() for name in names]
    elif form == "csv":
        texts = [(folder / f"{name}.csv").read_text("utf-8").splitlines() for name in names]
        both = [
            [{k: _number(v) for k, v in row.items()} for row in csv.DictReader(t)] for t in texts
        ]
    else:
        book = openpyxl.load_workbook(folder / "patients.xlsx")
        both = []
        for name in names:
            head, *rows = book[name].iter_rows(values_only=True)
            both.append([dict(zip(head, row, strict=True)) for row in rows])
    return both[0], both[1]


def _number(text: str) -> object:
    try:
        return float(text) if text else None
    except ValueError:
        return text


@pytest.mark.parametrize("form", FORMS)
def test_the_files_have_the_users_columns_levels_and_decimals(
    bundle: longsynth.Bundle, tmp_path: Path, form: str
) -> None:
    people, rows = tables(written(bundle, form, tmp_path / "out"), form)
    drawn = sample(model_of(bundle), PATIENTS, seed=4)
    assert list(people[0]) == ["MRN", "sex", "died", "weight", "sampling_weight"]
    assert list(rows[0]) == ["MRN", "day", "pulse", "Temp (°C)", "oxygen"]
    assert [row["sex"] for row in people] == ["MF"[g] for g in drawn.group]
    assert [row["died"] for row in people] == [("alive", "=dead")[e] for e in drawn.event]
    assert len(rows) == drawn.length.sum()
    for name, places in (("pulse", 0), ("Temp (°C)", 2), ("day", 3)):
        known = [row[name] for row in rows if row[name] is not None]
        assert known and all(round(x, places) == x for x in known)
    assert {row["oxygen"] for row in rows} <= {"room air", "oxygen, mask", None, ""}
    masses = [row["weight"] for row in people if row["weight"] is not None]
    assert masses and all(round(x, 1) == x for x in masses)


def test_what_is_written_as_parquet_can_be_fitted_again(
    bundle: longsynth.Bundle, tmp_path: Path
) -> None:
    out = written(bundle, "parquet", tmp_path / "out")
    schema, back = read_cohort(out)
    drawn = sample(model_of(bundle), PATIENTS, seed=4)
    assert (back.group == drawn.group).all() and (back.event == drawn.event).all()
    assert (back.length == drawn.length).all()
    used = np.arange(4) < drawn.length[:, None]
    assert np.abs(np.cumsum(back.gaps - drawn.gaps, axis=1))[used].max() < 4 * 24e-3
    with CohortFolder(out) as cohort:
        again = plan(schema, cohort.patients, epsilon=1, delta=1e-4, method="dp-score")
        assert fit(cohort, again).patients == PATIENTS


@pytest.mark.parametrize("form", FORMS)
def test_verify_generates_the_files_again_and_finds_a_change(
    bundle: longsynth.Bundle, tmp_path: Path, form: str
) -> None:
    out, model = written(bundle, form, tmp_path / "out"), model_of(bundle)
    assert all(finding.good for finding in check_synthetic(bundle, model, out))
    file = next(out.glob("patients.*"))
    if form == "csv":
        file.write_bytes(file.read_bytes().replace(b",M,", b",F,", 1))
    elif form == "parquet":
        pq.write_table(pq.read_table(file).drop_columns("sex"), file)
    else:
        book = openpyxl.load_workbook(file)
        book["observations"]["B2"] = 1
        book.save(file)
    assert not all(finding.good for finding in check_synthetic(bundle, model, out))


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_with_other_patients_is_found_before_anything_is_generated(
    bundle: longsynth.Bundle, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, model = written(bundle, form, tmp_path / "out"), model_of(bundle)
    text = (out / "synthetic.json").read_text()
    (out / "synthetic.json").write_text(text.replace('"patients": 40', '"patients": 1000000000'))
    monkeypatch.setattr(longsynth.release.synthetic_folder, "write_synthetic", pytest.fail)
    assert not all(finding.good for finding in check_synthetic(bundle, model, out))


def test_a_workbook_holds_neither_formulas_nor_the_time_of_writing(
    bundle: longsynth.Bundle, tmp_path: Path
) -> None:
    file = written(bundle, "excel", tmp_path / "out") / "patients.xlsx"
    with zipfile.ZipFile(file) as book:
        assert {entry.date_time[0] for entry in book.infolist()} == {1980}
        assert b"1980-01-01" in book.read("docProps/core.xml")
        assert b"<f>" not in book.read("xl/worksheets/sheet1.xml")
    assert excel_rows(file) == PATIENTS


def test_more_rows_than_a_sheet_holds_are_refused(
    bundle: longsynth.Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets, "EXCEL_ROWS", PATIENTS)
    with refused("too-large"):
        written(bundle, "excel", tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + bytes(18), b"nonsense"])
def test_bytes_that_are_no_workbook_have_no_rows(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.xlsx").write_bytes(content)
    assert excel_rows(tmp_path / "x.xlsx") == -1


def test_slots_less_than_a_step_apart_stay_apart(tmp_path: Path) -> None:
    schema, cohort = own_schema(), random_cohort(3, seed=1)
    n = 3
    together = type(cohort)(
        values=np.full((n, 4, 4), 30.0),
        observed=np.ones((n, 4, 4), bool),
        gaps=np.zeros((n, 4)),
        length=np.full(n, 4),
        group=np.zeros(n, np.int64),
        event=np.zeros(n, np.int64),
        site=np.zeros(n, np.int64),
    )
    folder = tmp_path / "out"
    folder.mkdir()
    longsynth.writing.FORMATS["parquet"].load().write(folder, schema, [together])
    assert (read_cohort(folder)[1].length == 4).all()


class OneHour:
    """Gaps of one hour, the first one too."""

    def draw(self, shared: object, rng: np.random.Generator) -> np.ndarray:
        rng.random()
        return np.ones((PATIENTS, 4))


def test_the_first_gap_is_zero_where_the_schema_says_so_and_nothing_else_changes(
    bundle: longsynth.Bundle,
) -> None:
    model = replace(model_of(bundle), gaps=OneHour())
    time = model.schema.time.model_copy(update={"first": "any"})
    free = replace(model, schema=model.schema.model_copy(update={"time": time}))
    zero, anything = (sample(m, PATIENTS, seed=4) for m in (model, free))
    assert (zero.gaps[:, 0] == 0).all() and (anything.gaps[:, 0] == 1).all()
    assert (zero.gaps[:, 1:] == anything.gaps[:, 1:]).all()
    assert np.array_equal(zero.values, anything.values, equal_nan=True)


def test_an_audit_takes_the_weights_and_not_a_column_of_the_same_name(
    bundle: longsynth.Bundle, tmp_path: Path
) -> None:
    _, back = read_synthetic(written(bundle, "parquet", tmp_path / "out"))
    expected = sample(model_of(bundle), PATIENTS, seed=4).weight
    assert np.abs(back.weight - expected).max() < 1e-6


@pytest.mark.parametrize(
    ("form", "settings"),
    [("csv", {"recipe": "x"}), ("export", {}), ("export", {"recipe": 1, "start_date": ""})],
)
def test_settings_that_do_not_fit_the_format_are_found(
    bundle: longsynth.Bundle, tmp_path: Path, form: str, settings: dict[str, object]
) -> None:
    out = written(bundle, "csv", tmp_path / "out")
    stated = json.loads((out / "synthetic.json").read_text())
    (out / "synthetic.json").write_text(json.dumps(stated | {"form": form, "settings": settings}))
    with refused("synthetic-altered"):
        read_recipe(out)


def test_small_values_on_a_log_scale_keep_a_digit() -> None:
    facts = {"kind": "continuous", "bounds_from": "a book", "scale": 60, "transform": "log"}
    variable = Variable.model_validate(facts | {"name": "crp", "bounds": [0.1, 500]})
    assert variable.decimals == 1


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["longsynth", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(str(ended.value.code or 0))


def test_the_command_writes_and_verifies_every_form_and_refuses_stray_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _run(monkeypatch, "simulate", "--patients", 60, "--out", tmp_path / "cohort") == 0
    budget = ("--epsilon", 8, "--delta", "1e-4", "--method", "dp-score")
    assert _run(monkeypatch, "fit", tmp_path / "cohort", *budget, "--out", tmp_path / "run") == 0
    release = tmp_path / "run/release"
    order = ("sample", release, "--patients", 9, "--seed", 1)
    for form in FORMS:
        assert _run(monkeypatch, *order, "--format", form, "--out", tmp_path / form) == 0
        assert _run(monkeypatch, "verify", release, tmp_path / form) == 0
    stray = (*order, "--out", tmp_path / "stray")
    assert _run(monkeypatch, *stray, "--format", "csv", "--start-date", "2024-01-01") == 2
    assert _run(monkeypatch, *stray, "--format", "export") == 2
