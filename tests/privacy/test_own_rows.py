"""A row is its own patient's: a fit makes rows of a few patients again in other company, and
refuses a method that gives other ones."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from longsynth import Refused, fit
from longsynth import engines as kernel
from longsynth.engines import batch_sums
from longsynth.methods.method import PrivateMethod, contributions
from longsynth.methods.registry import METHODS
from longsynth.plan import Plan, plan_of
from longsynth.privacy.budget import Budget
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.schema.schema import Schema
from longsynth.system.errors import DependentRows
from longsynth_lab.paper.section_v import AS_PRINTED
from support import SLOTS, NoNoise, earlier, random_cohort, rows_of, small_schema
from third_party import Honest, Repeats, repeated

PRIVATE = [name for name, method in METHODS.items() if isinstance(method, PrivateMethod)]
Rows = Mapping[str, Contribution]


def unlike(patients: int, seed: int) -> Cohort:
    """Patients of whom no two are alike, as two empty records are."""
    cohort = random_cohort(patients, seed)
    cohort.length[:], cohort.observed[:] = SLOTS, True
    return cohort


def planned(method: PrivateMethod, patients: int) -> Plan:
    return plan_of(method, small_schema(), patients, Budget(8.0, 1e-5))


def test_a_method_that_repeats_one_patient_for_everybody_is_refused() -> None:
    drawn: list[int] = []

    class Watched(NoNoise):
        def add(self, sums: np.ndarray, **more: float) -> np.ndarray:
            drawn.append(len(sums))
            return super().add(sums, **more)

    for seed in range(5):
        with pytest.raises(DependentRows, match="its own patient"):
            fit(unlike(60, seed), planned(Repeats(), 60), noise=Watched())
    assert not drawn


def test_the_same_method_without_the_mistake_is_fitted() -> None:
    bundle = fit(random_cohort(60, 1), planned(Honest(), 60))
    assert bundle.ledger.private


def changed(rows: Rows, change: Callable[[np.ndarray], np.ndarray]) -> Rows:
    return {
        name: Contribution(*(change(side) if side.size else side for side in found))
        for name, found in rows.items()
    }


class Departs:
    """Makes rows as an honest method does, and then lets other patients into them."""

    def __init__(self, how: str) -> None:
        self.how, self.calls = how, 0

    def __call__(self, batch: Cohort) -> Rows:
        schema = small_schema().resolved(60)
        (stage,) = Honest().stages(schema)
        honest = partial(contributions, stage, Honest().encoder(schema, None))  # type: ignore[arg-type]
        self.calls += 1
        match self.how:
            case "the input is overwritten":
                batch.values[:], batch.observed[:] = batch.values[:1], batch.observed[:1]
                batch.gaps[:], batch.length[:] = batch.gaps[:1], batch.length[:1]
                return honest(batch)
            case "the last patient":
                return changed(honest(batch), lambda side: np.repeat(side[-1:], len(side), axis=0))
            case "the largest patient":
                largest = int(np.nansum(np.abs(batch.values), axis=(1, 2)).argmax())
                return changed(honest(batch), lambda side: np.repeat(side[[largest]], len(side), 0))
            case "the neighbour":
                return changed(honest(batch), lambda side: np.roll(side, 1, axis=0))
            case "the neighbour, on the left":
                rows = honest(batch)
                return {
                    n: Contribution(f.right, np.roll(f.left, 1, axis=0)) for n, f in rows.items()
                }
            case "the mean of the batch":
                middle = replace(batch, gaps=batch.gaps - np.nanmean(batch.gaps))
                return honest(middle)
            case "only among many":
                rows = honest(batch)
                return {n: repeated(f) for n, f in rows.items()} if batch.patients > 9 else rows
            case "one more at each call":
                return changed(honest(batch), lambda side: np.minimum(side, self.calls % 2))
        raise ValueError(self.how)


DEPARTURES = (
    "the input is overwritten",
    "the last patient",
    "the largest patient",
    "the neighbour",
    "the neighbour, on the left",
    "the mean of the batch",
    "only among many",
    "one more at each call",
)


def added_up(batch: Cohort, rows: kernel.Contributions, number: int = 0) -> None:
    (stage,) = Honest().stages(small_schema().resolved(60))
    batch_sums(batch, [line.statistic for line in stage], rows, number)


@pytest.mark.parametrize("how", DEPARTURES)
def test_however_other_patients_get_into_rows_it_is_refused(how: str) -> None:
    for seed in range(10):
        with pytest.raises(DependentRows):
            added_up(unlike(60, seed), Departs(how))


@pytest.mark.parametrize("patients", [2, 3, 8])
def test_whichever_patient_is_chosen_a_repeated_one_is_found(patients: int) -> None:
    """Among two the repeated one is chosen to stand alone half of the time."""
    for how in ("the last patient", "the largest patient"):
        for seed in range(40):
            with pytest.raises(DependentRows):
                added_up(unlike(patients, seed), Departs(how))


def test_later_batches_are_checked_as_well_now_and_then() -> None:
    """One in eight: of 300 none would be with a chance of 10⁻¹⁷, and all with none to speak of."""
    refused = 0
    for seed in range(300):
        try:
            added_up(unlike(4, seed), Departs("the last patient"), number=1)
        except DependentRows:
            refused += 1
    assert 1 <= refused < 150


def test_a_batch_is_checked_in_any_of_the_parts_it_is_added_up_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "together", lambda patients, statistics: 20)
    seen: set[int] = set()
    for _ in range(60):
        method, calls = Departs("the last patient"), 0
        try:
            added_up(unlike(60, 1), method)
        except DependentRows:
            calls = method.calls
        seen.add(calls)
    assert seen <= {2, 3, 4, 5}  # of three parts one, and one or two more calls
    assert len(seen) > 2


def test_a_method_may_use_its_memory_again() -> None:
    schema = small_schema().resolved(60)
    (stage,) = Honest().stages(schema)
    memory: dict[tuple[str, int, int], np.ndarray] = {}

    def thrifty(batch: Cohort) -> Rows:
        found = {}
        for name, rows in rows_of(Honest(), batch, schema, stage, None).items():  # type: ignore[arg-type]
            sides = []
            for i, side in enumerate(rows):
                kept = memory.setdefault((name, i, side.shape[1]), np.zeros((60, 99), side.dtype))
                kept[: len(side), : side.shape[1]] = side
                sides.append(kept[: len(side), : side.shape[1]])
            found[name] = Contribution(*sides)
        return found

    for seed in range(5):
        added_up(random_cohort(60, seed), thrifty)


def hostile(cohort: Cohort, rng: np.random.Generator) -> Cohort:
    """Cells that no careful program would expect, in every tenth place."""
    wild = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, 2.0**53, 1e-300]
    values, gaps = cohort.values.copy(), cohort.gaps.copy()
    for array in (values, gaps):
        chosen = rng.random(array.shape) < 0.1
        array[chosen] = rng.choice(wild, chosen.sum())
    labels = {name: rng.integers(-3, 5, cohort.patients) for name in ("group", "event", "site")}
    return replace(cohort, values=values, gaps=gaps, **labels)


def schemas() -> dict[str, Schema]:
    base = small_schema().model_dump()
    pulse, dose, oxygen = base["variables"]
    logarithm = [pulse | {"transform": "log"}, dose, oxygen]
    return {
        "bounds": small_schema(bandwidth=1),
        "reference": small_schema(encoding="reference"),
        "full": Schema.model_validate(base | {"length": "full"}),
        "as printed": small_schema(**dict(AS_PRINTED)),
        "logarithm": Schema.model_validate(base | {"variables": logarithm}),
    }


@pytest.mark.parametrize("kind", schemas())
@pytest.mark.parametrize("name", PRIVATE)
def test_rows_of_ours_have_the_same_bits_in_any_company(name: str, kind: str) -> None:
    """So the check can never fire for them, whatever the records hold."""
    schema, method, rng = schemas()[kind].resolved(140), METHODS[name], np.random.default_rng(8)
    assert isinstance(method, PrivateMethod)
    cohort = hostile(random_cohort(140, seed=3), rng)
    for stage in method.stages(schema):
        so_far = earlier(method, schema, stage)
        rows = partial(contributions, stage, method.encoder(schema, so_far))
        with np.errstate(all="ignore"):
            whole = rows(cohort)
            for size in (1, 1, 2, 3, 7, 8, 16, 33, 64, 100, 139):
                chosen = rng.permutation(140)[:size]
                found = rows(cohort.take(chosen))
                for statistic in (line.statistic for line in stage):
                    sides = zip(whole[statistic.name], found[statistic.name], strict=True)
                    for one, other in list(sides)[: 2 if statistic.left else 1]:
                        assert np.array_equal(one[chosen], other), statistic.name


def test_the_refusal_names_a_remedy_and_nobody() -> None:
    said = str(DependentRows())
    assert isinstance(DependentRows(), Refused)
    assert "Use another method" in said
    assert not any(character.isdigit() for character in said)
