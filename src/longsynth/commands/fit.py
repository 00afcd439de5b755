"""`longsynth fit`: the only command that spends privacy budget."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.options import (
    DEFAULT_ACCOUNTINGS,
    DELTA,
    EPSILON,
    Accounting,
    CohortFolder,
    Engine,
    Engines,
    Jobs,
    Master,
    Method,
    Out,
    Partitions,
    Tables,
    cohort_on,
)
from longsynth.commands.output import say
from longsynth.methods import DEFAULT
from longsynth.system.text import DRAW, command_line


def fit(
    cohort: CohortFolder,
    out: Out,
    epsilon: Annotated[float | None, EPSILON] = None,
    delta: Annotated[float | None, DELTA] = None,
    method: Method = DEFAULT,
    accounting: Accounting = DEFAULT_ACCOUNTINGS,
    book: Annotated[
        Path | None,
        typer.Option(help="The data owner's budget book; charged before the fit."),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The dataset in the book.")] = None,
    governance: Annotated[
        Path | None, typer.Option(help="The governance form that must allow this fit.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Your name. Someone else signs.")] = None,
    engine: Engine = Engines.local,
    master: Master = None,
    tables: Tables = None,
    partitions: Partitions = None,
    jobs: Jobs = 1,
) -> None:
    """Release private statistics of a cohort: writes RUN/release and RUN/internal.

    A method that is not private takes no budget and writes only RUN/internal.
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
            f"Wrote {out / 'internal'}. It is NOT PRIVATE: do not share it.\n"
            f"Next: {command_line('sample', out / 'internal', *DRAW, 'drawn')}"
        )
        return
    if bundle.ledger.budget and (note := delta_warning(bundle.ledger.budget, bundle.patients)):
        say(f"Note: {note}")
    if caution := bundle.origin.caution(bundle.method):
        say(f"NOTE {caution}")
    if book is None:
        say("Note: without a budget book, repeated fits of these patients are not added up.")
    say(
        f"Wrote {out / 'release'}. You may share it with ε = {as_typed(epsilon)}, "
        f"δ = {as_typed(delta or 0)}; see its STATEMENT.md.\n"
        f"Wrote {out / 'internal'}. It contains raw facts about patients: do not share it.\n"
        f"Before you share anything, read {out / 'internal/reading.json'}: it counts what could "
        "not be read as it stands.\n"
        f"Fingerprint: {bundle.fingerprint}\n"
        f"Next: {command_line('sample', out / 'release', *DRAW, 'synthetic')}"
    )
