"""`longsynth simulate`: simulated patients, to try everything on."""

from typing import Annotated

import typer

from longsynth.commands.options import Out
from longsynth.commands.output import say
from longsynth.system.text import command_line


def simulate(
    out: Out,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the simulation.")] = 11,
    patients: Annotated[int, typer.Option(min=1, help="The number of patients.")] = 720,
) -> None:
    """Write a cohort of simulated patients: the paper's population."""
    from longsynth.reading.simulation import simulate as draw
    from longsynth.reading.simulation import simulated_schema
    from longsynth.system.folders import new_folder
    from longsynth.writing.cohort import write_cohort

    with new_folder(out) as scratch:
        write_cohort(scratch, simulated_schema(), draw(patients, seed=seed).batches(16_384))
    say(f"Wrote {patients:,} simulated patients to {out}.\nNext: {command_line('check', out)}")
