"""`longsynth sample`: synthetic patients from a release, which is all that it reads."""

from typing import Annotated

import typer

from longsynth.commands.options import Engine, Engines, Jobs, Master, Out, Release, require_local
from longsynth.commands.output import say
from longsynth.system.errors import Code, Refused
from longsynth.system.text import command_line
from longsynth.writing import FORMATS, output_format


def sample(
    release: Release,
    patients: Annotated[int, typer.Option(min=1, help="How many synthetic patients.")],
    seed: Annotated[
        int, typer.Option(min=0, help="Public. The same seed gives the same patients.")
    ],
    out: Out,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only these patients, for example event=1."),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="|".join(FORMATS),
            help="; ".join(f"{name}: {form.writes}" for name, form in FORMATS.items()) + ".",
            autocompletion=lambda: list(FORMATS),
        ),
    ] = "cohort",
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

    weight = output_format(form).weight
    raw = holds_disclosed(release)
    bundle = read_disclosed(release) if raw else load_release(release)
    model = model_of(bundle)
    levels = _levels(where or [])
    if engine == Engines.spark:
        if raw or form not in ("cohort", "parts"):
            raise Refused(
                Code.OPTIONS_CONFLICT,
                "Spark can only write --format parts, and only from a release.",
                "Leave out --engine spark.",
            )
        form = "parts"
    else:
        require_local(master)
    recipe = Recipe(bundle.fingerprint, patients, seed, levels, not raw, form)
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
        say(f"Wrote {patients:,} records to {out}. They are NOT PRIVATE: do not share them.")
        return
    say(
        f"Wrote {patients:,} synthetic patients to {out}. {weight} is the weight of each patient"
        f"{' among those selected' if where else ''}.\n"
        f"Next: {command_line('verify', release, out)}"
    )


def _levels(where: list[str]) -> dict[str, str]:
    pairs = [condition.partition("=") for condition in where]
    if any(not (name and equals and level) for name, equals, level in pairs):
        raise Refused(
            Code.OPTION_UNUSABLE,
            "--where takes name=level.",
            "For example: --where event=1.",
        )
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise Refused(
            Code.OPTION_UNUSABLE,
            "--where names a column twice.",
            "Give one level for each column.",
        )
    return {name: level for name, _, level in pairs}
