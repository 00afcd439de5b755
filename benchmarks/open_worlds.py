"""Open cohorts as worlds: PhysioNet 2012 with one fixed split, PBC with a split for every seed.

The folder of cohorts is named by LONGSYNTH_COHORTS.
"""

import os
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from longsynth.benchmark.judging import Judge
from longsynth.benchmark.worlds import WORLDS, World
from longsynth.io.tables import read_cohort
from longsynth.records import Cohort
from longsynth.schema import Schema

SCHEMAS = Path(__file__).parents[1] / "examples" / "schemas"
EIGHT = Path(__file__).parent / "physionet2012_eight.yaml"
TRAINING = 7  # tenths of the patients
SIZES = {"physionet2012": 5574, "pbc": 218}  # training patients, which a split decides


def register() -> None:
    """Add the open cohorts to the worlds that an experiment can name."""
    WORLDS["physionet2012"] = physionet2012
    WORLDS["pbc"] = pbc


def physionet2012() -> World:
    """Eight variables; a stay trains if the hash of its id says so, in every draw the same."""
    schema, everyone, ids = _read("physionet2012", EIGHT)
    shown = np.array([int(sha256(i.encode()).hexdigest(), 16) % 10 < TRAINING for i in ids])
    train, rest = everyone.take(np.flatnonzero(shown)), everyone.take(np.flatnonzero(~shown))
    return World(schema, lambda patients, seed: train, Judge(schema, rest))


def pbc() -> World:
    """Seven parts train and three judge, split at random for every seed."""
    schema, everyone, _ = _read("pbc", SCHEMAS / "pbc.yaml")

    @cache
    def split(seed: int) -> tuple[Cohort, Judge]:
        order = np.random.default_rng(seed).permutation(everyone.patients)
        cut = round(everyone.patients * TRAINING / 10)
        shown, rest = (everyone.take(np.sort(part)) for part in (order[:cut], order[cut:]))
        return shown, Judge(schema, rest)

    return World(
        schema,
        lambda patients, seed: split(seed)[0],
        Judge(schema, everyone),
        lambda seed: split(seed)[1],
    )


def _read(folder: str, schema: Path) -> tuple[Schema, Cohort, list[str]]:
    """A cohort in the order of its ids, and these."""
    found = Path(os.environ["LONGSYNTH_COHORTS"]) / folder
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "schema.yaml").write_bytes(schema.read_bytes())
        (place / "patients.parquet").symlink_to((found / "patients.parquet").resolve())
        rows = pq.read_table(found / "observations.parquet")
        if "SysABP" in rows.column_names:
            rows = rows.append_column("SysBP", pc.coalesce(rows["SysABP"], rows["NISysABP"]))
        pq.write_table(rows, place / "observations.parquet")
        read, cohort = read_cohort(place)
    ids = pq.read_table(found / "patients.parquet", columns=["patient_id"])["patient_id"]
    return read, cohort, sorted(str(i) for i in ids.to_pylist())
