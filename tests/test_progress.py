"""What a progress bar is told during a fit: public steps, whatever the patients' rows."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.progress import Progress

from longsynth import run_fit, simulate, simulated_schema, write_cohort
from support import receipt_for


@pytest.mark.parametrize("extra", [0, 30_000])
def test_a_fit_moves_its_bar_in_public_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: int
) -> None:
    folder = tmp_path / "cohort"
    folder.mkdir()
    write_cohort(folder, simulated_schema(), simulate(9000, seed=3).batches())
    rows = pq.read_table(folder / "observations.parquet")
    more = pa.concat_tables([rows.slice(0, 1)] * (extra + 1))
    more = more.set_column(1, "time", pa.array([float(-t) for t in range(extra + 1)]))
    pq.write_table(pa.concat_tables([rows, more]), folder / "observations.parquet")
    receipt_for(folder)
    steps: list[float] = []
    monkeypatch.setattr(Progress, "advance", lambda _, task, step: steps.append(step))
    run_fit(folder, tmp_path / "run", epsilon=1, delta=1e-6)
    assert steps == 4 * [8192, 808]  # four passes: there is enough to learn for labels
