"""Book: open, grant, charge, read, verify. Charges are final; there is no way to undo one."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from pathlib import Path
from sqlite3 import Connection

from longsynth.govern.book import file
from longsynth.govern.book.events import (
    Charged,
    Granted,
    Opened,
    link,
    new_nonce,
    parse,
    text_of,
    today,
    written_budget,
)
from longsynth.govern.book.examine import Examined, caps_hold, examine, heads_found, last
from longsynth.govern.names import require_name
from longsynth.govern.provenance import Account, Receipt
from longsynth.privacy.budget import LARGEST_EPSILON, Accounting, Budget, epsilon_of
from longsynth.privacy.ledger import Ledger
from longsynth.system.errors import OverBudget, Refused
from longsynth.system.finding import Finding
from longsynth.system.suggesting import command_line

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
