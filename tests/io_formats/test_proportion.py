"""Formats without a place for weights: every stratum has its share of the population there."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from longsynth import fit, model_of, plan
from longsynth.bundle import Bundle
from longsynth.release.synthetic_folder import Recipe, check_synthetic, write_synthetic
from longsynth.schema.columns import LABELS
from support import NoNoise, random_cohort, small_schema

PATIENTS, RARE = 2000, 7
CLINICAL = ["omop", "omop-sql", "fhir"]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    """Seven of 700 patients have the event: it is generated far more often."""
    cohort, schema = random_cohort(100 * RARE, 3), small_schema()
    cohort.event[:] = np.arange(cohort.patients) < RARE
    planned = plan(schema, cohort.patients, epsilon=8, delta=1e-4, method="copula-score")
    return fit(cohort, planned, noise=NoNoise())


def write(bundle: Bundle, folder: Path, form: str, where: list[str] | None = None) -> Path:
    folder.mkdir()
    settings = {} if form == "cohort" else {"start_date": "2024-01-01"}
    sampling = Recipe(bundle.fingerprint, PATIENTS, 5, where or [], form=form, settings=settings)
    write_synthetic(folder, model_of(bundle), sampling)
    assert all(found.good for found in check_synthetic(bundle, model_of(bundle), folder))
    return folder


def events(folder: Path, form: str) -> int:
    if form == "omop":
        return pq.read_metadata(folder / "condition_occurrence.parquet").num_rows
    if form == "omop-sql":
        return (folder / "condition_occurrence.sql").read_text().count("\n(")
    lines = (folder / "Observation.ndjson").read_text().splitlines()
    found = [json.loads(line) for line in lines if '"urn:longsynth:label"' in line]
    labels = [o for o in found if o["code"]["coding"][0]["code"] == LABELS[1]]
    return sum(o["valueCodeableConcept"]["coding"][0]["code"] == "1" for o in labels)


def test_a_format_with_weights_has_many_events(bundle: Bundle, tmp_path: Path) -> None:
    people = pq.read_table(write(bundle, tmp_path / "out", "cohort") / "patients.parquet")
    assert np.sum(people["event"]) > 2 * PATIENTS / 100
    weighted = np.average(people["event"], weights=people["weight"])
    assert weighted == pytest.approx(1 / 100, abs=0.004)


@pytest.mark.parametrize("form", CLINICAL)
def test_a_format_without_weights_has_the_populations_share(
    bundle: Bundle, tmp_path: Path, form: str
) -> None:
    folder = write(bundle, tmp_path / "out", form)
    assert events(folder, form) == pytest.approx(PATIENTS / 100, abs=8)
    assert not [path for path in folder.iterdir() if "weight" in path.name]


def test_rare_patients_are_still_there_for_the_asking(bundle: Bundle, tmp_path: Path) -> None:
    folder = write(bundle, tmp_path / "out", "omop", ["event=1"])
    assert events(folder, "omop") == PATIENTS
