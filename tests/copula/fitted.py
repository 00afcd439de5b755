"""Fits of `copula-score` for several tests."""

from typing import Any

from longsynth import fit, plan
from longsynth.bundle import Bundle
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema


def bundle_of(cohort: Cohort, schema: Schema, *, epsilon: float = 8, **more: Any) -> Bundle:
    planned = plan(
        schema,
        cohort.patients,
        epsilon=epsilon,
        delta=1e-5,
        method="copula-score",
        accounting="gaussian",
    )
    return fit(cohort, planned, **more)
