"""No representation shows a real value: notebooks, logs and tracebacks show them without asking."""

import dataclasses
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import longsynth
from leaks.planted import write_parquet
from leaks.sentinels import MARK, NUMBERS, WHOLE, found_in
from longsynth.audit.view import view
from longsynth.encoding.rows import Encoder
from longsynth.methods.registry import METHODS
from longsynth.release.synthesizer import SyntheticFrames

SHORT, LONG = 400, 3_000  # characters
SEVERAL = ("METHODS", "verify")  # lists: all methods, and one sentence per check
PRIVATE_SIDE = ("audit", "reading", "writing")  # and methods that learn without privacy
PUBLIC = {"Channels", "Refit", "Table"}  # hold no patient
LEARNS = ("methods.bootstrap", "methods.independent", "methods.copula_score.channels")


def shown(thing: object) -> Iterator[str]:
    yield repr(thing)
    yield str(thing)
    if hasattr(thing, "_repr_html_"):
        yield thing._repr_html_()


def assert_silent(thing: object) -> None:
    short = tuple(f"{x:.4g}".encode() for x in NUMBERS)  # as NumPy rounds them
    for text in shown(thing):
        assert not found_in(text) and not found_in(text, short), type(thing).__name__
        assert "array(" not in text and "[[" not in text, type(thing).__name__


@pytest.fixture(scope="module", params=["valid", "extreme"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parquet(tmp_path_factory.mktemp("planted") / "cohort", request.param)


def test_what_holds_patients_shows_sizes_only(folder: Path) -> None:
    schema, cohort = longsynth.read_cohort(folder)
    assert np.isin(cohort.values, NUMBERS).any(), "the sentinels are not there"
    assert_silent(cohort)
    assert f"{cohort.patients} patients" in repr(cohort)
    assert not hasattr(cohort, "_repr_html_")
    assert_silent(Encoder(schema.resolved(cohort.patients))(cohort))
    assert_silent(view(schema, cohort))
    with longsynth.CohortFolder(folder) as source:
        assert_silent(source)
        for batch in source._placed():
            for thing in (batch, batch.rows, batch.slots):
                assert_silent(thing)


@pytest.mark.parametrize("method", ["bootstrap", "independent", "scorediff"])
def test_what_learned_without_privacy_shows_no_number(folder: Path, method: str) -> None:
    schema, cohort = longsynth.read_cohort(folder)
    bundle = longsynth.fit_without_privacy(cohort, schema, method)
    model = longsynth.model_of(bundle)
    synthetic = longsynth.sample(model, 40, seed=1)
    for thing in (bundle, model, synthetic):
        assert_silent(thing)
        assert len(repr(thing)) < SHORT
    assert "NOT PRIVATE" in repr(bundle)


def test_frames_show_nothing_of_the_patients_that_were_fitted(folder: Path) -> None:
    tables = [pq.read_table(folder / f"{name}.parquet") for name in ("observations", "patients")]
    made = longsynth.Synthesizer(folder, epsilon=4, delta=1e-5, method="dp-score").fit(*tables)
    for thing in (made, made.release, made.plan(60), made.sample(9, seed=1)):
        assert_silent(thing)
        assert len(repr(thing)) < SHORT
    assert MARK not in made.report() and str(WHOLE[0])[:-2] not in made.report()


@pytest.mark.parametrize("method", sorted(METHODS))
def test_plans_bundles_and_models_are_short(method: str) -> None:
    schema, cohort = longsynth.simulated_schema(), longsynth.simulate(60, seed=1)
    try:
        plan = longsynth.plan(schema, 60, epsilon=4, delta=1e-5, method=method)
        bundle = longsynth.fit(cohort, plan)
        assert len(repr(plan)) < SHORT
    except longsynth.Refused:
        bundle = longsynth.fit_without_privacy(cohort, schema, method)
    for thing in (bundle, longsynth.model_of(bundle)):
        assert len(repr(thing)) < SHORT


def reachable(thing: object, depth: int = 6) -> Iterator[object]:
    """Everything of ours behind the public attributes of a thing."""
    if depth and isinstance(thing, dict | list | tuple):
        for part in thing.values() if isinstance(thing, dict) else thing:
            yield from reachable(part, depth - 1)
    if depth and type(thing).__module__.startswith("longsynth."):
        yield thing
        for name in () if isinstance(thing, longsynth.Schema) else dir(thing):
            kind = getattr(type(thing), name, None)
            if name.startswith("_") or callable(kind):
                continue
            with suppress(longsynth.Refused):  # a raw fact has no sensitivity
                yield from reachable(getattr(thing, name, None), depth - 1)


@pytest.mark.parametrize("method", ["bootstrap", "independent", "temporal-pca", "scorediff"])
def test_no_part_of_what_learned_without_privacy_shows_an_array(method: str) -> None:
    schema, cohort = longsynth.simulated_schema(), longsynth.simulate(60, seed=1)
    bundle = longsynth.fit_without_privacy(cohort, schema, method)
    parts = [*reachable(bundle), *reachable(longsynth.model_of(bundle))]
    assert {"Released", "Strata"} <= {type(part).__name__ for part in parts}
    for part in parts:
        assert "array(" not in repr(part), type(part).__name__


def public_things(folder: Path) -> dict[str, object]:
    """An object of every public class, and of every kind that a public function returns."""
    schema, cohort = longsynth.read_cohort(folder)
    tables = [pq.read_table(folder / f"{name}.parquet") for name in ("observations", "patients")]
    made = longsynth.Synthesizer(schema, epsilon=4, delta=1e-5, method="dp-score").fit(*tables)
    made.write_release(folder / "release")
    return {
        "Cohort": cohort,
        "CohortFolder": longsynth.CohortFolder(folder),
        "Schema": schema,
        "Schema.suggest": longsynth.Schema.suggest(*(table.column_names for table in tables)),
        "SparkCohort": object.__new__(longsynth.SparkCohort),
        "Synthesizer": made,
        "Synthesizer.sample": made.sample(9, seed=1),
        "Plan": made.plan(60),
        "Bundle": longsynth.load_release(folder / "release"),
        "model_of": longsynth.model_of(made.release),
        "Synthetic": longsynth.sample(longsynth.model_of(made.release), 9, seed=1),
        "read_frames": longsynth.read_frames(schema, *tables),
        "verify": longsynth.verify(folder / "release"),
        "METHODS": longsynth.METHODS,
    }


def test_every_public_class_shows_little_and_nothing_of_patients(folder: Path) -> None:
    things = public_things(folder)
    classes = {
        name
        for name in longsynth.__all__
        if isinstance(kind := getattr(longsynth, name), type) and not issubclass(kind, Exception)
    }
    assert classes <= set(things), "a public class without an example here"
    for name, thing in things.items():
        assert_silent(thing)
        assert len(repr(thing)) < (SHORT if name not in SEVERAL else LONG), name


def test_notebooks_show_a_plan_and_a_bundle_as_tables() -> None:
    schema, cohort = longsynth.simulated_schema(), longsynth.simulate(60, seed=1)
    plan = longsynth.plan(schema, 60, epsilon=4, delta=1e-5)
    for thing in (plan, longsynth.fit(cohort, plan)):
        html = thing._repr_html_()
        assert html.count("<tr>") == 1 + len(plan.ledger.entries)
        assert all(entry.statistic.name in html for entry in plan.ledger.entries)


def test_text_of_a_schema_is_escaped_in_a_notebook() -> None:
    frames = pa.table({"<b>": ["<script>"]})
    html = SyntheticFrames(frames, frames)._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html


def is_loud(kind: type) -> bool:
    """Whether its representation is the one that `dataclass` or `NamedTuple` makes."""
    made = kind.__repr__
    return hasattr(made, "__wrapped__") or made.__module__ == "collections"


def holders() -> Iterator[type]:
    """Every class on the private side that holds arrays."""
    for module in pkgutil.walk_packages(longsynth.__path__, "longsynth."):
        part = module.name.removeprefix("longsynth.")
        if not part.startswith(PRIVATE_SIDE) and part not in LEARNS:
            continue
        __import__(module.name)
        for kind in vars(sys.modules[module.name]).values():
            if not isinstance(kind, type) or kind.__module__ != module.name:
                continue
            kinds = " ".join(map(str, vars(kind).get("__annotations__", {}).values()))
            if any(word in kinds for word in ("ndarray", "pyarrow", "Cohort")):
                yield kind


def test_everything_on_the_private_side_that_holds_arrays_has_a_silent_representation() -> None:
    assert is_loud(dataclasses.make_dataclass("Loud", ["values"]))
    assert is_loud(NamedTuple("Loud", [("values", int)]))
    found = [k for k in holders() if dataclasses.is_dataclass(k) or hasattr(k, "_fields")]
    assert len(found) > 15
    assert {kind.__name__ for kind in found if is_loud(kind)} <= PUBLIC
