"""Catalogue: what is publicly known about a variable by its name. Nothing here comes from data."""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any
from unicodedata import normalize

import yaml

from longsynth.schema.variable import Variable


@dataclass(frozen=True, slots=True)
class Known:
    variable: Variable
    loinc: tuple[str, ...]  # the usual one first
    omop: int | None  # standard concept
    aliases: tuple[str, ...]
    topic: str  # vital signs, liver, …


@lru_cache(maxsize=1)
def catalogue() -> tuple[Known, ...]:
    content = yaml.safe_load((files("longsynth.schema") / "variables.yaml").read_text("utf-8"))
    sources: dict[str, str] = content.pop("sources")
    return tuple(
        _known(entry, topic, sources) for topic, entries in content.items() for entry in entries
    )


def known(column: str) -> Known | None:
    """Return what a column's name means; capitals and signs do not matter."""
    return _by_name().get(folded(column))


def known_loinc(code: str) -> Known | None:
    """Return what a LOINC code means."""
    return next((entry for entry in catalogue() if code in entry.loinc), None)


def folded(name: str) -> str:
    """The letters and digits of a name, without capitals and accents."""
    return re.sub(r"[^a-z0-9]", "", normalize("NFKD", name).casefold())


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Known]:
    by_name: dict[str, Known] = {}
    for entry in catalogue():
        for name in (entry.variable.name, *entry.aliases):
            if by_name.setdefault(folded(name), entry) is not entry:
                raise ValueError(f"two variables of the catalogue are called {name}")
    return by_name


def _known(entry: dict[str, Any], topic: str, sources: dict[str, str]) -> Known:
    loinc, omop = entry.pop("loinc", []), entry.pop("omop", None)
    loinc = tuple(loinc) if isinstance(loinc, list) else (loinc,)
    aliases, source = tuple(entry.pop("aliases")), entry.pop("from", None)
    facts = {"kind": "continuous"} | entry | ({"bounds_from": sources[source]} if source else {})
    return Known(Variable.model_validate(facts), loinc, omop, aliases, topic)
