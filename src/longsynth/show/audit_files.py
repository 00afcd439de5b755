"""Files of an audit. None of them names a patient; all of them are computed from real ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.audit.description import describe
from longsynth.audit.ranking import BINS, Predictions, bin_of, curves
from longsynth.audit.result import WARNING, AuditResult, Source
from longsynth.release.synthetic_folder import RECIPE, read_recipe
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.show.audit_page import page
from longsynth.show.audit_plots import plot_attacks, plot_curves
from longsynth.system.folders import whole_file, write_whole

FORMAT, PANELS = 1, "panels.json"
POINTS = 120  # of a curve


def write_audit(result: AuditResult, folder: Path) -> list[Path]:
    """Write AUDIT.md and audit.json; for outcomes with levels predictions.parquet; and, with
    matplotlib, plots."""
    write_whole(folder / "AUDIT.md", page(result).encode())
    content = json.dumps(result.tidy(), indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(folder / "audit.json", f"{content}\n".encode())
    names = ["AUDIT.md", "audit.json"]
    if result.predictions:
        tables = [_table(result.schema, s, made) for s, made in result.predictions.items()]
        whole = pa.concat_tables(tables).replace_schema_metadata({"warning": WARNING})
        with whole_file(folder / "predictions.parquet") as scratch:
            pq.write_table(whole, scratch)
        names.append("predictions.parquet")
    plots = plot_curves(result, folder) + plot_attacks(result, folder)
    return [folder / name for name in names] + plots


def _table(schema: Schema, source: Source, predicted: Predictions) -> pa.Table:
    """Predictions by decreasing probability: the order of the patients in the cohort is lost."""
    order = np.lexsort((predicted.site, predicted.group, predicted.event, -predicted.probability))
    return pa.table(
        {
            "outcome": [source.outcome] * len(order),
            "row": [source.row] * len(order),
            "model": [source.model] * len(order),
            "weighted": [source.weighted] * len(order),
            "event": predicted.event[order],
            "probability": predicted.probability[order],
            "group": predicted.group[order],
            "site": [schema.sites[s] for s in predicted.site[order]],
        }
    )


def write_panels(
    folder: Path, result: AuditResult, cohorts: dict[str, Trajectories], fingerprint: str
) -> None:
    """Write panels.json, from which the dossier's internal edition draws its plots: a description
    of each cohort, and the curves of every prediction. No patient is in it."""
    content = {
        "format": FORMAT,
        "warning": WARNING,
        "fingerprint": fingerprint,
        "patients": result.patients,
        "bootstrap": result.bootstrap,
        "portraits": {name: describe(result.schema, cohort) for name, cohort in cohorts.items()},
        "curves": [
            {
                "outcome": s.outcome,
                "row": s.row,
                "model": s.model,
                "weighted": s.weighted,
                **_curves(predicted),
            }
            for s, predicted in result.predictions.items()
        ],
    }
    written = json.dumps(content, ensure_ascii=False, allow_nan=False)
    write_whole(folder / PANELS, f"{written}\n".encode())


def origin_of(synthetic: Path) -> str:
    """The fingerprint of the release that a synthetic folder names; "" if it names none."""
    return read_recipe(synthetic).fingerprint if (synthetic / RECIPE).exists() else ""


def _curves(predicted: Predictions) -> dict[str, Any]:
    by_name = curves(predicted)
    crowd = np.bincount(bin_of(predicted.probability), minlength=BINS)
    roc, pr, calibration = (by_name[name] for name in ("roc", "pr", "calibration"))
    return {
        "events": int(predicted.event.sum()),
        "roc": [_thin(roc["fpr"]), _thin(roc["tpr"])],
        "pr": [_thin(pr["recall"]), _thin(pr["precision"])],
        "calibration": [
            _thin(calibration["predicted"]),
            _thin(calibration["observed"]),
            crowd[crowd > 0].tolist(),
        ],
    }


def _thin(values: np.ndarray) -> list[float]:
    """Evenly spaced points of a curve, its ends among them."""
    if len(values) > POINTS:
        values = values[np.linspace(0, len(values) - 1, POINTS).round().astype(np.int64)]
    return [round(float(v), 4) for v in values]
