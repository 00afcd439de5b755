"""Which seeds may choose settings, and which may evaluate a version.

`lab/seeds.yaml` lists both kinds. A set of evaluation seeds evaluates only one version of the
default method, because its results may have led to the next version.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from longsynth.methods import DEFAULT
from longsynth.system.errors import Refused
from longsynth.system.folders import write_whole
from longsynth_lab.errors import LabCode
from longsynth_lab.versions import made_by

SEEDS = Path(__file__).parents[1] / "seeds.yaml"


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    seeds: tuple[int, ...]
    judged: tuple[str, ...]  # versions of the default method
    spent: str  # why it may not judge again; empty where it may


def development_seeds(path: Path = SEEDS) -> tuple[int, ...]:
    return numbers(str(_content(path)["development"]))


def evaluation_sets(path: Path = SEEDS) -> tuple[EvaluationSet, ...]:
    """Return the sets in order. No seed is in two sets or also a development seed."""
    found = tuple(
        EvaluationSet(numbers(str(one["seeds"])), tuple(one["judged"]), one.get("spent", ""))
        for one in _content(path)["evaluation"]
    )
    taken = list(development_seeds(path))
    for one in found:
        twice = sorted(set(one.seeds) & set(taken))
        if twice:
            raise Refused(
                LabCode.SEEDS_UNUSABLE,
                f"{path.name} uses seed {twice[0]} twice.",
                "Use each seed in one set only.",
            )
        taken += one.seeds
    return found


def evaluation_seeds(path: Path = SEEDS, version: str | None = None) -> tuple[int, ...]:
    """Return the seeds that may evaluate this version: the first set that is not spent and has
    evaluated no other version."""
    asked = version or made_by(DEFAULT)
    for one in evaluation_sets(path):
        if not one.spent and set(one.judged) <= {asked}:
            return one.seeds
    raise Refused(
        LabCode.SEEDS_UNUSABLE,
        f"Every set of evaluation seeds in {path.name} has judged another version of {DEFAULT}.",
        "Add a set of unused seeds.",
    )


def note_judged(path: Path = SEEDS, version: str | None = None) -> None:
    """Record in the file that a set has evaluated this version; change nothing else."""
    asked = version or made_by(DEFAULT)
    seeds = evaluation_seeds(path, asked)
    lines = path.read_text(encoding="utf-8").splitlines()
    for place, line in enumerate(lines):
        said = line.partition("seeds:")[2].strip()
        if said and numbers(said) == seeds:
            lines[place + 1] = f"    judged: [{asked}]"
    write_whole(path, ("\n".join(lines) + "\n").encode())


def looked_at(path: Path = SEEDS) -> dict[str, str]:
    """Return what earlier versions have seen of each open cohort."""
    return {name: str(said).strip() for name, said in _content(path)["looked_at"].items()}


def require_development(seeds: Iterable[int], path: Path = SEEDS) -> None:
    """Refuse to choose a setting on evaluation seeds."""
    other = sorted(set(seeds) - set(development_seeds(path)))
    if other:
        raise Refused(
            LabCode.SEEDS_UNUSABLE,
            f"Seed {other[0]} is not a development seed.",
            f"Use the development seeds in {path.name} for a search.",
        )


def numbers(text: str) -> tuple[int, ...]:
    """Read seeds such as 11,22 or 101-105."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _content(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))
