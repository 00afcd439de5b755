"""Time and memory as ratios to floors measured in the same run. No figure makes this fail.

fit     CPU seconds of opening, planning and fitting Parquet, against one Polars scan of the file
        (every column decoded) and one float64 product of as many rows of encoded values (SYRK);
        not sorted: against DuckDB's sort
sample  CPU seconds of drawing and writing, against writing the same tables with PyArrow alone
width   CPU seconds and memory of a fit as records get wider, D = T·V
plans   CPU seconds and memory of the commands `fit` and `sample`, against what `plan` says
audits  CPU seconds of an audit as cohorts grow, against a product between all pairs of records

Each figure comes from a separate process, so its peak memory is its own. For the floors and for
`trust` on sorted rows, the fastest of three runs counts, since other load can only slow a run down.
`--against` names the result to compare with: by default the committed one.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from speed_plans import AUDITED, CASES, audits, plans

RESULT = Path("lab/results/speed.json")
SIZES, WIDTHS = (720, 10_000, 100_000, 1_000_000), ((14, 6), (50, 10), (50, 20), (50, 40))
WIDE_PATIENTS = 2_000
FORMAT = 4  # of the result
Figures = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--against", type=Path, default=RESULT)
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=SIZES, help="none: keep those of --against"
    )
    parser.add_argument("--widths", type=int, nargs="+", default=[t * v for t, v in WIDTHS])
    kept = ("widths", "plans", "audits")
    parser.add_argument("--keep", nargs="*", choices=kept, default=(), help="those of --against")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        name, *rest = arguments.measure
        print(json.dumps(MEASURES[name](*rest)))
        return
    from longsynth.system.origin import surroundings

    before = json.loads(arguments.against.read_text()) if arguments.against.exists() else {}
    with tempfile.TemporaryDirectory(prefix="longsynth-bench-") as scratch:
        rows = [_of_size(Path(scratch), size) for size in arguments.sizes] or before["sizes"]
    from speed_facts import draws, stored

    parts: dict[str, Callable[[], Figures | list[Figures]]] = {
        "widths": lambda: [
            {
                "width": t * v,
                "patients": WIDE_PATIENTS,
                "stored": stored(t, v, WIDE_PATIENTS),
                **_measured("wide", t, v),
            }
            for t, v in WIDTHS
            if t * v in arguments.widths
        ],
        "plans": lambda: [
            dict(zip(("method", "slots", "variables", "patients"), case, strict=True))
            | _measured("plans", *case)
            for case in CASES
        ],
        "audits": lambda: [_measured("audits", patients) for patients in AUDITED],
        "draws": draws,
    }
    content: Figures = {"format": FORMAT, "sizes": rows}
    for name, measure in parts.items():
        content[name] = before[name] if name in arguments.keep else measure()
    content["surroundings"] = surroundings()
    from speed_page import plot, show, write

    show(content, before if before.get("format") == FORMAT else {})
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(content, indent=2) + "\n")
    plot(content, arguments.out.with_suffix(".png"))
    if arguments.out == RESULT:
        write(content, Path("docs/scale.md"))
    print(f"Wrote {arguments.out} and {arguments.out.with_suffix('.png')}")


def _of_size(scratch: Path, patients: int) -> Figures:
    """All figures for one number of patients from the paper's population."""
    plain, shuffled = scratch / f"sorted{patients}", scratch / f"shuffled{patients}"
    _measured("make", plain, shuffled, patients)
    drawn, made = scratch / f"drawn{patients}", scratch / f"made{patients}"
    row: Figures = {
        "patients": patients,
        "scan": _least("scan", plain),
        "syrk": _least("syrk", patients, 84),
        "sort": _measured("sort", shuffled),
        "trust": _least("fit", plain, "trust"),
        "shuffled": _measured("fit", shuffled, "trust"),
        "command": _measured("command", plain, scratch / f"run{patients}"),
        "sample": _measured("sample", plain, drawn, patients, "trust"),
        "write": _least("write", drawn),
        "copula-score": _measured("fit", plain, "copula-score"),
        "copula-score sample": _measured("sample", plain, made, patients, "copula-score"),
        "copula-score write": _least("write", made),
    }
    products = [_least("syrk", patients, width)["cpu"] for width in _widths(patients)]
    row["copula-score floor"] = {"cpu": len(products) * row["scan"]["cpu"] + sum(products)}
    return row


def _widths(patients: int) -> list[int]:
    """The widest row that each pass of `copula-score` adds up."""
    from longsynth import plan, simulated_schema

    planned = plan(simulated_schema(), patients, epsilon=12, delta=1e-8, method="copula-score")
    return [max(line.statistic.right for line in stage) for stage in planned.stages]


def ratios(row: Figures) -> dict[str, float]:
    """CPU seconds divided by those of the floor."""
    once = row["scan"]["cpu"] + row["syrk"]["cpu"]
    return {
        "fit": row["trust"]["cpu"] / once,
        "fit, not sorted": row["shuffled"]["cpu"] / row["sort"]["cpu"],
        "fit, command": row["command"]["cpu"] / once,
        "sample": row["sample"]["cpu"] / row["write"]["cpu"],
        "copula-score": row["copula-score"]["cpu"] / row["copula-score floor"]["cpu"],
        "copula-score sample": row["copula-score sample"]["cpu"] / row["copula-score write"]["cpu"],
    }


def _least(name: str, *arguments: object) -> Figures:
    return min((_measured(name, *arguments) for _ in range(3)), key=lambda found: found["cpu"])


def _measured(name: str, *arguments: object) -> Figures:
    command = [sys.executable, __file__, "--measure", name, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _figures(work: Callable[[], object]) -> Figures:
    start = time.process_time()
    work()
    seconds = time.process_time() - start
    return {"cpu": seconds, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


def _make(plain: str, shuffled: str, patients: str) -> Figures:
    """Simulated patients, sorted and unsorted."""
    from longsynth import simulate, simulated_schema
    from longsynth.reading.quality import receipt_of_simulated
    from longsynth.writing.cohort import write_cohort

    def chunks() -> Iterator[Any]:
        for seed, start in enumerate(range(0, int(patients), 65_536)):
            some = simulate(min(65_536, int(patients) - start), seed=101 + seed)
            yield from some.batches(16_384)

    for folder in (plain, shuffled):
        Path(folder).mkdir()
    write_cohort(plain, simulated_schema(), chunks())
    receipt_of_simulated(Path(plain))
    for name in ("patients.parquet", "schema.yaml"):
        (Path(shuffled) / name).write_bytes((Path(plain) / name).read_bytes())
    table = pq.read_table(Path(plain) / "observations.parquet")
    order = np.random.default_rng(1).permutation(len(table))
    pq.write_table(table.take(pa.array(order)), Path(shuffled) / "observations.parquet")
    return {}


def _scan(folder: str) -> Figures:
    """Read every number once with Polars. The second run counts, when its threads are running."""
    import polars

    file = Path(folder) / "observations.parquet"

    def work() -> None:
        polars.scan_parquet(file).select(polars.all().sum()).collect(engine="streaming")

    work()
    return _figures(work)


def _syrk(patients: str, width: str) -> Figures:
    from scipy.linalg.blas import dsyrk
    from threadpoolctl import threadpool_limits

    z = np.random.default_rng(0).normal(size=(8192, int(width)))
    with threadpool_limits(limits=1):
        dsyrk(1.0, z.T)

        def work() -> None:
            for start in range(0, int(patients), 8192):
                dsyrk(1.0, z[: int(patients) - start].T)

        return _figures(work)


def _sort(folder: str) -> Figures:
    """DuckDB alone, with the memory that a fit gives it."""
    from longsynth.reading.cohort_folder import MEMORY
    from longsynth.reading.session import MEMORY_PER_VARIABLE, connect

    with tempfile.TemporaryDirectory() as scratch:
        memory = MEMORY + 6 * MEMORY_PER_VARIABLE
        connection = connect(scratch, memory=memory, threads=2)
        query = f"SELECT * FROM '{folder}/observations.parquet' ORDER BY patient_id, time"
        return _figures(lambda: [0 for _ in connection.sql(query).to_arrow_reader(65_536)])


def _warm(method: str) -> Any:
    """Import everything first, so that imports are not measured."""
    from longsynth import fit, plan, simulate, simulated_schema

    planned = plan(simulated_schema(), 200, epsilon=12, delta=1e-5, method=method)
    return fit(simulate(200, seed=1), planned)


def _fit(folder: str, method: str) -> Figures:
    from longsynth import fit, plan
    from longsynth.reading.cohort_folder import CohortFolder

    _warm(method)

    def work() -> None:
        with CohortFolder(folder) as source:
            planned = plan(source.schema, source.patients, epsilon=12, delta=1e-8, method=method)
            fit(source, planned)

    return _figures(work)


def _command(folder: str, out: str) -> Figures:
    """The whole of `longsynth fit`, which also counts repairs and writes two folders."""
    from longsynth.release.run import run_fit

    _warm("trust")
    return _figures(lambda: run_fit(folder, out, epsilon=12, delta=1e-8, method="trust"))


def _sample(folder: str, out: str, patients: str, method: str) -> Figures:
    from longsynth import model_of
    from longsynth.release.synthetic_folder import Recipe, write_synthetic

    model = model_of(_warm(method))
    target = Path(out)
    (target / "warm").mkdir(parents=True)
    write_synthetic(target / "warm", model, Recipe("-", 100, 1))
    return _figures(lambda: write_synthetic(target, model, Recipe("-", int(patients), 1)))


def _write(folder: str) -> Figures:
    """PyArrow alone, with the same settings and row groups."""
    from longsynth.writing.cohort import parquet_writer

    files = [Path(folder) / name for name in ("observations.parquet", "patients.parquet")]
    total = {"cpu": 0.0, "peak": 0.0}
    for file in files:
        source = pq.ParquetFile(file, pre_buffer=False)
        target = file.with_suffix(".floor")
        with parquet_writer(target, source.schema_arrow) as writer:
            for group in range(source.num_row_groups):
                table = source.read_row_group(group)
                found = _figures(lambda t=table: writer.write_table(t))  # type: ignore[misc]
                total = {"cpu": total["cpu"] + found["cpu"], "peak": found["peak"]}
        target.unlink()
    return total


def _wide(slots: str, variables: str) -> Figures:
    from longsynth import fit, plan
    from longsynth.reading.records import Cohort
    from speed_facts import wide_schema

    schema = wide_schema(int(slots), int(variables))
    rng, shape = np.random.default_rng(0), (WIDE_PATIENTS, int(slots), int(variables))
    cohort = Cohort(
        values=rng.normal(5, 2, shape),
        observed=rng.random(shape) < 0.9,
        gaps=rng.exponential(5, shape[:2]),
        length=np.full(WIDE_PATIENTS, int(slots)),
        group=rng.integers(0, 2, WIDE_PATIENTS),
        event=rng.integers(0, 2, WIDE_PATIENTS),
        site=np.zeros(WIDE_PATIENTS, np.int64),
    )
    _warm("trust")
    planned = plan(schema, WIDE_PATIENTS, epsilon=8, delta=1e-6, method="trust")
    return _figures(lambda: fit(cohort, planned))


MEASURES: dict[str, Callable[..., Figures]] = {
    "make": _make,
    "scan": _scan,
    "syrk": _syrk,
    "sort": _sort,
    "fit": _fit,
    "command": _command,
    "sample": _sample,
    "write": _write,
    "wide": _wide,
    "plans": plans,
    "audits": audits,
}

if __name__ == "__main__":
    main()
