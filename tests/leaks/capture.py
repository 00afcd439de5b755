"""Everything that a call says: descriptors 1 and 2, logs at DEBUG, and where it puts files."""

import io
import logging
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock


@contextmanager
def everything_said() -> Iterator[io.StringIO]:
    """Collect what goes to standard output and error, by Python or by a library, and to logs."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    with tempfile.TemporaryFile() as printed:
        try:
            with (
                _redirected(1, printed.fileno()),
                _redirected(2, printed.fileno()),
                _stream("stdout", 1),
                _stream("stderr", 2),
            ):
                yield said
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
            printed.seek(0)
            said.write(printed.read().decode("utf-8", "replace"))


@contextmanager
def _redirected(number: int, target: int) -> Iterator[None]:
    kept = os.dup(number)
    os.dup2(target, number)
    try:
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)


@contextmanager
def _stream(name: str, number: int) -> Iterator[None]:
    """Let Python print to the descriptor: under pytest its streams go elsewhere."""
    getattr(sys, name).flush()
    with (
        os.fdopen(os.dup(number), "w", encoding="utf-8", buffering=1) as stream,
        mock.patch.object(sys, name, stream),
    ):
        yield


@contextmanager
def private_tmp(place: Path) -> Iterator[None]:
    """Let temporary files go to a place of their own."""
    usual = tempfile.tempdir
    tempfile.tempdir = str(place)
    try:
        yield
    finally:
        tempfile.tempdir = usual


@dataclass(slots=True)
class Removed:
    """What temporary folders held just before they were removed."""

    open_to_others: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


@contextmanager
def removed_folders() -> Iterator[Removed]:
    """Look into every folder that is about to be removed."""
    found, remove = Removed(), shutil.rmtree

    def look(path: Any, *arguments: Any, **more: Any) -> Any:
        folder = Path(os.fsdecode(path))
        if folder.is_dir():
            if stat.S_IMODE(folder.stat().st_mode) & 0o077:
                found.open_to_others.append(str(folder))
            found.files += [str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()]
        return remove(path, *arguments, **more)

    with mock.patch.object(shutil, "rmtree", look):
        yield found
