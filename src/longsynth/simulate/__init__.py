"""The paper's population: patients that nobody has to protect."""

from importlib.resources import files

from longsynth.schema import Schema
from longsynth.schema_file import parse_text
from longsynth.simulate.population import simulate

__all__ = ["simulate", "simulated_schema"]


def simulated_schema() -> Schema:
    """Return the public schema of the simulated population."""
    text = files("longsynth.simulate").joinpath("schema.yaml").read_text(encoding="utf-8")
    return parse_text(text, "schema.yaml of the simulated population")
