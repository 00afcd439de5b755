"""Store a finished study's numbers in the repository and write docs/study-results.md from them."""

import argparse
from pathlib import Path

from longsynth_lab.fingerprints import keep_versions
from longsynth_lab.results import Row, read_results, table_of, write_whole
from longsynth_lab.study_page import needed, study_text

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "lab" / "results" / "study.parquet"
PAGE = ROOT / "docs" / "study-results.md"


def store(study: Path, results: Path = RESULTS, page: Path = PAGE) -> None:
    """Keep what the page needs of STUDY/results.parquet, then write the page from what was kept."""
    kept = needed(read_results(study / "results.parquet"))
    write_whole(results, table_of(kept.rows, Row))
    page.write_text(study_text(read_results(results)), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("study", type=Path, help="the folder of a finished `longsynth bench paper`")
    given = parser.parse_args()
    if not (given.study / "validation.json").is_file():
        parser.error(f"{given.study} is not a finished study: run `longsynth bench paper` first")
    store(given.study)
    keep_versions(dict.fromkeys(row.method for row in read_results(RESULTS).rows if row.made_by))
    print(f"Wrote {RESULTS} and {PAGE}")


if __name__ == "__main__":
    main()
