"""Words that hospitals use for columns and cells: public, and the same for recipes and schemas."""

from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

from longsynth.schema.catalogue import Known, catalogue, folded, known


@lru_cache(maxsize=1)
def words() -> dict[str, Any]:
    text = (files("longsynth.schema") / "column_words.yaml").read_text("utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def is_called(name: str, what: str) -> bool:
    """Whether a name is a usual one for an entry of the words; capitals and signs do not matter."""
    return folded(name) in map(folded, words()[what])


def known_anywhere(name: str) -> Known | None:
    """The catalogue's entry for a name, in any of the languages."""
    if (match := known(name)) is not None:
        return match
    translated = words()["variables"].items()
    meant = next((m for m, names in translated if folded(name) in map(folded, names)), None)
    return next((entry for entry in catalogue() if entry.variable.name == meant), None)
