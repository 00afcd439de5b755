"""The search for `copula-score`'s shares of the budget, on development seeds only.

    python benchmarks/search_copula.py --out benchmarks/results/search_copula.parquet

Each line gets half as much again, or a third less; the others share the rest as before.
"""

import argparse
from pathlib import Path

from search import Search

from longsynth.methods.method import Method
from longsynth.methods.private.copula.choices import Choices
from longsynth.methods.private.copula.method import CopulaScore
from longsynth.methods.private.copula.rules import LITTLE, MUCH

MORE, LESS = 1.5, 1 / 1.5
STANDS = "as it stands"


def settings() -> dict[str, Method]:
    """Every setting that was tried, by a name that says how it differs."""
    found: dict[str, Method] = {STANDS: CopulaScore()}
    for line in LITTLE:
        for word, factor in (("more", MORE), ("less", LESS)):
            little, much = (table | {line: factor * table[line]} for table in (LITTLE, MUCH))
            found[f"{word} for {line}"] = CopulaScore(Choices(little, much))
    return found


SEARCH = Search(
    settings(),
    STANDS,
    epsilons=(1.0, 12.0),
    seeds=tuple(range(101, 107)),
    again=tuple(range(107, 117)),
    best=3,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the result file")
    SEARCH.run(parser.parse_args().out)


if __name__ == "__main__":
    main()
