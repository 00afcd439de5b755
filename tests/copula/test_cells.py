"""Cellss: cells cover the line in order, a number comes back to its cell, waves are a basis."""

import numpy as np
import pytest

from longsynth.methods.copula_score.cells import FINE, Cells
from longsynth.methods.copula_score.channels import measures_of
from support import small_schema
from ward import ward_schema

RULERS = [
    pytest.param(Cells(), id="continuous"),
    pytest.param(Cells(None, 0.9, 0.05), id="centre near the top"),
    pytest.param(Cells(None, -1.0, 0.5), id="centre at the bottom"),
    pytest.param(Cells(5), id="five levels"),
    pytest.param(Cells(2), id="two levels"),
    pytest.param(Cells(4, ordered=False), id="names"),
]


@pytest.mark.parametrize("ruler", RULERS)
def test_a_number_from_the_middle_of_a_cell_lies_in_that_cell(ruler: Cells) -> None:
    cells = np.arange(ruler.number)
    inside = ruler.unit(cells + 0.5)
    reachable = np.abs(inside) < 1 if ruler.levels is None else np.ones(len(cells), bool)
    assert reachable.sum() >= ruler.number - 2
    assert np.array_equal(ruler.of(inside)[reachable], cells[reachable])


@pytest.mark.parametrize("ruler", RULERS)
def test_cells_follow_the_line_and_its_ends_are_the_first_and_the_last(ruler: Cells) -> None:
    line = np.linspace(-1.0, 1.0, 2001)
    cells = ruler.of(line)
    assert cells[0] == 0
    assert cells[-1] == ruler.number - 1
    assert (np.diff(cells) >= 0).all()
    units = ruler.unit(np.linspace(0.0, ruler.number, 999))
    assert (np.diff(units) >= 0).all()
    assert units.min() == pytest.approx(-1.0, abs=1e-9)
    assert units.max() == pytest.approx(1.0, abs=1e-9)


def test_a_continuous_number_returns_to_within_its_cell() -> None:
    ruler, line = Cells(None, 0.1, 0.2), np.linspace(-0.999, 0.999, 501)
    cell = ruler.of(line)
    low, high = ruler.unit(cell.astype(float)), ruler.unit(cell + 1.0)
    assert ((low - 1e-9 <= line) & (line <= high + 1e-9)).all()


def test_cells_are_fine_at_the_public_centre_and_coarse_far_from_it() -> None:
    width = np.diff(Cells(None, 0.3, 0.05).unit(np.arange(FINE + 1.0)))
    assert Cells(None, 0.3, 0.05).of(np.array([0.3]))[0] == width.argmin()
    assert width.max() > 10 * width.min()


@pytest.mark.parametrize("ruler", RULERS)
def test_edges_part_neighbouring_cells(ruler: Cells) -> None:
    edges = ruler.edges * ruler.scale + ruler.centre
    assert len(edges) == ruler.number - 1
    inner = np.flatnonzero(np.abs(edges) < 1 - 1e-6)
    step = 1e-7 * ruler.scale
    assert np.array_equal(ruler.of(edges[inner] - step), inner)
    assert np.array_equal(ruler.of(edges[inner] + step), inner + 1)


@pytest.mark.parametrize("ruler", RULERS)
def test_waves_are_orthogonal_and_complete(ruler: Cells) -> None:
    waves = ruler.waves(10**6)
    assert waves.shape == (ruler.number, ruler.number - 1)
    gram = waves.T @ waves * 2 / ruler.number
    assert np.allclose(gram, np.eye(ruler.number - 1), atol=1e-9)
    assert np.allclose(waves.sum(axis=0), 0, atol=1e-9)


def test_a_schema_gives_a_ruler_to_each_variable_and_two_to_gaps() -> None:
    found = measures_of(ward_schema())
    assert [r.levels for r in found] == [None, 2, 4, None, 5, 2, 3, None, None]
    assert [r.ordered for r in found] == [True, True, False, True, True, True, False, True, True]
    pulse = measures_of(small_schema())[0]
    assert pulse.centre == pytest.approx(-0.4)  # 80 between 20 and 220
    assert pulse.scale == pytest.approx(0.2)


def test_a_scale_far_smaller_than_the_bounds_overflows_nothing() -> None:
    """Warnings are errors here: one about a number would tell of a patient."""
    ruler = Cells(None, 0.94, 0.001)
    assert ruler.of(np.array([-1.0, 0.94, 1.0])).tolist() == [0, FINE // 2, FINE - 1]
    assert np.isfinite(ruler.unit(np.arange(FINE + 1.0))).all()
    assert np.isfinite(ruler.log_edges).all()


def test_any_number_has_a_cell_even_one_that_no_encoding_gives() -> None:
    """An index out of range would end a fit, and say that such a number was there."""
    odd = np.array([-np.inf, -5.0, -1 - 1e-9, 1 + 1e-9, 5.0, 1e300, np.inf, np.nan])
    for ruler in (Cells(), Cells(levels=4)):
        with np.errstate(invalid="ignore"):
            found = ruler.of(odd)
        assert ((found >= 0) & (found < ruler.number)).all()
