"""Rows of a pass, against a loop over patients, slots and variables."""

import numpy as np
import pytest

from copula.fitted import bundle_of
from longsynth.encoding.record import observed_cells
from longsynth.methods.copula_score.channels import (
    GAP_WEIGHT,
    Coding,
    bounds_scaling,
    measures_of,
)
from longsynth.methods.copula_score.features import shape_features, time_shapes
from longsynth.methods.copula_score.reading import first_pass
from longsynth.methods.copula_score.rows import WaveTables
from longsynth.methods.copula_score.settings import Sizes, measure_weights
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema
from support import random_cohort, small_schema
from ward import ward_cohort, ward_schema

WARDS = [
    pytest.param(small_schema(), random_cohort(40, seed=1), id="small"),
    pytest.param(ward_schema(), ward_cohort(40, seed=2), id="ward"),
    pytest.param(ward_schema(length="full"), ward_cohort(40, seed=2), id="short is missing"),
]


class Patient:
    """What one patient shows, cell by cell."""

    def __init__(self, one: Cohort, schema: Schema) -> None:
        scaling = bounds_scaling(schema)
        self.schema, self.static = schema, schema.layout.static
        self.observed = observed_cells(one, schema)[0]
        self.unit, self.gap = scaling.unit(one.values)[0], scaling.encode_gaps(one.gaps)[0]
        self.length = int(one.length[0]) if schema.length == "variable" else schema.slots
        self.timed = np.isfinite(one.gaps[0]) & (np.arange(schema.slots) < one.length[0])

    def cell(self, t: int, v: int) -> int | None:
        """None if it is not observed."""
        at = 0 if self.static[v] else t
        return (
            int(measures_of(self.schema)[v].of(self.unit[at, v])) if self.observed[at, v] else None
        )

    def gap_cell(self, t: int) -> int | None:
        cells = measures_of(self.schema)[-2 if t == 0 else -1]
        return int(cells.of(self.gap[t])) if self.timed[t] else None

    def has(self, t: int, v: int) -> bool:
        return bool(self.static[v]) or t < self.length


def row_of(patient: Patient, schema: Schema) -> list[float]:
    sizes, slots = Sizes.of(schema), range(schema.slots)
    waves, marks = [], []
    pairs = zip(measures_of(schema), measure_weights(schema, sizes), strict=True)
    for v, (measure, weight) in enumerate(pairs):
        if v < len(schema.variables):
            cells = [patient.cell(t, v) for t in slots if patient.has(t, v)]
            asked = len(slots)
            marks.append(sum(1 if c is not None else -1 for c in cells) / asked)
        else:
            when = slots[:1] if v == len(schema.variables) else slots[1:]
            cells, asked = [patient.gap_cell(t) for t in when], len(when)
        table = measure.waves(sizes.waves) * weight
        shown = [table[c] for c in cells if c is not None]
        waves.extend(sum(shown, np.zeros(len(weight))) / asked)
    return [*waves, *(sizes.mark_weight * np.array(marks))]


@pytest.mark.parametrize(("schema", "cohort"), WARDS)
def test_a_row_of_marginals_holds_mean_waves_and_marks(schema: Schema, cohort: Cohort) -> None:
    resolved = schema.resolved(cohort.patients)
    found = WaveTables(resolved).rows(Coding(resolved).of(cohort))
    by_hand = [row_of(Patient(one, resolved), resolved) for one in cohort.batches(1)]
    assert np.allclose(found, by_hand, atol=1e-6)


@pytest.mark.parametrize(("schema", "cohort"), WARDS)
def test_channels_hold_scores_marks_gaps_and_the_length(schema: Schema, cohort: Cohort) -> None:
    channels = first_pass(bundle_of(cohort, schema)).channels
    resolved, variables = schema.resolved(cohort.patients), len(schema.variables)
    u = channels.of(Coding(resolved).of(cohort))
    by_hand = np.zeros(u.shape)
    for i, one in enumerate(cohort.batches(1)):
        patient = Patient(one, resolved)
        for t in range(schema.slots):
            for v in range(variables):
                cell = patient.cell(t, v)
                if patient.has(t, v):
                    score = 0.0 if cell is None else channels.marginals[v].scores[cell]
                    by_hand[i, t, v] = score
                    by_hand[i, t, variables + v] = (cell is not None) - channels.rates[v]
            gap = patient.gap_cell(t)
            if gap is not None:
                score = channels.marginals[-2 if t == 0 else -1].scores[gap]
                by_hand[i, t, 2 * variables] = GAP_WEIGHT * score
            if channels.length:
                by_hand[i, t, -1] = channels.length.scores[patient.length]
    assert np.allclose(u, by_hand, atol=1e-6)
    assert u.shape[2] == channels.number
    shapes = time_shapes(schema.slots)
    assert np.allclose(
        shape_features(u), np.einsum("pt,ntm->npm", shapes, u) / schema.slots, atol=1e-6
    )
