"""Audit of what longsynth is installed with: pinned, consistent, and without a known vulnerability.

    python tools/dependency_audit.py            # unaudited packages are counted, not failed
    python tools/dependency_audit.py --require  # fail if the advisories cannot be asked

Exit 1: a known vulnerability, a package that is not pinned, or versions that do not go together.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
PINNED = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+")


def unpinned(text: str) -> list[str]:
    """Return the lines that are no bare name with one version: ranges, addresses, files."""
    lines = [line.strip() for line in text.splitlines()]
    return [n for n in lines if n and not n.startswith("#") and not PINNED.fullmatch(n)]


def verdict(found: list[dict[str, Any]], *, require: bool) -> tuple[list[str], str]:
    """Return what fails, and a sentence on what was asked."""
    skipped = [d for d in found if "skip_reason" in d]
    failures = [
        f"{d['name']} {d['version']}: {v['id']}"
        + (f", fixed in {', '.join(v['fix_versions'])}" if v.get("fix_versions") else "")
        for d in found
        for v in d.get("vulns", [])
    ]
    if require and skipped:
        failures.append(f"{len(skipped)} packages could not be audited: are the advisories online?")
    said = f"{len(found) - len(skipped)} of {len(found)} packages were held against the advisories"
    if len(skipped) == len(found):
        said = f"NO advisories could be asked: {len(found)} packages were NOT audited"
    return failures, said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--require", action="store_true", help="fail where nothing was asked")
    require = parser.parse_args().require
    failures = [
        f"{line!r} in constraints.txt is no pin" for line in unpinned(CONSTRAINTS.read_text())
    ]
    pip = [sys.executable, "-m", "pip", "check"]
    consistent = subprocess.run(pip, capture_output=True, text=True, check=False)
    if consistent.returncode:
        failures += consistent.stdout.splitlines()
    options = [
        "--no-deps",
        "--disable-pip",
        "--progress-spinner",
        "off",
        "--format",
        "json",
        "--timeout",
        "15",
    ]
    ask = [sys.executable, "-m", "pip_audit", "--requirement", str(CONSTRAINTS), *options]
    asked = subprocess.run(ask, capture_output=True, text=True, check=False)
    try:
        found = json.loads(asked.stdout)["dependencies"]
    except (ValueError, KeyError):  # the service could not be reached at all
        found = [{"name": n, "skip_reason": "offline"} for n in CONSTRAINTS.read_text().split()]
    vulnerable, said = verdict(found, require=require)
    for failure in failures + vulnerable:
        print(f"dependency audit: {failure}")
    print(f"dependency audit: {said}.")
    return 1 if failures + vulnerable else 0


if __name__ == "__main__":
    sys.exit(main())
