"""Facts about simulated patients: whose row is clipped, and who stands in which stratum."""

import numpy as np
import pytest

from longsynth.reading.simulation import simulate, simulated_schema
from longsynth_lab.patients import clipping_facts, support_facts
from support import unclipped

SCHEMA, COHORT = simulated_schema(), simulate(200, seed=5)


def test_the_clipped_share_counts_rows_longer_than_the_radius() -> None:
    found = clipping_facts(COHORT, SCHEMA)
    length = np.linalg.norm(unclipped(COHORT, SCHEMA), axis=1)
    assert found["clipped_patients_share"] == pytest.approx((length > found["clip_radius"]).mean())
    assert 0 < found["clipped_patients_share"] < 1


def test_values_and_gaps_beyond_public_bounds_are_counted() -> None:
    wild = simulate(200, seed=5)
    first = np.argwhere(wild.observed)[0]
    wild.values[tuple(first)] = 1e6
    wild.gaps[0, 1] = SCHEMA.max_gap + 1
    found = clipping_facts(wild, SCHEMA)
    assert found["clipped_values_share"] == pytest.approx(1 / wild.observed.sum())
    assert found["clipped_gaps_share"] == pytest.approx(1 / wild.gaps.size)


def test_every_patient_and_event_stands_in_exactly_one_stratum() -> None:
    found = support_facts(COHORT, SCHEMA)
    assert len(found) == 2 * 2 * len(SCHEMA.sites)
    patients = sum(count for name, count in found.items() if name.endswith("patients"))
    events = sum(count for name, count in found.items() if name.endswith("events"))
    assert (patients, events) == (COHORT.patients, COHORT.event.sum())
    chosen = (COHORT.site == 2) & (COHORT.group == 1)
    assert found[f"support_{SCHEMA.sites[2]}_group1_patients"] == chosen.sum()
