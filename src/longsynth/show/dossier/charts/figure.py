"""Figure: a picture, its heading and what it says in words."""

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Figure:
    id: str
    title: str
    picture: Markup
    summary: str  # what the picture shows, for who does not look at it
    variable: int | None = None  # its number in the schema, if it is about one
    wide: bool = False  # whether it needs the whole width


@dataclass(frozen=True, slots=True)
class Series:
    """One cohort in a picture that holds several."""

    name: str
    class_: str  # its colour: synthetic, real or training


SYNTHETIC = Series("synthetic", "synthetic")
REAL = Series("real, held out", "real")
TRAINING = Series("real, fitted", "training")
