"""Synthetic longitudinal patient records under patient-level differential privacy.

The words are those of the commands: `import_cohort` a hospital's tables, `plan` what will be
released, `fit` a bundle, build its model with `model_of`, `sample` patients, `verify` a release.
"""

from typing import TYPE_CHECKING, Any

from longsynth.bundle import Bundle
from longsynth.errors import CohortError, OverBudget, Refused, ReleaseError, SchemaError
from longsynth.fit import fit
from longsynth.methods.registry import METHODS, model_of
from longsynth.plan import Plan, plan
from longsynth.records import Cohort
from longsynth.sample import sample
from longsynth.schema import Schema
from longsynth.schema_file import load_schema
from longsynth.simulate import simulate, simulated_schema
from longsynth.synthetic import Synthetic

if TYPE_CHECKING:
    from longsynth.engines.spark.cohort import SparkCohort
    from longsynth.govern.release import load_release
    from longsynth.govern.verify import verify
    from longsynth.importers.importing import import_cohort
    from longsynth.io.tables import CohortFolder, read_cohort
    from longsynth.io.writer import write_cohort
    from longsynth.run import run_fit

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


def __getattr__(name: str) -> Any:
    """Load what reads and writes files when it is first used: Arrow and DuckDB take their time."""
    if name not in __all__:
        raise AttributeError(f"longsynth has no {name!r}")
    if name == "SparkCohort":  # needs the extra
        from longsynth.engines.spark.cohort import SparkCohort

        return SparkCohort
    from longsynth import run
    from longsynth.govern import release, verify
    from longsynth.importers import importing
    from longsynth.io import tables, writer

    found = {
        "CohortFolder": tables.CohortFolder,
        "import_cohort": importing.import_cohort,
        "load_release": release.load_release,
        "read_cohort": tables.read_cohort,
        "run_fit": run.run_fit,
        "verify": verify.verify,
        "write_cohort": writer.write_cohort,
    }
    return found[name]
