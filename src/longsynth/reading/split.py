"""A cohort in two parts, by patient: one to fit, and one that no fit sees.

A patient's side depends on a keyed hash of its id and on nothing else of it. Both sizes follow from
the number of patients, so they are as public as that is. Replacing one patient by another replaces
at most one patient of either part: the guarantee of a fit of one part is for the whole cohort.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from longsynth.reading.cohort_folder import CohortFolder, cohort_table
from longsynth.reading.columns import id_cast, quoted
from longsynth.reading.parquet import ROWS
from longsynth.reading.session import Session, Table, scan
from longsynth.system.errors import Code, Refused, without_cells
from longsynth.system.folders import INTERNAL, new_folder

MEMORY = 512  # MB that DuckDB may use before it sorts on disk
TRAIN, HOLDOUT = "train", "holdout"
TABLES = ("patients", "observations")
KEPT = ("schema.yaml", "recipe.yaml")  # for both parts
KEY, BLOCK = 32, 64  # bytes, of the key and of what SHA-256 hashes at once
NOTICE = """# Not for release

`split.key` is the key of the hash that chose the held-out patients. Whoever knows it and a
patient's id can work out on which side the patient is likely to be.
"""


class Split(NamedTuple):
    train: int  # patients
    holdout: int


def split_cohort(cohort: Path, holdout: float, out: Path) -> Split:
    """Write OUT/train and OUT/holdout, or nothing. Rows are copied as they are, in their order."""
    with CohortFolder(cohort) as opened:
        patients, key = opened.patients, opened.schema.patient.column
    held = held_out(patients, holdout)
    with (
        new_folder(out, owner_only=True) as folder,
        Session(0, memory=MEMORY, problem=f"{cohort} cannot be read.") as session,
    ):
        secret = os.urandom(KEY)
        people = _ids(cohort, "patients", key, session)
        session.run(f"""
            CREATE TABLE held AS SELECT id FROM
            (SELECT {_text(key)} AS id FROM {people.scan})
            ORDER BY {_keyed_hash("id", secret)}, id LIMIT {held}""")
        for part in (TRAIN, HOLDOUT):
            (folder / part).mkdir()
            for name in KEPT:
                if (cohort / name).is_file():
                    shutil.copyfile(cohort / name, folder / part / name)
        for name in TABLES:
            _divide(cohort, name, key, folder, session)
        (folder / INTERNAL).mkdir()
        (folder / INTERNAL / "split.key").write_text(secret.hex() + "\n")
        (folder / INTERNAL / "NOT_FOR_RELEASE.md").write_text(NOTICE)
    return Split(patients - held, held)


def held_out(patients: int, share: float) -> int:
    """How many patients are held out: a function of their public number."""
    if not 0 < share < 1:
        as_count = f"; for {share:,.0f} of {patients:,} patients, {share / patients:.2g}"
        raise Refused(
            Code.OPTION_UNUSABLE,
            f"{share:g} is not a share of the patients between 0 and 1.",
            f"For 20 % of them, give 0.2{as_count if 1 <= share < patients else ''}.",
        )
    held = round(share * patients)
    if not 0 < held < patients:
        raise Refused(
            Code.OPTION_UNUSABLE,
            f"a share of {share:g} of {patients:,} patients leaves one part empty.",
            "Choose a share that leaves patients on both sides.",
        )
    return held


def shared_patients(first: Path, second: Path) -> int:
    """Count the ids that two cohorts have in common. Not for release."""
    with Session(0, memory=MEMORY, problem="the patients' ids cannot be read.") as session:
        ids = []
        for cohort in (first, second):
            with CohortFolder(cohort) as opened:
                key = opened.schema.patient.column
            table = _ids(cohort, "patients", key, session)
            ids.append(f"SELECT {_text(key)} AS id FROM {table.scan}")
        return session.row(f"SELECT count(*) FROM ({ids[0]} INTERSECT {ids[1]})")[0]


def _ids(cohort: Path, name: str, key: str, session: Session) -> Table:
    """The id column of a table, in a form in which no cell can stop DuckDB."""
    table = cohort_table(session, cohort, name, [(key, "id")])
    id_cast(table.types[key], table.types[key])
    return table


def _text(key: str) -> str:
    return f"CAST({quoted(key)} AS VARCHAR)"


def _keyed_hash(column: str, secret: bytes) -> str:
    """SQL for HMAC-SHA-256 (RFC 2104) of a text."""
    block = secret.ljust(BLOCK, b"\0")
    inner, outer = (f"unhex('{bytes(b ^ pad for b in block).hex()}')" for pad in (0x36, 0x5C))
    return f"sha256({outer} || unhex(sha256({inner} || encode({column}))))"


def _divide(cohort: Path, name: str, key: str, folder: Path, session: Session) -> None:
    """Send each row to its patient's side. DuckDB says which, and Arrow copies: so every column
    stays as it is, also one that DuckDB could not read."""
    ids = _ids(cohort, name, key, session)
    numbered = scan(ids.file).removesuffix(")") + ", file_row_number = true)"
    sides = session.batches(f"""
        SELECT held.id IS NOT NULL AS held FROM {numbered} AS rows
        LEFT JOIN held ON held.id = {_text(key)} ORDER BY file_row_number""")
    source = (cohort / f"{name}.parquet").absolute()
    problem = f"the {name} table of {cohort} cannot be read."
    with without_cells(problem), pq.ParquetFile(source) as file, ExitStack() as stack:
        train, held = (
            stack.enter_context(pq.ParquetWriter(folder / part / source.name, file.schema_arrow))
            for part in (TRAIN, HOLDOUT)
        )
        for batch, is_held in _together(file.iter_batches(ROWS), sides):
            train.write_batch(batch.filter(pc.invert(is_held)))
            held.write_batch(batch.filter(is_held))


def _together(
    batches: Iterator[pa.RecordBatch], sides: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """Each batch with the sides of its rows, which come in batches of another size."""
    ahead = pa.nulls(0, pa.bool_())
    for batch in batches:
        while len(ahead) < len(batch):
            ahead = pa.concat_arrays([ahead, next(sides).column(0)])
        yield batch, ahead.slice(0, len(batch))
        ahead = ahead.slice(len(batch))
