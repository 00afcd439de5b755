"""Every outcome is scored beside its references, from predictors that do not know it."""

import warnings
from typing import Any

import numpy as np
import pytest

from audit.audit_support import changed, plain_schema, study_cohort, study_schema, weighted
from longsynth.audit.audit import audit
from longsynth.audit.cox import fitted_cox, incidence
from longsynth.audit.ranking import Predictions, Ranking
from longsynth.audit.regression import Estimates, number_scores
from longsynth.audit.result import BASE_RATE, ON_REAL, ON_SYNTHETIC, AuditResult, Source
from longsynth.audit.subgroups import fairness_scores, parts_of
from longsynth.audit.survival import concordance, reference, survival
from longsynth.audit.targets import Actual, Patients, targets_of
from longsynth.schema.schema import Schema

NAMES = [
    *("survival: death", "survival: transplant", "ventilated", "grade"),
    *("leaves: home", "leaves: ward", "leaves: hospice", "readmitted"),
]


@pytest.fixture(scope="module")
def result() -> AuditResult:
    train, test, synthetic = (study_cohort(n, seed) for n, seed in ((400, 1), (400, 2), (300, 3)))
    return audit(study_schema(), train, test, synthetic, bootstrap=30)


def test_every_outcome_stands_beside_train_on_real_and_the_base_rate(result: AuditResult) -> None:
    assert result.outcomes == NAMES
    for outcome in NAMES:
        for section in ("utility", "subgroups"):
            rows = {source.row for source in result.sources(section, outcome)}
            assert rows == {ON_SYNTHETIC, ON_REAL, BASE_RATE}


@pytest.mark.parametrize(
    ("outcome", "model", "metric"),
    [
        ("survival: death", "Cox", "concordance"),
        ("ventilated", "linear", "r2"),
        ("ventilated", "boosted", "rank_correlation"),
        ("grade", "linear", "rank_correlation"),
        ("leaves: hospice", "logistic", "auprc"),
        ("readmitted", "boosted", "auroc"),
    ],
)
def test_models_of_the_same_population_are_about_as_good_and_beat_the_base_rate(
    result: AuditResult, outcome: str, model: str, metric: str
) -> None:
    ours, real = (
        result.of("utility", Source(row, model, True, outcome))[metric]
        for row in (ON_SYNTHETIC, ON_REAL)
    )
    base = result.of("utility", Source(BASE_RATE, outcome=outcome))[metric].value
    assert ours.value == pytest.approx(real.value, abs=0.1)
    assert ours.lower > (0.0 if np.isnan(base) else base)


def test_noise_in_place_of_outcomes_predicts_nothing() -> None:
    train, test, other = (
        study_cohort(300, seed, skill=s) for seed, s in ((1, 1.5), (2, 1.5), (3, 0))
    )
    scores = audit(study_schema(), train, test, other, bootstrap=0)
    of = lambda outcome, model: scores.of("utility", Source(ON_SYNTHETIC, model, True, outcome))  # noqa: E731
    assert abs(of("survival: death", "Cox")["concordance"].value - 0.5) < 0.25
    assert of("ventilated", "linear")["r2"].value < 0.2
    real = scores.of("utility", Source(ON_REAL, "Cox", True, "survival: death"))
    ratios = [each["hazard_ratio_error"].value for each in (of("survival: death", "Cox"), real)]
    assert ratios[0] > ratios[1] + 0.5


def test_predictors_know_no_outcome_no_group_and_nothing_after_the_landmark() -> None:
    """Everything that could give an outcome away is changed, and no predictor moves."""
    schema, cohort = study_schema(), study_cohort(50, 1)
    values = cohort.values.copy()
    for place, variable in enumerate(schema.variables):
        if variable.role != "measure":
            values[:, 0, place] = 1
    values[:, 1:] = 3.0
    other = changed(
        cohort,
        values=values,
        length=np.full(50, 3),
        observed=schema.layout.up_to(np.full(50, 3)),
        gaps=np.ones((50, 3)),
        event=1 - (cohort.event > 0),
        group=np.zeros(50, np.int64),
    )
    for target in targets_of(schema):
        before, after = (Patients(schema, c).predictors(target) for c in (cohort, other))
        np.testing.assert_array_equal(before, after)


def test_without_a_time_that_ends_the_record_all_of_it_predicts() -> None:
    schema = plain_schema()
    (target,) = targets_of(schema)
    cohort = Patients(schema, _plain(20))
    assert cohort.predictors(target).shape[1] == 7 + 3  # one variable, and gaps and slots


def _plain(patients: int) -> Any:
    from audit.audit_support import series

    return series(*([1.0, 2.0, 3.0] for _ in range(patients)), event=[0, 1] * (patients // 2))


def test_curves_are_those_of_lifelines() -> None:
    from lifelines import AalenJohansenFitter, KaplanMeierFitter

    rng = np.random.default_rng(4)
    time, status, at = rng.exponential(10, 200), rng.integers(0, 3, 200), np.array([1.0, 5.0, 12.0])
    one = np.ones(200)
    kaplan = KaplanMeierFitter().fit(time, status > 0)
    ours = incidence(time, (status > 0).astype(np.int64), one, 1, at)[0]
    np.testing.assert_allclose(1 - ours, kaplan.survival_function_at_times(at), atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cause = AalenJohansenFitter(calculate_variance=False).fit(time, status, event_of_interest=2)
    curve = cause.cumulative_density_.iloc[:, 0]
    expected = [curve[curve.index <= t].iloc[-1] for t in at]
    np.testing.assert_allclose(incidence(time, status, one, 2, at)[1], expected, atol=1e-9)


def test_a_weight_counts_like_copies() -> None:
    rng = np.random.default_rng(5)
    time, status, weight = rng.exponential(10, 60), rng.integers(0, 2, 60), rng.integers(1, 4, 60)
    at, copied = np.linspace(1, 20, 5), np.repeat(np.arange(60), weight)
    np.testing.assert_allclose(
        incidence(time, status, weight.astype(float), 1, at),
        incidence(time[copied], status[copied], np.ones(len(copied)), 1, at),
    )
    x = rng.normal(size=(60, 1))
    known = np.ones(60, bool)
    heavy = fitted_cox(x, Actual(time, known, status), 1, weight.astype(float))
    copies = Actual(time[copied], known[copied], status[copied])
    many = fitted_cox(x[copied], copies, 1, np.ones(len(copied)))
    assert heavy is not None and many is not None
    assert heavy.ratio == pytest.approx(many.ratio, abs=0.05)  # ties are treated differently


def test_concordance_is_that_of_lifelines_and_moves_with_the_patients() -> None:
    from lifelines.utils import concordance_index

    schema = study_schema()
    train, test = (Patients(schema, study_cohort(n, seed)) for n, seed in ((300, 1), (150, 2)))
    prepared = reference(targets_of(schema)[:2], train, test)
    death = survival(prepared, train, model=True, weighted=True)[0]
    everyone = np.ones(len(death.risk), bool)
    measure = concordance(death, everyone)
    exact = concordance_index(prepared.actual.value, -death.risk, death.happened)
    assert measure(np.ones(len(everyone))) == pytest.approx(exact)
    rng, apart = np.random.default_rng(6), []
    for _ in range(20):
        drawn = rng.integers(0, len(everyone), len(everyone))
        count = np.bincount(drawn, minlength=len(everyone)).astype(float)
        again = concordance_index(
            prepared.actual.value[drawn], -death.risk[drawn], death.happened[drawn]
        )
        apart.append(measure(count) - again)
    assert np.abs(apart).mean() < 0.02  # to first order


def test_chances_of_all_causes_together_stay_below_one_and_grow() -> None:
    schema = study_schema()
    train, test = (Patients(schema, study_cohort(200, seed)) for seed in (1, 2))
    prepared = reference(targets_of(schema)[:2], train, test)
    for model in (True, False):
        made = survival(prepared, train, model=model, weighted=True)
        together = sum(each.chance for each in made)
        assert (together <= 1 + 1e-9).all()
        assert all((np.diff(each.chance, axis=1) >= -1e-12).all() for each in made)


def test_a_cause_that_never_happens_is_said_to_be_unknown() -> None:
    schema = study_schema()
    cohorts = [study_cohort(80, seed) for seed in (1, 2, 3)]
    none = [changed(c, event=np.where(c.event == 2, 0, c.event)) for c in cohorts]
    scores = audit(schema, *none, bootstrap=0)
    of = scores.of("utility", Source(ON_SYNTHETIC, "Cox", True, "survival: transplant"))
    assert np.isnan(of["concordance"].value) and of["concordance"].note
    assert np.isfinite(of["integrated_brier"].value)


def test_numbers_are_scored_as_by_hand() -> None:
    actual, guessed = np.array([1.0, 2.0, 3.0, 6.0]), np.array([1.0, 3.0, 3.0, 5.0])
    scores = {s.metric: s.value for s in number_scores(Estimates(actual, guessed, False))}
    assert scores["mae"] == pytest.approx(0.5)
    assert scores["r2"] == pytest.approx(1 - 2 / 14)
    assert scores["rank_correlation"] == pytest.approx(0.948683, abs=1e-6)
    logs = {
        s.metric: s.value for s in number_scores(Estimates(np.log(actual), np.log(guessed), True))
    }
    assert logs["mae"] == pytest.approx(0.5)  # in the outcome's unit


def test_parts_are_levels_and_protected_combinations_by_name() -> None:
    schema, cohort = study_schema(), study_cohort(120, 1)
    parts = parts_of(schema, cohort)
    assert parts.groups == {
        "age": ("age=young", "age=middle", "age=old"),
        "sex": ("sex=M", "sex=F"),
    }
    old_women = (cohort.group == 2) & (cohort.values[:, 0, -1] == 1)
    np.testing.assert_array_equal(parts.members["age=old&sex=F"], old_women)
    assert 0 < old_women.sum() < 60
    assert {"age=old_site_A", "age=old_site_B"} <= parts.members.keys()


def test_a_small_part_is_said_to_be_too_small(result: AuditResult) -> None:
    small = audit(study_schema(), *(study_cohort(60, seed) for seed in (1, 2, 3)), bootstrap=0)
    scores = small.of("subgroups", Source(ON_REAL, "Cox", True, "survival: death"))
    assert "too few" in scores["age=old&sex=F_concordance"].note
    enough = result.of("subgroups", Source(ON_REAL, "Cox", True, "survival: death"))
    assert enough["sex=F_concordance"].note == ""
    assert enough["sex=F_concordance"].lower < enough["sex=F_concordance"].value


def test_missed_events_at_an_alert_for_a_tenth() -> None:
    """Ten patients, one alert: the highest score, an event in the second group."""
    event = np.array([1, 0, 0, 0, 0, 0, 0, 0, 1, 1])
    score, group = np.linspace(0, 0.9, 10), np.array([0] * 5 + [1] * 5)
    found = Predictions(event, score, group, np.zeros(10, np.int64))
    parts = parts_of(plain_schema(), _labelled(group))
    scores = {s.metric: s.value for s in fairness_scores(found, parts)}
    assert scores["group0_false_negatives"] == 1.0
    assert scores["group1_false_negatives"] == 0.5
    assert scores["group_gap_false_negatives"] == 0.5
    equal = Ranking(event, np.full(10, 0.3))
    assert equal.missed(np.ones(10), group == 0, 0.1) == pytest.approx(0.9)  # alerts at random


def _labelled(group: np.ndarray) -> Any:
    return changed(_plain(len(group)), group=group)


def test_a_schema_without_outcomes_or_groups_is_audited() -> None:
    bare = Schema.model_validate(
        plain_schema().model_dump(exclude={"event", "group"}) | {"event": None, "group": None}
    )
    scores = audit(bare, _plain(30), _plain(20), _plain(30), bootstrap=0)
    assert scores.outcomes == [] and scores.sources("fidelity")


def test_weights_change_curves(result: AuditResult) -> None:
    schema = study_schema()
    test, train = Patients(schema, study_cohort(150, 2)), Patients(schema, study_cohort(150, 1))
    heavy = weighted(study_cohort(150, 3), 1 + 9 * (study_cohort(150, 3).event == 1))
    prepared = reference(targets_of(schema)[:2], train, test)
    by_weight, alike = (
        survival(prepared, Patients(schema, heavy), model=False, weighted=w)[0]
        for w in (True, False)
    )
    assert by_weight.curve[-1] > alike.curve[-1]
