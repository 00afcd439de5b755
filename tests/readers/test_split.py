"""Patients that are held out before a fit, and an audit that believes nobody else."""

import hashlib
import hmac
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth.commands.app import app
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.reading.split import held_out, shared_patients, split_cohort
from longsynth.system.errors import Code, Refused
from longsynth.writing.cohort import write_cohort
from refusals import refused

TABLES = ("patients", "observations")


def _cohort(folder: Path, patients: int = 61, *, first: int = 1) -> Path:
    folder.mkdir()
    write_cohort(folder, simulated_schema(), [simulate(patients, seed=3)], first=first)
    (folder / "recipe.yaml").write_text("longsynth_recipe: 1\n")
    return folder


def _ids(cohort: Path, table: str = "patients") -> list[object]:
    return pq.read_table(cohort / f"{table}.parquet")["patient_id"].to_pylist()


@pytest.mark.parametrize("text", [False, True], ids=["whole numbers", "text"])
def test_every_row_goes_to_its_patients_side_as_it_is_and_in_its_order(
    tmp_path: Path, text: bool
) -> None:
    cohort = _cohort(tmp_path / "cohort")
    if text:
        for name in TABLES:
            table = pq.read_table(cohort / f"{name}.parquet")
            named = pa.array([f"p{i}" for i in table["patient_id"].to_pylist()])
            pq.write_table(table.set_column(0, "patient_id", named), cohort / f"{name}.parquet")
    split_cohort(cohort, 0.2, tmp_path / "parts")
    held = set(_ids(tmp_path / "parts" / "holdout"))
    for name in TABLES:
        whole = pq.read_table(cohort / f"{name}.parquet")
        mine = pa.array([i in held for i in whole["patient_id"].to_pylist()])
        for part, mask in (("train", [not m.as_py() for m in mine]), ("holdout", mine)):
            written = pq.read_table(tmp_path / "parts" / part / f"{name}.parquet")
            assert written.equals(whole.filter(mask)), (name, part)
    for part in ("train", "holdout"):
        for name in ("schema.yaml", "recipe.yaml"):
            assert (tmp_path / "parts" / part / name).read_bytes() == (cohort / name).read_bytes()


def test_rows_beyond_one_batch_keep_their_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longsynth.reading.split.ROWS", 7)
    cohort = _cohort(tmp_path / "cohort")
    split_cohort(cohort, 0.4, tmp_path / "parts")
    parts = [tmp_path / "parts" / part for part in ("train", "holdout")]
    for part in parts:
        assert set(_ids(part, "observations")) <= set(_ids(part))
    assert sum(len(_ids(part, "observations")) for part in parts) == len(
        _ids(cohort, "observations")
    )


def test_the_patients_with_the_smallest_keyed_hashes_are_held_out(tmp_path: Path) -> None:
    cohort = _cohort(tmp_path / "cohort")
    sides = set()
    for n in range(3):
        parts = tmp_path / str(n)
        assert split_cohort(cohort, 0.2, parts) == (49, 12)
        key = bytes.fromhex((parts / "internal" / "split.key").read_text())
        assert len(key) == 32
        ranked = sorted(
            _ids(cohort),
            key=lambda i: hmac.digest(key, str(i).encode(), hashlib.sha256),
        )
        assert set(_ids(parts / "holdout")) == set(ranked[:12])
        assert set(_ids(parts / "train")) == set(ranked[12:])
        sides.add(frozenset(ranked[:12]))
    assert len(sides) == 3, "each split draws its own key"


def test_both_parts_can_be_fitted_and_only_their_owner_can_read_them(tmp_path: Path) -> None:
    cohort = _cohort(tmp_path / "cohort")
    app(["split", str(cohort), "--out", str(tmp_path / "parts")], standalone_mode=False)
    for part, patients in (("train", 49), ("holdout", 12)):
        with CohortFolder(tmp_path / "parts" / part) as opened:
            assert opened.patients == patients
    everything = [tmp_path / "parts", *(tmp_path / "parts").rglob("*")]
    assert len(everything) > 10
    assert all(path.stat().st_mode & 0o077 == 0 for path in everything)


def test_replacing_one_patient_replaces_at_most_one_of_either_part() -> None:
    key = bytes(32)

    def held(ids: set[int]) -> set[int]:
        ranked = sorted(ids, key=lambda i: hmac.digest(key, str(i).encode(), hashlib.sha256))
        return set(ranked[: held_out(len(ids), 0.2)])

    before = set(range(50))
    for gone in before:
        after = before - {gone} | {1000}
        assert len(held(before) - held(after)) <= 1
        assert len((before - held(before)) - (after - held(after))) <= 1


@pytest.mark.parametrize("share", [0.0, 1.0, 0.001, -0.5, 2.0, float("nan")])
def test_a_share_that_leaves_a_part_empty_is_refused(tmp_path: Path, share: float) -> None:
    cohort = _cohort(tmp_path / "cohort")
    with refused(Code.OPTION_UNUSABLE):
        split_cohort(cohort, share, tmp_path / "parts")
    assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize(
    ("share", "remedies"), [(2, ("0.2", "0.01")), (20, ("0.2", "0.1")), (500, ("0.2",))]
)
def test_a_number_that_is_no_share_is_read_as_a_count_too(
    share: float, remedies: tuple[str, ...]
) -> None:
    with pytest.raises(Refused) as refusal:
        held_out(200, share)
    assert re.findall(r"0\.\d+", refusal.value.remedy) == list(remedies)


def test_ids_that_two_cohorts_share_are_counted_whatever_their_type(tmp_path: Path) -> None:
    first = _cohort(tmp_path / "first")
    second = _cohort(tmp_path / "second", 20, first=52)
    for name in TABLES:
        table = pq.read_table(second / f"{name}.parquet")
        text = table["patient_id"].cast(pa.string())
        pq.write_table(table.set_column(0, "patient_id", text), second / f"{name}.parquet")
    assert shared_patients(first, second) == 10
    assert shared_patients(first, _cohort(tmp_path / "third", 20, first=62)) == 0


@pytest.mark.parametrize("role", ["--test", "--control"])
def test_an_audit_does_not_call_fitted_patients_held_out(tmp_path: Path, role: str) -> None:
    train = _cohort(tmp_path / "train")
    other = _cohort(tmp_path / "other", 20, first=1001)
    fitted = _cohort(tmp_path / "fitted", 20, first=61)  # one patient in common
    given = {"--train": train, "--test": other, "--synthetic": other, role: fitted}
    arguments = [str(part) for pair in given.items() for part in pair]
    with refused(Code.NOT_HELD_OUT) as caught:
        app(["audit", *arguments, "--out", str(tmp_path / "audit")], standalone_mode=False)
    assert "61" not in str(caught.value).replace(str(tmp_path), "")
    assert not (tmp_path / "audit").exists()
