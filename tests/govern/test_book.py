"""The rules of a budget book: caps that never move, exact sums, parents that pay as well."""

import os
import re
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from govern.book_support import CAP, failures, fits, ledger_of, new_book, share, spent
from longsynth.govern.book import Book, _largest_epsilon, file, init_book
from longsynth.govern.book.entries import DEEPEST
from longsynth.govern.provenance import Provenance, provenance_json, read_provenance
from longsynth.privacy.budget import ACCOUNTINGS, Accounting, Budget
from longsynth.privacy.ledger import Ledger
from longsynth.system.errors import Code, OverBudget, Refused
from refusals import refused
from support import small_plan


@pytest.fixture(scope="module")
def unused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_book(tmp_path_factory.mktemp("unused") / "book").path


@pytest.fixture
def book(unused: Path, tmp_path: Path) -> Book:
    return Book(shutil.copy(unused, tmp_path / "book"))


def test_three_thirds_of_a_cap_fit_exactly_and_not_a_bit_more(book: Book) -> None:
    for _ in range(3):
        book.charge("ward A", share(3))
    assert spent(book, "ward A") == CAP.rho
    with pytest.raises(OverBudget, match="used up"):
        book.charge("ward A", ledger_of(Fraction(1, 10**180)))
    assert fits(book, "ward A") == 3


def test_a_charge_above_the_cap_by_one_part_in_10_to_the_30_is_refused(book: Book) -> None:
    above = CAP.rho * (1 + Fraction(1, 10**30))
    with pytest.raises(OverBudget, match=r"costs ρ=\d+/\d+ but \d+/\d+ of 2.40206 is left"):
        book.charge("ward A", ledger_of(above))
    assert spent(book, "ward A") == 0


def test_a_planned_fit_is_charged_what_its_ledger_says(book: Book) -> None:
    planned = small_plan(80, epsilon=4.0).ledger
    receipt = book.charge("ward A", planned, method="trust")
    assert [a.dataset for a in receipt.accounts] == ["ward A", "hospital"]
    assert all(a.spent == planned.spent == Budget(4.0, 1e-5, "zcdp").rho for a in receipt.accounts)
    assert receipt.accounts[0].cap == CAP
    found = book.read()
    assert receipt.entry == len(found.events) == 5
    assert receipt.head == found.head


def test_the_receipt_can_stand_in_a_release(book: Book) -> None:
    found = Provenance(book=book.charge("ward A", share(7)))
    assert read_provenance(provenance_json(found)) == found


def test_a_childs_fit_is_refused_when_the_parent_is_full_though_the_child_is_not(
    book: Book,
) -> None:
    book.charge("hospital", share(1))
    with pytest.raises(OverBudget, match="is left for 'hospital'"):
        book.charge("ward A", share(1000))
    assert spent(book, "ward A") == 0


def test_two_children_share_the_cap_of_their_parent(book: Book) -> None:
    book.charge("ward A", share(2))
    book.charge("ward B", share(2))
    assert spent(book, "hospital") == CAP.rho
    assert spent(book, "ward A") == spent(book, "ward B") == CAP.rho / 2
    for ward in ("ward A", "ward B"):
        with pytest.raises(OverBudget, match="is left for 'hospital'"):
            book.charge(ward, share(1000))


def test_a_fit_of_the_parent_is_not_charged_to_a_child(book: Book) -> None:
    book.charge("hospital", share(2))
    assert (spent(book, "ward A"), spent(book, "hospital")) == (0, CAP.rho / 2)


def test_a_refused_charge_leaves_no_trace(book: Book) -> None:
    before = book.path.read_bytes()
    with pytest.raises(OverBudget, match="Nothing was charged or released"):
        book.charge("ward B", share(1))  # fits the parent, not the child
    assert book.path.read_bytes() == before


def test_a_refusal_names_an_epsilon_that_is_then_accepted(book: Book) -> None:
    book.charge("ward B", small_plan(80, epsilon=6.0).ledger)
    with pytest.raises(OverBudget, match=r"epsilon of at most ([\d.]+) at this delta") as refusal:
        book.charge("ward B", small_plan(80, epsilon=6.0, delta=1e-6).ledger)
    named = float(str(refusal.value).split("at most ")[1].split()[0])
    with pytest.raises(OverBudget):
        book.charge("ward B", small_plan(80, epsilon=named * 1.001, delta=1e-6).ledger)
    book.charge("ward B", small_plan(80, epsilon=named, delta=1e-6).ledger)


@pytest.mark.parametrize("accounting", ACCOUNTINGS)
def test_the_named_epsilon_costs_no_more_than_is_left(accounting: Accounting) -> None:
    for rho in (Fraction(1, 3), Fraction(10**6)):
        found = _largest_epsilon(rho, 1e-6, accounting)
        assert found is not None
        assert Budget(found, 1e-6, accounting).rho <= rho
    exact = Budget(2.0, 1e-6, accounting).rho
    assert _largest_epsilon(exact, 1e-6, accounting) == 2.0
    assert _largest_epsilon(exact - Fraction(1, 10**30), 1e-6, accounting) == 1.999
    assert _largest_epsilon(Fraction(0), 1e-6, accounting) is None


@pytest.mark.parametrize("again", ["ward A", "Ward a", "ward  A", "ward A ", "ｗard A"])
def test_a_cap_is_never_changed_nor_a_name_taken_that_could_be_mistaken(
    book: Book, again: str
) -> None:
    with refused(Code.CAP_FIXED):
        book.grant(again, Budget(20.0, 1e-5, "zcdp"))
    assert len(book.read().events) == 4


def test_what_no_cap_was_granted_for_cannot_be_charged_nor_be_a_parent(book: Book) -> None:
    for attempt in (
        lambda: book.charge("ward C", share(9)),
        lambda: book.grant("bed 1", CAP, "ward C"),
        lambda: book.grant("ward C", CAP, "ward C"),
    ):
        with refused(Code.DATASET_UNKNOWN):
            attempt()


@pytest.mark.parametrize("name", ["", " ward", "ward\n", "a|b", "x" * 101, "<b>", "[bold]"])
def test_only_plain_names_are_written(book: Book, name: str, tmp_path: Path) -> None:
    for attempt in (
        lambda: book.grant(name, CAP),
        lambda: book.charge("ward A", share(9), method=name),
        lambda: init_book(tmp_path / "other", name),
    ):
        with refused(Code.NAME_UNUSABLE):
            attempt()
    assert not (tmp_path / "other").exists()
    assert failures(book) == []


def test_parents_have_a_limit(book: Book) -> None:
    parent = "ward A"
    for depth in range(3, DEEPEST + 1):
        book.grant(f"part {depth}", CAP, parent)
        parent = f"part {depth}"
    with refused(Code.NAME_UNUSABLE):
        book.grant("one too many", CAP, parent)
    assert len(book.charge(parent, share(9)).accounts) == DEEPEST


def test_a_fit_without_a_promise_cannot_be_charged(book: Book) -> None:
    bare = replace(share(9).entries[0], rho=None)
    for ledger in (
        Ledger(None, 80),
        Ledger(CAP, 80),
        replace(share(9), entries=(bare,)),
        replace(share(9), entries=(*share(9).entries, bare)),
    ):
        with refused(Code.NOT_PRIVATE):
            book.charge("ward A", ledger)


def test_a_total_that_a_release_could_not_state_exactly_is_refused(book: Book) -> None:
    book.charge("ward A", ledger_of(Fraction(1, 3**400)))
    with refused(Code.BOOK_UNUSABLE):
        book.charge("ward A", ledger_of(Fraction(1, 2**400)))
    with refused(Code.BOOK_UNUSABLE):  # though their sum has fewer
        book.charge("ward A", ledger_of(Fraction(1, 2**600) - Fraction(1, 3**400)))
    with refused(Code.BOOK_UNUSABLE):  # above the line
        book.charge("hospital", ledger_of(2 - Fraction(1, 7 * 10**199)))
    assert fits(book, "ward A") == 1


def test_whole_numbers_as_epsilon_are_the_same_promise(book: Book) -> None:
    book.grant("ward C", Budget(4, 1e-5, "zcdp"))
    assert book.read().balance.accounts["ward C"].grant.cap == Budget(4.0, 1e-5, "zcdp")


class TestGaussianCaps:
    """Exact Gaussian accounting holds if all noise under the cap is fine enough, taken together."""

    A = 1.5e-7  # of one fit; the cap of all is 4e-7

    @pytest.fixture
    def book(self, tmp_path: Path) -> Book:
        book = init_book(tmp_path / "exact book")
        book.grant("exact", Budget(12.0, 1e-5, "gaussian"))
        book.grant("below", CAP, "exact")
        book.grant("below as well", CAP, "exact")
        book.grant("plain", CAP)
        return book

    def coarse(self) -> Ledger:
        return ledger_of(Fraction(1, 100), sigma=1e6, numbers=round(self.A * 24e12))

    def test_the_sum_A_runs_over_all_fits_under_the_cap(self, book: Book) -> None:
        book.charge("below", self.coarse())
        book.charge("below as well", self.coarse())
        for dataset in ("below", "below as well", "exact"):
            with pytest.raises(OverBudget, match=r"TOO COARSE.*Ask for a smaller epsilon"):
                book.charge(dataset, self.coarse())
        assert fits(book, "exact") == 2
        assert failures(book) == []

    def test_the_least_sigma_counts_whatever_the_rest(self, book: Book) -> None:
        # γ = (2tμ + μ²)/24s² with μ = 2.32, t = 7.2: 1e-9 at s = 40,000
        book.charge("exact", ledger_of(Fraction(1, 100), sigma=50_000.0, numbers=1))
        with pytest.raises(OverBudget, match="TOO COARSE"):
            book.charge("exact", ledger_of(Fraction(1, 100), sigma=35_000.0, numbers=1))

    def test_other_accountings_need_none_of_this(self, book: Book) -> None:
        for _ in range(3):
            book.charge("plain", self.coarse())
        book.charge("plain", ledger_of(Fraction(1, 100), sigma=5.0))


def test_a_book_belongs_to_its_owner_alone_and_leaves_no_second_file(
    tmp_path: Path,
) -> None:
    old = os.umask(0)
    try:
        book = new_book(tmp_path / "book")
    finally:
        os.umask(old)
    book.charge("ward A", share(9))
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["book"]


def test_a_charge_is_synced_with_its_folder_before_the_receipt(book: Book) -> None:
    with file.opened(book.path, 1.0) as connection:
        (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
        (full,) = connection.execute("PRAGMA fullfsync").fetchone()
    assert (synchronous, journal, full) == (3, "delete", 1)


def test_no_event_tells_more_of_time_than_the_day(book: Book) -> None:
    book.charge("ward A", share(9))
    with sqlite3.connect(book.path) as raw:
        texts = [text for (text,) in raw.execute("SELECT content FROM events")]
    raw.close()
    assert len(texts) == 5
    assert not any(re.search(r"\d\d:\d\d", text) for text in texts)
    assert all(re.search(r'"day":"\d{4}-\d\d-\d\d"', text) for text in texts)


def test_an_existing_path_is_never_overwritten(book: Book, tmp_path: Path) -> None:
    before = book.path.read_bytes()
    with refused(Code.OUTPUT_EXISTS):
        init_book(book.path)
    assert book.path.read_bytes() == before
    with refused(Code.OUTPUT_EXISTS):
        init_book(tmp_path)
    with refused(Code.OUTPUT_NOT_WRITTEN):
        init_book(tmp_path / "no" / "book")


def test_a_book_that_cannot_be_finished_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("disk full")

    monkeypatch.setattr(file, "append", full)
    with pytest.raises(Refused):
        init_book(tmp_path / "book")
    assert list(tmp_path.iterdir()) == []


def every_use(book: Book) -> list[Callable[[], object]]:
    return [
        lambda: book.charge("ward A", share(9)),
        lambda: book.grant("ward C", CAP),
        book.read,
        book.verify,
    ]


def test_no_use_of_a_book_creates_one(tmp_path: Path) -> None:
    for use in every_use(Book(tmp_path / "book")):
        with refused(Code.FILE_MISSING):
            use()
    with pytest.raises(Refused), file.opened(tmp_path / "book", 1.0):  # removed at this moment
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_a_book_gets_a_sentence(book: Book, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "second name").hardlink_to(book.path)
    for path, code in (
        (tmp_path, Code.BOOK_UNUSABLE),
        (tmp_path / "empty", Code.BOOK_UNUSABLE),
        (tmp_path / "pipe", Code.BOOK_UNUSABLE),
        (book.path, Code.BOOK_UNUSABLE),
        (book.path / "below", Code.FILE_UNREADABLE),
    ):
        for use in every_use(Book(path)):
            with refused(code):
                use()
    (tmp_path / "second name").unlink()
    assert failures(book) == []


def test_a_file_that_is_not_ours_is_refused_and_left_alone(tmp_path: Path) -> None:
    alien, text = tmp_path / "alien", tmp_path / "text"
    with sqlite3.connect(alien) as raw:
        raw.execute("CREATE TABLE patients (id, name)")
    raw.close()
    text.write_text("a diary\n" * 1000)
    for path in (alien, text):
        before = path.read_bytes()
        for use in every_use(Book(path))[:3]:
            with pytest.raises(Refused, match=r"NOT marked as a budget book|is not a budget book"):
                use()
        assert failures(Book(path))
        assert path.read_bytes() == before


def test_a_path_with_odd_characters_is_a_path(tmp_path: Path) -> None:
    book = new_book(tmp_path / "50 % of #1? é.book")
    book.charge("ward A", share(9))
    assert [p.name for p in tmp_path.iterdir()] == ["50 % of #1? é.book"]


def test_a_book_that_others_hold_is_waited_for_and_then_refused(book: Book) -> None:
    holder = sqlite3.connect(book.path, isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        for use in every_use(Book(book.path, patience=0.05)):
            with refused(Code.OUTPUT_BUSY):
                use()
        holder.execute("ROLLBACK")
    finally:
        holder.close()
    book.charge("ward A", share(9))


def test_a_write_ahead_log_is_refused_because_it_keeps_charges_in_a_second_file(
    book: Book,
) -> None:
    raw = sqlite3.connect(book.path)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.close()
    for use in every_use(book):
        with refused(Code.BOOK_UNUSABLE):
            use()


@contextmanager
def nobody() -> Iterator[None]:
    """As a user whom permissions bind."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_book_that_may_only_be_read_can_be_verified_and_not_charged() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        book = new_book(Path(folder) / "book")
        book.path.chmod(0o444)
        Path(folder).chmod(0o555)
        try:
            with nobody():
                assert failures(book) == []
                with refused(Code.OUTPUT_NOT_WRITTEN):
                    book.charge("ward A", share(9))
                with refused(Code.OUTPUT_NOT_WRITTEN):
                    init_book(Path(folder) / "other")
        finally:
            Path(folder).chmod(0o755)
        assert fits(book, "ward A") == 0
