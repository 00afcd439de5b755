"""Folders that others send, folders that hold patients, and what a form approves: the claims that
`tests/govern` and `tests/atomic` test at length, in seconds."""

import json
import os
import tempfile
from pathlib import Path
from stat import S_IMODE

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth import Bundle, Schema, fit
from longsynth.govern.provenance import Provenance
from longsynth.methods.trust import Trust
from longsynth.release import synthetic_folder
from longsynth.release.folder import FORMAT, Release, release_files
from longsynth.release.form_check import schema_sha256
from longsynth.release.statement import statement
from longsynth.release.synthetic_folder import Recipe, recipe_json
from longsynth.release.verify import verify
from longsynth.sample import CHUNK
from longsynth.system import scratch
from longsynth.system.folders import new_folder
from longsynth.system.scratch import PREFIX, ScratchFolder
from support import random_cohort, small_plan, small_schema

SECRET = 0.123456789


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return fit(random_cohort(60, 1), small_plan(60))


def test_nothing_is_planned_for_a_release_that_no_machine_could_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[Schema] = []

    def stages(_: Trust, schema: Schema) -> tuple[()]:
        planned.append(schema)
        return ()

    monkeypatch.setattr(Trust, "stages", stages)
    variables = [{"name": f"v{v}", "kind": "binary"} for v in range(60)]
    schema = {"longsynth": 1, "name": "x", "slots": 2000, "max_gap": 9.0, "variables": variables}
    promise = {"method": "trust", "patients": 99, "epsilon": 1.0, "delta": 1e-6}
    stated = promise | {"accounting": "zcdp", "noise": "OpenDP discrete Gaussian"}
    manifest = {"format": FORMAT, "longsynth": "1.0", "provenance": {}}
    files = {"schema.yaml": schema, "ledger.json": stated, "manifest.json": manifest}
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "statistics.json").write_text("{}")
    (tmp_path / "STATEMENT.md").write_text("x")
    findings = verify(tmp_path)
    assert any("needs about" in f.sentence for f in findings if not f.good), findings
    assert planned == []


def test_no_more_is_drawn_again_than_a_folder_has_bytes_for(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic_folder, "MARGIN", 0)
    release, drawn = tmp_path / "release", tmp_path / "drawn"
    for folder in (release, drawn):
        folder.mkdir()
    for name, content in release_files(Release(bundle)).items():
        (release / name).write_bytes(content)
    recipe = Recipe(bundle.fingerprint, 3 * CHUNK, 9)
    for name in recipe.files:
        (drawn / name).touch()
    nobody = pa.nulls(recipe.patients, pa.int8())
    pq.write_table(pa.table({"patient_id": nobody}), drawn / recipe.people[0])
    (drawn / "synthetic.json").write_bytes(recipe_json(recipe))
    sentences = [f.sentence for f in verify(release, drawn) if not f.good]
    assert any("does NOT hold the patients" in sentence for sentence in sentences), sentences


@pytest.mark.parametrize("constant", ["strength", "grid_bits", "ridge"])
def test_a_form_approves_every_number_of_a_schema(constant: str) -> None:
    value = 9 if constant == "grid_bits" else SECRET
    assert schema_sha256(small_schema(**{constant: value})) != schema_sha256(small_schema())


@pytest.mark.parametrize("constant", ["strength", "ridge", "clip_radius"])
def test_a_release_says_which_numbers_someone_chose(constant: str) -> None:
    made = fit(random_cohort(60, 1), small_plan(60, small_schema(**{constant: SECRET})))
    assert f"`{constant}` = {SECRET}" in statement(made, Provenance())


def test_what_is_internal_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with new_folder(tmp_path / "run") as folder:
            (folder / "internal").mkdir()
            (folder / "internal" / "facts").write_text("x")
        with new_folder(tmp_path / "audit", owner_only=True) as folder:
            (folder / "facts").write_text("x")
    finally:
        os.umask(before)
    for private in (tmp_path / "run" / "internal", tmp_path / "audit"):
        assert S_IMODE(private.stat().st_mode) == 0o700
        assert S_IMODE((private / "facts").stat().st_mode) == 0o600


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch._remove_leftovers.cache_clear()
    return tmp_path


def test_a_leftover_of_patients_rows_is_removed(temporary: Path) -> None:
    left = temporary / f"{PREFIX}abcdefgh"
    left.mkdir(mode=0o700)
    (left / "rows").write_text("x")
    ScratchFolder().close()
    assert list(temporary.iterdir()) == []


def test_a_folder_in_use_is_no_leftover(temporary: Path) -> None:
    with ScratchFolder() as used:
        (used.path / "rows").write_text("x")
        scratch._remove_leftovers.cache_clear()
        with ScratchFolder() as other:
            assert (used.path / "rows").exists(), "the rows of a living process were removed"
            assert other.path != used.path
