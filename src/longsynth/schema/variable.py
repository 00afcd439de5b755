"""Variable: one measure of a patient, with the public facts that its values are held to."""

from decimal import Decimal
from itertools import pairwise
from math import ceil, floor, log10
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from longsynth.schema.mapping import Source
from longsynth.system.text import ColumnName, LevelText, Meaning, Unit, VariableName
from longsynth.system.yaml_text import FrozenModel, InvalidField

Aggregate = Literal["mean", "median", "last", "min", "max"]

FAR = 1e30  # no unit needs larger numbers, or a range below 1/FAR; beyond, arithmetic fails
FINEST_SHARE = 0.02  # of a variable's usual spread: finer digits would only look precise
RESERVED = {"patient_id", "time", "group", "event", "site", "weight"}


def _level(value: object) -> object:
    """Levels are compared as text; 1 and 1.0 are the same level."""
    if isinstance(value, bool):
        raise ValueError("YAML reads yes, no, on, off, true and false as a truth value; quote it")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int | float) else value


Level = Annotated[LevelText, BeforeValidator(_level)]


Bands = tuple[Annotated[float, Field(ge=-FAR, le=FAR)], ...]


def check_bands(bands: Bands, levels: tuple[str, ...] | None) -> None:
    if any(a >= b for a, b in pairwise(bands)):
        raise InvalidField("cut points rise from one to the next", "bands")
    if bands and len(levels or ()) != len(bands) + 1:
        raise InvalidField(f"{len(bands)} cut points make {len(bands) + 1} levels", "levels")


class Variable(FrozenModel):
    name: VariableName
    unit: Unit = ""
    kind: Literal["continuous", "ordinal", "binary", "nominal"]
    static: bool = False  # one value per patient, in the patient table
    role: Literal["measure", "outcome", "group"] = "measure"
    # Of a time to event: the label or variable that says how it ended.
    status: VariableName | Literal[""] = ""
    origin: Literal["record", "elsewhere"] = "record"  # of a time to event: its time zero
    course: Literal["fast", "slow", "static"] = "fast"  # how much it changes from slot to slot
    levels: tuple[Level, ...] | None = Field(default=None, min_length=2, max_length=60)
    bounds: tuple[float, float] = (0.0, 1.0)
    bounds_from: Meaning = ""  # where the bounds come from; never the cohort
    centre: float | None = None
    scale: float | None = Field(default=None, gt=0)
    transform: Literal["none", "log"] = "none"
    resolution: float | None = Field(default=None, gt=0)  # what it is recorded in steps of
    point_masses: tuple[float, ...] = Field(default=(), max_length=10)  # that many readings have
    aggregate: Aggregate | None = None  # within a slot, if other than the slot rule's
    column: ColumnName = ""  # the name in the files, if it is another
    bands: Bands = ()  # of a group: cut points of the numbers in its column
    otherwise: ColumnName = ""  # the column that counts where that one has no number
    source: Source | None = None  # where `longsynth import` finds it

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, given: Any) -> Any:
        """The bounds of levels are the first and last of their positions."""
        if isinstance(given, dict) and isinstance(given.get("levels"), list | tuple):
            last = max(len(given["levels"]) - 1, 1)
            return {"bounds": (0, last), "bounds_from": "its levels"} | given
        return given

    @property
    def channels(self) -> int:
        """Columns that an encoded value takes: one for each level of a nominal variable."""
        return len(self.levels) if self.kind == "nominal" and self.levels else 1

    @property
    def decimals(self) -> int:
        """How many decimals a value is written with: those of its resolution, or of a fiftieth of
        its usual spread. On a log scale, the smallest values keep a digit."""
        if self.kind in ("binary", "ordinal"):
            return 0
        if self.resolution is not None:
            exponent = Decimal(repr(self.resolution)).normalize().as_tuple().exponent
            return max(-int(exponent), 0)
        low, high = self.bounds
        finest = (self.scale or (high - low) / 6) * FINEST_SHARE
        smallest = min(finest, low) if self.transform == "log" else finest
        return max(-floor(log10(smallest)), 0)

    @property
    def step(self) -> float:
        """Between two values as they are written."""
        return self.resolution or 10.0**-self.decimals if self.kind == "continuous" else 1.0

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and highest value, in steps."""
        low, high = (bound / self.step for bound in self.bounds)
        return float(ceil(low - 1e-9)), float(floor(high + 1e-9))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        low, high = self.bounds
        given = "bounds" in self.model_fields_set
        if self.name.casefold() in RESERVED:
            raise InvalidField(
                f"{self.name!r} is a column of the cohort format; use another", "name"
            )
        check_bands(self.bands, self.levels)
        if self.levels is not None:
            self._consistent_levels(self.levels)
        elif self.kind == "nominal":
            raise InvalidField("a nominal variable needs its levels: [first, second, …]", "kind")
        if self.role != "measure" and not self.static:
            raise InvalidField("an outcome or a group is static: one value per patient", "role")
        if self.status and (self.role != "outcome" or self.kind != "continuous"):
            raise InvalidField("only a time, which is a continuous outcome, has one", "status")
        if self.origin != "record" and not self.status:
            raise InvalidField("only a time to event has one", "origin")
        if self.otherwise and self.levels is not None:
            raise InvalidField("only a column of numbers has another in its place", "otherwise")
        if self.static and self.aggregate:
            raise InvalidField(
                "a static variable has one value; there is nothing to merge", "aggregate"
            )
        if self.kind == "nominal" and self.aggregate not in (None, "last"):
            raise InvalidField("unordered levels can only be merged by 'last'", "aggregate")
        if self.kind in ("ordinal", "binary") and self.aggregate == "mean":
            raise InvalidField("a mean is no level; use median, last, min or max", "aggregate")
        if self.kind == "binary":
            if self.bounds != (0.0, 1.0):
                raise InvalidField("a binary variable has bounds [0, 1]; leave them out", "bounds")
        elif not given or not self.bounds_from.strip():
            raise ValueError(
                "give bounds: [lowest, highest] and bounds_from: where they come from "
                "(a device range, a textbook), never the cohort itself"
            )
        if not low < high:
            raise InvalidField(f"bounds must rise, but {low:g} is not below {high:g}", "bounds")
        if max(-low, high) > FAR or high - low < 1 / FAR or 0 < low < 1 / FAR:
            message = "bounds lie too far apart or too close for arithmetic; narrow them, or use "
            raise InvalidField(message + "another unit", "bounds")
        if self.kind == "ordinal" and not (low.is_integer() and high.is_integer()):
            raise InvalidField(
                "the bounds of an ordinal variable are its first and last level", "bounds"
            )
        if self.kind == "ordinal" and high - low > 999:
            raise ValueError("an ordinal variable has at most 1000 levels; make it continuous")
        if self.transform == "log" and (low <= 0 or self.kind != "continuous"):
            raise InvalidField(
                "log needs a continuous variable with bounds above zero", "transform"
            )
        if not 1 / FAR <= (self.scale or 1) <= FAR:
            raise InvalidField("too large or too small for arithmetic; use another unit", "scale")
        if self.resolution and (self.kind != "continuous" or self.resolution > (high - low) / 2):
            raise InvalidField(
                "give the steps of a continuous variable, well inside its bounds", "resolution"
            )
        if self.resolution and (high - low) / self.resolution > 1e12:
            raise InvalidField("too fine for arithmetic; leave it out", "resolution")
        self._consistent_points()
        if self.centre is not None and not low <= self.centre <= high:
            raise InvalidField(f"centre {self.centre:g} must lie inside the bounds", "centre")
        return self

    def _consistent_points(self) -> None:
        points = self.point_masses
        if points and (self.kind != "continuous" or self.status):
            message = "only a continuous measure has some; every level has a share of its own"
            raise InvalidField(message, "point_masses")
        if any(a >= b for a, b in pairwise(points)):
            raise InvalidField("list them from the smallest on", "point_masses")
        for point in points:
            if not self.bounds[0] <= point <= self.bounds[1]:
                raise InvalidField(f"{point:g} lies outside the bounds", "point_masses")
            steps = point / (self.resolution or 1.0)
            if self.resolution and abs(steps - round(steps)) > 1e-9:
                message = f"{point:g} lies between two steps of the resolution"
                raise InvalidField(message, "point_masses")

    def _consistent_levels(self, levels: tuple[str, ...]) -> None:
        if self.kind == "continuous":
            raise InvalidField("a continuous variable has bounds, no levels", "levels")
        if self.kind == "binary" and len(levels) != 2:
            raise InvalidField("a binary variable has two levels, the reference first", "levels")
        if len(set(levels)) < len(levels):
            raise InvalidField("levels must differ from each other", "levels")
        if self.bounds != (0, len(levels) - 1):
            raise InvalidField("leave the bounds out where levels are given", "bounds")
