"""What each method stores for wide records, and what drawing in float32 gains."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import SFC64, Generator

from longsynth import plan
from longsynth.methods.method import PrivateMethod
from longsynth.methods.registry import METHODS
from longsynth.sample import CHUNK
from longsynth.schema.schema import Schema

WIDTH = 84


def wide_schema(slots: int, variables: int) -> Schema:
    listed = [
        {"name": f"v{v}", "kind": "continuous", "bounds": [0, 10], "bounds_from": "-"}
        for v in range(variables)
    ]
    about = {"longsynth": 1, "name": "wide", "slots": slots, "max_gap": 48, "length": "full"}
    return Schema.model_validate(about | {"variables": listed})


def stored(slots: int, variables: int, patients: int) -> dict[str, int]:
    """Return how many integers each private method adds up and releases."""
    found = {}
    for name, method in METHODS.items():
        if isinstance(method, PrivateMethod):
            planned = plan(
                wide_schema(slots, variables), patients, epsilon=8, delta=1e-6, method=name
            )
            found[name] = sum(
                line.statistic.dimension for stage in planned.stages for line in stage
            )
    return found


def draws() -> dict[str, float]:
    """Return the lowest CPU seconds of a chunk's normal draws and its matrix product."""
    from threadpoolctl import threadpool_limits

    rng, found = Generator(SFC64(1)), {}
    with threadpool_limits(limits=1):
        for kind in (np.float64, np.float32):
            z = rng.standard_normal((CHUNK, WIDTH), dtype=kind)
            matrix, name = z[:WIDTH].copy(), np.dtype(kind).name
            normal = partial(rng.standard_normal, (CHUNK, WIDTH), dtype=kind)
            found[f"normal {name}"] = _least(normal)
            found[f"product {name}"] = _least(partial(np.matmul, z, matrix))
    return found


def _least(work: Callable[[], object]) -> float:
    times = []
    for _ in range(20):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)
