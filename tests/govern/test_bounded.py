"""A small hostile folder cannot keep its reader busy, or fill the reader's memory."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import longsynth.methods.resources
from longsynth import Bundle, Refused, Schema, fit, load_release, model_of, plan
from longsynth.methods.registry import private_method
from longsynth.methods.resources import HOURS, memory_of_machine, needs_of_model
from longsynth.methods.trust.release import kept_pairs
from longsynth.release.folder import FORMAT, Release, release_files
from longsynth.release.synthetic_folder import Recipe, recipe_json, write_synthetic
from longsynth.release.verify import verify
from longsynth.sampling.moments import within_band
from longsynth.schema.file import dump
from preloaded import longsynth as preloaded_longsynth
from support import random_cohort, small_plan, small_schema

MEMORY, SECONDS = 1 << 30, 20  # beside what the libraries take
METHODS = ("trust", "dp-score", "dp-markov", "copula-score")


def run(*arguments: str | Path) -> tuple[int, str]:
    """Run a command with little memory and little time, and return its exit code and words."""
    done = preloaded_longsynth(*arguments, limits=(MEMORY, SECONDS))
    return done.returncode, done.stdout + done.stderr


def refused(*arguments: str | Path) -> str:
    """Run a command that must say in words why it does not go on, and return them."""
    code, said = run(*arguments)
    assert code in (1, 2), (code, said[-500:])
    assert "Traceback" not in said
    assert "unexpected" not in said
    assert "a check stopped with" not in said
    assert 10 < len(said) < 20_000
    return said


def variables(number: int, **others: object) -> list[dict[str, object]]:
    plain = {"kind": "continuous", "bounds": [0, 1], "bounds_from": "x"}
    return [{"name": f"v{v}", **(others or plain)} for v in range(number)]


def hostile(
    folder: Path,
    *,
    method: str = "trust",
    patients: int = 1000,
    statistics: bytes = b'{"strata":[1]}\n',
    schema: str = "",
    promise: dict[str, object] | None = None,
    **facts: object,
) -> Path:
    """Write a folder of a few kilobytes that looks like a release and claims anything."""
    about = {"longsynth": 1, "name": "x", "slots": 4, "max_gap": 24.0, "variables": variables(3)}
    stated = {
        "method": method,
        "patients": patients,
        "epsilon": 4.0,
        "delta": 1e-6,
        "accounting": "zcdp",
        "noise": "OpenDP discrete Gaussian",
    }
    manifest = {"format": FORMAT, "longsynth": "1.0", "provenance": {}}
    folder.mkdir()
    (folder / "STATEMENT.md").write_text("x")
    (folder / "ledger.json").write_text(json.dumps(stated | (promise or {})))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "schema.yaml").write_text(schema or json.dumps(about | facts))
    (folder / "statistics.json").write_bytes(statistics)
    return folder


NOMINAL = {"kind": "nominal", "levels": [f"l{i}" for i in range(60)]}
MANY_SITES = {"column": "site", "levels": [f"s{i}" for i in range(500)]}
CLAIMS: dict[str, dict[str, object]] = {
    **{
        f"{m}: 2,000 × 60": {"method": m, "slots": 2000, "variables": variables(60)}
        for m in METHODS
    },
    **{
        f"{m}: 60-level nominals": {
            "method": m,
            "slots": 2000,
            "variables": variables(700, **NOMINAL),
        }
        for m in METHODS
    },
    **{
        f"{m}: 500 sites": {
            "method": m,
            "slots": 2000,
            "variables": variables(60),
            "site": MANY_SITES,
            "protected": [{"site": f"s{i % 500}", "event": "1", "group": "0"} for i in range(5000)],
        }
        for m in METHODS
    },
    "copula-score: 3,000 variables": {"method": "copula-score", "variables": variables(3000)},
    "trust: 10⁹ patients": {"patients": 10**9},
    "trust: 2⁵² patients": {"patients": 1 << 52},
    "9,000 binary variables": {"slots": 2000, "variables": variables(9000, kind="binary")},
    "many steps and a wide band": {"constants": {"steps": 1000, "bandwidth": 10**30}},
    "the least ε and δ": {"promise": {"epsilon": 1e-6, "delta": 1e-30, "accounting": "gaussian"}},
    "the largest ε": {"promise": {"epsilon": 100.0, "delta": 0.9, "accounting": "gaussian"}},
    "infinite ε": {"promise": {"epsilon": float("inf")}},
    "no number for ε": {"promise": {"epsilon": float("nan")}},
    "a huge whole number": {"promise": {"patients": 10**4000}},
    "a YAML bomb": {"schema": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"},
    "deep YAML": {"schema": "[" * 100_000},
    "deep JSON": {"statistics": b"[" * 1_000_000},
    "lists of nothing": {"statistics": b'{"strata":[' + b"[],[]," * 3_000_000 + b"1]}"},
    "far too many numbers": {"statistics": b'{"strata":[' + b"1," * 30_000_000 + b"1]}"},
    "a number of a million digits": {"statistics": b'{"strata":[' + b"1" * 1_000_000 + b"]}"},
}


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_small_release_that_claims_much_is_refused_at_once(claim: str, tmp_path: Path) -> None:
    folder = hostile(tmp_path / "release", **CLAIMS[claim])  # type: ignore[arg-type]
    refused("verify", folder)


@pytest.mark.parametrize("method", ["copula-score", "dp-markov"])
def test_a_wide_release_that_has_all_its_few_numbers_is_refused(
    method: str, tmp_path: Path
) -> None:
    """What these methods release does not grow with the slots, or grows slowly."""
    about = {"longsynth": 1, "name": "x", "slots": 2000, "max_gap": 24.0}
    schema = Schema.model_validate(about | {"variables": variables(60), "site": MANY_SITES})
    planned = plan(schema, 1000, epsilon=4.0, delta=1e-6, method=method, accounting="zcdp")
    zeros = {e.statistic.name: [0] * e.statistic.dimension for e in planned.ledger.entries}
    statistics = json.dumps(zeros, separators=(",", ":")).encode()
    assert len(statistics) < 1_000_000
    folder = hostile(
        tmp_path / "release",
        method=method,
        statistics=statistics,
        slots=2000,
        variables=variables(60),
        site=MANY_SITES,
    )
    assert "needs about" in refused("verify", folder)


def test_the_refusal_says_what_it_would_take(tmp_path: Path) -> None:
    said = refused("verify", hostile(tmp_path / "release", slots=2000, variables=variables(60)))
    assert "2,000 slots × 60 variables needs about" in said
    assert "larger machine" in said
    said = refused("verify", hostile(tmp_path / "few", slots=20))
    assert "statistics.json has only 15 bytes" in said


COMMANDS: dict[str, tuple[str, ...]] = {
    "sample": ("sample", "{}", "--patients", "5", "--seed", "1", "--out", "{}-drawn"),
    "status": ("status", "{}"),
    "ledger": ("ledger", "{}"),
    "dossier": ("dossier", "{}", "--out", "{}.html"),
    "sign": ("sign", "{}", "--key", "{}-key"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_a_release_refuses_it(command: str, tmp_path: Path) -> None:
    folder = hostile(tmp_path / "r", method="copula-score", slots=2000, variables=variables(60))
    assert run("keygen", "--out", tmp_path / "r-key")[0] == 0
    said = refused(*(word.replace("{}", str(folder)) for word in COMMANDS[command]))
    assert "needs about" in said, said


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, Path]:
    root = tmp_path_factory.mktemp("made")
    bundle = fit(random_cohort(80, 1), small_plan(80))
    (root / "release").mkdir()
    for name, content in release_files(Release(bundle)).items():
        (root / "release" / name).write_bytes(content)
    return bundle, root / "release"


def forged(path: Path, rows: int, like: pa.Schema) -> None:
    """Write a Parquet file that claims so many rows in few bytes."""
    path.parent.mkdir(exist_ok=True)
    group = min(rows, 50_000_000)
    table = pa.table([pa.nulls(group, field.type) for field in like], schema=like)
    with pq.ParquetWriter(path, like, compression="zstd", data_page_size=1 << 30) as writer:
        for _ in range(rows // max(group, 1)):
            writer.write_table(table, row_group_size=group)


CLAIMED = 2 * 10**8  # to draw so many again takes hours, and more memory than there is


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("huge") / "people.parquet"
    forged(path, CLAIMED, pa.schema([("subject_id", pa.int8())]))
    assert path.stat().st_size < 5_000_000
    return path


@pytest.mark.parametrize("form", ["meds", "cohort", "events", "parts"])
@pytest.mark.parametrize("all_there", [False, True], ids=["files missing", "every file"])
def test_no_more_is_drawn_again_than_a_folder_holds(
    form: str, all_there: bool, made: tuple[Bundle, Path], huge: Path, tmp_path: Path
) -> None:
    bundle, release = made
    recipe = Recipe(bundle.fingerprint, CLAIMED, 9, form=form)
    drawn = tmp_path / "drawn"
    for name in recipe.files if all_there else recipe.people:
        (drawn / name).parent.mkdir(parents=True, exist_ok=True)
        (drawn / name).touch()
    for name in recipe.people[:1]:
        shutil.copy(huge, drawn / name)
    for name in recipe.people[1:]:
        forged(drawn / name, 0, pa.schema([("patient_id", pa.int64())]))
    drawn.joinpath("synthetic.json").write_bytes(recipe_json(recipe))
    said = refused("verify", release, drawn)
    assert ("does NOT hold the patients" if all_there else "lacks ") in said


def test_a_small_workbook_is_weighed_before_its_patients_are_drawn_again(
    made: tuple[Bundle, Path], tmp_path: Path
) -> None:
    bundle, release = made
    drawn = tmp_path / "drawn"
    drawn.mkdir()
    recipe = Recipe(bundle.fingerprint, 900_000, 9, form="excel")
    for name in recipe.files:
        (drawn / name).touch()
    with ZipFile(drawn / recipe.people[0], "w", ZIP_DEFLATED) as book:
        book.writestr("xl/worksheets/sheet1.xml", b"<row />" * (recipe.patients + 1))
    drawn.joinpath("synthetic.json").write_bytes(recipe_json(recipe))
    assert "does NOT hold the patients" in refused("verify", release, drawn)


def test_a_table_that_claims_more_rows_is_not_read(
    made: tuple[Bundle, Path], tmp_path: Path
) -> None:
    bundle, release = made
    drawn = tmp_path / "drawn"
    drawn.mkdir()
    recipe = Recipe(bundle.fingerprint, 50, 9, surroundings={"python": "another"})
    write_synthetic(drawn, model_of(bundle), recipe)
    like = pq.read_schema(drawn / "observations.parquet")
    forged(drawn / "observations.parquet", 3 * MEMORY // (2 * 8 * len(like)), like)
    assert "DIFFERS by more than rounding" in refused("verify", release, drawn)


def cluttered(folder: Path) -> None:
    for i in range(3000):
        (folder / f"note-{i}").touch()


SURPRISES: dict[str, Callable[[Path], object]] = {
    "many files": cluttered,
    "a link to itself": lambda f: (f / "loop").symlink_to(f),
    "a link to the root": lambda f: (f / "root").symlink_to("/"),
    "a pipe": lambda f: ((f / "schema.yaml").unlink(), os.mkfifo(f / "schema.yaml")),
    "an endless file": lambda f: (
        (f / "ledger.json").unlink(),
        (f / "ledger.json").symlink_to("/dev/zero"),
    ),
    "a sparse file": lambda f: os.truncate(f / "schema.yaml", 1 << 40),
}


@pytest.mark.parametrize("surprise", SURPRISES)
def test_what_else_stands_in_a_folder_does_not_hold_its_reader_up(
    surprise: str, made: tuple[Bundle, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(made[1], tmp_path / "release"))
    SURPRISES[surprise](folder)
    refused("verify", folder)


def test_a_model_that_takes_too_long_is_neither_fitted_nor_read(
    made: tuple[Bundle, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(longsynth.methods.resources, "HOURS", 1e-12)
    with pytest.raises(Refused, match="of one core, and the limit is 1e-12 h"):
        load_release(made[1])
    with pytest.raises(Refused, match="the limit is"):
        fit(random_cohort(80, 1), small_plan(80))
    assert any("the limit is" in finding.sentence for finding in verify(made[1]))


@pytest.mark.parametrize("method", METHODS)
def test_a_large_honest_schema_stays_within_the_limits(method: str) -> None:
    about = {"longsynth": 1, "name": "x", "slots": 72, "max_gap": 24.0}
    schema = Schema.model_validate(about | {"variables": variables(24), "site": MANY_SITES})
    needs = needs_of_model(private_method(method), schema, 10**6)
    assert needs.memory < 16e9
    assert needs.seconds < 3600 * HOURS


def test_the_estimate_covers_what_a_model_takes() -> None:
    """Of the matrices that a Gaussian keeps, at least; how much more is a matter of taste."""
    about = {"longsynth": 1, "name": "x", "slots": 50, "max_gap": 24.0}
    schema = Schema.model_validate(about | {"variables": variables(20)})
    assert needs_of_model(private_method("trust"), schema, 1000).memory > 3 * 8 * 1000**2
    assert memory_of_machine() > 0


@pytest.mark.parametrize("bandwidth", [0, 1, 3, 100, 10**30])
@pytest.mark.parametrize("static", [(), (0,), (1, 2), (2,)])
def test_the_band_of_a_plan_is_the_band_of_the_matrix(
    bandwidth: int, static: tuple[int, ...]
) -> None:
    """A plan counts the pairs without making the matrix of them."""
    about = small_schema().model_dump(mode="json", exclude_defaults=True)
    for v in static:
        about["variables"][v]["static"] = True
    if len(static) < 3:
        about["constants"] = {"bandwidth": bandwidth}
        schema = Schema.model_validate(about).resolved(100)
        near = within_band(schema.layout.value_slot, min(bandwidth, schema.slots))
        ends = np.arange(schema.width) + np.triu(near).sum(axis=1)
        assert kept_pairs(schema) == tuple(ends.tolist())
        assert schema.width == len(schema.layout.value_slot)
        assert schema.layout.cells == len(schema.layout.cell_slot)
        assert "variables" in dump(schema)
        assert plan(schema, 100, epsilon=1, delta=1e-5, method="trust").stages
