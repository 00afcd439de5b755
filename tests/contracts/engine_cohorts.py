"""Cohort folders on which engines must agree, and what an executor may be made to do."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.engines import Contributions
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.schema.file import dump
from longsynth.schema.schema import Schema
from ward import ward_schema

PATIENTS = 150


def odd_schema(**changes: object) -> Schema:
    """Times in minutes, slots that merge rows, an anchor and a horizon, and codes."""
    rule = {"anchors": ["pulse", "dose"], "merge": 2.0, "horizon": 90.0, "aggregate": "mean"}
    codes = [{"name": "drugs", "cap": 2, "levels": ["aspirin", "heparin", "7"]}]
    time = {"column": "when", "unit": "minutes"}
    return ward_schema(slot_rule=rule, time=time, codes=codes, **changes)


def odd_tables(seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows in no order, of patients known and unknown, at times that are none, with numbers
    that nobody can have; patients without rows; ids as text."""
    rng = np.random.default_rng(seed)
    count = 2500
    ids = np.array([f"p{n:03d}" for n in range(PATIENTS)], dtype=object)
    who = rng.integers(-10, PATIENTS - 15, count)  # the last ones have no row
    rows: dict[str, Any] = {
        "patient_id": [None if w < -5 else "stranger" if w < 0 else ids[w] for w in who],
        "when": rng.integers(0, 6 * 1440, count).astype(float).tolist(),
        "pulse": rng.normal(90, 25, count).tolist(),
        "dose": rng.integers(-1, 7, count).astype(float),
        "oxygen": rng.integers(0, 2, count).astype(bool),
        "rhythm": rng.choice(["sinus", "paced", "other", "Sinus", None], count).tolist(),
    }
    for i, wild in enumerate((np.nan, np.inf, -1e308, 1e308, None, -0.0, 5e-324)):
        rows["pulse"][i::97] = [wild] * len(rows["pulse"][i::97])
    for i, never in enumerate((None, np.nan, np.inf, -np.inf, 1e308, -1e308)):
        rows["when"][i::89] = [never] * len(rows["when"][i::89])
    rows["dose"][rng.random(count) < 0.1] = np.nan
    for i in np.flatnonzero(who == 3):  # a patient whose anchors were never measured
        rows["pulse"][i], rows["dose"][i] = None, np.nan
    rows["drugs"] = rng.choice(["aspirin", "heparin", "7", "7.0", None], count).tolist()
    order = rng.permutation(PATIENTS)
    people: dict[str, Any] = {
        "patient_id": ids[order].tolist(),
        "group": rng.choice(["0", "1", "1.0", "?", None], PATIENTS).tolist(),
        "event": rng.integers(0, 3, PATIENTS),
        "site": rng.choice(["A", "B", "C", "D"], PATIENTS).tolist(),
        "age": rng.choice([18.5, 44.0, 101.0, np.inf, np.nan], PATIENTS),
        "sex": rng.choice(["m", "f", "x"], PATIENTS).tolist(),
        "blood": rng.choice(["A", "B", "AB", "O", None], PATIENTS).tolist(),
    }
    return rows, people


def odd_folder(folder: Path, *, parts: int = 1) -> Path:
    """Write the odd cohort; in parts, each table is a folder of files."""
    folder.mkdir(parents=True)
    (folder / "schema.yaml").write_text(dump(odd_schema()), encoding="utf-8")
    for name, columns in zip(("observations", "patients"), odd_tables(), strict=True):
        table = pa.table(columns)
        path = folder / f"{name}.parquet"
        if parts == 1:
            pq.write_table(table, path)
            continue
        path.mkdir()
        for part, start in enumerate(range(0, len(table), -(-len(table) // parts))):
            piece = table.slice(start, -(-len(table) // parts))
            pq.write_table(piece, path / f"part-{part}.parquet")
    return folder


@dataclass(frozen=True)
class Slowly:
    """Contributions that take their time and tell where they are made: for a worker that dies."""

    contributions: Contributions
    diary: Path

    def __call__(self, batch: Cohort) -> Mapping[str, Contribution]:
        place = next(part for part in Path.cwd().parts if part.startswith("worker-"))
        page = self.diary / f"{place}.{os.getpid()}.{time.monotonic_ns()}"
        page.with_suffix(page.suffix + ".begun").touch()
        time.sleep(1.0)
        found = self.contributions(batch)
        page.with_suffix(page.suffix + ".done").touch()
        return found


@dataclass(frozen=True)
class Indiscreet:
    """Contributions that fail with a patient's values in the message."""

    how: type[Exception] = ValueError

    def __call__(self, batch: Cohort) -> Mapping[str, Contribution]:
        raise self.how(f"values {batch.values.tolist()}") from KeyError(batch.values.tolist())
