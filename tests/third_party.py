"""A third party's package: an honest method, and one that repeats a patient for everybody.

This very file becomes the package, with entry points as pip would leave them; executors of Spark
import it from here.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from longsynth.bundle import Bundle
from longsynth.methods.method import Stage
from longsynth.methods.private.dp_score import DPScore
from longsynth.privacy.ledger import Entry
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema

PACKAGE, VERSION = "elsewhere-methods", "2.5.1"


class Honest:
    name: ClassVar[str] = "honest"
    summary: ClassVar[str] = "a third party's method that keeps to the rules"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        return DPScore().stages(schema)

    def blur(self, entry: Entry, schema: Schema, patients: int) -> str:
        return DPScore().blur(entry, schema, patients)

    def contributions(
        self, batch: Cohort, schema: Schema, stage: Stage, so_far: Bundle
    ) -> Mapping[str, Contribution]:
        return DPScore().contributions(batch, schema, stage, so_far)

    def model(self, bundle: Bundle) -> Model:
        return DPScore().model(bundle)


class Repeats(Honest):
    name: ClassVar[str] = "repeats"
    summary: ClassVar[str] = "a third party's method that repeats one patient for everybody"

    def contributions(
        self, batch: Cohort, schema: Schema, stage: Stage, so_far: Bundle
    ) -> Mapping[str, Contribution]:
        rows = super().contributions(batch, schema, stage, so_far)
        return {name: repeated(found) for name, found in rows.items()}


def repeated(found: Contribution) -> Contribution:
    return Contribution(*(np.repeat(side[:1], len(side), axis=0) for side in found))


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
