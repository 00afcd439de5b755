"""What an audit reads: cohorts whose schemas describe the same record, and synthetic patients with
the weights that restore the population."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.reading.cohort_folder import arrow_table, cohort_folder_of, read_cohort
from longsynth.reading.parquet import column_types
from longsynth.reading.records import Cohort
from longsynth.reading.split import shared_patients
from longsynth.sampling.model import Synthetic
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats
from longsynth.system.errors import Code, CohortError, Refused, without_cells
from longsynth.writing.own import OTHER_WEIGHT, WEIGHT

CORRECT = "Correct the weights, or generate the patients again with `longsynth sample`."


def require_strangers(train: Path, others: dict[str, Path]) -> None:
    """Refuse a cohort that is called held-out, but has patients of the training cohort."""
    for name, cohort in others.items():
        if shared_patients(train, cohort):
            raise Refused(
                Code.NOT_HELD_OUT,
                f"the {name} cohort {cohort} has patient ids of the training cohort {train}, and "
                "fitted patients are not held out.",
                "Hold patients out before the fit, with `longsynth split`, and fit the rest. If "
                "they are different people who happen to have the same ids, give one cohort other "
                "ids.",
            )


def require_agreement(schemas: dict[str, Schema]) -> Schema:
    """Return the first schema, or refuse and say in which public fact another one differs."""
    (first_name, first), *others = schemas.items()
    for name, schema in others:
        for fact, value in _facts(first).items():
            other = _facts(schema)[fact]
            if other != value:
                raise Refused(
                    Code.COHORTS_DISAGREE,
                    f"the {name} cohort has {fact} {_text(other)}, but the {first_name} cohort has "
                    f"{_text(value)}.",
                    "Describe both with one schema.yaml, or generate the synthetic patients again "
                    "from a fit of this cohort.",
                )
    return first


def patients_of(schema: Schema, given: Any, *, weighted: bool = False) -> Trajectories:
    """Return patients as arrays: as they are, or from a pair of data frames, observations and
    patients. Synthetic patients are weighted by the column `weight`, where they have one."""
    if isinstance(given, tuple) and len(given) == 2:
        with cohort_folder_of(_timed(schema, given[0]), *given) as folder:
            return read_synthetic(folder)[1] if weighted else read_cohort(folder)[1]
    if not isinstance(given, Trajectories):
        raise Refused(
            Code.ARGUMENT_WRONG,
            f"an audit cannot use a {type(given).__name__} as patients.",
            "Give a Cohort, Synthetic patients, or a pair of data frames: (observations, "
            "patients).",
        )
    return given


def in_two(patients: Trajectories) -> Trajectories:
    """The same patients, with the first level of the event and of the group against all others:
    scores compare two sides."""
    if max(patients.event.max(initial=0), patients.group.max(initial=0)) <= 1:
        return patients
    sides = {what: (getattr(patients, what) > 0).astype(np.int64) for what in ("event", "group")}
    return replace(patients, **sides)  # type: ignore[type-var]


def _timed(schema: Schema, observations: Any) -> Schema:
    """Synthetic patients have hours where real ones have dates."""
    table, column = arrow_table(observations, "observations"), schema.time.column
    if schema.time.unit != "timestamp" or column not in table.column_names:
        return schema
    kind = table.schema.field(column).type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        return schema
    return schema.model_copy(update={"time": schema.time.model_copy(update={"unit": "hours"})})


def _facts(schema: Schema) -> dict[str, object]:
    """What a record means. Group and event may have other names for their levels: order counts."""
    names = [v.name for v in schema.variables]
    return {
        "variables": names,
        **{f"{v.name} of kind": v.kind for v in schema.variables},
        **{f"{v.name} with bounds": list(v.bounds) for v in schema.variables},
        **{f"{v.name} with transform": v.transform for v in schema.variables},
        **{f"{v.name} with levels": list(v.levels or ("none",)) for v in schema.variables},
        **{f"{v.name} measured": _measured(v.static) for v in schema.variables},
        **{f"{c.name} with codes": list(c.levels) for c in schema.codes},
        "lists of codes": [c.name for c in schema.codes],
        "sites": list(schema.sites),
        "slots": schema.slots,
        "max_gap": schema.max_gap,
    }


def _measured(static: bool) -> str:
    return "once" if static else "over time"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def read_synthetic(folder: Path) -> tuple[Schema, Synthetic]:
    """Read a cohort folder and, where patients.parquet has them, the weights of patients."""
    schema, cohort = read_cohort(folder)
    arrays = {field.name: getattr(cohort, field.name) for field in fields(Cohort)}
    with without_cells(f"{folder} has no readable column 'weight'."):
        weight = _weight(folder, schema.patient.column, cohort.patients)
    return schema, Synthetic(**arrays, weight=weight, fingerprint="")


def _weight(folder: Path, key: str, patients: int) -> Floats:
    """Return weights in the order in which `read_cohort` returns patients: by id."""
    path, rows = folder / "patients.parquet", folder / "observations.parquet"
    names = pq.read_schema(path).names if path.is_file() else []
    name = OTHER_WEIGHT if OTHER_WEIGHT in names else WEIGHT
    if name not in names:
        return np.ones(patients)
    ids = [dict(column_types(file)).get(key) for file in (path, rows) if file.is_file()]
    if len(ids) < 2 or not all(pa.types.is_integer(k) and k != pa.uint64() for k in ids):
        remedy = "Number the patients from 1 in both tables, as `longsynth sample` does."
        raise _unusable(path, "has weights, but ids that are not whole numbers.", remedy)
    table = pq.ParquetFile(path).read(columns=[key, name])
    if table.column_names.count(name) > 1:
        raise _unusable(path, f"has the column {name!r} twice.", "Rename one of the columns.")
    column = table.column(name)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise _unusable(path, f"has a column {name!r} that is not numeric.", CORRECT)
    order = np.argsort(table.column(key).to_numpy(), kind="stable")
    weight = np.asarray(column.to_numpy(), dtype=np.float64)[order]
    with np.errstate(over="ignore", invalid="ignore"):
        usable = (weight >= 0).all() and 0 < weight.sum() < np.inf
    if not usable:
        raise _unusable(
            path, "has weights that are negative, missing, infinite or all zero.", CORRECT
        )
    return weight


def _unusable(path: Path, problem: str, remedy: str) -> CohortError:
    return CohortError(Code.WEIGHTS_UNUSABLE, f"{path} {problem}", remedy)
