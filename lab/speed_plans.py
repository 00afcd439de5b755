"""What `longsynth plan` says, against what the commands take; and how an audit grows.

Each command is a process of its own, start and imports included.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

# method, slots T, variables V, patients N
CASES = (
    *(("copula-score", 14, v, n) for v in (5, 20, 70) for n in (500, 5_000)),
    ("copula-score", 14, 20, 40_000),
    ("copula-score", 50, 20, 2_000),
    ("copula-score", 14, 5, 1_000_000),
    *((method, 14, 20, 5_000) for method in ("trust", "dp-markov", "dp-score")),
    ("trust", 14, 5, 1_000_000),
)
DRAWN = 1_000  # patients of a sample
AUDITED = (1_000, 7_000, 28_000)  # patients of each cohort
COLUMNS, TOGETHER = 64, 1_024  # of a record, for the floor; and patients at once
EPSILON, DELTA = 4, 1e-8
Figures = dict[str, Any]


def plans(method: str, slots: str, variables: str, patients: str) -> Figures:
    """CPU seconds and memory of a fit and of a first sample, planned and measured."""
    from longsynth import plan
    from longsynth.methods.resources import needs_of, needs_of_sample

    schema, n = _schema(int(slots), int(variables)), int(patients)
    made = plan(schema, n, method=method, epsilon=EPSILON, delta=DELTA)
    needs = {"fit": needs_of(made), "sample": needs_of_sample(made, DRAWN)}
    with tempfile.TemporaryDirectory() as scratch:
        cohort, run = Path(scratch) / "cohort", Path(scratch) / "run"
        _write(cohort, schema, n)
        budget = [f"--epsilon={EPSILON}", f"--delta={DELTA}"]
        commands = {
            "fit": ["fit", cohort, "--method", method, *budget, "--out", run],
            "sample": ["sample", run / "release", f"--patients={DRAWN}", "--seed=1", "--out"],
        }
        commands["sample"].append(Path(scratch) / "sample")
        measured = {name: _command(*given) for name, given in commands.items()}
    planned = {
        name: {"cpu": need.seconds, "peak": need.memory / 1e6} for name, need in needs.items()
    }
    return {"planned": planned, "measured": measured}


def audits(patients: str) -> Figures:
    """An audit of cohorts of so many patients; its floor is one float32 product between all
    training and all synthetic records."""
    from longsynth import audit, simulate, simulated_schema

    n, rng = int(patients), np.random.default_rng(0)
    train, test, other = (simulate(n, seed=seed) for seed in (1, 2, 3))
    audit(simulated_schema(), *(simulate(100, seed=seed) for seed in (1, 2, 3)))  # imports
    start = time.process_time()
    audit(simulated_schema(), train, test, other)
    seconds = time.process_time() - start
    records = rng.standard_normal((n, COLUMNS), np.float32)
    start = time.process_time()
    for first in range(0, n, TOGETHER):
        records[first : first + TOGETHER] @ records.T
    return {"patients": n, "cpu": seconds, "floor": time.process_time() - start}


def _schema(slots: int, variables: int) -> Any:
    from longsynth.schema.schema import Schema

    listed = [
        {"name": f"v{v}", "kind": "continuous", "bounds": [0, 10], "bounds_from": "-"}
        for v in range(variables)
    ]
    about = {"longsynth": 1, "name": "wide", "slots": slots, "max_gap": 48}
    return Schema.model_validate(about | {"variables": listed})


def _write(folder: Path, schema: Any, patients: int) -> None:
    """Patients with records of different lengths, of which 30 % of the cells are missing."""
    from longsynth.reading.by_patient import at_once
    from longsynth.reading.quality import receipt_of_simulated
    from longsynth.writing.cohort import write_cohort

    folder.mkdir()
    sizes = [min(at_once(schema), patients - s) for s in range(0, patients, at_once(schema))]
    write_cohort(folder, schema, (_cohort(schema, n, seed) for seed, n in enumerate(sizes)))
    receipt_of_simulated(folder)


def _cohort(schema: Any, n: int, seed: int) -> Any:
    from longsynth.reading.records import Cohort

    rng, slots, variables = np.random.default_rng(seed), schema.slots, len(schema.variables)
    severity, loading = rng.normal(size=n), np.linspace(-0.9, 0.9, variables)
    values = 5 + 1.5 * (severity[:, None, None] * loading + rng.normal(size=(n, slots, variables)))
    length = rng.integers(max(slots // 2, 1), slots + 1, n)
    used = np.arange(slots) < length[:, None]
    return Cohort(
        values=values,
        observed=(rng.random(values.shape) < 0.7) & used[:, :, None],
        gaps=np.where(used, rng.exponential(5, used.shape), 0.0),
        length=length,
        group=np.zeros(n, np.int64),
        event=(severity + rng.normal(size=n) > 1).astype(np.int64),
        site=np.zeros(n, np.int64),
    )


def _command(*given: object) -> Figures:
    call = [sys.executable, "-m", "longsynth.commands", *map(str, given)]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with subprocess.Popen(call, stdout=subprocess.DEVNULL, env=os.environ | one) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, call)
    return {"cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1e3}
