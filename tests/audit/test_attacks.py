"""Attacks fire on copies, and do not on people whom nobody has seen."""

import numpy as np
import pytest

from audit.audit_support import changed, plain_schema, series
from longsynth.audit.attacks.attribute import attribute_scores
from longsynth.audit.attacks.canary import QUANTILE, exposure
from longsynth.audit.attacks.membership import Scale, membership_scores, nearest, records
from longsynth.audit.game.trials import FastNoise
from longsynth.audit.metric import Score
from longsynth.audit.refit import Refit, canary_record, canary_scores, with_canary
from longsynth.fit import fit, fit_without_privacy
from longsynth.methods.registry import model_of
from longsynth.plan import plan
from longsynth.privacy.budget import Budget
from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.sample import sample
from longsynth.sampling.model import Synthetic
from longsynth.schema.schema import Schema
from longsynth.show.audit_page import bound_said
from support import random_cohort, small_schema

ATTACKS = ("mia_auc", "mia_density_auc")


def people() -> tuple[Schema, Cohort, Cohort, Cohort]:
    """Training patients, control patients, and fresh ones of the same law."""
    everyone = simulate(1000, seed=8)
    parts = [slice(0, 400), slice(400, 700), slice(700, 1000)]
    train, control, fresh = (everyone.take(part) for part in parts)
    return simulated_schema(), train, control, fresh


def by_metric(scores: list[Score]) -> dict[str, Score]:
    return {score.metric: score for score in scores}


def test_every_membership_attack_fires_on_copies() -> None:
    schema, train, control, _ = people()
    found = by_metric(membership_scores(schema, train, control, train, bootstrap=50))
    for name in ATTACKS:
        assert found[name].value > 0.9
        assert found[name].lower > 0.9
        assert found[f"{name}_control"].lower < 0.5 < found[f"{name}_control"].upper


def test_every_membership_attack_fires_on_a_bootstrap_of_patients() -> None:
    schema, train, control, _ = people()
    drawn = train.take(np.random.default_rng(0).integers(0, 400, 400))
    found = by_metric(membership_scores(schema, train, control, drawn, bootstrap=50))
    assert all(found[name].lower > 0.7 for name in ATTACKS)


def test_every_membership_attack_fires_on_copies_with_a_little_noise() -> None:
    schema, train, control, _ = people()
    noise = np.random.default_rng(0).normal(0, 0.5, train.values.shape)
    blurred = changed(train, values=train.values + noise * np.array([1, 1, 1, 1, 0, 0]))
    found = by_metric(membership_scores(schema, train, control, blurred))
    assert all(found[name].value > 0.9 for name in ATTACKS)


def test_no_membership_attack_fires_on_fresh_patients() -> None:
    """One attack in twenty strays by chance, so this looks at ten populations."""
    names = (*ATTACKS, *(f"{name}_control" for name in ATTACKS))
    covered, found = [], []
    for seed in range(10):
        everyone = simulate(600, seed=100 + seed)
        train, control, fresh = (everyone.take(slice(i, i + 200)) for i in (0, 200, 400))
        scores = by_metric(
            membership_scores(simulated_schema(), train, control, fresh, bootstrap=50, seed=seed)
        )
        found.append([scores[name].value for name in names])
        covered += [scores[name].lower < 0.5 < scores[name].upper for name in names]
        assert all(scores[name].better == "half" for name in names)
    assert np.abs(np.mean(found, axis=0) - 0.5).max() < 0.05
    assert np.mean(covered) > 0.8


def test_no_word_of_an_attack_calls_it_safe() -> None:
    schema, train, control, fresh = people()
    scores = membership_scores(schema, train, control, fresh)
    scores += attribute_scores(schema, train, control, fresh)
    words = " ".join(score.note for score in scores).lower()
    assert words
    for claim in ("proof", "prove", "safe", "anonym", "private"):
        assert claim not in words


def test_a_control_cohort_that_is_too_small_is_nan_with_a_remedy() -> None:
    schema, train, control, fresh = people()
    for few in (1, 3):
        scores = by_metric(membership_scores(schema, train, control.take(slice(0, few)), fresh))
        assert np.isnan(scores["mia_density_auc"].value)
        assert "larger control cohort" in scores["mia_density_auc"].note


def test_attribute_inference_fires_on_copies_only_for_members() -> None:
    schema, train, control, fresh = people()
    copied = by_metric(attribute_scores(schema, train, control, train, bootstrap=50))
    assert copied["attribute_accuracy"].value == 1
    assert copied["attribute_accuracy_control"].value < 0.9
    assert copied["attribute_advantage"].lower > 0.1
    assert copied["attribute_advantage_medication_intensity"].lower > 0.1
    honest = by_metric(attribute_scores(schema, train, control, fresh, bootstrap=50))
    assert honest["attribute_advantage"].lower < 0 < honest["attribute_advantage"].upper
    for suffix in ("", "_event", "_medication_intensity"):
        assert honest[f"attribute_advantage{suffix}"].value == pytest.approx(
            honest[f"attribute_accuracy{suffix}"].value
            - honest[f"attribute_accuracy_control{suffix}"].value
        )


def test_the_majority_guess_is_the_share_of_patients_without_the_event() -> None:
    schema, train, control, fresh = people()
    found = by_metric(attribute_scores(schema, train, control, fresh))
    assert found["attribute_baseline_event"].value == pytest.approx(1 - train.event.mean())


def test_without_levels_only_the_event_is_guessed() -> None:
    train = series([1, 2], [8, 9], [1, 1.5], [8, 8], event=[0, 1, 0, 1])
    found = by_metric(attribute_scores(plain_schema(), train, train, train))
    assert found["attribute_accuracy"].value == found["attribute_accuracy_event"].value == 1
    assert "no variable with levels" in found["attribute_accuracy"].note


def test_nearest_finds_copies_at_distance_zero_and_agrees_with_all_pairs() -> None:
    rng = np.random.default_rng(0)
    among, asked = rng.normal(1000, 1, (3000, 6)), rng.normal(1000, 1, (1500, 6))
    asked[:5] = among[10:15]
    distance, position = nearest(asked, among, 2)
    assert distance[:5, 0].tolist() == [0] * 5
    assert position[:5, 0].tolist() == [10, 11, 12, 13, 14]
    for i in (100, 1400):
        pairs = np.sqrt(((among - asked[i]) ** 2).sum(axis=1))
        assert distance[i] == pytest.approx(np.sort(pairs)[:2])


def test_a_feature_that_never_varies_in_the_reference_still_tells() -> None:
    scale = Scale(np.array([[1.0, 5.0], [3.0, 5.0]]))
    assert scale(np.array([[2.0, 6.0]])) - scale(np.array([[2.0, 5.0]])) == pytest.approx(
        np.array([[0, 1]])
    )


def test_the_canary_is_made_of_the_schema_alone_and_is_extreme() -> None:
    for schema in (simulated_schema(), small_schema(), plain_schema()):
        canary = canary_record(schema)
        assert canary.patients == 1
        bounds = np.array([v.bounds for v in schema.variables])
        assert np.isin(canary.values[0], bounds).all()
        assert canary.observed.all()
        assert (canary.gaps == schema.max_gap).all()
    schema, reference = simulated_schema(), simulate(2000, seed=1)
    among = records(schema, reference)
    scale = Scale(among)
    to_canary = np.sqrt(
        ((scale(among) - scale(records(schema, canary_record(schema)))) ** 2).sum(axis=1)
    )
    assert to_canary.min() > 2 * np.median(nearest(scale(among[:50]), scale(among[50:]))[0])


def test_planting_a_canary_keeps_the_number_of_patients_and_the_others() -> None:
    train, canary = random_cohort(20, 1), canary_record(small_schema())
    planted = with_canary(train, canary, 4)
    assert planted.patients == 20
    assert (planted.values[:4] == canary.values).all()
    assert (planted.gaps[4:] == train.gaps[4:]).all()
    assert with_canary(train, canary, 0).event.tolist() == train.event.tolist()
    with pytest.raises(ValueError, match="do not fit"):
        with_canary(train, canary, 21)


def test_exposure_counts_copies_of_the_canary_on_top_of_its_control() -> None:
    schema, train, control, fresh = people()
    canary = canary_record(schema)
    control_rate = exposure(schema, train.take(slice(4, None)), canary, control)
    planted = with_canary(train, canary, 4)
    assert exposure(schema, planted, canary, control) == pytest.approx(
        (4 + control_rate * 396) / 400
    )
    assert exposure(schema, control, canary, control) == pytest.approx(QUANTILE, abs=0.005)
    assert exposure(schema, fresh, canary, control) < 5 * QUANTILE


def test_attacks_repeat() -> None:
    schema, train, control, fresh = people()
    for attack in (membership_scores, attribute_scores):
        first, again = (
            attack(schema, train, control, fresh, bootstrap=20, seed=3) for _ in range(2)
        )
        assert first == again


def test_canaries_are_found_in_copies_and_four_more_than_one() -> None:
    schema, train, control, _ = people()
    scores = canary_scores(schema, train, control, Refit(lambda planted, _: planted), bootstrap=40)
    found = by_metric(scores)
    assert found["canary_advantage_4"].value == pytest.approx(4 / 400)
    assert found["canary_advantage_1"].value == pytest.approx(1 / 400)
    assert found["canary_auroc_4"].value == found["canary_auroc_1"].value == 1.0
    assert found["canary_baseline"].value == QUANTILE
    assert all("proof" not in s.note and "safe" not in s.note and s.note for s in scores)


def test_an_interval_of_canaries_spans_the_differences_between_fits() -> None:
    schema, train, control, fresh = people()

    def learns_now_and_then(planted: Cohort, draw: int) -> Cohort:
        return planted if draw % 2 else fresh

    scores = canary_scores(schema, train, control, Refit(learns_now_and_then), bootstrap=200)
    advantage = by_metric(scores)["canary_advantage_4"]
    assert 0 < advantage.lower < advantage.value < advantage.upper < 4 / 400


def test_a_canary_that_nobody_learnt_from_gives_no_advantage() -> None:
    schema, train, control, fresh = people()
    scores = canary_scores(schema, train, control, Refit(lambda *_: fresh), bootstrap=40)
    found = by_metric(scores)
    assert found["canary_advantage_4"].value == found["canary_advantage_1"].value == 0
    assert found["canary_exposure_1"].value == found["canary_exposure_control"].value
    assert found["canary_auroc_4"].value == found["canary_auroc_1"].value == 0.5


def test_a_method_that_copies_under_a_budget_is_above_its_bound() -> None:
    schema, train, control, fresh = people()
    budget = Budget(1.0, 1e-5)
    for draw, says in ((lambda planted, _: planted, "ABOVE"), (lambda *_: fresh, "not contradict")):
        found = canary_scores(schema, train, control, Refit(draw, budget), bootstrap=40)
        assert says in bound_said(by_metric(found))


def test_a_copying_method_gives_a_canary_away_and_trust_stays_within_its_bound() -> None:
    schema, train, control, _ = people()
    planned = plan(schema, train.patients, epsilon=1.0, delta=1e-5, method="trust")
    noise = FastNoise(np.random.SeedSequence(5))

    def copying(planted: Cohort, seed: int) -> Synthetic:
        bundle = fit_without_privacy(planted, schema, "bootstrap")
        return sample(model_of(bundle), planted.patients, seed=seed)

    def private(planted: Cohort, seed: int) -> Synthetic:
        return sample(model_of(fit(planted, planned, noise=noise)), planted.patients, seed=seed)

    kept = Refit(private, planned.ledger.budget)
    fired, held = (
        by_metric(canary_scores(schema, train, control, refit, bootstrap=100))
        for refit in (Refit(copying), kept)
    )
    for metric in ("canary_auroc_4", "canary_auroc_1"):
        assert fired[metric].lower > 0.5
        bound = held[metric.replace("auroc", "auroc_bound")].value
        assert held[metric].lower < bound < 1
        assert 1 - held[metric].upper < bound
        assert fired[metric].value > bound
    assert fired["canary_advantage_4"].lower > 0
    assert "canary_auroc_bound_1" not in fired
