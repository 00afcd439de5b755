"""Splits: nobody is in two parts, and every part is like the whole."""

from dataclasses import replace

import numpy as np
import pytest

from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulate
from longsynth_lab.experiments import Setting
from longsynth_lab.patients import FRESH_SEED
from longsynth_lab.split import SHARES, blanked, parts_of, split, thinned
from longsynth_lab.trial import population


def marked(cohort: Cohort) -> Cohort:
    """The cohort with each patient's number in the first gap."""
    gaps = cohort.gaps.copy()
    gaps[:, 0] = np.arange(cohort.patients)
    return replace(cohort, gaps=gaps)


@pytest.mark.parametrize("seed", [11, 22, 33])
def test_a_split_is_patient_disjoint_and_complete(seed: int) -> None:
    parts = split(marked(simulate(720, seed=seed)), seed)
    people = [set(part.gaps[:, 0].tolist()) for part in parts]
    assert [len(part) for part in people] == [504, 108, 108]
    assert len(people[0] | people[1] | people[2]) == 720


@pytest.mark.parametrize("seed", [11, 22, 33])
def test_every_part_has_its_share_of_every_stratum(seed: int) -> None:
    cohort = simulate(720, seed=seed)
    part = parts_of(cohort, SHARES, seed)
    stratum = (cohort.site * 2 + cohort.group) * 2 + cohort.event
    for label in np.unique(stratum):
        inside = part[stratum == label]
        for place, share in enumerate(SHARES):
            assert abs((inside == place).sum() - share * len(inside)) <= 2


def test_a_stratum_of_one_patient_needs_no_special_case() -> None:
    cohort = simulate(40, seed=1)
    lonely = replace(cohort, event=np.eye(1, 40, dtype=np.int64)[0])
    assert sorted(len(p.event) for p in split(lonely, 1)) == [6, 6, 28]


def test_another_seed_gives_another_split_and_the_same_seed_the_same() -> None:
    cohort = simulate(200, seed=5)
    assert (parts_of(cohort, SHARES, 1) == parts_of(cohort, SHARES, 1)).all()
    assert (parts_of(cohort, SHARES, 1) != parts_of(cohort, SHARES, 2)).any()


@pytest.mark.parametrize("wanted", [120, 200, 350])
def test_thinning_keeps_the_number_asked_for_and_the_event_rate(wanted: int) -> None:
    train, _, _ = split(simulate(720, seed=11), 11)
    kept = thinned(train, wanted, 11)
    assert kept.patients == wanted
    assert abs(kept.event.sum() - train.event.mean() * wanted) <= 2


def test_added_missingness_only_takes_away_and_at_its_rate() -> None:
    cohort = simulate(400, seed=3)
    fewer = blanked(cohort, 0.3, 3)
    assert not (fewer.observed & ~cohort.observed).any()
    assert fewer.observed.sum() / cohort.observed.sum() == pytest.approx(0.7, abs=0.02)


def test_a_fresh_population_shares_nobody_with_the_training_patients() -> None:
    parts = population(Setting(patients=50, fresh=300), 11)
    assert (parts.train.patients, parts.test.patients) == (50, 300)
    seen = {row.tobytes() for row in parts.train.gaps}
    assert not seen & {row.tobytes() for row in parts.test.gaps}
    again = simulate(50, seed=11 + FRESH_SEED)
    assert (parts.test.gaps[:50] == again.gaps).all()
