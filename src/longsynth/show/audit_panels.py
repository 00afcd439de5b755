"""panels.json: what the dossier's internal edition draws. Portraits of three cohorts and the curves
of every prediction; no patient is in it, but all of it is computed from real ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from longsynth.audit.description import describe
from longsynth.audit.ranking import BINS, bin_of
from longsynth.audit.result import WARNING, AuditResult
from longsynth.audit.utility import Predictions, curves
from longsynth.release.synthetic_folder import RECIPE, read_recipe
from longsynth.schema.record import Trajectories
from longsynth.system.folders import write_whole

FORMAT, PANELS = 1, "panels.json"
POINTS = 120  # of a curve


def write_panels(
    folder: Path, result: AuditResult, cohorts: dict[str, Trajectories], fingerprint: str
) -> None:
    """Write portraits by name of cohort, and curves as the audit's rows name them."""
    content = {
        "format": FORMAT,
        "warning": WARNING,
        "fingerprint": fingerprint,
        "patients": result.patients,
        "bootstrap": result.bootstrap,
        "portraits": {name: describe(result.schema, cohort) for name, cohort in cohorts.items()},
        "curves": [
            {"row": s.row, "model": s.model, "weighted": s.weighted, **_curves(found)}
            for s, found in result.predictions.items()
        ],
    }
    written = json.dumps(content, ensure_ascii=False, allow_nan=False)
    write_whole(folder / PANELS, f"{written}\n".encode())


def drawn_from(synthetic: Path) -> str:
    """The fingerprint of the release that a synthetic folder names; "" where it names none."""
    return read_recipe(synthetic).fingerprint if (synthetic / RECIPE).exists() else ""


def _curves(found: Predictions) -> dict[str, Any]:
    made = curves(found)
    crowd = np.bincount(bin_of(found.probability), minlength=BINS)
    return {
        "events": int(found.event.sum()),
        "roc": [_thin(made["roc"]["fpr"]), _thin(made["roc"]["tpr"])],
        "pr": [_thin(made["pr"]["recall"]), _thin(made["pr"]["precision"])],
        "calibration": [
            _thin(made["calibration"]["predicted"]),
            _thin(made["calibration"]["observed"]),
            crowd[crowd > 0].tolist(),
        ],
    }


def _thin(values: np.ndarray) -> list[float]:
    """Points at even places of a curve, its ends among them."""
    if len(values) > POINTS:
        values = values[np.linspace(0, len(values) - 1, POINTS).round().astype(np.int64)]
    return [round(float(v), 4) for v in values]
