"""schema.yaml: reading with line numbers and remedies, writing in a form that reads well."""

from hashlib import sha256
from pathlib import Path

import yaml

from longsynth.schema.constants import ResolvedConstants
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, SchemaError, checked
from longsynth.system.yaml_text import Format

_FORMAT = Format(
    Schema, "schema", "longsynth: 1", "longsynth schema new", SchemaError, Code.SCHEMA_INVALID
)


@checked(path="Give the path of a schema.yaml.")
def load_schema(path: Path | str) -> Schema:
    """Read and check a schema.yaml; every problem names its line and a remedy.

    >>> import longsynth
    >>> longsynth.load_schema("cohort/schema.yaml").slots
    14
    """
    return parse_text(schema_text(path), str(_file(path)))


def schema_text(path: Path | str) -> str:
    """Return the text of a schema.yaml, with its comments."""
    if (run := _file(path).parent).joinpath("release").is_dir() and not _file(path).exists():
        raise SchemaError(
            Code.FILE_MISSING,
            f"{run} is a run, which has no schema of its own.",
            f"Give the cohort's folder, or {run / 'release'}.",
        )
    return _FORMAT.decode(_FORMAT.read(_file(path)), str(_file(path)))


def _file(path: Path | str) -> Path:
    path = Path(path)
    return path / "schema.yaml" if path.is_dir() else path


def parse_text(text: str, where: str) -> Schema:
    return _FORMAT.parse(text, where)


def dump(schema: Schema) -> str:
    """Return the YAML of a schema, without defaults. Hashes depend on this text: keep it stable."""
    content = schema.model_dump(mode="json", exclude_defaults=True)
    for variable, written in zip(schema.variables, content["variables"], strict=True):
        if variable.levels is not None:
            written.pop("bounds", None)  # they follow from the levels
            written.pop("bounds_from", None)
        elif variable.kind != "binary":
            written["bounds"] = list(variable.bounds)
    if isinstance(schema.constants, ResolvedConstants):  # a release states all its constants
        content["constants"] = schema.constants.model_dump(mode="json")
    return yaml.dump(
        content,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=100,
        default_flow_style=None,
    )


class _Dumper(yaml.SafeDumper):
    """Escapes every kind of line break, which YAML would otherwise fold."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def schema_sha256(schema: Schema) -> str:
    """The hash of a schema as it is written: without defaults, and without what rules decide."""
    return sha256(dump(schema).encode()).hexdigest()
