"""What several tests need: small schemas, small cohorts, and noise that a test can see through."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.bundle import Bundle
from longsynth.encoding.rows import Encoded, Encoder, encoded_values
from longsynth.methods.method import BatchEncoder, PrivateMethod, Stage, contributions
from longsynth.plan import Plan, plan
from longsynth.privacy.budget import Budget
from longsynth.privacy.ledger import Ledger, Released, price
from longsynth.privacy.sums import Contribution
from longsynth.reading.quality import write_receipt
from longsynth.reading.records import Cohort
from longsynth.schema.file import dump
from longsynth.schema.record import Trajectories, packed_codes
from longsynth.schema.schema import Schema
from longsynth.writing.cohort import write_cohort

SLOTS, VARIABLES = 4, 3
SMALL = Budget(1.0, 1e-5, "zcdp")  # one, as its ρ takes a while to work out


def examples(usual: int) -> int:
    """How many random examples a claim meets: `make nightly` tries ten times as many."""
    return usual * (10 if "LONGSYNTH_NIGHTLY" in os.environ else 1)


def small_schema(*, length: str = "variable", **constants: object) -> Schema:
    """Four slots, one variable of each ordered kind, three sites."""
    return Schema.model_validate(
        {
            "longsynth": 1,
            "name": "small",
            "slots": SLOTS,
            "max_gap": 48,
            "length": length,
            "site": {"column": "site", "levels": ["A", "B", "C"]},
            "variables": [
                {
                    "name": "pulse",
                    "unit": "bpm",
                    "kind": "continuous",
                    "bounds": [20, 220],
                    "bounds_from": "a monitor",
                    "centre": 80,
                    "scale": 20,
                },
                {"name": "dose", "kind": "ordinal", "bounds": [0, 4], "bounds_from": "the scale"},
                {"name": "oxygen", "kind": "binary"},
            ],
            "constants": constants,
        }
    )


def small_plan(patients: int, schema: Schema | None = None, **wanted: object) -> Plan:
    arguments: dict[str, object] = {
        "epsilon": 4.0,
        "delta": 1e-5,
        "method": "trust",
        "accounting": "zcdp",
    } | wanted
    return plan(schema or small_schema(), patients, **arguments)  # type: ignore[arg-type]


def random_cohort(patients: int, seed: int) -> Cohort:
    rng = np.random.default_rng(seed)
    shape = (patients, SLOTS, VARIABLES)
    values = rng.normal(80, 60, shape)
    values[:, :, 1:] = rng.integers(0, 3, (patients, SLOTS, VARIABLES - 1))
    return Cohort(
        values=values,
        observed=rng.random(shape) < 0.8,
        gaps=rng.exponential(11, shape[:2]),
        length=rng.integers(0, SLOTS + 1, patients),
        group=rng.integers(0, 2, patients),
        event=rng.integers(0, 2, patients),
        site=rng.integers(0, 3, patients),
    )


def one_patient(
    values: object = 80.0,
    *,
    observed: object = True,
    gaps: object = 5.0,
    length: int = SLOTS,
    group: int = 0,
    event: int = 0,
    site: int = 0,
    shape: tuple[int, int] = (SLOTS, VARIABLES),
) -> Cohort:
    return Cohort(
        values=np.broadcast_to(np.asarray(values, float), (1, *shape)).copy(),
        observed=np.broadcast_to(np.asarray(observed, bool), (1, *shape)).copy(),
        gaps=np.broadcast_to(np.asarray(gaps, float), (1, shape[0])).copy(),
        length=np.array([length]),
        group=np.array([group]),
        event=np.array([event]),
        site=np.array([site]),
    )


def together(*cohorts: Cohort) -> Cohort:
    names = Cohort.__slots__
    return Cohort(*(np.concatenate([getattr(c, n) for c in cohorts]) for n in names))


def replaced(cohort: Cohort, i: int, other: Cohort) -> Cohort:
    """The neighbouring cohort: patient i's complete record is another's."""
    changed = {name: getattr(cohort, name).copy() for name in Cohort.__slots__}
    for name, array in changed.items():
        array[i] = getattr(other, name)[0]
    return replace(cohort, **changed)


def earlier(method: PrivateMethod, schema: Schema, stage: Stage) -> Bundle:
    """What a fit has released before a stage, for a schema that is resolved; from zero sums, with
    the noise of a small budget."""
    released: dict[str, Released] = {}
    for before in method.stages(schema):
        if before == stage:
            break
        for line in before:
            statistic, entry = line.statistic, price(line.statistic, line.share, SMALL)
            rng = np.random.default_rng(len(released))
            noise = np.rint(entry.sigma * rng.standard_normal(statistic.dimension))
            released[statistic.name] = Released(noise.astype(np.int64), entry)
    return Bundle(method.name, schema, Ledger(SMALL, 60), released)


def rows_of(
    method: PrivateMethod, batch: Cohort, schema: Schema, stage: Stage, so_far: Bundle
) -> dict[str, Contribution]:
    """What each patient of a batch adds to each line of a stage."""
    return contributions(stage, method.encoder(schema, so_far), batch)


_ENCODERS: list[tuple[PrivateMethod, Schema, Stage, BatchEncoder]] = []


def early_rows(
    method: PrivateMethod, batch: Cohort, schema: Schema, stage: Stage
) -> dict[str, Contribution]:
    """The same after `earlier`; the encoder is built once, as in a pass."""
    for one, of, lines, encoder in _ENCODERS:
        if one is method and of is schema and lines == stage:
            return contributions(stage, encoder, batch)
    encoder = method.encoder(schema, earlier(method, schema, stage))
    _ENCODERS.append((method, schema, stage, encoder))
    del _ENCODERS[:-8]
    return contributions(stage, encoder, batch)


def encoded(batch: Cohort, schema: Schema) -> Encoded:
    """A batch as any method sees it."""
    return Encoder(schema.resolved(60))(batch)


def unclipped(batch: Cohort, schema: Schema) -> np.ndarray:
    """Encoded values before they are clipped to the radius."""
    made = encoded(batch, schema)
    return encoded_values(batch, made.encoder, made.observed)


class NoNoise:
    """Returns the exact sums, to see what a mechanism was given."""

    def add(self, sums: np.ndarray, *, sigma: float, sensitivity: float, rho: float) -> np.ndarray:
        return sums.copy()


class ConstantNoise:
    """Returns the same integers whatever the sums: what is left of the data then is a leak."""

    def add(self, sums: np.ndarray, *, sigma: float, sensitivity: float, rho: float) -> np.ndarray:
        return np.arange(len(sums)) * 1000 - 5 * int(sigma) + int(sigma) // 3


def constant_add(
    self: object, sums: np.ndarray, *, sigma: float, sensitivity: float, rho: float
) -> np.ndarray:
    return ConstantNoise().add(sums, sigma=sigma, sensitivity=sensitivity, rho=rho)


def receipt_for(folder: Path) -> Path:
    """Leave the receipt that a fit asks for, as if someone had looked at this folder."""
    write_receipt(folder, {}, by="a test")
    return folder


def write_checked(
    folder: Path | str, schema: Schema, chunks: Iterable[Trajectories], *, first: int = 1
) -> Path:
    """Write a cohort folder with its receipt, so that it can be fitted."""
    write_cohort(folder, schema, chunks, first=first)
    return receipt_for(Path(folder))


def write_folder(
    folder: Path, schema_text: str, observations: dict[str, object], patients: dict[str, object]
) -> Path:
    folder.mkdir(parents=True)
    (folder / "schema.yaml").write_text(schema_text)
    pq.write_table(pa.table(observations), folder / "observations.parquet")
    pq.write_table(pa.table(patients), folder / "patients.parquet")
    return receipt_for(folder)


def write_cells(
    folder: Path,
    schema: Schema,
    header: str,
    lines: list[str],
    people: list[str],
    about: str = "patient_id,group,event,site",
) -> Path:
    """Write a cohort whose cells are given as text, separated by commas. A cell that a line lacks,
    or that is no number where one belongs, is NaN. Ids and labels are text in Latin-1."""
    folder.mkdir(parents=True)
    (folder / "schema.yaml").write_text(dump(schema))
    numbers = {v.name for v in schema.variables if v.levels is None} | {"time"}
    for name, names, rows in (("observations", header, lines), ("patients", about, people)):
        columns = names.split(",")
        cells = [(line.split(",") + [""] * len(columns))[: len(columns)] for line in rows]
        stored = {
            column: pa.array(map(_float, found)) if column in numbers else _text(list(found))
            for column, found in zip(columns, zip(*cells, strict=True), strict=bool(cells))
        } or {column: pa.nulls(0) for column in columns}
        pq.write_table(pa.table(stored), folder / f"{name}.parquet")
    return receipt_for(folder)


def _float(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _text(cells: list[str]) -> pa.Array:
    raw = pa.array([cell.strip('"').encode("latin-1") or None for cell in cells], pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def rich_schema(**changes: object) -> Schema:
    return Schema.model_validate(rich_content() | changes)


def rich_content() -> dict[str, Any]:
    """Everything that a schema can hold, in a hospital's own columns: each kind of outcome, three
    groups with bands of age, codes, point masses and constraints."""
    mmhg = {"kind": "continuous", "unit": "mmHg", "bounds": [20, 250], "bounds_from": "a cuff"}
    died = {"column": "ended", "levels": ["censored", "dead", "transplanted"]}
    falls = {"unit": "falls", "bounds": [0, 9], "bounds_from": "a cap"}
    cost = {"unit": "EUR", "bounds": [10, 9000], "bounds_from": "a tariff", "transform": "log"}
    return {
        "longsynth": 1,
        "name": "rich",
        "slots": SLOTS,
        "max_gap": 96,
        "patient": {"column": "MRN"},
        "time": {"column": "day", "unit": "days"},
        "site": {"column": "ward", "levels": ["north", "south"]},
        "outcomes": [
            {"name": "survival", "kind": "time_to_event", "unit": "days", "horizon": 365}
            | {"column": "futime", "status": died},
            {"name": "readmitted", "kind": "binary", "levels": ["no", "yes"], "column": "back"},
            {"name": "leaves", "kind": "categorical", "levels": ["home", "ward", "hospice"]},
            {"name": "grade", "kind": "ordinal", "levels": ["mild", "moderate", "severe"]},
            {"name": "falls", "kind": "count", "column": "n_falls", **falls},
            {"name": "cost", "kind": "continuous", **cost},
        ],
        "groups": [
            {"name": "band", "column": "age", "bands": [65, 80]},
            {"name": "sex", "levels": ["M", "F"], "column": "gender"},
            {"name": "payer", "levels": ["public", "private", "none"]},
        ],
        "protected": [{"band": "80 and over", "sex": "F"}],
        "variables": [
            {"name": "systolic", "column": "RR sys", "resolution": 1, **mmhg},
            {"name": "diastolic", "column": "RR dia", "resolution": 1, **mmhg},
            {"name": "drinks", "kind": "continuous", "bounds": [0, 20], "bounds_from": "a form"}
            | {"point_masses": [0]},
            {"name": "age", "kind": "continuous", "static": True, "resolution": 1}
            | {"unit": "years", "bounds": [18, 110], "bounds_from": "adults"},
        ],
        "codes": [{"name": "drugs", "cap": 2, "levels": ["A01", "B01", "C07"], "column": "ATC"}],
        "constraints": ["diastolic < systolic"],
    }


def rich_cohort(patients: int, seed: int) -> Cohort:
    """Patients of `rich_schema` who keep its constraints."""
    rng, schema = np.random.default_rng(seed), rich_schema()
    place = {v.name: i for i, v in enumerate(schema.variables)}
    values = np.stack(
        [np.rint(rng.uniform(*v.bounds, (patients, SLOTS))) for v in schema.variables], axis=2
    )
    values[:, :, place["systolic"]] = rng.integers(110, 180, (patients, SLOTS))
    values[:, :, place["diastolic"]] = rng.integers(50, 100, (patients, SLOTS))
    values[:, :, place["drinks"]] *= rng.random((patients, SLOTS)) < 0.5
    length = rng.integers(1, SLOTS + 1, patients)
    used = np.arange(SLOTS) < length[:, None]
    given = (rng.random((patients, SLOTS, 3)) < 0.2) & used[:, :, None]
    return Cohort(
        values=values,
        observed=schema.layout.up_to(length),
        gaps=np.where(used, rng.uniform(1, 20, (patients, SLOTS)), 0.0),
        length=length,
        group=np.digitize(values[:, 0, place["age"]], (65, 80)),
        event=rng.integers(0, 3, patients),
        site=rng.integers(0, 2, patients),
        codes=packed_codes((patients, SLOTS), 3, *np.nonzero(given)),
    )
