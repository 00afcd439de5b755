"""What the fuzzer found once, each as a claim of its own."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fuzz.cohorts import ROWS, SCHEMA, typed, write_typed
from leaks.sentinels import MARK
from longsynth.audit.inputs import read_synthetic
from longsynth.govern.provenance import read_provenance
from longsynth.methods.registry import model_of
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.release.folder import read_release
from longsynth.release.internal import FACTS, NUMBERS, read_disclosed
from longsynth.release.internal import SCHEMA as SCHEMA_FILE
from longsynth.release.run import run_fit
from longsynth.release.synthetic_folder import RECIPE, Recipe, read_recipe, recipe_json
from longsynth.schema.file import parse_text
from longsynth.system.errors import Code, CohortError, Refused, ReleaseError, SchemaError
from longsynth.system.text import LONGEST_QUOTE
from refusals import refused
from support import NoNoise


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    folder = tmp_path / "cohort"
    folder.mkdir()
    write_typed(folder)
    return folder


# Cohorts


def test_only_the_columns_that_the_schema_needs_are_copied(
    cohort: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = typed(ROWS).append_column("surname", pa.array([MARK] * 6))
    pq.write_table(rows, cohort / "observations.parquet")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with CohortFolder(cohort) as source:
        copies = [pq.read_schema(path).names for path in tmp_path.glob("longsynth-*/*.parquet")]
        assert list(ROWS) in copies
        assert not any("surname" in names for names in copies)
        assert source.patients == 4


def test_a_column_name_that_is_not_utf_8_is_refused(cohort: Path) -> None:
    table = typed(ROWS)
    pq.write_table(table.append_column("namename", pa.nulls(6)), cohort / "observations.parquet")
    path = cohort / "observations.parquet"
    path.write_bytes(path.read_bytes().replace(b"namename", b"name\xff\xfe\xc4\xff"))
    with pytest.raises(CohortError, match="damaged"):
        CohortFolder(cohort)


def test_a_pipe_instead_of_a_schema_is_refused_at_once(cohort: Path) -> None:
    (cohort / "schema.yaml").unlink()
    os.mkfifo(cohort / "schema.yaml")
    with pytest.raises(CohortError, match="not a file"):
        CohortFolder(cohort)


# Schemas


def test_many_mistakes_are_counted_and_not_all_told() -> None:
    with pytest.raises(SchemaError) as refused:
        parse_text("\n".join(f"key{i}: 1" for i in range(500)), "s.yaml")
    told = str(refused.value).splitlines()
    assert len(told) == 21
    assert told[-1].startswith("and 48")


@pytest.mark.parametrize("key", ["\\e[2J", "a\\rall is well", "\\ud800", "\\u202e", "x" * 900])
def test_a_refusal_holds_nothing_that_a_terminal_obeys_or_cannot_print(key: str) -> None:
    with pytest.raises(SchemaError) as refused:
        parse_text(f'"{key}": 1', "s.yaml")
    for line in str(refused.value).split("\n"):
        assert line.isprintable()
        assert len(line) < 2 * LONGEST_QUOTE


def with_variable(**changes: Any) -> str:
    return json.dumps(SCHEMA | {"variables": [SCHEMA["variables"][0] | changes]})


EXTREMES: dict[str, str] = {
    "bounds that lie too far out": with_variable(bounds=[0, 1e300]),
    "bounds with nothing between": with_variable(bounds=[0, 5e-324]),
    "a bound that no logarithm reaches": with_variable(bounds=[1e-300, 1], transform="log"),
    "an endless scale": with_variable(centre=80, scale=1e308),
    "a scale of nothing": with_variable(centre=80, scale=5e-324),
    "an endless gap": json.dumps(SCHEMA | {"max_gap": 1e308}),
    "no ridge": json.dumps(SCHEMA | {"constants": {"ridge": 1e-300}}),
    "an endless cap": json.dumps(SCHEMA | {"constants": {"eigen_cap": 1e308}}),
    "no floor": json.dumps(SCHEMA | {"constants": {"eigen_floor": 5e-324}}),
}


@pytest.mark.parametrize("case", EXTREMES)
def test_a_public_number_at_which_arithmetic_fails_is_refused_before_any_patient(case: str) -> None:
    with pytest.raises(SchemaError, match="line 1: "):
        parse_text(EXTREMES[case], "s.yaml")


def test_a_reference_scale_that_vanishes_beside_its_centre_is_refused() -> None:
    """Else a patient at the centre would be 0/0, and the only one who is."""
    text = json.loads(with_variable(centre=200, scale=1e-12)) | {"constants": {}}
    parse_text(json.dumps(text), "s.yaml")
    text["constants"] = {"encoding": "reference"}
    with pytest.raises(SchemaError, match="too small beside its centre"):
        parse_text(json.dumps(text), "s.yaml")


# Releases, recipes and what must not be released


def test_a_ledger_cannot_name_noise_of_its_own(cohort: Path, tmp_path: Path) -> None:
    run_fit(cohort, tmp_path / "run", epsilon=1.0, delta=1e-5, noise=NoNoise())
    release = tmp_path / "run/release"
    assert read_release(release).bundle.ledger.noise == "TEST-ONLY: NoNoise"
    text = (release / "ledger.json").read_text()
    for label in ("TEST-ONLY: \\u001b[2J", "TEST-ONLY: \\ud800", "TEST-ONLY", "TEST-ONLY: a b"):
        (release / "ledger.json").write_text(text.replace("TEST-ONLY: NoNoise", label))
        with pytest.raises(ReleaseError, match="not the JSON"):
            read_release(release)


@pytest.mark.parametrize("book", [0, False, "", [], {}], ids=repr)
def test_a_book_that_is_nothing_but_not_null_is_no_provenance(book: object) -> None:
    assert read_provenance({"fitted_by": None, "governance": None, "book": None}) is not None
    assert read_provenance({"fitted_by": None, "governance": None, "book": book}) is None


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"patients": 5.0},
            {"patients": True},
            {"patients": "5"},
            {"patients": None},
            {"seed": "7"},
        ),
        *({"where": {"site": "A"}}, {"where": [["site", "A"]]}, {"where": ["site=\x1b[2J"]}),
        *({"acceptance": 1}, {"acceptance": "0.5"}),
        *({"private": 1}, {"surroundings": []}, {"fingerprint": 7}, {"patients": 10**10}),
    ],
    ids=str,
)
def test_a_recipe_of_other_types_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    content = json.loads(recipe_json(Recipe("f" * 64, 5, 7, ["site=A"])))
    (tmp_path / RECIPE).write_text(json.dumps(content))
    assert read_recipe(tmp_path).patients == 5
    (tmp_path / RECIPE).write_text(json.dumps(content | change))
    with pytest.raises(ReleaseError):
        read_recipe(tmp_path)


@pytest.fixture
def internal(cohort: Path, tmp_path: Path) -> Path:
    run_fit(cohort, tmp_path / "raw", method="independent")
    return tmp_path / "raw/internal"


def test_what_a_method_learnt_is_read_again_unless_a_number_was_changed(internal: Path) -> None:
    model_of(read_disclosed(internal))
    table = pq.read_table(internal / NUMBERS)
    values = table.column("value").to_numpy().copy()
    values[0] += 1
    pq.write_table(table.set_column(1, "value", pa.array(values)), internal / NUMBERS)
    with pytest.raises(ReleaseError, match="Fit again"):
        read_disclosed(internal)


@pytest.mark.parametrize(
    "change",
    [
        *({"patients": float("inf")}, {"patients": 5}, {"patients": -1}, {"method": "bootstrap"}),
        *({"method": []}, {"method": "trust"}, {"method": "x"}, {"fingerprint": None}),
    ],
    ids=str,
)
def test_altered_facts_are_refused(internal: Path, change: dict[str, Any]) -> None:
    facts = json.loads((internal / FACTS).read_text())
    (internal / FACTS).write_text(json.dumps(facts | change))
    with pytest.raises(Refused):
        read_disclosed(internal)


@pytest.mark.parametrize("name", [FACTS, NUMBERS, SCHEMA_FILE, RECIPE])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_refused_at_once(internal: Path, name: str, kind: str) -> None:
    path = internal / name
    path.unlink(missing_ok=True)
    {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "folder": path.mkdir,
    }[kind]()
    with pytest.raises(Refused):
        read_recipe(internal) if name == RECIPE else read_disclosed(internal)


# Weights


def weighted(cohort: Path, tmp_path: Path, ids: pa.Array, rows: pa.Array, weight: pa.Array) -> Path:
    folder = tmp_path / "drawn"
    shutil.copytree(cohort, folder)
    n = len(ids)
    people = {"patient_id": ids, "group": [0] * n, "event": [0] * n, "site": ["A"] * n}
    pq.write_table(pa.table(people | {"weight": weight}), folder / "patients.parquet")
    cells = {"time": [1.0] * n, "pulse": np.arange(1.0, n + 1), "oxygen": [1.0] * n}
    pq.write_table(pa.table({"patient_id": rows} | cells), folder / "observations.parquet")
    return folder


def test_each_patient_keeps_the_weight_of_its_row(cohort: Path, tmp_path: Path) -> None:
    ids, weight = pa.array([10, 9, 100]), pa.array([1.0, 2.0, 3.0])
    _, drawn = read_synthetic(weighted(cohort, tmp_path, ids, ids, weight))
    assert drawn.values[:, 0, 0].tolist() == [2, 1, 3]
    assert drawn.weight.tolist() == [2, 1, 3]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string()], ids=str)
@pytest.mark.parametrize("both", [True, False])
def test_ids_that_are_sorted_as_text_cannot_have_weights(
    cohort: Path, tmp_path: Path, kind: pa.DataType, both: bool
) -> None:
    """As numbers 9 comes before 10, as text it does not: weights would change hands in silence."""
    ids = pa.array([10, 9, 100])
    people = ids.cast(kind) if both else ids
    folder = weighted(cohort, tmp_path, people, ids.cast(kind), pa.array([1.0, 2.0, 3.0]))
    with refused(Code.WEIGHTS_UNUSABLE, CohortError):
        read_synthetic(folder)


@pytest.mark.parametrize("weight", [[1.0, -1.0, 1.0], [0.0] * 3, [1e308] * 3, [1.0, None, 1.0]])
def test_weights_that_cannot_be_used_are_refused(
    cohort: Path, tmp_path: Path, weight: list[float]
) -> None:
    ids = pa.array([1, 2, 3])
    with refused(Code.WEIGHTS_UNUSABLE, CohortError):
        read_synthetic(weighted(cohort, tmp_path, ids, ids, pa.array(weight, pa.float64())))


def test_a_weight_twice_or_damaged_is_refused(cohort: Path, tmp_path: Path) -> None:
    ids = pa.array([1, 2, 3])
    folder = weighted(cohort, tmp_path, ids, ids, pa.array([1.0, 2.0, 3.0]))
    path = folder / "patients.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column("weight", table.column("weight")), path)
    with refused(Code.WEIGHTS_UNUSABLE, CohortError):
        read_synthetic(folder)
    pq.write_table(table, path, use_dictionary=False, compression="none")
    column = pq.read_metadata(path).row_group(0).column(4)
    content = bytearray(path.read_bytes())
    start = column.data_page_offset
    content[start : start + 12] = b"\xff" * 12
    path.write_bytes(content)
    with pytest.raises(CohortError, match="weight"):
        read_synthetic(folder)
