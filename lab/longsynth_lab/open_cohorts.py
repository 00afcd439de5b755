"""Open cohorts of real patients. LONGSYNTH_COHORTS names the folder that holds them."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema
from longsynth.system.errors import Refused

CHECKOUT = Path(__file__).parents[2]
TRAINING = 7  # tenths of the patients


@dataclass(frozen=True, slots=True)
class OpenCohort:
    folder: str
    schema: str  # a file of the checkout
    by: Literal["seed", "id"]  # a random split for each seed, or always the same by hashed id

    def read(self) -> tuple[Schema, Cohort, list[str]]:
        """Return the schema, the patients in the order of their ids, and the ids."""
        found = folder_of_cohorts() / self.folder
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            (place / "schema.yaml").write_bytes((CHECKOUT / self.schema).read_bytes())
            (place / "patients.parquet").symlink_to((found / "patients.parquet").resolve())
            rows = pq.read_table(found / "observations.parquet")
            if "SysABP" in rows.column_names:  # the invasive pressure, or else the cuff's
                rows = rows.append_column("SysBP", pc.coalesce(rows["SysABP"], rows["NISysABP"]))
            pq.write_table(rows, place / "observations.parquet")
            schema, cohort = read_cohort(place)
        ids = pq.read_table(found / "patients.parquet", columns=["patient_id"])["patient_id"]
        return schema, cohort, sorted(str(i) for i in ids.to_pylist())

    def split(self, everyone: Cohort, ids: Sequence[str], seed: int) -> tuple[Cohort, Cohort]:
        """Return seven parts to train and three to judge."""
        if self.by == "id":
            digest = (int(sha256(i.encode()).hexdigest(), 16) for i in ids)
            shown = np.array([number % 10 < TRAINING for number in digest])
        else:
            order = np.random.default_rng(seed).permutation(everyone.patients)
            shown = np.zeros(everyone.patients, dtype=np.bool_)
            shown[order[: round(everyone.patients * TRAINING / 10)]] = True
        return everyone.take(np.flatnonzero(shown)), everyone.take(np.flatnonzero(~shown))


def folder_of_cohorts() -> Path:
    named = os.environ.get("LONGSYNTH_COHORTS")
    if not named or not Path(named).is_dir():
        raise Refused(
            "the open cohorts are not here: set LONGSYNTH_COHORTS to the folder that holds them."
        )
    return Path(named)


OPEN_COHORTS = {
    "physionet2012": OpenCohort("physionet2012", "examples/schemas/physionet2012.yaml", "seed"),
    "physionet2012 held out": OpenCohort("physionet2012", "lab/physionet2012_eight.yaml", "id"),
    "pbc": OpenCohort("pbc", "examples/schemas/pbc.yaml", "seed"),
}
