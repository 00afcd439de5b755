"""One thread for linear algebra: more would change the last bits, and short products only wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold numpy's and scipy's linear algebra to one thread, in every thread of this process."""
    with _linear_algebra().limit(limits=1):
        yield


@cache
def _linear_algebra() -> ThreadpoolController:
    """To look for the libraries takes longer than to add up a few patients."""
    import scipy.linalg.blas  # noqa: F401 - what is not loaded yet would not be found

    return ThreadpoolController()
