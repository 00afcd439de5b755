"""demo: the main job end to end on simulated patients, and a look at what came out."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from rich.table import Table

from longsynth.methods import DEFAULT
from longsynth.methods.registry import model_of
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.reading.tables import read_cohort
from longsynth.release.folder import load_release
from longsynth.release.run import run_fit
from longsynth.release.synthetic_folder import Recipe, write_synthetic
from longsynth.release.verify import verify
from longsynth.sample import sample
from longsynth.show.compare import Row, compare
from longsynth.show.plots import plot_all
from longsynth.show.terminal import stdout
from longsynth.system.errors import ReleaseError
from longsynth.system.folders import new_folder, write_whole
from longsynth.system.text import cell, command_line
from longsynth.writing.writer import write_cohort

# tab:configuration, on its first seed
SEED, PATIENTS, EPSILON, DELTA, SYNTHETIC_SEED = 11, 720, 12.0, 1e-5, 7


def run_demo(out: Path) -> None:
    """Write cohort, run and synthetic folders under `out` and print how they compare."""
    console = stdout()
    with new_folder(out) as scratch:
        cohort, run, synthetic = (scratch / name for name in ("cohort", "run", "synthetic"))
        cohort.mkdir()
        synthetic.mkdir()
        console.print(f"1. simulate  {PATIENTS} patients, seed {SEED}")
        write_cohort(cohort, simulated_schema(), simulate(PATIENTS, seed=SEED).batches())
        console.print(f"2. fit       ε = {EPSILON:g}, δ = {DELTA:g}, method '{DEFAULT}'")
        run_fit(cohort, run, epsilon=EPSILON, delta=DELTA)
        console.print(f"3. sample    {PATIENTS} synthetic patients, seed {SYNTHETIC_SEED}")
        bundle = load_release(run / "release")
        model = model_of(bundle)
        write_synthetic(synthetic, model, Recipe(bundle.fingerprint, PATIENTS, SYNTHETIC_SEED))
        findings = verify(run / "release", synthetic)
        good = sum(finding.good for finding in findings)
        console.print(f"4. verify    {good} of {len(findings)} checks hold\n")
        if good < len(findings):
            raise ReleaseError("the demo's own release does not verify: please report this.")

        schema, real = read_cohort(cohort)
        drawn = sample(model, PATIENTS, seed=SYNTHETIC_SEED)
        rows = compare(schema, real, drawn)
        internal = run / "internal"
        write_whole(
            internal / "comparison.json", json.dumps([asdict(r) for r in rows], indent=2).encode()
        )
        plots = plot_all(schema, real, drawn, internal)
        console.print(_table(rows))
    shown = cell(out)
    board = cell(command_line("dossier", out / "run", "--out", "dossier.html"))
    console.print(f"""
Where to look:
  {shown}/run/release/STATEMENT.md   the promise, for a board
  {shown}/run/release/ledger.json    every number that left, and its cost
  {shown}/synthetic/                 the synthetic cohort, same format as {shown}/cohort/
  {shown}/run/internal/              the comparison{" and two plots" if plots else ""}: shows real \
patients, stays inside
For a board, as one page: {board}""")
    if not plots:
        console.print("Plots need matplotlib: pip install 'longsynth[plots]'.", markup=False)


def _table(rows: list[Row]) -> Table:
    table = Table(
        title="Real against synthetic (synth., weighted)", title_justify="left", pad_edge=False
    )
    for column in (
        "variable",
        "mean",
        "synth.",
        "sd",
        "synth.",
        "missing",
        "synth.",
    ):
        side: Literal["left", "right"] = "left" if column == "variable" else "right"
        table.add_column(column, justify=side, overflow="fold")
    for row in rows:
        (a, b, c), (x, y, z) = row.real, row.synthetic
        name = f"{cell(row.name)} [dim]{cell(row.unit)}[/]"
        table.add_row(name, f"{a:.2f}", f"{x:.2f}", f"{b:.2f}", f"{y:.2f}", f"{c:.1%}", f"{z:.1%}")
    return table
