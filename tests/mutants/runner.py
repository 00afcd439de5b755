"""Every mutant in a copy of the source and a process of its own, two at a time."""

import compileall
import json
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from unittest.mock import patch

from mutants.detectors import DETECTORS, NAMES
from mutants.examine import LIBRARIES, ROOT, Task, Verdict, examine_and_note, write_ordinary_cohort
from mutants.mutant import Mutant, Rotten, apply

WORKERS = 2
PROCESSES = multiprocessing.get_context("forkserver")
LONGEST = 300  # seconds; a bug that only hangs has shown nothing


@dataclass(frozen=True, slots=True)
class Outcome:
    mutant: Mutant | None  # None: the source as it is
    caught: dict[str, str]  # detector: the claim that failed
    trouble: str  # why there is no verdict, or what ended otherwise than by a claim
    seconds: float
    processor: float  # seconds, of all cores

    @property
    def as_it_should_be(self) -> bool:
        """A mutant is caught, by the detector meant for it too; the source as it is by none."""
        if self.mutant is None:
            return not self.caught and not self.trouble
        return self.mutant.by in self.caught


@contextmanager
def bench(source: Path = ROOT / "src") -> Iterator[Path]:
    """Yield a scratch folder with copies of source and tests, which nobody edits, and a cohort."""
    with tempfile.TemporaryDirectory(prefix="longsynth-mutants-") as scratch:
        folder = Path(scratch).resolve()
        for original, copy in ((source, "src"), (ROOT / "tests", "tests")):
            # compiled copies name the original as the place of an assertion
            without = shutil.ignore_patterns("__pycache__")
            shutil.copytree(original, folder / copy, ignore=without)
        compileall.compile_dir(folder / "src", quiet=2)
        with patch.dict(os.environ, {"OPENBLAS_NUM_THREADS": "1"}):  # no threads before a fork
            PROCESSES.set_forkserver_preload(LIBRARIES)
            ensure_running()
        _started(write_ordinary_cohort, folder / "src", folder / "tests", folder / "cohort")
        yield folder


def tried(
    folder: Path, mutants: Iterable[Mutant | None], detectors: tuple[str, ...] = NAMES
) -> Iterator[Outcome]:
    """Yield an outcome for each mutant, in their order."""
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(lambda mutant: tried_one(folder, mutant, detectors), mutants)


def _meeting(mutant: Mutant | None, detectors: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the detectors that a mutant meets."""
    slow = {detector.name for detector in DETECTORS if detector.slow}
    return tuple(d for d in detectors if mutant is None or d not in slow or d == mutant.by)


def tried_one(folder: Path, mutant: Mutant | None, detectors: tuple[str, ...] = NAMES) -> Outcome:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder) as own:
        task = Task(Path(own), folder, _meeting(mutant, detectors))
        shutil.copytree(folder / "src", task.tree)
        try:
            if mutant is not None:
                apply(mutant, task.tree / "longsynth")
            _started(examine_and_note, task)
            found = json.loads(task.verdict.read_text())
        except (Rotten, OSError) as error:
            said = task.log.read_text()[-800:] if task.log.exists() else str(error)
            found = asdict(Verdict(broken=f"no verdict: {said}"))
    trouble = found["broken"] or "; ".join(f"{d}: {e}" for d, e in found["stumbled"].items())
    seconds = time.monotonic() - start
    return Outcome(mutant, found["caught"], trouble, seconds, found["processor"])


def _started(function: object, *arguments: object) -> None:
    """Call a function in a new process in which the libraries are loaded, and longsynth is not."""
    process = PROCESSES.Process(target=function, args=arguments)  # type: ignore[arg-type]
    process.start()
    process.join(LONGEST)
    if process.is_alive():
        process.kill()
        process.join()
