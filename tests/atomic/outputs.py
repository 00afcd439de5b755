"""The commands that write, how to start them, and how to see that what they wrote is whole."""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from longsynth import read_cohort, verify

SMALL = Path(__file__).with_name("small_study.py")  # `longsynth bench`, in small
PROMISE = ["--epsilon", "12", "--delta", "1e-5", "--method", "trust"]
AUDIT = {"AUDIT.md", "audit.json", "predictions.parquet"}
INTERNAL = {"NOT_FOR_RELEASE.md", "cohort.json", "reading.json", "run.json"}


@dataclass(frozen=True, slots=True)
class Work:
    """A folder with what the commands need: a cohort, a run of it and a synthetic cohort."""

    folder: Path

    @property
    def cohort(self) -> Path:
        return self.folder / "cohort"

    @property
    def held_out(self) -> Path:
        return self.folder / "held out"

    @property
    def release(self) -> Path:
        return self.folder / "run" / "release"

    @property
    def synthetic(self) -> Path:
        return self.folder / "synthetic"


def prepare(folder: Path, patients: int) -> Work:
    made = Work(folder)
    run("simulate", "--patients", patients, "--out", made.cohort)
    run("simulate", "--seed", 12, "--patients", patients, "--out", made.held_out)
    run("fit", made.cohort, *PROMISE, "--out", folder / "run")
    run("sample", made.release, "--patients", 200, "--seed", 7, "--out", made.synthetic)
    return made


def commands(work: Work, patients: int) -> dict[str, list[object]]:
    """What to write, `--out` aside."""
    audited = ["--train", work.cohort, "--test", work.held_out, "--synthetic", work.synthetic]
    return {
        "fit": ["fit", work.cohort, *PROMISE],
        "sample": ["sample", work.release, "--patients", patients, "--seed", 3],
        "simulate": ["simulate", "--patients", patients],
        "audit": ["audit", *audited, "--bootstrap", 0],
    }


def environment(**more: object) -> dict[str, str]:
    return os.environ | {"NO_COLOR": "1", "COLUMNS": "120"} | {k: str(v) for k, v in more.items()}


def start(*arguments: object, script: Path | None = None, **more: object) -> subprocess.Popen[str]:
    """Start a command in a process group of its own, as a terminal does."""
    program = [str(script)] if script else ["-m", "longsynth.commands"]
    return subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**more),
        start_new_session=True,
        preexec_fn=hearing,
    )


def hearing() -> None:
    """Even where these tests run under nohup, which has SIGHUP ignored."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def run(*arguments: object, script: Path | None = None, **more: object) -> str:
    done = start(*arguments, script=script, **more)
    out, err = done.communicate(timeout=600)
    assert done.returncode == 0, err
    return out


def fit_is_whole(work: Work, out: Path, _: int) -> bool:
    good = all(finding.good for finding in verify(out / "release"))
    private = (out / "internal").stat().st_mode & 0o777 == 0o700
    return good and private and {p.name for p in (out / "internal").iterdir()} == INTERNAL


def sample_is_whole(work: Work, out: Path, patients: int) -> bool:
    return all(finding.good for finding in verify(work.release, out))


def simulate_is_whole(work: Work, out: Path, patients: int) -> bool:
    return read_cohort(out)[1].patients == patients


def audit_is_whole(work: Work, out: Path, _: int) -> bool:
    json.loads((out / "audit.json").read_text(encoding="utf-8"))
    pq.read_table(out / "predictions.parquet")
    return {p.name for p in out.iterdir()} >= AUDIT and out.stat().st_mode & 0o777 == 0o700


WHOLE: dict[str, Callable[[Work, Path, int], bool]] = {
    "fit": fit_is_whole,
    "sample": sample_is_whole,
    "simulate": simulate_is_whole,
    "audit": audit_is_whole,
}


def cleared(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def main_here(*arguments: object) -> tuple[int, str, str]:
    """Run a command in this process: its exit code, standard output and standard error."""
    from longsynth.commands.__main__ import main

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["longsynth", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        return int(end.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.argv = before
    raise AssertionError("a command exits")
