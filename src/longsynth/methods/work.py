"""Work: what it takes to build a model, from public whole numbers alone.

A release is read on machines whose owners did not write it. So this is worked out before anything
of its size is made, and errs on the side of too much. The factors were measured.
"""

from dataclasses import dataclass

from longsynth.schema.schema import Schema

MATRICES = 8  # of one side that are in memory together
EIGEN = 5e-10  # core-seconds for each cubed number of the side: eigenvalues and products


@dataclass(frozen=True, slots=True)
class Work:
    numbers: float  # of 64 bits, in memory together
    seconds: float  # of one core


def gaussian_work(schema: Schema) -> Work:
    """Of a Gaussian over a whole record: square matrices with a side of its length."""
    side, tables = schema.width, tables_work(schema)
    return Work(tables.numbers + MATRICES * side**2, tables.seconds + EIGEN * side**3)


def tables_work(schema: Schema) -> Work:
    """Of means and rates for each stratum."""
    numbers = MATRICES * 4 * len(schema.sites) * (schema.width + schema.slots)
    return Work(numbers, 1e-8 * numbers)
