"""Encoding: bounded whatever a record holds, invertible where it is not clipped."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longsynth.encoding.rows import Encoder, clip
from longsynth.encoding.scaling import Scaling
from longsynth.schema.schema import Schema
from support import encoded, one_patient, small_schema, unclipped

anything = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(anything, min_size=12, max_size=12), st.lists(anything, min_size=4, max_size=4))
def test_every_record_ends_inside_its_radii(values: list[float], gaps: list[float]) -> None:
    patient, schema = one_patient(np.reshape(values, (4, 3)), gaps=gaps), small_schema()
    with np.errstate(all="ignore"):
        z = unclipped(patient, schema)
        r, squares = encoded(patient, schema).log_gaps
        encoder = Encoder(schema.resolved(60))
        encoder.grid, encoder.radius_squared = 4096, 4096**2
        k = encoder(patient).values
    assert np.isfinite(z).all()
    assert (np.abs(z) <= 1).all()
    assert np.isfinite(r).all()
    assert (np.abs(r) <= 1).all()
    assert (np.abs(squares) <= 0.5).all()
    assert (k**2).sum() <= 4096**2


@pytest.mark.parametrize("number", [np.float64, np.float32])
@given(st.integers(0, 2**32), st.integers(1, 400), st.floats(0, 60), st.floats(-9, 9))
def test_rounding_never_leaves_the_ball_whatever_the_scale(
    number: type[np.floating], seed: int, width: int, bits: float, finer: float
) -> None:
    rng, squared, scale = np.random.default_rng(seed), int(2**bits), 10**finer
    sizes = np.array([0.1, 10, 1e4, sqrt(squared), sqrt(squared / width)]) / scale
    rows = rng.normal(size=(20, width)) * rng.choice(sizes, (20, 1))
    k = clip(rows.astype(number), squared, scale).astype(np.int64)
    assert ((k**2).sum(axis=1) <= squared).all()


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_a_row_one_beyond_the_ball_is_scaled_back_though_its_type_cannot_tell(
    number: type[np.floating],
) -> None:
    for bits in (14, 27, 30):
        rows = np.array([[1 << bits, 1], [1 << bits, 0]], number)
        k = clip(rows, 1 << 2 * bits).astype(np.int64)
        assert (k**2).sum(axis=1)[0] < 1 << 2 * bits
        assert k[1].tolist() == [1 << bits, 0]


@pytest.mark.parametrize("number", [np.float64, np.float32])
@given(st.integers(0, 2**32), st.integers(1, 3000))
def test_a_row_as_long_as_the_radius_stays_in_the_ball_and_near_its_edge(
    number: type[np.floating], seed: int, width: int
) -> None:
    """Where a norm cannot tell whether the integers are inside."""
    rng, radius = np.random.default_rng(seed), 1 << 14
    rows = rng.normal(size=(50, width))
    rows *= rng.normal(1, 1e-3, (50, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    k = clip(rows.astype(number), radius**2, radius).astype(np.int64)
    norms = np.sqrt((k**2).sum(axis=1))
    assert (norms <= radius).all()
    assert (norms >= 0.98 * radius - np.sqrt(width)).all()


def test_a_row_inside_the_ball_is_only_rounded() -> None:
    rows = np.array([[1.4, -2.6, 0.5]])
    assert clip(rows, 1000).tolist() == [[1, -3, 0]]


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_rows_are_scaled_as_they_are_clipped(seed: int, width: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(50, width))
    by_hand = clip(rows * 4096, width * 4096**2)
    assert np.array_equal(clip(rows, width * 4096**2, 4096), by_hand)
    assert np.array_equal(clip(rows[7:9], width * 4096**2, 4096), by_hand[7:9])


def test_a_long_row_keeps_its_direction() -> None:
    rows = np.array([[30_000.0, -40_000.0]])
    k = clip(rows, 10_000**2)
    assert k[0] / np.linalg.norm(k[0]) == pytest.approx([0.6, -0.8], abs=1e-3)
    assert np.linalg.norm(k[0]) > 9_990


def test_bounds_become_one_and_the_midpoint_zero() -> None:
    scaling = Scaling(small_schema())
    scaled = scaling.encode(np.array([[20.0, 0, 0], [120, 2, 0.5], [220, 4, 1], [-5, -9, 7]]))
    assert scaled.tolist() == [[-1, -1, -1], [0, 0, 0], [1, 1, 1], [-1, -1, 1]]


def test_what_is_not_observed_sits_at_the_midpoint() -> None:
    cells = np.full((4, 3), 20.0)
    observed = np.ones((4, 3), bool)
    observed[0] = False
    cells[1] = np.nan
    cells[2] = np.inf
    patient = one_patient(cells, observed=observed)
    z = unclipped(patient, small_schema()).reshape(4, 3)
    assert z[:3].tolist() == [[0.0] * 3] * 3
    assert z[3, 0] == -1
    missing = encoded(patient, small_schema()).missing.reshape(4, 3)
    assert missing[:, 0].tolist() == [1, 1, 1, -1]


def test_slots_past_the_length_hold_nothing() -> None:
    patient = one_patient(20.0, gaps=0.0, length=2)
    schema = small_schema()
    assert encoded(patient, schema).observed[0, :, 0].tolist() == [True, True, False, False]
    r, squares = encoded(patient, schema).log_gaps
    assert r[0].tolist() == [-1, -1, 0, 0]
    assert squares[0].tolist() == [0.5, 0.5, 0, 0]
    assert encoded(patient, schema).missing.reshape(4, 3)[:, 0].tolist() == [-1, -1, 0, 0]


def test_where_all_slots_are_used_a_short_record_is_one_with_values_missing() -> None:
    patient, full = one_patient(20.0, gaps=0.0, length=2), small_schema(length="full")
    r, squares = encoded(patient, full).log_gaps
    assert r[0].tolist() == [-1, -1, 0, 0]
    assert squares[0].tolist() == [0.5, 0.5, -0.5, -0.5]
    assert encoded(patient, full).missing.reshape(4, 3)[:, 0].tolist() == [-1, -1, 1, 1]


def test_gaps_are_clipped_to_the_public_maximum() -> None:
    patient = one_patient(gaps=[-3.0, 0.0, 48.0, 1e308])
    assert encoded(patient, small_schema()).log_gaps[0][0].tolist() == [-1, -1, 1, 1]


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("transform", ["none", "log"])
def test_decoding_inverts_encoding_inside_the_range(reference: bool, transform: str) -> None:
    schema = Schema.model_validate(
        {
            "longsynth": 1,
            "name": "x",
            "slots": 1,
            "max_gap": 10,
            "variables": [
                {
                    "name": "lab",
                    "kind": "continuous",
                    "bounds": [0.1, 900],
                    "bounds_from": "an assay",
                    "centre": 30,
                    "scale": 9,
                    "transform": transform,
                }
            ],
            "constants": {"encoding": "reference" if reference else "bounds"},
        }
    )
    scaling = Scaling(schema)
    values = np.array([[25.0], [30.0], [40.0]])
    assert scaling.decode(scaling.encode(values)) == pytest.approx(values)
    if reference:
        assert scaling.encode(np.array([[30.0]]))[0, 0] == pytest.approx(0)


@given(st.floats(-50, 50))
def test_decoded_values_respect_support_and_kind(z: float) -> None:
    decoded = Scaling(small_schema()).decode(np.full((1, 3), z))[0]
    assert 20 <= decoded[0] <= 220
    assert decoded[1] in (0, 1, 2, 3, 4)
    assert decoded[2] in (0, 1)


@given(st.floats(0, 48))
def test_gaps_return(gap: float) -> None:
    scaling = Scaling(small_schema())
    back = scaling.decode_gaps(scaling.encode_gaps(np.array([gap])))
    assert back[0] == pytest.approx(gap, abs=1e-9)
