"""`longsynth attack`: an auditor attacks the privacy guarantee itself."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.commands.options import (
    DEFAULT_ACCOUNTINGS,
    Accountings,
    Json,
    command,
    require_new,
    say,
)
from longsynth.methods import DEFAULT
from longsynth.system.errors import Code, Refused
from longsynth.system.text import cell, json_text

if TYPE_CHECKING:
    from rich.console import Console

    from longsynth.audit.game.verdict import GameReport
    from longsynth.plan import Plan

app = typer.Typer(no_args_is_help=True, help="Attack the privacy guarantee itself. Reads no data.")

SIMULATED = {"patients": 504, "epsilon": 4.0, "delta": 1e-5}  # defaults


@app.callback()
def _attacks() -> None:
    """Keeps `game` a subcommand while it is the only one."""


@command(app, "attack game run")
def game(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN", help="RUN or RUN/release: use its settings. Its data are not read."
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(help="Instead of RUN: a schema.yaml; default: simulated."),
    ] = None,
    patients: Annotated[int | None, typer.Option(min=1, help="N: the number of patients.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The claimed ε.")] = None,
    delta: Annotated[float | None, typer.Option(help="The claimed δ.")] = None,
    method: Annotated[str | None, typer.Option(help=f"The method; default {DEFAULT}.")] = None,
    accounting: Annotated[
        Accountings | None, typer.Option(help=f"How ρ becomes ε; default {DEFAULT_ACCOUNTINGS}.")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=10,
            help="Fits per side with fast noise; default 20,000, or 200 for several passes.",
        ),
    ] = None,
    opendp_trials: Annotated[
        int | None,
        typer.Option(
            min=10, help="Fits per side with OpenDP's noise. Default 200; 50 for several passes."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search and of the fast noise.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Processes; each uses one core.")] = 2,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write a report to NAME.md and NAME.json.")
    ] = None,
    json: Json = False,
) -> None:
    """Try to distinguish two cohorts that differ in one patient, using the real fit.

    Attacks each line of the ledger and the whole release with the best possible test, on the worst
    pair of cohorts that it finds. Exit code 0 if the guarantee holds, 1 if it fails.
    """
    from longsynth.audit.game import play
    from longsynth.system.workers import progress_bar

    given: dict[str, object] = {
        "schema": schema,
        "patients": patients,
        "epsilon": epsilon,
        "delta": delta,
        "method": method,
        "accounting": accounting and accounting.value,
    }
    files = _new_files(out)
    plan, played = _of_release(run, given) if run else _of_settings(given)
    with progress_bar("pieces") as bar:
        task = bar.add_task("searching for the worst pair of cohorts", total=None)
        report = play(
            plan,
            trials=trials,
            opendp_trials=opendp_trials,
            seed=seed,
            jobs=jobs,
            watch=lambda done, total: bar.update(
                task, description="playing", completed=done, total=total
            ),
        )
    _write(files, report, played)
    if json:
        say(_as_json(report))
    else:
        from longsynth.show.terminal import stdout

        show_game(stdout(), report, played)
    raise typer.Exit(0 if report.holds else 1)


def _of_release(run: Path, given: dict[str, object]) -> tuple["Plan", str]:
    """The settings of a release: method, schema, N and budget are all in its ledger."""
    from longsynth.plan import plan
    from longsynth.release.folder import load_release

    if extra := [f"--{name}" for name, value in given.items() if value is not None]:
        raise Refused(
            Code.OPTIONS_CONFLICT,
            f"{run} already states these settings.",
            f"Leave out {', '.join(extra)}, or leave out RUN.",
        )
    folder = run / "release" if (run / "release").is_dir() else run
    bundle = load_release(folder)
    budget = bundle.ledger.budget
    if budget is None:
        raise Refused(
            Code.NOT_PRIVATE,
            f"{folder} has no privacy guarantee, so there is nothing to attack.",
            "Give a release of a private method.",
        )
    planned = plan(
        bundle.schema,
        bundle.patients,
        epsilon=budget.epsilon,
        delta=budget.delta,
        method=bundle.method,
        accounting=budget.accounting,
    )
    return planned, f"Settings: those of {folder}, with this software. No data were read."


def _of_settings(given: dict[str, object]) -> tuple["Plan", str]:
    from longsynth.plan import plan
    from longsynth.reading.simulation import simulated_schema
    from longsynth.schema.file import load_schema

    path = given.pop("schema")
    wanted = {name: value for name, value in given.items() if value is not None}
    if path is None:
        schema, where = simulated_schema(), "the simulated cohort's schema"
        wanted = SIMULATED | wanted
    else:
        schema, where = load_schema(Path(str(path))), str(path)
        if missing := [f"--{name}" for name in SIMULATED if name not in wanted]:
            raise Refused(
                Code.OPTION_MISSING,
                f"{path} alone does not define a guarantee.",
                f"Add {', '.join(missing)}.",
            )
    planned = plan(schema, **wanted)  # type: ignore[arg-type]
    return planned, f"Settings: as given, with {where}. No data were read."


def _new_files(out: Path | None) -> tuple[Path, Path] | None:
    """Return the two files of a report. They must not exist, which is checked before the attack."""
    if out is None:
        return None
    files = out.with_suffix(".md"), out.with_suffix(".json")
    for path in files:
        require_new(path)
    return files


def _write(files: tuple[Path, Path] | None, report: "GameReport", played: str) -> None:
    from longsynth.show.game_page import report_page
    from longsynth.system.folders import write_whole

    if files is None:
        return
    page, data = files
    write_whole(data, f"{_as_json(report)}\n".encode())
    write_whole(page, report_page(report, played).encode())
    say(f"Wrote {page} and {data}.", err=True)


def _as_json(report: "GameReport") -> str:
    return json_text(report.as_json())


def show_game(console: "Console", report: "GameReport", played: str) -> None:
    """Print the tables, what they mean, and the verdict."""
    from rich import box
    from rich.table import Table

    from longsynth.show import game_page as page

    def show(heading: str, header: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> None:
        table = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD)
        table.show_edge, table.padding = False, (0, 0, 0, 1)
        for place, name in enumerate(header):
            table.add_column(name, justify="right" if place else "left", no_wrap=True)
        for line in lines:
            table.add_row(*map(cell, line))
        console.print(table)

    console.print(cell(f"The distinguishing game: {page.title(report)}."))
    console.print(cell(played))
    if report.rows:
        heading = "Which of two cohorts that differ in one patient was fitted?"
        show(heading, page.HEADER, map(page.cells, page.main_rows(report)))
        for note in page.NOTES:
            console.print(note, markup=False, style="dim", highlight=False)
        heading = "The noise as drawn, in claimed σ: all numbers together (least and most in one)"
        show(heading, page.spread_header(report.spreads), page.spread_cells(report.spreads))
    for sentence in page.verdict(report):
        console.print(cell(sentence))
