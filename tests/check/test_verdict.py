"""What a check finds in a cohort: red, amber or green, and where to correct it."""

import json
from pathlib import Path
from stat import S_IMODE
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.random import default_rng

from atomic.outputs import main_here
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.reading.importing import import_cohort
from longsynth.reading.quality import Quality, examine
from longsynth.reading.quality.counts import other_units, usual_range
from longsynth.schema.catalogue import catalogue

SCHEMA = """longsynth: 1
name: a ward
slots: 4
max_gap: 48
group: {column: sex, levels: [M, F]}
event: {column: died, levels: ['0', '1']}
variables:
  - {name: temperature, unit: °C, kind: continuous, bounds: [25, 45], bounds_from: a thermometer}
  - {name: oxygen, kind: binary, levels: ['no', 'yes']}
"""
PATIENTS, VISITS = 100, 4


def columns() -> dict[str, dict[str, Any]]:
    rng, rows = default_rng(1), PATIENTS * VISITS
    return {
        "observations": {
            "patient_id": np.repeat(np.arange(PATIENTS), VISITS),
            "time": np.tile(np.arange(VISITS) * 6.0, PATIENTS),
            "temperature": rng.normal(37, 0.5, rows),
            "oxygen": rng.choice(["no", "yes"], rows),
        },
        "patients": {
            "patient_id": np.arange(PATIENTS),
            "sex": rng.choice(["M", "F"], PATIENTS),
            "died": rng.integers(0, 2, PATIENTS),
        },
    }


def written(folder: Path, tables: dict[str, dict[str, Any]], schema: str = SCHEMA) -> Path:
    folder.mkdir()
    (folder / "schema.yaml").write_text(schema, "utf-8")
    for name, table in tables.items():
        pq.write_table(pa.table(table), folder / f"{name}.parquet")
    return folder


def examined(folder: Path, **more: bool) -> Quality:
    with CohortFolder(folder) as source:
        return examine(source, folder, **more)


def found(quality: Quality) -> dict[tuple[str, str], str]:
    return {(f.subject, f.what): f.colour for f in quality.findings if f.colour != "green"}


def test_an_ordinary_cohort_is_green_in_every_column(tmp_path: Path) -> None:
    quality = examined(written(tmp_path / "cohort", columns()))
    assert found(quality) == {}
    assert {f.subject for f in quality.findings} == {"group", "event", "temperature", "oxygen"}
    assert quality.colour == "green"


def spoiled(what: str) -> dict[str, dict[str, Any]]:
    tables = columns()
    rows, people = tables["observations"], tables["patients"]
    number = len(rows["time"])
    match what:
        case "times":
            rows["time"][: number // 5] = np.nan
        case "no time":
            rows["time"] = np.full(number, np.nan)
        case "strangers":
            rows["patient_id"][: number // 20] += 10_000
        case "alone":
            people["patient_id"] = np.arange(PATIENTS) + 80
        case "twice":
            tables["observations"] = {
                name: np.concatenate([cells, cells[:20]]) for name, cells in rows.items()
            }
        case "sex in words":
            people["sex"] = np.array(["male", "female"])[(people["sex"] == "F").astype(int)]
        case "one sex":
            people["sex"] = np.full(PATIENTS, "F")
        case "wild":
            rows["temperature"][:8] = 500.0
        case "fahrenheit":
            rows["temperature"][::4] = rows["temperature"][::4] * 9 / 5 + 32
        case "empty":
            rows["temperature"] = pa.nulls(number, pa.float64())
        case "constant":
            rows["temperature"] = np.full(number, 37.0)
        case "levels":
            rows["oxygen"][: number // 4] = "maybe"
    return tables


SPOILED = {
    "times": {
        ("observations", "rows_without_usable_time"): "red",
        ("patients", "patients_without_rows"): "amber",
    },
    "no time": {
        ("observations", "nothing_usable"): "red",
        ("observations", "rows_without_usable_time"): "red",
        ("patients", "patients_without_rows"): "red",
    },
    "strangers": {
        ("observations", "rows_of_unknown_patients"): "amber",
        ("patients", "patients_without_rows"): "amber",
    },
    "alone": {
        ("observations", "rows_of_unknown_patients"): "red",
        ("patients", "patients_without_rows"): "red",
    },
    "twice": {("observations", "duplicated_rows"): "amber"},
    "sex in words": {("group", "outside_levels"): "red", ("group", "constant"): "amber"},
    "one sex": {("group", "constant"): "amber"},
    "wild": {("temperature", "out_of_bounds"): "amber"},
    "fahrenheit": {("temperature", "out_of_bounds"): "red", ("temperature", "other_unit"): "red"},
    "empty": {("temperature", "missing"): "red"},
    "constant": {("temperature", "constant"): "amber"},
    "levels": {("oxygen", "unreadable"): "red"},
}


DRUGS = "codes:\n  - {name: drugs, levels: [A01, B01], cap: 1}\n"


@pytest.mark.parametrize(
    ("others", "finding"),
    [(0, {}), (100, {("drugs", "outside_list"): "amber"}), (400, {("drugs", "missing"): "red"})],
)
def test_codes_outside_the_list_are_counted(
    tmp_path: Path, others: int, finding: dict[tuple[str, str], str]
) -> None:
    tables = columns()
    number = PATIENTS * VISITS
    given = ["unlisted" if i < others else "A01" for i in range(number)]
    tables["observations"]["drugs"] = given
    quality = examined(written(tmp_path / "cohort", tables, SCHEMA + DRUGS))
    assert found(quality) == finding
    (drugs,) = [f for f in quality.findings if f.subject == "drugs"]
    assert drugs.percent == 100 * others / number
    assert "unlisted" not in repr(drugs), "no cell is quoted"


@pytest.mark.parametrize("what", SPOILED)
def test_each_mistake_has_its_own_finding(tmp_path: Path, what: str) -> None:
    quality = examined(written(tmp_path / "cohort", spoiled(what)))
    assert found(quality) == SPOILED[what]
    assert all(f.remedy for f in quality.findings if f.colour != "green")
    order = ["red", "amber", "green"]
    assert [f.colour for f in quality.findings] == sorted(
        (f.colour for f in quality.findings), key=order.index
    )


def test_the_share_that_would_be_clipped_is_counted_exactly(tmp_path: Path) -> None:
    (wild,) = (
        f
        for f in examined(written(tmp_path / "cohort", spoiled("wild"))).findings
        if f.what == "out_of_bounds"
    )
    assert wild.percent == pytest.approx(100 * 8 / (PATIENTS * VISITS))
    assert wild.remedy.startswith("Line 8 of schema.yaml")


def test_open_marks_are_red(tmp_path: Path) -> None:
    folder = written(tmp_path / "cohort", columns(), SCHEMA + "# CHECK: the bounds\n")
    assert found(examined(folder)) == {("schema.yaml", "marks"): "red"}


@pytest.mark.parametrize(
    "what", [k.variable.name for k in catalogue() if any(other_units(k.variable))]
)
def test_usual_values_never_look_like_another_unit(what: str) -> None:
    """Of values that all lie in the usual range, none lies where another unit's would."""
    (variable,) = (k.variable for k in catalogue() if k.variable.name == what)
    usual = usual_range(variable)
    assert usual is not None
    for other in other_units(variable):
        assert other.hump[0] >= usual[1] or other.hump[1] <= usual[0]
        assert not other.is_hump(0, 0)


def test_a_long_tail_is_no_other_unit(tmp_path: Path) -> None:
    """Bilirubin in liver disease reaches values that would be usual in µmol/L."""
    schema = SCHEMA.replace("name: temperature, unit: °C", "name: bilirubin, unit: mg/dL")
    schema = schema.replace("[25, 45]", "[0.05, 80]")
    tables = columns()
    rows = tables["observations"]
    del rows["temperature"]
    rows["bilirubin"] = np.exp(default_rng(1).normal(0.6, 1.0, PATIENTS * VISITS))
    assert found(examined(written(tmp_path / "sick", tables, schema))) == {}
    rows["bilirubin"] = np.exp(default_rng(1).normal(-0.5, 0.3, PATIENTS * VISITS))
    rows["bilirubin"][::3] *= 17.1
    mixed = examined(written(tmp_path / "mixed", tables, schema))
    assert found(mixed) == {("bilirubin", "other_unit"): "red"}


def test_an_export_whose_dates_cannot_be_read_ends_at_check(tmp_path: Path) -> None:
    lines = ["MRN;Visit date;Pulse;Sex;Died"]
    lines += [f"{i // 3};day {i % 3};{70 + i % 20};{'MF'[i % 2]};{i % 2}" for i in range(90)]
    (tmp_path / "ward.csv").write_text("\n".join(lines), "utf-8")
    (tmp_path / "recipe.yaml").write_text(RECIPE, "utf-8")
    import_cohort("table", [tmp_path / "ward.csv"], tmp_path / "recipe.yaml", tmp_path / "cohort")
    code, said, _ = main_here("check", tmp_path / "cohort")
    assert code == 1
    assert "Verdict: red" in said
    assert "Line 16 of recipe.yaml" in said
    assert "longsynth plan" not in said
    code, _, said = main_here(
        "fit", tmp_path / "cohort", "--epsilon", 4, "--delta", 1e-5, "--out", tmp_path / "run"
    )
    assert code == 2
    assert "[check-failed]" in said


RECIPE = """longsynth_recipe: 1
record:
  name: a ward
  slots: 4
  max_gap: 48
  group: {column: group, levels: [male, female]}
  event: {column: event, levels: ['no', 'yes']}
  variables:
    - {name: heart_rate, unit: bpm, kind: continuous, bounds: [20, 300], bounds_from: a monitor}
tables:
  - files: ward.csv
    separator: ;
    columns:
      MRN: {use: id}
      # the day comes first
      Visit date: {use: time, format: '%d/%m/%Y'}
      Pulse: {use: variable, variable: heart_rate}
      Sex: {use: group, levels: {M: male, F: female}}
      Died: {use: outcome, levels: {'0': 'no', '1': 'yes'}}
"""


def test_json_and_the_page_say_what_the_terminal_says(tmp_path: Path) -> None:
    folder = written(tmp_path / "cohort", spoiled("fahrenheit"))
    page = tmp_path / "check.html"
    code, said, _ = main_here("check", folder, "--json", "--html", page)
    told = json.loads(said)
    assert (code, told["verdict"], told["patients"]) == (1, "red", PATIENTS)
    assert {f["what"] for f in told["findings"]} >= {"out_of_bounds", "other_unit"}
    text = page.read_text("utf-8")
    assert "NOT FOR RELEASE" in text
    assert "25.0\u00a0% above the public bounds, 25 to 45 °C" in text
    assert "usual in °F" in text
    assert "<script" not in text
    assert "http-equiv" in text
    assert S_IMODE(page.stat().st_mode) == 0o600
    code, _, said = main_here("check", folder, "--html", page)
    assert code == 2
    assert "[output-exists]" in said


def test_a_histogram_counts_every_finite_value_once(tmp_path: Path) -> None:
    tables = spoiled("wild")
    odd = [25.0, 45.0, np.inf, -np.inf, np.nan, *[-3.0] * 5]
    tables["observations"]["temperature"][20:30] = odd
    quality = examined(written(tmp_path / "cohort", tables), histograms=True)
    counts = quality.histograms["temperature"]
    assert sum(counts) == PATIENTS * VISITS - 3
    assert (counts[0], counts[-1]) == (5, 8)
    assert sum(quality.histograms["oxygen"]) == PATIENTS * VISITS
