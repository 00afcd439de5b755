"""An audit's files, read strictly: what is not as `longsynth audit` writes it is refused."""

import json
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from longsynth.system.errors import Refused

LARGEST = 100_000_000  # bytes
FARTHEST = 1e31  # no number of a portrait lies beyond: bounds do not
COHORTS = ("real", "training", "synthetic")
# as audit.json names its rows
ON_SYNTHETIC, ON_REAL, BASE_RATE = "train on synthetic", "train on real", "base rate"
SYNTHETIC, TRAINING = "synthetic patients", "training patients themselves"


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class Score(_Read):
    section: str
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
        """Value and interval as text; a dash where there is no value."""
        if self.value is None:
            return "–"
        value = f"{self.value:.{digits}f}"
        if self.lower is None or self.upper is None:
            return value
        return f"{value} ({self.lower:.{digits}f} to {self.upper:.{digits}f})"


class Curves(_Read):
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
    portraits: dict[str, dict[str, Any]]
    curves: list[Curves]


class Audit:
    """Scores and panels of one audit."""

    def __init__(self, scores: list[Score], panels: Panels) -> None:
        self.scores, self.panels = scores, panels

    def of(
        self, section: str, row: str, model: str = "", weighted: bool = True
    ) -> dict[str, Score]:
        wanted = (section, row, model, weighted)
        return {
            s.metric: s for s in self.scores if (s.section, s.row, s.model, s.weighted) == wanted
        }

    def rows(self, section: str) -> list[tuple[str, str, bool]]:
        found = [(s.row, s.model, s.weighted) for s in self.scores if s.section == section]
        return list(dict.fromkeys(found))


def read_audit(folder: Path, fingerprint: str, like: dict[str, Any]) -> Audit:
    """Return an audit of the release with this fingerprint; refuse any other.

    `like` is a portrait by the release's schema: those of the audit must have its shape.
    """
    rows, panels = _json(folder / "audit.json"), _json(folder / "panels.json")
    broken = Refused(f"{folder} is not as `longsynth audit` wrote it: audit again.")
    try:
        scores = [Score.model_validate(row) for row in rows]
        found = Panels.model_validate(panels)
    except (ValidationError, TypeError):
        raise broken from None
    if found.fingerprint != fingerprint:
        drawn = found.fingerprint[:12] or "no release that it names"
        raise Refused(
            f"{folder} is an audit of another release: its synthetic patients were drawn from "
            f"{drawn}, this release is {fingerprint[:12]}. Draw from this release with "
            "`longsynth sample` and audit those patients."
        )
    if set(found.portraits) != set(COHORTS) or not all(
        same_shape(made, like) for made in found.portraits.values()
    ):
        raise broken
    return Audit(scores, found)


def same_shape(found: Any, like: Any) -> bool:
    """Whether two portraits have the same keys, lengths and kinds of leaves."""
    if isinstance(like, dict):
        return (
            isinstance(found, dict)
            and found.keys() == like.keys()
            and all(same_shape(found[key], like[key]) for key in like)
        )
    if isinstance(like, list):
        return (
            isinstance(found, list)
            and len(found) == len(like)
            and all(same_shape(a, b) for a, b in zip(found, like, strict=True))
        )
    if isinstance(like, str):
        return bool(found == like)
    if found is None:
        return True
    return type(found) in (int, float) and abs(found) < FARTHEST


def _json(path: Path) -> Any:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            raise OSError
        return json.loads(path.read_bytes(), parse_constant=_no_number)
    except (OSError, ValueError, RecursionError):
        raise Refused(
            f"{path} cannot be read: give --audit a folder that `longsynth audit` wrote with this "
            "version."
        ) from None


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")
