"""A fit that is charged to a budget book: charged first, noised then, and never over the cap."""

import os
import signal
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from govern.book_support import failures, fits, forked, in_a_new_python, new_book, spent
from longsynth import OverBudget, Refused, run_fit, simulate, simulated_schema
from longsynth.govern.book import Book, init_book
from longsynth.privacy.budget import Budget
from longsynth.system.origin import surroundings
from support import NoNoise, write_checked

PROMISE = {"epsilon": 4.0, "delta": 1e-5, "method": "trust", "accounting": "zcdp"}
RHO = Budget(4.0, 1e-5, "zcdp").rho


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cohort")
    write_checked(folder, simulated_schema(), simulate(40, seed=3).batches(40))
    return folder


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return new_book(tmp_path / "book")


class Watchful(NoNoise):
    """Notes what the book says whenever noise is asked for."""

    def __init__(self, book: Book) -> None:
        self.book, self.seen = book, list[Fraction]()

    def add(self, sums: np.ndarray, *, sigma: float, sensitivity: float, rho: float) -> np.ndarray:
        self.seen.append(spent(self.book, "ward A"))
        return super().add(sums, sigma=sigma, sensitivity=sensitivity, rho=rho)


class Fatal(NoNoise):
    """The process dies as soon as noise is asked for."""

    def add(self, sums: np.ndarray, *, sigma: float, sensitivity: float, rho: float) -> np.ndarray:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def killed_in_its_noise(cohort: str, out: str, book: str) -> None:
    charged = {"book": Path(book), "dataset": "ward A"}
    work = lambda: run_fit(Path(cohort), Path(out), **PROMISE, **charged, noise=Fatal())  # noqa: E731
    _, status = os.waitpid(forked(work), 0)
    sys.stdout.write(str(os.WIFSIGNALED(status)))


def twelve_at_once(cohort: str, folder: str, book: str) -> None:
    def work(number: int) -> None:
        out = Path(folder) / f"run {number}"
        run_fit(Path(cohort), out, **PROMISE, book=Path(book), dataset="four fits", noise=NoNoise())

    surroundings()  # imports that every fit needs, once
    pids = [forked(lambda number=number: work(number)) for number in range(12)]
    sys.stdout.write(" ".join(str(os.waitpid(pid, 0)[1]) for pid in pids))


def test_the_charge_is_in_the_book_before_any_noise_is_drawn(
    cohort: Path, book: Book, tmp_path: Path
) -> None:
    noise = Watchful(book)
    run_fit(cohort, tmp_path / "run", **PROMISE, book=book.path, dataset="ward A", noise=noise)
    assert len(noise.seen) > 1
    assert set(noise.seen) == {RHO}
    assert failures(book) == []


def test_the_statement_quotes_cap_total_and_head(cohort: Path, book: Book, tmp_path: Path) -> None:
    for number in (1, 2):
        out = tmp_path / f"run {number}"
        run_fit(cohort, out, **PROMISE, book=book.path, dataset="ward A", noise=NoNoise())
    text = (tmp_path / "run 2/release/STATEMENT.md").read_text()
    assert "entry 6 of the data owner's budget book" in text
    assert "| ward A | ε = 12, δ = 1e-05 |" in text
    assert "| hospital | ε = 12, δ = 1e-05 |" in text
    assert "0.746288 of 2.40206" in text
    assert book.read().head in text
    assert "not added up" not in text
    assert book.read().events[-1].method == "trust"


def test_a_fit_without_a_book_says_that_nothing_was_added_up(cohort: Path, tmp_path: Path) -> None:
    run_fit(cohort, tmp_path / "run", **PROMISE, noise=NoNoise())
    assert "were not added up" in (tmp_path / "run/release/STATEMENT.md").read_text()


def test_a_fit_over_the_cap_is_refused_before_its_noise_and_writes_nothing(
    cohort: Path, book: Book, tmp_path: Path
) -> None:
    noise = Watchful(book)
    with pytest.raises(OverBudget, match="is left for 'ward B'"):
        run_fit(
            cohort,
            tmp_path / "run",
            epsilon=9.0,
            delta=1e-5,
            book=book.path,
            dataset="ward B",
            noise=noise,
        )
    assert noise.seen == []
    assert not (tmp_path / "run").exists()
    assert fits(book, "ward B") == 0


def test_a_fit_refused_for_another_reason_costs_nothing(
    cohort: Path, book: Book, tmp_path: Path
) -> None:
    charged = {"book": book.path, "dataset": "ward A", "noise": NoNoise()}
    (tmp_path / "taken").mkdir()
    for wrong in (
        lambda: run_fit(cohort, tmp_path / "taken", **PROMISE, **charged),
        lambda: run_fit(tmp_path / "nowhere", tmp_path / "run", **PROMISE, **charged),
        lambda: run_fit(cohort, tmp_path / "run", **(PROMISE | {"method": "unknown"}), **charged),
        lambda: run_fit(cohort, tmp_path / "run", epsilon=0.0, delta=1e-5, **charged),
        lambda: run_fit(cohort, tmp_path / "run", method="bootstrap", **charged),
        lambda: run_fit(cohort, tmp_path / "run", **PROMISE, book=book.path, noise=NoNoise()),
        lambda: run_fit(cohort, tmp_path / "run", **PROMISE, dataset="ward A", noise=NoNoise()),
    ):
        with pytest.raises(Refused):
            wrong()
    assert fits(book, "hospital") == 0
    assert not (tmp_path / "run").exists()


def test_a_fit_killed_between_charge_and_noise_is_spent(
    cohort: Path, book: Book, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    done = in_a_new_python(
        "test_book_fit.killed_in_its_noise", str(cohort), str(out), str(book.path)
    )
    assert done.stdout == "True", done.stderr
    assert spent(book, "ward A") == spent(book, "hospital") == RHO
    assert not out.exists()
    assert failures(book) == []


def test_of_twelve_fits_at_once_exactly_those_that_the_cap_pays_for_are_released(
    cohort: Path, tmp_path: Path
) -> None:
    book = init_book(tmp_path / "book")
    cap = Budget(9.6, 1e-5, "zcdp")
    assert 4 * RHO < cap.rho < 5 * RHO
    book.grant("four fits", cap)
    done = in_a_new_python(
        "test_book_fit.twelve_at_once", str(cohort), str(tmp_path), str(book.path)
    )
    assert done.stdout.split() == ["0"] * 12, done.stderr
    assert len(list(tmp_path.glob("run */release/STATEMENT.md"))) == 4
    assert fits(book, "four fits") == 4
    assert failures(book) == []
