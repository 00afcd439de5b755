"""Lengths, static columns, nominal variables and odd cohorts, in every method."""

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from longsynth import fit, model_of, plan, sample
from longsynth.bundle import Bundle
from longsynth.encoding.record import in_use
from longsynth.fit import fit_without_privacy
from longsynth.methods.method import OpenMethod
from longsynth.methods.registry import METHODS
from longsynth.privacy.noise import NoiseSource
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Synthetic
from longsynth.schema.schema import Schema
from support import NoNoise
from ward import BLOOD, DOSE, MISSING, NAMES, RHYTHM, SLOTS, STATIC, ward_cohort, ward_schema

PATIENTS = 4000
FREE = {"least_observations": 0}
GAUSSIAN = ("trust", "dp-score", "scorediff", "temporal-pca")


def fitted(
    name: str,
    cohort: Cohort,
    schema: Schema,
    *,
    noise: NoiseSource | None = None,
    epsilon: float = 8,
) -> Bundle:
    if isinstance(METHODS[name], OpenMethod):
        return fit_without_privacy(cohort, schema, name)
    planned = plan(schema, cohort.patients, epsilon=epsilon, delta=1e-5, method=name)
    return fit(cohort, planned, noise=noise)


@cache
def learnt(name: str, least: int = 0, events: float = 0.25) -> Synthetic:
    """What a method makes of the ward without noise."""
    schema = ward_schema(constants={"least_observations": least})
    cohort = ward_cohort(PATIENTS, 1, events=events)
    return sample(model_of(fitted(name, cohort, schema, noise=NoNoise())), 10_000, seed=1)


def by_event(drawn: Synthetic) -> Iterator[tuple[int, np.ndarray]]:
    for event in (0, 1):
        yield event, drawn.event == event


def share(drawn: Synthetic, values: np.ndarray, chosen: np.ndarray) -> float:
    weight = np.broadcast_to(drawn.weight.reshape(-1, *(1,) * (values.ndim - 1)), values.shape)
    return float((weight * values)[chosen].sum() / weight[chosen].sum())


def stays_in_the_schema(drawn: Synthetic, schema: Schema) -> None:
    static = np.array(schema.layout.static)
    slots = np.arange(schema.slots)
    used = np.where(static, (slots == 0)[:, None], (slots < drawn.length[:, None])[:, :, None])
    assert not drawn.observed[~used].any(), "padding is never observed"
    assert set(drawn.length.tolist()) <= set(range(schema.slots + 1))
    assert np.isfinite(drawn.gaps).all()
    assert (drawn.gaps >= 0).all()
    assert np.isfinite(drawn.weight).all()
    for v, variable in enumerate(schema.variables):
        seen = drawn.values[:, :, v][drawn.observed[:, :, v]]
        assert ((seen >= variable.bounds[0]) & (seen <= variable.bounds[1])).all(), variable.name
        if variable.kind != "continuous":
            assert (seen % 1 == 0).all(), variable.name
    assert ((drawn.site >= 0) & (drawn.site < len(schema.sites))).all()
    assert np.isin(drawn.group, (0, 1)).all()
    assert np.isin(drawn.event, (0, 1)).all()


@pytest.mark.parametrize("name", METHODS)
def test_padding_is_never_missingness(name: str) -> None:
    """Patients with the event have two slots at most, the others three to six: of the cells that
    they have, both miss one in five."""
    drawn, cohort = learnt(name), ward_cohort(PATIENTS, 1, events=0.25)
    for event, chosen in by_event(drawn):
        for v, variable in enumerate(NAMES):
            found = missing_share(drawn, v, chosen)
            real = missing_share(as_drawn(cohort), v, cohort.event == event)
            assert real == pytest.approx(MISSING, abs=0.035), (event, variable)
            assert found == pytest.approx(real, abs=0.03), (event, variable)


def missing_share(drawn: Synthetic, v: int, chosen: np.ndarray) -> float:
    """Of the cells that these patients have of a variable."""
    slots = np.arange(SLOTS) < drawn.length[:, None]
    first = np.broadcast_to(np.arange(SLOTS) == 0, slots.shape)
    cells = first if STATIC[v] else slots
    return share(drawn, ~drawn.observed[:, :, v], cells & chosen[:, None])


def as_drawn(cohort: Cohort) -> Synthetic:
    """A cohort as patients of weight one."""
    facts = {field.name: getattr(cohort, field.name) for field in fields(Cohort)}
    return Synthetic(**facts, weight=np.ones(cohort.patients), fingerprint="")


@pytest.mark.parametrize("name", METHODS)
def test_missing_rates_stay_right_in_slots_that_few_use(name: str) -> None:
    drawn = learnt(name)
    slots = np.arange(SLOTS) < drawn.length[:, None]
    for event, chosen in by_event(drawn):
        for slot in range(SLOTS):
            there = slots[:, slot] & chosen
            if there.sum() > 500:
                found = share(drawn, ~drawn.observed[:, slot][:, ~STATIC], there)
                assert found == pytest.approx(MISSING, abs=0.05), (event, slot)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("events", [0.25, 0.02])
def test_lengths_by_event_are_reproduced_even_of_a_rare_event(name: str, events: float) -> None:
    drawn = learnt(name, events=events)
    cohort = ward_cohort(PATIENTS, 1, events=events)
    for event, chosen in by_event(drawn):
        real = np.bincount(cohort.length[cohort.event == event], minlength=SLOTS + 1)
        made = np.bincount(drawn.length[chosen], drawn.weight[chosen], minlength=SLOTS + 1)
        apart = np.abs(real / real.sum() - made / made.sum()).sum() / 2
        assert apart < (0.05 if event == 0 or events > 0.1 else 0.12)


@pytest.mark.parametrize("name", METHODS)
def test_two_observations_of_a_variable_yield_to_the_length(name: str) -> None:
    drawn = learnt(name, least=2)
    if name == "bootstrap":  # which repeats what was recorded
        return
    number = drawn.observed[:, :, ~STATIC].sum(axis=1)
    assert (number >= np.minimum(drawn.length, 2)[:, None]).all()
    assert (drawn.observed[:, :, STATIC].sum(axis=1) < 1).any(), "nor does it touch what is static"


def test_no_observation_is_added_where_none_is_asked_for() -> None:
    number = learnt("trust", least=0).observed[:, :, ~STATIC].sum(axis=1)
    assert (number[learnt("trust").length >= 2] < 2).mean() > 0.05


@pytest.mark.parametrize("name", METHODS)
def test_static_and_nominal_columns_keep_their_levels_and_shares(name: str) -> None:
    """With noise, at a budget so large that it hardly shows."""
    schema, cohort = ward_schema(constants=FREE), ward_cohort(PATIENTS, 2)
    drawn = sample(model_of(fitted(name, cohort, schema, epsilon=100)), 10_000, seed=1)
    stays_in_the_schema(drawn, schema)
    close = 0.13 if name in GAUSSIAN else 0.04  # of total variation
    for variable, expected in (
        ("sex", (0.4, 0.6)),
        ("blood", BLOOD),
        ("rhythm", RHYTHM),
        *((("dose", DOSE),) if name not in GAUSSIAN else ()),  # rounded from a normal curve
    ):
        v = NAMES.index(variable)
        seen, values = drawn.observed[:, :, v], drawn.values[:, :, v]
        made = [share(drawn, values == level, seen) for level in range(len(expected))]
        assert np.abs(np.subtract(made, expected)).sum() / 2 < close, variable


@pytest.mark.parametrize("name", METHODS)
def test_a_static_number_goes_with_the_event_and_counts_for_patients_without_a_row(
    name: str,
) -> None:
    """Two thirds of the patients with the event have no slot, and their age is what tells them."""
    drawn = learnt(name)
    age, seen = drawn.values[:, 0, 0], drawn.observed[:, 0, 0]
    assert (seen & (drawn.length == 0)).sum() > 100
    means = [share(drawn, age, seen & chosen) for _, chosen in by_event(drawn)]
    assert means[0] == pytest.approx(55, abs=2)  # drawn to the midpoint, 59, where missing
    assert means[1] == pytest.approx(70, abs=4)


@pytest.mark.parametrize("name", METHODS)
def test_static_values_of_patients_without_rows_are_learnt(name: str) -> None:
    cohort = ward_cohort(300, 3)
    cohort.observed[:, :, ~STATIC] = False
    cohort = replace(cohort, length=np.zeros(300, np.int64))
    cohort.values[:, 0, 0], cohort.observed[:, 0, 0] = 80.0, True
    schema = ward_schema(constants=FREE)
    drawn = sample(model_of(fitted(name, cohort, schema, noise=NoNoise())), 2000, seed=1)
    assert (drawn.length == 0).all()
    assert not drawn.observed[:, :, ~STATIC].any()
    age = drawn.values[:, 0, 0][drawn.observed[:, 0, 0]]
    within = 4 if name == "dp-markov" else 1.5  # half a bin, in which values are even
    assert age.mean() == pytest.approx(80, abs=within)


def test_cells_in_use_are_those_up_to_the_length_and_what_is_static() -> None:
    used = in_use(ward_cohort(50, 4), ward_schema())
    length = ward_cohort(50, 4).length
    assert (used[:, :, STATIC].sum(axis=1) == 1).all()
    assert (used[:, :, ~STATIC].sum(axis=1) == length[:, None]).all()


SITES = {"one site": ["all"], "two sites": ["A", "B"], "thirty sites": [f"s{i}" for i in range(30)]}


def odd(what: str, patients: int = 80) -> tuple[Cohort, Schema]:
    cohort, schema = ward_cohort(patients, 5), ward_schema()
    match what:
        case "one site" | "two sites" | "thirty sites":
            schema = ward_schema(site={"column": "site", "levels": SITES[what]})
            cohort.site[:] = np.arange(patients) % len(SITES[what])
        case "a site nobody has":
            cohort.site[cohort.site == 1] = 0
        case "one group":
            cohort.group[:] = 1
        case "no event":
            cohort.event[:] = 0
        case "nothing but events":
            cohort.event[:] = 1
        case "nobody has a row":
            cohort.observed[:, :, ~STATIC] = False
            cohort.length[:] = 0
        case "nothing is known":
            cohort.observed[:] = False
            cohort.length[:] = 0
        case "all slots":
            schema = ward_schema(length="full")
        case "one slot":
            schema = ward_schema(slots=1)
            arrays = {n: getattr(cohort, n)[:, :1] for n in ("values", "observed", "gaps")}
            cohort = replace(cohort, **arrays, length=np.minimum(cohort.length, 1))
        case "many slots":
            schema, after = ward_schema(slots=40), 40 - SLOTS
            grown = {
                name: np.pad(array, [(0, 0), (0, after), (0, 0)][: array.ndim])
                for name, array in (
                    ("values", cohort.values),
                    ("observed", cohort.observed),
                    ("gaps", cohort.gaps),
                )
            }
            cohort = replace(cohort, **grown)
        case "a level nobody has":
            cohort.values[:, :, 2] = np.where(
                cohort.values[:, :, 2] == 2, 0, cohort.values[:, :, 2]
            )
        case "one patient":
            cohort = cohort.take(slice(0, 1))
    return cohort, schema


ODD = [
    *SITES,
    "a site nobody has",
    "one group",
    "no event",
    "nothing but events",
    "nobody has a row",
    "nothing is known",
    "all slots",
    "one slot",
    "many slots",
    "a level nobody has",
    "one patient",
]


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("name", METHODS)
def test_any_cohort_can_be_fitted_and_what_is_drawn_stays_in_its_schema(
    name: str, what: str
) -> None:
    cohort, schema = odd(what)
    bundle = fitted(name, cohort, schema)
    drawn = sample(model_of(bundle), 400, seed=1)
    assert drawn.patients == 400
    stays_in_the_schema(drawn, schema)


@pytest.mark.parametrize("name", METHODS)
def test_a_site_that_nobody_has_can_be_asked_for(name: str) -> None:
    cohort, schema = odd("a site nobody has")
    for where in ({"site": "B"}, {"site": "B", "event": "1"}):
        drawn = sample(model_of(fitted(name, cohort, schema)), 50, seed=1, where=where)
        assert (drawn.site == 1).all()
        assert np.isfinite(drawn.weight).all()
        stays_in_the_schema(drawn, schema)
        if "event" in where:
            assert (drawn.event == 1).all()


def test_a_copied_record_of_an_absent_site_has_the_event_that_was_asked_for() -> None:
    """Records of an event are short in the ward: a copy of another would show by its length."""
    cohort, schema = odd("a site nobody has")
    model = model_of(fitted("bootstrap", cohort, schema))
    drawn = sample(model, 200, seed=1, where={"site": "B", "event": "1"})
    assert drawn.length.max() <= 2
