"""A search for constants of `trust` and `dp-score`: the flagship shall not meet the paper's alone.

    python benchmarks/search_constants.py trust --out benchmarks/results/search_trust.parquet

The methods stand as the paper says, and so do their constants; what is found here has rows of its
own, named *tuned*: the best of 33 settings, one for all budgets, on development seeds. A finer
search might find better.
"""

import argparse
from itertools import product
from math import sqrt
from pathlib import Path

from search import Search, Setting

from longsynth.benchmark.experiments import Constant
from longsynth.methods.registry import method_named
from longsynth.schema import Schema

STANDS = "as the paper says"
TRIED: dict[str, dict[str, str | float]] = {  # values of each constant, by a word for each
    "encoding": {"bounds": "bounds", "reference": "reference"},
    "release": {"separate": "separate", "joint": "joint"},
    "clip_radius": {
        "radius 1/6": 1 / 6,
        "radius 1/3": 1 / 3,
        "radius 1/2": 0.5,
        "radius 2/3": 2 / 3,
    },
    "event_floor": {"floor 0.02": 0.02, "floor 0.1": 0.1},
    "ridge": {"ridge 0.01": 0.01, "ridge 0.05": 0.05},
}
USED = {  # dp-score releases no products, so that it has nothing to join
    "trust": ("encoding", "release", "clip_radius", "event_floor"),
    "dp-score": ("encoding", "clip_radius", "event_floor", "ridge"),
}
Tuned = dict[str, str | float]  # a radius is told as its part of √(T·V)
CHOSEN = {  # the best of those judged again
    "trust": "reference, joint, radius 1/3, floor 0.02",
    "dp-score": "reference, radius 2/3, floor 0.02, ridge 0.05",
}


def settings(method: str) -> dict[str, Tuned]:
    """Every setting that was tried, by a name that says how it differs."""
    found: dict[str, Tuned] = {STANDS: {}}
    for words in product(*(TRIED[name] for name in USED[method])):
        chosen = zip(USED[method], words, strict=True)
        found[", ".join(words)] = {name: TRIED[name][word] for name, word in chosen}
    return found


def constants(tuned: Tuned, schema: Schema) -> tuple[Constant, ...]:
    """As a schema says them."""
    cells = schema.slots * len(schema.variables)
    return tuple(
        (name, float(value) * sqrt(cells) if name == "clip_radius" else value)
        for name, value in tuned.items()
    )


def search(method: str, schema: Schema) -> Search:
    return Search(
        {
            name: Setting(method_named(method), constants(tuned, schema))
            for name, tuned in settings(method).items()
        },
        STANDS,
        epsilons=(1.0, 2.0, 12.0),
        seeds=tuple(range(101, 106)),
        again=tuple(range(106, 116)),
        best=4,
    )


if __name__ == "__main__":
    from longsynth.benchmark.worlds import world

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("method", choices=["trust", "dp-score"])
    parser.add_argument("--out", type=Path, required=True, help="the result file")
    arguments = parser.parse_args()
    search(arguments.method, world("simulated").schema).run(arguments.out)
