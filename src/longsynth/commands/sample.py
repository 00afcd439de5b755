"""sample: synthetic patients from a release, which is all that it reads."""

from enum import StrEnum
from typing import Annotated

import typer

from longsynth.commands.engine import Engine, Engines, Master, require_local
from longsynth.commands.options import Jobs, Out, Release, say
from longsynth.privacy.errors import Refused
from longsynth.system.text import command_line


class Forms(StrEnum):
    cohort = "cohort"
    events = "events"
    meds = "meds"
    parts = "parts"


def sample(
    release: Release,
    patients: Annotated[int, typer.Option(min=1, help="How many synthetic patients.")],
    seed: Annotated[
        int, typer.Option(min=0, help="Public: the same seed draws the same patients.")
    ],
    out: Out,
    where: Annotated[
        list[str] | None, typer.Option(help="Draw only from a level of the schema, e.g. event=1.")
    ] = None,
    form: Annotated[
        Forms,
        typer.Option(
            "--format",
            help="cohort: wide rows; events: long rows; meds: MEDS 0.4; parts: wide rows in many "
            "files, the only one on Spark.",
        ),
    ] = Forms.cohort,
    engine: Engine = Engines.local,
    master: Master = None,
    jobs: Jobs = 1,
) -> None:
    """Draw synthetic patients from a release. Needs no data and costs no privacy."""
    from longsynth.methods.registry import model_of
    from longsynth.release.disclosed import MARK, holds_disclosed, read_disclosed
    from longsynth.release.folder import load_release
    from longsynth.release.synthetic_folder import (
        Recipe,
        write_synthetic,
        write_synthetic_on_spark,
    )
    from longsynth.system.folders import new_folder
    from longsynth.system.progress import counted_by, progress_bar

    raw = holds_disclosed(release)
    bundle = read_disclosed(release) if raw else load_release(release)
    model = model_of(bundle)
    chosen = _levels(where or [])
    if engine == Engines.spark:
        if raw or form not in (Forms.cohort, Forms.parts):
            raise Refused("Spark writes --format parts, and of a release only.")
        form = Forms.parts
    else:
        require_local(master)
    recipe = Recipe(bundle.fingerprint, patients, seed, chosen, not raw, form.value)
    with new_folder(out, owner_only=raw) as scratch, progress_bar() as progress:
        if engine == Engines.spark:
            progress.add_task("sample", total=None)
            write_synthetic_on_spark(scratch, model, recipe, master=master or "local[*]")
        else:
            watch = counted_by(progress, "sample", patients)
            write_synthetic(scratch, model, recipe, watch, jobs)
        if raw:
            (scratch / "NOT_FOR_RELEASE.md").write_text(MARK, encoding="utf-8")
    if raw:
        say(f"Wrote {patients:,} NOT PRIVATE records to {out}: they must not leave.")
        return
    weight = "Column 'weight' of patients.parquet" if form != Forms.meds else "SAMPLING_WEIGHT"
    say(
        f"Wrote {patients:,} synthetic patients to {out}. {weight} says how much each "
        f"counts{' among those asked for' if where else ''}.\n"
        f"Next: {command_line('verify', release, out)}"
    )


def _levels(where: list[str]) -> dict[str, str]:
    pairs = [condition.partition("=") for condition in where]
    if any(not (name and equals and level) for name, equals, level in pairs):
        raise Refused("--where takes name=level, for instance --where event=1.")
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise Refused("--where names a column twice; give one level for each.")
    return {name: level for name, _, level in pairs}
