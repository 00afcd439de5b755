"""YAML that people write: read safely, checked by a model, each mistake with its line and a remedy.

Where YAML reads something else than people mean, it is refused: bare dates and truth values, octal
numbers, aliases, a key given twice.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from longsynth.system.errors import Code, Refused
from longsynth.system.text import shortened

LARGEST = 1_000_000  # bytes
DEEPEST, MOST = 20, 50_000  # lists within lists, down to a value; values, keys and lists
Place = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)
_MISREAD = {  # what YAML makes of a bare word or number, and where that surprises
    "bool": ("a truth value", r"^(?!true$|false$)"),  # yes, no, on, off
    "timestamp": ("a date", ""),
    "int": ("another number", r"[_:]|^[-+]?0[0-9xb]"),  # 1_000, 12:30, 010, 0x10
    "float": ("another number", "[_:]"),
}
_EMPTIED = ("too_short", True)  # a list is only too short because its items are wrong


class FrozenModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class InvalidField(ValueError):
    """A broken rule, and the place of the mistake below the model that states the rule."""

    def __init__(self, message: str, *place: str | int) -> None:
        super().__init__(message)
        self.place = place


class _Loader(yaml.SafeLoader):
    """Refuses while it reads: deep nesting would keep it busy for hours."""

    def __init__(
        self, text: str, noun: str, refusal: Callable[[yaml.Event, str, str], Refused]
    ) -> None:
        super().__init__(text)
        self._noun, self._refusal = noun, refusal
        self._depth = self._number = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        self._depth, self._number = self._depth + 1, self._number + 1
        if isinstance(event, yaml.AliasEvent):
            raise self._refusal(event, "a YAML alias (*name)", "Write the value out.")
        if self._depth > DEEPEST:
            why = f"lists within lists, deeper than in any {self._noun}"
            raise self._refusal(event, why, "Check the indentation.")
        if self._number > MOST:
            why = f"more values than any {self._noun} has"
            raise self._refusal(event, why, "Check that it is the right file.")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


@dataclass(frozen=True, slots=True)
class Format(Generic[Model]):
    """A kind of YAML file."""

    model: type[Model]
    noun: str  # what people call it
    start: str  # its first line
    made_by: str  # the command that writes a first one
    refusal: type[Refused]
    code: Code
    listed: int = 20  # problems, at most

    def read(self, path: Path) -> bytes:
        try:
            with path.open("rb") as file:
                content = file.read(LARGEST + 1)
        except FileNotFoundError:
            raise self.refusal(
                Code.FILE_MISSING,
                f"{path} does not exist.",
                f"Write it with `{self.made_by}`, or correct the path.",
            ) from None
        except OSError as error:
            raise self.refusal(
                Code.FILE_UNREADABLE,
                f"{path} cannot be read: {error.strerror}.",
                f"Give a {self.noun} that you may read.",
            ) from None
        if len(content) > LARGEST:
            raise self.refusal(
                Code.FILE_UNREADABLE,
                f"{path} is over 1 MB, too long for a {self.noun}.",
                "Check that it is the right file.",
            )
        return content

    def decode(self, content: bytes, where: str) -> str:
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise self._refused(where, line, "not UTF-8", "Save it as text in UTF-8.") from None

    def parse(self, text: str, where: str) -> Model:
        """Return the checked model, or refuse with every mistake in the order of the lines."""
        content, lines = self._marked(text, where)
        try:
            return self.model.model_validate(content)
        except ValidationError as error:
            details = error.errors()
            outer = {e["loc"][:i] for e in details for i in range(len(e["loc"]))}
            problems = sorted(
                self._problem(e, lines)
                for e in details
                if (e["type"], e["loc"] in outer) != _EMPTIED
            )
            listed = [
                f"{where}, line {line}: {problem}" for line, problem in problems[: self.listed]
            ]
            if more := len(problems) - len(listed):
                listed.append(f"and {more:,} more.")
            raise self.refusal(self.code, "\n".join(listed), f"Correct the {self.noun}.") from None

    def _marked(self, text: str, where: str) -> tuple[dict[str, Any], dict[Place, int]]:
        """Return the content, and the line of every place in it."""
        lines: dict[Place, int] = {}
        content = None
        try:
            loader = _Loader(text, self.noun, partial(self._at, where))
            root = loader.get_single_node()
            if root is not None:
                self._note_lines(root, (), lines, where)
                content = loader.construct_document(root)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise self._refused(
                where,
                line,
                f"not YAML: {shortened(str(error.problem))}",
                "Check colons, quotes and brackets, and indent with spaces.",
            ) from None
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise self._refused(where, line, "a control character", "Remove it.") from None
        except (ValueError, LookupError, OverflowError, RecursionError):  # as of !!int ''
            raise self._refused(where, 1, "YAML cannot read it", "Write simple values.") from None
        if not isinstance(content, dict):
            remedy = f"Start with '{self.start}', and write one key per line."
            raise self._refused(where, 1, "not a YAML mapping", remedy)
        return content, lines

    def _note_lines(
        self, node: yaml.Node, place: Place, lines: dict[Place, int], where: str
    ) -> None:
        """Note the line of every place, and refuse what YAML reads differently than people do."""
        lines[place] = node.start_mark.line + 1
        if isinstance(node, yaml.SequenceNode):
            for i, child in enumerate(node.value):
                self._note_lines(child, (*place, i), lines, where)
        elif isinstance(node, yaml.MappingNode):
            for key, child in node.value:
                inner = (*place, str(key.value))
                if _kind(key) != "str":
                    raise self._at(where, key, "a key must be a word", "Remove this one.")
                if inner in lines:
                    raise self._at(where, key, f"'{key.value}' is given twice", "Keep one.")
                self._note_lines(child, inner, lines, where)
                lines[inner] = key.start_mark.line + 1
        elif (kind := _kind(node)) in _MISREAD:
            becomes, pattern = _MISREAD[kind]
            if re.search(pattern, node.value):
                raise self._at(where, node, f"YAML reads {node.value} as {becomes}", "Quote it.")

    def _at(self, where: str, at: yaml.Node | yaml.Event, why: str, remedy: str) -> Refused:
        line = at.start_mark.line + 1 if at.start_mark else 1
        return self._refused(where, line, shortened(why), remedy)

    def _refused(self, where: str, line: int, why: str, remedy: str) -> Refused:
        return self.refusal(self.code, f"{where}, line {line}: {why}.", remedy)

    def _problem(self, error: ErrorDetails, lines: dict[Place, int]) -> tuple[int, str]:
        cause = error.get("ctx", {}).get("error")
        place: Place = error["loc"] + getattr(cause, "place", ())
        known = place
        while known not in lines:
            known = known[:-1]
        name = ".".join(str(p + 1) if isinstance(p, int) else p for p in place)
        message = str(cause or error["msg"])
        match error["type"]:
            case "missing":
                message = "is required; add it"
            case "extra_forbidden":
                message = "is not a key of this format"
                close = get_close_matches(str(place[-1]), self._keys_at(place[:-1]), n=1)
                message += f"; did you mean '{close[0]}'" if close else "; remove it"
            case "value_error":
                pass
            case _:
                message = message[0].lower() + message[1:]
        return lines[known], f"{shortened(name or f'the {self.noun}')}: {shortened(message)}."

    def _keys_at(self, place: Place) -> list[str]:
        """The keys that the format knows at a place, for a suggestion."""
        model: type[BaseModel] = self.model
        for step in place:
            if isinstance(step, str):
                model = _models(model.model_fields[step].annotation)[0]
        return list(model.model_fields)


def _kind(node: yaml.Node) -> str:
    return str(node.tag).rpartition(":")[2]


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
