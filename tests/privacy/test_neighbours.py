"""Neighbouring cohorts on the real ways in: what a fit hands to the mechanism, what files give."""

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from longsynth import fit
from longsynth.plan import Plan
from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.records import Cohort
from support import one_patient, random_cohort, replaced, small_plan, small_schema, write_cells

N = 40


@dataclass
class Handed:
    """A mechanism that remembers what it was given. Its answers are the same whoever the patients
    are, as a later pass may depend on them."""

    calls: list[tuple[list[int], float, float, float]] = field(default_factory=list)

    def add(self, sums: np.ndarray, *, sigma: float, sensitivity: float, rho: float) -> np.ndarray:
        rng = np.random.default_rng(len(self.calls))
        self.calls.append((sums.tolist(), sigma, sensitivity, rho))
        return np.rint(sigma * rng.standard_normal(len(sums))).astype(np.int64)


LARGE = {"group": 1, "event": 1, "site": 2}
LOW, HIGH = one_patient([20.0, 0, 0], gaps=0.0, **LARGE), one_patient([220.0, 4, 1], gaps=48.0)
NEIGHBOURS = [
    (HIGH, LOW),
    (one_patient([220.0, 4, 1], gaps=48.0, **LARGE), LOW),
    (one_patient(np.nan, gaps=np.inf), one_patient([220.0, 4, 1], gaps=48.0, **LARGE)),
    (one_patient(1e308, gaps=-np.inf, site=7), one_patient(observed=False, length=0, group=-3)),
]


METHODS = [
    *((method, "separate") for method in ("trust", "dp-score", "dp-markov", "copula-score")),
    ("trust", "joint"),
]


def handed(cohort: Cohort, plan: Plan) -> Handed:
    source = Handed()
    fit(cohort, plan, noise=source)
    return source


@pytest.mark.parametrize(("method", "release"), METHODS)
def test_what_a_fit_hands_to_the_mechanism_moves_by_no_more_than_it_says(
    method: str, release: str
) -> None:
    """The last step before the noise, lift included: its Δ, its σ and its ρ fit each other."""
    plan = small_plan(N, small_schema(release=release), method=method)
    base = random_cohort(N, seed=8)
    furthest = 0.0
    for x, y in NEIGHBOURS:
        seen = [handed(replaced(base, 11, patient), plan) for patient in (x, y)]
        for entry, (one, *scales), (other, *same) in zip(
            plan.ledger.entries, seen[0].calls, seen[1].calls, strict=True
        ):
            sigma, sensitivity, rho = map(Fraction, scales)
            moved = sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
            assert scales == same
            assert moved <= sensitivity**2, entry.statistic.name
            assert moved <= 2 * rho * sigma**2, entry.statistic.name
            assert entry.rho is not None
            assert rho <= entry.rho
            furthest = max(furthest, float(moved / sensitivity**2) ** 0.5)
    assert furthest > 0.95, "neighbours that stay far from every bound show nothing"


@pytest.mark.parametrize(("method", "release"), METHODS)
def test_a_patient_moves_what_a_fit_hands_to_the_mechanism_alike_whoever_the_others_are(
    method: str, release: str
) -> None:
    """In every pass: what a row is made with, releases apart, can come from no other patient."""
    plan = small_plan(N, small_schema(release=release), method=method)
    others = random_cohort(N, seed=8), random_cohort(N, seed=9).take(np.arange(N)[::-1])
    for x, y in NEIGHBOURS:
        moved = []
        for place, base in zip((11, N - 1), others, strict=True):
            one, other = (handed(replaced(base, place, patient), plan).calls for patient in (x, y))
            moved.append([np.subtract(a[0], b[0]) for a, b in zip(one, other, strict=True)])
        for entry, here, there in zip(plan.ledger.entries, *moved, strict=True):
            assert np.array_equal(here, there), entry.statistic.name


ROWS = ['"1",0,80,1,0', "1,6,90,2,1", "2,2,70,0,0", "2,9,75,1,1", "4,1,66,3,0", "5,3,110,4,1"]
OWN = {  # what patient 3, between the others, may hold
    "nothing": [],
    "one row": ["3,4,120,2,1"],
    "the same times as the others": ["3,0,1,1,1", "3,6,1,1,1", "3,2,1,1,1", "3,9,1,1,1"],
    "far too many rows": [f"3,{t},220,4,1" for t in range(500)],
    "wild times": ["3,1e300,1,1,1", "3,-1e300,1,1,1", "3,inf,1,1,1", "3,nan,1,1,1"],
    "wild values": ["3,4,1e999,-inf,x"],
    "late": ["3,1000000,20,0,0"],
}


def records(folder: Path, own: list[str], label: str) -> list[dict[str, object]]:
    """The record of each patient as read from files in which patient 3 has these rows."""
    people = [f"{i},{i % 2},0,{'ABC'[i % 3]}" if i != 3 else f"3,{label}" for i in range(1, 6)]
    header = "patient_id,time,pulse,dose,oxygen"
    write_cells(folder, small_schema(), header, [*ROWS[:4], *own, *ROWS[4:]], people)
    cohort = read_cohort(folder)[1]
    return [
        {name: repr(getattr(cohort, name)[i].tolist()) for name in Cohort.__slots__}
        for i in range(cohort.patients)
    ]


def test_other_rows_of_a_patient_in_the_files_change_that_patients_record_alone(
    tmp_path: Path,
) -> None:
    expected = records(tmp_path / "base", ["3,4,81,1,0"], "1,1,C")
    for name, own in OWN.items():
        label = "?,9,nowhere" if len(own) > 3 else "0,0,A"
        found = records(tmp_path / name, own, label)
        assert len(found) == len(expected), name
        for i in (0, 1, 3, 4):
            assert found[i] == expected[i], f"{name} of patient 3 reached patient {i + 1}"
