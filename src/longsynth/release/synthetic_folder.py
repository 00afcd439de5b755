"""A folder of synthetic patients and its recipe, which is enough to sample them again."""

import filecmp
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.bundle import Bundle
from longsynth.methods.resources import require_room_for_drawing
from longsynth.release.folder import check_files, read_json
from longsynth.sample import CHUNK, sample_chunks, sampled
from longsynth.sampling.model import Model, Synthetic
from longsynth.sampling.selection import in_proportion, selected
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Finding, ReleaseError
from longsynth.system.folders import regular_size
from longsynth.system.origin import surroundings
from longsynth.system.scratch import ScratchFolder
from longsynth.system.text import LEVEL, is_one_line
from longsynth.writing import FORMATS, Writer, output_format

RECIPE = "synthetic.json"
TOLERANCE = 1e-6  # of a variable's range, on another platform
SLACK, MARGIN = 2, 1_000_000  # of bytes sampled again: other platforms may compress differently
# Of the recipe's fields, as JSON has them.
_TYPES = [str, int, int, list, bool, str, dict, dict, float]


@dataclass(frozen=True, slots=True)
class Recipe:
    fingerprint: str  # of the bundle
    patients: int
    seed: int
    where: list[str] = field(default_factory=list)
    private: bool = True
    form: str = "cohort"  # how they are written
    surroundings: dict[str, str] = field(default_factory=surroundings)
    settings: dict[str, str] = field(default_factory=dict)  # of the form, where it has some
    acceptance: float = 1.0  # of generated patients, how many were kept

    @property
    def writer(self) -> Writer:
        return output_format(self.form).load(self.settings)

    def drawn_from(self, model: Model) -> Model:
        """Return the model, in the population's shares if the format has no place for weights."""
        return model if output_format(self.form).weight else in_proportion(model)

    @property
    def files(self) -> tuple[str, ...]:
        """Every file of the folder."""
        return (*self.writer.files(-(-self.patients // CHUNK)), RECIPE)

    @property
    def people(self) -> tuple[str, ...]:
        """The files with one row per patient."""
        return tuple(self.writer.people_files(-(-self.patients // CHUNK)))


def write_synthetic(
    folder: Path,
    model: Model,
    recipe: Recipe,
    watch: Callable[[Iterator[Synthetic]], Iterator[Synthetic]] = iter,
    jobs: int = 1,
) -> None:
    """Sample and write chunk by chunk: memory does not grow with the number of patients. Any number
    of jobs writes the same bytes."""
    drawn = recipe.drawn_from(model)
    chunks = sample_chunks(drawn, recipe.patients, seed=recipe.seed, where=recipe.where, jobs=jobs)
    recipe.writer.write(folder, model.schema, watch(chunks))
    (folder / RECIPE).write_bytes(recipe_json(recipe))


def with_acceptance(recipe: Recipe, model: Model) -> Recipe:
    """State how many of the generated patients meet the conditions and are kept."""
    kept = selected(recipe.drawn_from(model), recipe.where, recipe.seed, sampled).acceptance
    return replace(recipe, acceptance=1.0 if kept is None else kept)


def write_synthetic_on_spark(folder: Path, model: Model, recipe: Recipe, *, master: str) -> None:
    """The same, on the executors of a cluster, which must see the folder. The form is `parts`."""
    from longsynth.engines.spark import require_spark, spark_session

    require_spark()
    from longsynth.engines.spark.cohort import write_on_spark

    patients, seed, where = recipe.patients, recipe.seed, recipe.where
    with spark_session(master) as session:
        write_on_spark(session, folder, model, patients, seed=seed, where=where)
    (folder / RECIPE).write_bytes(recipe_json(recipe))


def recipe_json(recipe: Recipe) -> bytes:
    content = {"format": 2, "synthetic": True, **asdict(recipe)}
    if not recipe.settings:
        del content["settings"]
    if recipe.acceptance == 1:
        del content["acceptance"]
    return (json.dumps(content, indent=2) + "\n").encode()


def read_recipe(folder: Path) -> Recipe:
    if not (folder / RECIPE).exists():
        raise ReleaseError(
            Code.FOLDER_UNKNOWN,
            f"{folder} has no {RECIPE}.",
            "Give a folder that `longsynth sample` wrote.",
        )
    content = {"settings": {}, "acceptance": 1.0} | read_json(folder, RECIPE)
    recipe = Recipe(*(content.get(field.name) for field in fields(Recipe)))  # type: ignore[arg-type]
    typed = [type(getattr(recipe, field.name)) for field in fields(Recipe)] == _TYPES
    if not typed or not all(
        is_one_line(text, 3 * LEVEL)
        for text in (
            recipe.fingerprint,
            *recipe.where,
            *recipe.surroundings,
            *recipe.surroundings.values(),
        )
    ):
        raise _altered(f"{folder / RECIPE} is not the JSON that longsynth writes.")
    if recipe.form not in FORMATS:
        raise _altered(f"{folder / RECIPE} names a format that this longsynth does not write.")
    settings = recipe.settings
    if sorted(settings) != sorted(FORMATS[recipe.form].settings) or not all(
        isinstance(text, str) for text in settings.values()
    ):
        raise _altered(f"{folder / RECIPE} lacks the settings of its format.")
    if not 1 <= recipe.patients <= 10**9:
        raise _altered(f"{folder / RECIPE} names an impossible number of patients.")
    return recipe


def _altered(problem: str) -> ReleaseError:
    return ReleaseError(Code.SYNTHETIC_ALTERED, problem, "Sample again, or ask for it again.")


def check_synthetic(bundle: Bundle, model: Model, folder: Path) -> Iterator[Finding]:
    """Sample the same patients again from the model, and compare."""
    recipe = read_recipe(folder)
    yield check_files(folder, recipe.files)
    if not all(os.path.lexists(folder / name) for name in recipe.files):
        return
    size = sum(regular_size(folder / name) for name in recipe.files)
    if not recipe.private:
        yield Finding(False, f"{folder} states that it is NOT PRIVATE.")
        return
    if recipe.fingerprint != bundle.fingerprint:
        yield Finding(False, f"{folder} was NOT sampled from this release.")
        return
    others = Finding(False, f"{folder} does NOT hold the patients that its recipe describes.")
    if recipe.patients != sum(recipe.writer.rows(folder / name) for name in recipe.people):
        yield others
        return
    require_room_for_drawing(bundle.schema, recipe.patients)
    if _expected_size(model, recipe) > SLACK * size + MARGIN:
        yield others
        return
    with ScratchFolder() as scratch:
        write_synthetic(scratch.path, model, with_acceptance(recipe, model))
        yield _compared(bundle.schema, folder, scratch.path, recipe)


def _expected_size(model: Model, recipe: Recipe) -> float:
    """Bytes that sampling again would write, judged by the first chunk: a small folder must not
    keep its reader busy. A workbook, for one, shows its size only when it is finished."""
    if recipe.patients <= CHUNK:
        return 0.0  # there is no more than one chunk to write
    seed, where = recipe.seed, recipe.where
    drawn = recipe.drawn_from(model)
    first = sample_chunks(drawn, recipe.patients, seed=seed, where=where, chunks=range(1))
    with ScratchFolder() as scratch:
        recipe.writer.write(scratch.path, model.schema, first)
        written = sum(p.stat().st_size for p in scratch.path.rglob("*") if p.is_file())
    return written * recipe.patients / CHUNK


def _compared(schema: Schema, folder: Path, again: Path, recipe: Recipe) -> Finding:
    if all(filecmp.cmp(folder / name, again / name, shallow=False) for name in recipe.files):
        return Finding(
            True, f"{folder} was sampled again from seed {recipe.seed}: bit for bit the same."
        )
    here = surroundings()
    moved = [key for key in here if here[key] != recipe.surroundings.get(key)]
    if not moved:
        return Finding(False, f"{folder} DIFFERS from what seed {recipe.seed} gives here.")
    if recipe.form != "cohort":
        return Finding(
            False,
            f"{folder} was written under another {', '.join(moved)}, where rounding may differ. "
            "Only the format 'cohort' can be compared then.",
        )
    close = _close(schema, folder, again, recipe)
    return Finding(
        close,
        f"{folder} was sampled again from seed {recipe.seed} under another {', '.join(moved)}: "
        + (
            f"the same within {TOLERANCE:g} of each variable's range."
            if close
            else "it DIFFERS by more than rounding explains."
        ),
    )


def _close(schema: Schema, folder: Path, again: Path, recipe: Recipe) -> bool:
    """Equal except for rounding: same patients, rows and missing cells, nearly the same values."""
    same_text = (folder / "schema.yaml").read_bytes() == (again / "schema.yaml").read_bytes()
    if not same_text or (folder / RECIPE).read_bytes() != recipe_json(recipe):
        return False
    ranges = {v.name: v.bounds[1] - v.bounds[0] for v in schema.variables}
    ranges |= {"time": schema.max_gap, "weight": 1.0}
    for name in ("patients.parquet", "observations.parquet"):
        left, right = (pq.read_metadata(d / name) for d in (folder, again))
        if left.num_rows != right.num_rows or not left.schema.equals(right.schema):
            return False  # before anything is read: few bytes can claim many rows
        text = [field.name for field in pq.read_schema(again / name) if field.type == pa.string()]
        left, right = (pq.read_table(d / name, read_dictionary=text) for d in (folder, again))
        if not left.schema.equals(right.schema, check_metadata=True) or len(left) != len(right):
            return False
        for column in left.column_names:
            near = _near(left.column(column), right.column(column), ranges.get(column))
            if not near:
                return False
    return True


def _near(left: pa.ChunkedArray, right: pa.ChunkedArray, width: float | None) -> bool:
    if pa.types.is_dictionary(left.type):  # each text is stored once, however many rows repeat it
        both = pa.chunked_array([*left.chunks, *right.chunks], left.type).unify_dictionaries()
        places = [chunk.indices.fill_null(-1).to_numpy() for chunk in both.chunks]
        mine, theirs = np.split(np.concatenate([np.zeros(0, np.int64), *places]), 2)
        return bool(np.array_equal(mine, theirs))
    if width is None:
        return bool(left.equals(right))
    a, b = (c.to_numpy(zero_copy_only=False).astype(np.float64) for c in (left, right))
    return bool(np.allclose(a, b, rtol=0, atol=TOLERANCE * width, equal_nan=True))
