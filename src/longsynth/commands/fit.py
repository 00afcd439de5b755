"""fit: the only command that spends privacy."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.engine import Engine, Engines, Master, Partitions, Tables, cohort_on
from longsynth.commands.options import (
    DELTA,
    EPSILON,
    USUAL,
    Accounting,
    Jobs,
    Method,
    Out,
    say,
)
from longsynth.methods import DEFAULT
from longsynth.system.text import DRAW, command_line


def fit(
    cohort: Annotated[
        Path, typer.Argument(metavar="COHORT", help="A cohort folder with schema.yaml.")
    ],
    out: Out,
    epsilon: Annotated[float | None, EPSILON] = None,
    delta: Annotated[float | None, DELTA] = None,
    method: Method = DEFAULT,
    accounting: Accounting = USUAL,
    book: Annotated[
        Path | None, typer.Option(help="The data owner's budget book, charged before the fit.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Which dataset of the book this is.")] = None,
    governance: Annotated[
        Path | None, typer.Option(help="The governance form that has to allow this fit.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Who fits; someone else signs.")] = None,
    engine: Engine = Engines.local,
    master: Master = None,
    tables: Tables = None,
    partitions: Partitions = None,
    jobs: Jobs = 1,
) -> None:
    """Release private statistics of a cohort: writes RUN/release and RUN/internal.

    A method that is not private takes no budget and writes RUN/internal only.
    """
    from longsynth.release.run import run_fit
    from longsynth.release.statement import delta_warning
    from longsynth.system.text import as_typed

    bundle = run_fit(
        cohort_on(engine, cohort, master, tables, partitions),
        out,
        epsilon=epsilon,
        delta=delta,
        method=method,
        accounting=accounting.value,
        book=book,
        dataset=dataset,
        governance=governance,
        fitted_by=by,
        jobs=jobs,
    )
    if epsilon is None:
        say(
            f"Wrote {out / 'internal'}: NOT PRIVATE, must not leave.\n"
            f"Next: {command_line('sample', out / 'internal', *DRAW, 'drawn')}"
        )
        return
    if bundle.ledger.budget and (note := delta_warning(bundle.ledger.budget, bundle.patients)):
        say(f"Note: {note}")
    if caution := bundle.origin.caution(bundle.method):
        say(f"NOTE {caution}")
    if book is None:
        say("Note: no budget book was kept; repeated fits of these patients do not add up.")
    say(
        f"Wrote {out / 'release'}: may leave with ε = {as_typed(epsilon)}, "
        f"δ = {as_typed(delta or 0)}; see its "
        f"STATEMENT.md.\nWrote {out / 'internal'}: raw facts about patients, must not leave.\n"
        f"Before anything leaves, read {out / 'internal/reading.json'}: it counts what could not "
        "be read as it stands.\n"
        f"Fingerprint: {bundle.fingerprint}\n"
        f"Next: {command_line('sample', out / 'release', *DRAW, 'synthetic')}"
    )
