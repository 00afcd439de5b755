"""Codes: looked up for many columns at once, they say what each column's ruler says."""

import numpy as np
import pytest

from longsynth.methods.copula_score.cells import NOT_OBSERVED, PARTS, Cells, Codes

RULERS = [
    pytest.param(Cells(), id="continuous"),
    pytest.param(Cells(None, 0.9, 0.02), id="narrow, near a bound"),
    pytest.param(Cells(None, -0.4, 2.0), id="wide"),
    pytest.param(Cells(levels=2), id="binary"),
    pytest.param(Cells(levels=3), id="levels that meet where parts do"),
    pytest.param(Cells(levels=7), id="levels"),
    pytest.param(Cells(None, 0.3, 1e-3), id="cells narrower than a part"),
    pytest.param(Cells(None, 0.3, 1e-9), id="cells far narrower than a part"),
    pytest.param(Cells(levels=100_000), id="more levels than parts"),
]


def codes(ruler: Cells, numbers: np.ndarray) -> np.ndarray:
    """In the last of a few columns, where a place on the line has fewer digits left."""
    rulers = (*(Cells(levels=k) for k in range(10, 40)), ruler)
    unit = np.tile(numbers[:, None], len(rulers))
    return Codes(rulers).of(unit, np.ones(unit.shape, bool))[:, -1]


def about_every_end(ruler: Cells) -> np.ndarray:
    """Numbers beside each other, between which a cell ends, and those about them."""
    line = np.concatenate([np.linspace(-1, 1, 4001), ruler.centre + ruler.scale * np.arange(-9, 9)])
    line = np.unique(np.clip(line, -1, 1))
    low, high = line[:-1].copy(), line[1:].copy()
    for _ in range(60):
        middle = (low + high) / 2
        same = ruler.of(middle) == ruler.of(low)
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    beside = [np.nextafter(x, way) for x in (low, high) for way in (-2, 2)]
    return np.clip(np.concatenate([line, low, high, *beside, [0.0, -0.0, 5e-324]]), -1, 1)


@pytest.mark.parametrize("ruler", RULERS)
def test_a_code_is_what_the_ruler_says_up_to_the_last_bit(ruler: Cells) -> None:
    numbers = about_every_end(ruler)
    parts = np.arange(PARTS + 1) * (2 / PARTS) - 1
    numbers = np.concatenate([numbers, parts, np.nextafter(parts[1:], -2)])
    assert np.array_equal(codes(ruler, numbers), ruler.of(numbers) + 1)


def test_each_column_is_read_by_its_own_ruler() -> None:
    rulers = (Cells(), Cells(levels=3), Cells(None, 0.5, 0.1), Cells())
    unit = np.random.default_rng(1).uniform(-1, 1, (500, 4))
    found = Codes(rulers).of(unit, np.ones(unit.shape, bool))
    for j, ruler in enumerate(rulers):
        assert np.array_equal(found[:, j], ruler.of(unit[:, j]) + 1)


def test_what_is_not_seen_has_one_code_whatever_number_stands_there() -> None:
    unit = np.array([[0.1, np.nan], [np.nan, 0.2], [np.inf, -np.inf], [1e300, -1e300]])
    found = Codes((Cells(), Cells(levels=2))).of(unit, np.zeros(unit.shape, bool))
    assert (found == NOT_OBSERVED).all()


@pytest.mark.parametrize("ruler", [Cells(), Cells(levels=2)], ids=["many cells", "two cells"])
def test_any_number_has_a_code_of_its_ruler_even_one_that_no_encoding_gives(ruler: Cells) -> None:
    """An index out of range would end a fit, and say that such a number was there."""
    odd = np.array([-np.inf, -5.0, -1 - 1e-9, -1 - 1e-15, 1 + 1e-9, 5.0, 1e300, np.inf, np.nan])
    unit = np.tile(odd[:, None], 3)
    found = Codes((Cells(), ruler, Cells())).of(unit, np.ones(unit.shape, bool))[:, 1]
    assert ((found > NOT_OBSERVED) & (found <= ruler.number)).all()
