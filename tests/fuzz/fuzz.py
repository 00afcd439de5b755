"""Fuzz the readers: `python tests/fuzz/fuzz.py --inputs 10000 --seed 1`.

Every input must be accepted or refused in a sentence. Anything else is counted and fails the run:
a traceback, a sentinel in anything said, a hang, a crash of the process, a file left behind. An
input follows from its seed and number alone: `--only NUMBER` tries one again and tells all.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GOOD = ("accepted", "refused")
BAD = ("traceback", "sentinel", "hang", "crash", "left behind", "not made")
LIMIT = 60.0  # seconds for one input, a quarter of them at work
MEMORY = 6 << 30  # bytes of address space for one process
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
Report = dict[str, Any]


def outcomes(
    seed: int, numbers: range, *, kinds: str = "readers", limit: float = LIMIT
) -> Iterator[Report]:
    """Try the inputs in processes of their own; a process that dies is followed by another."""
    first = numbers.start
    while first < numbers.stop:
        tried = first
        for report in _one_process(kinds, seed, range(first, numbers.stop, numbers.step), limit):
            tried = report["number"]
            yield report
        first = tried + numbers.step


def _one_process(kinds: str, seed: int, numbers: range, limit: float) -> Iterator[Report]:
    arguments = [kinds, limit, MEMORY, seed, numbers.start, numbers.stop, numbers.step]
    with tempfile.TemporaryFile("w+") as complaints, tempfile.TemporaryDirectory() as scratch:
        process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", str(HERE / "worker.py"), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            env=os.environ | ONE_THREAD | {"TMPDIR": scratch, "NO_COLOR": "1"},
        )
        under_way = None
        with process:
            for line in process.stdout or ():
                told = json.loads(line)
                under_way = None if isinstance(told, dict) else told
                if isinstance(told, dict):
                    yield told
        complaints.seek(0)
        said = complaints.read()[-2000:]
    if process.returncode == 0:
        return
    if under_way is None:
        raise RuntimeError(f"a worker could not start: {said}")
    number, kind = under_way
    what = "hang" if -process.returncode in (signal.SIGALRM, signal.SIGPROF) else "crash"
    detail = f"the process ended with {process.returncode}. {said}"
    yield {"number": number, "kind": kind, "what": what, "seconds": limit, "detail": detail}


def table(reports: list[Report]) -> str:
    """Return the counts by kind, as the last lines of a run."""
    columns = (*GOOD, *BAD)
    rows = [("inputs", "all", *columns, "slowest")]
    names = list(dict.fromkeys(report["kind"] for report in reports))
    for name in (*names, "total"):
        mine = [r for r in reports if name in (r["kind"], "total")]
        counts = Counter(r["what"] for r in mine)
        slowest = max((r["seconds"] for r in mine), default=0.0)
        rows.append((name, str(len(mine)), *(str(counts[c]) for c in columns), f"{slowest:.1f} s"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def run(inputs: int, seed: int, jobs: int = 1) -> list[Report]:
    """Try inputs 0 to `inputs` - 1 and return what came of each."""
    with ThreadPoolExecutor(jobs) as pool:
        parts = [range(job, inputs, jobs) for job in range(jobs)]
        done = pool.map(lambda part: list(outcomes(seed, part)), parts)
        return sorted((r for part in done for r in part), key=lambda r: int(r["number"]))


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the readers; exit 1 if any of them fails.")
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", type=int, help="try this one input again")
    wanted = parser.parse_args()
    started = time.monotonic()
    if wanted.only is not None:
        reports = list(outcomes(wanted.seed, range(wanted.only, wanted.only + 1)))
        sys.stdout.write(json.dumps(reports[0], indent=1, ensure_ascii=False) + "\n")
        return int(reports[0]["what"] in BAD)
    reports = run(wanted.inputs, wanted.seed, wanted.jobs)
    bad = [report for report in reports if report["what"] in BAD]
    for report in bad:
        detail = " | ".join(report["detail"].strip().splitlines()[-3:])
        sys.stdout.write(f"{report['what']}: {report['kind']} {report['number']}: {detail[:400]}\n")
    took = time.monotonic() - started
    sys.stdout.write(f"{table(reports)}\n")
    sys.stdout.write(
        f"{len(reports):,} fuzzed inputs, seed {wanted.seed}, {took:.0f} s: {len(bad)} faults.\n"
    )
    return int(bool(bad) or len(reports) != wanted.inputs)


if __name__ == "__main__":
    sys.path[0] = str(HERE.parent)  # so that this folder is the package `fuzz`
    sys.exit(main())
