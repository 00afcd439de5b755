"""Columns of every physical type, in every use, in files that are written in various ways."""

import json
from pathlib import Path

from numpy.random import Generator

from contracts.physical_types import ACCEPTED, EVERY, cohort_of
from fuzz.kind import PROMISE, Fault, Kind
from fuzz.mutation import one_of
from longsynth.fit import fit
from longsynth.plan import plan
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.system.errors import Refused


def _make(folder: Path, rng: Generator) -> None:
    role, kind = one_of(rng, sorted(ACCEPTED)), one_of(rng, sorted(EVERY))
    cohort_of(
        folder / "cohort",
        role,
        kind,
        compression=one_of(rng, ("snappy", "none", "zstd", "gzip", "lz4", "brotli")),
        use_dictionary=bool(rng.random() < 0.5),
        data_page_version=one_of(rng, ("1.0", "2.0")),
        row_group_size=one_of(rng, (1, 7, 1000)),
        write_statistics=bool(rng.random() < 0.7),
    )
    (folder / "case.json").write_text(json.dumps([role, kind]))


def _read(folder: Path, rng: Generator) -> list[str]:
    """A type is refused where it is not accepted; where it is, no cell stops a fit."""
    role, kind = json.loads((folder / "case.json").read_text())
    try:
        with CohortFolder(folder / "cohort") as source:
            fit(source, plan(source.schema, source.patients, **PROMISE))
    except Refused as refusal:
        if kind in ACCEPTED[role]:
            raise Fault(f"{kind} as {role}: a cell caused a refusal: {refusal}") from refusal
        raise
    if kind not in ACCEPTED[role]:
        raise Fault(f"{kind} was accepted as {role}")
    return []


TYPES = Kind("types", 2, _make, _read)
