"""Synthetic longitudinal patient records under patient-level differential privacy.

The words are those of the commands: `import_cohort` a hospital's tables, `plan` what will be
released, `fit` a bundle, build its model with `model_of`, `sample` patients, `verify` a release.
"""

import sys

TYPE_CHECKING = False  # so that nothing is loaded before a command is heard: see early.py
if TYPE_CHECKING:
    from typing import Any

    from longsynth.audit.audit import audit
    from longsynth.bundle import Bundle
    from longsynth.engines.spark.cohort import SparkCohort
    from longsynth.fit import fit, fit_without_privacy
    from longsynth.methods.registry import METHODS, model_of
    from longsynth.plan import Plan, plan
    from longsynth.reading.cohort_folder import CohortFolder, read_cohort, read_frames
    from longsynth.reading.importing import import_cohort
    from longsynth.reading.records import Cohort
    from longsynth.reading.simulation import simulate, simulated_schema
    from longsynth.release.folder import load_release
    from longsynth.release.run import run_fit
    from longsynth.release.synthesizer import Synthesizer
    from longsynth.release.verify import verify
    from longsynth.sample import sample
    from longsynth.sampling.model import Synthetic
    from longsynth.schema.file import load_schema
    from longsynth.schema.schema import Schema
    from longsynth.system.errors import CohortError, OverBudget, Refused, ReleaseError, SchemaError
    from longsynth.writing.cohort import write_cohort

__all__ = [
    "METHODS",
    "Bundle",
    "Cohort",
    "CohortError",
    "CohortFolder",
    "OverBudget",
    "Plan",
    "Refused",
    "ReleaseError",
    "Schema",
    "SchemaError",
    "SparkCohort",
    "Synthesizer",
    "Synthetic",
    "audit",
    "fit",
    "fit_without_privacy",
    "import_cohort",
    "load_release",
    "load_schema",
    "model_of",
    "plan",
    "read_cohort",
    "read_frames",
    "run_fit",
    "sample",
    "simulate",
    "simulated_schema",
    "verify",
    "write_cohort",
]

_PLACES = {  # where names are defined, as above
    "audit.audit": ("audit",),  # needs the extra
    "bundle": ("Bundle",),
    "engines.spark.cohort": ("SparkCohort",),  # needs the extra
    "fit": ("fit", "fit_without_privacy"),
    "methods.registry": ("METHODS", "model_of"),
    "plan": ("Plan", "plan"),
    "reading.importing": ("import_cohort",),
    "reading.records": ("Cohort",),
    "reading.simulation": ("simulate", "simulated_schema"),
    "reading.cohort_folder": ("CohortFolder", "read_cohort", "read_frames"),
    "release.folder": ("load_release",),
    "release.run": ("run_fit",),
    "release.synthesizer": ("Synthesizer",),
    "release.verify": ("verify",),
    "sample": ("sample",),
    "sampling.model": ("Synthetic",),
    "schema.file": ("load_schema",),
    "schema.schema": ("Schema",),
    "system.errors": ("CohortError", "OverBudget", "Refused", "ReleaseError", "SchemaError"),
    "writing.cohort": ("write_cohort",),
}


def __getattr__(name: str) -> "Any":
    """Load what a name needs when it is first used."""
    from importlib import import_module  # noqa: TID251  the contracts see the imports above

    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"longsynth.{place}"), name)
    raise AttributeError(f"longsynth has no {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(type(sys)):  # type: ignore[misc]
    """`longsynth.fit` is the function, though a file is called so too; so is `longsynth.audit`."""

    def __setattr__(self, name: str, value: "Any") -> None:
        if name not in __all__ or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
