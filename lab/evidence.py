"""Make the evidence: measure what today's code has not measured yet, and write the pages.

    make evidence                        everything; continues where it was stopped
    python lab/evidence.py --plan        list what would be run, and how long it would take
    python lab/evidence.py --pages       only write the pages from the result files

Needs LONGSYNTH_COHORTS for the real cohorts. The folder `evidence` keeps finished cells.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from longsynth.system.errors import Refused
from longsynth.system.folders import write_whole as write_bytes
from longsynth_lab.evidence.cohort_pages import ATTACKS, GROUP_METRICS, population_text, real_text
from longsynth_lab.evidence.comparison_tables import COMPARED, FIDELITY, UTILITY
from longsynth_lab.evidence.comparisons import MEMBERSHIP, evidence, searches
from longsynth_lab.evidence.constants_page import constants_text
from longsynth_lab.evidence.flagship_page import flagship_text
from longsynth_lab.evidence.rivals import variants_shown
from longsynth_lab.evidence.rivals_page import rivals_text
from longsynth_lab.experiments import Experiment
from longsynth_lab.measures import TOLD_APART
from longsynth_lab.membership import ATTACKS as SWAPPED
from longsynth_lab.membership import membership_text
from longsynth_lab.results import Results, Row, read_results, table_of, write_whole
from longsynth_lab.runner import SECONDS, run_experiments, scores_file
from longsynth_lab.seeds import (
    development_seeds,
    evaluation_seeds,
    note_judged,
    require_development,
)
from longsynth_lab.trial import Trial, trials
from longsynth_lab.versions import keep_versions, only

ROOT = Path(__file__).parents[1]
RESULTS, PAGES = ROOT / "lab" / "results", ROOT / "docs"
SEARCHES, JUDGED = RESULTS / "searches.parquet", RESULTS / "evidence.parquet"
EARLIER = RESULTS / "earlier.parquet"
FEW = 5  # development seeds of a search
SHOWN = {*UTILITY, *FIDELITY, *COMPARED, *GROUP_METRICS, *ATTACKS, *SWAPPED, SECONDS}
GUESS = 0.7  # processor seconds of a cell without an earlier measurement


def rows_to_store(results: Results) -> Results:
    """Return the rows that pages show, to seven digits. The others can be measured again."""
    groups = re.compile(r"group\d(_site_.+)?_(auprc|events)|group\d_ece")
    return Results(
        replace(row, value=float(np.float32(row.value)))
        for row in results.rows
        if row.metric in SHOWN or row.metric.startswith(TOLD_APART) or groups.fullmatch(row.metric)
    )


def stored_results(path: Path) -> Results:
    return read_results(path) if path.exists() else Results([])


def known_rows(wanted: Sequence[Trial], known: Results) -> dict[Trial, list[Row]]:
    """Return the trials that the result file contains, if today's code made them."""
    rows: dict[tuple[str, str, int, int, str], list[Row]] = {}
    for row in known.rows:
        key = (row.experiment, row.method, row.seed, row.draw, row.setting)
        rows.setdefault(key, []).append(row)
    done = {}
    for trial in wanted:
        keys = [(u.experiment, trial.method, trial.seed, trial.draw, u.setting) for u in trial.uses]
        found = [row for key in keys for row in rows.get(key, ())]
        made = {(row.made_by, row.judged_by) for row in found}
        if all(key in rows for key in keys) and made == {(trial.made_by, trial.judged_by)}:
            done[trial] = found
    return done


def write_known_cells(done: Mapping[Trial, list[Row]], out: Path) -> None:
    """Write known rows as finished cells, so that a run skips them."""
    for trial, found in done.items():
        path = scores_file(out, trial)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, table_of(found, Row))


def estimated_seconds(waiting: Sequence[Trial], known: Results) -> float:
    """Estimate the processor seconds of cells from earlier cells of the same kind."""
    took: dict[tuple[str, str], list[float]] = {}
    for row in known.rows:
        if row.metric == SECONDS:
            took.setdefault((row.experiment, row.method), []).append(row.value)
    by_experiment: dict[str, list[float]] = {}
    for (experiment, _), values in took.items():
        by_experiment.setdefault(experiment, []).extend(values)
    total = 0.0
    for trial in waiting:
        experiment = trial.uses[0].experiment
        found = took.get((experiment, trial.method)) or by_experiment.get(experiment) or [GUESS]
        total += median(found)
    return total


def measure(
    what: str, experiments: Sequence[Experiment], path: Path, jobs: int, *, run: bool
) -> Results:
    """Run what is missing or stale, update the result file, and return it."""
    out, known = ROOT / "evidence" / what, stored_results(path)
    wanted = trials(experiments)
    done = known_rows(wanted, known)
    waiting = [t for t in wanted if t not in done and not scores_file(out, t).exists()]
    minutes = estimated_seconds(waiting, known) / jobs / 60
    print(
        f"{what}: {len(wanted):,} cells, {len(waiting):,} to run, "
        f"about {minutes:.0f} minutes with {jobs} processes",
        flush=True,
    )
    if not run:
        return known
    write_known_cells(done, out)
    run_experiments(experiments, out, jobs=jobs, resume=True)
    write_whole(path, table_of(rows_to_store(read_results(out / "results.parquet")).rows, Row))
    keep_versions(dict.fromkeys(trial.method for trial in wanted if trial.made_by))
    return read_results(path)


def write_pages(searched: Results, judged: Results) -> None:
    texts = {
        "rivals.md": rivals_text(searched),
        "constants.md": constants_text(searched),
        "population.md": population_text(judged),
        "real.md": real_text(judged, searched),
        "flagship.md": flagship_text(judged, stored_results(EARLIER)),
        "membership.md": membership_text(only(judged, [MEMBERSHIP])),
    }
    for name, text in texts.items():
        write_bytes(PAGES / name, text.encode())
        print(f"wrote docs/{name}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes; each uses one core")
    parser.add_argument("--plan", action="store_true", help="list what would be run")
    parser.add_argument("--pages", action="store_true", help="only write the pages")
    given = parser.parse_args()
    try:
        if given.pages:
            searched, judged = read_results(SEARCHES), read_results(JUDGED)
            write_pages(searched, judged)
            rows = (*searched.rows, *judged.rows)
            keep_versions(dict.fromkeys(row.method for row in rows if row.made_by))
            return 0
        seeds = development_seeds()[:FEW]
        require_development(seeds)
        run = not given.plan
        searched = measure("searches", searches(seeds), SEARCHES, given.jobs, run=run)
        if given.plan and not searched.rows:
            print("The rest can be planned only after the searches have run.")
            return 0
        shown = variants_shown(searched)
        experiments = evidence(evaluation_seeds(), shown)
        judged = measure("judged", experiments, JUDGED, given.jobs, run=run)
        if run:
            note_judged()
            write_pages(searched, judged)
    except Refused as refused:
        print(f"error: {refused}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
