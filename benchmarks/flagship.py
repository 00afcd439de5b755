"""The flagship's experiments: methods, sizes, budgets and seeds to metrics, and to a page.

    python benchmarks/flagship.py --methods dp-markov,trust --patients 504 --epsilon 1,2,12 \\
        --seeds 101-105 --out FILE.parquet
    python benchmarks/flagship.py --out FILE.parquet --page docs/flagship.md

Finished cells are kept in FILE.parquet, so that a stopped run goes on where it was.
"""

import argparse
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import open_worlds
from search_dp_markov import OLD
from threadpoolctl import threadpool_limits

from longsynth.benchmark.cells import VARIANTS, Cell, Kept, cells, measured
from longsynth.benchmark.costs import costs
from longsynth.benchmark.experiments import BASE_RATE, TRAIN_ON_REAL, Constant
from longsynth.benchmark.flagship_page import flagship_text
from longsynth.benchmark.judging import Metrics
from longsynth.benchmark.results import Results, read_results
from longsynth.benchmark.worlds import WORLDS
from longsynth.methods.private.dp_markov import DPMarkov

open_worlds.register()
VARIANTS |= {  # the search's sum trades AUPRC for the rest: these rows show what was given up
    "dp-markov, before the search": DPMarkov(OLD),
    "dp-markov, for AUPRC alone": DPMarkov(replace(OLD, threshold=3.0)),  # its best in the search
}
SHORT = (
    "fit_seconds",
    "slowest_pass_seconds",
    "peak_mb",
    "auprc",
    "brier",
    "ece",
    "marginal_ks",
    "correlation_error",
    "autocorrelation_error",
)
EVALUATION = tuple(range(401, 421))  # run once, after freezing; others judged earlier versions


def judged_before() -> list[Results]:
    results = Path(__file__).parent / "results"
    return [read_results(path) for path in sorted(results.glob("flagship_earlier_*.parquet"))]


def seeds_of(text: str) -> list[int]:
    """11,22 or 101-105 or both; `evaluation` for those that are run once."""
    if text == "evaluation":
        return list(EVALUATION)
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def constants_of(given: list[str]) -> tuple[Constant, ...]:
    """key=value pairs; a number where it reads as one."""
    return tuple((key, _value(value)) for key, _, value in (one.partition("=") for one in given))


def _value(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def run(wanted: list[Cell], out: Path, jobs: int, one: Callable[[Cell], Metrics]) -> None:
    """Run what the file does not have yet; one line a cell."""
    kept = Kept(out)
    waiting = [cell for cell in wanted if cell.key not in kept.done]
    for cell, found in _measured(waiting, jobs, one):
        kept.add(cell.key, found)
        shown = " ".join(f"{name} {found[name]:.3f}" for name in SHORT if name in found)
        print(cell.key.experiment, cell.key.method, cell.key.setting, cell.seed, shown, flush=True)


def _measured(
    waiting: list[Cell], jobs: int, one: Callable[[Cell], Metrics]
) -> Iterator[tuple[Cell, Metrics]]:
    if jobs == 1:
        with threadpool_limits(limits=1):
            yield from ((cell, one(cell)) for cell in waiting)
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from zip(waiting, pool.map(one, waiting), strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--methods", default="", help="names, separated by ; or commas")
    parser.add_argument("--world", default="simulated", choices=list(WORLDS))
    parser.add_argument("--patients", default="504", help="training patients: 504,5000")
    parser.add_argument("--epsilon", default="1,2,12")
    parser.add_argument("--seeds", default="101-105", help="11,22 or 101-105, or: evaluation")
    parser.add_argument("--constants", nargs="*", default=[], metavar="KEY=VALUE")
    parser.add_argument("--name", default="", help="of this variant, in place of its constants")
    parser.add_argument("--experiment", default="", help="its name in the results; else the world")
    parser.add_argument("--times", type=int, default=1, help="synthetic for each training patient")
    parser.add_argument("--cost", action="store_true", help="time and memory instead of metrics")
    parser.add_argument("--references", action="store_true", help="train on real, and base rate")
    parser.add_argument("--logistic", action="store_true", help="leave the boosted trees out")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="the result file")
    parser.add_argument("--page", type=Path, help="the page to write from the result file")
    given = parser.parse_args()
    apart = ";" if ";" in given.methods else ","  # a variant's name may hold a comma
    methods = [name for name in given.methods.split(apart) if name]
    methods += [TRAIN_ON_REAL, BASE_RATE] if given.references else []
    fixed = open_worlds.SIZES.get(given.world)
    sizes = [fixed] if fixed else [int(n) for n in given.patients.split(",")]
    wanted = cells(
        given.world,
        methods,
        sizes,
        [float(e) for e in given.epsilon.split(",")],
        seeds_of(given.seeds),
        constants=constants_of(given.constants),
        name=given.name,
        experiment=given.experiment or ("cost" if given.cost else ""),
        times=given.times,
    )
    one = costs if given.cost else partial(measured, boosted=not given.logistic)
    run(list(wanted), given.out, given.jobs, one)
    if given.page:
        given.page.write_text(
            flagship_text(read_results(given.out), judged_before()), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
