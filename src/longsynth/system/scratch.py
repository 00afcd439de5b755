"""Scratch folders: where patients' data stand while a command works, and nowhere afterwards."""

import os
import re
import secrets
import shutil
import tempfile
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self

from longsynth.system.folders import lock_folder

PREFIX = "longsynth-scratch-"
_SCRATCH_NAME = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}")


class ScratchFolder:
    """A temporary folder for patients' data. It is removed when it is closed, or when the process
    ends in any orderly way.

    Only its owner can enter it, and it is locked for as long as its process lives. A process that
    is killed outright cannot remove its own: the first scratch folder of the next process removes
    all that no living process has locked.
    """

    def __init__(self) -> None:
        _remove_leftovers(tempfile.gettempdir())
        while True:
            self.path = Path(tempfile.gettempdir(), f"{PREFIX}{secrets.token_hex(4)}")
            self._lock = -1
            self._remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
            try:
                self.path.mkdir(mode=0o700)
                self._lock = lock_folder(self.path)
            except (BlockingIOError, FileExistsError, FileNotFoundError):
                self._remove.detach()  # another's, or taken for a leftover: make another
                continue
            except OSError:  # a file system without locks: there nothing is taken for a leftover
                if not self.path.is_dir():
                    raise
            except BaseException:  # interrupted before anyone could close it
                self._remove()
                raise
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._remove()
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


@cache
def _remove_leftovers(place: str) -> None:
    """Remove what killed processes of the same user left behind, once per process.

    A folder of someone else, a link and a locked folder stay. A leftover that stays is no reason to
    fail.
    """
    with suppress(OSError), os.scandir(place) as entries:
        for name in [entry.name for entry in entries if _SCRATCH_NAME.fullmatch(entry.name)]:
            with suppress(OSError):
                lock = lock_folder(Path(place, name))
                if _is_private(os.fstat(lock)):
                    shutil.rmtree(Path(place, name), ignore_errors=True)
                os.close(lock)


def _is_private(folder: os.stat_result) -> bool:
    return folder.st_uid == os.geteuid() and not folder.st_mode & 0o077
