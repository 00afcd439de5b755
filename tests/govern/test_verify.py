"""verify finds what was changed, and says so; a release holds what it may hold."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth import Bundle, Refused, fit, load_release, model_of
from longsynth.govern.provenance import Provenance
from longsynth.privacy.curator import Curator
from longsynth.privacy.ledger import Ledger
from longsynth.privacy.noise import OPENDP
from longsynth.release.folder import ALLOWED, Release, release_files
from longsynth.release.statement import ledger_json, odds_in_words, statement
from longsynth.release.synthetic_folder import Recipe, write_synthetic
from longsynth.release.verify import verify
from longsynth.system.errors import Code
from longsynth.system.folders import as_json
from refusals import refused
from support import NoNoise, random_cohort, small_plan, small_schema


def write(bundle: Bundle, folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, content in release_files(Release(bundle)).items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, Path, Path]:
    root = tmp_path_factory.mktemp("made")
    bundle = fit(random_cohort(80, 1), small_plan(80))
    release = write(bundle, root / "release")
    drawn = root / "drawn"
    drawn.mkdir()
    write_synthetic(drawn, model_of(bundle), Recipe(bundle.fingerprint, 50, 9))
    return bundle, release, drawn


@pytest.fixture
def copies(made: tuple[Bundle, Path, Path], tmp_path: Path) -> tuple[Bundle, Path, Path]:
    bundle, release, drawn = made
    return (
        bundle,
        Path(shutil.copytree(release, tmp_path / "release")),
        Path(shutil.copytree(drawn, tmp_path / "drawn")),
    )


def failures(release: Path, synthetic: Path | None = None) -> list[str]:
    return [f.sentence for f in verify(release, synthetic) if not f.good]


def test_an_untouched_release_and_its_sample_hold(copies: tuple[Bundle, Path, Path]) -> None:
    _, release, drawn = copies
    assert failures(release, drawn) == []
    assert any("bit for bit" in f.sentence for f in verify(release, drawn))


def test_a_release_reads_back_as_the_bundle_it_was(copies: tuple[Bundle, Path, Path]) -> None:
    bundle, release, _ = copies
    back = load_release(release)
    assert back.ledger == bundle.ledger
    assert back.schema == bundle.schema
    assert back.fingerprint == bundle.fingerprint
    for name, released in bundle.released.items():
        assert np.array_equal(back.released[name].values, released.values)


def test_a_release_is_written_from_the_allow_list(made: tuple[Bundle, Path, Path]) -> None:
    assert set(release_files(Release(made[0]))) == set(ALLOWED)


def test_the_same_bundle_gives_the_same_bytes(made: tuple[Bundle, Path, Path]) -> None:
    assert release_files(Release(made[0])) == release_files(Release(made[0]))


def change_json(name: str, edit: Callable[[dict], None]) -> Callable[[Path], None]:  # type: ignore[type-arg]
    def apply(release: Path) -> None:
        content = json.loads((release / name).read_text())
        edit(content)
        (release / name).write_bytes(as_json(content))

    return apply


def ledger(**changes: object) -> Callable[[Path], None]:
    return change_json("ledger.json", lambda content: content.update(changes))


def line(**changes: object) -> Callable[[Path], None]:
    return change_json("ledger.json", lambda content: content["entries"][0].update(changes))


def exact(**changes: object) -> Callable[[Path], None]:
    return change_json(
        "ledger.json", lambda content: content["entries"][0]["exact"].update(changes)
    )


def linked(release: Path) -> None:
    (release / "STATEMENT.md").rename(release.parent / "elsewhere")
    (release / "STATEMENT.md").symlink_to(release.parent / "elsewhere")


ALTERED = "ledger.json does NOT follow"
BROKEN = "is not the JSON that longsynth writes"
TAMPERING: dict[str, tuple[Callable[[Path], None], str]] = {
    "a number": (
        change_json("statistics.json", lambda c: c["strata"].__setitem__(0, 5)),
        "manifest.json does NOT match",
    ),
    "a number more": (
        change_json("statistics.json", lambda c: c["strata"].append(5)),
        "whole numbers of 'strata'",
    ),
    "half a number": (
        change_json("statistics.json", lambda c: c["strata"].__setitem__(0, 0.5)),
        "whole numbers of 'strata'",
    ),
    "a huge number": (
        change_json("statistics.json", lambda c: c["strata"].__setitem__(0, 1 << 70)),
        "whole numbers of 'strata'",
    ),
    "an unledgered statistic": (
        change_json("statistics.json", lambda c: c.update(raw=[1, 2])),
        "statistics.json does NOT follow",
    ),
    "a note in the manifest": (
        change_json("manifest.json", lambda c: c.update(note="patient 7")),
        "manifest.json does NOT match",
    ),
    "another version": (
        change_json("manifest.json", lambda c: c.update(longsynth="99.0-evil")),
        "names no version",
    ),
    "a note in the ledger": (ledger(note="patient 7"), ALTERED),
    "a comment in the schema": (
        lambda r: (r / "schema.yaml").write_text((r / "schema.yaml").read_text() + "# patient 7"),
        "schema.yaml does NOT follow",
    ),
    "the statement": (
        lambda r: (r / "STATEMENT.md").write_text("ε = 0.1"),
        "STATEMENT.md does NOT follow",
    ),
    "a link": (linked, "STATEMENT.md is not a file"),
    "a foreign file": (lambda r: (r / "notes.csv").write_text("x"), "also holds 'notes.csv'"),
    "a misleading name": (lambda r: (r / "x\nok all").write_text("x"), "'x\\nok all'"),
    "a missing file": (lambda r: (r / "ledger.json").unlink(), "lacks ledger.json"),
    "a missing statement": (lambda r: (r / "STATEMENT.md").unlink(), "lacks STATEMENT.md"),
    "a smaller ε": (ledger(epsilon=1.0), ALTERED),
    "another accounting": (ledger(accounting="paper"), ALTERED),
    "no accounting": (ledger(accounting="none"), BROKEN),
    "more patients": (ledger(patients=81), "STATEMENT.md does NOT follow"),
    "no patients": (ledger(patients=0), BROKEN),
    "endless patients": (ledger(patients=10**400), BROKEN),
    "patients in words": (ledger(patients="80"), BROKEN),
    "an endless ε": (ledger(epsilon=float("inf")), "1 to 12 is usual"),
    "no ε": (ledger(epsilon=None), BROKEN),
    "another method": (ledger(method="magic"), "is unknown"),
    "no lines": (ledger(entries=[]), ALTERED),
    "less noise": (exact(sigma=5.0), ALTERED),
    "endless noise": (exact(sigma=float("inf")), ALTERED),
    "a cheaper line": (exact(rho="1/1000000"), ALTERED),
    "an absurd fraction": (exact(rho="1e999999999"), ALTERED),
    "other noise": (ledger(noise="TEST-ONLY: x"), "do NOT add up"),
    "noise of no name": (ledger(noise="none"), BROKEN),
    "other noise on a line": (line(noise="TEST-ONLY: x"), ALTERED),
    "a constant": (
        lambda r: (r / "schema.yaml").write_text(
            (r / "schema.yaml").read_text().replace("steps: 20", "steps: 19")
        ),
        "manifest.json does NOT match",
    ),
    "the band": (
        lambda r: (r / "schema.yaml").write_text(
            (r / "schema.yaml").read_text().replace("bandwidth: 3", "bandwidth: 2")
        ),
        "does not hold the 69 whole numbers of 'second'",
    ),
    "the format": (
        change_json("manifest.json", lambda c: c.update(format=9)),
        "another release format",
    ),
    "garbage": (lambda r: (r / "ledger.json").write_bytes(b"\x00"), BROKEN),
    "a list": (lambda r: (r / "ledger.json").write_text("[1]"), BROKEN),
    "deep nesting": (lambda r: (r / "ledger.json").write_text("[" * 100_000), BROKEN),
    "deep YAML": (lambda r: (r / "schema.yaml").write_text("[" * 900_000), "schema.yaml"),
    "a large file": (
        lambda r: (r / "STATEMENT.md").write_bytes(b"x" * 2_000_000),
        "STATEMENT.md is not a file",
    ),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_tampering_is_found_and_the_folder_refused(
    copies: tuple[Bundle, Path, Path], what: str
) -> None:
    tamper, sentence = TAMPERING[what]
    tamper(copies[1])
    found = failures(copies[1])
    assert any(sentence in f for f in found), found
    if what not in ("a foreign file", "a misleading name"):
        with pytest.raises(Refused):
            load_release(copies[1])


def test_a_consistent_forgery_of_a_share_differs_from_the_plan(
    copies: tuple[Bundle, Path, Path], tmp_path: Path
) -> None:
    """Recomputing every hash does not help who changed a share."""
    bundle, _, _ = copies
    first, *rest = bundle.ledger.entries
    assert first.rho is not None
    forged = replace(first, share=first.share / 2, rho=first.rho / 2, sigma=first.sigma * 2)
    ledger = replace(bundle.ledger, entries=(forged, *rest))
    released = bundle.released | {
        first.statistic.name: replace(bundle.released[first.statistic.name], entry=forged)
    }
    release = write(replace(bundle, ledger=ledger, released=released), tmp_path / "forged")
    assert any(ALTERED in f for f in failures(release))


def test_exact_sums_that_claim_to_be_noised_are_found(tmp_path: Path) -> None:
    bare = fit(random_cohort(80, 1), small_plan(80), noise=NoNoise())
    entries = tuple(replace(e, noise=OPENDP) for e in bare.ledger.entries)
    released = {
        e.statistic.name: replace(bare.released[e.statistic.name], entry=e) for e in entries
    }
    forged = replace(bare, ledger=replace(bare.ledger, entries=entries), released=released)
    release = write(forged, tmp_path / "forged")
    assert any("do NOT carry the noise" in f for f in failures(release))


def test_test_noise_is_marked_and_refused_later(tmp_path: Path) -> None:
    bundle = fit(random_cohort(80, 1), small_plan(80), noise=NoNoise())
    release = write(bundle, tmp_path / "release")
    assert "TEST-ONLY" in (release / "STATEMENT.md").read_text()
    with refused(Code.NOT_PRIVATE):
        load_release(release)
    assert any("protects nobody" in f for f in failures(release))


def test_what_was_disclosed_cannot_be_released() -> None:
    curator = Curator(Ledger(None, 3))
    found = curator.disclose("records", "everything", np.arange(3))
    bundle = Bundle("trust", small_schema().resolved(3), curator.ledger, {"records": found})
    with refused(Code.NOT_PRIVATE):
        release_files(Release(bundle))
    with pytest.raises(TypeError, match="no guarantee"):
        ledger_json("trust", curator.ledger)


def edit_cell(folder: Path, by: float) -> None:
    table = pq.read_table(folder / "observations.parquet")
    values = table.column("pulse").to_numpy(zero_copy_only=False).copy()
    seen = np.flatnonzero(np.isfinite(values))
    values[seen] += by
    column = pa.array(values, mask=~np.isfinite(values))
    pq.write_table(table.set_column(2, "pulse", column), folder / "observations.parquet")


def elsewhere(folder: Path) -> None:
    content = json.loads((folder / "synthetic.json").read_text())
    content["surroundings"]["numpy"] = "2.0.0"
    (folder / "synthetic.json").write_bytes(as_json(content))


def test_a_changed_synthetic_cell_is_found(copies: tuple[Bundle, Path, Path]) -> None:
    edit_cell(copies[2], 1e-9)
    assert any("DIFFERS from what seed 9 gives here" in f for f in failures(copies[1], copies[2]))


def test_rounding_of_another_platform_is_tolerated_and_said(
    copies: tuple[Bundle, Path, Path],
) -> None:
    edit_cell(copies[2], 1e-9)
    elsewhere(copies[2])
    assert failures(copies[1], copies[2]) == []
    assert any("another numpy" in f.sentence for f in verify(copies[1], copies[2]))


def test_more_than_rounding_is_found_on_any_platform(copies: tuple[Bundle, Path, Path]) -> None:
    edit_cell(copies[2], 0.5)
    elsewhere(copies[2])
    assert any("more than rounding explains" in f for f in failures(copies[1], copies[2]))


def test_a_sample_of_another_release_is_found(
    copies: tuple[Bundle, Path, Path], tmp_path: Path
) -> None:
    other = write(fit(random_cohort(80, 1), small_plan(80)), tmp_path / "other")
    assert any("NOT sampled from this release" in f for f in failures(other, copies[2]))


def test_another_seed_is_found(copies: tuple[Bundle, Path, Path]) -> None:
    content = json.loads((copies[2] / "synthetic.json").read_text()) | {"seed": 10}
    (copies[2] / "synthetic.json").write_bytes(as_json(content))
    assert any("DIFFERS" in f for f in failures(copies[1], copies[2]))


@pytest.mark.parametrize("recipe", ["", "[]", '{"seed": "x"}', '{"fingerprint": 1}'])
def test_a_folder_without_a_recipe_cannot_be_verified(
    copies: tuple[Bundle, Path, Path], recipe: str
) -> None:
    (copies[2] / "synthetic.json").write_text(recipe)
    (failure,) = failures(copies[1], copies[2])
    assert failure.startswith(f"{copies[2] / 'synthetic.json'} is not the JSON")
    (copies[2] / "synthetic.json").unlink()
    assert "has no synthetic.json" in failures(copies[1], copies[2])[0]


def test_a_foreign_file_among_synthetic_ones_is_found(copies: tuple[Bundle, Path, Path]) -> None:
    (copies[2] / "raw.csv").write_text("x")
    assert any("also holds 'raw.csv'" in f for f in failures(copies[1], copies[2]))


def put(folder: Path, name: str, column: str, values: pa.Array) -> None:
    table = pq.read_table(folder / name)
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, column, values), folder / name)


@pytest.mark.parametrize("what", ["weights", "one cell", "metadata", "recipe"])
def test_claiming_another_platform_hides_nothing(
    copies: tuple[Bundle, Path, Path], what: str
) -> None:
    folder = copies[2]
    elsewhere(folder)
    match what:
        case "weights":
            notes = pa.array([f"patient {i}" for i in range(50)])
            put(folder, "patients.parquet", "weight", notes)
        case "one cell":
            dose = pq.read_table(folder / "observations.parquet").column("dose").to_pylist()
            dose[dose.index(next(d for d in dose if d is not None))] = 3.7
            put(folder, "observations.parquet", "dose", pa.array(dose, pa.float64()))
        case "metadata":
            table = pq.read_table(folder / "patients.parquet")
            pq.write_table(
                table.replace_schema_metadata({"note": "x"}), folder / "patients.parquet"
            )
        case "recipe":
            content = json.loads((folder / "synthetic.json").read_text()) | {"note": "x"}
            (folder / "synthetic.json").write_bytes(as_json(content))
    assert any("more than rounding explains" in f for f in failures(copies[1], folder))


@pytest.mark.parametrize("name", ["synthetic.json", "patients.parquet"])
def test_a_pipe_among_synthetic_files_is_not_read(
    copies: tuple[Bundle, Path, Path], name: str
) -> None:
    (copies[2] / name).unlink()
    os.mkfifo(copies[2] / name)
    assert any("not a file that longsynth writes" in f for f in failures(copies[1], copies[2]))


def test_a_folder_that_calls_itself_not_private_is_believed(
    copies: tuple[Bundle, Path, Path],
) -> None:
    content = json.loads((copies[2] / "synthetic.json").read_text()) | {"private": False}
    (copies[2] / "synthetic.json").write_bytes(as_json(content))
    assert any("NOT PRIVATE" in f for f in failures(copies[1], copies[2]))


def test_many_patients_in_no_space_are_not_drawn(copies: tuple[Bundle, Path, Path]) -> None:
    n = 3_000_000
    pq.write_table(pa.table({"x": np.zeros(n, np.int8)}), copies[2] / "patients.parquet")
    content = json.loads((copies[2] / "synthetic.json").read_text()) | {"patients": n}
    (copies[2] / "synthetic.json").write_bytes(as_json(content))
    assert any("does NOT hold the patients" in f for f in failures(copies[1], copies[2]))


def test_the_statement_rounds_no_promise_down() -> None:
    planned = small_plan(80, epsilon=1.0000049, delta=1.0000049e-5)
    text = statement(fit(random_cohort(80, 1), planned), Provenance())
    assert "ε = 1.0000049, δ = 1.0000049e-05" in text
    assert odds_in_words(1.2) == "3.33"
    assert odds_in_words(12) == "162,755"


def test_a_recipe_for_more_patients_than_there_are_draws_nothing(
    copies: tuple[Bundle, Path, Path],
) -> None:
    content = json.loads((copies[2] / "synthetic.json").read_text()) | {"patients": 10**9}
    (copies[2] / "synthetic.json").write_bytes(as_json(content))
    assert any("does NOT hold the patients" in f for f in failures(copies[1], copies[2]))


def test_a_folder_that_is_not_there_is_a_finding_not_a_traceback(tmp_path: Path) -> None:
    assert failures(tmp_path / "nowhere")
