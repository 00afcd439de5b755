"""Store a finished study's numbers in the repository and write docs/study-results.md from them.

python lab/study.py STUDY      after `longsynth bench paper --out STUDY`
python lab/study.py --repeats  only repeat the comparison with new noise; a few minutes
python lab/study.py --page     only the page, from the numbers stored before
"""

import argparse
import sys
import tempfile
from pathlib import Path

from longsynth.system.errors import Refused
from longsynth.system.folders import write_whole as write_bytes
from longsynth_lab.experiments import Experiment
from longsynth_lab.paper.section_v import repeats
from longsynth_lab.paper.study_page import needed, study_text
from longsynth_lab.results import Results, Row, read_results, table_of, write_whole
from longsynth_lab.runner import run_experiments
from longsynth_lab.versions import keep_versions

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "lab" / "results" / "study.parquet"
REPEATED = RESULTS.with_name("study_repeats.parquet")
PAGE = ROOT / "docs" / "study-results.md"


def store(
    study: Path, results: Path = RESULTS, page: Path = PAGE, repeated: Path = REPEATED
) -> None:
    """Store the rows of STUDY/results.parquet that the page needs, and write the page. Nothing is
    written if the rows mix versions."""
    rows = needed(read_results(study / "results.parquet"))
    text = study_text(rows, stored(repeated))
    write_whole(results, table_of(rows.rows, Row))
    write_bytes(page, text.encode())


def stored(path: Path) -> Results:
    return read_results(path) if path.exists() else Results(())


def repeat(experiment: Experiment, repeated: Path = REPEATED) -> None:
    """Run the comparison again with new noise, and store what the page needs of it."""
    with tempfile.TemporaryDirectory() as scratch:
        run_experiments([experiment], Path(scratch) / "repeats")
        rows = needed(read_results(Path(scratch) / "repeats" / "results.parquet"))
    write_whole(repeated, table_of(rows.rows, Row))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, nargs="?", help="folder of a finished study")
    parser.add_argument("--repeats", action="store_true", help="only repeat the comparison")
    parser.add_argument("--page", action="store_true", help="only write the page")
    given = parser.parse_args()
    if sum(map(bool, (given.study, given.repeats, given.page))) != 1:
        parser.error("name the folder of a study, or give --repeats or --page")
    if given.study and not (given.study / "validation.json").is_file():
        parser.error(f"{given.study} is not a finished study: run `longsynth bench paper` first")
    try:
        if given.study or given.repeats:
            repeat(repeats())
        if given.study:
            store(given.study)
            rows = read_results(RESULTS).rows
            keep_versions(dict.fromkeys(row.method for row in rows if row.made_by))
        else:
            write_bytes(PAGE, study_text(read_results(RESULTS), stored(REPEATED)).encode())
    except Refused as refused:
        print(f"error: {refused}", file=sys.stderr)
        return 2
    print(f"Wrote {RESULTS} and {PAGE}" if given.study else f"Wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
