"""The commands. Each one parses, calls one function and prints; libraries load when needed."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longsynth.commands.attack import app as attack
from longsynth.commands.audit import audit
from longsynth.commands.bench import app as bench
from longsynth.commands.budget import app as budget
from longsynth.commands.check import check
from longsynth.commands.ending import run
from longsynth.commands.engine import (
    Engine,
    Engines,
    Master,
    Partitions,
    Tables,
    cohort_on,
    require_local,
)
from longsynth.commands.governance import app as governance
from longsynth.commands.import_ import import_
from longsynth.commands.methods import methods
from longsynth.commands.schema import app as schema_
from longsynth.commands.sign import keygen, sign
from longsynth.privacy.errors import Refused

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Synthetic longitudinal patient records with a patient-level differential-privacy "
    "guarantee whose account anyone can recompute. New here? Run [bold]longsynth demo[/].",
)


class Accountings(StrEnum):
    paper = "paper"
    zcdp = "zcdp"
    gaussian = "gaussian"


class Forms(StrEnum):
    cohort = "cohort"
    events = "events"
    meds = "meds"
    parts = "parts"


EPSILON = typer.Option(help="ε: how much one patient can matter; smaller is safer.")
DELTA = typer.Option(help="δ: chance of failure, at most 1/(10·patients).")
Epsilon = Annotated[float, EPSILON]
Delta = Annotated[float, DELTA]
Method = Annotated[str, typer.Option(help="The generator.")]
Accounting = Annotated[Accountings, typer.Option(help="How ρ becomes ε; see docs/privacy.md.")]
Out = Annotated[Path, typer.Option("--out", help="A folder that does not exist yet.")]
Json = Annotated[bool, typer.Option("--json", help="Plain JSON for a script.")]
Release = Annotated[Path, typer.Argument(help="A release folder, for instance RUN/release.")]


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


@app.command()
def simulate(
    out: Out,
    seed: Annotated[int, typer.Option(min=0, help="Draws the patients.")] = 11,
    patients: Annotated[int, typer.Option(min=1, help="How many patients.")] = 720,
) -> None:
    """Write a cohort of simulated patients: the paper's population."""
    from longsynth.folders import new_folder
    from longsynth.io.writer import write_cohort
    from longsynth.simulate import simulate as draw
    from longsynth.simulate import simulated_schema

    with new_folder(out) as scratch:
        write_cohort(scratch, simulated_schema(), draw(patients, seed=seed).batches(16_384))
    typer.echo(f"Wrote {patients:,} simulated patients to {out}.")


@app.command()
def plan(
    schema: Annotated[Path, typer.Argument(help="schema.yaml of the cohort; no data is read.")],
    patients: Annotated[int, typer.Option(help="How many patients the cohort has.")],
    epsilon: Epsilon,
    delta: Delta,
    method: Method = "trust",
    accounting: Accounting = Accountings.zcdp,
    json: Json = False,
) -> None:
    """Show everything a fit would release and what it would cost, before any patient is read."""
    from longsynth.plan import plan as make
    from longsynth.schema_file import load_schema

    made = make(
        load_schema(schema),
        patients,
        epsilon=epsilon,
        delta=delta,
        method=method,
        accounting=accounting.value,
    )
    if json:
        from longsynth.govern.ledger_file import plan_json
        from longsynth.methods.method import settings_of

        found = settings_of(made.method, made.schema)
        _print_json(
            plan_json(made.method.name, made.ledger) | ({"settings": found} if found else {})
        )
        return
    from longsynth.report.terminal import show_constants, show_ledger, show_settings, stdout

    title = f"Plan of '{method}' for {patients:,} patients: nothing has been read yet"
    show_ledger(stdout(), title, made.method, made.schema, made.ledger)
    show_settings(stdout(), made.method, made.schema)
    show_constants(stdout(), made.schema)


@app.command()
def fit(
    cohort: Annotated[Path, typer.Argument(help="A cohort folder with schema.yaml.")],
    out: Out,
    epsilon: Annotated[float | None, EPSILON] = None,
    delta: Annotated[float | None, DELTA] = None,
    method: Method = "trust",
    accounting: Accounting = Accountings.zcdp,
    book: Annotated[
        Path | None, typer.Option(help="The data owner's budget book, charged before the fit.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Which dataset of the book this is.")] = None,
    governance: Annotated[
        Path | None, typer.Option(help="The governance form that has to allow this fit.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Who fits; someone else signs.")] = None,
    engine: Engine = Engines.local,
    master: Master = None,
    tables: Tables = None,
    partitions: Partitions = None,
) -> None:
    """Release private statistics of a cohort: writes RUN/release and RUN/internal.

    A method that is not private takes no budget and writes RUN/internal only.
    """
    from longsynth.govern.statement import as_typed, delta_warning
    from longsynth.run import run_fit

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
    )
    if epsilon is None:
        typer.echo(
            f"Wrote {out / 'internal'}: NOT PRIVATE, must not leave.\n"
            f"Next: longsynth sample {out / 'internal'} --patients 500 --seed 7 --out drawn"
        )
        return
    if bundle.ledger.budget and (note := delta_warning(bundle.ledger.budget, bundle.patients)):
        typer.echo(f"Note: {note}")
    if book is None:
        typer.echo("Note: no budget book was kept; repeated fits of these patients do not add up.")
    typer.echo(
        f"Wrote {out / 'release'}: may leave with ε = {as_typed(epsilon)}, "
        f"δ = {as_typed(delta or 0)}; see its "
        f"STATEMENT.md.\nWrote {out / 'internal'}: raw facts about patients, must not leave.\n"
        f"Before anything leaves, read {out / 'internal/reading.json'}: it counts what could not "
        "be read as it stands.\n"
        f"Fingerprint: {bundle.fingerprint}\n"
        f"Next: longsynth sample {out / 'release'} --patients 500 --seed 7 --out synthetic"
    )


@app.command()
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
) -> None:
    """Draw synthetic patients from a release. Needs no data and costs no privacy."""
    from longsynth.folders import new_folder
    from longsynth.govern.disclosed import MARK, holds_disclosed, read_disclosed
    from longsynth.govern.release import load_release
    from longsynth.govern.synthetic_folder import (
        Recipe,
        write_synthetic,
        write_synthetic_on_spark,
    )
    from longsynth.methods.registry import model_of
    from longsynth.report.terminal import counted_by, progress_bar

    raw = holds_disclosed(release)
    bundle = read_disclosed(release) if raw else load_release(release)
    model = model_of(bundle)
    chosen = _conditions(where or [])
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
            write_synthetic(scratch, model, recipe, counted_by(progress, "sample", patients))
        if raw:
            (scratch / "NOT_FOR_RELEASE.md").write_text(MARK, encoding="utf-8")
    if raw:
        typer.echo(f"Wrote {patients:,} NOT PRIVATE records to {out}: they must not leave.")
        return
    weight = "Column 'weight' of patients.parquet" if form != Forms.meds else "SAMPLING_WEIGHT"
    typer.echo(
        f"Wrote {patients:,} synthetic patients to {out}. {weight} says how much each "
        f"counts{' among those asked for' if where else ''}.\n"
        f"Next: longsynth verify {release} {out}"
    )


@app.command()
def ledger(release: Release, json: Json = False) -> None:
    """Show the account of a release: every number that left, and what it cost."""
    from longsynth.govern.ledger_file import ledger_json
    from longsynth.govern.release import load_release
    from longsynth.methods.registry import private_method

    bundle = load_release(release)
    if json:
        _print_json(ledger_json(bundle.method, bundle.ledger))
        return
    from longsynth.report.terminal import show_ledger, stdout

    title = f"Ledger of {release}: '{bundle.method}', {bundle.patients:,} patients"
    show_ledger(stdout(), title, private_method(bundle.method), bundle.schema, bundle.ledger)


@app.command()
def verify(
    release: Release,
    synthetic: Annotated[
        Path | None, typer.Argument(help="A synthetic folder to draw again and compare.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Public key (KEY.pub) of who has to have signed it.")
    ] = None,
    governance: Annotated[
        Path | None, typer.Option(help="Governance form that it has to keep to.")
    ] = None,
) -> None:
    """Check without the data that a release is consistent. Exit 0 if all holds, else 1."""
    from longsynth.govern.verify import verify as check

    findings = check(release, synthetic, key=key, governance=governance)
    for finding in findings:
        typer.echo(f"{'ok  ' if finding.good else 'FAIL'} {finding.sentence}")
    failed = sum(not finding.good for finding in findings)
    typer.echo(
        f"All {len(findings)} checks hold."
        if not failed
        else f"{failed} of {len(findings)} checks FAIL; do not rely on what they name."
    )
    raise typer.Exit(1 if failed else 0)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="A folder that does not exist yet.")] = Path(
        "demo"
    ),
) -> None:
    """Simulate, fit, sample and verify in one go, and compare real with synthetic."""
    from longsynth.demo import run_demo

    run_demo(out)


app.add_typer(attack, name="attack")
app.command()(audit)
app.add_typer(bench, name="bench")
app.add_typer(budget, name="budget")
app.command()(check)
app.add_typer(governance, name="governance")
app.command("import")(import_)
app.command()(keygen)
app.command()(methods)
app.add_typer(schema_, name="schema")
app.command()(sign)


def _conditions(where: list[str]) -> dict[str, str]:
    pairs = [condition.partition("=") for condition in where]
    if any(not (name and equals and level) for name, equals, level in pairs):
        raise Refused("--where takes name=level, for instance --where event=1.")
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise Refused("--where names a column twice; give one level for each.")
    return {name: level for name, _, level in pairs}


def _print_json(content: object) -> None:
    import json

    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def main() -> None:
    """Run the commands; `commands/ending.py` lists the exit codes."""
    run(app)


if __name__ == "__main__":
    main()
