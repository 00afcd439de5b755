"""AuditResult: every score of an audit with the row it belongs to."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from longsynth.audit.metric import Score
from longsynth.audit.ranking import Predictions
from longsynth.schema.schema import Schema

WARNING = "Computed from real patients. Keep this folder internal and do not share it."

ON_SYNTHETIC, ON_REAL, BASE_RATE = "train on synthetic", "train on real", "base rate"
SYNTHETIC, TRAINING = "synthetic patients", "training patients themselves"
REFITS = "fits with planted canaries"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a score comes from."""

    row: str  # what was evaluated, in words
    model: str = ""  # what predicted, if anything did
    weighted: bool = True  # whether synthetic weights counted
    outcome: str = ""  # what was predicted: the name of a target; "": the row is about none


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A score with its place in the audit."""

    section: str  # utility, subgroups, fidelity or attacks
    source: Source
    score: Score


@dataclass(frozen=True, slots=True)
class AuditResult:
    schema: Schema
    rows: list[ScoreRow]
    predictions: dict[Source, Predictions]  # of outcomes with levels
    patients: dict[str, int]  # per cohort, train to control
    bootstrap: int
    refitted: str = ""  # the mechanism that was fitted again with canaries; "": none was

    def __repr__(self) -> str:  # no score: they are computed from real patients
        sizes = ", ".join(f"{number:,} {cohort}" for cohort, number in self.patients.items())
        return f"AuditResult({len(self.rows)} scores from {sizes} patients; internal)"

    def of(self, section: str, source: Source) -> dict[str, Score]:
        """Return one row of a section by metric."""
        return {
            row.score.metric: row.score
            for row in self.rows
            if row.section == section and row.source == source
        }

    def sources(self, section: str, outcome: str | None = None) -> list[Source]:
        """The rows of a section, of one outcome or of all."""
        listed = dict.fromkeys(row.source for row in self.rows if row.section == section)
        return [source for source in listed if outcome in (None, source.outcome)]

    @property
    def outcomes(self) -> list[str]:
        """What was predicted, the primary outcome first."""
        return list(dict.fromkeys(source.outcome for source in self.sources("utility")))

    def tidy(self) -> list[dict[str, Any]]:
        """Return one flat record per score; undefined values are None."""
        return [
            {
                "section": row.section,
                "outcome": row.source.outcome,
                "row": row.source.row,
                "model": row.source.model,
                "weighted": row.source.weighted,
                "metric": row.score.metric,
                "value": _or_none(row.score.value),
                "lower": _or_none(row.score.lower),
                "upper": _or_none(row.score.upper),
                "better": row.score.better,
                "note": row.score.note,
            }
            for row in self.rows
        ]


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
