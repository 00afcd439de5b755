"""An audit's files, read strictly: files that `longsynth audit` did not write are refused."""

import json
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from longsynth.system.errors import Code, Refused

LARGEST = 100_000_000  # bytes
FARTHEST = 1e31  # no number of a description lies beyond: bounds do not
COHORTS = ("real", "training", "synthetic")
AGAIN = "Audit the synthetic patients again with `longsynth audit`, in this version."


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class ScoreRecord(_Read):
    """One record of audit.json."""

    section: str
    outcome: str  # what was predicted; empty: the row is about none
    row: str
    model: str
    weighted: bool
    metric: str
    value: float | None
    lower: float | None
    upper: float | None
    better: str
    note: str

    def shown(self, digits: int = 3) -> str:
        """Value and interval as text; a dash if there is no value."""
        if self.value is None:
            return "–"
        value = f"{round(self.value, digits) + 0.0:.{digits}f}"  # never -0
        if self.lower is None or self.upper is None:
            return value
        return f"{value} ({self.lower:.{digits}f} to {self.upper:.{digits}f})"

    def divided(self, by: float) -> "ScoreRecord":
        """The same score in a unit that is so many times as large."""
        ends = {"value": self.value, "lower": self.lower, "upper": self.upper}
        return self.model_copy(
            update={name: None if x is None else x / by for name, x in ends.items()}
        )


class Curves(_Read):
    outcome: str
    row: str
    model: str
    weighted: bool
    events: int
    roc: tuple[list[float], list[float]]
    pr: tuple[list[float], list[float]]
    calibration: tuple[list[float], list[float], list[int]]

    @model_validator(mode="after")
    def _of_one_length(self) -> Self:
        for curve in (self.roc, self.pr, self.calibration):
            if len({len(axis) for axis in curve}) != 1:
                raise ValueError("a curve has more of one axis than of the other")
            if not all(0 <= x <= 1 for axis in curve[:2] for x in axis):
                raise ValueError("a curve leaves the unit square")
        return self


class Panels(_Read):
    format: Literal[1]
    fingerprint: str
    patients: dict[str, int]
    bootstrap: int
    descriptions: dict[str, dict[str, Any]] = Field(alias="portraits")  # of each cohort
    curves: list[Curves]


class Audit:
    """Scores and panels of one audit."""

    def __init__(self, scores: list[ScoreRecord], panels: Panels) -> None:
        self.scores, self.panels = scores, panels

    def of(
        self, section: str, row: str, model: str = "", weighted: bool = True, outcome: str = ""
    ) -> dict[str, ScoreRecord]:
        wanted = (section, outcome, row, model, weighted)
        return {
            s.metric: s
            for s in self.scores
            if (s.section, s.outcome, s.row, s.model, s.weighted) == wanted
        }

    def rows(self, section: str, outcome: str = "") -> list[tuple[str, str, bool]]:
        of_section = (s for s in self.scores if (s.section, s.outcome) == (section, outcome))
        return list(dict.fromkeys((s.row, s.model, s.weighted) for s in of_section))

    @property
    def outcomes(self) -> list[str]:
        """What was predicted, the primary outcome first."""
        return list(dict.fromkeys(s.outcome for s in self.scores if s.outcome))

    def first_model(self, outcome: str) -> str:
        """The simplest model of an outcome: it speaks for the outcome in sentences."""
        return next((s.model for s in self.scores if s.outcome == outcome and s.model), "")


def read_audit(folder: Path, fingerprint: str, like: dict[str, Any]) -> Audit:
    """Return an audit of the release with this fingerprint; refuse any other.

    `like` is a description by the release's schema: those of the audit must have its shape.
    """
    rows, content = _json(folder / "audit.json"), _json(folder / "panels.json")
    problem = f"{folder} is not as `longsynth audit` wrote it."
    altered = Refused(Code.AUDIT_UNUSABLE, problem, AGAIN)
    try:
        scores = [ScoreRecord.model_validate(row) for row in rows]
        panels = Panels.model_validate(content)
    except (ValidationError, TypeError):
        raise altered from None
    if panels.fingerprint != fingerprint:
        origin = panels.fingerprint[:12] or "no release that it names"
        raise Refused(
            Code.AUDIT_UNUSABLE,
            f"{folder} is an audit of another release: its synthetic patients come from {origin}, "
            f"this release is {fingerprint[:12]}.",
            "Generate patients from this release with `longsynth sample` and audit those.",
        )
    if set(panels.descriptions) != set(COHORTS) or not all(
        same_shape(described, like) for described in panels.descriptions.values()
    ):
        raise altered
    return Audit(scores, panels)


def same_shape(read: Any, like: Any) -> bool:
    """Whether two descriptions have the same keys, lengths and kinds of leaves."""
    if isinstance(like, dict):
        return (
            isinstance(read, dict)
            and read.keys() == like.keys()
            and all(same_shape(read[key], like[key]) for key in like)
        )
    if isinstance(like, list):
        return (
            isinstance(read, list)
            and len(read) == len(like)
            and all(same_shape(a, b) for a, b in zip(read, like, strict=True))
        )
    if isinstance(like, str):
        return bool(read == like)
    if read is None:
        return True
    return type(read) in (int, float) and abs(read) < FARTHEST


def _json(path: Path) -> Any:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            raise OSError
        return json.loads(path.read_bytes(), parse_constant=_no_number)
    except (OSError, ValueError, RecursionError):
        raise Refused(
            Code.AUDIT_UNUSABLE,
            f"{path} cannot be read.",
            "Give a folder that `longsynth audit` wrote in this version.",
        ) from None


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")
