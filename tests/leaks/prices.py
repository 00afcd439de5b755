"""Exact prices, each computed once: the arithmetic takes longer than what is under test."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from unittest import mock

from longsynth.govern import ledger_file, statement
from longsynth.privacy.budget import Budget, epsilon_of


@contextmanager
def remembered_prices() -> Iterator[None]:
    remembered = lru_cache(epsilon_of)
    rho = cached_property(lru_cache(Budget.__dict__["rho"].func))
    rho.__set_name__(Budget, "rho")
    with (
        mock.patch.object(Budget, "rho", rho),
        mock.patch.object(ledger_file, "epsilon_of", remembered),
        mock.patch.object(statement, "epsilon_of", remembered),
    ):
        yield
