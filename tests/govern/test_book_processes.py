"""Many processes, killed at any moment: nothing charged is lost, nothing is spent twice."""

from pathlib import Path

from govern.book_support import (
    CAP,
    failures,
    fits,
    in_a_new_python,
    new_book,
    share,
    spent,
)
from longsynth.govern.book import Book


def test_twelve_processes_spend_the_cap_exactly(tmp_path: Path) -> None:
    book, log = new_book(tmp_path / "book"), tmp_path / "log"
    done = in_a_new_python("book_support.crew", str(book.path), "ward A", 61, str(log), 0)
    assert done.returncode == 0, done.stderr
    receipts = [line.split() for line in log.read_text().splitlines()]
    assert len(receipts) == len({entry for entry, _ in receipts}) == 61
    assert fits(book, "ward A") == fits(book, "hospital") == 61
    assert spent(book, "ward A") == spent(book, "hospital") == CAP.rho
    assert failures(book) == []


def test_twelve_processes_under_kill_9_spend_the_cap_exactly_and_lose_no_charge(
    tmp_path: Path,
) -> None:
    book, log = new_book(tmp_path / "book"), tmp_path / "log"
    done = in_a_new_python("book_support.crew", str(book.path), "ward A", 89, str(log), 60)
    assert done.returncode == 0, done.stderr
    killed = int(done.stdout)
    assert killed >= 5  # how many depends on how fast the machine is
    hashes = book.read().hashes
    reported = [line.split() for line in log.read_text().splitlines()]
    assert all(hashes[int(entry) - 1] == head for entry, head in reported)
    assert fits(book, "ward A") == 89
    assert spent(book, "ward A") == CAP.rho
    assert 0 <= 89 - len(reported) <= killed  # charged, and killed before it could say so
    assert failures(book, *(head for _, head in reported)) == []


def test_a_process_killed_before_its_commit_has_charged_nothing_and_harmed_nothing(
    tmp_path: Path,
) -> None:
    book = new_book(tmp_path / "book")
    done = in_a_new_python("book_support.killed_at_every_statement", str(book.path), "ward A", 5)
    assert done.returncode == 0, done.stderr
    steps = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(steps) > 10
    assert [after for _, through, after in steps if not through] == [0] * (len(steps) - 1)
    assert steps[-1][1:] == (1, 1)
    assert failures(book) == []


def test_a_charge_that_the_disk_has_no_room_for_is_refused_and_the_book_stays_whole(
    tmp_path: Path,
) -> None:
    book = new_book(tmp_path / "book")
    done = in_a_new_python("book_support.charge_on_a_full_disk", str(book.path), "ward A", 500)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Refused: ")
    assert "the disk is full or failing. Free some space. Nothing was released" in done.stdout
    assert failures(book) == []
    before = fits(book, "ward A")
    Book(book.path).charge("ward A", share(500))
    assert fits(book, "ward A") == before + 1
