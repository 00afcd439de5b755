"""What `budget verify` looks at. Every grant and charge looks at the same before it is written."""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from longsynth.govern.book.balance import Balance
from longsynth.govern.book.events import FORMAT, Event, link, parse
from longsynth.govern.book.file import APPLICATION, TABLES
from longsynth.system.errors import Refused
from longsynth.system.escaping import as_typed
from longsynth.system.finding import Finding


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
