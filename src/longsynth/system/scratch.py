"""Scratch folders: where patients' data stand while a command works, and nowhere afterwards.

Each is in the system's temporary folder, can be entered by its owner only, and is locked for as
long as its process lives. A process that is killed outright cannot remove its own: the first
scratch folder of the next process removes all that no living process has locked.
"""

import fcntl
import os
import re
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self

PREFIX = "longsynth-scratch-"
_OURS = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}")  # as `tempfile` names them


class ScratchFolder:
    """A folder that is removed when it is closed, or when the process ends in any orderly way."""

    def __init__(self) -> None:
        _remove_leftovers(tempfile.gettempdir())
        while True:
            self._folder = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
            self.path, self._lock = Path(self._folder.name), -1
            try:
                self._lock = _locked(self.path)
            except (BlockingIOError, FileNotFoundError):  # taken for a leftover: make another
                self._folder.cleanup()
                continue
            except OSError:  # a file system without locks: there nothing is taken for a leftover
                pass
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._folder.cleanup()
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


@cache
def _remove_leftovers(place: str) -> None:
    """Remove what killed processes of the same user left behind, once in the life of a process.

    What is someone else's, a link, or locked stays. A leftover that stays is no reason to fail.
    """
    with suppress(OSError), os.scandir(place) as entries:
        for name in [entry.name for entry in entries if _OURS.fullmatch(entry.name)]:
            with suppress(OSError):
                lock = _locked(Path(place, name))
                shutil.rmtree(Path(place, name), ignore_errors=True)
                os.close(lock)


def _locked(folder: Path) -> int:
    """Return a lock on a private folder of this user that stands at its place, or fail."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(opened)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(found, os.lstat(folder)):
            raise FileNotFoundError
    except BaseException:
        os.close(opened)
        raise
    return opened
