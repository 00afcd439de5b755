"""The commands, in the order in which people use them. Each one's file is in `commands/`."""

from typing import Annotated

import typer

from longsynth.commands.attack import app as attack
from longsynth.commands.audit import audit
from longsynth.commands.bench import app as bench
from longsynth.commands.budget import app as budget
from longsynth.commands.check import check
from longsynth.commands.demo import demo
from longsynth.commands.ending import run
from longsynth.commands.fit import fit
from longsynth.commands.governance import app as governance
from longsynth.commands.import_ import import_
from longsynth.commands.ledger import ledger
from longsynth.commands.methods import methods
from longsynth.commands.plan import plan
from longsynth.commands.sample import sample
from longsynth.commands.schema import app as schema
from longsynth.commands.sign import keygen, sign
from longsynth.commands.simulate import simulate
from longsynth.commands.verify import verify

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Synthetic longitudinal patient records with a patient-level differential-privacy "
    "guarantee whose account anyone can recompute. New here? Run [bold]longsynth demo[/].",
)


def _version(wanted: bool) -> None:
    if wanted:
        from longsynth.version import VERSION

        typer.echo(f"longsynth {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Global options."""


START, DATA, RELEASE = "Start here", "Your data", "Make a release"
CHECK, GOVERN = "Check and judge", "Govern"

app.command(rich_help_panel=START)(demo)
app.command(rich_help_panel=START)(simulate)
app.command(rich_help_panel=START)(methods)

app.add_typer(schema, name="schema", rich_help_panel=DATA)
app.command("import", rich_help_panel=DATA)(import_)
app.command(rich_help_panel=DATA)(check)

app.command(rich_help_panel=RELEASE)(plan)
app.command(rich_help_panel=RELEASE)(fit)
app.command(rich_help_panel=RELEASE)(sample)

app.command(rich_help_panel=CHECK)(ledger)
app.command(rich_help_panel=CHECK)(verify)
app.command(rich_help_panel=CHECK)(audit)
app.add_typer(attack, name="attack", rich_help_panel=CHECK)
app.add_typer(bench, name="bench", rich_help_panel=CHECK)

app.add_typer(budget, name="budget", rich_help_panel=GOVERN)
app.add_typer(governance, name="governance", rich_help_panel=GOVERN)
app.command(rich_help_panel=GOVERN)(keygen)
app.command(rich_help_panel=GOVERN)(sign)


def main() -> None:
    """Run the commands; `commands/ending.py` lists the exit codes."""
    run(app)


if __name__ == "__main__":
    main()
