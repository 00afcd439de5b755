"""`longsynth split`: hold patients out before a fit."""

from typing import Annotated

import typer

from longsynth.commands.options import CohortFolder, Out, say
from longsynth.system.text import command_line


def split(
    cohort: CohortFolder,
    out: Out,
    holdout: Annotated[float, typer.Option(help="The share of patients to hold out.")] = 0.2,
) -> None:
    """Hold patients out, by a keyed hash of their ids, so that an audit has people nobody fitted.

    Writes OUT/train and OUT/holdout. Reads ids only; rows are copied as they are.
    """
    from longsynth.reading.split import split_cohort

    parts = split_cohort(cohort, holdout, out)
    say(
        f"Wrote {parts.train:,} patients to {out / 'train'} and {parts.holdout:,} to "
        f"{out / 'holdout'}. Fit the first, and keep the second for `longsynth audit --test`.\n"
        f"Next: {command_line('check', out / 'train')}"
    )
