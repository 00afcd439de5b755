"""Small cohorts with codes from public lists."""

import numpy as np

from longsynth import Schema
from longsynth.reading.records import Cohort
from longsynth.schema.record import packed_codes
from support import random_cohort, small_schema

LISTS = [
    {"name": "drugs", "cap": 2, "levels": ["aspirin", "heparin", "7", "x ray's", "insulin"]},
    {"name": "procedures", "cap": 3, "levels": [f"P{i}" for i in range(9)]},
]


def code_schema(**more: object) -> Schema:
    return Schema.model_validate(small_schema().model_dump() | {"codes": LISTS} | more)


def with_codes(cohort: Cohort, schema: Schema, seed: int = 0, share: float = 0.15) -> Cohort:
    """The same patients with codes at random, in the slots that they use."""
    shape = (*cohort.gaps.shape, len(schema.code_names))
    given = np.random.default_rng(seed).random(shape) < share
    given &= (np.arange(shape[1]) < cohort.length[:, None])[:, :, None]
    return with_given(cohort, given)


def with_given(cohort: Cohort, given: np.ndarray) -> Cohort:
    codes = packed_codes(given.shape[:2], given.shape[2], *np.nonzero(given))
    fields = {name: getattr(cohort, name) for name in Cohort.__slots__}
    return Cohort(**fields | {"codes": codes})


def code_cohort(patients: int, schema: Schema, seed: int = 0, share: float = 0.15) -> Cohort:
    return with_codes(random_cohort(patients, seed=seed), schema, seed, share)
