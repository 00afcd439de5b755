"""Whoever changes a book by hand is found by `verify`, and nothing is charged to it any more."""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from govern.book_support import CAP, failures, ledger_of, new_book, share, spent
from longsynth.govern.book import Book
from longsynth.govern.book.entries import link, parse
from longsynth.system.errors import Code, Refused
from refusals import refused


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    book = new_book(tmp_path_factory.mktemp("original") / "book")
    for dataset in ("ward A", "ward B", "ward A", "hospital"):
        book.charge(dataset, share(7), method="trust")
    return book.path


@pytest.fixture
def book(original: Path, tmp_path: Path) -> Book:
    return Book(shutil.copy(original, tmp_path / "book"))


def by_hand(book: Book, script: str) -> None:
    raw = sqlite3.connect(book.path)
    raw.executescript(f"PRAGMA synchronous = OFF; BEGIN; {script}; COMMIT;")
    raw.close()


def rewrite(book: Book, change: Callable[[list[str]], list[str]]) -> None:
    """What a forger with patience does: change texts, and make chain and head fit them."""
    raw = sqlite3.connect(book.path)
    raw.execute("PRAGMA synchronous = OFF")
    texts = change([text for (text,) in raw.execute("SELECT content FROM events ORDER BY number")])
    raw.execute("DELETE FROM events")
    head = ""
    for number, text in enumerate(texts, 1):
        head = link(head, text)
        raw.execute("INSERT INTO events VALUES (?, ?, ?)", (number, text, head))
    raw.execute("UPDATE head SET number = ?, hash = ?", (len(texts), head))
    raw.commit()
    raw.close()


def test_an_untouched_book_holds(book: Book) -> None:
    assert failures(book) == []
    assert failures(book, *book.read().hashes) == []


TAMPERED = {
    "a number, of the last": "UPDATE events SET number = 99 WHERE number = 8",
    "a number, of the first": "UPDATE events SET number = 0 WHERE number = 1",
    "a price": 'UPDATE events SET content = replace(content, \'"rho":"\', \'"rho":"1/9\')'
    " WHERE number = 6",
    "a cap's ε": "UPDATE events SET content = replace(content, '12.0', '16.0') WHERE number = 2",
    "a cap's ρ": 'UPDATE events SET content = replace(content, \'"rho":"1\', \'"rho":"9\')'
    " WHERE number = 2",
    "a parent": 'UPDATE events SET content = replace(content, \'"parent":"hospital"\', '
    "'\"parent\":null') WHERE number = 3",
    "a dataset": "UPDATE events SET content = replace(content, 'ward A', 'ward B')"
    " WHERE number = 5",
    "the owner": "UPDATE events SET content = replace(content, 'the owner', 'someone')",
    "a day": 'UPDATE events SET content = replace(content, \'"day":"20\', \'"day":"19\')'
    " WHERE number = 8",
    "a space": "UPDATE events SET content = content || ' ' WHERE number = 8",
    "text that is none": "UPDATE events SET content = cast(x'ff00fe' AS TEXT) WHERE number = 4",
    "bytes for text": "UPDATE events SET content = cast(content AS BLOB) WHERE number = 8",
    "a hash, of the last": f"UPDATE events SET hash = '{'0' * 64}' WHERE number = 8",
    "a hash, of the first": f"UPDATE events SET hash = '{'0' * 64}' WHERE number = 1",
    "a hash in capitals": "UPDATE events SET hash = upper(hash)",
    "the first deleted": "DELETE FROM events WHERE number = 1",
    "one in the middle deleted": "DELETE FROM events WHERE number = 5",
    "the gap closed": "DELETE FROM events WHERE number = 5;"
    "UPDATE events SET number = number - 1 WHERE number > 5",
    "the last deleted": "DELETE FROM events WHERE number = 8",
    "all deleted": "DELETE FROM events",
    "two exchanged": "UPDATE events SET number = -5 WHERE number = 5;"
    "UPDATE events SET number = 5 WHERE number = 6; UPDATE events SET number = 6 WHERE number = -5",
    "one twice": "INSERT INTO events SELECT 9, content, hash FROM events WHERE number = 8",
    "the head's number": "UPDATE head SET number = 7",
    "the head's hash": "UPDATE head SET hash = (SELECT hash FROM events WHERE number = 7)",
    "no head": "DELETE FROM head",
    "two heads": "INSERT INTO head SELECT * FROM head",
    "a trigger": "CREATE TRIGGER undo AFTER INSERT ON events BEGIN DELETE FROM head; END",
    "a table": "CREATE TABLE more (x)",
    "a view": "CREATE VIEW more AS SELECT 1",
    "an index": "CREATE INDEX more ON events (hash)",
    "a column": "ALTER TABLE events ADD COLUMN more",
    "a column renamed": "ALTER TABLE events RENAME COLUMN hash TO sum",
    "a table removed": "DROP TABLE head",
    "the mark": "PRAGMA application_id = 1",
    "the format": "PRAGMA user_version = 2",
}


@pytest.mark.parametrize("script", TAMPERED.values(), ids=TAMPERED)
def test_what_was_changed_by_hand_is_found_and_stops_every_charge(book: Book, script: str) -> None:
    by_hand(book, script)
    before = book.path.read_bytes()
    assert failures(book)
    for use in (
        lambda: book.charge("ward A", share(1000)),
        lambda: book.grant("ward C", CAP),
        book.read,
    ):
        with refused(Code.BOOK_DAMAGED):
            use()
    assert book.path.read_bytes() == before


def test_no_changed_byte_changes_an_entry_unnoticed(book: Book) -> None:
    intact, events = book.path.read_bytes(), book.read().events
    rng, found = np.random.default_rng(), 0
    for place in rng.integers(0, len(intact), 300):
        changed = bytearray(intact)
        changed[place] ^= 1 << int(rng.integers(8))
        book.path.write_bytes(changed)
        try:
            noticed = bool(failures(book))
        except Refused:  # for instance a changed byte says that there is a write-ahead log
            noticed = True
        if noticed:
            with pytest.raises(Refused):
                book.charge("ward A", share(1000))
        else:
            assert book.read().events == events
        found += noticed
    assert found > 20


def test_pages_that_sqlite_itself_finds_wrong_are_found(book: Book) -> None:
    changed = bytearray(book.path.read_bytes())
    changed[36:40] = (7).to_bytes(4, "big")  # how many pages are said to be free
    book.path.write_bytes(changed)
    assert failures(book) == ["SQLite finds the file DAMAGED."]
    with refused(Code.BOOK_DAMAGED):  # written to a damaged page it would be lost
        book.charge("ward A", share(1000))


def test_a_schema_damaged_beyond_text_is_found(book: Book) -> None:
    damaged = book.path.read_bytes().replace(b"TABLE events", b"TABLE (vents")
    book.path.write_bytes(damaged.replace(b"tableevents", b"table\xf3vents"))
    (found,) = failures(book)
    assert "is not a budget book, or it is damaged" in found
    with refused(Code.BOOK_DAMAGED):
        book.charge("ward A", share(1000))


@pytest.mark.parametrize("kept", [50, 512, 4096, 8192, 10_000])
def test_a_file_that_was_cut_is_found(book: Book, kept: int) -> None:
    book.path.write_bytes(book.path.read_bytes()[:kept])
    assert failures(book)
    with pytest.raises(Refused):
        book.charge("ward A", share(1000))


def test_an_old_copy_looks_right_and_only_a_noted_head_tells(book: Book, tmp_path: Path) -> None:
    old = Book(shutil.copy(book.path, tmp_path / "old"))
    receipt = book.charge("ward A", share(7))
    assert failures(book, receipt.head) == []
    assert failures(old) == []
    (found,) = failures(old, receipt.head)
    assert "NOT in the book" in found


def test_entries_cut_off_with_care_are_found_by_a_noted_head_alone(book: Book) -> None:
    noted = book.read().head
    rewrite(book, lambda texts: texts[:-1])
    assert failures(book) == []
    assert len(failures(book, noted)) == 1


def test_a_rewritten_price_is_found_by_a_noted_head_alone(book: Book) -> None:
    noted = book.read().hashes
    rewrite(book, lambda texts: [*texts[:5], re.sub('"rho":"', '"rho":"1/9', texts[5]), *texts[6:]])
    assert failures(book)  # 1/9… with a denominator of its own is not a number
    rewrite(book, lambda texts: [*texts[:5], *texts[6:]])
    assert failures(book) == []
    assert failures(book, noted[4]) == []
    assert len(failures(book, noted[5])) == 1


def test_a_forged_continuation_is_found_by_a_countersigned_head_alone(book: Book) -> None:
    """Two dear fits give way to two cheap ones, in a book as long as before and sound in itself."""
    noted = book.read()
    rewrite(book, lambda texts: texts[:6])
    for _ in range(2):
        book.charge("ward A", share(1000), method="trust")
    forged = book.read()
    assert len(forged.events) == len(noted.events)
    assert spent(book, "ward A") < noted.balance.accounts["ward A"].spent
    assert failures(book) == []
    assert failures(book, *noted.hashes[:6]) == []
    for head in noted.hashes[6:]:
        (found,) = failures(book, head)
        assert "NOT in the book" in found
    (found,) = failures(book, forged.head, noted.head)
    assert noted.head[:12] in found


def edited(text: str, **changes: object) -> str:
    return json.dumps(json.loads(text) | changes, sort_keys=True, separators=(",", ":"))


def test_a_cap_of_more_than_its_epsilon_buys_is_found_in_a_chain_that_fits(book: Book) -> None:
    rewrite(book, lambda texts: [texts[0], edited(texts[1], rho="3"), *texts[2:]])
    assert any("MORE than its ε and δ allow" in sentence for sentence in failures(book))
    with refused(Code.BOOK_DAMAGED):
        book.charge("ward A", share(1000))


def test_the_first_entry_past_a_cap_is_found_in_a_chain_that_fits(book: Book) -> None:
    rewrite(book, lambda texts: [*texts, *[texts[-1]] * 5])
    (found,) = failures(book)
    assert found.startswith("entry 12 should NOT have been accepted: it costs")


def test_a_chain_that_fits_and_does_not_open_once_is_found(book: Book) -> None:
    rewrite(book, lambda texts: texts[1:])
    assert "one opening entry" in failures(book)[0]
    with refused(Code.BOOK_DAMAGED):
        book.charge("ward A", share(1000))


def test_a_chain_that_fits_and_opens_twice_is_found(book: Book) -> None:
    rewrite(book, lambda texts: [*texts, texts[0]])
    assert "one opening entry" in failures(book)[0]


def test_noise_too_coarse_for_a_cap_is_found_in_a_chain_that_fits(book: Book) -> None:
    def coarse(texts: list[str]) -> list[str]:
        cap = edited(texts[1], accounting="gaussian")
        fit = edited(texts[7], noise=[{"numbers": 12, "sigma": 100.0}])
        return [texts[0], cap, *texts[2:7], fit]

    rewrite(book, coarse)
    assert any("TOO COARSE" in sentence for sentence in failures(book))


@pytest.mark.parametrize(
    "change",
    [
        {"rho": "0"},
        {"rho": "-1"},
        {"rho": "2/4"},
        {"rho": "1/0"},
        {"rho": "1e-3"},
        {"rho": 1},
        {"rho": "9" * 5000},
        {"epsilon": 4},
        {"epsilon": "4.0"},
        {"epsilon": float("nan")},
        {"delta": 2.0},
        {"accounting": ["zcdp"]},
        {"patients": 0},
        {"patients": True},
        {"patients": 1 << 53},
        {"patients": 80.0},
        {"noise": []},
        {"noise": [{"numbers": 1, "sigma": 0.0}]},
        {"noise": [{"numbers": 1, "sigma": float("inf")}]},
        {"noise": [{"numbers": 1, "sigma": 1e-200}]},
        {"noise": [{"numbers": 1, "sigma": 1e200}]},
        {"noise": [{"numbers": 10**400, "sigma": 9.0}]},
        {"noise": [{"numbers": -1, "sigma": 9.0}]},
        {"noise": {"numbers": 1, "sigma": 9.0}},
        {"dataset": None},
        {"dataset": "a|b"},
        {"method": "a|b"},
        {"nonce": "x"},
        {"nonce": None},
        {"day": "yesterday"},
        {"day": "20260101"},
        {"event": "refund"},
        {"more": 1},
    ],
    ids=str,
)
def test_an_entry_has_one_form_and_no_other(original: Path, change: dict[str, object]) -> None:
    raw = sqlite3.connect(original)
    (text,) = raw.execute("SELECT content FROM events WHERE number = 8").fetchone()
    raw.close()
    assert parse(edited(text)) is not None
    assert parse(edited(text, **change)) is None
    assert parse("[" * 100_000) is None
    assert parse("null") is None


def test_a_charge_cannot_lower_what_is_spent(book: Book) -> None:
    for rho in (-1, 0):
        with refused(Code.NOT_PRIVATE):
            book.charge("ward A", ledger_of(CAP.rho * rho))


def test_a_head_must_look_like_one(book: Book) -> None:
    with refused(Code.HEAD_MALFORMED):
        book.verify(["latest"])
    assert failures(book, f" {book.read().head.upper()}\n") == []
