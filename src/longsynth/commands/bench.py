"""`longsynth bench`: studies that compare methods, of the lab that a checkout holds."""

from importlib.metadata import entry_points

import typer

from longsynth.system.errors import Code, Refused


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
    # Not `main`: typer's would turn an interrupt into an exit code and drop what was noted with it.
    with studies.make_context("longsynth bench", ctx.args) as inner:
        studies.invoke(inner)
