"""A fit that ends after its charge says that the charge stays spent; before it, it does not."""

import errno
from pathlib import Path

import pytest

from atomic.outputs import Work
from longsynth import run_fit
from longsynth.govern.book import Book, init_book
from longsynth.privacy.budget import Budget
from longsynth.system.errors import OverBudget, Refused, notes


@pytest.fixture
def book(tmp_path: Path) -> Path:
    init_book(tmp_path / "book").grant("ward", Budget(12.0, 1e-5))
    return tmp_path / "book"


def ended(work: Work, book: Path, place: Path, epsilon: float = 4.0) -> BaseException:
    with pytest.raises((KeyboardInterrupt, Refused)) as stop:
        run_fit(work.cohort, place / "run", epsilon=epsilon, delta=1e-5, book=book, dataset="ward")
    assert list(place.iterdir()) == []
    return stop.value


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "x")])
def test_a_fit_that_ends_after_its_charge_says_that_it_stays_spent(
    work: Work, book: Path, place: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def ending(*_: object, **__: object) -> None:
        raise error

    before = len(Book(book).read().events)
    monkeypatch.setattr("longsynth.release.run.fit", ending)
    said = notes(ended(work, book, place))
    assert f"Entry {before + 1} of {book} is charged and stays spent." in said
    assert len(Book(book).read().events) == before + 1


def test_a_fit_that_is_refused_before_its_charge_does_not(
    work: Work, book: Path, place: Path
) -> None:
    refusal = ended(work, book, place, epsilon=16.0)
    assert isinstance(refusal, OverBudget)
    assert not any("spent" in note for note in notes(refusal))
