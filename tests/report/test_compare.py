"""The comparison of the data holder: cells in use, levels by name, nothing where nothing is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from longsynth.show.plots import compare, plot_all
from ward import MISSING, NAMES, SLOTS, STATIC, VARIABLES, ward_cohort, ward_schema


def test_a_missing_share_is_one_of_the_cells_that_patients_have() -> None:
    cohort = ward_cohort(3000, 1)
    for row in compare(ward_schema(), cohort, cohort):
        assert row.real[2] == pytest.approx(MISSING, abs=0.03), row.name
        assert row.real == pytest.approx(row.synthetic, nan_ok=True)


def test_levels_without_an_order_have_no_mean_and_nobody_has_nothing() -> None:
    cohort = ward_cohort(50, 1)
    rows = {row.name: row for row in compare(ward_schema(), cohort, cohort)}
    assert np.isnan(rows["blood"].real[:2]).all()
    assert rows["sex"].real[0] == cohort.values[:, 0, 1][cohort.observed[:, 0, 1]].mean()
    empty = replace(cohort, length=cohort.length * 0, observed=cohort.observed & STATIC)
    rows = {row.name: row for row in compare(ward_schema(), cohort, empty)}
    assert np.isnan(rows["pulse"].synthetic).all()
    assert rows["age"].synthetic == rows["age"].real


@pytest.mark.parametrize("kept", [NAMES, ["blood", "rhythm"]], ids=["all", "no course"])
def test_both_plots_are_drawn_of_any_schema(tmp_path: Path, kept: list[str]) -> None:
    pytest.importorskip("matplotlib")
    chosen = [v for v, name in enumerate(NAMES) if name in kept]
    cohort = ward_cohort(60, 1)
    some = replace(
        cohort, values=cohort.values[:, :, chosen], observed=cohort.observed[:, :, chosen]
    )
    schema = ward_schema(variables=[VARIABLES[v] for v in chosen])
    written = plot_all(schema, some, some, tmp_path)
    assert [path.name for path in written] == ["distributions.png", "trajectories.png"]
    assert all(path.stat().st_size > 5000 for path in written)
    assert some.values.shape[1] == SLOTS
