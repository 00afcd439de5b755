"""A new form: every question with its explanation, and what a schema already answers."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel

from longsynth.govern.form.answers import FILL
from longsynth.govern.form.content import ApprovedVariable, Governance
from longsynth.schema.file import schema_sha256
from longsynth.schema.schema import Labels, Schema

_SHOWN = ("name", "unit", "kind", "bounds", "bounds_from")  # of a variable
_HEAD = f"""\
# Governance form of longsynth: filled in and approved before anyone touches the data.
#
# Replace every {FILL}. An answer of several lines starts with >- on the line of its key. Then:
#   longsynth governance check FORM --schema schema.yaml   says what is still open or wrong
#   longsynth governance page FORM --out page.html         makes a page to read and to sign
#   longsynth fit COHORT --governance FORM --by NAME ...   refuses what the form does not allow
# A release names the SHA-256 of this file: once it is approved, do not change a letter of it.
"""


def blank_form(schema: Schema | None = None) -> str:
    """Return the YAML of a form in which everything is left to fill in, or all but what the
    schema says."""
    known = _from_schema(schema) if schema else {}
    return "\n".join([_HEAD, *_questions(Governance, known, "")]) + "\n"


def _from_schema(schema: Schema) -> dict[str, Any]:
    variables = [
        {k: v for k, v in variable.model_dump(exclude_unset=True).items() if k in _SHOWN}
        for variable in schema.variables
    ]
    return {
        "outcome": _label(schema.event),
        "audit_group": _label(schema.group),
        "public_facts": {"schema_sha256": schema_sha256(schema), "variables": variables},
    }


def _label(labels: Labels) -> dict[str, Any]:
    known = {"column": labels.column, "levels": list(labels.levels)}
    return known | ({"meaning": labels.meaning} if labels.meaning else {})


def _questions(model: type[BaseModel], known: dict[str, Any], indent: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind, parts = get_origin(field.annotation), get_args(field.annotation)
        inner = next((p for p in (field.annotation, *parts) if _is_model(p)), None)
        if inner and not indent:
            yield f"\n# {field.title}"
        for line in wrap(field.description or "", 98 - len(indent)):
            yield f"{indent}# {line}"
        if inner and kind is not tuple:
            yield f"{indent}{name}:"
            yield from _questions(inner, known.get(name, {}), indent + "  ")
        else:
            blank = _blank(inner, kind, parts, optional=not field.is_required())
            yield from _answer(f"{indent}{name}:", known.get(name, blank), indent)


def _blank(inner: Any, kind: Any, parts: tuple[Any, ...], *, optional: bool) -> Any:
    if inner:
        asked = (n for n in inner.model_fields if inner is not ApprovedVariable or n in _SHOWN)
        return [dict.fromkeys(asked, FILL)]
    if kind is Literal and len(parts) == 1:
        return parts[0]
    return [FILL] if kind is tuple and not optional else FILL


def _is_model(part: object) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _answer(key: str, value: Any, indent: str) -> Iterator[str]:
    """Yield the key and its answer; a list of mappings takes a line for each of their keys."""
    if not (isinstance(value, list) and isinstance(value[0], dict)):
        yield f"{key} {_flow(value)}"
        return
    yield key
    for item in value:
        for i, (name, given) in enumerate(item.items()):
            yield f"{indent}  {' ' if i else '-'} {name}: {_flow(given)}"


def _flow(value: Any) -> str:
    style = '"' if isinstance(value, str) and not value.isprintable() else None
    text = yaml.safe_dump(
        value, default_style=style, default_flow_style=True, width=10_000, allow_unicode=True
    )
    return text.removesuffix("...\n").strip()
