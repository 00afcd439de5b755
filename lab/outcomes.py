"""Utility for each outcome of studies with several of them, on open cohorts of real patients.

python lab/outcomes.py --out lab/results/outcomes.json --page docs/outcomes.md
python lab/outcomes.py --out lab/results/outcomes.json --page docs/outcomes.md --reuse
"""

import json
import tempfile
from argparse import ArgumentParser
from pathlib import Path

from longsynth.system.origin import surroundings
from longsynth_lab.evidence.outcomes_page import outcomes_page
from longsynth_lab.outcomes import METHODS, STUDIES, measured
from longsynth_lab.versions import judged_by, made_by

NOTE = "Noise and the split of patients are not seeded; a rerun differs within the stated ranges"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the results, as JSON")
    parser.add_argument("--page", type=Path, help="also write the documentation page here")
    parser.add_argument("--only", help="measure this study again, keep the others in --out")
    parser.add_argument("--reuse", action="store_true", help="take --out as it is, write the page")
    given = parser.parse_args()
    kept = given.out.exists() and (given.only or given.reuse)
    results = json.loads(given.out.read_text("utf-8")) if kept else {"studies": {}}
    if not given.reuse:
        for study in STUDIES:
            if given.only in (None, study.schema):
                with tempfile.TemporaryDirectory() as scratch:
                    results["studies"][study.schema] = measured(study, Path(scratch))
        versions = {method: made_by(method) for method in METHODS} | {"metrics": judged_by()}
        results |= {"note": NOTE, "surroundings": surroundings(), "versions": versions}
        given.out.write_text(as_json(results), encoding="utf-8")
    if given.page:
        given.page.write_text(outcomes_page(results), encoding="utf-8")


def as_json(results: dict) -> str:  # type: ignore[type-arg]
    """Write one row per line, so that a rerun shows as changed lines."""
    rows = {name: study["rows"] for name, study in results["studies"].items()}
    short = {name: study | {"rows": [name]} for name, study in results["studies"].items()}
    text = json.dumps(results | {"studies": short}, ensure_ascii=False, indent=1)
    for name, listed in rows.items():
        lines = ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in listed)
        text = text.replace(f'"rows": [\n    "{name}"\n   ]', f'"rows": [\n    {lines}\n   ]')
    return text + "\n"


if __name__ == "__main__":
    main()
