"""A synthetic cohort folder and its recipe: enough to draw the same patients again."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from longsynth.errors import Refused, ReleaseError
from longsynth.io.writer import write_cohort
from longsynth.model.model import Model
from longsynth.sample import sample_chunks
from longsynth.synthetic import Synthetic
from longsynth.version import surroundings

RECIPE = "synthetic.json"
FILES = ("observations.parquet", "patients.parquet", "schema.yaml", RECIPE)


@dataclass(frozen=True, slots=True)
class Recipe:
    fingerprint: str  # of the bundle
    patients: int
    seed: int
    where: dict[str, str] = field(default_factory=dict)
    private: bool = True
    surroundings: dict[str, str] = field(default_factory=surroundings)


def write_synthetic(
    folder: Path,
    model: Model,
    recipe: Recipe,
    watch: Callable[[Iterator[Synthetic]], Iterator[Synthetic]] = iter,
) -> None:
    """Draw and write chunk by chunk: memory does not grow with the number of patients."""
    chunks = sample_chunks(model, recipe.patients, seed=recipe.seed, where=recipe.where)
    write_cohort(folder, model.schema, watch(chunks))
    (folder / RECIPE).write_bytes(recipe_json(recipe))


def recipe_json(recipe: Recipe) -> bytes:
    content = {"format": 1, "synthetic": True, **asdict(recipe)}
    return (json.dumps(content, indent=2) + "\n").encode()


def read_recipe(folder: Path) -> Recipe:
    try:
        content = json.loads((folder / RECIPE).read_bytes())
        recipe = Recipe(
            str(content["fingerprint"]),
            int(content["patients"]),
            int(content["seed"]),
            dict(content["where"]),
            bool(content["private"]),
            dict(content["surroundings"]),
        )
    except OSError:
        raise ReleaseError(
            f"{folder} has no {RECIPE}: it was not written by `longsynth sample`."
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ReleaseError(f"{folder / RECIPE} is not the JSON that longsynth writes.") from None
    if not 1 <= recipe.patients <= 10**9:
        raise Refused(f"{folder / RECIPE} names {recipe.patients} patients.")
    return recipe
