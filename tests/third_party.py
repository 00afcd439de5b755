"""A third party's package: an honest method, and one that repeats a patient for everybody.

This very file becomes the package, with entry points as pip would leave them; executors of Spark
import it from here.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from longsynth.bundle import Bundle
from longsynth.encoding.rows import Encoded, Encoder
from longsynth.methods.dp_score import DPScore
from longsynth.methods.method import Line, PrivateMethod, Stage
from longsynth.privacy.sums import Contribution
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema

PACKAGE, VERSION = "elsewhere-methods", "2.5.1"


class Honest(PrivateMethod):
    name: ClassVar[str] = "honest"
    summary: ClassVar[str] = "a third party's method that keeps to the rules"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        return DPScore().stages(schema)

    def encoder(self, schema: Schema, so_far: Bundle) -> Encoder:
        return Encoder(schema)

    def model(self, bundle: Bundle) -> Model:
        return DPScore().model(bundle)


class Repeats(Honest):
    name: ClassVar[str] = "repeats"
    summary: ClassVar[str] = "a third party's method that repeats one patient for everybody"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        return tuple(
            tuple(replace(line, rows=partial(repeated_rows, line)) for line in stage)
            for stage in super().stages(schema)
        )


def repeated_rows(line: Line, encoded: Encoded) -> Contribution:
    return repeated(line.rows(encoded))


def repeated(rows: Contribution) -> Contribution:
    return Contribution(*(np.repeat(side[:1], len(side), axis=0) for side in rows))


def install(
    folder: Path, name: str = PACKAGE, version: str = VERSION, extra: str = "", also: str = ""
) -> Path:
    """Put the package on a path: the folder is what a PYTHONPATH or a site folder would be."""
    package = folder / "elsewhere_methods"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(Path(__file__).read_text(encoding="utf-8") + extra)
    about = folder / f"elsewhere_methods-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    points = "honest = elsewhere_methods:Honest\nrepeats = elsewhere_methods:Repeats\n"
    (about / "entry_points.txt").write_text(f"[longsynth.methods]\n{points}{also}")
    return folder
