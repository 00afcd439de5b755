"""Synthesizer: from data frames to synthetic data frames, under one privacy budget."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from secrets import randbelow
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from longsynth.bundle import Bundle
from longsynth.fit import fit
from longsynth.govern.provenance import Provenance
from longsynth.methods import DEFAULT
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import method_named, model_of
from longsynth.plan import Plan, plan
from longsynth.privacy.budget import DEFAULT_ACCOUNTING, Accounting
from longsynth.reading.cohort_folder import CohortFolder, Frame, cohort_folder_of
from longsynth.release.folder import Release, release_files
from longsynth.sample import sample
from longsynth.sampling.model import Model
from longsynth.sampling.where import Where
from longsynth.schema.file import load_schema
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Refused, checked
from longsynth.system.folders import new_folder
from longsynth.system.text import html_table
from longsynth.writing.own import own_tables

Kind = Callable[[Any], Frame]
TWO = "Give two tables: fit(observations, patients)."
SHOWN = 5  # rows of each table in a notebook


class SyntheticFrames(NamedTuple):
    """Synthetic patients as two tables, in the kind of frame that was fitted."""

    observations: Frame  # one row per patient and time
    patients: Frame  # one row per patient

    def to_arrow(self) -> "SyntheticFrames":
        return self._as(_arrow)

    def to_pandas(self) -> "SyntheticFrames":
        return self._as(_pandas)

    def to_polars(self) -> "SyntheticFrames":
        return self._as(_polars)

    def _as(self, kind: Kind) -> "SyntheticFrames":
        return SyntheticFrames(*(kind(pa.table(frame)) for frame in self))

    def __repr__(self) -> str:
        observations, people = (len(pa.table(frame)) for frame in self)
        return f"SyntheticFrames({people:,} patients, {observations:,} observations)"

    def _repr_html_(self) -> str:
        return "".join(
            html_table(
                f"{name}: the first of {len(table):,} synthetic rows",
                table.column_names,
                (row.values() for row in table.slice(0, SHOWN).to_pylist()),
            )
            for name, table in zip(self._fields, map(pa.table, self), strict=True)
        )


class Synthesizer:
    """Fits data frames once, and samples from what was released.

    pandas, polars, DuckDB and pyarrow tables all work. Results come back in the same kind; to a
    DuckDB relation, as a pyarrow table, which DuckDB can query by its name.

    >>> import longsynth, pyarrow.parquet
    >>> observations = pyarrow.parquet.read_table("cohort/observations.parquet")
    >>> patients = pyarrow.parquet.read_table("cohort/patients.parquet")
    >>> synthesizer = longsynth.Synthesizer("cohort/schema.yaml", epsilon=4, delta=1e-5)
    >>> synthesizer.fit(observations, patients).sample(500).patients.num_rows
    500
    >>> print(synthesizer.report().splitlines()[0])
    ε = 4, δ = 1e-05 for each of 200 patients
    """

    @checked(schema="Give a Schema, or the path of one. To begin one, call Schema.suggest(names).")
    def __init__(
        self,
        schema: Schema | Path | str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        method: str = DEFAULT,
        accounting: Accounting = DEFAULT_ACCOUNTING,
    ) -> None:
        if not isinstance(method_named(method), PrivateMethod):
            raise Refused(
                Code.NOT_PRIVATE,
                f"method '{method}' is NOT PRIVATE, so a Synthesizer does not use it.",
                "Choose a private method. To compare with a baseline, call "
                "fit_without_privacy(read_frames(schema, observations, patients), schema, method).",
            )
        if epsilon is None or delta is None:
            raise Refused(
                Code.BUDGET_MISSING, f"method '{method}' needs a budget.", "Give epsilon and delta."
            )
        self.schema = schema if isinstance(schema, Schema) else load_schema(schema)
        self._budget: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "method": method,
            "accounting": accounting,
        }
        self._spent = False
        self._bundle: Bundle | None = None
        self._kind: Kind = _arrow

    def plan(self, patients: int) -> Plan:
        """Return the whole ledger for this many patients. No patient is read."""
        return plan(self.schema, patients, **self._budget)

    @checked(observations=TWO, patients=TWO)
    def fit(self, observations: Frame, patients: Frame) -> Self:
        """Read the patients, and release what the plan says. This spends the budget: a second fit
        of the same object is refused, even if the first one stopped with an error."""
        if self._spent:
            raise Refused(
                Code.ALREADY_FITTED,
                "this synthesizer has spent its budget.",
                "Sample from it, or make another one: both releases then add up.",
            )
        with (
            cohort_folder_of(self.schema, observations, patients) as folder,
            CohortFolder(folder) as cohort,
        ):
            accepted = self.plan(cohort.patients)
            self._spent = True
            self._bundle = fit(cohort, accepted)
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

    @cached_property
    def _model(self) -> Model:
        return model_of(self.release)

    @checked(patients="Give a whole number.")
    def sample(
        self, patients: int, *, seed: int | None = None, where: Where | None = None
    ) -> SyntheticFrames:
        """Return synthetic patients. Sample as often as you like: it costs no budget.

        Each patient has a `weight`. Use it in averages: sampling may take more of a rare group.
        """
        chosen = randbelow(1 << 32) if seed is None else seed
        made = sample(self._model, patients, seed=chosen, where=where)
        tables = own_tables(made, self.schema, np.arange(1, patients + 1))
        return SyntheticFrames(*map(self._kind, tables))

    def report(self) -> str:
        """Say what was released and at which price, line by line."""
        ledger = self.release.ledger
        lines = [
            f"{entry.statistic.name}: {entry.statistic.dimension:,} numbers, "
            f"{100 * float(entry.share):.0f} % of the budget"
            for entry in ledger.entries
        ]
        head = f"{self._guarantee} for each of {ledger.patients:,} patients"
        return "\n".join([head, *lines])

    @property
    def _guarantee(self) -> str:
        return f"ε = {self._budget['epsilon']:g}, δ = {self._budget['delta']:g}"

    def __repr__(self) -> str:
        fitted = self._bundle is not None
        state = f"fitted to {self.release.patients:,} patients" if fitted else "not fitted"
        method = self._budget["method"]
        return f"Synthesizer({self.schema.name!r}, {method}, {self._guarantee}, {state})"


def _kind_of(frame: Frame) -> Kind:
    package = type(frame).__module__.partition(".")[0]
    if package == "pandas":
        return _pandas
    return _polars if package == "polars" else _arrow


def _arrow(table: pa.Table) -> Frame:
    return table


def _pandas(table: pa.Table) -> Frame:
    return table.to_pandas()


def _polars(table: pa.Table) -> Frame:
    import polars

    return polars.from_arrow(table)
