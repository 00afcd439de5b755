"""Synthesizer: from data frames to synthetic data frames, under one privacy budget."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from secrets import randbelow
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.bundle import Bundle
from longsynth.fit import fit
from longsynth.govern.provenance import Provenance
from longsynth.methods import DEFAULT
from longsynth.methods.registry import model_of
from longsynth.plan import Plan, plan
from longsynth.privacy.budget import DEFAULT_ACCOUNTING, Accounting
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.release.folder import Release, release_files
from longsynth.sample import sample
from longsynth.schema.file import dump, load_schema
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, CohortError, Refused
from longsynth.system.folders import new_folder
from longsynth.system.scratch import ScratchFolder
from longsynth.writing.own_form import own_tables

Frame = Any  # pandas, polars, DuckDB, pyarrow: whatever speaks Arrow
Kind = Callable[[pa.Table], Frame]


@dataclass(frozen=True, slots=True)
class SyntheticFrames:
    """Synthetic patients as two tables, in the kind of frame that was fitted."""

    observations: Frame  # one row per patient and time
    patients: Frame  # one row per patient

    def to_arrow(self) -> "SyntheticFrames":
        return self._as(pa.table)

    def to_pandas(self) -> "SyntheticFrames":
        return self._as(_pandas)

    def to_polars(self) -> "SyntheticFrames":
        return self._as(_polars)

    def _as(self, kind: Callable[[Any], Frame]) -> "SyntheticFrames":
        return SyntheticFrames(kind(pa.table(self.observations)), kind(pa.table(self.patients)))

    def __repr__(self) -> str:
        tables = pa.table(self.observations), pa.table(self.patients)
        rows, people = map(len, tables)
        return f"SyntheticFrames({people:,} patients, {rows:,} observations)"


class Synthesizer:
    """Fits data frames once and samples from what was released.

    >>> import longsynth
    >>> synthesizer = longsynth.Synthesizer(schema, epsilon=4, delta=1e-6)
    >>> synthetic = synthesizer.fit(observations, patients).sample(500)
    >>> synthetic.patients
    """

    def __init__(
        self,
        schema: Schema | Path | str,
        *,
        epsilon: float,
        delta: float,
        method: str = DEFAULT,
        accounting: Accounting = DEFAULT_ACCOUNTING,
    ) -> None:
        self.schema = schema if isinstance(schema, Schema) else load_schema(schema)
        self._budget: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "method": method,
            "accounting": accounting,
        }
        self._bundle: Bundle | None = None
        self._kind: Callable[[pa.Table], Frame] = pa.table

    def plan(self, patients: int) -> Plan:
        """Return the whole ledger for this many patients. No patient is read."""
        return plan(self.schema, patients, **self._budget)

    def fit(self, observations: Frame, patients: Frame) -> Self:
        """Read the patients once, and release what the plan says. The budget is spent then: a
        second fit of this object is refused."""
        if self._bundle is not None:
            raise Refused(
                Code.ALREADY_FITTED,
                "this synthesizer has spent its budget.",
                "Sample from it, or make another one: both releases then add up.",
            )
        tables = {
            "observations": _table(observations, "observations"),
            "patients": _table(patients, "patients"),
        }
        with closing(ScratchFolder()) as scratch:
            for name, table in tables.items():
                pq.write_table(table, scratch.path / f"{name}.parquet")
            (scratch.path / "schema.yaml").write_text(dump(self.schema), encoding="utf-8")
            with CohortFolder(scratch.path) as cohort:
                self._bundle = fit(cohort, self.plan(cohort.patients))
        self._kind = _kind_of(observations)
        return self

    @property
    def release(self) -> Bundle:
        """What was released. Anyone may see it."""
        if self._bundle is None:
            raise Refused(
                Code.NOT_FITTED,
                "nothing was fitted yet.",
                "Call fit(observations, patients) first.",
            )
        return self._bundle

    def write_release(self, folder: Path | str) -> None:
        """Write the release folder: the statement, the ledger and the released numbers."""
        with new_folder(Path(folder)) as scratch:
            for name, content in release_files(Release(self.release, Provenance())).items():
                (scratch / name).write_bytes(content)

    def sample(
        self, patients: int, *, seed: int | None = None, where: Mapping[str, str] | None = None
    ) -> SyntheticFrames:
        """Return synthetic patients. Sample as often as you like: it costs no budget."""
        chosen = randbelow(1 << 32) if seed is None else seed
        made = sample(model_of(self.release), patients, seed=chosen, where=where)
        tables = own_tables(made, self.schema, np.arange(1, patients + 1))
        return SyntheticFrames(*map(self._kind, tables))

    def report(self) -> str:
        """Say what was released and at which price, line by line."""
        ledger = self.release.ledger
        budget = ledger.budget
        assert budget is not None
        head = (
            f"ε = {budget.epsilon:g}, δ = {budget.delta:g} for each of {ledger.patients:,} patients"
        )
        lines = [
            f"{entry.statistic.name}: {entry.statistic.dimension:,} numbers, "
            f"{100 * float(entry.share):.0f} % of the budget"
            for entry in ledger.entries
        ]
        return "\n".join([head, *lines])

    def __repr__(self) -> str:
        state = "fitted" if self._bundle is not None else "not fitted"
        return f"Synthesizer({self.schema.name!r}, {state})"


def _table(frame: Frame, name: str) -> pa.Table:
    try:
        return pa.table(frame)
    except (TypeError, ValueError, pa.ArrowInvalid):
        kind = type(frame).__name__
    raise CohortError(
        Code.NOT_A_TABLE,
        f"{name} is a {kind}, which is no table.",
        "Give a pandas, polars, DuckDB or pyarrow table.",
    )


def _kind_of(frame: Frame) -> Callable[[pa.Table], Frame]:
    package = type(frame).__module__.partition(".")[0]
    kinds: dict[str, Kind] = {"pandas": _pandas, "polars": _polars, "pyarrow": pa.table}
    return kinds.get(package, kinds["pyarrow"])


def _pandas(table: pa.Table) -> Frame:
    return table.to_pandas()


def _polars(table: pa.Table) -> Frame:
    import polars

    return polars.from_arrow(table)
