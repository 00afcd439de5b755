"""Store a finished study's numbers in the repository and write docs/study-results.md from them.

python lab/study.py STUDY    after `longsynth bench paper --out STUDY`
python lab/study.py --page   only the page, from the numbers stored before
"""

import argparse
import sys
from pathlib import Path

from longsynth.system.errors import Refused
from longsynth.system.folders import write_whole as write_bytes
from longsynth_lab.paper.study_page import needed, study_text
from longsynth_lab.results import Row, read_results, table_of, write_whole
from longsynth_lab.versions import keep_versions

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "lab" / "results" / "study.parquet"
PAGE = ROOT / "docs" / "study-results.md"


def store(study: Path, results: Path = RESULTS, page: Path = PAGE) -> None:
    """Store the rows of STUDY/results.parquet that the page needs, and write the page. Nothing is
    written if the rows mix versions."""
    rows = needed(read_results(study / "results.parquet"))
    text = study_text(rows)
    write_whole(results, table_of(rows.rows, Row))
    write_bytes(page, text.encode())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, nargs="?", help="folder of a finished study")
    parser.add_argument("--page", action="store_true", help="only write the page")
    given = parser.parse_args()
    if given.page == bool(given.study):
        parser.error("name the folder of a study, or give --page")
    if given.study and not (given.study / "validation.json").is_file():
        parser.error(f"{given.study} is not a finished study: run `longsynth bench paper` first")
    try:
        if given.page:
            write_bytes(PAGE, study_text(read_results(RESULTS)).encode())
        else:
            store(given.study)
            rows = read_results(RESULTS).rows
            keep_versions(dict.fromkeys(row.method for row in rows if row.made_by))
    except Refused as refused:
        print(f"error: {refused}", file=sys.stderr)
        return 2
    print(f"Wrote {PAGE}" if given.page else f"Wrote {RESULTS} and {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
