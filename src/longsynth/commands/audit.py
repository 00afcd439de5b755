"""`longsynth audit`: compare a synthetic cohort with real patients."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.commands.options import Json, print_json, say
from longsynth.system.text import cell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from longsynth.audit.result import AuditResult

ON_ATTACKS = (
    "If these attacks find nothing, others still might. What limits every attack is the ε in the "
    "release's ledger."
)


def audit(
    train: Annotated[Path, typer.Option(help="The cohort that was fitted.")],
    test: Annotated[Path, typer.Option(help="Held-out real patients; see `longsynth split`.")],
    synthetic: Annotated[Path, typer.Option(help="A folder written by `longsynth sample`.")],
    out: Annotated[Path, typer.Option("--out", help="A folder that does not exist yet.")],
    control: Annotated[
        Path | None,
        typer.Option(help="Real non-members for the attacks. Default: the test cohort."),
    ] = None,
    canary: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="The run that produced the synthetic patients. Fits it again 48 times, in memory, "
            "with planted canaries. Releases nothing and spends no budget.",
        ),
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Bootstrap resamples for intervals; 0 for none.")
    ] = 200,
    json: Json = False,
) -> None:
    """Compare synthetic with real patients: utility, subgroups, fidelity and attacks.

    The result is computed from real patients: do not share it.
    """
    from longsynth.audit.audit import audit as run_audit
    from longsynth.audit.classifiers import require_sklearn
    from longsynth.audit.inputs import read_synthetic, require_agreement, require_strangers
    from longsynth.audit.refit import refit_like
    from longsynth.reading.cohort_folder import read_cohort
    from longsynth.show.audit_files import origin_of, write_audit, write_panels
    from longsynth.system.errors import Code, Refused
    from longsynth.system.folders import new_folder

    require_sklearn()
    refit = refit_like(canary, synthetic) if canary else None
    with new_folder(out, owner_only=True) as scratch, _fits(refit is not None) as watch:
        require_strangers(train, {"test": test, **({"control": control} if control else {})})
        train_schema, trained = read_cohort(train)
        if refit and refit.patients != trained.patients:
            raise Refused(
                Code.COHORTS_DISAGREE,
                f"{canary} was fitted to {refit.patients:,} patients, but {train} has "
                f"{trained.patients:,}.",
                "Give the cohort that was fitted, or leave out --canary.",
            )
        test_schema, tested = read_cohort(test)
        drawn_schema, drawn = read_synthetic(synthetic)
        control_schema, outsiders = read_cohort(control) if control else (test_schema, tested)
        schema = require_agreement(
            {
                "training": train_schema,
                "test": test_schema,
                "synthetic": drawn_schema,
                "control": control_schema,
            }
        )
        cohorts = trained, tested, drawn, outsiders
        result = run_audit(schema, *cohorts, refit=refit, watch=watch, bootstrap=bootstrap)
        write_audit(result, scratch)
        write_panels(
            scratch,
            result,
            {"real": tested, "training": trained, "synthetic": drawn},
            origin_of(synthetic),
        )
    if json:
        print_json(result.tidy())
        return
    from longsynth.show.terminal import stdout

    _show(stdout(), result)
    say(f"Wrote {out}. It is computed from real patients: do not share it. Start with AUDIT.md.")


@contextmanager
def _fits(wanted: bool) -> Iterator[Callable[[], None]]:
    """Show the progress of the canary fits, on a terminal only."""
    from longsynth.audit.attacks.canary import COPIES, REFITS
    from longsynth.system.workers import progress_bar

    if not wanted:
        yield lambda: None
        return
    with progress_bar("fits") as progress:
        task = progress.add_task("canaries", total=len(COPIES) * REFITS)
        yield lambda: progress.advance(task)


def _show(console: "Console", result: "AuditResult") -> None:
    from longsynth.audit.result import REFITS, Source
    from longsynth.show.audit_page import NO_CANARIES, bound_said, group_warnings

    console.print(_utility(result))
    console.print(_beside("fidelity", "Fidelity: distance from the test cohort", result))
    title = "Attacks on the synthetic patients, and on the training patients themselves"
    console.print(_beside("attacks", title, result))
    if canaries := _canaries(result):
        console.print(canaries)
        console.print(bound_said(result.of("attacks", Source(REFITS))))
    else:
        console.print(NO_CANARIES)
    if warnings := group_warnings(result):
        say("\n- ".join(["Groups that are too small for firm conclusions:", *warnings]))
    console.print(ON_ATTACKS)


def _utility(result: "AuditResult") -> "Table":
    from rich.table import Table

    from longsynth.audit.registry import shown_in
    from longsynth.show.audit_page import heading, label, shown

    table = Table(title="Utility: how well real test patients are predicted", title_justify="left")
    table.add_column("", no_wrap=True)
    sources, metrics = result.sources("utility"), shown_in("terminal", "utility")
    first = result.of("utility", sources[0])
    for metric in metrics:
        table.add_column(heading(first[metric]), justify="right")
    for source in sources:
        scores = result.of("utility", source)
        cells = [shown(scores[metric], 2, "–") for metric in metrics]
        table.add_row(cell(label(source)), *cells)
    return table


def _beside(section: str, title: str, result: "AuditResult") -> "Table":
    from rich.table import Table

    from longsynth.audit.registry import shown_in
    from longsynth.audit.result import SYNTHETIC, TRAINING, Source
    from longsynth.show.audit_page import heading, shown

    table = Table("", title=title, title_justify="left")
    for name in (SYNTHETIC, TRAINING):
        table.add_column(name, justify="right")
    synthetic, training = (result.of(section, Source(name)) for name in (SYNTHETIC, TRAINING))
    for metric in shown_in("terminal", section):
        score = synthetic[metric]
        table.add_row(heading(score), shown(score), shown(training[metric]))
    return table


def _canaries(result: "AuditResult") -> "Table | None":
    from rich.table import Table

    from longsynth.audit.result import REFITS, Source
    from longsynth.show.audit_page import heading, shown

    scores = result.of("attacks", Source(REFITS))
    title = f"Canaries: four copies planted, one copy, and none ({result.refitted})"
    table = Table("", title=title, title_justify="left")
    table.add_column(REFITS, justify="right")
    for score in scores.values():
        table.add_row(heading(score), shown(score))
    return table if scores else None
