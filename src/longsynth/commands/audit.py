"""`longsynth audit`: compare a synthetic cohort with real patients."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.commands.options import Json, Out, print_json, say
from longsynth.system.text import cell, command_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from longsynth.audit.result import AuditResult

ON_ATTACKS = (
    "If these attacks find nothing, others still might. What limits every attack is the ε in the "
    "release's ledger."
)
BESIDE = {
    "fidelity": "Fidelity: distance from the test cohort",
    "attacks": "Attacks on the synthetic patients, and on the training patients themselves",
}


def audit(
    train: Annotated[Path, typer.Option(help="The cohort that was fitted.")],
    test: Annotated[Path, typer.Option(help="Held-out real patients; see `longsynth split`.")],
    synthetic: Annotated[Path, typer.Option(help="A folder written by `longsynth sample`.")],
    out: Out,
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
    from longsynth.show.audit_page import origin_of, write_audit, write_panels
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
    say(
        f"Wrote {out}. It is computed from real patients: do not share it. Start with AUDIT.md.\n"
        f"Next: {command_line('status', out)}"
    )


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
    from longsynth.audit.registry import shown_in
    from longsynth.audit.result import REFITS, SYNTHETIC, TRAINING, Source
    from longsynth.show import audit_page as page

    for outcome in result.outcomes:
        sources = result.sources("utility", outcome)
        scores = [result.of("utility", source) for source in sources]
        metrics = [m for m in shown_in("terminal", "utility") if m in scores[0]]
        title = f"Utility: how well “{cell(outcome)}” of real test patients is predicted"
        lines = [
            (page.label(source), *(page.shown(score[metric], 2, "–") for metric in metrics))
            for source, score in zip(sources, scores, strict=True)
        ]
        head = [page.heading(scores[0][metric]) for metric in metrics]
        console.print(_table(title, head, lines, no_wrap=True))
    if not result.outcomes:
        console.print(page.NO_OUTCOME)
    for section, title in BESIDE.items():
        synthetic, training = (result.of(section, Source(name)) for name in (SYNTHETIC, TRAINING))
        lines = [
            (page.heading(synthetic[m]), page.shown(synthetic[m]), page.shown(training[m]))
            for m in shown_in("terminal", section)
        ]
        console.print(_table(title, (SYNTHETIC, TRAINING), lines))
    if canaries := result.of("attacks", Source(REFITS)):
        title = f"Canaries: four copies planted, one copy, and none ({result.refitted})"
        lines = [(page.heading(score), page.shown(score)) for score in canaries.values()]
        console.print(_table(title, (REFITS,), lines))
        console.print(page.bound_said(canaries))
    else:
        console.print(page.NO_CANARIES)
    if warnings := page.group_warnings(result):
        say("\n- ".join(["Groups that are too small for firm conclusions:", *warnings]))
    console.print(ON_ATTACKS)


def _table(
    title: str, head: Sequence[str], lines: Iterable[tuple[str, ...]], *, no_wrap: bool = False
) -> "Table":
    """Return a table of numbers; each line begins with what they are about."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("", no_wrap=no_wrap)
    for name in head:
        table.add_column(name, justify="right")
    for label, *numbers in lines:
        table.add_row(cell(label), *numbers)
    return table
