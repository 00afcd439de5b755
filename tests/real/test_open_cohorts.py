"""Real open cohorts, from their own files to a verified synthetic dataset."""

import os
from pathlib import Path

import numpy as np
import pytest

from longsynth import CohortFolder, load_release, model_of, run_fit, sample, verify
from support import receipt_for

COHORTS = os.environ.get("LONGSYNTH_COHORTS")
pytestmark = pytest.mark.skipif(
    COHORTS is None, reason="set LONGSYNTH_COHORTS to the folder of open cohorts"
)

PBC = """
longsynth: 1
name: primary biliary cholangitis trial
slots: 8
max_gap: 17520  # two years in hours
time: {column: time, unit: days}
group: {column: group, levels: [0, 1], meaning: male}
event: {column: outcome_death_2y, levels: [0, 1], meaning: death within two years}
site: {column: cohort, levels: [D-penicillamine, placebo]}
variables:
  - {name: bili, unit: mg/dL, kind: continuous, bounds: [0.1, 60], bounds_from: assay range,
     transform: log}
  - {name: albumin, unit: g/dL, kind: continuous, bounds: [1, 6], bounds_from: textbook}
  - {name: ascites, kind: binary}
"""
ICU = """
longsynth: 1
name: first two days in intensive care
slots: 12
max_gap: 24
group: {column: group, levels: [0, 1], meaning: female}
event: {column: outcome, levels: [0, 1], meaning: death in hospital}
site: {column: cohort, levels: [MICU, SICU, CSRU, CCU]}
variables:
  - {name: pulse, column: HR, unit: bpm, kind: continuous, bounds: [20, 250],
     bounds_from: monitor range}
  - {name: temperature, column: Temp, unit: °C, kind: continuous, bounds: [25, 45],
     bounds_from: thermometer range}
"""


def cohort(tmp: Path, name: str, schema: str) -> Path:
    source = Path(COHORTS or "") / name
    if not source.is_dir():
        pytest.skip(f"{name} is not among the open cohorts")
    folder = tmp / name
    folder.mkdir()
    (folder / "schema.yaml").write_text(schema)
    for table in ("observations.parquet", "patients.parquet"):
        (folder / table).symlink_to(source / table)
    return receipt_for(folder)


@pytest.mark.parametrize(
    ("name", "schema", "patients"), [("pbc", PBC, 312), ("physionet2012", ICU, 8000)]
)
def test_a_real_cohort_becomes_a_verified_release(
    tmp_path: Path, name: str, schema: str, patients: int
) -> None:
    folder = cohort(tmp_path, name, schema)
    run_fit(folder, tmp_path / "run", epsilon=4, delta=1e-6)
    release = tmp_path / "run/release"
    assert [f.sentence for f in verify(release) if not f.good] == []
    bundle = load_release(release)
    assert bundle.patients == patients
    drawn = sample(model_of(bundle), 1000, seed=1)
    assert np.isfinite(drawn.values).all()


def test_no_patient_of_a_real_cohort_is_lost_or_read_twice(tmp_path: Path) -> None:
    with CohortFolder(cohort(tmp_path, "physionet2012", ICU)) as source:
        batches = list(source.batches())
        assert sum(b.patients for b in batches) == source.patients == 8000
        assert sum(int((b.length == 0).sum()) for b in batches) > 0, "some have no row at all"
