"""`longsynth plan`, `fit` and `sample`: make a release, and synthetic patients from it."""

from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.options import (
    DEFAULT_ACCOUNTINGS,
    DELTA,
    EPSILON,
    SAMPLE_OPTIONS,
    Accounting,
    CohortFolder,
    Engine,
    Engines,
    Governance,
    Jobs,
    Json,
    Master,
    Method,
    Out,
    Partitions,
    Release,
    Tables,
    cohort_on,
    print_json,
    require_local,
    say,
)
from longsynth.methods import DEFAULT
from longsynth.system.errors import Code, Refused
from longsynth.system.text import as_typed, command_line
from longsynth.writing import FORMATS, output_format

EXPORT = "export"  # the format that a recipe describes


def plan(
    schema: Annotated[
        Path,
        typer.Argument(metavar="SCHEMA", help="The schema.yaml; no data are read."),
    ],
    patients: Annotated[int, typer.Option(help="How many patients the cohort has.")],
    epsilon: Annotated[float, EPSILON],
    delta: Annotated[float, DELTA],
    method: Method = DEFAULT,
    accounting: Accounting = DEFAULT_ACCOUNTINGS,
    json: Json = False,
) -> None:
    """Show everything that a fit would release and what it would cost. Reads no patient."""
    from longsynth.methods.registry import origin_of
    from longsynth.methods.resources import needs_of, needs_of_sample
    from longsynth.plan import plan as make
    from longsynth.schema.file import load_schema

    made = make(
        load_schema(schema),
        patients,
        epsilon=epsilon,
        delta=delta,
        method=method,
        accounting=accounting.value,
    )
    if json:
        from longsynth.release.statement import plan_json

        settings = made.method.settings_text(made.schema)
        print_json(
            plan_json(made.method.name, made.ledger)
            | ({"settings": settings} if settings else {})
            | ({"set_by_hand": made.by_hand} if made.by_hand else {})
        )
        return
    from longsynth.show.terminal import show_constants, show_ledger, show_settings, stdout

    title = f"Plan of '{method}' for {patients:,} patients: no patient has been read"
    show_ledger(stdout(), title, made.method, made.schema, made.ledger)
    show_settings(stdout(), made.method, made.schema)
    show_constants(stdout(), made.schema, made.by_hand)
    if caution := origin_of(made.method).caution(made.method.name):
        say(f"NOTE {caution}")
    say(f"A fit would need {needs_of(made).sentence}.")
    first = needs_of_sample(made, patients)
    say(f"A sample of as many patients would need {first.sentence}.")
    budget = ("--epsilon", f"{epsilon:g}", "--delta", f"{delta:g}")
    say(f"Next: {command_line('fit', 'COHORT', *budget, '--out', 'RUN')}")


def fit(
    cohort: CohortFolder,
    out: Out,
    epsilon: Annotated[float | None, EPSILON] = None,
    delta: Annotated[float | None, DELTA] = None,
    method: Method = DEFAULT,
    accounting: Accounting = DEFAULT_ACCOUNTINGS,
    book: Annotated[
        Path | None,
        typer.Option(help="The data owner's budget book; charged before the fit."),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The dataset in the book.")] = None,
    governance: Governance = None,
    by: Annotated[str | None, typer.Option(help="Your name. Someone else must sign.")] = None,
    engine: Engine = Engines.local,
    master: Master = None,
    tables: Tables = None,
    partitions: Partitions = None,
    jobs: Jobs = 1,
) -> None:
    """Release private statistics of a cohort: writes RUN/release and RUN/internal.

    A method that is not private takes no budget and writes only RUN/internal.
    """
    from longsynth.release.run import run_fit
    from longsynth.release.statement import delta_warning

    bundle = run_fit(
        cohort_on(engine, cohort, master, tables, partitions),
        out,
        epsilon=epsilon,
        delta=delta,
        method=method,
        accounting=accounting.value,
        book=book,
        dataset=dataset,
        governance=governance,
        fitted_by=by,
        jobs=jobs,
    )
    if epsilon is None:
        say(
            f"Wrote {out / 'internal'}. It is NOT PRIVATE: do not share it.\n"
            f"Next: {command_line('sample', out / 'internal', *SAMPLE_OPTIONS, 'drawn')}"
        )
        return
    if bundle.ledger.budget and (note := delta_warning(bundle.ledger.budget, bundle.patients)):
        say(f"Note: {note}")
    if caution := bundle.origin.caution(bundle.method):
        say(f"NOTE {caution}")
    if book is None:
        say("Note: without a budget book, repeated fits of these patients are not added up.")
    say(
        f"Wrote {out / 'release'}. You may share it with ε = {as_typed(epsilon)}, "
        f"δ = {as_typed(delta or 0)}; see its STATEMENT.md.\n"
        f"Wrote {out / 'internal'}. It contains raw facts about patients: do not share it.\n"
        f"Before you share anything, read {out / 'internal/reading.json'}: it counts what could "
        "not be read.\n"
        f"Fingerprint: {bundle.fingerprint}\n"
        f"Next: {command_line('sample', out / 'release', *SAMPLE_OPTIONS, 'synthetic')}"
    )


def sample(
    release: Release,
    patients: Annotated[int, typer.Option(min=1, help="How many synthetic patients.")],
    seed: Annotated[
        int, typer.Option(min=0, help="Public. The same seed gives the same patients.")
    ],
    out: Out,
    where: Annotated[
        list[str] | None,
        typer.Option(help='Only these patients, for example event=1 or "age >= 65".'),
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
    recipe: Annotated[
        Path | None,
        typer.Option(help=f"For {EXPORT}: the recipe by which the cohort was imported."),
    ] = None,
    start_date: Annotated[
        str | None,
        typer.Option(
            help="For formats with dates: when all records start, for example 2024-01-01."
        ),
    ] = None,
    engine: Engine = Engines.local,
    master: Master = None,
    jobs: Jobs = 1,
) -> None:
    """Sample synthetic patients from a release. Needs no data and costs no privacy budget."""
    from longsynth.methods.registry import model_of
    from longsynth.release.folder import load_release
    from longsynth.release.internal import MARK, holds_disclosed, read_disclosed
    from longsynth.release.synthetic_folder import (
        Recipe as Sampling,
    )
    from longsynth.release.synthetic_folder import (
        with_acceptance,
        write_synthetic,
        write_synthetic_on_spark,
    )
    from longsynth.sampling.where import as_texts
    from longsynth.system.folders import new_folder
    from longsynth.system.workers import counted_by, progress_bar

    weight, settings = output_format(form).weight, _settings(form, recipe, start_date)
    raw = holds_disclosed(release)
    bundle = read_disclosed(release) if raw else load_release(release)
    model = model_of(bundle)
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
    sampling = with_acceptance(
        Sampling(
            bundle.fingerprint, patients, seed, as_texts(where), not raw, form, settings=settings
        ),
        model,
    )
    with new_folder(out, owner_only=raw) as scratch, progress_bar("patients") as progress:
        if engine == Engines.spark:
            progress.add_task("sample", total=None)
            write_synthetic_on_spark(scratch, model, sampling, master=master or "local[*]")
        else:
            watch = counted_by(progress, "sample", patients)
            write_synthetic(scratch, model, sampling, watch, jobs)
        if raw:
            (scratch / "NOT_FOR_RELEASE.md").write_text(MARK, encoding="utf-8")
    if raw:
        say(f"Wrote {patients:,} records to {out}. They are NOT PRIVATE: do not share them.")
        return
    say(
        f"Wrote {patients:,} synthetic patients to {out}. "
        + (
            f"{weight} is the weight of each patient{' among those selected' if where else ''}.\n"
            if weight
            else "They have no weights: every stratum has its share of the population.\n"
        )
        + (
            f"Kept {sampling.acceptance:.1%} of those generated.\n"
            if sampling.acceptance < 1
            else ""
        )
        + f"Next: {command_line('verify', release, out)}"
    )


def _settings(form: str, recipe: Path | None, start_date: str | None) -> dict[str, str]:
    """Return what a format asks for."""
    from longsynth.schema.recipe import load_recipe

    if form != EXPORT:
        dated = [name for name in FORMATS if "start_date" in FORMATS[name].settings]
        if recipe or (start_date and form not in dated):
            raise Refused(
                Code.OPTIONS_CONFLICT,
                f"--recipe is for --format {EXPORT}, and --start-date for {', '.join(dated)}.",
                "Leave them out, or choose another format.",
            )
        return {"start_date": start_date or ""} if form in dated else {}
    if recipe is None:
        raise Refused(
            Code.OPTION_MISSING,
            f"--format {EXPORT} needs the recipe by which the cohort was imported.",
            "Add --recipe COHORT/recipe.yaml.",
        )
    read, text = load_recipe(recipe)
    if read.has_dates and not start_date:
        raise Refused(
            Code.START_DATE_MISSING,
            "the export has dates, and synthetic patients have no calendar.",
            "Choose a public day on which all records start: --start-date 2024-01-01.",
        )
    return {"recipe": text, "start_date": start_date or ""}
