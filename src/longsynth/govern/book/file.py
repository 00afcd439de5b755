"""The file of a budget book: one SQLite database, complete in itself between two charges.

A rollback journal, not a write-ahead log: with a log the last charges stand in a second file, and
whoever copies or mends the book without it loses them. synchronous=EXTRA is FULL and also syncs
the folder once the journal is gone, so that a power cut cannot bring the journal, and with it the
state before the charge, back. On macOS only fullfsync reaches the disk itself.

The file is never opened but through SQLite: closing it otherwise would drop SQLite's own locks.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from longsynth.govern.book.events import FORMAT
from longsynth.system.errors import Refused
from longsynth.system.text import command_line

APPLICATION = 0x4C534242  # marks the file as a budget book
TABLES = {
    "events": "CREATE TABLE events "
    "(number INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL)",
    "head": "CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL)",
}
UNSURE = "Nothing was released; `longsynth budget show` says whether an entry was written."


class Damaged(Refused):
    """SQLite cannot read the file as a database, or not all of it."""


def create(path: Path) -> None:
    """Make an empty file that only its owner may read; refuse a path that is taken."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise Refused(
            f"{path} exists already: a book is never overwritten. Choose another path."
        ) from None
    except OSError as error:
        raise Refused(f"{path} cannot be created: {error.strerror}.") from None


def lay_out(connection: sqlite3.Connection) -> None:
    for statement in TABLES.values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def sync_folder(path: Path) -> None:
    """Put the name of a new file on the disk, not only its content."""
    try:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise Refused(f"{path} could not be put on the disk: {error.strerror}.") from None


@contextmanager
def opened(path: Path, patience: float) -> Iterator[sqlite3.Connection]:
    """Yield a connection for one transaction. Whatever SQLite cannot do is refused in words."""
    target = f"{path.absolute().as_uri()}?mode=rw"  # never creates; falls back to reading
    try:
        with closing(
            sqlite3.connect(target, uri=True, timeout=patience, isolation_level=None)
        ) as connection:
            connection.text_factory = _lenient
            for setting in ("synchronous = EXTRA", "fullfsync = ON"):
                connection.execute(f"PRAGMA {setting}")
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            if mode == "wal":
                raise Refused(
                    f"{path} was switched to a write-ahead log, which keeps charges in a second "
                    f"file. Switch it back: sqlite3 {path} 'PRAGMA journal_mode=DELETE'."
                )
            connection.execute("PRAGMA journal_mode = DELETE")
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter quotes a damaged schema
        raise _refusal(path, error, patience) from None


@contextmanager
def transaction(connection: sqlite3.Connection, kind: str) -> Iterator[None]:
    """All or nothing. When it ends without an error, what was written is on the disk."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def append(connection: sqlite3.Connection, number: int, text: str, head: str) -> None:
    connection.execute("INSERT INTO events VALUES (?, ?, ?)", (number, text, head))
    connection.execute("DELETE FROM head")
    connection.execute("INSERT INTO head VALUES (?, ?)", (number, head))


def require_book_file(path: Path) -> None:
    """Refuse what cannot be a book by its kind, before SQLite touches it."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise Refused(
            f"there is no budget book at {path}: create one with "
            f"`{command_line('budget', 'init', path)}`."
        ) from None
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from None
    if S_ISDIR(found.st_mode):
        raise Refused(f"{path} is a folder: give the file that `longsynth budget init` wrote.")
    if not S_ISREG(found.st_mode):
        raise Refused(f"{path} is not a budget book.")
    if found.st_nlink > 1:  # each name has a journal of its own: a crash could then lose a charge
        raise Refused(f"{path} has a second name (a hard link): remove all but one.")
    if found.st_size == 0:
        raise Refused(
            f"{path} is empty: either `longsynth budget init` is at work or was interrupted. If it "
            "was, remove the file and start again."
        )


def _lenient(raw: bytes) -> str:
    """What is no text cannot have the right hash: found there instead of ending a check."""
    return raw.decode(errors="replace")


def _refusal(path: Path, error: Exception, patience: float) -> Refused:
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Refused(f"{path} was in use by others for {patience:g} s: try again. {UNSURE}")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return Refused(
                f"{path} cannot be written: the file and its folder must be yours to write."
            )
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return Refused(
                f"{path} could not be read or written: the disk is full or failing. {UNSURE}"
            )
        case _:
            return Damaged(
                f"{path} is not a budget book, or it is damaged. Go on with the newest copy in "
                "which `longsynth budget verify --head` finds the last head that was noted."
            )
