"""Artefacts: every file that is made from a study's results, as text, and then on disk."""

from importlib.resources import files
from pathlib import Path

from longsynth.system.folders import write_whole
from longsynth.system.scratch import ScratchFolder
from longsynth_lab.figures import figure_frames
from longsynth_lab.further_tables import further_tables
from longsynth_lab.macros import macros_text
from longsynth_lab.report import report_text
from longsynth_lab.results import Results, read_predictions, read_results, write_text_whole
from longsynth_lab.seeds import seeds_frame
from longsynth_lab.side_records import side_records
from longsynth_lab.study_frames import as_csv
from longsynth_lab.study_tables import latex, markdown
from longsynth_lab.tables import study_tables

FIGURE_DATA, TABLES, PAPER, FIGURES = "figures/data", "tables", "paper", "figures"
LATEX_SOURCES = ("study.tex", "architecture.tex")


def expected_files(out: Path) -> dict[str, str]:
    """Return path → text of all that is published, computed afresh from the seed-level files."""
    results = read_results(out / "results.parquet")
    predictions = read_predictions(out / "predictions.parquet")
    frames = figure_frames(results, predictions)
    made = {f"{FIGURE_DATA}/{frame.name}.csv": as_csv(frame) for frame in frames}
    for table in (*study_tables(results), *further_tables(results)):
        made[f"{TABLES}/{table.name}.tex"] = latex(table)
        made[f"{TABLES}/{table.name}.md"] = markdown(table)
    made |= side_records(results)
    made[f"{PAPER}/macros.tex"] = macros_text(results)
    made["REPORT.md"] = report_text(results)
    return made


def write_artefacts(out: Path) -> None:
    """Write data files, tables, plots, LaTeX sources and the report from DIR/results.parquet."""
    for name, text in expected_files(out).items():
        write_text_whole(out / name, text)
    sources = files("longsynth_lab").joinpath("paper")
    for name in LATEX_SOURCES:
        write_text_whole(out / PAPER / name, sources.joinpath(name).read_text(encoding="utf-8"))
    _plot(out, read_results(out / "results.parquet"))


def _plot(out: Path, results: Results) -> None:
    from longsynth_lab.study_plots import plot_study

    predictions = read_predictions(out / "predictions.parquet")
    frames = {frame.name: frame for frame in figure_frames(results, predictions)}
    with ScratchFolder() as scratch:
        for path in plot_study(frames, seeds_frame(results), scratch.path):
            write_whole(out / FIGURES / path.name, path.read_bytes())
