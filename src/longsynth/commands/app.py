"""The commands, in the order in which people use them."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated

import typer

from longsynth.commands.attack import app as attack
from longsynth.commands.audit import audit
from longsynth.commands.budget import app as budget
from longsynth.commands.data import check, import_, map_app, recipe_app, schema_app, split
from longsynth.commands.demo import demo, methods, simulate
from longsynth.commands.fit import fit, plan, sample
from longsynth.commands.governance import app as governance
from longsynth.commands.governance import keygen, sign
from longsynth.commands.options import OneLineArguments, command
from longsynth.commands.verify import dossier, ledger, status, verify
from longsynth.system.errors import Code, Refused

app = typer.Typer(
    cls=OneLineArguments,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Synthetic longitudinal patient records with a patient-level differential-privacy "
    "guarantee that anyone can check.",
)

FIRST_COMMANDS = {
    "I want to see it work": ("longsynth demo",),
    "I have an export of patient data": ("longsynth recipe new ward.csv --out recipe.yaml",),
    "I want to know what it would cost": (
        "longsynth schema new --columns patient_id,time,heart_rate,crp --out schema.yaml",
        "longsynth plan schema.yaml --patients 5000 --epsilon 4 --delta 1e-6",
    ),
    "I received a release": ("longsynth ledger RELEASE", "longsynth verify RELEASE"),
    "I do not know what to do next": ("longsynth status FOLDER",),
    "I know what I want": ("longsynth --help", "longsynth COMMAND --help"),
}


def _version(wanted: bool) -> None:
    if wanted:
        from longsynth.system.origin import VERSION

        typer.echo(f"longsynth {VERSION}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Without a command: say what this is and what to type first."""
    if ctx.invoked_subcommand is None:
        _start()


def _start() -> None:
    from longsynth.show.terminal import stdout

    console = stdout()
    console.print(
        "Synthetic longitudinal patient records, with a privacy guarantee for each patient that "
        "anyone can check."
    )
    for reader, first in FIRST_COMMANDS.items():
        console.print(f"\n{reader}", style="bold")
        for line in first:
            console.print(f"  {line}", soft_wrap=True, highlight=False)


def bench(ctx: typer.Context) -> None:
    """Run studies on simulated patients. Needs a checkout of the source."""
    lab = entry_points(group="longsynth.commands", name="bench")
    if not lab:
        raise Refused(
            Code.LAB_MISSING,
            "the studies are not part of the installed package.",
            "Clone the source of longsynth and run `make install` in it.",
        )
    studies = typer.main.get_command(next(iter(lab)).load())
    # not by a call, which would turn an interrupt into an exit code and lose its notes
    with studies.make_context("longsynth bench", list(ctx.args)) as inner:
        studies.invoke(inner)


def _add(panel: str, function: Callable[..., None], example: str, name: str | None = None) -> None:
    command(app, example, name, panel)(function)


START, DATA, RELEASE = "Start here", "Your data", "Make a release"
CHECK, GOVERN = "Check and judge", "Govern"
PROMISE = "--epsilon 4 --delta 1e-6"

_add(START, demo, "demo --out demo")
_add(START, simulate, "simulate --patients 720 --out cohort")
_add(START, status, "status run")
_add(START, methods, "methods")

app.add_typer(schema_app, name="schema", rich_help_panel=DATA)
app.add_typer(recipe_app, name="recipe", rich_help_panel=DATA)
app.add_typer(map_app, name="map", rich_help_panel=DATA)
_add(DATA, import_, "import table ward.csv --recipe recipe.yaml --out cohort", "import")
_add(DATA, check, "check cohort")
_add(DATA, split, "split cohort --holdout 0.2 --out parts")

_add(RELEASE, plan, f"plan schema.yaml --patients 5000 {PROMISE}")
_add(RELEASE, fit, f"fit cohort {PROMISE} --out run")
_add(RELEASE, sample, "sample run/release --patients 500 --seed 7 --out synthetic")

_add(CHECK, ledger, "ledger run/release")
_add(CHECK, verify, "verify run/release synthetic")
_add(
    CHECK, audit, "audit --train parts/train --test parts/holdout --synthetic synthetic --out audit"
)
_add(CHECK, dossier, "dossier run --out dossier.html")
app.add_typer(attack, name="attack", rich_help_panel=CHECK)
app.command(
    rich_help_panel=CHECK,
    epilog="For example: longsynth bench",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(bench)

app.add_typer(budget, name="budget", rich_help_panel=GOVERN)
app.add_typer(governance, name="governance", rich_help_panel=GOVERN)
_add(GOVERN, keygen, 'keygen --out steward --name "data steward"')
_add(GOVERN, sign, "sign run/release --key steward")
