"""A folder of synthetic patients, with the weights that restore the population."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.parquet import column_types
from longsynth.reading.records import Cohort
from longsynth.sampling.synthetic import Synthetic
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats
from longsynth.system.errors import CohortError
from longsynth.system.reader_errors import without_cells


def read_synthetic(folder: Path) -> tuple[Schema, Synthetic]:
    """Read a cohort folder and, where patients.parquet has it, its column `weight`."""
    schema, cohort = read_cohort(folder)
    arrays = {field.name: getattr(cohort, field.name) for field in fields(Cohort)}
    with without_cells(f"{folder} has no readable column 'weight': is the file damaged?"):
        weight = _weight(folder, schema.patient.column, cohort.patients)
    return schema, Synthetic(**arrays, weight=weight, fingerprint="")


def _weight(folder: Path, key: str, patients: int) -> Floats:
    """Return weights in the order in which `read_cohort` returns patients: by id."""
    path, rows = folder / "patients.parquet", folder / "observations.parquet"
    if not path.is_file() or "weight" not in pq.read_schema(path).names:
        return np.ones(patients)
    ids = [dict(column_types(file)).get(key) for file in (path, rows) if file.is_file()]
    if len(ids) < 2 or not all(pa.types.is_integer(k) and k != pa.uint64() for k in ids):
        raise CohortError(
            f"{path} has weights and ids that are no whole numbers: give both tables ids from 1 "
            "on, as `longsynth sample` does."
        )
    table = pq.ParquetFile(path).read(columns=[key, "weight"])
    if table.column_names.count("weight") > 1:
        raise CohortError(f"{path} has the column 'weight' twice: rename one.")
    found = table.column("weight")
    if not (pa.types.is_floating(found.type) or pa.types.is_integer(found.type)):
        raise CohortError(f"{path} has a weight that is no number: correct it.")
    order = np.argsort(table.column(key).to_numpy(), kind="stable")
    weight = np.asarray(found.to_numpy(), dtype=np.float64)[order]
    with np.errstate(over="ignore", invalid="ignore"):
        usable = (weight >= 0).all() and 0 < weight.sum() < np.inf
    if not usable:
        raise CohortError(f"{path} has a weight that is negative or no number: correct it.")
    return weight
