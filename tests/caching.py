"""What every fit works out again is worked out once per process: pure functions of public figures,
in decimal numbers of many digits, which take longer than to add up a few patients.

Import this before anything of longsynth, as `conftest.py` does: others import these by name.
"""

from functools import cache, cached_property

from longsynth.privacy import budget


def remember() -> None:
    rho = vars(budget.Budget)["rho"]
    if isinstance(rho, cached_property):  # once
        budget.Budget.rho = property(cache(rho.func))  # type: ignore[assignment,method-assign]
        budget.epsilon_of = cache(budget.epsilon_of)
