"""docs/cohort.md names a test for every behaviour; each must exist. Its example is read as told."""

import re
from collections.abc import Callable
from pathlib import Path

from longsynth.io.tables import read_cohort

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cohort.md").read_text("utf-8")


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    files = [p for d in ("io", "schema") for p in (ROOT / "tests" / d).glob("test_*.py")]
    existing = {
        n for p in files for n in re.findall(r"^def (test_\w+)", p.read_text(), re.MULTILINE)
    }
    assert named
    assert named <= existing


def test_the_example_of_a_record_is_read_as_the_page_says(folder: Callable[..., Path]) -> None:
    found = re.findall(r"^\| (\d .*) \|$", PAGE, re.MULTILINE)
    lines = [[cell.strip() for cell in line.split("|")] for line in found]
    assert len(lines) == 2
    rows = ["patient_id,time,pulse,sodium", *(",".join(line[:4]) for line in lines)]
    people = ["patient_id,group,event,site,age", *(f"{x[5]},0,0,A,{x[6]}" for x in lines)]
    number = {"kind": "continuous", "bounds": [0, 300], "bounds_from": "-"}
    variables = [number | {"name": name} for name in ("pulse", "sodium")]
    variables.append(number | {"name": "age", "static": True})
    texts = ("\n".join(rows) + "\n", "\n".join(people) + "\n")
    _, cohort = read_cohort(folder(*texts, variables=variables))
    assert cohort.length.tolist() == [2, 0]
    assert cohort.gaps[0].tolist() == [0.5, 5.5, 0]
    assert cohort.observed[0].tolist() == [
        [True, True, True],
        [True, False, False],
        [False, False, False],
    ]
    assert cohort.values[0, 0].tolist() == [80, 140, 71]
    assert not cohort.observed[1].any()
