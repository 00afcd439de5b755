"""Files of an audit. None of them names a patient; all of them are about real ones."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.audit.result import WARNING, AuditResult, Source
from longsynth.audit.utility import Predictions
from longsynth.schema.schema import Schema
from longsynth.show.attack_plot import plot_attacks
from longsynth.show.audit_page import page
from longsynth.show.audit_plots import plot_curves
from longsynth.system.folders import whole_file, write_whole


def write_audit(result: AuditResult, folder: Path) -> list[Path]:
    """Write AUDIT.md, audit.json, predictions.parquet and, with matplotlib, two pictures."""
    write_whole(folder / "AUDIT.md", page(result).encode())
    content = json.dumps(result.tidy(), indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(folder / "audit.json", f"{content}\n".encode())
    tables = [_table(result.schema, s, found) for s, found in result.predictions.items()]
    whole = pa.concat_tables(tables).replace_schema_metadata({"warning": WARNING})
    with whole_file(folder / "predictions.parquet") as scratch:
        pq.write_table(whole, scratch)
    names = ["AUDIT.md", "audit.json", "predictions.parquet"]
    pictures = plot_curves(result, folder) + plot_attacks(result, folder)
    return [folder / name for name in names] + pictures


def _table(schema: Schema, source: Source, found: Predictions) -> pa.Table:
    """Predictions by falling probability: a patient's place in the cohort is no part of it."""
    order = np.lexsort((found.site, found.group, found.event, -found.probability))
    return pa.table(
        {
            "row": [source.row] * len(order),
            "model": [source.model] * len(order),
            "weighted": [source.weighted] * len(order),
            "event": found.event[order],
            "probability": found.probability[order],
            "group": found.group[order],
            "site": [schema.sites[s] for s in found.site[order]],
        }
    )
