"""Bundle: all that a sampler may know. Released integers, the public schema and the ledger."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from math import sqrt
from typing import Any

import numpy as np

from longsynth.privacy.ledger import Ledger, Released
from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL, Statistic, kept
from longsynth.schema.file import dump
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats
from longsynth.system.origin import UNKNOWN, Origin
from longsynth.system.text import html_table


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a fit released. What a baseline without privacy learned has the same form, and its
    ledger says NOT PRIVATE."""

    method: str
    schema: Schema
    ledger: Ledger
    released: dict[str, Released]
    origin: Origin = UNKNOWN  # of the method's code

    @property
    def patients(self) -> int:  # N
        return self.ledger.patients

    @property
    def by_hand(self) -> dict[str, float | str]:
        """The constants that someone set by hand, instead of the rules; none without a budget."""
        budget = self.ledger.budget
        if budget is None:
            return {}
        return self.schema.by_hand(self.patients, sqrt(2 * budget.rho))

    def __repr__(self) -> str:  # no number: a baseline without privacy learns real ones
        budget, entries = self.ledger.budget, self.ledger.entries
        promise = f"ε = {budget.epsilon:g}, δ = {budget.delta:g}" if budget else "NOT PRIVATE"
        numbers = sum(entry.statistic.dimension for entry in entries)
        released = f"{numbers:,} numbers in {len(entries)} lines"
        return f"Bundle({self.method}, {self.patients:,} patients, {promise}, {released})"

    def _repr_html_(self) -> str:
        return ledger_table(repr(self), self.ledger, (e.noise for e in self.ledger.entries))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything a sampler may know."""
        budget = self.ledger.budget
        parts = [self.method, str(self.origin), dump(self.schema), str(self.patients), str(budget)]
        for name, released in self.released.items():
            parts += [
                name,
                str(released.entry.rho),
                repr(released.entry.sigma),
                released.entry.noise,
            ]
            parts += [released.values.astype("<i8").tobytes().hex()]
        return sha256("\n".join(parts).encode()).hexdigest()

    def mean(self, name: str) -> Any:
        """Return a released sum over patients divided by N, in natural units and shape."""
        released = self.released[name]
        return decode(released.entry.statistic, released.values / self.patients)

    def array(self, name: str, *shape: int) -> Floats:
        """Return a disclosed array: its numbers are stored as the bits of 64-bit floats."""
        return self.released[name].values.view(np.float64).reshape(shape)


def ledger_table(caption: str, ledger: Ledger, noise: Iterable[str]) -> str:
    """Return a ledger for a notebook, with words on the noise of each line."""
    rows = (
        (e.statistic.name, f"{e.statistic.dimension:,}", f"{100 * float(e.share):.0f} %", words)
        for e, words in zip(ledger.entries, noise, strict=True)
    )
    return html_table(caption, ("line", "numbers", "share of the budget", "noise"), rows)


def per_unit(statistic: Statistic) -> int:
    """How many released integers make one natural unit of the sums."""
    whole = statistic.grid if statistic.kind in ("count", "cross") else DIAGONAL * statistic.grid**2
    return whole * statistic.lift


def decode(statistic: Statistic, integers: Floats) -> Any:
    """Return an array for a count, cross or gram; a tuple of the three for a joint."""
    natural = integers / per_unit(statistic)
    match statistic.kind:
        case "count":
            return natural
        case "cross":
            return natural.reshape(statistic.left, statistic.right)
        case "gram":
            return _matrix(natural, statistic)
        case "joint":
            sums = statistic.left * (1 + statistic.right)  # and before them the counts
            counts, by_cell = np.split(integers[:sums] / statistic.lift, [statistic.left])
            return (
                counts / statistic.count_weight,
                by_cell.reshape(statistic.left, -1) / (statistic.sum_weight * statistic.grid),
                _matrix(natural[sums:], statistic),
            )


def _matrix(svec: Floats, statistic: Statistic) -> Floats:
    """Return a symmetric matrix, with nan where nothing was released."""
    row, column = kept(statistic)
    matrix = np.full((statistic.right, statistic.right), np.nan)
    matrix[row, column] = svec / np.where(row == column, 1.0, OFF_DIAGONAL / DIAGONAL)
    matrix[column, row] = matrix[row, column]
    return matrix
