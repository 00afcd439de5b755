"""Recognise today's code: which stored results would it still give?

    make versions

Run this after moving or renaming code. It runs the probe of every method whose sources changed,
about a minute in all. Methods that still give the same numbers keep their version, which is stored
in lab/results/versions.json. Exit code 1 if some results are stale; then the command that measures
them again is named.
"""

import argparse
import sys
from pathlib import Path

from longsynth_lab.results import read_results
from longsynth_lab.versions import recognise

RESULTS = Path(__file__).parent / "results"
COMMANDS = {
    "searches": "make evidence",
    "evidence": "make evidence",
    "study": "make paper",
    "study_repeats": "make paper",
}


def main() -> int:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    stored = {name: read_results(RESULTS / f"{name}.parquet") for name in COMMANDS}
    stale = recognise(stored)
    for name, lines in stale.items():
        print(f"{name}.parquet: {f'stale, run {COMMANDS[name]!r}' if lines else 'up to date'}")
        print("".join(f"  {line}\n" for line in lines), end="")
    return 1 if any(stale.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
