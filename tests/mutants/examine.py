"""One tree before the detectors, in a process of its own: does it work, and who catches it?

Nothing here imports longsynth at the top: which one is imported is decided inside the process.
"""

import contextlib
import io
import json
import os
import re
import resource
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest
import threadpoolctl

from mutants.detectors import DETECTORS, Detector

PROMISE = (
    *("--epsilon", "4", "--delta", "1e-5"),
    *("--method", "trust", "--accounting", "zcdp"),
)
ROOT = Path(__file__).parents[2]
LIBRARIES = [  # loaded once for all mutants
    "mutants.examine",
    "dp_accounting.pld",
    "dp_accounting.rdp",
    "duckdb",
    "hypothesis.strategies",
    "mpmath",
    "opendp.measurements",
    "pyarrow.parquet",
    "pydantic",
    "rich.progress",
    "rich.table",
    "scipy.linalg.blas",
    "scipy.stats",
    "typer",
    "yaml",
]


@dataclass(frozen=True, slots=True)
class Task:
    own: Path  # a folder for this process alone; the tree is in it
    bench: Path  # what all processes share: tests and a cohort
    detectors: tuple[str, ...]

    @property
    def tree(self) -> Path:
        return self.own / "src"

    @property
    def verdict(self) -> Path:
        return self.own / "verdict.json"

    @property
    def log(self) -> Path:
        return self.own / "log.txt"


@dataclass
class Verdict:
    """What the detectors say of one tree."""

    broken: str = ""  # why it is no working longsynth; empty: it fits and samples
    caught: dict[str, str] = field(default_factory=dict)  # detector: the claim that failed
    stumbled: dict[str, str] = field(default_factory=dict)  # detector: a test that ended otherwise
    processor: float = 0.0  # seconds


def write_ordinary_cohort(tree: Path, tests: Path, folder: Path) -> None:
    import_from(tree, tests)
    from support import random_cohort, small_schema, write_checked

    folder.mkdir()
    write_checked(folder, small_schema(), [random_cohort(60, seed=2)])


def examine_and_note(task: Task) -> None:
    """Write the verdict on a tree; without one there is no verdict."""
    with task.log.open("wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.dont_write_bytecode = False  # or pytest would rewrite its files for every mutant
    tempfile.tempdir = os.environ["TMPDIR"] = str(task.own)
    import_from(task.tree, task.bench / "tests")
    verdict = Verdict(broken=_broken(task.bench / "cohort", task.own))
    if not verdict.broken:
        _run(task, verdict)
    for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)):
        verdict.processor += used.ru_utime + used.ru_stime
    task.verdict.write_text(json.dumps(asdict(verdict)), encoding="utf-8")


def import_from(tree: Path, tests: Path) -> None:
    """Make this process and its children import the tree's longsynth, not the installed one."""
    sys.path[:0] = [str(tree), str(tests)]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(tree), str(tests)])
    import longsynth

    if not Path(longsynth.__file__).is_relative_to(tree):
        raise RuntimeError(f"imported {longsynth.__file__} instead of the package in {tree}")
    _remember_what_every_fit_repeats()


def _remember_what_every_fit_repeats() -> None:
    """Pure functions of public figures, and a search for BLAS, which has one thread here anyway."""
    threadpoolctl.threadpool_limits = lambda limits: contextlib.nullcontext()
    from caching import remember

    remember()


def _broken(cohort: Path, own: Path) -> str:
    """Say why the tree cannot fit and sample an ordinary cohort; a bug must look as if it could."""
    run, drawn = own / "run", own / "drawn"
    commands = (
        ["fit", str(cohort), *PROMISE, "--out", str(run)],
        ["sample", str(run / "release"), "--patients", "20", "--seed", "1", "--out", str(drawn)],
    )
    for command in commands:
        code, said = _command(command)
        if "its own patient" in said:  # refused by the check of rows: the detectors go on
            return ""
        if code:
            return f"`longsynth {command[0]}` exits with {code}: {said.strip()}"
    return ""


def _command(arguments: list[str]) -> tuple[int, str]:
    from longsynth.commands.__main__ import main

    said, sys.argv = io.StringIO(), ["longsynth", *arguments]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), said.getvalue()
    return 0, said.getvalue()


class Watcher:
    """A pytest plugin that notes for each detector the first claim that fails."""

    def __init__(self, detectors: dict[Path, Detector], tests: Path, verdict: Verdict) -> None:
        self._detector, self._tests, self._verdict = detectors, tests, verdict

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [
            item
            for item in items
            if not re.search(self._detector[item.path].without, f"{item.path.name}::{item.name}")
        ]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._verdict.stumbled[report.nodeid] = report.longreprtext[-300:]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self._detector[item.path].name in self._verdict.caught:
            pytest.skip("this detector has caught the tree and is done with it")

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        raised = call.excinfo
        if raised is None or raised.errisinstance(pytest.skip.Exception):
            return
        name = self._detector[item.path].name
        claim = item.name.removeprefix("test_").replace("_", " ")
        if self._is_own(raised):
            self._verdict.caught.setdefault(name, claim)
        else:
            self._verdict.stumbled[name] = f"{claim}: {raised.exconly()[:300]}"

    def _is_own(self, raised: pytest.ExceptionInfo[BaseException]) -> bool:
        """An assertion of the detector itself, or the refusal of the check of rows, which asserts
        the same in every fit. A bug that only crashes has shown nothing."""
        if raised.errisinstance(pytest.fail.Exception) or raised.typename == "DependentRows":
            return True
        place = Path(raised.traceback[-1].path)
        return raised.errisinstance(AssertionError) and place.is_relative_to(self._tests)


def _run(task: Task, verdict: Verdict) -> None:
    tests = task.bench / "tests"
    chosen = [d for d in DETECTORS if d.name in task.detectors]
    detectors = {tests / file: detector for detector in chosen for file in detector.files}
    arguments = ["--quiet", f"--rootdir={task.bench}", f"--config-file={ROOT / 'pyproject.toml'}"]
    arguments += [f"--override-ini=pythonpath={tests}", f"--basetemp={task.own / 'pytest'}"]
    arguments += ["-p", "no:cacheprovider"]
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # libraries came before it
    watcher = Watcher(detectors, tests, verdict)
    code = pytest.main([*arguments, *map(str, detectors)], plugins=[watcher])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        verdict.stumbled["pytest"] = f"ended with {code!r}"
