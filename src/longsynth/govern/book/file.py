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

from longsynth.govern.book.entries import FORMAT
from longsynth.system.errors import Code, Refused
from longsynth.system.folders import not_written
from longsynth.system.text import command_line

APPLICATION = 0x4C534242  # marks the file as a budget book
TABLES = {
    "events": "CREATE TABLE events "
    "(number INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL)",
    "head": "CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL)",
}
UNSURE = "Nothing was released. `longsynth budget show` shows whether an entry was written."


class Damaged(Refused):
    """SQLite cannot read the file as a database, or not all of it."""


def create(path: Path) -> None:
    """Make an empty file that only its owner may read; refuse a path that is taken."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise Refused(
            Code.OUTPUT_EXISTS,
            f"{path} already exists, and a book is never overwritten.",
            "Choose another path.",
        ) from None
    except OSError as error:
        raise not_written(path, error) from None


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
        raise not_written(path, error) from None


@contextmanager
def opened(path: Path, patience: float) -> Iterator[sqlite3.Connection]:
    """Yield a connection for one transaction. An error of SQLite becomes a refusal."""
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
                    Code.BOOK_UNUSABLE,
                    f"{path} was switched to a write-ahead log, which keeps charges in a second "
                    "file.",
                    f"Switch it back: sqlite3 {path} 'PRAGMA journal_mode=DELETE'.",
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
    given = "Give the file that `longsynth budget init` wrote."
    try:
        status = path.stat()
    except FileNotFoundError:
        raise Refused(
            Code.FILE_MISSING,
            f"there is no budget book at {path}.",
            f"Create one with `{command_line('budget', 'init', path)}`.",
        ) from None
    except OSError as error:
        raise Refused(
            Code.FILE_UNREADABLE, f"{path} cannot be read: {error.strerror}.", given
        ) from None
    if S_ISDIR(status.st_mode):
        raise Refused(Code.BOOK_UNUSABLE, f"{path} is a folder.", given)
    if not S_ISREG(status.st_mode):
        raise Refused(Code.BOOK_UNUSABLE, f"{path} is not a budget book.", given)
    if status.st_nlink > 1:  # each name has a journal of its own: a crash could then lose a charge
        problem = f"{path} has a second name (a hard link)."
        raise Refused(Code.BOOK_UNUSABLE, problem, "Remove all names but one.")
    if status.st_size == 0:
        raise Refused(
            Code.BOOK_UNUSABLE,
            f"{path} is empty: `longsynth budget init` is running or was interrupted.",
            "If it was interrupted, remove the file and start again.",
        )


def _lenient(raw: bytes) -> str:
    """Bytes that are not text cannot have the right hash: the check finds them there."""
    return raw.decode(errors="replace")


def _refusal(path: Path, error: Exception, patience: float) -> Refused:
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            problem = f"{path} was in use by other processes for {patience:g} s."
            return Refused(Code.OUTPUT_BUSY, problem, f"Try again. {UNSURE}")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return Refused(
                Code.OUTPUT_NOT_WRITTEN,
                f"{path} cannot be written.",
                "Ask for permission to write to the file and its folder.",
            )
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            problem = f"{path} could not be read or written: the disk is full or failing."
            return Refused(Code.OUTPUT_NOT_WRITTEN, problem, f"Free some space. {UNSURE}")
        case _:
            return Damaged(
                Code.BOOK_DAMAGED,
                f"{path} is not a budget book, or it is damaged.",
                "Continue with the newest copy in which `longsynth budget verify` finds the last "
                "head that was noted.",
            )
