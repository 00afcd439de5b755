"""Splits of simulated patients. For real patients, a stratified split would leak labels."""

from dataclasses import replace

import numpy as np
from numpy.random import default_rng

from longsynth.reading.records import Cohort
from longsynth.system.arrays import Ints

TRAIN, VALIDATION, TEST = 0, 1, 2
SHARES = (0.70, 0.15, 0.15)
SPLIT, THIN, BLANK = 1, 2, 3  # streams of a seed, apart from the one that draws the patients


def parts_of(cohort: Cohort, shares: tuple[float, ...], seed: int, stream: int = SPLIT) -> Ints:
    """Return each patient's part, stratified by site, group and event together.

    Patients are in random order within their stratum, one stratum after the other. Each goes to the
    part that is furthest below its share. So every part has its share of every stratum to within
    two patients, and small strata need no special case.
    """
    rng = default_rng([stream, seed])
    labels = np.stack([cohort.site, cohort.group, cohort.event], axis=1)
    stratum = np.unique(labels, axis=0, return_inverse=True)[1].ravel()
    # event first: then the rare outcome is also balanced across strata that are tiny
    order = np.lexsort((rng.permutation(cohort.patients), stratum, cohort.event))
    part = np.empty(cohort.patients, dtype=np.int64)
    wanted, given = np.array(shares), np.zeros(len(shares))
    for place, patient in enumerate(order, start=1):
        chosen = int(np.argmax(wanted * place - given))
        given[chosen] += 1
        part[patient] = chosen
    return part


def split(cohort: Cohort, seed: int) -> tuple[Cohort, Cohort, Cohort]:
    """Return training, validation and test patients, without overlap."""
    part = parts_of(cohort, SHARES, seed)
    train, validation, test = (cohort.take(np.flatnonzero(part == p)) for p in (0, 1, 2))
    return train, validation, test


def thinned(cohort: Cohort, patients: int, seed: int) -> Cohort:
    """Return the given number of patients, with every stratum thinned alike."""
    share = patients / cohort.patients
    kept = np.flatnonzero(parts_of(cohort, (share, 1 - share), seed, THIN) == 0)
    return cohort.take(kept)


def blanked(cohort: Cohort, rate: float, seed: int) -> Cohort:
    """Return the cohort with observed cells removed at this rate, whatever their values."""
    if rate == 0:
        return cohort
    kept = default_rng([BLANK, seed]).random(cohort.observed.shape) >= rate
    return replace(cohort, observed=cohort.observed & kept)
