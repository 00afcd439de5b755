"""Which line of recipe.yaml or schema.yaml to change, so that a remedy can name it."""

import re
from pathlib import Path

from longsynth.schema.columns import LABELS
from longsynth.schema.from_names import marked_lines
from longsynth.schema.schema import Schema

_USES = {"time": "time", "group": "group", "event": "outcome", "site": "site"}


class FileLines:
    """The lines of a cohort's recipe, if it has one, and of its schema."""

    def __init__(self, folder: Path, schema: Schema) -> None:
        self._schema = schema
        self._texts = {
            path.name: path.read_text("utf-8", "replace").splitlines()
            for path in (folder / "recipe.yaml", folder / "schema.yaml")
            if path.is_file()
        }

    @property
    def marked(self) -> list[int]:
        """The lines of schema.yaml that wait for a decision."""
        lines = self._texts.get("schema.yaml", [])
        return [number for number, line in enumerate(lines, 1) if marked_lines(line)]

    def remedy(self, about: str, change: str, otherwise: str = "") -> str:
        """Say which line to change for a variable, a label or a key of the schema."""
        for name, pattern in (
            ("recipe.yaml", _in_recipe(about)),
            ("schema.yaml", _in_schema(about)),
        ):
            for number, line in enumerate(self._texts.get(name, []), 1):
                if pattern.search(line):
                    again = ", and import again" if name == "recipe.yaml" else ""
                    return f"Line {number} of {name}: correct {change}{again}."
        return otherwise or f"schema.yaml: correct {change}."


def _in_recipe(about: str) -> re.Pattern[str]:
    """A column of the export that holds it; else the line of the record."""
    name = re.escape(about)
    if about in _USES:
        return re.compile(rf"\buse: {_USES[about]}\b")
    if about in ("slots", "slot_rule", "duplicates"):
        return re.compile(rf"^\s*-? *{name}:")
    return re.compile(rf"\bvariable: {name}(?![\w-])|\binto: \[[^\]]*\b{name}\b")


def _in_schema(about: str) -> re.Pattern[str]:
    name = re.escape(about)
    if about in (*LABELS, "time", "slots", "slot_rule", "duplicates"):
        return re.compile(rf"^{name}:")
    return re.compile(rf"\bname: ['\"]?{name}['\"]?(?=\s*(?:,|\}}|#|$))")
