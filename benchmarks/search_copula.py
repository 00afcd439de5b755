"""The search for `copula-score`'s shares of the budget, on development seeds only.

    python benchmarks/search_copula.py --out benchmarks/results/search_copula.parquet

Each line gets half as much again, or a third less, of what it had when the search began; the
others share the rest as before. The best of those judged again is the rule. Records are full there,
so lengths have no line.
"""

from search import Search, Setting

from longsynth.methods.private.copula.choices import Choices
from longsynth.methods.private.copula.method import CopulaScore
from longsynth.methods.private.copula.rules import (
    BLOCKS,
    EFFECTS,
    EVENT,
    LENGTHS,
    MARGINALS,
    SCORE,
    STRATA,
)

MORE, LESS = 1.5, 1 / 1.5
STANDS = "as it stood"
BEGAN = (  # little to learn and much; written out, as the rules may since have followed the search
    {EVENT: 6, STRATA: 2, LENGTHS: 4, MARGINALS: 20, BLOCKS: 36, SCORE: 22, EFFECTS: 9},
    {EVENT: 4, STRATA: 2, LENGTHS: 4, MARGINALS: 20, BLOCKS: 38, SCORE: 6, EFFECTS: 26},
)


def settings() -> dict[str, Choices]:
    """Every setting that was tried, by a name that says how it differs."""
    found = {STANDS: Choices(*BEGAN)}
    for line in (name for name in BEGAN[0] if name != LENGTHS):
        for word, factor in (("more", MORE), ("less", LESS)):
            little, much = (table | {line: factor * table[line]} for table in BEGAN)
            found[f"{word} for {line}"] = Choices(little, much)
    return found


SEARCH = Search(
    {name: Setting(CopulaScore(choices)) for name, choices in settings().items()},
    STANDS,
    epsilons=(1.0, 2.0, 12.0),
    seeds=tuple(range(101, 121)),
    again=tuple(range(101, 121)),  # the same patients, other noise
    best=3,
)


if __name__ == "__main__":
    SEARCH.main(__doc__)
