"""`longsynth demo`, `simulate` and `methods`: see it work, without data of your own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from longsynth.commands.options import Json, Out, print_json, say
from longsynth.system.errors import Code, ReleaseError
from longsynth.system.text import cell, command_line

if TYPE_CHECKING:
    from rich.table import Table

    from longsynth.show.plots import ComparedVariable

# tab:configuration, on its first seed
SEED, PATIENTS, EPSILON, DELTA, SYNTHETIC_SEED = 11, 720, 12.0, 1e-5, 7


def demo(out: Out = Path("demo")) -> None:
    """Simulate, fit, sample and verify in one go, and compare real with synthetic patients."""
    import json
    from dataclasses import asdict

    from longsynth.methods import DEFAULT
    from longsynth.methods.registry import model_of
    from longsynth.reading.cohort_folder import read_cohort
    from longsynth.reading.quality import receipt_of_simulated
    from longsynth.reading.simulation import simulate, simulated_schema
    from longsynth.release.folder import load_release
    from longsynth.release.run import run_fit
    from longsynth.release.synthetic_folder import Recipe, write_synthetic
    from longsynth.release.verify import verify
    from longsynth.sample import sample
    from longsynth.show.plots import compare, plot_all
    from longsynth.show.terminal import stdout
    from longsynth.system.folders import new_folder, write_whole
    from longsynth.writing.cohort import write_cohort

    console = stdout()
    with new_folder(out) as scratch:
        cohort, run, synthetic = (scratch / name for name in ("cohort", "run", "synthetic"))
        cohort.mkdir()
        synthetic.mkdir()
        console.print(f"1. simulate  {PATIENTS} patients, seed {SEED}")
        write_cohort(cohort, simulated_schema(), simulate(PATIENTS, seed=SEED).batches())
        receipt_of_simulated(cohort)
        console.print(f"2. fit       ε = {EPSILON:g}, δ = {DELTA:g}, method '{DEFAULT}'")
        run_fit(cohort, run, epsilon=EPSILON, delta=DELTA)
        console.print(f"3. sample    {PATIENTS} synthetic patients, seed {SYNTHETIC_SEED}")
        bundle = load_release(run / "release")
        model = model_of(bundle)
        write_synthetic(synthetic, model, Recipe(bundle.fingerprint, PATIENTS, SYNTHETIC_SEED))
        findings = verify(run / "release", synthetic)
        good = sum(finding.good for finding in findings)
        console.print(f"4. verify    {good} of {len(findings)} checks passed\n")
        if good < len(findings):
            raise ReleaseError(
                Code.RELEASE_ALTERED,
                "the demo's own release does not verify.",
                "Please report this.",
            )
        schema, real = read_cohort(cohort)
        generated = sample(model, PATIENTS, seed=SYNTHETIC_SEED)
        compared = compare(schema, real, generated)
        internal = run / "internal"
        write_whole(
            internal / "comparison.json",
            json.dumps([asdict(c) for c in compared], indent=2).encode(),
        )
        plots = plot_all(schema, real, generated, internal)
        console.print(_table(compared))
    shown = cell(out)
    plotted = " and two plots" if plots else ""
    board = cell(command_line("dossier", out / "run", "--out", "dossier.html"))
    console.print(f"""
Where to look:
  {shown}/run/release/STATEMENT.md   the privacy guarantee, for a board
  {shown}/run/release/ledger.json    every released number, and what it cost
  {shown}/synthetic/                 the synthetic cohort, in the same format as {shown}/cohort/
  {shown}/run/internal/              the comparison{plotted}; shows real patients, do not share it
For a board, as one page: {board}""")
    if not plots:
        console.print("Plots need matplotlib: pip install 'longsynth[plots]'.", markup=False)


def _table(compared: list["ComparedVariable"]) -> "Table":
    from rich.table import Table

    table = Table(
        title="Real and synthetic patients (weighted)", title_justify="left", pad_edge=False
    )
    for column in ("variable", "mean", "synth.", "sd", "synth.", "missing", "synth."):
        side: Literal["left", "right"] = "left" if column == "variable" else "right"
        table.add_column(column, justify=side, overflow="fold")
    for variable in compared:
        (a, b, c), (x, y, z) = variable.real, variable.synthetic
        name = f"{cell(variable.name)} [dim]{cell(variable.unit)}[/]"
        table.add_row(name, f"{a:.2f}", f"{x:.2f}", f"{b:.2f}", f"{y:.2f}", f"{c:.1%}", f"{z:.1%}")
    return table


def simulate(
    out: Out,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the simulation.")] = 11,
    patients: Annotated[int, typer.Option(min=1, help="The number of patients.")] = 720,
) -> None:
    """Write a cohort of simulated patients: the paper's population."""
    from longsynth.reading.quality import receipt_of_simulated
    from longsynth.reading.simulation import simulate as draw
    from longsynth.reading.simulation import simulated_schema
    from longsynth.system.folders import new_folder
    from longsynth.writing.cohort import write_cohort

    with new_folder(out) as scratch:
        batches = draw(patients, seed=seed).batches(16_384)
        write_cohort(scratch, simulated_schema(), batches, first=_first_id(seed))
        receipt_of_simulated(scratch)
    say(f"Wrote {patients:,} simulated patients to {out}.\nNext: {command_line('check', out)}")


def _first_id(seed: int) -> int:
    """Patients of two seeds are different people, so their ids differ."""
    return seed % 1_000_000 * 1_000_000_000 + 1


def methods(json: Json = False) -> None:
    """List the methods and what each guarantees."""
    from longsynth.methods import DEFAULT
    from longsynth.methods.method import PrivateMethod
    from longsynth.methods.registry import all_methods, origin_of

    available = all_methods()
    private = {name: isinstance(method, PrivateMethod) for name, method in available.items()}
    if json:
        print_json(
            [
                {
                    "method": n,
                    "private": private[n],
                    "default": n == DEFAULT,
                    "summary": m.summary,
                    "distribution": origin_of(m).distribution,
                }
                for n, m in available.items()
            ]
        )
        return
    from rich.table import Table

    from longsynth.show.terminal import stdout

    table = Table("method", "guarantee", "what it does", pad_edge=False)
    others: dict[str, str] = {}
    for name in sorted(available, key=lambda name: not private[name]):
        origin = origin_of(available[name])
        guarantee = "(ε, δ) per patient" if private[name] else "NOT PRIVATE"
        if private[name] and not origin.ours:
            guarantee = "(ε, δ), not proved by us"
            others[name] = origin.named
        table.add_row(cell(name), guarantee, cell(available[name].summary))
    stdout().print(table)
    for name, package in others.items():
        say(f"'{name}' comes from {package}. longsynth has not proved its sensitivity.")
    say(f"`longsynth fit` uses {DEFAULT} unless you give --method.")
