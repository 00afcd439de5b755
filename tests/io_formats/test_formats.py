"""Synthetic patients leave as events or as MEDS, and come back as the same patients."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from longsynth import fit, model_of, plan, sample
from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.importing import import_cohort
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Synthetic
from longsynth.schema.schema import Schema
from longsynth.writing import FORMATS

SLOTS = 5
DOCS = Path(__file__).parents[2] / "docs"


def rich_schema() -> Schema:
    """A variable of each kind, over time and once; a level with signs that formats may trip on."""
    return Schema.model_validate(
        {
            "longsynth": 1,
            "name": "rich",
            "slots": SLOTS,
            "max_gap": 48,
            "site": {"column": "site", "levels": ["A", "B//C", "Ü"]},
            "variables": [
                {"name": "x", "unit": "mg/dL", "kind": "continuous", "bounds": [0, 9]}
                | {"bounds_from": "a book"},
                {"name": "grade", "kind": "ordinal", "bounds": [0, 4], "bounds_from": "a scale"},
                {"name": "oxygen", "kind": "binary", "levels": ["no", "yes, some"]},
                {"name": "rhythm", "kind": "nominal", "levels": ["sinus", "AF//fast", "paced"]},
                {"name": "age", "kind": "continuous", "static": True, "bounds": [0, 120]}
                | {"bounds_from": "life"},
                {"name": "sex", "kind": "nominal", "static": True, "levels": ["f", "m", "x"]},
            ],
        }
    )


@pytest.fixture(scope="module")
def drawn() -> Synthetic:
    schema, rng, n = rich_schema(), np.random.default_rng(1), 80
    values = np.stack(
        [
            rng.uniform(0, 9, (n, SLOTS)),
            *(rng.integers(0, k, (n, SLOTS)).astype(float) for k in (5, 2, 3)),
            rng.uniform(20, 90, (n, SLOTS)),
            rng.integers(0, 3, (n, SLOTS)).astype(float),
        ],
        axis=2,
    )
    cohort = Cohort(
        values=values,
        observed=rng.random(values.shape) < 0.5,
        gaps=rng.exponential(9, (n, SLOTS)) * (rng.random((n, SLOTS)) < 0.8),
        length=rng.integers(0, SLOTS + 1, n),
        group=rng.integers(0, 2, n),
        event=rng.integers(0, 2, n),
        site=rng.integers(0, 3, n),
    )
    planned = plan(schema, n, epsilon=50, delta=1e-5, method="dp-score")
    return sample(model_of(fit(cohort, planned)), 300, seed=2)


def halves(drawn: Synthetic) -> Iterator[Synthetic]:
    names = [n for n in Synthetic.__slots__ if n != "fingerprint"]
    for part in (slice(0, 170), slice(170, None)):
        yield Synthetic(**{n: getattr(drawn, n)[part] for n in names}, fingerprint="")


def written(drawn: Synthetic, form: str, folder: Path) -> Path:
    folder.mkdir()
    FORMATS[form].load().write(folder, rich_schema(), halves(drawn))
    return folder


@pytest.mark.parametrize(("form", "value", "hours"), [("events", 0, 1e-9), ("meds", 1e-5, 4e-6)])
def test_what_is_written_comes_back(
    drawn: Synthetic, tmp_path: Path, form: str, value: float, hours: float
) -> None:
    out = written(drawn, form, tmp_path / "out")
    import_cohort(form, str(out), out / "schema.yaml", tmp_path / "back")  # type: ignore[arg-type]
    schema, back = read_cohort(tmp_path / "back")
    assert [v.name for v in schema.variables] == [v.name for v in rich_schema().variables]
    for label in ("group", "event", "site"):
        assert (getattr(back, label) == getattr(drawn, label)).all()

    slots = np.arange(SLOTS)[:, None]
    used = slots < drawn.length[:, None, None]
    static = np.array(schema.layout.static)
    seen = drawn.observed & np.where(static, slots == 0, used)
    empty = (used[:, :, 0] & ~seen[:, :, ~static].any(axis=2)).any(axis=1)
    assert 0 < empty.sum() < 150, "the cohort should have some slots that no format can hold"
    assert (back.length == drawn.length)[~empty].all()
    assert (back.observed == seen)[~empty].all()
    assert np.abs(np.where(seen, back.values - drawn.values, 0))[~empty].max() <= value
    assert np.abs(np.where(used[:, :, 0], back.gaps - drawn.gaps, 0))[~empty].max() <= hours
    once = seen[:, 0, static]
    assert (back.observed[:, 0, static] == once).all(), (
        "a patient without rows keeps what is static"
    )


def test_meds_is_sorted_and_each_subject_has_one_shard(drawn: Synthetic, tmp_path: Path) -> None:
    out = written(drawn, "meds", tmp_path / "out")
    seen: set[int] = set()
    shards = sorted((out / "data").iterdir())
    assert len(shards) == 2
    for shard in shards:
        table = pq.read_table(shard)
        subject = table.column("subject_id").to_numpy()
        assert (np.diff(subject) >= 0).all()
        assert not seen & set(subject)
        seen |= set(subject)
        time = table.column("time")
        missing = time.is_null().to_numpy()
        stamps = np.where(missing, -1, time.cast("int64").fill_null(-1).to_numpy())
        assert (np.diff(stamps)[np.diff(subject) == 0] >= 0).all()
    splits = pq.read_table(out / "metadata" / "subject_splits.parquet")
    assert set(splits.column("subject_id").to_pylist()) == seen == set(range(1, 301))


def test_meds_passes_the_validation_of_its_own_package(drawn: Synthetic, tmp_path: Path) -> None:
    meds = pytest.importorskip("meds", reason="the meds package is not installed")
    out = written(drawn, "meds", tmp_path / "out")
    for shard in (out / "data").iterdir():
        meds.DataSchema.validate(pq.read_table(shard))
    meds.CodeMetadataSchema.validate(pq.read_table(out / "metadata" / "codes.parquet"))
    meds.SubjectSplitSchema.validate(pq.read_table(out / "metadata" / "subject_splits.parquet"))
    about = json.loads((out / "metadata" / "dataset.json").read_text())
    meds.DatasetMetadataSchema.validate(about)
    codes = set(pq.read_table(out / "metadata" / "codes.parquet").column("code").to_pylist())
    for shard in (out / "data").iterdir():
        assert set(pq.read_table(shard).column("code").to_pylist()) <= codes


@pytest.mark.skipif(
    find_spec("meds_reader") is None, reason="meds_reader, a MEDS tool, is not installed"
)
def test_a_meds_tool_reads_every_event_by_the_commands_of_the_page(
    drawn: Synthetic, tmp_path: Path
) -> None:
    out = written(drawn, "meds", tmp_path / "synthetic")
    lines = re.findall(
        r"^(meds_reader_\w+) (.*)$", (DOCS / "formats.md").read_text("utf-8"), re.MULTILINE
    )
    assert [tool for tool, _ in lines] == ["meds_reader_convert", "meds_reader_verify"]
    for tool, arguments in lines:
        command = [str(Path(sys.executable).with_name(tool)), *arguments.split()]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    from meds_reader import SubjectDatabase

    rows = pq.read_table(out / "data").to_pylist()
    with SubjectDatabase(str(tmp_path / "database"), num_threads=1) as database:
        read = [
            {
                "subject_id": subject,
                "time": e.time,
                "code": e.code,
                "numeric_value": e.numeric_value,
            }
            for subject in sorted(database)
            for e in database[subject].events
        ]
    assert len(read) == len(rows) > 1000
    assert read == sorted(rows, key=lambda row: row["subject_id"])


@pytest.mark.parametrize("form", [name for name, f in FORMATS.items() if not f.settings])
def test_the_same_patients_give_the_same_bytes(drawn: Synthetic, tmp_path: Path, form: str) -> None:
    once, again = (written(drawn, form, tmp_path / name) for name in ("once", "again"))
    files = sorted(p.relative_to(once) for p in once.rglob("*") if p.is_file())
    assert files
    assert all((once / f).read_bytes() == (again / f).read_bytes() for f in files)
