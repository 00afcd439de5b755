"""Each fidelity metric on a case worked out by hand, and 0 for a cohort against itself."""

import numpy as np
import pytest
from scipy.stats import ks_2samp, wasserstein_distance

from audit.audit_support import changed, plain_schema, series, weighted
from longsynth.audit.fidelity import fidelity_scores
from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from support import random_cohort, small_schema


def values(schema: Schema, real: Trajectories, synthetic: Trajectories) -> dict[str, float]:
    return {s.metric: s.value for s in fidelity_scores(schema, real, synthetic)}


def small(**arrays: object) -> Cohort:
    """60 patients of `small_schema`, full length, all seen, with events and both groups."""
    cohort = random_cohort(60, 5)
    steady = {
        "observed": np.ones_like(cohort.observed),
        "length": np.full(60, 4),
        "group": np.arange(60) % 2,
        "event": (np.arange(60) % 5 == 0).astype(np.int64),
    }
    return changed(cohort, **(steady | arrays))


def test_a_cohort_against_itself_has_no_error_and_cannot_be_told_apart() -> None:
    for schema, cohort in (
        (simulated_schema(), simulate(300, seed=4)),
        (small_schema(), random_cohort(120, 1)),
        (plain_schema(), series([1, 2, 3], [4, 6], [7, 7.5], [2, None, 5], event=[0, 1, 0, 1])),
    ):
        for name, value in values(schema, cohort, cohort).items():
            expected = 0.5 if name == "real_vs_synthetic_auc" else 0.0
            assert np.isnan(value) or value == pytest.approx(expected, abs=1e-9), name


def test_only_what_cannot_be_defined_is_nan() -> None:
    found = values(plain_schema(), series([1, 2]), series([1, 2], [3, 4]))
    undefined = {name for name, value in found.items() if np.isnan(value)}
    assert undefined == {
        "autocorrelation_error",
        "autocorrelation_error_lag2",
        "autocorrelation_error_lag3",
        "autocorrelation_error_elapsed",
        "transition_error",
        "prevalence_error_group1",
        "missingness_event_error",
        "visit_count_error_event1",
    }


def test_marginals_are_kolmogorov_smirnov_and_total_variation() -> None:
    real, other = random_cohort(80, 1), random_cohort(90, 2)
    found = values(small_schema(), real, other)
    used = [np.arange(4) < c.length[:, None] for c in (real, other)]
    seen = [c.observed & u[:, :, None] for c, u in zip((real, other), used, strict=True)]
    pulses = [
        np.clip(c.values[:, :, 0][s[:, :, 0]], 20, 220)
        for c, s in zip((real, other), seen, strict=True)
    ]
    assert found["marginal_ks_pulse"] == pytest.approx(ks_2samp(*pulses).statistic)
    doses = [
        np.bincount(c.values[:, :, 1][s[:, :, 1]].astype(int), minlength=5) / s[:, :, 1].sum()
        for c, s in zip((real, other), seen, strict=True)
    ]
    assert found["marginal_ks_dose"] == pytest.approx(np.abs(doses[0] - doses[1]).sum() / 2)
    each = [found[f"marginal_ks_{name}"] for name in ("pulse", "dose", "oxygen")]
    assert found["marginal_ks"] == pytest.approx(np.mean(each))


def test_disjoint_marginals_are_at_distance_one() -> None:
    assert values(plain_schema(), series([1, 2]), series([8, 9]))["marginal_ks_x"] == 1


def test_gaps_and_visits_are_wasserstein_distances_in_hours_and_slots() -> None:
    real, other = random_cohort(50, 1), random_cohort(70, 2)
    found = values(small_schema(), real, other)
    gaps = [np.minimum(c.gaps, 48)[np.arange(4) < c.length[:, None]] for c in (real, other)]
    assert found["gap_wasserstein"] == pytest.approx(wasserstein_distance(*gaps))
    assert found["visit_count_error"] == pytest.approx(
        wasserstein_distance(real.length, other.length)
    )
    later = changed(real, gaps=real.gaps * 0 + 7)
    sooner = changed(real, gaps=real.gaps * 0 + 5)
    assert values(small_schema(), later, sooner)["gap_wasserstein"] == pytest.approx(2)


def test_weights_stand_for_copies() -> None:
    real, drawn = simulate(150, seed=1), simulate(120, seed=2)
    copies = 1 + np.arange(120) % 3
    repeated = drawn.take(np.repeat(np.arange(120), copies))
    by_weight = values(simulated_schema(), real, weighted(drawn, copies))
    by_copies = values(simulated_schema(), real, repeated)
    unweighted = values(simulated_schema(), real, drawn)
    for name, value in by_weight.items():
        if name != "real_vs_synthetic_auc":  # trees count leaves in patients, not in weight
            assert value == pytest.approx(by_copies[name], abs=1e-9), name
    assert by_weight["marginal_ks"] != pytest.approx(unweighted["marginal_ks"])


def test_prevalence_by_hand_overall_and_by_group() -> None:
    real = small()  # every fifth patient, half of them in each group
    none = small(event=np.zeros(60, dtype=np.int64))
    only_group1 = small(event=np.arange(60) % 2)
    assert values(small_schema(), real, none)["prevalence_error"] == pytest.approx(0.2)
    found = values(small_schema(), none, only_group1)
    assert found["prevalence_error"] == pytest.approx(0.5)
    assert found["prevalence_error_group0"] == 0
    assert found["prevalence_error_group1"] == 1


def test_missingness_and_its_dependence_on_the_event_by_hand() -> None:
    event = (np.arange(60) % 5 == 0).astype(np.int64)
    half_gone = np.ones((60, 4, 3), dtype=bool)
    half_gone[:, :2, 0] = False
    found = values(small_schema(), small(), small(observed=half_gone))
    assert found["missingness_error_pulse"] == pytest.approx(0.5)
    assert found["missingness_error"] == pytest.approx(0.5 / 3)
    assert found["missingness_event_error"] == pytest.approx(0)

    with_event = np.ones((60, 4, 3), dtype=bool)
    with_event[event == 1, :2] = False
    found = values(small_schema(), small(), small(observed=with_event))
    assert found["missingness_error"] == pytest.approx(0.5 * 0.2)
    assert found["missingness_event_error"] == pytest.approx(0.5)


def test_slots_that_are_not_in_use_are_not_missing() -> None:
    short = small(length=np.full(60, 2))
    found = values(small_schema(), small(), short)
    assert found["missingness_error"] == 0
    assert found["visit_count_error"] == pytest.approx(2)


def test_autocorrelation_of_constant_courses_against_alternating_ones() -> None:
    levels = np.arange(40) / 4
    steady = series(*([x] * 4 for x in levels))
    flipped = series(*([x, 10 - x, x, 10 - x] for x in levels))
    found = values(plain_schema(), steady, flipped)
    assert found["autocorrelation_error"] == pytest.approx(2)  # 1 against -1
    assert found["autocorrelation_error_lag2"] == pytest.approx(0)
    assert found["autocorrelation_error_lag3"] == pytest.approx(2)
    assert 0 < found["autocorrelation_error_elapsed"] < 2


def test_elapsed_time_sees_what_slots_hide() -> None:
    """The same values slot by slot, read ten times as slowly."""
    rng = np.random.default_rng(0)
    walk = np.clip(5 + np.cumsum(rng.normal(0, 1, (400, 4)), axis=1), 0, 10)
    fast, slow = (series(*walk.tolist(), gap=gap) for gap in (0.7, 7.0))
    found = values(plain_schema(), fast, slow)
    assert found["autocorrelation_error"] == pytest.approx(0)
    assert found["autocorrelation_error_elapsed"] > 0.1


def test_autocorrelation_of_shuffled_slots_is_lost() -> None:
    real = simulate(300, seed=4)
    rng = np.random.default_rng(0)
    shuffled = np.argsort(rng.random(real.values.shape), axis=1)
    scrambled = changed(
        real,
        values=np.take_along_axis(real.values, shuffled, 1),
        observed=np.take_along_axis(real.observed, shuffled, 1),
    )
    found = values(simulated_schema(), real, scrambled)
    assert found["marginal_ks"] == pytest.approx(0, abs=1e-9)
    assert found["autocorrelation_error"] > 0.05


def test_transitions_by_hand() -> None:
    stay = small()
    stay.values[:, :, 2] = (np.arange(60) % 2)[:, None]
    flip = small()
    flip.values[:, :, 2] = (np.arange(60)[:, None] + np.arange(4)) % 2
    for cohort in (stay, flip):
        cohort.values[:, :, 1] = 2
    assert values(small_schema(), stay, flip)["transition_error"] == pytest.approx(0.5)  # of two
    elsewhere = small()
    elsewhere.values[:, :, 2] = stay.values[:, :, 2]
    elsewhere.values[:, :, 1] = 4  # a level that is never left counts as wrong
    assert values(small_schema(), stay, elsewhere)["transition_error"] == pytest.approx(0.5)


def test_correlation_error_sees_a_broken_pair() -> None:
    real = simulate(500, seed=4)
    broken = changed(real, values=real.values.copy(), observed=real.observed.copy())
    order = np.random.default_rng(0).permutation(500)
    for name in ("values", "observed"):
        getattr(broken, name)[:, :, 0] = getattr(real, name)[order, :, 0]
    found = values(simulated_schema(), real, broken)
    assert found["marginal_ks"] == pytest.approx(0, abs=1e-9)
    assert found["autocorrelation_error"] == pytest.approx(0, abs=0.02)
    assert found["correlation_error"] > 0.02


def test_the_classifier_tells_a_shifted_cohort_and_not_a_fresh_or_copied_one() -> None:
    schema, real, fresh = simulated_schema(), simulate(400, seed=4), simulate(400, seed=5)
    shifted = changed(fresh, gaps=fresh.gaps * 1.5)
    assert abs(values(schema, real, fresh)["real_vs_synthetic_auc"] - 0.5) < 0.1
    assert values(schema, real, shifted)["real_vs_synthetic_auc"] > 0.85
    copied = real.take(np.random.default_rng(0).integers(0, 400, 400))
    assert abs(values(schema, real, copied)["real_vs_synthetic_auc"] - 0.5) < 0.1


def test_intervals_contain_the_value_stay_above_zero_and_repeat() -> None:
    real, fresh = simulate(150, seed=1), simulate(150, seed=2)
    first, again = (
        fidelity_scores(simulated_schema(), real, fresh, bootstrap=30, seed=5) for _ in range(2)
    )
    assert first == again
    for score in first:
        assert 0 <= score.lower <= score.value <= score.upper, score
        assert score.better == ("half" if score.metric.endswith("auc") else "lower")


def test_a_value_without_meaning_comes_with_its_reason() -> None:
    scores = fidelity_scores(plain_schema(), series([]), series([], []), bootstrap=25)
    for score in scores:
        assert np.isfinite(score.value) or score.note, score.metric
    notes = {s.metric: s.note for s in scores}
    assert notes["marginal_ks_x"] == "never observed in one of the cohorts"
    assert notes["prevalence_error_group1"] == "one of the cohorts has nobody in this group"
