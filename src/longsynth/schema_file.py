"""schema.yaml: reading with line numbers and remedies, writing in a form that reads well."""

import re
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
DEEPEST, MOST = 20, 50_000  # lists within lists; values, keys and brackets
SAID, LETTERS = 20, 200  # problems that are told, and how much of each
Place = tuple[str | int, ...]
_MISREAD = {  # what YAML makes of a bare word or number, and where that surprises
    "bool": ("a truth value", ""),
    "timestamp": ("a date", ""),
    "int": ("another number", r"[_:]|^[-+]?0[0-9xb]"),  # 1_000, 12:30, 010, 0x10
    "float": ("another number", "[_:]"),
}
_EMPTIED = ("too_short", True)  # a list is only too short because its items are wrong


def load_schema(path: Path | str) -> Schema:
    """Read and check a schema.yaml; every problem names its line and a remedy."""
    path = Path(path)
    path = path / "schema.yaml" if path.is_dir() else path
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise SchemaError(
            f"{path} cannot be read: {error.strerror}. Every cohort needs a schema."
        ) from None
    if len(content) > LARGEST:
        raise SchemaError(f"{path} is over 1 MB, too long for a schema: is it another file?")
    try:
        return parse_text(content.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SchemaError(f"{path}, line {line}: not UTF-8: save it as text in UTF-8.") from None


def parse_text(text: str, where: str) -> Schema:
    lines: dict[Place, int] = {}
    depth = 0
    try:
        for number, event in enumerate(yaml.parse(text, yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:  # here, as deep nesting would keep what follows busy for hours
                raise _refused(where, event, "lists within lists, deeper than any schema")
            if number > MOST:
                raise _refused(where, event, "more values than any schema has: is it another file?")
            if isinstance(event, yaml.AliasEvent):
                raise _refused(where, event, "a YAML alias (*name): write the value out")
        root = yaml.compose(text, yaml.SafeLoader)
        if root is not None:
            _note_lines(root, (), lines, where)
        content = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise SchemaError(
            f"{where}, line {line}: not YAML: {_shown(str(error.problem))}. Check colons, quotes "
            "and brackets, and indent with spaces."
        ) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SchemaError(f"{where}, line {line}: a control character: remove it.") from None
    except (ValueError, LookupError, RecursionError):  # !!int '' is a LookupError
        raise SchemaError(f"{where} cannot be read as YAML: write it more plainly.") from None
    if not isinstance(content, dict):
        raise SchemaError(
            f"{where}, line 1: not a YAML mapping: start with 'longsynth: 1', one key a line."
        )
    try:
        return Schema.model_validate(content)
    except ValidationError as error:
        details = error.errors()
        inner = {e["loc"][:-1] for e in details}
        problems = sorted(
            _problem(e, lines) for e in details if (e["type"], e["loc"] in inner) != _EMPTIED
        )
        told = [f"{where}, line {n}: {p}" for n, p in problems[:SAID]]
        if len(problems) > SAID:
            told.append(f"and {len(problems) - SAID:,} more.")
        raise SchemaError("\n".join(told)) from None


def dump(schema: Schema) -> str:
    """Return the YAML of a schema: stable, and without what is left at its default."""
    content = schema.model_dump(mode="json", exclude_defaults=True)
    for variable, written in zip(schema.variables, content["variables"], strict=True):
        if variable.kind != "binary":
            written["bounds"] = list(variable.bounds)
    if isinstance(schema.constants, Settled):  # a release says every constant it was made with
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
    """Escapes line breaks of every alphabet; left as they are, YAML would fold them."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def _note_lines(node: yaml.Node, place: Place, lines: dict[Place, int], where: str) -> None:
    """Note the line of every place, and refuse what YAML reads differently than people do."""
    lines[place] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for i, child in enumerate(node.value):
            _note_lines(child, (*place, i), lines, where)
    elif isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            inner = (*place, str(key.value))
            if _kind(key) != "str":
                raise _refused(where, key, "only plain words are keys: remove this one")
            if inner in lines:
                raise _refused(where, key, f"'{key.value}' is given twice: keep one")
            _note_lines(child, inner, lines, where)
            lines[inner] = key.start_mark.line + 1
    elif (kind := _kind(node)) in _MISREAD:
        becomes, pattern = _MISREAD[kind]
        if re.search(pattern, node.value):
            raise _refused(where, node, f"YAML reads {node.value} as {becomes}: quote it")


def _kind(node: yaml.Node) -> str:
    return str(node.tag).rpartition(":")[2]


def _refused(where: str, at: yaml.Node | yaml.Event, why: str) -> SchemaError:
    line = at.start_mark.line + 1 if at.start_mark else 1
    return SchemaError(f"{where}, line {line}: {_shown(why)}.")


def _shown(text: str) -> str:
    """Short, and without anything that a terminal would obey or could not print."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return plain if len(plain) <= LETTERS else f"{plain[:LETTERS]}…"


def _problem(error: ErrorDetails, lines: dict[Place, int]) -> tuple[int, str]:
    cause = error.get("ctx", {}).get("error")
    place: Place = error["loc"] + getattr(cause, "place", ())
    known = place
    while known not in lines:
        known = known[:-1]
    name = ".".join(str(p + 1) if isinstance(p, int) else p for p in place) or "the schema"
    message = str(cause or error["msg"])
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
    return lines[known], f"{_shown(name)}: {_shown(message)}."


def _keys_at(place: Place) -> list[str]:
    """The keys that the format knows at a place, for a suggestion."""
    model: type[BaseModel] = Schema
    for step in place:
        if isinstance(step, str):
            model = _models(model.model_fields[step].annotation)[0]
    return list(model.model_fields)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
