"""How many patients a line clips is said where only the data steward looks."""

import json
from pathlib import Path

import numpy as np

from longsynth import fit, plan, run_fit, simulate, simulated_schema, write_cohort
from longsynth.methods.copula_score.channels import Coding
from longsynth.methods.copula_score.model import WaveTables
from longsynth.methods.copula_score.settings import Sizes
from longsynth.release.clipping import clipped_by_line
from support import receipt_for


def test_the_share_of_each_line_is_that_of_rows_longer_than_its_radius() -> None:
    cohort = simulate(400, seed=101)
    planned = plan(simulated_schema(), 400, epsilon=4, delta=1e-5, method="copula-score")
    found = clipped_by_line(cohort, planned, fit(cohort, planned))["clipped_by_line"]
    assert list(found) == ["marginals", "lag blocks", "severity", "effects"]
    rows = WaveTables(planned.schema).rows(Coding(planned.schema).of(cohort))
    longer = np.linalg.norm(rows, axis=1) > Sizes.of(planned.schema).marginal_radius
    assert abs(found["marginals"] - longer.mean()) < 0.01
    assert 0.05 < found["lag blocks"] < 0.7


def test_what_is_clipped_is_internal(tmp_path: Path) -> None:
    folder = tmp_path / "cohort"
    folder.mkdir()
    write_cohort(folder, simulated_schema(), simulate(60, seed=101).batches())
    receipt_for(folder)
    run_fit(folder, tmp_path / "run", epsilon=4, delta=1e-5, method="copula-score")
    notes = json.loads((tmp_path / "run/internal/cohort.json").read_text())
    assert notes["patients_looked_at"] == 60
    assert set(notes["clipped_by_line"]) == {"marginals", "lag blocks", "severity", "effects"}
    released = [f.read_bytes() for f in (tmp_path / "run/release").rglob("*") if f.is_file()]
    assert not any(b"clipped_by_line" in content for content in released)
