"""The search for a better public rule of `dp-markov`, on development seeds only.

    python benchmarks/search_dp_markov.py --out benchmarks/results/search_dp_markov.parquet

Every setting is judged at four budgets. The loss is a sum over metrics. The best few are judged
again on seeds that had no part in choosing them; the best of these is `markov_rule.SMOOTHED`. The
rule of `dp-markov` itself is `OLD`, the plain chain that the paper describes.
"""

from dataclasses import replace

from search import Search, Setting

from longsynth.methods.private.dp_markov import DPMarkov
from longsynth.methods.private.markov_rule import Rule

OLD = Rule(
    bins=10, focus=0.0, halves=False, states=60, drawn=False, threshold=1.0, steady=False,
    own=True, floor=0.0, strata=5, first=20, steps=50, masks=15, gaps=7, gap_squares=3,
)  # fmt: skip
NEW = replace(
    OLD, bins=16, focus=0.5, halves=True, states=4, drawn=True, steady=True, own=False,
    spread=0.2, between=0.7, effect=0.5, temper=1.0,
    strata=10, first=30, steps=35,
)  # fmt: skip


def settings() -> dict[str, Rule]:
    """Every rule that was tried, by a name that says how it differs."""
    old = {
        "old": {},
        "old, 5 bins": {"bins": 5},
        "old, 7 bins": {"bins": 7},
        "old, 15 bins": {"bins": 15},
        "old, threshold 0": {"threshold": 0.0},
        "old, threshold 2": {"threshold": 2.0},
        "old, threshold 3": {"threshold": 3.0},
        "old, bins about the centre": {"focus": 1.0},
        "old, bins about the centre, 7 bins": {"focus": 1.0, "bins": 7},
        "old, bins closer about the centre": {"focus": 0.5},
        "old, more for steps": {"steps": 65, "first": 10, "masks": 10},
        "old, more for strata": {"strata": 15, "steps": 40},
        "old, steady": {"steady": True},
        "old, threshold 2, bins about the centre": {"threshold": 2.0, "focus": 1.0},
        "old, threshold 2, steady, more for steps": {
            "threshold": 2.0,
            "steady": True,
            "steps": 65,
            "first": 10,
            "masks": 10,
        },
        "old, threshold 2, floor .2": {"threshold": 2.0, "floor": 0.2},
        "old, threshold 2, 7 bins": {"threshold": 2.0, "bins": 7},
    }
    new = {
        "new": {},
        "new, 10 bins": {"bins": 10},
        "new, 24 bins": {"bins": 24},
        "new, 3 states": {"states": 3},
        "new, 6 states": {"states": 6},
        "new, 8 states": {"states": 8, "bins": 16},
        "new, focus .25": {"focus": 0.25},
        "new, focus 1": {"focus": 1.0},
        "new, first bins only": {"halves": False},
        "new, tables by event": {"own": True},
        "new, not steady": {"steady": False},
        "new, effect .25": {"effect": 0.25},
        "new, effect 1": {"effect": 1.0},
        "new, temper .75": {"temper": 0.75},
        "new, temper .5": {"temper": 0.5},
        "new, temper .35": {"temper": 0.35},
        "new, temper .5, floor .3": {"temper": 0.5, "floor": 0.3},
        "new, temper .5, 10 bins": {"temper": 0.5, "bins": 10},
        "new, temper .5, effect .25, 10 bins": {"temper": 0.5, "effect": 0.25, "bins": 10},
        "new, temper .35, effect .25, 10 bins, 6 states": {
            "temper": 0.35,
            "effect": 0.25,
            "bins": 10,
            "states": 6,
        },
        "new, temper .75, 10 bins": {"temper": 0.75, "bins": 10},
        "new, temper .75, effect .25, 10 bins": {"temper": 0.75, "effect": 0.25, "bins": 10},
        "new, temper .75, effect .25, 10 bins, floor .2": {
            "temper": 0.75,
            "effect": 0.25,
            "bins": 10,
            "floor": 0.2,
        },
        "new, 8 bins, effect .25": {"bins": 8, "effect": 0.25},
        "new, floor .2": {"floor": 0.2},
        "new, floor .4": {"floor": 0.4},
        "new, spread .1": {"spread": 0.1},
        "new, spread .4": {"spread": 0.4},
        "new, more for first": {"first": 45, "steps": 20},
        "new, more for steps": {"first": 20, "steps": 45},
        "new, more for strata": {"strata": 20, "masks": 10, "steps": 30},
        "new, less for masks": {"masks": 5, "gaps": 4, "gap_squares": 1, "first": 40, "steps": 40},
    }
    return {
        **{name: replace(OLD, **changes) for name, changes in old.items()},  # type: ignore[arg-type]
        **{name: replace(NEW, **changes) for name, changes in new.items()},  # type: ignore[arg-type]
    }


SEARCH = Search(
    {name: Setting(DPMarkov(rule)) for name, rule in settings().items()},
    stands="old",
    epsilons=(1.0, 2.0, 4.0, 12.0),
    seeds=tuple(range(101, 106)),
    again=tuple(range(106, 113)),
    best=4,
)


if __name__ == "__main__":
    SEARCH.main(__doc__)
