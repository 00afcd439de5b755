"""Groups are scored apart, and silence about the small ones is broken."""

import numpy as np
import pytest

from audit.audit_support import plain_schema
from longsynth.audit.ranking import Predictions
from longsynth.audit.subgroups import subgroup_scores
from longsynth.audit.utility import utility_scores
from support import small_schema


def mixed(n: int = 600) -> Predictions:
    rng = np.random.default_rng(2)
    group = (np.arange(n) % 3 == 0).astype(np.int64)
    event = (rng.random(n) < 0.2).astype(np.int64)
    skill = np.where(group == 0, 0.5, 0.0) * event
    return Predictions(event, rng.random(n) * 0.5 + skill, group, np.arange(n) // 3 % 3)


def part(found: Predictions, rows: np.ndarray) -> Predictions:
    return Predictions(*(getattr(found, name)[rows] for name in Predictions.__slots__))


def test_each_group_scores_as_if_it_were_alone() -> None:
    found = mixed()
    scores = {s.metric: s for s in subgroup_scores(small_schema(), found)}
    for group in (0, 1):
        alone = {s.metric: s.value for s in utility_scores(part(found, found.group == group))}
        assert scores[f"group{group}_auprc"].value == pytest.approx(alone["auprc"])
        assert scores[f"group{group}_ece"].value == pytest.approx(alone["ece"])
        for site, name in enumerate("ABC"):
            rows = (found.group == group) & (found.site == site)
            both = {s.metric: s.value for s in utility_scores(part(found, rows))}
            assert scores[f"group{group}_site_{name}_auprc"].value == pytest.approx(both["auprc"])
    good, bad = scores["group0_auprc"].value, scores["group1_auprc"].value
    assert good == pytest.approx(1) and bad < 0.5  # the witness: one group was learnt, one not
    assert scores["worst_group_auprc"].value == bad
    assert scores["group_gap_auprc"].value == pytest.approx(good - bad)
    assert scores["group_gap_auprc"].better == "lower"


def test_a_group_with_few_events_says_so() -> None:
    found = mixed(60)
    scores = {s.metric: s for s in subgroup_scores(small_schema(), found, bootstrap=50)}
    events = int(found.event[found.group == 1].sum())
    assert 0 < events < 10
    assert scores["group1_auprc"].note == f"only {events} events: too few for a conclusion"
    assert scores["worst_group_auprc"].note
    assert scores["group1_auprc"].lower <= scores["group1_auprc"].value


def test_a_group_without_events_or_patients_is_nan_with_a_reason() -> None:
    found = mixed()
    nobody = Predictions(found.event, found.probability, np.zeros_like(found.group), found.site)
    no_events = Predictions(
        found.event * (found.group == 0), found.probability, found.group, found.site
    )
    for broken in (nobody, no_events):
        scores = {s.metric: s for s in subgroup_scores(small_schema(), broken, bootstrap=30)}
        for name in ("group1_auprc", "worst_group_auprc", "group_gap_auprc"):
            assert np.isnan(scores[name].value)
            assert scores[name].note == "no events: no conclusion is possible"
        assert np.isfinite(scores["group0_auprc"].value)


def test_one_site_has_no_intersections() -> None:
    found = mixed()
    one = Predictions(found.event, found.probability, found.group, np.zeros_like(found.site))
    assert not [s for s in subgroup_scores(plain_schema(), one) if "site" in s.metric]
