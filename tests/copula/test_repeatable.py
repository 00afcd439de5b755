"""The same releases give the same bits, and a row does not know who else is in its batch."""

from functools import partial

import numpy as np
import pytest

from copula.fitted import bundle_of
from longsynth import model_of, sample, simulate, simulated_schema
from longsynth.methods.copula_score import CopulaScore
from longsynth.methods.copula_score.settings import Settings
from longsynth.methods.method import contributions
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Synthetic
from longsynth.schema.schema import Schema
from support import earlier, random_cohort, rows_of, small_schema
from ward import ward_cohort, ward_schema

WARDS = [
    pytest.param(small_schema(), random_cohort(120, seed=1), id="small"),
    pytest.param(ward_schema(), ward_cohort(120, seed=2), id="ward"),
]


@pytest.mark.parametrize(("schema", "cohort"), WARDS)
def test_the_same_bundle_gives_the_same_patients_bit_for_bit(
    schema: Schema, cohort: Cohort
) -> None:
    bundle = bundle_of(cohort, schema)
    one, other = (sample(model_of(bundle), 300, seed=7) for _ in range(2))
    for name in Synthetic.__slots__:
        a, b = getattr(one, name), getattr(other, name)
        assert a == b if isinstance(a, str) else a.tobytes() == b.tobytes(), name
    assert sample(model_of(bundle), 300, seed=8).values.tobytes() != one.values.tobytes()


@pytest.mark.parametrize(("schema", "cohort"), WARDS)
def test_a_row_is_the_same_in_any_batch_and_any_order(schema: Schema, cohort: Cohort) -> None:
    method, resolved = CopulaScore(), schema.resolved(cohort.patients)
    order = np.random.default_rng(3).permutation(cohort.patients)
    for stage in method.stages(resolved):
        encoder = method.encoder(resolved, earlier(method, resolved, stage))
        rows = partial(contributions, stage, encoder)
        whole, mixed = rows(cohort), rows(cohort.take(order))
        parts = [rows(batch) for batch in cohort.batches(17)]
        alone = rows(cohort.take(slice(5, 6)))
        for name, contribution in whole.items():
            right = contribution.right
            assert np.array_equal(np.concatenate([p[name].right for p in parts]), right), name
            assert np.array_equal(mixed[name].right, right[order]), name
            assert np.array_equal(alone[name].right, right[5:6]), name


def test_a_row_is_the_same_in_a_batch_of_any_size() -> None:
    """Products of many small numbers round by their order, which is the patient's own."""
    cohort, method = simulate(130, seed=4), CopulaScore()
    resolved = simulated_schema().resolved(cohort.patients)
    for stage in method.stages(resolved):
        encoder = method.encoder(resolved, earlier(method, resolved, stage))
        rows = partial(contributions, stage, encoder)
        whole = rows(cohort)
        for size in (1, 7, 63, 64, 65, 129):
            parts = [rows(batch) for batch in cohort.batches(size)]
            for name, contribution in whole.items():
                found = np.concatenate([part[name].right for part in parts])
                assert np.array_equal(found, contribution.right), (name, size)


def test_a_pass_reads_its_own_releases_and_not_those_of_another_fit() -> None:
    method, schema = CopulaScore(), small_schema().resolved(60)
    cohort, stage = random_cohort(20, seed=5), method.stages(schema)[1]
    zeros = earlier(method, schema, stage)
    fitted = bundle_of(random_cohort(60, seed=6), small_schema())
    first = rows_of(method, cohort, schema, stage, zeros)["lag blocks"].right
    second = rows_of(method, cohort, schema, stage, fitted)["lag blocks"].right
    again = rows_of(method, cohort, schema, stage, zeros)["lag blocks"].right
    assert not np.array_equal(first, second)
    assert np.array_equal(first, again)


def test_an_encoder_follows_the_settings_of_its_method() -> None:
    resolved, cohort = small_schema().resolved(60), random_cohort(20, seed=1)
    stage = CopulaScore().stages(resolved)[2]
    so_far = earlier(CopulaScore(), resolved, stage)
    usual, without_marks, again = (
        rows_of(CopulaScore(settings), cohort, resolved, stage, so_far)["severity"].right
        for settings in (Settings(), Settings(marks_in_copula=False), Settings())
    )
    assert np.array_equal(usual, again)
    assert not np.array_equal(usual, without_marks)
