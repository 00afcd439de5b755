"""An import from start to end: map, write, count. Slots are made later, by `fit`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from longsynth.reading import output
from longsynth.reading.first_recipe import first_recipe
from longsynth.reading.formats.events import prepare_events
from longsynth.reading.formats.meds import prepare_meds
from longsynth.reading.formats.omop import prepare_omop
from longsynth.reading.formats.table import prepare_table
from longsynth.reading.mapping import Prepared, Step, Target, moment, place_events, targets_of
from longsynth.reading.recipe import load_recipe, parse_recipe
from longsynth.reading.stage import Stage
from longsynth.schema.file import load_schema
from longsynth.schema.schema import Schema
from longsynth.system.folders import new_folder
from longsynth.system.reader_errors import without_cells

Format = Literal["events", "meds", "omop"]
FORMATS: dict[Format, Callable[..., Prepared]] = {
    "events": prepare_events,
    "meds": prepare_meds,
    "omop": prepare_omop,
}


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import wrote, and what the data holder should look at. For the data holder alone."""

    patients: int
    variables: int
    notes: tuple[str, ...] = ()  # sentences


def import_cohort(
    form: Format,
    source: Path | str,
    schema: Path | str,
    out: Path | str,
    step: Step = lambda _: None,
) -> Imported:
    """Write a cohort folder whole, or not at all. This runs on the private side: what it returns
    and tells is for the data steward, and it quotes no cell."""
    named = load_schema(schema)
    return _imported(named, out, step, partial(FORMATS[form], str(source), named))


def import_table(
    files: Sequence[Path | str],
    recipe: Path | str | None,
    out: Path | str,
    step: Step = lambda _: None,
) -> Imported:
    """The same for a hospital's own export, by a recipe, which is kept with the cohort. Without
    one, a first recipe has to leave nothing open."""
    paths = [Path(file) for file in files]
    if recipe is None:
        text = first_recipe(paths)
        made = parse_recipe(text, "the recipe that these files suggest")
    else:
        made, text = load_recipe(Path(recipe))
    prepare = partial(prepare_table, paths, made)
    return _imported(made.record, out, step, prepare, {"recipe.yaml": text})


def _imported(
    named: Schema,
    out: Path | str,
    step: Step,
    prepare: Callable[[Sequence[Target], Stage, Step], Prepared],
    kept: Mapping[str, str] = MappingProxyType({}),
) -> Imported:
    targets = targets_of(named)
    problem = "the source cannot be read: is a file damaged, or the disk full?"
    with (
        new_folder(Path(out), owner_only=True) as scratch,
        Stage(len(named.variables)) as stage,
        without_cells(problem),
    ):
        prepared = prepare(targets, stage, step)
        patients = output.count_patients(stage)
        unit = "timestamp" if prepared.stamps else "hours"
        time = moment("hours") if prepared.stamps else "hours"
        begins, by_key = prepared.begins, prepared.by_key
        if prepared.wide:
            rows = output.wide_rows(targets, begins=begins, time=time)
        else:
            place_events(stage, targets, by_key, begins=begins)
            rows = output.observations(targets, begins=begins, time=time)
        step("writing patients")
        people = scratch / "patients.parquet"
        output.write_table(stage, output.patients(targets, by_key, begins=begins), people)
        step("writing observations")
        output.write_table(stage, rows, scratch / "observations.parquet")
        step("counting")
        counts: dict[str, Any] = {"patients": patients, **prepared.notes}
        if prepared.wide:
            counts |= output.row_counts(stage)
        else:
            counts |= output.event_counts(stage, targets, by_key, begins=begins)
        counts["patients_without"] = output.unknown_labels(stage, people, targets)
        output.write_rest(scratch, output.written_schema(named, unit), counts)
        for name, text in kept.items():
            (scratch / name).write_text(text, encoding="utf-8")
    return Imported(patients, len(named.variables), tuple(_notes(counts)))


def _notes(counts: dict[str, Any]) -> Iterator[str]:
    for file, found in counts.get("csv", {}).items():
        if number := found.get("cells_with_a_line_break"):
            yield (
                f"{file}: cells with a line break: {number:,}. If there should be none, a "
                "quotation mark is missing."
            )
        if number := found.get("cells_that_are_too_long"):
            yield f"{file}: cells that are too long for any value: {number:,}. They are left out."
    for file, number in counts.get("duplicate_rows_dropped", {}).items():
        yield f"{file}: rows that occur twice: {number:,}. One of each is kept."
    unread = counts.get("cells_that_could_not_be_read", {})
    if unread:
        each = ", ".join(f"{name} {number:,}" for name, number in unread.items())
        yield f"cells that are no number and no level: {each}. They count as missing."
    if counts.get("rows_without_usable_time"):
        yield (
            f"rows without a time that can be read: {counts['rows_without_usable_time']:,} of "
            f"{counts['rows']:,}. They are left out."
        )
