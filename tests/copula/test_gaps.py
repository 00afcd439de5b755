"""Gaps: what a schema says of times shows in generated patients."""

from dataclasses import replace

import numpy as np
import pytest

from copula.fitted import bundle_of
from longsynth import model_of, sample, simulate, simulated_schema
from longsynth.encoding.scaling import as_stated
from longsynth.methods.copula_score.cells import Cells
from longsynth.schema.schema import Schema


def with_times(**facts: object) -> Schema:
    """The simulated schema with more facts about its times, checked."""
    known = simulated_schema().model_dump()
    rule = known["slot_rule"] | {"merge": facts.pop("merge", 0.0)}
    known |= {"max_gap": facts.pop("max_gap", known["max_gap"]), "slot_rule": rule}
    return Schema.model_validate(known | {"time": known["time"] | facts})


def test_slots_are_no_closer_than_the_slot_rule_lets_them_be_and_times_are_in_steps() -> None:
    gaps = np.random.default_rng(1).uniform(0, 9, (50, simulated_schema().slots))
    stated = as_stated(gaps, with_times(merge=4.2, resolution=0.5))
    assert np.array_equal(stated, np.rint(stated / 0.5) * 0.5)
    assert stated[:, 1:].min() == 4.5 and stated[:, 0].min() < 4
    assert as_stated(gaps, with_times()) == pytest.approx(gaps)


def test_no_cell_lies_where_no_gap_can_be() -> None:
    cells = Cells(None, 0.1, 0.2, lowest=-0.3)
    edges = cells.unit(np.arange(257.0))
    assert edges[0] == pytest.approx(-0.3) and edges[-1] == pytest.approx(1.0)
    assert (cells.of(np.array([-1.0, -0.3])) == 0).all()
    inside = np.linspace(-0.29, 0.99, 50)
    place = cells.of(inside)
    assert ((cells.unit(place) <= inside + 1e-9) & (inside <= cells.unit(place + 1.0) + 1e-9)).all()


def test_a_planned_schedule_is_kept_where_the_schema_says_how_long_its_gaps_are() -> None:
    """Visits every six years: without the hint, gaps went from 1 hour to 72 thousand."""
    cohort, rng = simulate(1_000, seed=101), np.random.default_rng(1)
    cohort = replace(cohort, gaps=rng.normal(52_600, 1_000, cohort.gaps.shape))
    schema = with_times(max_gap=80_000, gap_centre=52_600, gap_scale=1_500)
    made = sample(model_of(bundle_of(cohort, schema, epsilon=4)), 1_000, seed=1)
    low, high = np.quantile(made.gaps[:, 1:], [0.05, 0.95])
    assert 49_000 < low < high < 56_000


def test_a_usual_gap_needs_its_scale() -> None:
    with pytest.raises(ValueError, match="gap_centre"):
        with_times(gap_centre=24.0)
