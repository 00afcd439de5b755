"""A folder of synthetic patients, with the weights that restore the population."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.audit.view import Floats
from longsynth.errors import CohortError
from longsynth.io.tables import read_cohort
from longsynth.records import Cohort
from longsynth.schema import Schema
from longsynth.synthetic import Synthetic


def read_synthetic(folder: Path) -> tuple[Schema, Synthetic]:
    """Read a cohort folder and, where patients.parquet has it, its column `weight`."""
    schema, cohort = read_cohort(folder)
    arrays = {field.name: getattr(cohort, field.name) for field in fields(Cohort)}
    weight = _weight(folder / "patients.parquet", schema.patient.column, cohort.patients)
    return schema, Synthetic(**arrays, weight=weight, fingerprint="")


def _weight(path: Path, key: str, patients: int) -> Floats:
    """Return weights in the order in which `read_cohort` returns patients: by id."""
    if not path.is_file() or "weight" not in pq.read_schema(path).names:
        return np.ones(patients)
    table = pq.ParquetFile(path).read(columns=[key, "weight"])
    ids = table.column(key)
    if not pa.types.is_integer(ids.type):
        raise CohortError(
            f"{path} has weights and ids that are no whole numbers: give it ids from 1 on, as "
            "`longsynth sample` does."
        )
    found = table.column("weight")
    if not (pa.types.is_floating(found.type) or pa.types.is_integer(found.type)):
        raise CohortError(f"{path} has a weight that is no number: correct it.")
    order = np.argsort(ids.to_numpy(), kind="stable")
    weight = np.asarray(found.to_numpy(), dtype=np.float64)[order]
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.sum() > 0):
        raise CohortError(f"{path} has a weight that is negative or no number: correct it.")
    return weight
