"""What looks odd in a schema, held against the catalogue and against column names."""

from collections.abc import Iterator

from longsynth.schema.catalogue import Known, known
from longsynth.schema.guesses import Columns
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable

FAR = 10.0  # times the catalogue's range: rather another unit than another patient


def remarks(schema: Schema, columns: Columns | None = None) -> Iterator[str]:
    """Yield a sentence for each thing to look at. None of them is an error by itself."""
    for variable in schema.variables:
        match = known(variable.name) or known(variable.column)
        if match is None:
            yield f"{variable.name}: not in the catalogue; only its author can check its bounds."
        else:
            yield from _held_against(variable, match)
    if columns is not None:
        yield from _columns(schema, columns)


def _held_against(variable: Variable, match: Known) -> Iterator[str]:
    usual = match.variable
    if variable.kind != usual.kind:
        yield f"{variable.name}: {variable.kind} here, usually {usual.kind}."
        return
    if variable.unit and usual.unit and variable.unit != usual.unit:
        yield (
            f"{variable.name}: in {variable.unit} here, in {usual.unit} in the catalogue; its "
            "bounds were not compared."
        )
        return
    if variable.levels or usual.levels or variable.kind == "binary":
        return
    (low, high), (least, most) = variable.bounds, usual.bounds
    if usual.centre is not None and usual.scale is not None:
        reach = 2 * usual.scale
        inner = max(usual.centre - reach, least), min(usual.centre + reach, most)
        if low > inner[0] or high < inner[1]:
            yield (
                f"{variable.name}: bounds {low:g} to {high:g} cut into the usual adult interval, "
                f"about {inner[0]:g} to {inner[1]:g}; values outside are cut to the bounds."
            )
    if high - low > FAR * (most - least):
        yield (
            f"{variable.name}: bounds {low:g} to {high:g} are over ten times as wide as the usual "
            f"{least:g} to {most:g}: another unit? Wide bounds cost accuracy."
        )
    elif high < least or low > most:
        yield f"{variable.name}: bounds {low:g} to {high:g} miss the usual {least:g} to {most:g}."
    elif variable.kind == "ordinal" and (low, high) != (least, most):
        yield f"{variable.name}: levels {low:g} to {high:g} here, usually {least:g} to {most:g}."
    if usual.transform == "log" and variable.transform == "none":
        yield f"{variable.name}: usually on a log scale (transform: log), as it is skewed."


def _columns(schema: Schema, columns: Columns) -> Iterator[str]:
    labels = [found.column for found in (schema.group, schema.event, schema.site) if found]
    over_time = [v.column or v.name for v in schema.variables if not v.static]
    static = [v.column or v.name for v in schema.variables if v.static]
    tables = {
        "observations": (columns.observations, [schema.time.column, *over_time]),
        "patients": (columns.patients, [*labels, *static]),
    }
    for table, (found, wanted) in tables.items():
        wanted = [schema.patient.column, *wanted]
        for column in wanted:
            if column not in found:
                yield f"the {table} table has no column {column!r}, which the schema names."
        unused = [column for column in found if column not in wanted]
        if unused:
            yield f"the {table} table's columns {', '.join(map(repr, unused))} are not used."
