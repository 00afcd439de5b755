"""Costs of one cell: processor time of a fit, of each pass over the patients, and memory."""

import time
import tracemalloc
from functools import partial

from threadpoolctl import threadpool_limits

from longsynth.benchmark.cells import Cell, method_of
from longsynth.benchmark.judging import Metrics
from longsynth.benchmark.making import planned
from longsynth.benchmark.worlds import world
from longsynth.bundle import Bundle
from longsynth.engines.local import sum_over
from longsynth.methods.method import PrivateMethod
from longsynth.plan import Plan
from longsynth.privacy.curator import Curator
from longsynth.privacy.ledger import Released
from longsynth.records import Cohort
from longsynth.sample import sample

MEGABYTE = 1e6


def costs(cell: Cell) -> Metrics:
    """Return seconds of one processor and the peak of traced memory, each measured apart. A fit
    ends with its model; planning needs no patient and is not counted."""
    found = world(cell.world)
    method, train = method_of(cell.method), found.train(cell.patients, cell.seed)
    if not isinstance(method, PrivateMethod):
        raise TypeError("only a private fit has passes to measure")
    plan = planned(method, found.schema, train.patients, epsilon=cell.epsilon)
    with threadpool_limits(limits=1):
        start = time.process_time()
        bundle, passes = _fitted(plan, train)
        model = method.model(bundle)
        fit_seconds = time.process_time() - start
        start = time.process_time()
        sample(model, train.patients, seed=cell.seed)
        sample_seconds = time.process_time() - start
        tracemalloc.start()
        try:
            method.model(_fitted(plan, train)[0])
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    return {
        "fit_seconds": fit_seconds,
        "slowest_pass_seconds": max(passes),
        "passes": float(len(passes)),
        "sample_seconds": sample_seconds,
        "peak_mb": peak / MEGABYTE,
    }


def _fitted(plan: Plan, train: Cohort) -> tuple[Bundle, list[float]]:
    """Alg:fit once more, with a watch on each pass."""
    curator, released, passes = Curator(plan.ledger), dict[str, Released](), list[float]()
    for stage in plan.stages:
        so_far = Bundle(plan.method.name, plan.schema, curator.ledger, dict(released))
        features = partial(
            plan.method.contributions, schema=plan.schema, stage=stage, so_far=so_far
        )
        start = time.process_time()
        sums = list(sum_over(train, [statistic for statistic, _ in stage], features))
        passes.append(time.process_time() - start)
        for one in sums:
            released[one.statistic.name] = curator.release(one)
    return Bundle(plan.method.name, plan.schema, curator.ledger, released), passes
