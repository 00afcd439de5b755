"""The flagship's metrics: each is what it says, and weights count in all of them."""

from dataclasses import replace

import numpy as np
import pytest

from longsynth import simulate, simulated_schema
from longsynth.audit.summaries import summaries
from longsynth.benchmark.judging import FIDELITY, METRICS, Judge
from longsynth.records import Cohort
from longsynth.synthetic import Synthetic

SCHEMA = simulated_schema()
JUDGE = Judge(SCHEMA, simulate(1500, seed=9001))
TRAIN = simulate(300, seed=101)


def weighted(cohort: Cohort, weight: np.ndarray) -> Synthetic:
    return Synthetic(
        cohort.values,
        cohort.observed,
        cohort.gaps,
        cohort.length,
        cohort.group,
        cohort.event,
        cohort.site,
        weight,
        "",
    )


def test_the_reference_itself_is_without_error() -> None:
    found = JUDGE.metrics(JUDGE.reference, boosted=False)
    assert all(found[name] == pytest.approx(0, abs=1e-12) for name in FIDELITY)


def test_every_metric_is_there_and_finite() -> None:
    found = JUDGE.metrics(TRAIN)
    assert set(found) == set(METRICS)
    assert np.isfinite(list(found.values())).all()
    assert found["auprc"] > 2 * JUDGE.base_rate(TRAIN)["auprc"]


def test_a_patient_of_weight_zero_is_as_good_as_not_there() -> None:
    others = simulate(300, seed=102)
    both = Cohort.joined([TRAIN, replace(others, event=1 - others.event)])
    twice = Cohort.joined([TRAIN, TRAIN])  # weights have mean 1 among all
    alone, hidden = (
        JUDGE.metrics(one, boosted=False)
        for one in (twice, weighted(both, np.repeat([1.0, 0.0], 300)))
    )
    for name, value in alone.items():
        assert hidden[name] == pytest.approx(value, abs=1e-6), name


def test_the_logistic_one_is_scikit_learns_at_c_1() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import average_precision_score, brier_score_loss
    from sklearn.preprocessing import StandardScaler

    features, asked = summaries(SCHEMA, TRAIN), summaries(SCHEMA, JUDGE.reference)
    scaler = StandardScaler().fit(features)
    made = LogisticRegression(C=1.0, max_iter=5000, tol=1e-8)
    made.fit(scaler.transform(features), TRAIN.event)
    said = made.predict_proba(scaler.transform(asked))[:, 1]
    found = JUDGE.metrics(TRAIN, boosted=False)
    event = JUDGE.reference.event
    assert found["auprc"] == pytest.approx(average_precision_score(event, said), abs=1e-3)
    assert found["brier"] == pytest.approx(brier_score_loss(event, said), abs=1e-4)


def test_lengths_that_differ_show_in_their_total_variation() -> None:
    short = replace(TRAIN, length=np.where(np.arange(300) < 75, 7, TRAIN.length))
    assert JUDGE.metrics(short, boosted=False)["length_tv"] == pytest.approx(0.25)


def test_lasting_values_that_are_shuffled_in_time_lose_their_autocorrelation() -> None:
    order = np.argsort(np.random.default_rng(1).random((300, SCHEMA.slots)), axis=1)
    values = np.take_along_axis(TRAIN.values, order[:, :, None], axis=1)
    observed = np.take_along_axis(TRAIN.observed, order[:, :, None], axis=1)
    mixed = replace(TRAIN, values=values, observed=observed)
    kept, lost = (JUDGE.metrics(one, boosted=False) for one in (TRAIN, mixed))
    assert lost["marginal_ks"] == pytest.approx(kept["marginal_ks"])
    assert lost["autocorrelation_error"] > kept["autocorrelation_error"]
