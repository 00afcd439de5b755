"""Every kind of input: how one is made, and the reader that it goes through."""

import shutil
import tempfile
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path

import numpy as np
import typer
from numpy.random import Generator

from fuzz.cohorts import write_csv, write_typed
from fuzz.csv_inputs import any_csv, csv_cells
from fuzz.folder_inputs import damage_disclosed, damage_release, damage_synthetic
from fuzz.govern_targets import BOOK, FORM, KEYS, SIGNED, verified
from fuzz.import_targets import IMPORT, IMPORT_CELLS
from fuzz.kind import PROMISE, Fault, Kind, made_once
from fuzz.mutation import one_of
from fuzz.parquet_inputs import any_parquet, parquet_cells
from fuzz.text_inputs import TEXT
from fuzz.type_inputs import TYPES
from fuzz.yaml_inputs import any_schema
from longsynth.audit.inputs import read_synthetic
from longsynth.commands.data import check
from longsynth.fit import fit
from longsynth.methods.registry import model_of
from longsynth.plan import plan
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.reading.importing import Imported, import_cohort
from longsynth.reading.records import Cohort
from longsynth.release.folder import load_release
from longsynth.release.internal import read_disclosed
from longsynth.release.run import run_fit
from longsynth.release.synthetic_folder import Recipe, read_recipe, write_synthetic
from longsynth.schema.file import dump, load_schema, parse_text
from longsynth.system.errors import Refused


def _cohort(folder: Path, rng: Generator) -> list[str]:
    """Open, and then what `check`, `fit` or the library do with a folder."""
    action = rng.random()
    if action < 0.15:
        with suppress(typer.Exit):  # of a red verdict
            check(folder, json=bool(rng.random() < 0.5))
        return []
    with CohortFolder(folder) as source:
        if action < 0.4:
            fit(source, plan(source.schema, source.patients, **PROMISE))
            return []
        for _ in source.batches():
            pass
        return [str(source.repairs())] if action < 0.6 else []


def _cells(folder: Path, rng: Generator) -> list[str]:
    """The first patient's cells are malformed: the others' records must be as ever."""
    try:
        found = _others(folder)
    except Refused as refusal:
        raise Fault(f"a patient's cells caused a refusal: {refusal}") from refusal
    _same(found, _reference())
    return []


def _same(found: Cohort, expected: Cohort) -> None:
    for field in fields(Cohort):
        here, there = getattr(found, field.name), getattr(expected, field.name)
        if not np.array_equal(here, there, equal_nan=True):
            raise Fault(f"one patient's cells moved the {field.name} of another")


def _csv(folder: Path, rng: Generator) -> list[str]:
    """Import, and open what came of it."""
    found = imported(folder)
    with CohortFolder(folder / "cohort") as source:
        for _ in source.batches():
            pass
    return list(found.notes)


def _csv_cells(folder: Path, rng: Generator) -> list[str]:
    notes = list(imported(folder).notes)
    _same(_others(folder / "cohort"), _csv_reference())
    return notes


def imported(folder: Path) -> Imported:
    return import_cohort("events", folder, folder / "schema.yaml", folder / "cohort")


@cache
def _csv_reference() -> Cohort:
    with tempfile.TemporaryDirectory() as place:
        write_csv(Path(place))
        imported(Path(place))
        return _others(Path(place) / "cohort")


def _others(folder: Path) -> Cohort:
    with CohortFolder(folder) as source:
        return Cohort.joined(source.batches()).take(slice(1, None))


@cache
def _reference() -> Cohort:
    with tempfile.TemporaryDirectory() as place:
        write_typed(Path(place))
        return _others(Path(place))


def _schema(folder: Path, rng: Generator) -> list[str]:
    schema = load_schema(folder / "schema.yaml")
    if parse_text(dump(schema), "again") != schema:
        raise Fault("a schema that was read does not come back from its file")
    method = one_of(rng, ("trust", "dp-markov", "dp-score"))
    plan(schema, int(10 ** rng.uniform(0, 7)), **(PROMISE | {"method": method}))
    return []


@cache
def _base() -> Path:
    """A run, a run without privacy and synthetic patients, made once a process."""
    place = made_once()
    for method in ("trust", "dp-markov"):
        run_fit(place / "cohort", place / method, **(PROMISE | {"method": method}))
        bundle = load_release(place / method / "release")
        (place / f"drawn {method}").mkdir()
        recipe = Recipe(bundle.fingerprint, 5, 7)
        write_synthetic(place / f"drawn {method}", model_of(bundle), recipe)
    for method in ("bootstrap", "independent"):
        run_fit(place / "cohort", place / method, method=method)
    return place


def _make_release(folder: Path, rng: Generator) -> None:
    method = one_of(rng, ("trust", "dp-markov"))
    shutil.copytree(_base() / method / "release", folder / "release")
    damage_release(folder / "release", rng)


def _release(folder: Path, rng: Generator) -> list[str]:
    if rng.random() < 0.4:
        return verified(folder / "release")
    model_of(load_release(folder / "release"))
    return []


def _make_synthetic(folder: Path, rng: Generator) -> None:
    method = one_of(rng, ("trust", "dp-markov"))
    shutil.copytree(_base() / f"drawn {method}", folder / "drawn")
    (folder / "release").symlink_to(_base() / method / "release")
    damage_synthetic(folder / "drawn", rng)


def _synthetic(folder: Path, rng: Generator) -> list[str]:
    action = rng.random()
    if action < 0.4:
        return [str(read_recipe(folder / "drawn"))]
    if action < 0.7:
        return verified(folder / "release", folder / "drawn")
    read_synthetic(folder / "drawn")
    return []


def _make_disclosed(folder: Path, rng: Generator) -> None:
    method = one_of(rng, ("bootstrap", "independent"))
    shutil.copytree(_base() / method / "internal", folder / "internal")
    damage_disclosed(folder / "internal", rng)


def _disclosed(folder: Path, rng: Generator) -> list[str]:
    model_of(read_disclosed(folder / "internal"))
    return []


KINDS = (
    Kind("csv", 3, any_csv, _csv),
    Kind("csv cells", 1, csv_cells, _csv_cells),
    Kind("parquet", 7, any_parquet, _cohort),
    Kind("parquet cells", 1, parquet_cells, _cells),
    Kind("schema", 3, any_schema, _schema),
    Kind("release", 3, _make_release, _release),
    Kind("synthetic", 1, _make_synthetic, _synthetic),
    Kind("disclosed", 1, _make_disclosed, _disclosed),
    *(SIGNED, BOOK, FORM, KEYS, IMPORT, IMPORT_CELLS, TEXT, TYPES),
)
