"""Book: open, grant, charge, read, verify. Charges are final; there is no way to undo one."""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from longsynth.govern.book import file
from longsynth.govern.book.balance import Balance
from longsynth.govern.book.events import (
    FORMAT,
    Charged,
    Event,
    Granted,
    Opened,
    link,
    new_nonce,
    parse,
    text_of,
    today,
    written_budget,
)
from longsynth.govern.book.file import APPLICATION, TABLES
from longsynth.govern.provenance import Account, Receipt, require_name
from longsynth.privacy.budget import LARGEST_EPSILON, Accounting, Budget, epsilon_of
from longsynth.privacy.ledger import Ledger
from longsynth.system.errors import OverBudget, Refused
from longsynth.system.finding import Finding
from longsynth.system.text import as_typed, command_line


@dataclass(frozen=True, slots=True)
class Examined:
    """A book as found. Events and balance reach as far as the entries can be relied on."""

    findings: list[Finding] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    balance: Balance = field(default_factory=Balance)

    @property
    def failure(self) -> str | None:
        return next((f.sentence for f in self.findings if not f.good), None)

    @property
    def head(self) -> str:
        return self.hashes[-1] if self.hashes else ""


def examine(connection: sqlite3.Connection) -> Examined:
    """Return what a book holds and one finding for each check. Call it inside a transaction."""
    examined = Examined()
    examined.findings.extend(_as_laid_out(connection))
    if examined.failure:  # a table or trigger that is not ours: no row can be relied on
        return examined
    rows = connection.execute("SELECT number, content, hash FROM events ORDER BY number").fetchall()
    ends = connection.execute("SELECT number, hash FROM head").fetchall()
    examined.findings.extend(_chained(rows, ends, examined))
    if not examined.failure:
        examined.findings.extend(_followed(examined))
    return examined


def caps_hold(examined: Examined) -> Iterator[Finding]:
    """Of each dataset: is the cap what its ε and δ buy, and was no more of it spent?"""
    for name, standing in examined.balance.standings.items():
        cap, rho = standing.grant.cap, standing.grant.rho
        promise = f"ε = {as_typed(cap.epsilon)}, δ = {as_typed(cap.delta)}"
        try:
            examined.balance.require_sound_cap(name)
        except Refused as refusal:
            yield Finding(False, str(refusal))
            continue
        yield Finding(
            standing.left >= 0,
            f"'{name}': {standing.fits} {'fit' if standing.fits == 1 else 'fits'} spent "
            f"ρ = {float(standing.spent):.6g} of the {float(rho):.6g} that {promise} allow under "
            f"'{cap.accounting}'.",
        )


def heads_found(examined: Examined, heads: Iterable[str]) -> Iterator[Finding]:
    """A chain cannot tell that its end is missing; a head that was noted elsewhere can."""
    for head in heads:
        if head in examined.hashes:
            number = examined.hashes.index(head) + 1
            yield Finding(
                True, f"head {head[:12]}… is that of entry {number}: all up to it stands."
            )
        else:
            yield Finding(
                False,
                f"head {head[:12]}… is NOT in the book: entries were removed or rewritten since it "
                "was noted, or it is of another book.",
            )


def last(examined: Examined) -> Finding:
    return Finding(True, f"the head after entry {len(examined.events)} is {examined.head}.")


def _as_laid_out(connection: sqlite3.Connection) -> Iterator[Finding]:
    # also before a charge: one written to a damaged page is lost
    good = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    yield Finding(good, f"SQLite finds the file {'whole' if good else 'DAMAGED'}.")
    marks = [
        connection.execute(f"PRAGMA {m}").fetchone() for m in ("application_id", "user_version")
    ]
    good = marks == [(APPLICATION,), (FORMAT,)]
    yield Finding(
        good,
        f"the file {'is' if good else 'is NOT'} marked as a budget book of format {FORMAT}.",
    )
    found = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    known = [("table", name, statement) for name, statement in TABLES.items()]
    strange = sorted(f"{kind} {name!r}" for kind, name, _ in set(found) - set(known))
    lacking = sorted(f"{kind} {name!r}" for kind, name, _ in set(known) - set(found))
    yield Finding(
        not strange and not lacking,
        "it has the tables of a book and nothing else."
        if not strange and not lacking
        else "it does NOT have the tables of a book and nothing else; it lacks "
        f"{', '.join(lacking) or 'nothing'} and has besides {', '.join(strange) or 'nothing'}.",
    )


def _chained(rows: list[Any], ends: list[Any], examined: Examined) -> Iterator[Finding]:
    numbers = [number for number, _, _ in rows]
    good = bool(rows) and numbers == list(range(1, len(rows) + 1))
    yield Finding(
        good,
        f"entries 1 to {len(rows)} are there without a gap."
        if good
        else "entries are MISSING, or numbered otherwise than 1, 2, 3 and so on.",
    )
    previous = ""
    for number, text, stated in rows:
        if not isinstance(text, str) or link(previous, text) != stated:
            yield Finding(False, f"entry {number} does NOT have the hash that its text gives.")
            return
        event = parse(text)
        if event is None:
            yield Finding(False, f"entry {number} is NOT an event that longsynth writes.")
            return
        examined.events.append(event)
        examined.hashes.append(stated)
        previous = stated
    yield Finding(True, "each entry has the hash that its text and the entry before it give.")
    good = ends == [(len(rows), previous)]
    yield Finding(
        good,
        "the last entry is the one that the book itself names as its last."
        if good
        else "the last entry is NOT the one that the book names as its last: some were cut off.",
    )


def _followed(examined: Examined) -> Iterator[Finding]:
    """Replay the book from its first entry under the rules that each entry had to pass."""
    for number, event in enumerate(examined.events, 1):
        try:
            examined.balance.take(event)
        except Refused as refusal:
            yield Finding(False, f"entry {number} should NOT have been accepted: {refusal}")
            return
    yield Finding(True, "every entry was within its caps when it was written.")


PATIENCE = 60.0  # seconds to wait while other processes charge


def init_book(path: Path | str, owner: str | None = None) -> "Book":
    """Create a book, readable by its owner alone. When this returns, it is on the disk."""
    if owner is not None:
        require_name(owner)
    path, event = Path(path), Opened(owner, new_nonce(), today())
    file.create(path)
    try:
        with file.opened(path, PATIENCE) as connection, file.transaction(connection, "IMMEDIATE"):
            file.lay_out(connection)
            file.append(connection, 1, text_of(event), link("", text_of(event)))
        file.sync_folder(path)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    return Book(path)


class Book:
    """One file per data owner. Processes may use it at the same time; none holds it open."""

    def __init__(self, path: Path | str, *, patience: float = PATIENCE) -> None:
        self.path, self._patience = Path(path), patience

    def grant(self, dataset: str, budget: Budget, parent: str | None = None) -> Receipt:
        """Fix the cap of a new dataset. (ε, δ) becomes ρ here, once, rounded down."""
        require_name(dataset)
        cap = written_budget(budget.epsilon, budget.delta, budget.accounting)
        return self._write(Granted(dataset, cap, cap.rho, parent, today()))

    def charge(self, dataset: str, ledger: Ledger, *, method: str | None = None) -> Receipt:
        """Charge a planned fit to its dataset and all parents, or refuse it whole.

        When this returns, the charge is on the disk: only then may noise be drawn. It stays
        spent, whatever becomes of the fit.
        """
        if ledger.budget is None or not ledger.private or ledger.spent <= 0:
            raise Refused("a fit without a budget is NOT PRIVATE: no book can account for it.")
        if method is not None:
            require_name(method)
        asked = ledger.budget
        wanted = Charged(
            dataset,
            method,
            ledger.patients,
            written_budget(asked.epsilon, asked.delta, asked.accounting),
            ledger.spent,
            tuple((e.statistic.dimension, e.sigma) for e in ledger.entries),
            new_nonce(),
            today(),
        )
        try:
            return self._write(wanted)
        except OverBudget as refusal:
            raise OverBudget(
                f"refused a fit of '{dataset}': {refusal} Nothing was charged or released. "
                f"{self._remedy(wanted)}"
            ) from None

    def read(self) -> Examined:
        """Return everything in the book; refuse one whose entries do not follow each other."""
        with self._transaction("DEFERRED") as connection:
            return self._sound(examine(connection))

    def verify(self, heads: Iterable[str] = ()) -> list[Finding]:
        """Return one finding for each check. `heads` were noted elsewhere and must occur."""
        heads = [head.strip().lower() for head in heads]
        if not all(re.fullmatch("[0-9a-f]{64}", head) for head in heads):
            raise Refused("a head is 64 digits from 0 to 9 and a to f, as `budget show` prints it.")
        try:
            with self._transaction("DEFERRED") as connection:
                examined = examine(connection)
        except file.Damaged as damage:
            return [Finding(False, str(damage))]
        findings = [*examined.findings, *heads_found(examined, heads)]
        return findings if examined.failure else [*findings, *caps_hold(examined), last(examined)]

    def _write(self, event: Granted | Charged) -> Receipt:
        text = text_of(event)
        with self._transaction("IMMEDIATE") as connection:  # no other process can write from here
            examined = self._sound(examine(connection))
            examined.balance.take(event)
            lineage = examined.balance.lineage(event.dataset)
            for standing in lineage:
                examined.balance.require_sound_cap(standing.grant.dataset)
            if parse(text) != event:
                raise AssertionError("a book must be able to read what it writes")
            number, head = len(examined.events) + 1, link(examined.head, text)
            file.append(connection, number, text, head)
        accounts = (Account(s.grant.dataset, s.grant.cap, s.spent) for s in lineage)
        return Receipt(number, head, tuple(accounts))

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[Connection]:
        file.require_book_file(self.path)
        with (
            file.opened(self.path, self._patience) as connection,
            file.transaction(connection, kind),
        ):
            yield connection

    def _sound(self, examined: Examined) -> Examined:
        if examined.failure:
            raise Refused(
                f"{self.path} cannot be relied on: {examined.failure} Nothing was charged; see "
                f"`{command_line('budget', 'verify', self.path)}`."
            )
        return examined

    def _remedy(self, wanted: Charged) -> str:
        left = min(s.left for s in self.read().balance.lineage(wanted.dataset))
        if left >= wanted.rho:
            return "Ask for a smaller epsilon, which makes the noise finer against its rounding."
        asked = wanted.budget
        largest = _largest_epsilon(left * asked.rho / wanted.rho, asked.delta, asked.accounting)
        if largest is None:
            return "The budget is used up, and a cap is never raised."
        return (
            f"Ask for an epsilon of at most {largest:g} at this delta and accounting; a cap is "
            "never raised."
        )


def _largest_epsilon(rho: Fraction, delta: float, accounting: Accounting) -> float | None:
    """Return an ε of four digits that costs no more than ρ, or None if even the least does."""
    four = Context(prec=4, rounding=ROUND_FLOOR)
    exact = min(epsilon_of(rho, delta, accounting), LARGEST_EPSILON) if rho > 0 else 0.0
    epsilon = four.create_decimal(repr(float(exact)))
    while epsilon >= four.create_decimal("1e-6"):
        if Budget(float(epsilon), delta, accounting).rho <= rho:
            return float(epsilon)
        epsilon = epsilon.next_minus(four)
    return None
