"""The hash that a form approves covers the whole schema; what someone chose is in plain sight."""

import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from longsynth import Bundle, Schema, fit, load_schema, plan, simulated_schema
from longsynth.govern.provenance import Provenance
from longsynth.release.folder import Release, release_files
from longsynth.release.form_check import _earlier_sha256, released_sha256, schema_sha256
from longsynth.release.statement import constants_by_hand, statement
from longsynth.release.verify import verify
from longsynth.schema.constants import SET_BY_RULE, Constants
from longsynth.schema.file import dump
from longsynth.schema.mapping import Codes, Dataset, Moment, Source
from longsynth.schema.schema import Labels, SlotRule
from longsynth.schema.variable import Variable
from longsynth_lab.paper.section_v import AS_PRINTED
from support import random_cohort, small_plan, small_schema

SECRET = 0.123456789  # of one patient, say


def full() -> Schema:
    """A schema in which every kind of section stands."""
    start = small_schema()
    first = start.variables[0].model_copy(update={"source": Source(pattern="x")})
    return start.model_copy(
        update={
            "slot_rule": SlotRule(anchors=("pulse",)),
            "protected": ({"group": "1", "event": "0", "site": "A"},),
            "variables": (first, *start.variables[1:]),
            "source": Dataset(start=Moment(pattern="y")),
        }
    )


def changed(value: Any) -> Any:
    """Another value, of whatever kind; nobody checks it."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
        case tuple():
            return (*value, "x")
        case dict():
            return value | {"x": "x"}
        case _:
            return "x"


def flips(model: BaseModel, place: str = "schema") -> Iterator[tuple[str, Any]]:
    """Yield every place in a schema, and the same schema with another value there."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        inner = value if isinstance(value, tuple) else (value,)
        for i, part in enumerate(inner):
            if isinstance(part, BaseModel):
                for where, other in flips(part, f"{place}.{name}"):
                    whole = (*inner[:i], other, *inner[i + 1 :])
                    update = {name: whole if isinstance(value, tuple) else other}
                    yield where, model.model_copy(update=update)
        if not any(isinstance(part, BaseModel) for part in inner):
            yield f"{place}.{name}", model.model_copy(update={name: changed(value)})


def test_a_change_of_any_field_changes_the_hash() -> None:
    before, seen = schema_sha256(full()), set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydantic's, about values of another kind
        for place, other in flips(full()):
            assert schema_sha256(other) != before, f"{place} is not in the hash"
            seen.add(place)
    sources = (Source, Dataset, Moment, Codes)
    models = (Schema, Variable, Labels, Constants, SlotRule, *sources)
    for name in set(chain.from_iterable(model.model_fields for model in models)):
        assert any(f".{name}" in place for place in seen), f"{name} was not tried"


@pytest.mark.parametrize("constant", Constants.model_fields)
def test_a_change_of_any_constant_changes_the_hash(constant: str) -> None:
    value = getattr(Constants(), constant)
    other = Constants().model_copy(update={constant: changed(value) if value is not None else 7})
    schema = small_schema()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert schema_sha256(schema.model_copy(update={"constants": other})) != schema_sha256(
            schema
        )


def test_comments_and_defaults_that_are_written_out_do_not_change_the_hash(tmp_path: Path) -> None:
    schema = simulated_schema()
    text = dump(schema) + "# a comment\n"
    (tmp_path / "schema.yaml").write_text(text)
    assert schema_sha256(load_schema(tmp_path / "schema.yaml")) == schema_sha256(schema)
    assert schema_sha256(small_schema(bandwidth=3)) == schema_sha256(small_schema())


def bundle_of(patients: int = 120, **constants: object) -> tuple[Schema, Bundle]:
    schema = small_schema(**constants)
    return schema, fit(random_cohort(patients, 1), small_plan(patients, schema))


WRITTEN: tuple[dict[str, object], ...] = (
    {},
    {"grid_bits": 12},
    {"grid_bits": 9, "bandwidth": 1},
    {"clip_radius": 2.0},
    {"clip_radius": 2.0, "eigen_cap": 4.0},
    {"eigen_cap": 0.5, "covariance": "diagonal"},
    {"strength": SECRET, "release": "joint"},
)


@pytest.mark.parametrize("constants", WRITTEN, ids=str)
def test_a_release_has_the_hash_of_the_schema_it_was_made_with(
    constants: dict[str, object],
) -> None:
    schema, bundle = bundle_of(**constants)
    hashes = released_sha256(bundle)
    assert schema_sha256(schema) in hashes
    assert len(hashes) <= 2 ** len(SET_BY_RULE)
    for other in WRITTEN:
        written = small_schema(**other)
        same = small_plan(120, written).schema == bundle.schema
        assert (schema_sha256(written) in hashes) == same


@pytest.mark.parametrize("constants", [{}, {"strength": SECRET}, {"grid_bits": 13}], ids=str)
def test_a_schema_copied_from_a_release_keeps_its_hash(constants: dict[str, object]) -> None:
    """All its constants are written out then."""
    _, first = bundle_of(**constants)
    copied = Schema.model_validate(first.schema.model_dump(mode="json"))
    again = fit(random_cohort(120, 1), small_plan(120, copied))
    assert schema_sha256(copied) in released_sha256(again)


def test_the_hash_of_the_earlier_kind_did_not_see_a_free_number() -> None:
    plain, loaded = small_schema(), small_schema(strength=SECRET)
    assert _earlier_sha256(plain) == _earlier_sha256(loaded)
    assert schema_sha256(plain) != schema_sha256(loaded)


def test_what_follows_from_the_rules_is_not_called_chosen() -> None:
    for patients in (1, 720, 20_000_000):
        for accounting in ("paper", "zcdp", "gaussian"):
            made = plan(simulated_schema(), patients, epsilon=2, delta=1e-9, accounting=accounting)
            assert made.by_hand == {}
    assert constants_by_hand(bundle_of()[1]) == ""


@pytest.mark.parametrize(
    ("constants", "told"),
    [
        ({"strength": SECRET}, f"`strength` = {SECRET}"),
        ({"grid_bits": 9}, "`grid_bits` = 9"),
        ({"clip_radius": 2.5}, "`clip_radius` = 2.5"),
        ({"ridge": SECRET}, f"`ridge` = {SECRET}"),
        ({"covariance": "diagonal"}, "`covariance` = diagonal"),
        *(({name: value}, f"`{name}` = {value}") for name, value in AS_PRINTED),
    ],
)
def test_a_constant_that_someone_chose_is_stated_with_every_digit(
    constants: dict[str, object], told: str, tmp_path: Path
) -> None:
    _, bundle = bundle_of(**constants)
    assert constants_by_hand(bundle) == told
    assert f"**Constants set by hand**: {told}." in statement(bundle, Provenance())
    for name, content in release_files(Release(bundle)).items():
        (tmp_path / name).write_bytes(content)
    findings = verify(tmp_path)
    assert all(finding.good for finding in findings)
    assert any(f"constants set by hand: {told}." in finding.sentence for finding in findings)


def test_a_release_does_not_hide_what_was_chosen(tmp_path: Path) -> None:
    """Its statement is made again from its schema."""
    _, bundle = bundle_of(strength=SECRET)
    files = release_files(Release(bundle))
    lines = files["STATEMENT.md"].decode().splitlines(keepends=True)
    files["STATEMENT.md"] = "".join(x for x in lines if "by hand" not in x).encode()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert not all(finding.good for finding in verify(tmp_path))
