"""The flagship's evaluation: every cell that docs/flagship.md shows, run once after freezing.

    python benchmarks/evaluation.py --out FILE.parquet --page docs/flagship.md

What matters most comes first; a stopped run goes on where it was. Sizes that take long have fewer
seeds, and the page says how many.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from flagship import EVALUATION, judged_before, run
from search_constants import CHOSEN, constants, settings

from longsynth.benchmark.cells import VARIANTS, Cell, cells, measured
from longsynth.benchmark.costs import costs
from longsynth.benchmark.experiments import BASE_RATE, TRAIN_ON_REAL
from longsynth.benchmark.flagship_page import flagship_text
from longsynth.benchmark.results import read_results
from longsynth.benchmark.worlds import world
from longsynth.methods.private.copula.choices import Choices
from longsynth.methods.private.copula.method import CopulaScore
from longsynth.methods.private.copula.rules import EFFECTS, LITTLE, MUCH, SCORE

FLAGSHIP, PEERS = "copula-score", ("trust", "dp-markov", "dp-score")
EVERYBODY = (FLAGSHIP, *PEERS, TRAIN_ON_REAL, BASE_RATE)
BUDGETS = (1.0, 2.0, 4.0, 8.0, 12.0)
FEW = EVALUATION[:5]  # where a cell takes long, or explains and does not judge
TWO = EVALUATION[:2]
NO_NOISE = 100.0  # the largest budget: what is left is the model, not the noise


def tuned(where: str, *grid: Any) -> Iterator[Cell]:
    """The paper's methods with the constants that a search found best."""
    for method, chosen in CHOSEN.items():
        given = constants(settings(method)[chosen], world(where).schema)
        yield from cells(where, [method], *grid, constants=given, name=f"tuned {method}")


def without(line: str, *, along_severity: bool = True) -> Choices:
    """Shares that leave one line hardly anything."""
    little, much = (table | {line: 0.1} for table in (LITTLE, MUCH))
    return Choices(little, much, along_severity=along_severity)


ABLATIONS = {
    "no calibration": Choices(rounds=0),
    "no factor fit": Choices(toward_factors=False),
    "no severity": without(SCORE, along_severity=False),
    "no effects of single channels": without(EFFECTS),
    "marks apart from values": Choices(marks_in_copula=False),
    "no balanced draws": Choices(balanced=False),
    "no extra events": Choices(balance=0.0),
}
VARIANTS |= {f"{FLAGSHIP}, {name}": CopulaScore(chosen) for name, chosen in ABLATIONS.items()}
STRESS = ("two factors", "wrong references", "generic references")


def judged() -> Iterator[Cell]:
    """What must be shown, and the same with more to learn."""
    markov = "dp-markov, for AUPRC alone"
    return chain(
        cells("simulated", EVERYBODY, [504], BUDGETS, EVALUATION),
        cells("simulated", [markov], [504], [12.0, 2.0], EVALUATION),
        cells("physionet2012", EVERYBODY, [5574], [4.0, 1.0, 12.0], FEW),
        cells("pbc", EVERYBODY, [218], [1.0, 4.0, 12.0], EVALUATION),
        cells("simulated", EVERYBODY, [5000], BUDGETS, FEW),
        tuned("simulated", [504], BUDGETS, EVALUATION),
        tuned("physionet2012", [5574], [4.0, 1.0, 12.0], FEW),
        tuned("pbc", [218], [1.0, 4.0, 12.0], EVALUATION),
        tuned("simulated", [5000], BUDGETS, FEW),
        cells("simulated", (FLAGSHIP,), [504, 5000], [NO_NOISE], FEW),
        cells("physionet2012", (FLAGSHIP,), [5574], [NO_NOISE], FEW),
    )


def explained() -> Iterator[Cell]:
    """Logistic only: which part does what, and what if the world is another."""
    ablated = (FLAGSHIP, *(name for name in VARIANTS if name.startswith(f"{FLAGSHIP}, ")))
    yield from cells("simulated", ablated, [504], [12.0, 1.0], FEW, experiment="ablation")
    for stress in STRESS:
        yield from cells(stress, (FLAGSHIP, "trust", "dp-markov"), [504], [12.0, 1.0], FEW)
        yield from cells(stress, (TRAIN_ON_REAL, BASE_RATE), [504], [1.0], FEW)
    larger = {"experiment": "larger samples"}
    yield from cells("simulated", (FLAGSHIP,), [504], [12.0, 1.0], FEW, times=10, **larger)


def large() -> Iterator[Cell]:
    yield from cells("simulated", EVERYBODY, [50_000], BUDGETS, FEW)
    yield from tuned("simulated", [50_000], BUDGETS, FEW)


def priced() -> Iterator[Cell]:
    """One process at a time: time is measured."""
    methods = (FLAGSHIP, *PEERS)
    return cells("simulated", methods, [720, 100_000], [4.0], TWO, experiment="cost")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True, help="the result file")
    parser.add_argument("--page", type=Path, help="the page to write from the result file")
    given = parser.parse_args()
    run(list(judged()), given.out, given.jobs, measured)
    run(list(explained()), given.out, given.jobs, partial(measured, boosted=False))
    run(list(priced()), given.out, 1, costs)
    run(list(large()), given.out, given.jobs, measured)
    if given.page:
        given.page.write_text(
            flagship_text(read_results(given.out), judged_before()), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
