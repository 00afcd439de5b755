"""The fair membership game: luck cancels, a leak does not, and many rows are judged as many."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab.conftest import Kept
from longsynth.audit.attacks.membership import membership_scores
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth_lab.experiments import MAIN, TRAIN_ON_REAL, Setting
from longsynth_lab.measures import measured, run
from longsynth_lab.membership import ATTACKS, NAME, Verdict, membership_text, verdicts
from longsynth_lab.paper.section_v import further
from longsynth_lab.results import Results, Row
from longsynth_lab.trial import Trial, Use
from longsynth_lab.versions import only

ROOT = Path(__file__).parents[2]
PRIVATE = ("dp-markov", "dp-score", "trust", "copula-score")
BUDGETS = {
    label: Setting(epsilon=float(label), accounting="gaussian") for label in ("1", "4", "12")
}


@pytest.fixture(scope="module")
def stored(kept: Kept) -> Results:
    return only(kept("evidence"), [NAME])


def made_up(rng: np.random.Generator, **shift: float) -> Results:
    """Twenty seeds of every private row, at 0.5 but for the methods that are shifted."""
    return Results(
        replace(
            Row(NAME, method, seed, label, "mia_auc_swapped", 0.5 + shift.get(name, 0) + noise),
            epsilon=float(label),
            delta=1e-5,
            accounting="gaussian",
            train_patients=504,
        )
        for method, name in ((m, m.replace("-", "_")) for m in PRIVATE)
        for label in BUDGETS
        for seed, noise in enumerate(rng.normal(0, 0.012, 20))
    )


def judged(results: Results) -> list[Verdict]:
    return verdicts(results, BUDGETS, ("mia_auc_swapped",))


def test_a_release_that_knows_neither_group_is_at_exactly_one_half() -> None:
    ours, others, reference, drawn = (simulate(120, seed=seed) for seed in (1, 2, 3, 4))
    one, two = (
        membership_scores(simulated_schema(), *people, drawn, reference)
        for people in ((ours, others), (others, ours))
    )
    for first, second in zip(one, two, strict=True):
        if not first.metric.endswith("control"):
            assert first.value != 0.5
            assert (first.value + second.value) / 2 == pytest.approx(0.5, abs=1e-12)


def test_copies_are_found_out_and_noise_hides_members() -> None:
    def attacked(method: str) -> dict[str, float]:
        setting = Setting(epsilon=1.0, patients=120, fresh=240)
        trial = Trial(method, 101, setting, (Use(NAME, MAIN, ("membership swapped",)),))
        return {s.metric: s.value for s in measured(run(trial))["membership swapped"]}

    assert set(attacked(TRAIN_ON_REAL).values()) == {1.0}
    assert min(attacked("bootstrap").values()) > 0.7
    assert max(attacked("trust").values()) < 0.6


def test_a_leak_of_three_hundredths_is_told_apart_and_only_there() -> None:
    found = judged(made_up(np.random.default_rng(1), dp_score=0.03))
    assert {row.method for row in found if row.differs} == {"dp-score"}
    below = judged(made_up(np.random.default_rng(1), dp_score=-0.03))
    assert {row.method for row in below if row.differs} == {"dp-score"}


def test_rows_without_a_leak_seldom_alarm_together_though_single_intervals_often_do() -> None:
    rng = np.random.default_rng(2)
    families = [judged(made_up(rng)) for _ in range(200)]
    corrected = np.mean([any(row.differs for row in rows) for rows in families])
    single = np.mean([any(not row.found.contains(0.5) for row in rows) for rows in families])
    assert corrected < 0.09  # 5 % and its luck in 200 families
    assert single > 0.3  # 1 - 0.95¹² = 46 %


def test_a_row_above_its_bound_is_called_a_broken_promise() -> None:
    rows = [*made_up(np.random.default_rng(3), trust=0.45).rows]
    rows += [replace(row, metric="mia_density_auc_swapped", value=0.5) for row in rows]
    text = membership_text(Results(rows))
    assert "the guarantee is broken: TRUST-LONGSYNTH at ε = 1 by nearest neighbour, 0.9" in text
    assert "TRUST-LONGSYNTH at ε = 12 by nearest" in text.partition("differ from it")[2]


def test_a_study_has_four_times_as_many_populations_for_membership() -> None:
    assert len(set(further((11, 22, 33, 44, 55)))) == 20
    assert further((11, 22))[:2] == (11, 22)


def test_bootstrap_is_found_out_and_every_private_method_is_within_its_bound(
    stored: Results,
) -> None:
    assert len(stored.seeds(NAME)) == 20
    rows = verdicts(stored, BUDGETS)
    for row in rows:
        if row.method == TRAIN_ON_REAL:
            assert row.found.lower == 1.0
        elif row.method == "bootstrap":
            assert row.found.lower > 0.75
    private = [row for row in rows if row.bound is not None]
    assert {row.method for row in private} == set(PRIVATE)
    assert {row.metric for row in private} == set(ATTACKS)
    assert len(private) == 24
    for row in private:
        assert row.found.upper < (row.bound or 0), row
        assert 0.49 < row.found.mean < 0.52, row
