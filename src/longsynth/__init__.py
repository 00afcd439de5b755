"""Synthetic longitudinal patient records under patient-level differential privacy.

The words are those of the commands: `import_cohort` a hospital's tables, `plan` what will be
released, `fit` a bundle, build its model with `model_of`, `sample` patients, `verify` a release.
"""

import sys

TYPE_CHECKING = False  # so that nothing is loaded before a command is heard: see early.py
if TYPE_CHECKING:
    from typing import Any

    from longsynth.bundle import Bundle
    from longsynth.engines.spark.cohort import SparkCohort
    from longsynth.errors import CohortError, OverBudget, Refused, ReleaseError, SchemaError
    from longsynth.fit import fit
    from longsynth.govern.release import load_release
    from longsynth.govern.verify import verify
    from longsynth.importers.importing import import_cohort
    from longsynth.io.tables import CohortFolder, read_cohort
    from longsynth.io.writer import write_cohort
    from longsynth.methods.registry import METHODS, model_of
    from longsynth.plan import Plan, plan
    from longsynth.records import Cohort
    from longsynth.run import run_fit
    from longsynth.sample import sample
    from longsynth.schema import Schema
    from longsynth.schema_file import load_schema
    from longsynth.simulate import simulate, simulated_schema
    from longsynth.synthetic import Synthetic

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
    "Synthetic",
    "fit",
    "import_cohort",
    "load_release",
    "load_schema",
    "model_of",
    "plan",
    "read_cohort",
    "run_fit",
    "sample",
    "simulate",
    "simulated_schema",
    "verify",
    "write_cohort",
]

_PLACES = {  # where names are defined, as above
    "bundle": ("Bundle",),
    "engines.spark.cohort": ("SparkCohort",),  # needs the extra
    "errors": ("CohortError", "OverBudget", "Refused", "ReleaseError", "SchemaError"),
    "fit": ("fit",),
    "govern.release": ("load_release",),
    "govern.verify": ("verify",),
    "importers.importing": ("import_cohort",),
    "io.tables": ("CohortFolder", "read_cohort"),
    "io.writer": ("write_cohort",),
    "methods.registry": ("METHODS", "model_of"),
    "plan": ("Plan", "plan"),
    "records": ("Cohort",),
    "run": ("run_fit",),
    "sample": ("sample",),
    "schema": ("Schema",),
    "schema_file": ("load_schema",),
    "simulate": ("simulate", "simulated_schema"),
    "synthetic": ("Synthetic",),
}


def __getattr__(name: str) -> "Any":
    """Load what a name needs when it is first used."""
    from importlib import import_module  # noqa: TID251  the contracts see the imports above

    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"longsynth.{place}"), name)
    raise AttributeError(f"longsynth has no {name!r}")


class _Package(type(sys)):  # type: ignore[misc]
    """`longsynth.fit` is the function, though a file is called so too."""

    def __setattr__(self, name: str, value: "Any") -> None:
        if name not in __all__ or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
