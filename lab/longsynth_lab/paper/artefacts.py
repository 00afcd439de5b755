"""All files that are computed from a study's results: as text, and then on disk."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from longsynth.reading.simulation import simulated_schema
from longsynth.system.folders import write_whole
from longsynth.system.scratch import ScratchFolder
from longsynth_lab.experiments import MAIN, TRAIN_ON_REAL
from longsynth_lab.paper.figure_data import as_csv, figure_frames, seeds_frame
from longsynth_lab.paper.macros import macros_text
from longsynth_lab.paper.report import report_text
from longsynth_lab.paper.section_v import attack_settings
from longsynth_lab.paper.study_tables import CLIPPED, further_tables, study_tables
from longsynth_lab.patients import GROUPS, support_metric
from longsynth_lab.results import Results, read_predictions, read_results, write_text_whole
from longsynth_lab.tables import latex, markdown

FIGURE_DATA, TABLES, PAPER, FIGURES = "figures/data", "tables", "paper", "figures"
LATEX_SOURCES = ("study.tex", "architecture.tex")


def expected_files(out: Path) -> dict[str, str]:
    """Return path → text of everything published, computed from the seed-level files."""
    results = read_results(out / "results.parquet")
    predictions = read_predictions(out / "predictions.parquet")
    frames = figure_frames(results, predictions)
    made = {f"{FIGURE_DATA}/{frame.name}.csv": as_csv(frame) for frame in frames}
    for table in (*study_tables(results), *further_tables(results)):
        made[f"{TABLES}/{table.name}.tex"] = latex(table)
        made[f"{TABLES}/{table.name}.md"] = markdown(table)
    made |= records(results)
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
    from longsynth_lab.paper.plots import plot_study

    predictions = read_predictions(out / "predictions.parquet")
    frames = {frame.name: frame for frame in figure_frames(results, predictions)}
    with ScratchFolder() as scratch:
        for path in plot_study(frames, seeds_frame(results), scratch.path):
            write_whole(out / FIGURES / path.name, path.read_bytes())


RECORDS = "records"
PARTS = ("train", "test")
ABOUT = (
    "All patients of this study are simulated, so this file may be shown to anyone. Of real "
    "patients, the same facts are raw statistics: they stay in internal/ and are never released."
)


def records(results: Results) -> dict[str, str]:
    """Return clipping, subgroup support and attack settings as path → JSON text."""
    contents: dict[str, dict[str, Any]] = {
        "clipping": {"parts": _by_seed(results, _clipping)},
        "support": {"parts": _by_seed(results, _support)},
        "attacks": {"settings": attack_settings()},
    }
    return {
        f"{RECORDS}/{name}.json": json.dumps({"about": ABOUT} | content, indent=2) + "\n"
        for name, content in contents.items()
    }


def _by_seed(
    results: Results, facts: Callable[[Results, int, str], dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {"seed": seed, "part": part} | facts(results, seed, part)
        for seed in results.seeds("dataset")
        for part in PARTS
    ]


def _clipping(results: Results, seed: int, part: str) -> dict[str, Any]:
    return {fact: _fact(results, seed, f"{part}_{fact}") for fact in CLIPPED}


def _support(results: Results, seed: int, part: str) -> dict[str, Any]:
    return {
        "strata": [
            {"site": site, "group": group}
            | {
                counted: _fact(results, seed, f"{part}_{support_metric(site, group, counted)}")
                for counted in ("patients", "events")
            }
            for site in simulated_schema().sites
            for group in GROUPS
        ]
    }


def _fact(results: Results, seed: int, metric: str) -> float | None:
    return results.by_seed("dataset", TRAIN_ON_REAL, MAIN, metric).get(seed)
