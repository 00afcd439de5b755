"""The budget book: what all fits about the same people cost together, and a cap on it.

Here is what can be done with a book: open, grant, charge, read, verify. Charges are final; there is
no way to undo one. entries.py has what is written down and the rules; file.py has the SQLite file,
written so that a charge is on the disk before anything is released.
"""

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
from longsynth.govern.book.entries import (
    FORMAT,
    Balance,
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
from longsynth.system.errors import Code, Finding, OverBudget, Refused
from longsynth.system.text import as_typed, command_line


@dataclass(frozen=True, slots=True)
class BookState:
    """What a book holds. Events and balance reach as far as the entries can be relied on."""

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


def read_state(connection: sqlite3.Connection) -> BookState:
    """Return what a book holds, with one finding for each check. Call it inside a transaction."""
    state = BookState()
    state.findings.extend(_as_laid_out(connection))
    if state.failure:  # a table or trigger that is not ours: no row can be relied on
        return state
    rows = connection.execute("SELECT number, content, hash FROM events ORDER BY number").fetchall()
    ends = connection.execute("SELECT number, hash FROM head").fetchall()
    state.findings.extend(_chained(rows, ends, state))
    if not state.failure:
        state.findings.extend(_followed(state))
    return state


def check_caps(state: BookState) -> Iterator[Finding]:
    """For each dataset: is the cap what its ε and δ allow, and was no more of it spent?"""
    for name, account in state.balance.accounts.items():
        cap, rho = account.grant.cap, account.grant.rho
        guarantee = f"ε = {as_typed(cap.epsilon)}, δ = {as_typed(cap.delta)}"
        try:
            state.balance.require_sound_cap(name)
        except Refused as refusal:
            yield Finding(False, refusal.problem)
            continue
        yield Finding(
            account.left >= 0,
            f"'{name}': {account.fits} {'fit' if account.fits == 1 else 'fits'} spent "
            f"ρ = {float(account.spent):.6g} of the {float(rho):.6g} that {guarantee} allow under "
            f"'{cap.accounting}'.",
        )


def check_heads(state: BookState, heads: Iterable[str]) -> Iterator[Finding]:
    """A chain cannot tell that its end is missing; a head that was noted elsewhere can."""
    for head in heads:
        if head in state.hashes:
            number = state.hashes.index(head) + 1
            yield Finding(
                True, f"head {head[:12]}… is that of entry {number}: no entry before it changed."
            )
        else:
            yield Finding(
                False,
                f"head {head[:12]}… is NOT in the book: entries were removed or rewritten since it "
                "was noted, or it belongs to another book.",
            )


def last(state: BookState) -> Finding:
    return Finding(True, f"the head after entry {len(state.events)} is {state.head}.")


def _as_laid_out(connection: sqlite3.Connection) -> Iterator[Finding]:
    # also before a charge: one written to a damaged page is lost
    good = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    yield Finding(good, f"SQLite finds the file {'intact' if good else 'DAMAGED'}.")
    marks = [
        connection.execute(f"PRAGMA {m}").fetchone() for m in ("application_id", "user_version")
    ]
    good = marks == [(APPLICATION,), (FORMAT,)]
    yield Finding(
        good,
        f"the file {'is' if good else 'is NOT'} marked as a budget book of format {FORMAT}.",
    )
    present = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    known = [("table", name, statement) for name, statement in TABLES.items()]
    strange = sorted(f"{kind} {name!r}" for kind, name, _ in set(present) - set(known))
    lacking = sorted(f"{kind} {name!r}" for kind, name, _ in set(known) - set(present))
    yield Finding(
        not strange and not lacking,
        "the file has the tables of a book and nothing else."
        if not strange and not lacking
        else f"the file does NOT have exactly the tables of a book. Missing: "
        f"{', '.join(lacking) or 'none'}. Extra: {', '.join(strange) or 'none'}.",
    )


def _chained(rows: list[Any], ends: list[Any], state: BookState) -> Iterator[Finding]:
    numbers = [number for number, _, _ in rows]
    good = bool(rows) and numbers == list(range(1, len(rows) + 1))
    yield Finding(
        good,
        f"entries 1 to {len(rows)} are present without a gap."
        if good
        else "entries are MISSING, or not numbered 1, 2, 3 and so on.",
    )
    previous = ""
    for number, text, stated in rows:
        if not isinstance(text, str) or link(previous, text) != stated:
            yield Finding(False, f"entry {number} does NOT match its hash.")
            return
        event = parse(text)
        if event is None:
            yield Finding(False, f"entry {number} is NOT an event that longsynth writes.")
            return
        state.events.append(event)
        state.hashes.append(stated)
        previous = stated
    yield Finding(True, "each entry matches its hash, which covers the entries before it.")
    good = ends == [(len(rows), previous)]
    yield Finding(
        good,
        "the last entry is the one that the book names as its last."
        if good
        else "the last entry is NOT the one that the book names as its last: some were removed.",
    )


def _followed(state: BookState) -> Iterator[Finding]:
    """Replay the book from its first entry, under the rules that each entry had to follow."""
    for number, event in enumerate(state.events, 1):
        try:
            state.balance.take(event)
        except Refused as refusal:
            yield Finding(False, f"entry {number} should NOT have been accepted: {refusal.problem}")
            return
    yield Finding(True, "every entry was within its caps when it was written.")


PATIENCE = 60.0  # seconds to wait while other processes charge


def init_book(path: Path | str, owner: str | None = None) -> "Book":
    """Create a book that only its owner can read. When this returns, it is on the disk."""
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
            raise Refused(
                Code.NOT_PRIVATE,
                "a fit without a budget is NOT PRIVATE, so no book can account for it.",
                "Use a private method, with a budget.",
            )
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
                Code.OVER_BUDGET,
                f"refused a fit of '{dataset}': {refusal.problem} Nothing was charged or released.",
                self._remedy(wanted),
            ) from None

    def read(self) -> BookState:
        """Return everything in the book; refuse one whose entries do not follow each other."""
        with self._transaction("DEFERRED") as connection:
            return self._sound(read_state(connection))

    def verify(self, heads: Iterable[str] = ()) -> list[Finding]:
        """Return one finding for each check. `heads` were noted elsewhere and must occur."""
        heads = [head.strip().lower() for head in heads]
        if not all(re.fullmatch("[0-9a-f]{64}", head) for head in heads):
            raise Refused(
                Code.HEAD_MALFORMED,
                "a head is 64 digits from 0 to 9 and a to f.",
                "Give it as `longsynth budget show` prints it.",
            )
        try:
            with self._transaction("DEFERRED") as connection:
                state = read_state(connection)
        except file.Damaged as damage:
            return [Finding(False, str(damage))]
        findings = [*state.findings, *check_heads(state, heads)]
        return findings if state.failure else [*findings, *check_caps(state), last(state)]

    def _write(self, event: Granted | Charged) -> Receipt:
        text = text_of(event)
        with self._transaction("IMMEDIATE") as connection:  # no other process can write from here
            state = self._sound(read_state(connection))
            state.balance.take(event)
            lineage = state.balance.lineage(event.dataset)
            for account in lineage:
                state.balance.require_sound_cap(account.grant.dataset)
            if parse(text) != event:
                raise AssertionError("a book must be able to read what it writes")
            number, head = len(state.events) + 1, link(state.head, text)
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

    def _sound(self, state: BookState) -> BookState:
        if state.failure:
            raise Refused(
                Code.BOOK_DAMAGED,
                f"{self.path} cannot be relied on: {state.failure} Nothing was charged.",
                f"Run `{command_line('budget', 'verify', self.path)}` to see why.",
            )
        return state

    def _remedy(self, wanted: Charged) -> str:
        left = min(s.left for s in self.read().balance.lineage(wanted.dataset))
        if left >= wanted.rho:
            return "Ask for a smaller epsilon: then rounding matters less to the noise."
        asked = wanted.budget
        largest = _largest_epsilon(left * asked.rho / wanted.rho, asked.delta, asked.accounting)
        if largest is None:
            return "The budget is used up, and a cap is never raised: fit other patients."
        return (
            f"Ask for an epsilon of at most {largest:g} at this delta and accounting; a cap is "
            "never raised."
        )


def _largest_epsilon(rho: Fraction, delta: float, accounting: Accounting) -> float | None:
    """Return the largest ε of four digits that costs at most ρ, or None if there is none."""
    four = Context(prec=4, rounding=ROUND_FLOOR)
    exact = min(epsilon_of(rho, delta, accounting), LARGEST_EPSILON) if rho > 0 else 0.0
    epsilon = four.create_decimal(repr(float(exact)))
    while epsilon >= four.create_decimal("1e-6"):
        if Budget(float(epsilon), delta, accounting).rho <= rho:
            return float(epsilon)
        epsilon = epsilon.next_minus(four)
    return None
