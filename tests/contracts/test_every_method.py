"""What every registered method must do, with any schema, a third party's included."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longsynth import Refused, fit, model_of, plan, sample, simulate, simulated_schema
from longsynth.bundle import Bundle
from longsynth.fit import fit_without_privacy
from longsynth.methods.method import OpenMethod, PrivateMethod
from longsynth.methods.registry import METHODS, all_methods
from longsynth.plan import plan_of
from longsynth.privacy.budget import Budget
from longsynth.privacy.sums import add_up
from longsynth.reading.records import Cohort
from longsynth.release.folder import Release, release_files
from longsynth.schema.schema import Schema
from longsynth_lab.markov import SMOOTHED, MarkovVariant
from support import (
    NoNoise,
    early_rows,
    one_patient,
    random_cohort,
    replaced,
    small_schema,
)

PACKAGE = """
from longsynth.methods import OpenMethod
from longsynth.methods.scorediff import ScoreDiff


class Neighbour(OpenMethod):
    name, summary = "neighbour", "an example from outside"

    def learn(self, cohort, schema):
        return ScoreDiff().learn(cohort, schema)

    def model(self, bundle):
        return ScoreDiff().model(bundle)
"""


def install(folder: Path, name: str) -> None:
    """A third party's package on the path, with an entry point as pip would leave it."""
    (folder / "neighbour.py").write_text(PACKAGE)
    about = folder / "neighbour-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: neighbour\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[longsynth.methods]\n{name} = neighbour:Neighbour\n")


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "neighbour")
    monkeypatch.syspath_prepend(tmp_path)


NAMES = [*METHODS, "neighbour"]
PRIVATE = [name for name, method in METHODS.items() if isinstance(method, PrivateMethod)]


def odd_schemas() -> dict[str, Schema]:
    base = small_schema().model_dump()
    pulse, dose, oxygen = base["variables"]
    return {
        "three sites": small_schema(),
        "one site": Schema.model_validate(base | {"site": None}),
        "one variable": Schema.model_validate(base | {"variables": [pulse]}),
        "one slot": Schema.model_validate(base | {"slots": 1}),
        "no number": Schema.model_validate(base | {"variables": [dose, oxygen]}),
        "point masses": Schema.model_validate(
            base | {"variables": [pulse | {"point_masses": [60, 80]}, dose, oxygen]}
        ),
        "logarithm": Schema.model_validate(
            base | {"variables": [pulse | {"transform": "log"}, dose]}
        ),
    }


def cohort_for(schema: Schema, patients: int = 60) -> Cohort:
    base = random_cohort(patients, seed=4)
    slots, variables = schema.slots, len(schema.variables)
    return Cohort(
        base.values[:, :slots, :variables],
        base.observed[:, :slots, :variables],
        base.gaps[:, :slots],
        np.minimum(base.length, slots),
        base.group,
        base.event,
        base.site % len(schema.sites),
    )


def fitted(name: str, cohort: Cohort, schema: Schema, **more: Any) -> Bundle:
    if isinstance(all_methods()[name], OpenMethod):
        return fit_without_privacy(cohort, schema, name)
    planned = plan(schema, cohort.patients, epsilon=8, delta=1e-5, method=name)
    return fit(cohort, planned, **more)


@pytest.mark.parametrize("kind", odd_schemas())
@pytest.mark.parametrize("name", NAMES)
def test_a_method_works_with_any_schema(name: str, kind: str) -> None:
    schema = odd_schemas()[kind]
    cohort = cohort_for(schema)
    drawn = sample(model_of(fitted(name, cohort, schema)), 500, seed=1)
    assert drawn.values.shape == (500, schema.slots, len(schema.variables))
    assert np.isfinite(drawn.values[drawn.observed]).all()
    assert np.isfinite(drawn.gaps).all()
    assert (drawn.gaps >= 0).all()
    assert np.isfinite(drawn.weight).all()
    for v, variable in enumerate(schema.variables):
        seen = drawn.values[:, :, v][drawn.observed[:, :, v]]
        if name not in ("bootstrap", "independent"):  # which repeat what was recorded
            assert ((seen >= variable.bounds[0]) & (seen <= variable.bounds[1])).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", ["no rows", "no events", "everything missing", "poison"])
def test_a_method_survives_any_cohort(name: str, what: str) -> None:
    cohort = cohort_for(small_schema())
    match what:
        case "no rows":
            cohort.length[:] = 0
        case "no events":
            cohort.event[:] = 0
        case "everything missing":
            cohort.observed[:] = False
        case "poison":
            cohort.values[:] = np.nan
            cohort.gaps[:] = np.inf
    drawn = sample(model_of(fitted(name, cohort, small_schema())), 200, seed=1)
    assert np.isfinite(drawn.gaps).all()
    assert np.isfinite(drawn.values[drawn.observed]).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_guarantee_is_a_release_and_no_guarantee_is_none(name: str) -> None:
    bundle = fitted(name, cohort_for(small_schema()), small_schema())
    if name in PRIVATE:
        assert bundle.ledger.private
        assert (
            bundle.ledger.spent
            == plan(small_schema(), 60, epsilon=8, delta=1e-5, method=name).ledger.spent
        )
        assert release_files(Release(bundle))
    else:
        assert bundle.ledger.noise == "NOT PRIVATE"
        with pytest.raises(Refused, match="NOT PRIVATE"):
            release_files(Release(bundle))
        with pytest.raises(Refused, match="no budget to plan"):
            plan(small_schema(), 60, epsilon=8, delta=1e-5, method=name)


@pytest.mark.parametrize("name", PRIVATE)
def test_replacing_a_patient_moves_each_statistic_by_at_most_its_sensitivity(name: str) -> None:
    schema = small_schema().resolved(60)
    method = METHODS[name]
    assert isinstance(method, PrivateMethod)
    cohort = cohort_for(schema)
    others = [
        one_patient(np.nan, gaps=np.nan),
        one_patient(1e308, gaps=1e308, group=1, event=1, site=2),
        one_patient(-np.inf, gaps=-5, length=0),
        one_patient([[20, 0, 0], [220, 4, 1]] * 2, gaps=48, group=1, event=1, site=2),
        one_patient([[220, 4, 1], [20, 0, 0]] * 2, gaps=0, event=1),
    ]
    for stage in method.stages(schema):
        for other in others:
            for i in (0, 31):
                with np.errstate(all="ignore"):
                    before = early_rows(method, cohort, schema, stage)
                    exchanged = replaced(cohort, i, other)
                    after = early_rows(method, exchanged, schema, stage)
                for line in stage:
                    statistic, name_ = line.statistic, line.name
                    a = add_up(statistic, before[name_]).total.tolist()
                    b = add_up(statistic, after[name_]).total.tolist()
                    distance = sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
                    assert distance <= statistic.row_sensitivity_squared, name_


@pytest.mark.parametrize("name", PRIVATE)
def test_rows_reach_the_sums_unclipped_by_the_core(name: str) -> None:
    """The core zeroes a row that breaks its promise; the encoder must never need that."""
    schema = small_schema().resolved(60)
    method, cohort = METHODS[name], cohort_for(schema)
    assert isinstance(method, PrivateMethod)
    for stage in method.stages(schema):
        parts = early_rows(method, cohort, schema, stage)
        for statistic in (line.statistic for line in stage):
            rows = parts[statistic.name].right
            if statistic.kind == "count":
                blocks = rows.reshape(len(rows), statistic.blocks, -1).sum(axis=2)
                assert (rows >= 0).all()
                assert (blocks <= statistic.grid).all()
            else:
                assert ((rows**2).sum(axis=1) <= statistic.right_squared).all()
                assert (np.abs(rows) <= statistic.box).all()


@pytest.mark.parametrize("name", PRIVATE)
def test_every_line_says_what_its_noise_means(name: str) -> None:
    planned = plan(simulated_schema(), 503, epsilon=12, delta=1e-5, method=name)
    for line, entry in zip(
        planned.method.lines(planned.schema).values(), planned.ledger.entries, strict=True
    ):
        assert line.noise_meaning(entry, 503).startswith("±")


@pytest.mark.parametrize("name", PRIVATE)
def test_without_noise_a_private_method_learns_prevalence_and_missingness(name: str) -> None:
    cohort = simulate(3000, seed=102)
    planned = plan(simulated_schema(), 3000, epsilon=8, delta=1e-5, method=name)
    drawn = sample(model_of(fit(cohort, planned, noise=NoNoise())), 20_000, seed=1)
    prevalence = (drawn.event * drawn.weight).mean()
    assert prevalence == pytest.approx(cohort.event.mean(), abs=0.01)
    assert 1 - drawn.observed.mean() == pytest.approx(1 - cohort.observed.mean(), abs=0.02)


def test_a_bootstrap_repeats_whole_records() -> None:
    cohort = simulate(50, seed=101)
    bundle = fit_without_privacy(cohort, simulated_schema(), "bootstrap")
    drawn = sample(model_of(bundle), 80, seed=1)
    records = {r.tobytes() for r in np.where(cohort.observed, cohort.values, 0.0)}
    for record in np.where(drawn.observed, drawn.values, 0.0):
        assert record.tobytes() in records


def alternated(method: MarkovVariant, cohort: Cohort, schema: Schema) -> np.ndarray:
    """Values that a rule other than the registered one makes of a cohort, without noise."""
    budget = Budget(8.0, 1e-5)
    planned = plan_of(method, schema, cohort.patients, budget)
    bundle = fit(cohort, planned, noise=NoNoise())
    return sample(method.model(bundle), 300, seed=1).values


def test_markov_chains_keep_what_follows_what() -> None:
    """Alternating records give alternating synthetic courses."""
    schema = small_schema()
    high_low = np.array([[220.0, 4, 1], [20.0, 0, 0]] * 2)
    parts = [one_patient(high_low, event=i % 2) for i in range(40)]
    cohort = Cohort.joined(parts)
    planned = plan(schema, 40, epsilon=8, delta=1e-5, method="dp-markov")
    exact = sample(model_of(fit(cohort, planned, noise=NoNoise())), 300, seed=1).values
    assert (exact[:, ::2, 2] == 1).all()
    assert (exact[:, 1::2, 2] == 0).all()
    assert (exact[:, ::2, 0] > exact[:, 1::2, 0]).all()
    assert (exact[:, ::2, 1] == 4).all()
    assert (exact[:, 1::2, 1] == 0).all()
    smoothed = alternated(MarkovVariant(SMOOTHED), cohort, schema)
    assert set(np.unique(smoothed[:, :, 1])) == {0, 4}
    for v in range(3):  # where a course starts is not kept, only that it turns: by chance, in half
        high = smoothed[:, :, v] > smoothed[:, :, v].mean()
        assert (high[:, 1:] != high[:, :-1]).mean() > 0.75


@pytest.mark.parametrize("encoding", ["bounds", "reference"])
@pytest.mark.parametrize("level", [0, 1, 2, 3, 4])
def test_markov_chains_draw_the_level_that_was_recorded(level: int, encoding: str) -> None:
    schema = small_schema(encoding=encoding)
    cohort = Cohort.joined([one_patient([80.0, level, 0]) for _ in range(40)])
    planned = plan(schema, 40, epsilon=8, delta=1e-5, method="dp-markov")
    drawn = sample(model_of(fit(cohort, planned, noise=NoNoise())), 300, seed=1)
    assert (drawn.values[:, :, 1] == level).all()


def test_markov_chains_refuse_more_levels_than_their_tables_can_hold() -> None:
    base = small_schema().model_dump()
    many = base["variables"][1] | {"bounds": [0, 900]}
    schema = Schema.model_validate(base | {"variables": [many]})
    with pytest.raises(Refused, match="continuous"):
        plan(schema, 40, epsilon=8, delta=1e-5, method="dp-markov")


def test_ours_cannot_be_replaced_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    install(other, "trust")
    monkeypatch.syspath_prepend(other)
    assert all_methods()["trust"] is METHODS["trust"]
    assert "neighbour" not in METHODS


def test_a_model_is_rebuilt_in_one_thread_though_scipy_is_loaded_on_the_way() -> None:
    """A second thread would change its last bits with the number of cores, and only wait."""
    asked = """if True:
        from threadpoolctl import threadpool_info
        from longsynth.bundle import Bundle
        from longsynth.methods import registry

        class Method:
            def model(self, bundle):
                import scipy.linalg
                found = [i for i in threadpool_info() if i["user_api"] == "blas"]
                print(len(found), {i["num_threads"] for i in found})

        registry.METHODS["asked"] = Method()
        registry.model_of(Bundle("asked", None, None, {}))
    """
    free = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, env=free)
    number, threads = done.stdout.split(maxsplit=1)
    assert int(number) >= 1, done.stderr
    assert threads.strip() == "{1}"
