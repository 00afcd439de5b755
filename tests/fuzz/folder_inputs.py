"""Malformed release, synthetic and internal folders: JSON that lies, files that are no files."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

from numpy.random import Generator

from fuzz.mutation import mutated, one_of
from fuzz.trees import altered, json_text
from fuzz.yaml_inputs import schema_bytes, yaml_bytes

CONTENT = ("STATEMENT.md", "ledger.json", "schema.yaml", "statistics.json")


def damage_release(folder: Path, rng: Generator) -> None:
    """Change one file or two; sometimes make the manifest agree again."""
    for _ in range(int(rng.integers(1, 3))):
        name = one_of(rng, (*CONTENT, "ledger.json", "statistics.json", *["manifest.json"] * 4))
        damage(folder, name, rng)
    if rng.random() < 0.3:
        _seal(folder)


def damage_synthetic(folder: Path, rng: Generator) -> None:
    name = one_of(
        rng, ("patients.parquet", "observations.parquet", "schema.yaml", *["synthetic.json"] * 4)
    )
    damage(folder, name, rng)


def damage_disclosed(folder: Path, rng: Generator) -> None:
    name = one_of(rng, ("disclosed.parquet", "disclosed_schema.yaml", *["not_private.json"] * 2))
    damage(folder, name, rng)


def damage(folder: Path, name: str, rng: Generator) -> None:
    path = folder / name
    if not path.is_file() or path.is_symlink():
        return
    if rng.random() < 0.06:
        no_file(path, rng)
    elif path.suffix == ".json" and rng.random() < 0.8:
        path.write_bytes(json_text(_parsed(path, rng), rng))
    elif path.suffix == ".yaml" and rng.random() < 0.6:
        path.write_bytes(yaml_bytes(path.read_text("utf-8", "replace"), rng))
    elif path.suffix == ".yaml" and rng.random() < 0.4:
        path.write_bytes(schema_bytes(rng))
    else:
        path.write_bytes(mutated(path.read_bytes(), rng))


def _parsed(path: Path, rng: Generator) -> Any:
    try:
        return altered(json.loads(path.read_bytes()), rng)
    except (ValueError, RecursionError):
        return {}


def no_file(path: Path, rng: Generator) -> None:
    """In the place of a file: nothing, a folder, a link, a pipe that never ends."""
    content = path.read_bytes()
    path.unlink()
    match int(rng.integers(6)):
        case 0:
            path.mkdir()
        case 1:
            os.mkfifo(path)
        case 2:
            path.symlink_to("/dev/zero")
        case 3:
            path.symlink_to(path.name)
        case 4:
            (path.parent / f"{path.name}\n\x1b[31m").write_bytes(content)


def _seal(folder: Path) -> None:
    """Let the manifest hold the hashes of the files as they are: a forgery that agrees."""
    files = [folder / name for name in (*CONTENT, "manifest.json")]
    if not all(path.is_file() for path in files):
        return
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        manifest["files"] = {n: sha256((folder / n).read_bytes()).hexdigest() for n in CONTENT}
        (folder / "manifest.json").write_text(
            json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        )
    except (OSError, ValueError, TypeError, RecursionError):
        return


def copied(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target
