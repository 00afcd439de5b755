"""Threads: one. The matrices are small, and a benchmark runs several audits side by side."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def single_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield
