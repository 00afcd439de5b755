"""An export as the hospital makes it: a recipe in reverse.

The files have the names, layout, columns, words and units that the recipe describes, so whatever
opens the real export opens this one. Columns that the recipe ignores are there and empty. Patients
are called S000001 and so on, and all records start on one public date. weights.csv has a weight for
each patient.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import date
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from longsynth.schema.file import dump
from longsynth.schema.recipe import ExportTable, Recipe, parse_recipe
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Refused
from longsynth.writing import Writer
from longsynth.writing.export_cells import export_ids, export_table
from longsynth.writing.files import Add, csv_file, csv_rows, excel_file, parquet_file
from longsynth.writing.own import own_schema

WEIGHTS = "weights.csv"
TAKEN = (WEIGHTS, "recipe.yaml", "schema.yaml", "synthetic.json", "not_for_release.md")
FIRST_YEAR, LAST_YEAR = 1900, 2200  # in which records may start
_SHEET = re.compile(r"[^\[\]:*?/\\]{1,31}")


def export_writer(recipe: str, start_date: str = "") -> Writer:
    """Return a writer for the text of a recipe. Both texts are public, and may be anyone's."""
    made = parse_recipe(recipe, "the recipe")
    names = _file_names(made)
    return Writer(
        partial(_write, made, recipe, names, _start(made, start_date)),
        people_files=lambda _: [WEIGHTS],
        other_files=lambda _: [*dict.fromkeys(names), "recipe.yaml"],
        rows=csv_rows,
    )


def _write(
    recipe: Recipe,
    text: str,
    names: list[str],
    start: date,
    folder: Path,
    schema: Schema,
    chunks: Iterable[Trajectories],
) -> None:
    _require_same(recipe.record, schema)
    _require_whole_years(recipe, schema)
    first, key = 1, recipe.tables[0].used("id")[0]
    with ExitStack() as opened:
        adds = _opened(folder, recipe, names, opened)
        add_weights = opened.enter_context(csv_file(folder / WEIGHTS))
        for chunk in chunks:
            numbers = np.arange(first, first + chunk.patients)
            first += chunk.patients
            for table, add in zip(recipe.tables, adds, strict=True):
                add(export_table(table, recipe, chunk, numbers, start, schema.constrained))
            weight = getattr(chunk, "weight", np.ones(chunk.patients))
            add_weights(pa.table({key: export_ids(numbers), "weight": np.round(weight, 6)}))
    (folder / "recipe.yaml").write_text(text, encoding="utf-8", newline="")
    (folder / "schema.yaml").write_text(dump(own_schema(schema)), encoding="utf-8")


def _opened(folder: Path, recipe: Recipe, names: list[str], opened: ExitStack) -> list[Add]:
    """Open all files, and return what adds rows to each table. Tables of one workbook share it."""
    adds: dict[int, Add] = {}
    for name in dict.fromkeys(names):
        tables = {i: recipe.tables[i] for i, other in enumerate(names) if other == name}
        (number, table), path = next(iter(tables.items())), folder / name
        if table.form == "excel":
            sheets = {_sheet(t): t.header - 1 for t in tables.values()}
            adds |= zip(tables, opened.enter_context(excel_file(path, sheets)), strict=True)
        elif table.form == "parquet":
            adds[number] = opened.enter_context(parquet_file(path))
        else:
            form = {"encoding": table.encoding, "separator": table.separator}
            adds[number] = opened.enter_context(csv_file(path, **form, above=table.header - 1))
    return [adds[i] for i in range(len(names))]


def _sheet(table: ExportTable) -> str:
    return table.sheet or "Sheet1"


def _file_names(recipe: Recipe) -> list[str]:
    """One file for each table, whose name the table's pattern matches."""
    names: list[str] = []
    for problem, name in ((_problem(table), _file_name(table)) for table in recipe.tables):
        if problem:
            raise Refused(
                Code.RECIPE_INVALID,
                f"the recipe cannot be used to write an export: {problem}.",
                "Correct the table in the recipe, or choose another format.",
            )
        names.append(name)
    places = [(name, _sheet(t)) for name, t in zip(names, recipe.tables, strict=True)]
    whole = [name for name, t in zip(names, recipe.tables, strict=True) if t.form != "excel"]
    if len(set(places)) < len(places) or len(set(whole)) < len(whole):
        raise Refused(
            Code.RECIPE_INVALID,
            "the recipe cannot be used to write an export: two tables have the same file.",
            "Give each table a file or a sheet of its own.",
        )
    return names


def _file_name(table: ExportTable) -> str:
    plain = re.sub(r"\[([^]!])[^]]*\]", r"\1", table.files)
    return plain.replace("*", "synthetic").replace("?", "0")


def _problem(table: ExportTable) -> str:
    name = _file_name(table)
    if not fnmatch(name, table.files) or re.search(r"[/\\:]|^\.|^$", name):
        return f"{table.files} does not lead to a file name"
    if name.casefold() in TAKEN:
        return f"{name} is the name of a file that longsynth adds"
    if table.form == "excel" and not name.endswith(".xlsx"):
        return f"{name} is an Excel file of a kind that longsynth does not write; it writes .xlsx"
    if table.form == "excel" and not _SHEET.fullmatch(_sheet(table)):
        return "Excel does not allow such a name of a sheet"
    try:
        codecs.lookup(table.encoding)
    except LookupError:
        return f"{table.encoding} is not an encoding"
    return ""


def _start(recipe: Recipe, text: str) -> date:
    """The date on which all records start; any, if the recipe has no dates."""
    if not text and not recipe.has_dates:
        return date(FIRST_YEAR, 1, 1)
    try:
        start = date.fromisoformat(text)
    except ValueError:
        start = date.min
    if FIRST_YEAR <= start.year <= LAST_YEAR:
        return start
    raise Refused(
        Code.START_DATE_MISSING,
        "the recipe has columns with dates, and synthetic patients have no calendar.",
        f"Give a public start date from {FIRST_YEAR} to {LAST_YEAR}, such as 2024-01-01.",
    )


def _require_same(record: Schema, schema: Schema) -> None:
    """The recipe must describe what was fitted. Bounds may have been corrected since."""
    pairs = zip(_facts(record), _facts(schema), strict=False)
    differing = next((name for (name, one), (_, other) in pairs if one != other), None)
    if len(record.variables) != len(schema.variables):
        differing = "the list of variables"
    if differing is not None:
        raise Refused(
            Code.RECIPE_MISMATCH,
            f"the recipe and the release do not describe the same record: {differing} differs.",
            "Give the recipe by which the fitted cohort was imported.",
        )


def _require_whole_years(recipe: Recipe, schema: Schema) -> None:
    """A birth date gives an age in whole years, whatever a constraint needs."""
    columns = (how for table in recipe.tables for how in table.columns.values())
    aged = {name for how in columns if how.use == "birth_date" for name in how.variables}
    for v in schema.variables:
        if v.name in aged & schema.constrained and v.step != 1:
            raise Refused(
                Code.RECIPE_MISMATCH,
                f"{v.name} is written as a birth date, which gives whole years, and a constraint "
                "needs its decimals.",
                f"Give {v.name} `resolution: 1` before you fit, or write another format.",
            )


def _facts(schema: Schema) -> Iterator[tuple[str, object]]:
    yield "the lists of codes", [listed.name for listed in schema.codes]
    for what in ("group", "event", "site"):
        yield what, schema.levels(what)
    for v in schema.variables:
        yield v.name, (v.name, v.unit, v.kind, v.static, v.levels)
