"""The runner: any experiments to one tidy table, in processes, resumable after a kill."""

import fcntl
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from longsynth.audit.classifiers import require_sklearn
from longsynth.benchmark.cell import keeps_predictions, predictions_file, run_cell, scores_file
from longsynth.benchmark.experiments import Experiment
from longsynth.benchmark.results import joined, write_text_whole, write_whole
from longsynth.benchmark.trial import Trial, trials
from longsynth.errors import Refused

LIBRARIES = ("matplotlib", "opendp", "pyarrow", "scikit-learn", "scipy", "threadpoolctl")


def run_experiments(
    experiments: Sequence[Experiment], out: Path, *, jobs: int = 1, resume: bool = False
) -> list[Trial]:
    """Run what is not there yet, then write the joined tables.

    The privacy noise takes no seed, so a second run of a cell would differ: finished cells are
    kept as they are, and a resumed study has the tables that it would have had.
    """
    if out.exists() and not resume:
        raise Refused(f"{out} exists already: continue it with --resume, or choose another --out.")
    require_sklearn()  # now, not after the first fits
    wanted = trials(experiments)
    out.mkdir(parents=True, exist_ok=True)
    with _only_one(out):
        _finish(out, wanted, jobs)
        write_text_whole(out / "study.json", json.dumps(_description(experiments, wanted)))
        write_whole(out / "results.parquet", joined(scores_file(out, trial) for trial in wanted))
        kept = [predictions_file(out, trial) for trial in wanted if keeps_predictions(trial)]
        if kept:
            write_whole(out / "predictions.parquet", joined(kept))
        write_text_whole(out / "versions.json", json.dumps(versions(), indent=2) + "\n")
    return wanted


@contextmanager
def _only_one(out: Path) -> Iterator[None]:
    """Keep a second run out of the folder; the lock ends with the process, however it ends."""
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"another run is at work in {out}: wait for it or stop it.") from None
        yield


def _finish(out: Path, wanted: list[Trial], jobs: int) -> None:
    """Run the cells that are not there yet."""
    waiting = [trial for trial in wanted if not scores_file(out, trial).is_file()]
    try:
        with _progress(len(wanted)) as advance:
            advance(len(wanted) - len(waiting))
            # First those that share the machine, then those that measure the clock, one by one.
            for alone, processes in ((False, jobs), (True, 1)):
                chosen = [trial for trial in waiting if trial.alone == alone]
                _run(out, chosen, processes if jobs > 1 else 0, advance)
    except KeyboardInterrupt:
        raise Refused(f"interrupted: finished cells stay in {out}; go on with --resume.") from None


def _description(experiments: Sequence[Experiment], wanted: list[Trial]) -> dict[str, Any]:
    """What was run: the experiments, and the cells that the results are joined from."""
    shown = [asdict(experiment) for experiment in experiments]
    return {"experiments": shown, "cells": [trial.name for trial in wanted]}


def versions() -> dict[str, str]:
    """Return what the numbers depend on beside the seeds."""
    from importlib.metadata import version

    from longsynth.version import surroundings

    return surroundings() | {name: version(name) for name in LIBRARIES}


def _run(out: Path, chosen: list[Trial], processes: int, advance: Callable[[int], None]) -> None:
    """Run trials in this process (0) or in others. A failure or an interrupt ends the others."""
    if not processes:
        with threadpool_limits(limits=1):
            for trial in chosen:
                run_cell(out, trial)
                advance(1)
        return
    if not chosen:
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _prepare, (os.getpid(),)) as pool:
        try:
            for done in as_completed([pool.submit(run_cell, out, trial) for trial in chosen]):
                done.result()
                advance(1)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _prepare(parent: int) -> None:
    """Make a process ready: one thread for linear algebra, and an end when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries that are not loaded yet
    threadpool_limits(limits=1)
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar of finished cells with the time left, on standard error of a terminal only."""
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
        task = bar.add_task("study", total=total)
        yield lambda cells: bar.advance(task, cells)
