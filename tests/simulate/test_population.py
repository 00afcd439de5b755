"""Claims about the simulated population, asked of what a caller sees."""

from dataclasses import fields
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
import yaml

from longsynth.reading import simulation as population
from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulate
from longsynth.system.arrays import Bools, Floats

LARGE = 20_000
PAPER_SEEDS = (11, 22, 33, 44, 55)


@pytest.fixture(scope="module")
def large() -> Cohort:
    return simulate(LARGE, seed=1)


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    text = files("longsynth.reading").joinpath("simulated.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def table(cohort: Cohort) -> Floats:
    """The rows of tab:dataset: event rate, protected share, missing-entry rate, mean gap."""
    missing = 1.0 - cohort.observed.mean()
    return np.array([cohort.event.mean(), cohort.group.mean(), missing, cohort.gaps.mean()])


def missing_share(cohort: Cohort) -> Floats:
    """Share of each patient's cells that are missing."""
    share: Floats = 1.0 - cohort.observed.mean(axis=(1, 2))
    return share


def summaries(cohort: Cohort) -> Floats:
    """Mean, last, least, greatest and slope per variable, over what was observed."""
    seen, values = cohort.observed, np.where(cohort.observed, cohort.values, 0.0)
    count = np.maximum(seen.sum(axis=1), 1)
    mean = values.sum(axis=1) / count
    slot = np.arange(seen.shape[1], dtype=float)[None, :, None]
    ahead = np.where(seen, slot - ((slot * seen).sum(axis=1) / count)[:, None], 0.0)
    spread = np.maximum((ahead**2).sum(axis=1), 1.0)
    slope = (ahead * (values - mean[:, None])).sum(axis=1) / spread
    at = seen.shape[1] - 1 - seen[:, ::-1].argmax(axis=1)
    last = np.take_along_axis(values, at[:, None], axis=1)[:, 0]
    least = np.where(seen, values, np.inf).min(axis=1)
    greatest = np.where(seen, values, -np.inf).max(axis=1)
    columns = np.concatenate([mean, last, least, greatest, slope], axis=1)
    return np.where(np.isfinite(columns), columns, 0.0)


def auprc(train: Cohort, test: Cohort, scrambled: bool = False) -> float:
    """Ridge-penalised logistic regression by Newton steps, scored by average precision."""
    event = np.random.default_rng(0).permutation(train.event) if scrambled else train.event
    raw = summaries(train)
    centre, spread = raw.mean(axis=0), raw.std(axis=0)
    known = np.column_stack([np.ones(len(raw)), (raw - centre) / spread])
    penalty = np.diag([0.0] + [10.0] * raw.shape[1])
    weight = np.zeros(known.shape[1])
    for _ in range(15):
        chance = 1.0 / (1.0 + np.exp(-known @ weight))
        curvature = (known.T * (chance * (1.0 - chance))) @ known + penalty
        weight += np.linalg.solve(curvature, known.T @ (event - chance) - penalty @ weight)
    score = (summaries(test) - centre) / spread @ weight[1:]
    ranked = test.event[np.argsort(-score)]
    precision = ranked.cumsum() / np.arange(1, len(ranked) + 1)
    return float(precision[ranked == 1].mean())


def test_five_seeds_meet_the_papers_table() -> None:
    measured = np.mean([table(simulate(720, seed=seed)) for seed in PAPER_SEEDS], axis=0)
    off = np.abs(measured - [0.092, 0.228, 0.147, 11.1])
    assert np.all(off <= [0.015, 0.02, 0.01, 0.4]), measured


def test_the_law_itself_has_the_tables_means() -> None:
    measured = table(simulate(200_000, seed=987))
    off = np.abs(measured - [0.092, 0.228, 0.147, 11.1])
    assert np.all(off <= [0.003, 0.004, 0.001, 0.05]), measured


def test_the_law_does_not_depend_on_the_seed() -> None:
    """Between seeds the table moves as independent patients would move it."""
    seeds, size = 60, 500
    draws = [simulate(size, seed=seed) for seed in range(seeds)]
    per_patient = [
        np.concatenate([draw.event for draw in draws]),
        np.concatenate([draw.group for draw in draws]),
        np.concatenate([missing_share(draw) for draw in draws]),
        np.concatenate([draw.gaps.mean(axis=1) for draw in draws]),
    ]
    expected = np.array([column.std() for column in per_patient]) / np.sqrt(size)
    between = np.std([table(draw) for draw in draws], axis=0, ddof=1)
    assert np.all((between / expected > 0.7) & (between / expected < 1.35)), between / expected


def test_a_prefix_of_a_population_is_the_smaller_population() -> None:
    """So nothing is solved from the sample: the other patients would then change these."""
    for seed in range(20):
        few, many = simulate(37, seed=seed), simulate(500, seed=seed).take(slice(37))
        for field in fields(Cohort):
            alone, among = getattr(few, field.name), getattr(many, field.name)
            np.testing.assert_allclose(alone, among, rtol=1e-12, err_msg=field.name)


def test_the_same_seed_draws_the_same_patients_and_another_seed_others() -> None:
    first, again, other = (simulate(300, seed=seed) for seed in (11, 11, 22))
    for field in fields(Cohort):
        np.testing.assert_array_equal(getattr(first, field.name), getattr(again, field.name))
    for name in ("values", "observed", "gaps", "group", "event", "site"):
        assert not np.array_equal(getattr(first, name), getattr(other, name), equal_nan=True)


def test_every_slot_is_in_use_and_what_is_not_observed_is_nan(large: Cohort) -> None:
    assert large.values.shape == large.observed.shape == (LARGE, 14, 6)
    assert np.all(large.length == 14)
    np.testing.assert_array_equal(np.isfinite(large.values), large.observed)


def test_gaps_stay_below_the_public_maximum(large: Cohort, schema: dict[str, Any]) -> None:
    assert schema["max_gap"] == population.MAX_GAP
    assert np.all((large.gaps > 0) & (large.gaps < schema["max_gap"]))


def test_gaps_are_right_skewed_and_the_first_is_drawn_like_the_others(large: Cohort) -> None:
    assert np.all(large.gaps.mean(axis=0) > 1.1 * np.median(large.gaps, axis=0))
    assert abs(large.gaps[:, 0].mean() / large.gaps[:, 1:].mean() - 1.0) < 0.05


def test_values_lie_inside_the_public_bounds(large: Cohort, schema: dict[str, Any]) -> None:
    assert [variable["name"] for variable in schema["variables"]] == list(population.VARIABLES)
    assert schema["slots"] == large.values.shape[1]
    assert len(schema["site"]["levels"]) == large.site.max() + 1
    for column, variable in enumerate(schema["variables"]):
        low, high = variable.get("bounds", (0, 1))
        seen = large.values[:, :, column][large.observed[:, :, column]]
        assert low <= population.LOWEST[column] <= seen.min(), variable["name"]
        assert seen.max() <= population.HIGHEST[column] <= high, variable["name"]
        if variable["kind"] != "continuous":
            assert set(np.unique(seen)) == set(range(int(low), int(high) + 1)), variable["name"]


def test_crp_is_right_skewed_and_heart_rate_is_not(large: Cohort) -> None:
    mean, median = np.nanmean(large.values, axis=(0, 1)), np.nanmedian(large.values, axis=(0, 1))
    assert mean[3] > 1.3 * median[3]
    assert abs(mean[0] / median[0] - 1.0) < 0.02


def test_one_severity_moves_all_six_variables(large: Cohort) -> None:
    """Within a site, so that shifted devices cannot make the correlation."""
    at = np.nanmean(large.values[large.site == 0], axis=1)
    at[:, 3] = np.log(at[:, 3])
    whole = at[np.isfinite(at).all(axis=1)] * np.array([1, 1, -1, 1, 1, 1])
    assert np.corrcoef(whole.T).min() > 0.1


def test_severity_persists_from_slot_to_slot(large: Cohort) -> None:
    """The course of one patient: near slots agree more than far ones."""
    heart = large.values[:, :, 0]

    def agreement(lag: int) -> float:
        early, late = heart[:, :-lag].ravel(), heart[:, lag:].ravel()
        both = np.isfinite(early) & np.isfinite(late)
        return float(np.corrcoef(early[both], late[both])[0, 1])

    assert agreement(1) > agreement(4) + 0.03 > agreement(10) + 0.03


def test_severity_makes_cells_go_missing(large: Cohort) -> None:
    """Within one site and group, and although the sicker have the shorter gaps."""
    alike: Bools = (large.site == 0) & (large.group == 0)
    share = missing_share(large)[alike]
    need = np.nanmean(large.values[alike][:, :, 4], axis=1)
    low, high = np.nanquantile(need, [0.25, 0.75])
    assert share[need >= high].mean() > share[need <= low].mean() + 0.01


def test_a_long_gap_makes_cells_go_missing(large: Cohort) -> None:
    alike = (large.site == 0) & (large.group == 0)
    gaps, missing = large.gaps[alike], 1.0 - large.observed[alike].mean(axis=2)
    assert missing[gaps > 15.0].mean() > missing[gaps < 6.0].mean() + 0.02


def test_missingness_differs_by_variable_and_by_site(large: Cohort) -> None:
    by_variable = 1.0 - large.observed.mean(axis=(0, 1))
    by_site = np.array([missing_share(large)[large.site == site].mean() for site in range(3)])
    assert by_variable.argmax() == 3
    assert np.ptp(by_variable) > 0.1
    assert np.ptp(by_site) > 0.02


def test_protected_patients_are_observed_less(large: Cohort) -> None:
    share = missing_share(large)
    for site in range(3):
        here = large.site == site
        protected, others = share[here & (large.group == 1)], share[here & (large.group == 0)]
        assert protected.mean() > others.mean() + 0.02


def test_protected_patients_show_a_weaker_signal(large: Cohort) -> None:
    """Severity is what heart and respiratory rate share, so their covariance measures it."""

    def shared(group: int) -> float:
        alike = (large.site == 0) & (large.group == group)
        mean = np.nanmean(large.values[alike][:, :, :2], axis=1)
        return float(np.cov(mean.T)[0, 1])

    assert 0.3 * shared(0) < shared(1) < 0.85 * shared(0)


def test_sites_are_shifted_cohorts_of_unequal_size(large: Cohort) -> None:
    np.testing.assert_allclose(np.bincount(large.site) / LARGE, [0.45, 0.33, 0.22], atol=0.015)
    heart = [np.nanmean(large.values[large.site == site][:, :, 0]) for site in range(3)]
    gap = [large.gaps[large.site == site].mean() for site in range(3)]
    event = [large.event[large.site == site].mean() for site in range(3)]
    assert event[2] > event[1] + 0.01  # the third cohort is the sickest,
    assert heart[2] < heart[1] - 1.0  # yet its hearts read slower: a shift severity cannot make
    assert np.ptp(gap) > 1.0


def test_the_event_is_rare_and_predictable_but_not_trivially(large: Cohort) -> None:
    fresh = simulate(LARGE, seed=2)
    small = [auprc(simulate(504, seed=seed), fresh) for seed in range(100, 105)]
    assert fresh.event.mean() < 0.12
    assert 0.35 <= np.mean(small) <= 0.45
    assert np.mean(small) < auprc(large, fresh) <= 0.55
    assert auprc(large, fresh, scrambled=True) < 0.2


def test_the_event_follows_the_late_course_more_than_the_early_one(large: Cohort) -> None:
    def shift(slots: slice) -> float:
        heart = large.values[:, slots, 0]
        return float(np.nanmean(heart[large.event == 1]) - np.nanmean(heart[large.event == 0]))

    assert shift(slice(10, 14)) > shift(slice(0, 4)) + 1.0


def test_a_cohort_of_one_and_of_none_can_be_drawn() -> None:
    assert simulate(0, seed=3).patients == 0
    assert simulate(1, seed=3).values.shape == (1, 14, 6)
