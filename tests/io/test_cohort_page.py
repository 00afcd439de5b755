"""docs/cohort.md names a test for every behaviour; each must exist. Its example is read as told."""

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from longsynth.reading.cohort_folder import read_cohort

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cohort.md").read_text("utf-8")


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    files = [
        p for d in ("io", "schema", "contracts") for p in (ROOT / "tests" / d).glob("test_*.py")
    ]
    existing = {
        n for p in files for n in re.findall(r"^def (test_\w+)", p.read_text(), re.MULTILINE)
    }
    assert named
    assert named <= existing


def test_the_example_of_a_record_is_read_as_the_page_says(folder: Callable[..., Path]) -> None:
    found = re.findall(r"^\| (\d .*) \|$", PAGE, re.MULTILINE)
    lines = [[cell.strip() for cell in line.split("|")] for line in found]
    assert len(lines) == 2
    rows = [[float(cell) if cell else None for cell in line[:4]] for line in lines]
    people = [[int(line[5]), 0, 0, "A", float(line[6]) if line[6] else None] for line in lines]
    number = {"kind": "continuous", "bounds": [0, 300], "bounds_from": "-"}
    variables = [number | {"name": name} for name in ("pulse", "sodium")]
    variables.append(number | {"name": "age", "static": True})
    names = ["patient_id", "time", "pulse", "sodium"]
    about = ["patient_id", "group", "event", "site", "age"]
    observations = dict(zip(names, zip(*rows, strict=True), strict=True))
    observations["patient_id"] = [int(line[0]) for line in lines]
    patients = dict(zip(about, zip(*people, strict=True), strict=True))
    tables = (pa.table(observations), pa.table(patients))
    _, cohort = read_cohort(folder(*tables, variables=variables))
    assert cohort.length.tolist() == [2, 0]
    assert cohort.gaps[0].tolist() == [0.5, 5.5, 0]
    assert cohort.observed[0].tolist() == [
        [True, True, True],
        [True, False, False],
        [False, False, False],
    ]
    assert cohort.values[0, 0].tolist() == [80, 140, 71]
    assert not cohort.observed[1].any()
