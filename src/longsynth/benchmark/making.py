"""Making: one method, its budget and one seed to one synthetic cohort, and to its metrics."""

from collections.abc import Mapping
from functools import cache

from longsynth.benchmark.judging import Judge, Metrics
from longsynth.constants import Constants
from longsynth.fit import fit, fit_without_privacy
from longsynth.methods.method import Method, PrivateMethod
from longsynth.plan import Plan, plan_of
from longsynth.privacy.budget import Budget
from longsynth.records import Cohort
from longsynth.sample import sample
from longsynth.schema import Schema
from longsynth.synthetic import Synthetic

DELTA = 1e-5


def made(
    method: Method, schema: Schema, train: Cohort, *, epsilon: float, seed: int, times: int = 1
) -> Synthetic:
    """Return as many synthetic patients as training patients, or so many times as many; `seed` is
    of the sample only."""
    if isinstance(method, PrivateMethod):
        bundle = fit(train, planned(method, schema, train.patients, epsilon=epsilon))
    else:
        bundle = fit_without_privacy(train, schema, method.name)
    return sample(method.model(bundle), times * train.patients, seed=seed)


def planned(method: PrivateMethod, schema: Schema, patients: int, *, epsilon: float) -> Plan:
    return plan_of(method, schema, patients, _budget(epsilon))


def judged(
    method: Method,
    judge: Judge,
    train: Cohort,
    *,
    epsilon: float,
    seed: int,
    schema: Schema | None = None,
    times: int = 1,
    boosted: bool = True,
) -> Metrics:
    """Return every metric of one method, budget and seed; the judge's schema unless another."""
    drawn = made(method, schema or judge.schema, train, epsilon=epsilon, seed=seed, times=times)
    return judge.metrics(drawn, boosted=boosted)


def with_constants(schema: Schema, constants: Mapping[str, str | int | float]) -> Schema:
    """The checked schema with some public constants set."""
    given = schema.constants.model_dump() | dict(constants)
    checked = Constants.model_validate(given)
    return Schema.model_validate(schema.model_dump() | {"constants": checked.model_dump()})


@cache
def _budget(epsilon: float) -> Budget:
    return Budget(epsilon, DELTA, "gaussian")
