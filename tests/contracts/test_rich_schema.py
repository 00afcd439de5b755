"""A schema with everything in it: every private method models it, every output format writes it in
its own names, levels and units, and the whole way from fit to dossier speaks of all of it."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from longsynth import fit, load_schema, model_of, plan, sample
from longsynth.bundle import Bundle
from longsynth.commands.app import app
from longsynth.govern.form import FILL, blank_form
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import METHODS
from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.importing import import_cohort
from longsynth.release.statement import protected_facts
from longsynth.release.synthetic_folder import Recipe, check_synthetic, write_synthetic
from longsynth.schema.conditions import constraint
from longsynth.schema.constraints import violations
from longsynth.schema.record import unpacked_codes
from longsynth.writing import FORMATS
from support import receipt_for, rich_cohort, rich_schema

PRIVATE = [name for name, method in METHODS.items() if isinstance(method, PrivateMethod)]
PATIENTS = 60
OUTCOMES = ("survival", "readmitted", "leaves", "grade", "falls", "cost")
GROUPS = ("band", "sex", "payer")


def fitted(method: str) -> Bundle:
    planned = plan(rich_schema(), 120, epsilon=8, delta=1e-4, method=method)
    return fit(rich_cohort(120, 1), planned)


@pytest.mark.parametrize("method", PRIVATE)
def test_every_private_method_models_everything_in_the_schema(method: str) -> None:
    schema = rich_schema()
    synthetic = sample(model_of(fitted(method)), 300, seed=1)
    for what, size in zip(("site", "group", "event"), schema.label_sizes, strict=True):
        assert set(getattr(synthetic, what)) <= set(range(size))
    for place, v in enumerate(schema.variables):
        values = synthetic.values[:, :, place][synthetic.observed[:, :, place]]
        assert ((values >= v.bounds[0]) & (values <= v.bounds[1])).all(), v.name
        if v.kind != "continuous" or v.resolution:
            assert (values == np.rint(values)).all(), v.name
    drinks = synthetic.values[:, :, 2][synthetic.observed[:, :, 2]]
    assert 0.05 < (drinks == 0).mean() < 0.95
    for text in schema.rules:
        broken, asked = violations(constraint(text, schema), synthetic, schema)
        assert asked.any() and not broken.any(), text
    given = unpacked_codes(synthetic.codes, len(schema.code_names))
    assert given.any() and not given[np.arange(4) >= synthetic.length[:, None]].any()


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return fitted("dp-score")


def people(folder: Path, form: str) -> pa.Table:
    if form == "excel":
        head, *rows = openpyxl.load_workbook(folder / "patients.xlsx")["patients"].values
        return pa.Table.from_pylist([dict(zip(head, row, strict=True)) for row in rows])
    if form == "csv":
        return csv.read_csv(folder / "patients.csv")
    return pq.read_table(folder / "patients.parquet")


def written(bundle: Bundle, form: str, folder: Path) -> Path:
    folder.mkdir()
    write_synthetic(folder, model_of(bundle), Recipe(bundle.fingerprint, PATIENTS, 4, form=form))
    return folder


@pytest.mark.parametrize("form", [name for name, f in FORMATS.items() if not f.settings])
def test_every_format_writes_what_verify_generates_again(
    bundle: Bundle, form: str, tmp_path: Path
) -> None:
    out = written(bundle, form, tmp_path / "out")
    assert all(finding.good for finding in check_synthetic(bundle, model_of(bundle), out))
    told = load_schema(out / "schema.yaml")
    assert [o.name for o in told.outcomes] == list(OUTCOMES)
    assert [o.kind for o in told.outcomes] == [o.kind for o in rich_schema().outcomes]
    assert [o.unit for o in told.outcomes] == ["days", "", "", "", "falls", "EUR"]
    assert [g.name for g in told.groups] == list(GROUPS)


@pytest.mark.parametrize("form", ["csv", "parquet", "excel"])
def test_the_users_own_columns_hold_the_users_own_levels(
    bundle: Bundle, form: str, tmp_path: Path
) -> None:
    table, drawn = people(written(bundle, form, tmp_path / "out"), form), sample_of(bundle)
    labels = {"ended": (drawn.event, "event"), "band": (drawn.group, "group")}
    for column, (level, what) in labels.items():
        names = rich_schema().levels(what)
        assert table[column].to_pylist() == [names[i] for i in level]
    for place, v in enumerate(rich_schema().variables):
        if v.static and v.levels:
            known = zip(drawn.observed[:, 0, place], drawn.values[:, 0, place], strict=True)
            names = [v.levels[int(x)] if seen else None for seen, x in known]
            assert [x or None for x in table[v.column or v.name].to_pylist()] == names, v.name
    for column, place in (("futime", 4), ("n_falls", 8), ("cost", 9)):
        known = drawn.observed[:, 0, place]
        cells = np.array([np.nan if x in (None, "") else x for x in table[column].to_pylist()])
        assert np.abs(cells[known] - drawn.values[known, 0, place]).max() <= 0.5, column


def sample_of(bundle: Bundle):  # type: ignore[no-untyped-def]
    return sample(model_of(bundle), PATIENTS, seed=4)


@pytest.mark.parametrize("form", ["cohort", "events", "meds", "parquet"])
def test_a_synthetic_folder_is_read_back_as_the_same_patients(
    bundle: Bundle, form: str, tmp_path: Path
) -> None:
    out, drawn = written(bundle, form, tmp_path / "out"), sample_of(bundle)
    if form in ("events", "meds"):
        import_cohort(form, str(out), out / "schema.yaml", tmp_path / "back")
        out = tmp_path / "back"
    schema, back = read_cohort(out)
    for what in ("site", "group", "event"):
        assert (getattr(back, what) == getattr(drawn, what)).all()
    static = np.array(schema.layout.static)
    seen = drawn.observed[:, 0, static]
    assert (back.observed[:, 0, static] == seen).all()
    close = 0.5 if form == "parquet" else 1e-3  # a user's own decimals; float32
    assert np.abs((back.values - drawn.values)[:, 0, static][seen]).max() <= close


def test_the_statement_names_all_outcomes_and_groups() -> None:
    named = "outcomes (survival, readmitted, leaves, grade, falls, cost), groups (band, sex, payer)"
    assert protected_facts(rich_schema()) == f"{named} and site"
    short = {"outcomes": [], "groups": [], "protected": None}
    assert protected_facts(rich_schema(**short)) == "group, event and site"


def typed(*words: object) -> str:
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.output


ANSWERS = {"valid_from": '"2020-01-01"', "valid_until": '"2090-01-01"', "patients_at_least": 1}
ANSWERS |= {"patients_at_most": 500, "epsilon": 8, "delta": 0.001, "accounting": "[gaussian]"}
ANSWERS |= {"methods": "[dp-score]", "book": "not kept", "kind": "period", "sites": "[]"}
ANSWERS |= {"fit": "[A. Engineer]", "sign": "[B. Steward]"}


def completed(form: str) -> str:
    """A blank form with an answer to every question that its schema leaves open."""
    answer = lambda line: f"{line[1]}{ANSWERS.get(line[2], 'an answer')}"  # noqa: E731
    form = re.sub(rf"^(\s*-? ?(\w+): )\[?'?{FILL}'?\]?$", answer, form, flags=re.MULTILINE)
    return re.sub(r"^(  (?:suite|internal): )an answer", r"\1[an answer]", form, flags=re.MULTILINE)


def test_the_whole_way_from_fit_to_dossier_speaks_of_every_outcome_and_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cohort").mkdir()
    FORMATS["parquet"].load().write(Path("cohort"), rich_schema(), [rich_cohort(240, 1)])
    receipt_for(Path("cohort"))
    typed("split", "cohort", "--out", "parts")
    schema = "parts/train/schema.yaml"
    form = completed(blank_form(load_schema(schema)))
    Path("form.yaml").write_text(form, encoding="utf-8")
    told = typed("governance", "check", "form.yaml", "--schema", schema)
    assert f"Outcomes: {', '.join(OUTCOMES)}." in told and "Groups: band, sex, payer." in told
    receipt_for(Path("parts/train"))
    budget = ("--epsilon", 8, "--delta", 0.001, "--method", "dp-score", "--by", "A. Engineer")
    typed("fit", "parts/train", *budget, "--governance", "form.yaml", "--out", "run")
    typed("sample", "run/release", "--patients", 100, "--seed", 1, "--out", "synthetic")
    passed = typed("verify", "run/release", "synthetic", "--governance", "form.yaml")
    assert "checks passed" in passed
    real = ("--train", "parts/train", "--test", "parts/holdout", "--synthetic", "synthetic")
    typed("audit", *real, "--out", "audit", "--bootstrap", 0)
    typed("dossier", "run", "--audit", "audit", "--out", "dossier.html", "--redraws", 0,
          "--governance", "form.yaml")  # fmt: skip
    page = unescape(Path("dossier.html").read_text("utf-8"))
    for text in (*OUTCOMES, *GROUPS, "365 days", "drugs", "band = 80 and over and sex = F"):
        assert text in page, text
