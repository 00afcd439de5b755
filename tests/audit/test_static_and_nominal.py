"""What an audit says of static columns and of levels without an order, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from audit.audit_support import changed
from longsynth.audit.attacks.attribute import attribute_scores
from longsynth.audit.audit import audit
from longsynth.audit.fidelity import fidelity_scores
from longsynth.audit.inputs import require_agreement
from longsynth.audit.refit import Refit, canary_record, canary_scores
from longsynth.audit.view import columns_of, feature_names, summaries
from longsynth.encoding.record import observed_cells
from longsynth.reading.records import Cohort
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code
from refusals import refused
from ward import MISSING, NAMES, SLOTS, STATIC, VARIABLES, ward_cohort, ward_schema

BLOOD, RHYTHM, DOSE = NAMES.index("blood"), NAMES.index("rhythm"), NAMES.index("dose")


def values(
    real: Trajectories, synthetic: Trajectories, schema: Schema | None = None
) -> dict[str, float]:
    found = fidelity_scores(schema or ward_schema(), real, synthetic)
    return {score.metric: score.value for score in found}


def summary(cohort: Cohort, patient: int = 0) -> dict[str, float]:
    row = summaries(ward_schema(), cohort)[patient]
    return dict(zip(feature_names(ward_schema()), row, strict=True))


def someone(**cells: list[float | None]) -> Cohort:
    """One patient of the ward with four slots; what is not given is missing."""
    found = np.full((1, SLOTS, len(NAMES)), np.nan)
    for name, readings in cells.items():
        known = [np.nan if x is None else x for x in readings]
        found[0, : len(known), NAMES.index(name)] = known
    nobody = np.zeros(1, np.int64)
    gaps = np.full((1, SLOTS), 2.0)
    return Cohort(found, np.isfinite(found), gaps, nobody + 4, nobody, nobody, nobody)


def test_levels_without_an_order_are_summed_up_as_shares() -> None:
    found = summary(someone(rhythm=[0, 2, None, 2], blood=[3]))
    about = {name: x for name, x in found.items() if name.startswith(("rhythm", "blood"))}
    assert about == pytest.approx(
        {
            "blood_is_A": 0,
            "blood_is_B": 0,
            "blood_is_AB": 0,
            "blood_is_O": 1,
            "blood_missing": 0,
            "rhythm_share_sinus": 1 / 3,
            "rhythm_share_paced": 0,
            "rhythm_share_other": 2 / 3,
            "rhythm_last_sinus": 0,
            "rhythm_last_paced": 0,
            "rhythm_last_other": 1,
            "rhythm_missing": 0.25,
            "rhythm_count": 3,
        }
    )


def test_what_is_static_is_one_value_and_either_missing_or_not() -> None:
    known, unknown = summary(someone(age=[100], sex=[0])), summary(someone())
    assert {n: x for n, x in known.items() if n.startswith(("age", "sex"))} == pytest.approx(
        {"age_value": 1, "age_missing": 0, "sex_value": -1, "sex_missing": 0}
    )
    assert (unknown["age_value"], unknown["age_missing"]) == (0, 1)
    assert sum(x for n, x in unknown.items() if n.startswith("blood_is")) == 0
    assert unknown["rhythm_missing"] == 1


def test_columns_of_a_variable_are_those_that_bear_its_name() -> None:
    names = feature_names(ward_schema())
    for v, name in enumerate(NAMES):
        chosen = names[columns_of(ward_schema(), v)]
        assert chosen == [n for n in names if n.startswith(f"{name}_")]
    assert summaries(ward_schema(), ward_cohort(30, 1)).shape == (30, len(names))
    assert np.isfinite(summaries(ward_schema(), ward_cohort(30, 1))).all()


def test_a_cohort_against_itself_has_no_error() -> None:
    cohort = ward_cohort(150, 1)
    for name, value in values(cohort, cohort).items():
        expected = 0.5 if name.endswith("auc") else 0.0
        assert value == pytest.approx(expected, abs=1e-9), name


def reordered(cohort: Cohort) -> Cohort:
    """The same patients under a schema that lists the nominal levels the other way round."""
    turned = cohort.values.copy()
    for v, last in ((BLOOD, 3), (RHYTHM, 2)):
        turned[:, :, v] = last - turned[:, :, v]
    return replace(cohort, values=turned)


def turned_schema() -> Schema:
    turned = [
        v | {"levels": list(v["levels"])[::-1]} if v["kind"] == "nominal" else v  # type: ignore[call-overload]
        for v in VARIABLES
    ]
    return ward_schema(variables=turned)


def test_no_score_depends_on_the_order_in_which_levels_are_listed() -> None:
    real, other = ward_cohort(200, 1), ward_cohort(200, 2)
    first = values(real, other)
    again = values(reordered(real), reordered(other), turned_schema())
    assert first.keys() == again.keys()
    for name, value in first.items():
        close = 0.02 if name.endswith("auc") else 1e-9  # trees break ties by column
        assert again[name] == pytest.approx(value, abs=close), name


def test_marginals_of_levels_are_total_variation_and_of_static_numbers_one_reading_a_patient() -> (
    None
):
    real = ward_cohort(400, 1)
    moved = real.values.copy()
    moved[:, :, BLOOD] = 0.0
    moved[:, 0, 0] = np.where(real.observed[:, 0, 0], 100.0, np.nan)
    found = values(real, replace(real, values=moved))
    blood = real.values[:, 0, BLOOD][real.observed[:, 0, BLOOD]]
    assert found["marginal_ks_blood"] == pytest.approx((blood != 0).mean())
    age = real.values[:, 0, 0][real.observed[:, 0, 0]]
    assert found["marginal_ks_age"] == pytest.approx((age < 100).mean())
    assert found["marginal_ks_rhythm"] == 0


def test_missing_static_cells_count_once_a_patient_whatever_the_length() -> None:
    real = ward_cohort(400, 1)
    gone = real.observed.copy()
    gone[:, :, 0] = False
    found = values(real, changed(real, observed=gone))
    missing = 1 - real.observed[:, 0, 0].mean()
    assert found["missingness_error_age"] == pytest.approx(1 - missing)
    assert found["missingness_error_pulse"] == 0
    assert missing == pytest.approx(MISSING, abs=0.06)

    nobody = changed(real, length=np.zeros(400, np.int64), observed=real.observed & STATIC)
    found = values(nobody, nobody)
    assert found["missingness_error_age"] == 0
    assert np.isnan(found["missingness_error_pulse"])
    assert found["missingness_error"] == 0, "over those that are known"


def test_visits_are_compared_by_event_too() -> None:
    """Lengths exchanged between events: the same lengths overall, and all wrong."""
    real = ward_cohort(400, 1)
    event = np.arange(400) % 2
    short_with, short_without = np.where(event == 1, 2, 5), np.where(event == 1, 5, 2)
    a, b = (
        changed(real, event=event, length=length, observed=np.zeros_like(real.observed))
        for length in (short_with, short_without)
    )
    found = values(a, b)
    assert found["visit_count_error"] == pytest.approx(0)
    assert found["visit_count_error_event0"] == pytest.approx(3)
    assert found["visit_count_error_event1"] == pytest.approx(3)
    none = changed(real, event=np.zeros(400, np.int64))
    assert np.isnan(values(real, none)["visit_count_error_event1"])
    scores = fidelity_scores(ward_schema(), real, none)
    assert {s.metric: s.note for s in scores}["visit_count_error_event1"].endswith("this outcome")


def test_transitions_are_between_levels_and_of_static_ones_there_are_none() -> None:
    real = ward_cohort(400, 1)
    exists = np.where(STATIC, np.arange(SLOTS)[:, None] == 0, True)
    full = {
        "observed": np.broadcast_to(exists, real.observed.shape),
        "length": np.full(400, SLOTS),
    }
    steady = np.zeros_like(real.values)
    steady[:, :, RHYTHM] = (np.arange(400) % 3)[:, None]
    stay = changed(real, values=steady, **full)
    turning = steady.copy()
    turning[:, :, RHYTHM] = (np.arange(400)[:, None] + np.arange(SLOTS)) % 3
    turn = changed(real, values=turning, **full)
    found = values(stay, turn)
    assert found["transition_error"] == pytest.approx(1 / 3)  # of dose, oxygen and rhythm
    assert found["autocorrelation_error"] == 0, "rhythm has no autocorrelation"
    assert found["marginal_ks_rhythm"] < 0.01


def test_the_secret_of_an_attack_may_be_a_level_without_an_order() -> None:
    """Whether a patient is mostly at the commonest level, sinus, which is listed last here."""
    only = [v for v in turned_schema().variables if v.name in ("rhythm", "pulse")]
    schema = ward_schema(variables=[v.model_dump(exclude_unset=True) for v in only])

    def narrow(cohort: Cohort) -> Cohort:
        kept = [NAMES.index("pulse"), RHYTHM]
        return replace(
            cohort, values=cohort.values[:, :, kept], observed=cohort.observed[:, :, kept]
        )

    train, control = (narrow(reordered(ward_cohort(200, seed))) for seed in (1, 2))
    found = {s.metric: s.value for s in attribute_scores(schema, train, control, train)}
    assert found["attribute_accuracy_rhythm"] == 1, "copies give it away"
    column = feature_names(schema).index("rhythm_share_sinus")
    mostly, usual = (summaries(schema, c)[:, column] > 0.5 for c in (train, control))
    majority = usual.mean() > 0.5
    assert found["attribute_baseline_rhythm"] == pytest.approx((mostly == majority).mean())


def test_a_secret_that_most_people_share_still_has_two_answers() -> None:
    train, control = ward_cohort(200, 1), ward_cohort(200, 2)
    for cohort in (train, control):  # sex is the first with levels; nine in ten are f
        cohort.values[:, 0, 1] = np.where(np.arange(200) % 10 == 0, 0.0, 1.0)
        cohort.observed[:, 0, 1] = True
    found = {s.metric: s.value for s in attribute_scores(ward_schema(), train, control, train)}
    assert found["attribute_baseline_sex"] == pytest.approx(0.9)


def test_the_canary_has_every_cell_and_none_that_no_record_has() -> None:
    canary = canary_record(ward_schema())
    assert np.array_equal(canary.observed, observed_cells(canary, ward_schema()))
    assert canary.observed[0, 0].all()
    assert not canary.observed[0, 1:, STATIC].any()
    train, control = ward_cohort(60, 1), ward_cohort(60, 2)
    scores = canary_scores(
        ward_schema(), train, control, Refit(lambda planted, _: planted), refits=2
    )
    found = {s.metric: s.value for s in scores}
    assert found["canary_exposure_4"] > found["canary_exposure_1"] > 0


def test_a_whole_audit_runs_and_leaves_nothing_undefined_that_has_a_meaning() -> None:
    train, test, drawn = (ward_cohort(200, seed) for seed in (1, 2, 3))
    result = audit(ward_schema(), train, test, drawn, bootstrap=0)
    undefined = {row.score.metric for row in result.rows if not np.isfinite(row.score.value)}
    assert undefined <= {"calibration_slope"}, "a constant prediction has none"


def test_cohorts_that_mean_something_else_by_a_variable_are_refused() -> None:
    other = [v | {"levels": ["m", "f"][::-1]} if v["name"] == "sex" else v for v in VARIABLES]
    moving = [
        {k: x for k, x in v.items() if k != "static"} if v["name"] == "sex" else v
        for v in VARIABLES
    ]
    for variables, said in ((other, "with levels f, m"), (moving, "sex measured over time")):
        with refused(Code.COHORTS_DISAGREE) as refusal:
            require_agreement({"train": ward_schema(), "test": ward_schema(variables=variables)})
        assert said in str(refusal.value)
