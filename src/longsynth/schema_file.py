"""schema.yaml: reading with line numbers and remedies, writing in a form that reads well."""

from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from longsynth.constants import Settled
from longsynth.errors import SchemaError
from longsynth.schema import Schema

LARGEST = 1_000_000  # bytes
Place = tuple[str | int, ...]
_EMPTIED = ("too_short", True)  # a list is only too short because its items are wrong


def parse(path: Path) -> Schema:
    try:
        text = path.read_bytes()[: LARGEST + 1].decode("utf-8")
    except OSError as error:
        raise SchemaError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{path} is not text in UTF-8: save it as UTF-8.") from None
    if len(text) > LARGEST:
        raise SchemaError(f"{path} is over 1 MB: that is not a schema.")
    return parse_text(text, str(path))


def parse_text(text: str, where: str) -> Schema:
    try:
        if any(isinstance(e, yaml.AliasEvent) for e in yaml.parse(text, yaml.SafeLoader)):
            raise SchemaError(f"{where} uses a YAML alias (*name): write the value out.")
        root = yaml.compose(text, yaml.SafeLoader)
        content = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise SchemaError(f"{where}, line {line}: not YAML: {error.problem}.") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise SchemaError(f"{where} is not YAML that can be read.") from None
    if not isinstance(content, dict) or root is None:
        raise SchemaError(f"{where} must be a YAML mapping that starts with 'longsynth: 1'.")
    lines: dict[Place, int] = {}
    _note_lines(root, (), lines, where)
    try:
        return Schema.model_validate(content)
    except ValidationError as error:
        details = error.errors()
        inner = {e["loc"][:-1] for e in details}
        problems = sorted(
            _problem(e, lines) for e in details if (e["type"], e["loc"] in inner) != _EMPTIED
        )
        raise SchemaError("\n".join(f"{where}, line {n}: {p}" for n, p in problems)) from None


def dump(schema: Schema) -> str:
    """Return the YAML of a schema: stable, and without what is left at its default."""
    content = schema.model_dump(mode="json", exclude_defaults=True)
    for variable, written in zip(schema.variables, content["variables"], strict=True):
        if variable.kind != "binary":
            written["bounds"] = list(variable.bounds)
    if isinstance(schema.constants, Settled):  # a release says every constant it was made with
        content["constants"] = schema.constants.model_dump(mode="json")
    return yaml.safe_dump(
        content, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None
    )


def _note_lines(node: yaml.Node, place: Place, lines: dict[Place, int], where: str) -> None:
    lines[place] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for i, child in enumerate(node.value):
            _note_lines(child, (*place, i), lines, where)
    elif isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            inner = (*place, key.value)
            if inner in lines:
                line = key.start_mark.line + 1
                raise SchemaError(f"{where}, line {line}: '{key.value}' is given twice.")
            _note_lines(child, inner, lines, where)
            lines[inner] = key.start_mark.line + 1


def _problem(error: ErrorDetails, lines: dict[Place, int]) -> tuple[int, str]:
    place: Place = error["loc"]
    known = place
    while known not in lines:
        known = known[:-1]
    name = ".".join(str(p + 1) if isinstance(p, int) else p for p in place) or "the schema"
    message = str(error.get("ctx", {}).get("error", error["msg"]))
    match error["type"]:
        case "missing":
            message = "is required; add it"
        case "extra_forbidden":
            message = "is not a key of this format"
            close = get_close_matches(str(place[-1]), _keys_at(place[:-1]), n=1)
            message += f"; did you mean '{close[0]}'" if close else "; remove it"
        case "value_error":
            pass
        case _:
            message = message[0].lower() + message[1:]
    return lines[known], f"{name}: {message}."


def _keys_at(place: Place) -> list[str]:
    """The keys that the format knows at a place, for a suggestion."""
    model: Any = Schema
    for step in place:
        if isinstance(step, str):
            model = model.model_fields[step].annotation
        options = [a for a in (model, *get_args(model)) if isinstance(a, type)]
        models = [a for a in options if issubclass(a, BaseModel)]
        if models:
            model = models[0]
    return list(getattr(model, "model_fields", []))
