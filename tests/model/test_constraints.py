"""Public constraints: no synthetic patient violates any, whatever the method and the budget."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet
from pydantic import ValidationError

import longsynth
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import METHODS
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.reading.importing import import_cohort
from longsynth.reading.quality import examine
from longsynth.reading.records import Cohort
from longsynth.sampling.constraints import constrained
from longsynth.sampling.model import Model, Synthetic
from longsynth.schema.conditions import constraint
from longsynth.schema.constraints import violations
from longsynth.schema.recipe import parse_recipe
from longsynth.schema.schema import Schema
from longsynth.writing import output_format
from longsynth.writing.export import export_writer
from ward import timed_ward_cohort, timed_ward_schema

SLOTS, PATIENTS = 3, 150
MMHG = {"kind": "continuous", "bounds": [20, 250], "bounds_from": "a cuff"}
LEVELS = {"kind": "ordinal", "levels": ["none", "mild", "severe"]}
VARIABLES: list[dict[str, object]] = [
    {"name": "systolic", **MMHG, "resolution": 1},
    {"name": "diastolic", **MMHG, "resolution": 0.1},
    {"name": "mean", **MMHG},
    {"name": "pain", **LEVELS},
    {"name": "worst", **LEVELS, "static": True},
    {"name": "cigarettes", "kind": "ordinal", "bounds": [0, 40], "bounds_from": "two packets"},
    {"name": "vented", "kind": "binary"},
    {"name": "dry", **MMHG, "static": True, "resolution": 0.5},
    {"name": "age", "kind": "continuous", "static": True, "bounds": [0, 110], "bounds_from": "x"},
    {"name": "smoker", "kind": "binary", "static": True, "levels": ["no", "yes"]},
    {"name": "blood", "kind": "nominal", "static": True, "levels": ["A", "B", "AB", "O"]},
    {"name": "rhythm", "kind": "nominal", "levels": ["sinus", "paced", "other"]},
]
NAMES = [str(v["name"]) for v in VARIABLES]
NUMBERS = ["systolic", "diastolic", "mean", "dry", "cigarettes", "vented", "age"]
WORDS = {
    **dict.fromkeys(("pain", "worst"), LEVELS["levels"]),
    "smoker": ["no", "yes"],
    "blood": ["A", "B", "AB", "O"],
    "rhythm": ["sinus", "paced", "other"],
    "sex": ["m", "f"],
    "event": ["0", "1"],
    "site": ["north", "south"],
}


def schema_with(*constraints: str) -> Schema:
    return Schema.model_validate(
        {
            "longsynth": 1,
            "name": "clinic",
            "slots": SLOTS,
            "max_gap": 100,
            "groups": [{"name": "sex", "levels": ["m", "f"]}],
            "site": {"column": "site", "levels": ["north", "south"]},
            "variables": VARIABLES,
            "constraints": constraints,
        }
    )


def clinic(patients: int = PATIENTS, seed: int = 1) -> Cohort:
    """Patients who know no constraint."""
    rng, schema = np.random.default_rng(seed), schema_with()
    low, high = np.array([v.bounds for v in schema.variables]).T
    values = low + rng.random((patients, SLOTS, len(low))) * (high - low)
    whole = [v.kind != "continuous" for v in schema.variables]
    values = np.where(whole, np.rint(values), values)
    length = rng.integers(0, SLOTS + 1, patients)
    observed = (rng.random(values.shape) < 0.8) & schema.layout.up_to(length)
    gaps = rng.exponential(10, (patients, SLOTS))
    labels = (rng.integers(0, 2, patients) for _ in range(3))
    return Cohort(np.where(observed, values, np.nan), observed, gaps, length, *labels)


@cache
def models() -> list[Model]:
    """Every method; the private ones at three budgets."""
    cohort, schema, made = clinic(), schema_with(), []
    for name, method in METHODS.items():
        if not isinstance(method, PrivateMethod):
            bundle = longsynth.fit_without_privacy(cohort, schema, name)
            made.append(longsynth.model_of(bundle))
            continue
        for epsilon in (0.1, 1, 100):
            plan = longsynth.plan(schema, PATIENTS, epsilon=epsilon, delta=1e-5, method=name)
            made.append(longsynth.model_of(longsynth.fit(cohort, plan)))
    return made


def broken(schema: Schema, made: Synthetic) -> list[str]:
    """The constraints that some patient violates."""
    parsed = [constraint(text, schema) for text in schema.constraints]
    return [c.text for c in parsed if violations(c, made, schema)[0].any()]


SIGNS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])


@st.composite
def comparisons(draw: st.DrawFn, labels: bool = True) -> str:
    name = draw(st.sampled_from([*NUMBERS, *(WORDS if labels else NAMES[3:5] + NAMES[9:])]))
    value = draw(st.sampled_from(WORDS[name]) if name in WORDS else st.integers(0, 110).map(str))
    return f"{name} {draw(SIGNS)} {value}"


@st.composite
def constraint_texts(draw: st.DrawFn) -> str:
    claim = draw(comparisons(labels=False))
    if draw(st.booleans()):
        pairs = st.lists(st.sampled_from(NUMBERS), min_size=2, max_size=2, unique=True)
        one, other = draw(st.one_of(pairs, st.just(["pain", "worst"])))
        claim = f"{one} {draw(st.sampled_from(['<', '<=', '>', '>=']))} {other}"
    return f"{claim} if {draw(comparisons())}" if draw(st.booleans()) else claim


def accepted(texts: list[str]) -> Schema | None:
    """The schema with as many of these as it takes."""
    kept: list[str] = []
    for text in texts:
        try:
            schema_with(*kept, text)
        except ValidationError:
            continue
        kept.append(text)
    return schema_with(*kept) if kept else None


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much],
    derandomize=True,
)
@given(st.lists(constraint_texts(), min_size=1, max_size=8))
def test_no_synthetic_patient_of_any_method_and_budget_violates_a_constraint(
    texts: list[str],
) -> None:
    schema = accepted(texts)
    assume(schema is not None)
    assert schema is not None
    for model in models():
        made = longsynth.sample(replace(model, schema=schema), 60, seed=1)
        assert broken(schema, made) == []
        free = longsynth.sample(model, 60, seed=1)
        named = {name for k in schema.knots for c in k.constraints for name in c.names}
        others = [i for i, name in enumerate(NAMES) if name not in named]
        assert np.array_equal(made.values[..., others], free.values[..., others], equal_nan=True)
        assert np.array_equal(made.observed, free.observed)


def test_the_tested_constraints_are_violated_without_the_mechanism() -> None:
    schema = schema_with("diastolic < systolic", "cigarettes = 0 if smoker = no")
    free = longsynth.sample(models()[0], 300, seed=1)
    assert broken(schema, free) == list(schema.constraints)
    assert broken(schema, constrained(free, schema)) == []


@pytest.mark.parametrize(
    ("texts", "remedy"),
    [
        (["diastolic"], "For example: age >= 65."),
        (["height > 3"], "Choose one of"),
        (["age >= 18 if ward = A"], "Choose one of"),
        (["age >= old"], "Compare it with a number."),
        (["smoker = perhaps"], "no, yes"),
        (["age <= 200"], "or the bounds"),
        (["systolic >= 100.5"], "resolution"),
        (["cigarettes = 0.5"], "resolution"),
        (["sex = m if age < 20"], "after `if`"),
        (["diastolic = systolic"], "use <, <=, > or >="),
        (["systolic != 100"], "Use <, <=, > or >=."),
        (["blood < AB"], "Use = or !=."),
        (["pain < systolic"], "the same levels"),
        (["blood < rhythm"], "the same levels"),
        (["age >= 90", "age < 50"], "Correct one of them"),
        (["cigarettes > 5 if age < 50", "cigarettes = 0 if smoker = no"], "Correct one of them"),
        (["worst = none if pain = severe", "worst = mild if pain = mild"], "Correct one of them"),
        (["blood = A if sex = m", "blood != A if age > 50"], "Correct one of them"),
        (["systolic < diastolic", "diastolic < systolic"], "turn it around"),
        (["smoker = yes if cigarettes > 0", "cigarettes = 0 if smoker = no"], "turn it around"),
    ],
)
def test_a_constraint_that_cannot_be_kept_is_refused_with_a_remedy(
    texts: list[str], remedy: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        schema_with(*texts)
    assert remedy in str(caught.value)


def test_conditions_that_exclude_each_other_are_no_contradiction() -> None:
    texts = "age < 45 if smoker = no", "age >= 45 if smoker = yes"
    young = (
        "cigarettes >= 1 if smoker = yes",
        "cigarettes = 0 if age < 12",
        "smoker = no if age < 12",
    )
    assert schema_with(*texts).constraints == texts
    assert schema_with(*young).constraints == young


def test_a_time_to_event_is_a_condition_and_never_changed() -> None:
    with pytest.raises(ValidationError, match="after `if`"):
        timed_ward_schema(constraints=["survival > 10"])
    schema = timed_ward_schema(
        constraints=["dose = 0 if survival < 10", "pulse >= 60 if event = dead"]
    )
    plan = longsynth.plan(schema, 200, epsilon=4, delta=1e-5, method="dp-score")
    made = longsynth.sample(
        longsynth.model_of(longsynth.fit(timed_ward_cohort(200, seed=1), plan)), 400, seed=1
    )
    early = made.values[:, 0, [v.name for v in schema.variables].index("survival")] < 10
    assert early.any() and broken(schema, made) == []


def test_a_pair_moves_no_further_than_it_must_and_nobody_else_moves() -> None:
    schema = schema_with("diastolic < systolic")
    free = longsynth.sample(models()[0], 300, seed=1)
    kept = constrained(free, schema)
    one, other = free.values[..., 1], free.values[..., 0]  # diastolic, systolic
    both = free.observed[..., 0] & free.observed[..., 1]
    fine = both & (one < np.rint(other) - 1)
    moved = np.abs(kept.values - free.values)[..., :2]
    assert moved[fine].max() <= 0.5  # only to the grid
    wrong = both & (one > other)
    assert wrong.any() and (moved.max(axis=-1)[wrong] <= (one - other)[wrong] / 2 + 1.5).all()


def test_a_static_variable_stays_and_its_slots_follow() -> None:
    schema = schema_with("systolic <= dry")
    free = longsynth.sample(models()[0], 300, seed=1)
    kept = constrained(free, schema)
    dry = NAMES.index("dry")
    moved = np.abs(kept.values - free.values)[:, 0, dry][free.observed[:, 0, dry]]
    assert moved.max() <= 0.75  # to the grids of both variables


FORMATS = ("cohort", "events", "meds", "parquet", "csv")


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_written_violates_no_constraint(tmp_path: Path, form: str) -> None:
    schema = schema_with(
        "diastolic < systolic", "mean >= diastolic", "cigarettes = 0 if smoker = no",
        "cigarettes = 0 if age <= 18", "worst >= pain", "age >= 30 if sex = f", "dry < 200.5",
    )  # fmt: skip
    made = longsynth.sample(replace(models()[1], schema=schema), 200, seed=1)
    folder = tmp_path / form
    folder.mkdir()
    output_format(form).load().write(folder, schema, [made])
    if form == "csv":
        for name in ("patients", "observations"):
            table = csv.read_csv(folder / f"{name}.csv")
            parquet.write_table(table, folder / f"{name}.parquet")
    elif form in ("events", "meds"):
        import_cohort(form, folder, folder / "schema.yaml", tmp_path / "back")
        folder = tmp_path / "back"
    back, cohort = longsynth.read_cohort(folder)
    assert len(back.constraints) == len(schema.constraints)
    assert cohort.observed.any() and broken(back, cohort) == []


NUMBER = "kind: continuous, bounds: [20, 300], bounds_from: a device"
RECIPE = f"""
longsynth_recipe: 1
record:
  name: renal clinic
  slots: 3
  max_gap: 1000
  time: {{unit: timestamp}}
  group: null
  event: null
  variables:
    - {{name: wet, unit: kg, {NUMBER}, resolution: 0.1}}
    - {{name: dry, unit: kg, {NUMBER}, resolution: 0.1}}
    - {{name: systolic, unit: mmHg, {NUMBER}, resolution: 1}}
    - {{name: diastolic, unit: mmHg, {NUMBER}, resolution: 1}}
  constraints: [wet > dry, diastolic < systolic, dry >= 40]
tables:
  - files: visits.csv
    columns:
      Patient: {{use: id}}
      Day: {{use: time, format: "%Y-%m-%d"}}
      Weight: {{use: variable, variable: wet, unit: lb, decimals: 0}}
      Dry: {{use: variable, variable: dry, unit: kg}}
      Pressure: {{use: variable, into: [systolic, diastolic], split: /}}
"""


def test_a_recipe_in_reverse_violates_no_constraint(tmp_path: Path) -> None:
    schema, rng = parse_recipe(RECIPE, "here").schema_of_cohort, np.random.default_rng(1)
    values = np.rint(rng.uniform(20, 300, (150, 3, 4)) * 10) / 10
    observed = rng.random(values.shape) < 0.8
    nobody = np.zeros(150, np.int64)
    cohort = Cohort(values, observed, np.full((150, 3), 30.0), nobody + 3, nobody, nobody, nobody)
    model = longsynth.model_of(longsynth.fit_without_privacy(cohort, schema, "bootstrap"))
    made = longsynth.sample(model, 200, seed=1)
    folder = tmp_path / "out"
    folder.mkdir()
    export_writer(RECIPE, "2024-01-01").write(folder, schema, [made])
    import_cohort("table", [folder / "visits.csv"], folder / "recipe.yaml", tmp_path / "back")
    back, cohort = longsynth.read_cohort(tmp_path / "back")
    assert cohort.observed.mean() > 0.5 and broken(back, cohort) == []


def test_check_says_how_many_real_rows_violate_a_constraint(tmp_path: Path) -> None:
    schema = schema_with("cigarettes = 0 if smoker = no", "age < 110")
    longsynth.write_cohort(tmp_path, schema, [clinic()])
    with CohortFolder(tmp_path) as source:
        found = [f for f in examine(source, tmp_path).findings if f.subject == "constraints"]
    parts = violations(constraint(schema.constraints[0], schema), clinic(), schema)
    share = 100 * parts[0].sum() / parts[1].sum()
    assert [f.colour for f in found] == ["red", "green"]
    assert found[0].percent == pytest.approx(share) and found[1].percent == 0
