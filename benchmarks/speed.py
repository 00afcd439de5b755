"""How fast, as ratios to floors measured in the same run. Not a test: nothing here can fail.

fit     CPU seconds of `plan` + `fit` from Parquet, against scanning the same file once with
        PyArrow and one float64 product of all encoded values (SYRK)
sample  CPU seconds of drawing and writing, against writing the same table with PyArrow
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.linalg.blas import dsyrk

from longsynth import fit, model_of, plan, simulate, simulated_schema
from longsynth.govern.synthetic_folder import Recipe, write_synthetic
from longsynth.io.tables import CohortFolder
from longsynth.io.writer import write_cohort
from longsynth.version import surroundings

SIZES = (720, 10_000, 100_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/speed.json"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        _fit(Path(scratch) / "warm", 100)  # imports are not what is measured
        rows = [_measured(Path(scratch), size) for size in arguments.sizes]
    print(f"{'':>9}{'fit':>27}{'sample':>27}")
    print(f"{'patients':>9}" + "".join(f" {word:>8}" for word in 2 * ("CPU", "floor", "ratio")))
    for row in rows:
        cells = [
            f" {row[what]:>7.2f}s {row[what + '_floor']:>7.2f}s"
            f" {row[what] / row[what + '_floor']:>8.1f}"
            for what in ("fit", "sample")
        ]
        print(f"{row['patients']:>9,}" + "".join(cells))
    content = {"cpu_seconds": rows, "surroundings": surroundings()}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(content, indent=2) + "\n")


def _measured(scratch: Path, patients: int) -> dict[str, float]:
    cohort, drawn = scratch / f"cohort{patients}", scratch / f"drawn{patients}"
    fitted, model = _fit(cohort, patients)
    drawn.mkdir()
    sampled = _cpu(lambda: write_synthetic(drawn, model, Recipe("-", patients, 1)))
    table = pq.read_table(drawn / "observations.parquet")
    floor = _cpu(lambda: pq.write_table(table, scratch / "floor.parquet"))
    z = np.random.default_rng(0).normal(size=(patients, simulated_schema().width))
    scan = _cpu(lambda: pq.read_table(cohort / "observations.parquet"))
    product = _cpu(lambda: dsyrk(1.0, z.T))
    shutil.rmtree(cohort)
    shutil.rmtree(drawn)
    return {
        "patients": patients,
        "fit": fitted,
        "fit_floor": scan + product,
        "sample": sampled,
        "sample_floor": floor,
    }


def _fit(folder: Path, patients: int):  # type: ignore[no-untyped-def]
    folder.mkdir()
    write_cohort(folder, simulated_schema(), simulate(patients, seed=101).batches(16_384))
    bundles = []

    def run() -> None:
        with CohortFolder(folder) as source:
            planned = plan(source.schema, source.patients, epsilon=12, delta=1e-5)
            bundles.append(fit(source, planned))

    seconds = _cpu(run)
    return seconds, model_of(bundles[0])


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
