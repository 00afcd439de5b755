"""The release folder: written from an allow-list, read back as a bundle."""

import json
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.bundle import Bundle
from longsynth.errors import Refused, ReleaseError
from longsynth.govern.ledger_file import ledger_json, read_ledger
from longsynth.govern.statement import statement
from longsynth.privacy.ledger import Released
from longsynth.privacy.noise import OPENDP
from longsynth.schema_file import dump, load_schema
from longsynth.version import VERSION

FORMAT = 1
CONTENT = ("STATEMENT.md", "ledger.json", "schema.yaml", "statistics.parquet")
ALLOWED = (*CONTENT, "manifest.json")


def release_files(bundle: Bundle) -> dict[str, bytes]:
    """Return every file of a release. Nothing else may stand in the folder."""
    if not bundle.ledger.private:
        raise ReleaseError(
            f"method '{bundle.method}' is NOT PRIVATE: what it learnt may not be released."
        )
    files = {
        "STATEMENT.md": statement(bundle).encode(),
        "ledger.json": as_json(ledger_json(bundle.method, bundle.ledger)),
        "schema.yaml": dump(bundle.schema).encode(),
        "statistics.parquet": _statistics(bundle),
    }
    files["manifest.json"] = as_json(
        {
            "format": FORMAT,
            "longsynth": VERSION,
            "fingerprint": bundle.fingerprint,
            "files": {name: sha256(files[name]).hexdigest() for name in CONTENT},
        }
    )
    return files


def load_release(folder: Path | str) -> Bundle:
    """Return the bundle of a release folder; refuse one that no command may use."""
    bundle = read_bundle(Path(folder))
    if bundle.ledger.noise != OPENDP:
        raise ReleaseError(
            f"{folder} was made with {bundle.ledger.noise} noise: it protects nobody and cannot "
            "be used. Fit again with `longsynth fit`."
        )
    return bundle


def read_bundle(folder: Path) -> Bundle:
    """Return what the files say, whatever noise they name."""
    ledger_file = _json(folder / "ledger.json")
    manifest = _json(folder / "manifest.json")
    if manifest.get("format") != FORMAT:
        raise ReleaseError(
            f"{folder} has release format {manifest.get('format')!r}; this longsynth reads "
            f"{FORMAT}: use the version named in its manifest.json."
        )
    try:
        ledger = read_ledger(ledger_file)
        schema = load_schema(folder / "schema.yaml").settled(ledger.patients)
        table = pq.read_table(folder / "statistics.parquet")
        names = table.column("statistic").to_numpy(zero_copy_only=False)
        values = table.column("value").to_numpy().astype(np.int64)
        released = {
            entry.statistic.name: Released(values[names == entry.statistic.name], entry)
            for entry in ledger.entries
        }
        method = str(ledger_file["method"])
    except Refused:
        raise
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, ZeroDivisionError):
        raise ReleaseError(
            f"{folder} is not a complete release: run `longsynth verify {folder}`, or ask for "
            "the folder again."
        ) from None
    for name, found in released.items():
        if len(found.values) != found.entry.statistic.dimension:
            raise ReleaseError(f"{folder} lacks numbers of '{name}': ask for the folder again.")
    return Bundle(method, schema, ledger, released)


def as_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise ReleaseError(
            f"{path} cannot be read: {error.strerror}. Give a folder that `longsynth fit` wrote, "
            "for instance RUN/release."
        ) from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ReleaseError(f"{path} is not the JSON that longsynth writes.")
    return content


def _statistics(bundle: Bundle) -> bytes:
    names = [name for name, r in bundle.released.items() for _ in range(len(r.values))]
    values = np.concatenate([r.values for r in bundle.released.values()])
    position = np.concatenate([np.arange(len(r.values)) for r in bundle.released.values()])
    table = pa.table({"statistic": names, "position": position.astype(np.int32), "value": values})
    buffer = BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()
