"""Utility metrics on cases that can be worked out by hand, against another implementation, and
in the cases where there is nothing to measure."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from audit.audit_support import changed, plain_schema, series, weighted
from longsynth.audit.metric import interval
from longsynth.audit.ranking import Predictions, curves
from longsynth.audit.utility import UTILITY, base_rate, train_and_predict, utility_scores
from longsynth.reading.simulation import simulate, simulated_schema


def said(event: list[int], probability: list[float]) -> Predictions:
    zeros = np.zeros(len(event), dtype=np.int64)
    return Predictions(np.array(event), np.array(probability, dtype=np.float64), zeros, zeros)


def values(predictions: Predictions) -> dict[str, float]:
    return {score.metric: score.value for score in utility_scores(predictions)}


def random_predictions(n: int = 400, seed: int = 0) -> Predictions:
    rng = np.random.default_rng(seed)
    probability = np.round(rng.beta(1, 6, n), 2)  # with ties
    event = (rng.random(n) < probability).astype(np.int64)
    return Predictions(event, probability, rng.integers(0, 2, n), np.zeros(n, dtype=np.int64))


def test_four_patients_by_hand() -> None:
    found = values(said([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]))
    assert found["auroc"] == pytest.approx(3 / 4)
    assert found["auprc"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["brier"] == pytest.approx((0.01 + 0.49 + 0.16 + 0.04) / 4)
    assert found["ece"] == pytest.approx((0.1 + 0.7 + 0.4 + 0.2) / 4)
    assert found["mean_prediction"] == pytest.approx(0.4)


def test_ranking_metrics_agree_with_scikit_learn_with_ties() -> None:
    found = random_predictions()
    assert values(found)["auroc"] == pytest.approx(roc_auc_score(found.event, found.probability))
    assert values(found)["auprc"] == pytest.approx(
        average_precision_score(found.event, found.probability)
    )


def test_calibration_line_agrees_with_an_unpenalised_regression() -> None:
    found = random_predictions(3000)
    inside = np.clip(found.probability, 1e-6, 1 - 1e-6)
    odds = np.log(inside / (1 - inside))[:, None]
    fitted = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(odds, found.event)
    assert values(found)["calibration_slope"] == pytest.approx(fitted.coef_[0, 0], rel=1e-3)


def test_calibration_is_one_and_zero_for_true_probabilities_and_moves_as_it_should() -> None:
    rng = np.random.default_rng(1)
    odds = rng.normal(-1, 1.2, 40_000)
    event = (rng.random(len(odds)) < 1 / (1 + np.exp(-odds))).astype(np.int64)

    def found(shown: np.ndarray) -> dict[str, float]:
        return values(said(event.tolist(), (1 / (1 + np.exp(-shown))).tolist()))

    honest, boasting, high = found(odds), found(2 * odds), found(odds + 1)
    assert honest["calibration_slope"] == pytest.approx(1, abs=0.05)
    assert honest["calibration_intercept"] == pytest.approx(0, abs=0.05)
    assert boasting["calibration_slope"] == pytest.approx(0.5, abs=0.05)
    assert high["calibration_intercept"] == pytest.approx(-1, abs=0.05)
    assert honest["ece"] < boasting["ece"]
    assert honest["brier"] < boasting["brier"]


def test_a_constant_guess_has_a_fine_brier_score_and_no_ranking() -> None:
    train, test = simulate(500, seed=1), simulate(500, seed=2)
    guess = values(base_rate(train, test))
    learnt = values(train_and_predict(simulated_schema(), train, test))
    assert guess["auroc"] == 0.5
    assert guess["auprc"] == pytest.approx(test.event.mean())
    assert np.isnan(guess["calibration_slope"])
    assert guess["brier"] < 0.1
    assert learnt["auroc"] > 0.7
    assert learnt["auprc"] > 2 * guess["auprc"]


@pytest.mark.parametrize("model", ["logistic", "boosted"])
def test_training_on_shuffled_events_teaches_nothing(model: str) -> None:
    schema, train, test = simulated_schema(), simulate(600, seed=1), simulate(3000, seed=2)
    shuffled = changed(train, event=np.random.default_rng(0).permutation(train.event))
    true = values(train_and_predict(schema, train, test, model=model))  # type: ignore[arg-type]
    false = values(train_and_predict(schema, shuffled, test, model=model))  # type: ignore[arg-type]
    assert true["auroc"] > 0.7
    assert abs(false["auroc"] - 0.5) < 0.15


def test_weights_count_in_training_unless_they_are_not_wanted() -> None:
    schema, train, test = simulated_schema(), simulate(600, seed=1), simulate(400, seed=2)
    heavy = weighted(train, np.where(train.event == 1, 5.0, 1.0))
    expected = (5 * train.event).sum() / (5 * train.event + (1 - train.event)).sum()
    with_weights = train_and_predict(schema, heavy, test).probability.mean()
    without = train_and_predict(schema, heavy, test, weighted=False).probability.mean()
    assert with_weights > 2 * without
    assert without == pytest.approx(train.event.mean(), abs=0.03)
    assert base_rate(heavy, test).probability[0] == pytest.approx(expected)


def test_one_class_in_training_predicts_its_rate() -> None:
    schema, test = plain_schema(), series([1, 2], [3], event=[0, 1])
    for event in ([0, 0], [1, 1]):
        for model in ("logistic", "boosted"):
            found = train_and_predict(
                schema,
                series([1, 2], [], event=event),
                test,
                model=model,  # type: ignore[arg-type]
            )
            assert found.probability.tolist() == [event[0]] * 2


def test_one_class_in_the_test_cohort_is_nan_with_a_reason() -> None:
    for event in (0, 1):
        scores = {s.metric: s for s in utility_scores(said([event] * 3, [0.1, 0.2, 0.3]))}
        assert np.isnan(scores["auroc"].value)
        assert scores["auroc"].note == "every test patient has the same outcome"
        assert np.isfinite(scores["brier"].value)
        found = curves(said([event] * 3, [0.1, 0.2, 0.3]))
        assert len(found["roc"]["fpr"]) == 0
        assert len(found["calibration"]["predicted"]) == 3


def test_nobody_is_nan_throughout() -> None:
    assert all(np.isnan(s.value) for s in utility_scores(said([], []), bootstrap=3))


def test_separated_outcomes_have_no_slope_and_few_events_are_named() -> None:
    scores = {s.metric: s for s in utility_scores(said([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]))}
    assert np.isnan(scores["calibration_slope"].value)
    assert scores["calibration_slope"].note == "outcomes are separated"
    assert scores["auprc"].note == "only 2 events: too few for a conclusion"
    assert scores["brier"].note == ""


def test_curves_rise_in_x_and_enclose_the_scores() -> None:
    found = random_predictions()
    made, scores = curves(found), values(found)
    for curve, x in (("roc", "fpr"), ("pr", "recall"), ("calibration", "predicted")):
        assert (np.diff(made[curve][x]) >= 0).all()
    roc, pr = made["roc"], made["pr"]
    assert np.trapezoid(roc["tpr"], roc["fpr"]) == pytest.approx(scores["auroc"])
    assert (np.diff(pr["recall"]) * pr["precision"][1:]).sum() == pytest.approx(scores["auprc"])
    assert (roc["fpr"][0], roc["tpr"][0], roc["fpr"][-1], roc["tpr"][-1]) == (0, 0, 1, 1)


def test_intervals_contain_their_value_repeat_and_shrink_with_patients() -> None:
    small, large = random_predictions(200), random_predictions(5000)
    first, again = (utility_scores(small, bootstrap=100, seed=3) for _ in range(2))
    assert first == again
    assert first != utility_scores(small, bootstrap=100, seed=4)
    directions = {metric.name: metric.better for metric in UTILITY}
    for score, wide in zip(first, utility_scores(large, bootstrap=100), strict=True):
        assert score.lower <= score.value <= score.upper
        assert score.better == directions[score.metric]
        assert wide.upper - wide.lower < score.upper - score.lower
    assert all(np.isnan(s.lower) and np.isnan(s.upper) for s in utility_scores(small))


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    population = random_predictions(40_000, seed=9)
    truth = values(population)
    rng, covered = np.random.default_rng(0), []
    for seed in range(100):
        rows = rng.integers(0, 40_000, 300)
        part = Predictions(*(getattr(population, n)[rows] for n in Predictions.__slots__))
        for score in utility_scores(part, bootstrap=40, seed=seed)[:3]:
            covered.append(score.lower <= truth[score.metric] <= score.upper)
    assert 0.9 < np.mean(covered) < 0.99


def test_too_few_defined_replicates_are_no_interval() -> None:
    draws = np.full(100, np.nan)
    assert np.isnan(interval(0.5, draws)).all()
    draws[:10] = 0.4
    assert np.isnan(interval(0.5, draws)).all()
    assert interval(0.5, np.full(100, 0.4)) == pytest.approx((0.4, 0.6))
    assert interval(0.05, np.full(100, 0.2), 0, 1) == pytest.approx((0, 0.2))
