"""The paper's own choices can be set, do what they say and keep the promise; ours are unchanged."""

from dataclasses import replace
from hashlib import sha256
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longsynth import fit, model_of, plan, sample
from longsynth.bundle import Bundle
from longsynth.encoding.rows import Encoder
from longsynth.fit import fit_without_privacy
from longsynth.plan import Plan
from longsynth.reading.records import Cohort
from longsynth.release.statement import natural
from longsynth.sampling.model import Synthetic
from longsynth.schema.constants import Constants
from longsynth.schema.file import dump, parse_text
from longsynth.schema.schema import Schema
from longsynth_lab.paper.section_v import AS_PRINTED, PAPER_CHOICES
from privacy.neighbouring_records import records
from support import (
    NoNoise,
    encoded,
    one_patient,
    random_cohort,
    small_plan,
    small_schema,
    together,
    unclipped,
)
from ward import ward_cohort, ward_schema

PRINTED = dict(AS_PRINTED)
BEFORE = {  # of the sums of 60 patients, taken before any of these constants existed
    "trust": "902dbdd3",
    "dp-score": "6e32cbfe",
    "copula-score": "9d447bea",  # since static channels take no room in lag blocks
}


def exact(schema: Schema, cohort: Cohort, method: str = "trust") -> Bundle:
    return fit(cohort, small_plan(cohort.patients, schema, method=method), noise=NoNoise())


def line(planned: Plan, name: str) -> dict[str, float | str]:
    return next(natural(e) for e in planned.ledger.entries if e.statistic.name == name)


def numbers(bundle: Bundle, name: str) -> int:
    return bundle.released[name].entry.statistic.dimension


@pytest.mark.parametrize("method", BEFORE)
def test_with_the_defaults_not_one_integer_has_changed(method: str) -> None:
    bundle = exact(small_schema(), random_cohort(60, 3), method)
    found = sha256()
    for released in bundle.released.values():
        found.update(released.values.astype("<i8").tobytes())
    assert found.hexdigest()[:8] == BEFORE[method]


def test_every_choice_of_the_paper_is_another_value_of_one_constant() -> None:
    usual = Constants().model_dump()
    for changed in PAPER_CHOICES.values():
        ((name, value),) = changed
        assert usual[name] != value
        assert getattr(Constants.model_validate({name: value}), name) == value
    assert len(PRINTED) == len(AS_PRINTED) == len(PAPER_CHOICES)


@pytest.mark.parametrize(("name", "value"), AS_PRINTED)
def test_a_choice_of_the_paper_stands_in_the_release_and_is_called_chosen(
    name: str, value: str
) -> None:
    bundle = exact(small_schema(**{name: value}), random_cohort(60, 3))
    assert bundle.by_hand == {name: value}
    assert f"{name}: {value}" in dump(bundle.schema)
    assert parse_text(dump(bundle.schema), "here").constants.model_dump()[name] == value
    assert f"{name}: {Constants().model_dump()[name]}" in dump(small_schema().resolved(60))


# --- missing values ---------------------------------------------------------------------------

BETWEEN = small_schema(missing_values="interpolated")


def pulse(*values: float, gaps: object = 5.0, length: int = 4, schema: Schema = BETWEEN) -> object:
    """What stands for the pulse in each slot, in beats; nan is missing."""
    cells = np.zeros((4, 3))
    cells[:, 0] = values
    patient = one_patient(cells, gaps=gaps, length=length)
    z = unclipped(patient, schema).reshape(4, 3)
    return pytest.approx((120 + 100 * z[:, 0]).tolist())


NAN = float("nan")


def test_a_missing_value_lies_on_the_line_in_time_between_its_neighbours() -> None:
    assert pulse(60, NAN, NAN, 90) == [60, 70, 80, 90]
    assert pulse(60, NAN, NAN, 90, gaps=[0, 1, 1, 4]) == [60, 65, 70, 90]
    assert pulse(60, NAN, 90, 30, gaps=[40, 9, 1, 7]) == [60, 87, 90, 30]


def test_before_the_first_and_after_the_last_value_the_nearest_one_stands() -> None:
    assert pulse(NAN, NAN, 60, NAN) == [60, 60, 60, 60]
    assert pulse(NAN, 60, 80, NAN, gaps=[9, 1, 1, 30]) == [60, 60, 80, 80]


def test_without_any_value_the_midpoint_stands() -> None:
    assert pulse(NAN, NAN, NAN, NAN) == [120] * 4


def test_nothing_is_filled_in_after_the_end_of_a_record() -> None:
    assert pulse(NAN, 60, NAN, 80, length=3) == [60, 60, 60, 120]
    full = small_schema(length="full", missing_values="interpolated")
    assert pulse(NAN, 60, NAN, 80, length=3, schema=full) == [60, 60, 60, 60]


def test_wild_values_are_clipped_before_anything_is_put_between_them() -> None:
    assert pulse(1e308, NAN, -1e308, NAN) == [220, 120, 20, 20]
    assert pulse(np.inf, NAN, 60, NAN) == [60] * 4


@pytest.mark.parametrize("gap", [NAN, np.inf, -np.inf, -5.0, 0.0])
def test_where_no_time_is_known_to_pass_slots_count(gap: float) -> None:
    assert pulse(60, NAN, NAN, 90, gaps=gap) == [60, 70, 80, 90]


def test_a_long_gap_counts_as_the_public_maximum() -> None:
    assert pulse(60, NAN, 90, 90, gaps=[0, 1e308, 48, 0]) == [60, 75, 90, 90]


def test_between_two_levels_lie_shares_of_both_and_static_values_are_not_touched() -> None:
    schema = ward_schema(constants={"missing_values": "interpolated"})
    cohort = ward_cohort(1, 1)
    cohort.length[:], cohort.gaps[:], cohort.observed[:] = 6, 4.0, False
    cohort.observed[0, [0, 4], 6] = True
    cohort.values[0, [0, 4], 6] = 0, 2
    z = unclipped(cohort, schema)
    z = schema.layout.values_of(z)[0]
    assert z[:, -3:] == pytest.approx(
        np.array([[1, 0, 0], [0.75, 0, 0.25], [0.5, 0, 0.5], [0.25, 0, 0.75], *[[0, 0, 1]] * 2])
    )
    assert not z[:, :-3].any()


def test_masks_are_not_told_that_a_value_was_filled_in() -> None:
    cohort = random_cohort(50, 2)
    filled, plain = (encoded(cohort, s).missing for s in (BETWEEN, small_schema()))
    assert np.array_equal(filled, plain)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_whatever_a_record_holds_a_filled_row_is_its_own_and_inside_its_radius(
    data: st.DataObject,
) -> None:
    """The poison of one patient reaches no other row."""
    schema = BETWEEN.resolved(100)
    wild = data.draw(records(schema))
    usual = random_cohort(5, 4)
    encoder = Encoder(schema.resolved(60))
    encoder.grid, encoder.radius_squared = 4096, 4096**2
    with np.errstate(all="ignore"):
        alone = encoder(wild).values.astype(np.int64)
        mixed, others = encoder(together(usual, wild)).values, encoder(usual).values
    assert (alone**2).sum() <= encoder.radius_squared
    assert np.array_equal(mixed[5:], alone)
    assert np.array_equal(mixed[:5], others)


def test_filled_values_bring_what_is_drawn_nearer_to_what_was_recorded() -> None:
    cohort = random_cohort(3000, 5)
    cohort = replace(cohort, length=np.full(3000, 4))
    cohort.values[:, :, 0] = np.random.default_rng(1).normal(60, 5, (3000, 1))
    means = []
    for missing_values in ("midpoint", "interpolated"):
        schema = small_schema(missing_values=missing_values, clip_radius=4.0, ridge=1e-6)
        drawn = sample(model_of(exact(schema, cohort)), 3000, seed=1)
        means.append(float(drawn.values[:, :, 0].mean()))
    assert means[0] == pytest.approx(72, abs=2)  # a fifth is missing, and counts as 120
    assert means[1] == pytest.approx(60, abs=1)


# --- second moments ---------------------------------------------------------------------------


def test_the_paper_prices_a_second_moment_at_twice_the_squared_radius() -> None:
    wanted = {"clip_radius": 2.5, "condition_gram": "released"}
    tight, loose = (
        small_plan(100, small_schema(gram_sensitivity=how, **wanted))
        for how in ("tight", "triangle")
    )
    for name, squared in (("second", 2.5**2), ("conditions", 6.0)):
        for planned, times in ((tight, sqrt(2)), (loose, 2.0)):
            assert line(planned, name)["sensitivity"] == pytest.approx(times * squared, rel=1e-6)
        assert float(line(loose, name)["sensitivity"]) >= 2 * squared * (1 - 1e-15)
        ratio = float(line(loose, name)["sigma"]) / float(line(tight, name)["sigma"])
        assert ratio == pytest.approx(sqrt(2), rel=1e-6)
    for name in ("strata", "values", "masks", "gaps", "gap squares"):
        assert line(tight, name) == line(loose, name)


def test_rows_are_held_to_the_radius_though_the_paper_pays_for_more() -> None:
    one = exact(small_schema(clip_radius=1.0), random_cohort(60, 3))
    other = exact(small_schema(clip_radius=1.0, gram_sensitivity="triangle"), random_cohort(60, 3))
    entries = [bundle.released["second"] for bundle in (one, other)]
    sums = [found.values // found.entry.statistic.lift for found in entries]
    assert np.array_equal(*sums)


@pytest.mark.parametrize("covariance", ["banded", "diagonal"])
def test_the_whole_second_moment_has_every_pair_and_gives_the_same_model(covariance: str) -> None:
    chosen, cohort = {"bandwidth": 1, "covariance": covariance}, random_cohort(60, 3)
    band, whole = (
        exact(small_schema(second_moment=how, **chosen), cohort) for how in ("band", "whole")
    )
    assert numbers(whole, "second") == 12 * 13 // 2
    assert numbers(band, "second") < numbers(whole, "second")
    entries = [bundle.released["second"].entry for bundle in (band, whole)]
    assert entries[0].sigma == entries[1].sigma
    assert "apart" not in entries[1].statistic.meaning
    one, other = (sample(model_of(bundle), 50, seed=1) for bundle in (band, whole))
    assert np.array_equal(one.values, other.values)


# --- masks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["trust", "dp-score", "dp-markov"])
def test_masks_of_0_and_1_take_twice_the_noise(method: str) -> None:
    centred, plain = (
        small_plan(100, small_schema(mask_coding=how), method=method)
        for how in ("centred", "zero_one")
    )
    assert line(plain, "masks")["sensitivity"] == 2 * float(line(centred, "masks")["sensitivity"])
    width = sqrt(12 * (6 if method == "trust" else 1))
    assert line(plain, "masks")["sensitivity"] == pytest.approx(2 * width)


def test_masks_of_0_and_1_say_what_is_missing_and_nothing_of_padding() -> None:
    schema = small_schema(mask_coding="zero_one")
    patient = one_patient([[NAN] * 3, [20.0, 0, 0], *[[NAN] * 3] * 2], length=3)
    assert encoded(patient, schema).missing.reshape(4, 3)[:, 0].tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("method", ["trust", "dp-score", "dp-markov", "scorediff"])
def test_without_noise_masks_of_0_and_1_are_learnt_as_well(method: str) -> None:
    cohort = random_cohort(2000, 6)
    schema = small_schema(mask_coding="zero_one", ridge=1e-6, missing_min=0.0, least_observations=0)
    bundle = (
        fit_without_privacy(cohort, schema, method)
        if method == "scorediff"
        else exact(schema, cohort, method)
    )
    drawn = sample(model_of(bundle), 4000, seed=1)
    used = np.arange(4) < drawn.length[:, None]
    assert drawn.observed[used].mean() == pytest.approx(0.8, abs=0.02)


# --- strata -----------------------------------------------------------------------------------


def counts(drawn: Synthetic) -> np.ndarray:
    return np.bincount((drawn.site * 2 + drawn.group) * 2 + drawn.event, minlength=12)


def test_strata_are_dealt_out_evenly_or_drawn_one_by_one() -> None:
    cohort, apart = random_cohort(600, 7), {}
    for how in ("even", "independent"):
        model = model_of(exact(small_schema(strata_draw=how), cohort))
        expected = 500 * model.strata.draw
        found = [counts(sample(model, 500, seed=seed)) - expected for seed in range(60)]
        apart[how] = np.array(found)
        assert abs(apart[how].mean(axis=0)).max() < 3
    assert abs(apart["even"]).max() < 2
    binomial = np.sqrt(expected * (1 - expected / 500))
    assert apart["independent"].std(axis=0) == pytest.approx(binomial, rel=0.4)


# --- independent ------------------------------------------------------------------------------


def by_stratum(cohort: Cohort, marginals_by: str) -> Synthetic:
    certain = {"missing_min": 0.0, "missing_max": 1.0, "least_observations": 0}
    schema = small_schema(marginals_by=marginals_by, **certain)
    bundle = fit_without_privacy(cohort, schema, "independent")
    where = {"site": "B", "group": "1", "event": "1"}
    return sample(model_of(bundle), 2000, seed=1, where=where)


def of_two_sites(patients: int = 600) -> Cohort:
    """Site B has a pulse of 150 and all its values; the others have 70 and miss half."""
    cohort = random_cohort(patients, 8)
    cohort.length[:] = 4
    second = cohort.site == 1
    cohort.values[:, :, 0] = np.where(second, 150.0, 70.0)[:, None]
    cohort.observed[second] = True
    cohort.observed[~second, ::2] = False
    cohort.gaps[:] = np.where(second, 2.0, 20.0)[:, None]
    return cohort


def test_independent_by_stratum_keeps_what_is_a_sites_own() -> None:
    own, shared = (by_stratum(of_two_sites(), how) for how in ("stratum", "event"))
    assert (own.values[:, :, 0] == 150).all()
    assert own.observed.all()
    assert own.gaps == pytest.approx(2.0)
    assert 80 < shared.values[:, 1, 0].mean() < 120
    assert 0.3 < shared.observed.mean() < 0.95


def test_a_stratum_that_nobody_is_in_has_the_marginals_of_its_event() -> None:
    cohort = of_two_sites()
    cohort = cohort.take(np.flatnonzero((cohort.site != 1) | (cohort.event == 0)))
    drawn = by_stratum(cohort, "stratum")
    seen = drawn.values[:, :, 0][drawn.observed[:, :, 0]]
    assert (seen == 70).all(), "of those with the event, who are all elsewhere"
    assert not drawn.observed[:, ::2].any()
    assert drawn.gaps == pytest.approx(20.0)


# --- all together -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["trust", "dp-score", "dp-markov", "copula-score"])
def test_as_printed_every_method_can_be_fitted_and_drawn(method: str) -> None:
    for schema, cohort in (
        (small_schema(**PRINTED), random_cohort(80, 1)),
        (ward_schema(constants=PRINTED), ward_cohort(80, 1)),
    ):
        planned = plan(schema, 80, epsilon=4, delta=1e-5, method=method, accounting="zcdp")
        drawn = sample(model_of(fit(cohort, planned)), 100, seed=1)
        assert np.isfinite(drawn.values).all()
        assert planned.ledger.spent <= planned.ledger.budget.rho  # type: ignore[union-attr]
