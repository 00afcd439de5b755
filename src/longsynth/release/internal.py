"""RUN/internal: what a non-private method learned, and why red findings were accepted. Never to be
released."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.bundle import Bundle
from longsynth.methods.method import OpenMethod
from longsynth.methods.registry import method_named
from longsynth.methods.resources import memory_of_machine, require_room_for_model
from longsynth.privacy.curator import Curator
from longsynth.privacy.ledger import Ledger
from longsynth.privacy.noise import Integers
from longsynth.release.folder import read_json
from longsynth.schema.file import dump, load_schema
from longsynth.system.errors import Code, ReleaseError
from longsynth.system.folders import regular_size

FACTS, NUMBERS, SCHEMA = "not_private.json", "disclosed.parquet", "disclosed_schema.yaml"
A_ROW, MOST = 100, 100  # bytes to read one raw fact; kinds of raw facts
_COLUMNS = pa.schema([("name", pa.string()), ("value", pa.int64())])
MARK = """# Not private

These records were sampled from a model that learned raw facts about patients without any
protection. They can repeat a patient's record. Keep them where the patients' data are kept.
"""


def write_disclosed(bundle: Bundle, folder: Path) -> None:
    numbers = {name: released.values for name, released in bundle.released.items()}
    names = [name for name, values in numbers.items() for _ in values]
    table = pa.table({"name": names, "value": np.concatenate(list(numbers.values()))})
    pq.write_table(table, folder / NUMBERS)
    facts = {
        "guarantee": bundle.ledger.noise,
        "method": bundle.method,
        "patients": bundle.patients,
        "fingerprint": bundle.fingerprint,
        "ledger": [
            {"statistic": e.statistic.name, "numbers": e.statistic.dimension, "noise": e.noise}
            for e in bundle.ledger.entries
        ],
    }
    (folder / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    (folder / SCHEMA).write_text(dump(bundle.schema), encoding="utf-8")


def holds_disclosed(folder: Path) -> bool:
    return (folder / FACTS).is_file()


def read_disclosed(folder: Path) -> Bundle:
    """Return the bundle; its ledger says NOT PRIVATE again."""
    altered = ReleaseError(
        Code.RELEASE_ALTERED, f"{folder} is not what `longsynth fit` wrote.", "Fit again."
    )
    facts = read_json(folder, FACTS)
    method, patients = facts.get("method"), facts.get("patients")
    if type(method) is not str or type(patients) is not int or not 0 < patients < 1 << 53:
        raise altered
    if not isinstance(method_named(method), OpenMethod):
        raise altered
    curator = Curator(Ledger(None, patients))
    numbers = _numbers(folder)
    if numbers is None:
        raise altered
    released = {name: curator.disclose(name, "raw facts", raw) for name, raw in numbers.items()}
    regular_size(folder / SCHEMA)
    schema = load_schema(folder / SCHEMA)
    require_room_for_model(method_named(method), schema, patients)
    schema = schema.resolved(patients)
    bundle = Bundle(method, schema, curator.ledger, released)
    if facts.get("fingerprint") != bundle.fingerprint:  # a model of other numbers could be anything
        raise altered
    return bundle


def _numbers(folder: Path) -> dict[str, Integers] | None:
    """Return the raw facts by name; None if the file is not what we wrote."""
    regular_size(folder / NUMBERS)
    try:
        if pq.read_metadata(folder / NUMBERS).num_rows * A_ROW > memory_of_machine():
            return None
        table = pq.read_table(folder / NUMBERS, schema=_COLUMNS)
        names = table.column("name").to_numpy(zero_copy_only=False)
        values = table.column("value").to_numpy()
        distinct = dict.fromkeys(names.tolist())
        if len(distinct) >= MOST:
            return None
        return {name: values[names == name] for name in distinct}
    except (OSError, ValueError, KeyError, TypeError, MemoryError, pa.ArrowException):
        return None


def accepted_problems(run: Path) -> str | None:
    """Return why red findings of a run's cohort were accepted, if there were any."""
    inside = run.parent if run.name == "release" else run
    try:
        accepted = json.loads((inside / "internal/run.json").read_bytes())["check"]["accepted"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return accepted if isinstance(accepted, str) else None
