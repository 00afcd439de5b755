"""The search for `copula-score`'s shares of the budget, on development seeds only.

    python benchmarks/search_copula.py --out benchmarks/results/search_copula.parquet

Each line gets half as much again, or a third less, of what it had when the search began; the
others share the rest as before. The best of those judged again became `copula-score`'s rule.
"""

from search import Search

from longsynth.methods.method import Method
from longsynth.methods.private.copula.choices import Choices
from longsynth.methods.private.copula.method import CopulaScore
from longsynth.methods.private.copula.rules import (
    BLOCKS,
    EFFECTS,
    LITTLE,
    MARGINALS,
    MUCH,
    SCORE,
    STRATA,
)

MORE, LESS = 1.5, 1 / 1.5
STANDS = "as it stood"
BEGAN = (  # what the search has changed, and what was moved by hand after it
    LITTLE | {STRATA: 3},
    MUCH | {STRATA: 3, MARGINALS: 16, BLOCKS: 40, SCORE: 5, EFFECTS: 28},
)


def settings() -> dict[str, Method]:
    """Every setting that was tried, by a name that says how it differs."""
    found: dict[str, Method] = {STANDS: CopulaScore(Choices(BEGAN[0], BEGAN[1]))}
    for line in LITTLE:
        for word, factor in (("more", MORE), ("less", LESS)):
            little, much = (table | {line: factor * table[line]} for table in BEGAN)
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


if __name__ == "__main__":
    SEARCH.main(__doc__)
