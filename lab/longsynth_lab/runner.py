"""Run experiments in parallel processes and collect one table; a killed run can be resumed.

A cell is one finished trial. Its table of scores is written last, so a cell with scores is done.
"""

import fcntl
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from longsynth.audit.classifiers import require_sklearn
from longsynth.audit.metric import Score
from longsynth.bundle import Bundle
from longsynth.system.errors import Code, Refused, noting
from longsynth.system.folders import not_written
from longsynth.system.workers import Watch, work_through
from longsynth_lab.errors import LabCode
from longsynth_lab.experiments import Experiment
from longsynth_lab.measures import CLASSIFIER, Evidence, measured, run
from longsynth_lab.results import (
    Prediction,
    Row,
    is_whole,
    joined,
    table_of,
    write_text_whole,
    write_whole,
)
from longsynth_lab.trial import Trial, patients_hash, trials

SECONDS = "cell_seconds"  # of the processor, for making and judging: what a rerun will take


def scores_file(out: Path, trial: Trial) -> Path:
    return out / "cells" / f"{trial.name}.parquet"


def predictions_file(out: Path, trial: Trial) -> Path:
    return out / "cells" / "predictions" / f"{trial.name}.parquet"


def run_cell(out: Path, trial: Trial) -> None:
    """Run a trial and write its files atomically."""
    start = time.process_time()
    evidence = run(trial)
    found = measured(evidence) | {SECONDS: [_seconds(time.process_time() - start)]}
    if keeps_predictions(trial):
        write_whole(predictions_file(out, trial), table_of(_predictions(evidence), Prediction))
    if evidence.bundle is not None:
        text = json.dumps(_ledger(evidence.bundle), indent=2, ensure_ascii=False) + "\n"
        write_text_whole(out / "ledgers" / f"{trial.name}.json", text)
    budget = evidence.bundle.ledger.budget if evidence.bundle else None
    provenance: dict[str, Any] = {
        "draw": trial.draw,
        "epsilon": budget.epsilon if budget else math.nan,
        "delta": budget.delta if budget else math.nan,
        "accounting": budget.accounting if budget else "",
        "train_patients": evidence.parts.train.patients,
        "test_patients": evidence.parts.test.patients,
        "patients_hash": patients_hash(evidence.parts),
        "made_by": trial.made_by,
        "judged_by": trial.judged_by,
    }
    rows = [
        Row(
            use.experiment,
            trial.method,
            trial.seed,
            use.setting,
            score.metric,
            float(score.value),
            float(score.lower),
            float(score.upper),
            classifier=CLASSIFIER.get(measure, ""),
            **provenance,
        )
        for use in trial.uses
        for measure in (*use.measures, SECONDS)
        for score in found.get(measure, ())
    ]
    write_whole(scores_file(out, trial), table_of(rows, Row))


def keeps_predictions(trial: Trial) -> bool:
    """Predictions for fresh populations are not kept: there are many, and their scores suffice.
    Predictions for real patients must not be kept."""
    setting = trial.setting
    return "utility" in trial.measures and not setting.fresh and setting.source == "simulated"


def _predictions(evidence: Evidence) -> list[Prediction]:
    trial, made = evidence.trial, evidence.predictions
    columns = zip(made.event, made.probability, made.group, made.site, strict=True)
    patients = [(int(e), float(p), int(g), int(s)) for e, p, g, s in columns]
    return [
        Prediction(use.experiment, trial.method, trial.seed, use.setting, place, *patient)
        for use in trial.uses
        if "utility" in use.measures
        for place, patient in enumerate(patients)
    ]


def _ledger(bundle: Bundle) -> dict[str, Any]:
    from longsynth.release.statement import ledger_json

    if bundle.ledger.private:
        return ledger_json(bundle.method, bundle.ledger)
    return {
        "method": bundle.method,
        "patients": bundle.patients,
        "promise": "NOT PRIVATE: these statistics were taken without noise",
        "entries": [{"statistic": entry.statistic.name} for entry in bundle.ledger.entries],
    }


def _seconds(value: float) -> Score:
    return Score(SECONDS, value, math.nan, math.nan, "none")


FINISHED = (
    "validation.json",
    "POPULATION.md",
    "MEMBERSHIP.md",
)  # written last: where one is, the study is whole
LIBRARIES = ("matplotlib", "opendp", "pyarrow", "scikit-learn", "scipy", "threadpoolctl")


def run_experiments(
    experiments: Sequence[Experiment], out: Path, *, jobs: int = 1, resume: bool = False
) -> list[Trial]:
    """Run the cells that are missing, then write the joined tables.

    Privacy noise has no seed, so a second run of a cell would differ. Finished cells are therefore
    kept, and a resumed study has the same tables as an uninterrupted one. A truncated cell runs
    again.
    """
    if os.path.lexists(out) and not resume:
        raise Refused(
            Code.OUTPUT_EXISTS,
            f"{out} exists already.",
            "Continue it with --resume, or choose another --out.",
        )
    require_sklearn()  # now, not after the first fits
    wanted = trials(experiments)
    with noting() as after, _only_one(out):
        after.append(f"Finished cells are kept in {out}: go on with --resume.")
        for name in FINISHED:
            (out / name).unlink(missing_ok=True)
        _sweep(out)
        _finish(out, wanted, jobs)
        write_text_whole(out / "study.json", json.dumps(_description(experiments, wanted)))
        write_whole(out / "results.parquet", joined(scores_file(out, trial) for trial in wanted))
        kept = [predictions_file(out, trial) for trial in wanted if keeps_predictions(trial)]
        if kept:
            write_whole(out / "predictions.parquet", joined(kept))
        write_text_whole(out / "versions.json", json.dumps(library_versions(), indent=2) + "\n")
    return wanted


@contextmanager
def _only_one(out: Path) -> Iterator[None]:
    """Lock the folder against a second run. The lock ends with the process."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / ".lock").open("w")
    except OSError as error:
        raise not_written(out, error) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                LabCode.STUDY_BUSY, f"Another run is using {out}.", "Wait for it or stop it."
            ) from None
        try:
            yield
        except OSError as error:
            raise not_written(out, error) from None
        finally:
            _sweep(out)


def _sweep(out: Path) -> None:
    """Remove files that a killed process had begun to write."""
    with suppress(OSError):
        for path in out.rglob(".*.partial"):
            path.unlink(missing_ok=True)


def _finish(out: Path, wanted: list[Trial], jobs: int) -> None:
    """Run the missing cells."""
    waiting = [trial for trial in wanted if not _done(out, trial)]
    with _progress(len(wanted), len(wanted) - len(waiting)) as watch:
        # First those that share the machine, then those that measure the clock, one by one.
        for alone, processes in ((False, jobs), (True, 1)):
            cells = [partial(run_cell, out, trial) for trial in waiting if trial.alone == alone]
            work_through(cells, processes if jobs > 1 else 0, watch)


def _done(out: Path, trial: Trial) -> bool:
    """Whether all tables of a cell are complete."""
    return is_whole(scores_file(out, trial), Row) and (
        not keeps_predictions(trial) or is_whole(predictions_file(out, trial), Prediction)
    )


def _description(experiments: Sequence[Experiment], wanted: list[Trial]) -> dict[str, Any]:
    """The experiments, and the cells that the results are joined from."""
    shown = [asdict(experiment) for experiment in experiments]
    return {"experiments": shown, "cells": [trial.name for trial in wanted]}


def library_versions() -> dict[str, str]:
    """Return the versions that the numbers depend on, besides the seeds."""
    from importlib.metadata import version

    from longsynth.system.origin import surroundings

    return surroundings() | {name: version(name) for name in LIBRARIES}


@contextmanager
def _progress(cells: int, finished: int) -> Iterator[Watch]:
    """A progress bar with the time left, only on a terminal's standard error."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns: tuple[Any, ...] = (
        TextColumn("study"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("cells"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    shown = Progress(*columns, console=console, disable=not console.is_terminal)
    with shown as bar:
        task = bar.add_task("study", total=cells, completed=finished)
        yield lambda done, _: bar.advance(task, 1 if done else 0)
