"""Conditions on generated patients, and floors for protected combinations."""

import numpy as np
import pytest

import longsynth
from longsynth.sample import sampled
from longsynth.sampling.model import Model, Synthetic
from longsynth.sampling.selection import selected
from longsynth.system.arrays import Bools
from longsynth.system.errors import Code, Refused
from support import NoNoise
from ward import NAMES, ward_cohort, ward_schema

AGE, SEX, BLOOD = (NAMES.index(name) for name in ("age", "sex", "blood"))


def older(some: Synthetic) -> Bools:
    """Whose age is known and at least 65: a missing value meets no condition."""
    return np.asarray(some.observed[:, 0, AGE] & (some.values[:, 0, AGE] >= 65))


def ward_model(method: str = "dp-markov", **changes: object) -> Model:
    schema, cohort = ward_schema(**changes), ward_cohort(600, seed=1)
    plan = longsynth.plan(schema, cohort.patients, epsilon=4, delta=1e-5, method=method)
    return longsynth.model_of(longsynth.fit(cohort, plan, noise=NoNoise()))


@pytest.fixture(scope="module")
def model() -> Model:
    return ward_model()


def test_all_conditions_are_met_and_the_weights_have_mean_one(model: Model) -> None:
    where = ["age >= 65", "sex=f", "event=1", "blood != O"]
    made = longsynth.sample(model, 3000, seed=1, where=where)
    assert made.patients == 3000
    assert made.values[:, 0, AGE].min() >= 65
    assert (made.values[:, 0, SEX] == 1).all()
    assert (made.values[:, 0, BLOOD] != 3).all()
    assert (made.event == 1).all()
    assert made.weight.mean() == pytest.approx(1, abs=0.05)


def test_patients_who_meet_a_condition_are_like_those_among_all(model: Model) -> None:
    everyone = longsynth.sample(model, 20_000, seed=1)
    some = everyone.take(np.flatnonzero(older(everyone)))
    made = longsynth.sample(model, 5000, seed=2, where=["age >= 65"])
    for what in (lambda s: s.event, lambda s: s.site == 1, lambda s: s.values[:, 0, SEX]):
        rates = [np.average(what(one), weights=one.weight) for one in (some, made)]
        assert rates[0] == pytest.approx(rates[1], abs=0.03)


def test_the_stated_acceptance_is_the_share_of_patients_who_meet_it(model: Model) -> None:
    everyone = longsynth.sample(model, 20_000, seed=3)
    share = older(everyone).mean()
    assert selected(model, ["age >= 65"], 1, sampled).acceptance == pytest.approx(share, abs=0.02)
    assert (
        selected(model, ["event = 1"], 1, sampled).acceptance is None
    )  # exact, so nothing is rejected


@pytest.mark.parametrize(
    ("where", "code", "words"),
    [
        ("age", Code.CONDITION_UNKNOWN, "age >= 65"),
        ("ward = 3", Code.CONDITION_UNKNOWN, "age, sex, blood"),
        ("pulse > 80", Code.CONDITION_UNKNOWN, "cannot be conditioned on"),
        ("age >= old", Code.CONDITION_UNKNOWN, "a number"),
        ("age >= nan", Code.CONDITION_UNKNOWN, "a number"),
        ("sex = x", Code.CONDITION_UNKNOWN, "m, f"),
        ("age > 100", Code.CONDITION_RARE, "wider"),
        ("event > 1", Code.CONDITION_RARE, "wider"),
    ],
)
def test_a_condition_that_cannot_be_used_is_refused(
    model: Model, where: str, code: Code, words: str
) -> None:
    with pytest.raises(Refused, match=words) as caught:
        longsynth.sample(model, 10, seed=1, where=[where])
    assert caught.value.code == code


def test_a_protected_combination_of_static_variables_has_a_floor() -> None:
    rule, floor = {"sex": "m", "blood": "AB"}, 0.15  # about 2 in 100 patients
    plain = longsynth.sample(ward_model(), 8000, seed=1)
    lifted = longsynth.sample(
        ward_model(protected=[rule], constants={"event_floor": floor}), 8000, seed=1
    )

    def shares(some: Synthetic) -> tuple[float, float]:
        rare = (some.values[:, 0, SEX] == 0) & (some.values[:, 0, BLOOD] == 2)
        return rare.mean(), np.average(rare, weights=some.weight)

    assert shares(plain)[0] < 0.06
    assert shares(lifted)[0] > 0.1
    assert shares(lifted)[1] == pytest.approx(shares(plain)[1], abs=0.015)
