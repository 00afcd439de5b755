"""Books to test with, and a crew of processes that charge to one and get killed."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from longsynth.govern.book import Book, init_book
from longsynth.privacy.budget import Budget
from longsynth.privacy.ledger import Entry, Ledger
from longsynth.privacy.noise import OPENDP
from longsynth.privacy.statistic import Statistic
from longsynth.system.errors import OverBudget

TESTS = Path(__file__).parents[1]
CAP = Budget(12.0, 1e-5, "zcdp")


def ledger_of(rho: Fraction, *, sigma: float = 2.0**40, numbers: int = 12) -> Ledger:
    """A planned fit of exactly this price."""
    statistic = Statistic("cells", "patients by cell", "count", right=numbers)
    entry = Entry(statistic, Fraction(1), rho, sigma, OPENDP)
    return Ledger(Budget(4.0, 1e-5, "zcdp"), 80, (entry,))


def share(parts: int, cap: Budget = CAP) -> Ledger:
    return ledger_of(cap.rho / parts)


def new_book(path: Path) -> Book:
    """Ward A and ward B lie in one hospital."""
    book = init_book(path, "the owner")
    book.grant("hospital", CAP)
    book.grant("ward A", CAP, "hospital")
    book.grant("ward B", Budget(8.0, 1e-5, "zcdp"), "hospital")
    return book


def spent(book: Book, dataset: str) -> Fraction:
    return book.read().balance.accounts[dataset].spent


def fits(book: Book, dataset: str) -> int:
    return book.read().balance.accounts[dataset].fits


def failures(book: Book, *heads: str) -> list[str]:
    return [finding.sentence for finding in book.verify(heads) if not finding.good]


def in_a_new_python(function: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Call a function of a test file in an interpreter of its own, whose children are its own."""
    module, _, name = function.rpartition(".")
    call = f"from govern.{module} import {name}; {name}({', '.join(repr(a) for a in arguments)})"
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])  # the same code as here
    environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", call], env=environment, capture_output=True, text=True, timeout=120
    )


def crew(book: str, dataset: str, parts: int, log: str, kills: int) -> None:
    """Twelve processes charge until they are refused. Meanwhile one after the other is killed at
    a random moment and replaced. A receipt is logged as soon as a process has it."""
    rng, alive, killed = np.random.default_rng(), set(), 0

    def charge_until_refused() -> None:
        with Path(log).open("a") as told:
            while True:
                receipt = Book(book).charge(dataset, share(parts))
                os.write(told.fileno(), f"{receipt.entry} {receipt.head}\n".encode())

    def one_more() -> None:
        alive.add(forked(charge_until_refused))

    share(parts), Book(book).verify()  # what takes a while is computed once, before the forks
    for _ in range(12):
        one_more()
    while killed < kills and len(alive) == 12:
        time.sleep(rng.exponential(0.02))
        victim = int(rng.choice(sorted(alive)))
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        alive.remove(victim)
        if os.WIFSIGNALED(status):
            killed += 1
            one_more()
    for pid in alive:
        _, status = os.waitpid(pid, 0)
        if status != 0:
            raise SystemExit(f"a process ended with {status}")
    sys.stdout.write(f"{killed}\n")


def killed_at_every_statement(book: str, dataset: str, parts: int) -> None:
    """Charge in a process that is killed as it comes to its first SQL statement, then in one
    killed at its second, and so on, until one gets through. Print the fits after each."""
    at = 0
    while True:
        at += 1

        def charge(last: int = at) -> None:
            connect, seen = sqlite3.connect, 0

            def count(_: str) -> None:
                nonlocal seen
                seen += 1
                if seen == last:
                    os.kill(os.getpid(), signal.SIGKILL)

            def traced(*arguments: object, **options: object) -> sqlite3.Connection:
                connection = connect(*arguments, **options)
                connection.set_trace_callback(count)
                return connection

            sqlite3.connect = traced
            Book(book).charge(dataset, share(parts))

        _, status = os.waitpid(forked(charge), 0)
        through = not os.WIFSIGNALED(status)
        sys.stdout.write(f"{at} {int(through)} {fits(Book(book), dataset)}\n")
        if through:
            return


def charge_on_a_full_disk(book: str, dataset: str, parts: int) -> None:
    """No file of this process may grow: what a full disk does."""
    import resource

    size = Path(book).stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        for _ in range(parts):
            Book(book).charge(dataset, share(parts))
    except Exception as error:  # noqa: BLE001
        sys.stdout.write(f"{type(error).__name__}: {error}")


def forked(work: Callable[[], None]) -> int:
    """Return the id of a process that works until it is done or refused."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except OverBudget:
        os._exit(0)
    except BaseException as error:  # noqa: BLE001
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    os._exit(0)
