"""`longsynth plan`: the whole ledger, before any patient is read."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.options import DEFAULT_ACCOUNTINGS, DELTA, EPSILON, Accounting, Json, Method
from longsynth.commands.output import print_json, say
from longsynth.methods import DEFAULT
from longsynth.system.text import command_line


def plan(
    schema: Annotated[
        Path,
        typer.Argument(metavar="SCHEMA", help="The schema.yaml; no data are read."),
    ],
    patients: Annotated[int, typer.Option(help="How many patients the cohort has.")],
    epsilon: Annotated[float, EPSILON],
    delta: Annotated[float, DELTA],
    method: Method = DEFAULT,
    accounting: Accounting = DEFAULT_ACCOUNTINGS,
    json: Json = False,
) -> None:
    """Show everything that a fit would release and what it would cost. Reads no patient."""
    from longsynth.methods.registry import origin_of
    from longsynth.methods.resources import needs_of
    from longsynth.plan import plan as make
    from longsynth.schema.file import load_schema

    made = make(
        load_schema(schema),
        patients,
        epsilon=epsilon,
        delta=delta,
        method=method,
        accounting=accounting.value,
    )
    if json:
        from longsynth.release.statement import plan_json

        settings = made.method.settings_text(made.schema)
        print_json(
            plan_json(made.method.name, made.ledger)
            | ({"settings": settings} if settings else {})
            | ({"set_by_hand": made.by_hand} if made.by_hand else {})
        )
        return
    from longsynth.show.terminal import show_constants, show_ledger, show_settings, stdout

    title = f"Plan of '{method}' for {patients:,} patients: no patient has been read"
    show_ledger(stdout(), title, made.method, made.schema, made.ledger)
    show_settings(stdout(), made.method, made.schema)
    show_constants(stdout(), made.schema, made.by_hand)
    if caution := origin_of(made.method).caution(made.method.name):
        say(f"NOTE {caution}")
    say(f"A fit would need {needs_of(made).sentence}.")
    budget = ("--epsilon", f"{epsilon:g}", "--delta", f"{delta:g}")
    say(f"Next: {command_line('fit', 'COHORT', *budget, '--out', 'RUN')}")
