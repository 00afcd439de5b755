"""A run on disk: RUN/release for everyone, RUN/internal for the data steward only."""

import json
import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from longsynth.bundle import Bundle
from longsynth.encoding.rows import Encoder
from longsynth.engines import Distributed, Facts
from longsynth.fit import fit, fit_without_privacy
from longsynth.govern.book import Book
from longsynth.govern.form import load_form
from longsynth.govern.provenance import Provenance, require_name
from longsynth.methods import DEFAULT
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import method_named, origin_of
from longsynth.methods.resources import require_room
from longsynth.plan import Plan, plan
from longsynth.privacy.budget import DEFAULT_ACCOUNTING, Accounting
from longsynth.privacy.noise import NoiseSource
from longsynth.reading.cohort_folder import FOLDER, CohortFolder
from longsynth.reading.quality import Receipt, require_receipt
from longsynth.reading.records import Cohort, Patients
from longsynth.release.clipping import clipped_by_line
from longsynth.release.folder import Release, release_files
from longsynth.release.form_check import allows
from longsynth.release.internal import write_disclosed
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Refused, checked, noting
from longsynth.system.folders import new_folder
from longsynth.system.origin import surroundings
from longsynth.system.workers import counted_by, progress_bar

LOOKED_AT = 10_000  # patients, for what each line clips
NOTICE = """# Not for release

Everything in this folder was computed from real patients without any protection. Keep it where the
patients' data are kept. Only `release/`, next to it, may be shared. `reading.json` counts what
could not be read: look at it before you share a release.
"""


def raw_facts(batch: Cohort, schema: Schema, encoder: Encoder | None = None) -> Facts:
    """Return what `cohort_notes` needs from some patients, as whole numbers that add up. Give the
    schema's encoder if there are many batches."""
    low, high = np.array([v.bounds for v in schema.variables]).T
    encoded = (encoder or Encoder(schema))(batch)
    observed, used, variables = encoded.observed, encoded.in_use, len(schema.variables)
    with np.errstate(all="ignore"):  # no warning may reveal a wild value
        outside = np.flatnonzero(observed & ((batch.values < low) | (batch.values > high)))
        norms = encoded.norms
    return {
        "cells": np.array([np.count_nonzero(used)]),
        "missing": np.array([np.count_nonzero(used & ~observed)]),
        "clipped": np.bincount(outside % variables, minlength=variables),
        "long": np.array([(norms > schema.resolved_constants.clip_radius).sum()]),
        "events": np.array([batch.event.sum()]),
        "group": np.array([batch.group.sum()]),
    }


def cohort_notes(facts: Facts, schema: Schema, patients: int) -> dict[str, Any]:
    names = [v.name for v in schema.variables]
    return {
        "patients": patients,
        "event_rate": int(facts["events"][0]) / patients,
        "group_share": int(facts["group"][0]) / patients,
        "missing_rate": int(facts["missing"][0]) / max(int(facts["cells"][0]), 1),
        "patients_clipped_to_the_radius": int(facts["long"][0]) / patients,
        "cells_clipped_to_the_bounds": dict(zip(names, facts["clipped"].tolist(), strict=True)),
    }


class Watched:
    """Counts patients on their way into a fit, in its first pass."""

    def __init__(
        self,
        source: Patients,
        schema: Schema,
        watch: Callable[[Iterator[Cohort]], Iterator[Cohort]] = iter,
    ) -> None:
        self._source, self._schema, self._watch = source, schema, watch
        self._facts: Facts | None = None

    @property
    def patients(self) -> int:
        return self._source.patients

    def batches(self) -> Iterator[Cohort]:
        facts: dict[str, NDArray[np.int64]] = {}
        encoder = Encoder(self._schema)
        for batch in self._watch(self._source.batches()):
            if self._facts is None:
                for name, number in raw_facts(batch, self._schema, encoder).items():
                    facts[name] = facts[name] + number if name in facts else number
            yield batch
        self._facts = self._facts or facts

    def some(self, most: int) -> Cohort:
        """The first patients, not counted again."""
        return next(iter(self._source.batches())).take(slice(0, most))

    def notes(self) -> dict[str, Any]:
        if self._facts is None:
            raise TypeError("no patient has been read yet")
        return cohort_notes(self._facts, self._schema, self.patients)


@checked(cohort=FOLDER, out="Give the path of a folder that does not exist yet.")
def run_fit(
    cohort: Path | str | AbstractContextManager[Distributed],
    out: Path | str,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    method: str = DEFAULT,
    accounting: Accounting = DEFAULT_ACCOUNTING,
    book: Path | str | None = None,
    dataset: str | None = None,
    governance: Path | str | None = None,
    fitted_by: str | None = None,
    jobs: int = 1,
    noise: NoiseSource | None = None,
) -> Bundle:
    """Fit a cohort and write RUN completely, or not at all. `noise` is for tests.

    The cohort is a folder for the local engine, or patients that another engine has opened. A
    folder needs the receipt of a check.

    A private method needs a budget. Any other takes none, and writes RUN/internal only. A fit that
    the governance form does not allow is refused before the book is charged. The book is charged
    before noise is drawn: from then on the budget is spent, even if the fit fails.

    >>> import longsynth
    >>> longsynth.run_fit("cohort", "second", epsilon=4, delta=1e-5, method="dp-score")
    Bundle(dp-score, 200 patients, ε = 4, δ = 1e-05, 796 numbers in 6 lines)
    """
    _require_consistent(method, epsilon, delta, book, dataset, governance or fitted_by)
    if fitted_by is not None:
        require_name(fitted_by)
    form = load_form(governance) if governance else None
    with (
        noting() as afterwards,
        _opened(cohort) as (source, checked),
        new_folder(Path(out)) as scratch,
        progress_bar("patients") as progress,
    ):
        resolved = source.schema.resolved(source.patients)
        watched = _watched(source, resolved, progress)
        (scratch / "internal").mkdir(mode=0o700)
        clipped: dict[str, Any] = {}
        if epsilon is None or delta is None:
            bundle = fit_without_privacy(watched, source.schema, method)
            write_disclosed(bundle, scratch / "internal")
        else:
            budget = {"epsilon": epsilon, "delta": delta}
            planned = plan(
                source.schema, source.patients, **budget, method=method, accounting=accounting
            )
            require_room(planned)  # before the book is charged
            origin_of(planned.method)  # the same: a package without a name is refused
            if form:
                allows(
                    form,
                    schema=source.schema,
                    method=method,
                    budget=planned.ledger.budget,
                    patients=source.patients,
                    dataset=dataset,
                    fitted_by=fitted_by,
                )
            receipt = None
            if book and dataset:
                receipt = Book(book).charge(dataset, planned.ledger, method=method)
                afterwards.append(f"Entry {receipt.entry} of {book} is charged and stays spent.")
            bundle = fit(watched, planned, noise=noise, jobs=jobs)
            provenance = Provenance(fitted_by, form.sha256 if form else None, receipt)
            _write(scratch / "release", release_files(Release(bundle, provenance)))
            clipped = _clipped(watched, planned, bundle)
        used = resource.getrusage(resource.RUSAGE_SELF)
        notes = {
            "reading.json": source.repairs(),
            "cohort.json": _notes(watched, resolved) | clipped,
            "run.json": {
                "cpu_seconds": used.ru_utime + used.ru_stime,
                **surroundings(),
                "check": asdict(checked) if checked else None,
            },
        }
        written = {name: json.dumps(note, indent=2).encode() for name, note in notes.items()}
        _write(scratch / "internal", {"NOT_FOR_RELEASE.md": NOTICE.encode(), **written})
    return bundle


def _require_consistent(
    method: str,
    epsilon: float | None,
    delta: float | None,
    book: Path | str | None,
    dataset: str | None,
    governed: Path | str | None,
) -> None:
    if isinstance(method_named(method), PrivateMethod):
        if epsilon is None or delta is None:
            raise Refused(
                Code.BUDGET_MISSING, f"method '{method}' needs a budget.", "Give epsilon and delta."
            )
    elif epsilon is not None or delta is not None or book or governed:
        raise Refused(
            Code.NOT_PRIVATE,
            f"method '{method}' is NOT PRIVATE, so nothing can be charged or signed.",
            "Leave out epsilon, delta, the budget book, the governance form and the name.",
        )
    if (book is None) != (dataset is None):
        raise Refused(
            Code.OPTIONS_CONFLICT,
            "a budget book holds several datasets, so it is given together with one of them.",
            "Give both the book and the dataset.",
        )


@contextmanager
def _opened(
    cohort: Path | str | AbstractContextManager[Distributed],
) -> Iterator[tuple[CohortFolder | Distributed, Receipt | None]]:
    """Yield the patients, and for those of a folder the receipt of their check."""
    opened: AbstractContextManager[CohortFolder | Distributed]
    opened = CohortFolder(cohort) if isinstance(cohort, Path | str) else cohort
    with opened as source:
        yield source, require_receipt(source.folder) if source.folder else None


def _watched(
    source: CohortFolder | Distributed, schema: Schema, progress: Progress
) -> Watched | Distributed:
    if isinstance(source, Distributed):
        progress.add_task("fit", total=None)  # an engine does not report its progress
        return source
    return Watched(source, schema, counted_by(progress, "fit", source.patients))


def _notes(source: Watched | Distributed, schema: Schema) -> dict[str, Any]:
    if isinstance(source, Watched):
        return source.notes()
    return cohort_notes(source.tally(partial(raw_facts, schema=schema)), schema, source.patients)


def _clipped(source: Watched | Distributed, planned: Plan, bundle: Bundle) -> dict[str, Any]:
    """Of the first patients alone: an exact share is not worth another pass over all of them."""
    if isinstance(source, Distributed):
        return {}
    return clipped_by_line(source.some(LOOKED_AT), planned, bundle)


def _write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
