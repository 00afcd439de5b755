"""Origins: which installed package a method came with, and the hash of its code."""

import re
import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from longsynth.methods.method import Method
from longsynth.methods.registry import ENTRY_POINTS, METHODS
from longsynth.system.errors import Refused
from longsynth.system.origin import OURS, VERSION, Origin, is_plausible

_AS_SHIPPED = dict(METHODS)  # before any other package is loaded


def origin_of(method: Method) -> Origin:
    """Return whose code a method is. A method that is neither one of ours nor an entry point's
    belongs to no package, whatever its name or class."""
    if _is_ours(method):
        return installed_here()
    kind = type(method)
    point = next((p for p in entry_points(group=ENTRY_POINTS) if _gives(p, method)), None)
    if point is None or point.dist is None:
        return Origin(sha256=code_hash(kind.__module__))
    found = Origin(point.dist.name, point.dist.version, code_hash(kind.__module__))
    if not is_plausible(found) or re.sub("[-_.]+", "-", point.dist.name).lower() == OURS:
        raise Refused(
            f"the package of method {method.name!r} has no usable name or version, or takes "
            "longsynth's: its author has to name it properly, or uninstall it."
        )
    return found


@cache
def installed_here() -> Origin:
    """The longsynth that runs."""
    return Origin(OURS, VERSION, code_hash(__name__))


@cache
def code_hash(module: str) -> str | None:
    """Return the SHA-256 of the files of the outermost package, or module, that holds a module.

    That is each file's path below the package, its size and its bytes, in the order of the paths.
    All files count, as code reads its tables too; hidden ones and compiled copies do not. What a
    package imports from others is not covered.
    """
    root = _root(module)
    if root is None:
        return None
    files = {path.relative_to(root.parent).as_posix(): path for path in _files(root)}
    found = sha256()
    for name in sorted(files):
        content = files[name].read_bytes()
        found.update(f"{name}\n{len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def _root(module: str) -> Path | None:
    """The folder of the outermost package that has a file of its own; of a lone module, its file.
    A namespace, which has none, is shared by packages of several authors."""
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        file = getattr(sys.modules.get(".".join(parts[:depth])), "__file__", None)
        if file is not None:
            path = Path(file)
            root = path.parent if path.stem == "__init__" else path
            return root if root.exists() else None
    return None


def _files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    return [
        path
        for path in root.rglob("*")
        if path.is_file()
        and path.suffix != ".pyc"
        and not any(p.startswith(".") or p == "__pycache__" for p in path.relative_to(root).parts)
    ]


def _is_ours(method: Method) -> bool:
    """The very object that longsynth ships, with no function of its class replaced."""
    kind = type(method)
    replaced = any(callable(getattr(kind, name, None)) for name in vars(method))
    return _AS_SHIPPED.get(method.name) is method and not replaced


def _gives(point: EntryPoint, method: Method) -> bool:
    return point.name == method.name and type(point.load()()) is type(method)
