"""A folder of synthetic patients and its recipe: enough to draw the same patients again."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from longsynth.release.folder import read_json
from longsynth.sample import CHUNK, sample_chunks
from longsynth.sampling.model import Model
from longsynth.sampling.synthetic import Synthetic
from longsynth.system.errors import ReleaseError
from longsynth.system.provenance import surroundings
from longsynth.system.text import LEVEL, is_one_line
from longsynth.writing import FORMATS, output_format

RECIPE = "synthetic.json"
_TYPES = [str, int, int, dict, bool, str, dict]  # of the recipe's fields, as JSON has them


@dataclass(frozen=True, slots=True)
class Recipe:
    fingerprint: str  # of the bundle
    patients: int
    seed: int
    where: dict[str, str] = field(default_factory=dict)
    private: bool = True
    form: str = "cohort"  # how they are written
    surroundings: dict[str, str] = field(default_factory=surroundings)

    @property
    def files(self) -> tuple[str, ...]:
        """Every file of the folder."""
        return (*output_format(self.form).load().files(-(-self.patients // CHUNK)), RECIPE)

    @property
    def people(self) -> tuple[str, ...]:
        """The files with one row per patient."""
        return tuple(output_format(self.form).load().people_files(-(-self.patients // CHUNK)))


def write_synthetic(
    folder: Path,
    model: Model,
    recipe: Recipe,
    watch: Callable[[Iterator[Synthetic]], Iterator[Synthetic]] = iter,
    jobs: int = 1,
) -> None:
    """Draw and write chunk by chunk: memory does not grow with the number of patients. Any number
    of jobs writes the same bytes."""
    chunks = sample_chunks(model, recipe.patients, seed=recipe.seed, where=recipe.where, jobs=jobs)
    output_format(recipe.form).load().write(folder, model.schema, watch(chunks))
    (folder / RECIPE).write_bytes(recipe_json(recipe))


def write_synthetic_on_spark(folder: Path, model: Model, recipe: Recipe, *, master: str) -> None:
    """The same, by the executors of a cluster, who have to see the folder. The form is `parts`."""
    from longsynth.engines.spark.session import require_spark, spark_session

    require_spark()
    from longsynth.engines.spark.sampling import write_on_spark

    patients, seed, where = recipe.patients, recipe.seed, recipe.where
    with spark_session(master) as session:
        write_on_spark(session, folder, model, patients, seed=seed, where=where)
    (folder / RECIPE).write_bytes(recipe_json(recipe))


def recipe_json(recipe: Recipe) -> bytes:
    content = {"format": 2, "synthetic": True, **asdict(recipe)}
    return (json.dumps(content, indent=2) + "\n").encode()


def read_recipe(folder: Path) -> Recipe:
    if not (folder / RECIPE).exists():
        raise ReleaseError(f"{folder} has no {RECIPE}: it was not written by `longsynth sample`.")
    content = read_json(folder, RECIPE)
    recipe = Recipe(*(content.get(field.name) for field in fields(Recipe)))  # type: ignore[arg-type]
    typed = [type(getattr(recipe, field.name)) for field in fields(Recipe)] == _TYPES
    if not typed or not all(
        is_one_line(text, LEVEL)
        for mapping in (recipe.where, recipe.surroundings)
        for text in (recipe.fingerprint, *mapping, *mapping.values())
    ):
        raise ReleaseError(f"{folder / RECIPE} is not the JSON that longsynth writes.")
    if recipe.form not in FORMATS:
        raise ReleaseError(f"{folder / RECIPE} names a form that this longsynth does not write.")
    if not 1 <= recipe.patients <= 10**9:
        raise ReleaseError(f"{folder / RECIPE} names a number of patients that nobody draws.")
    return recipe
