"""What trust releases of the second moment is all that its model reads."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from longsynth import fit
from longsynth.audit.game.trials import FastNoise
from longsynth.bundle import Bundle, decode
from longsynth.methods.trust import Trust, release
from longsynth.privacy.ledger import Released
from longsynth.privacy.statistic import Statistic, kept
from longsynth.sampling.moments import within_band
from longsynth.schema.schema import Schema
from support import random_cohort, small_plan, small_schema
from ward import ward_cohort, ward_schema

SETTINGS = {
    "bandwidth 0": small_schema(bandwidth=0),
    "bandwidth 1": small_schema(bandwidth=1),
    "full length": small_schema(length="full", bandwidth=2),
    "joint": small_schema(release="joint", bandwidth=1),
    "diagonal": small_schema(covariance="diagonal"),
    "diagonal, joint": small_schema(covariance="diagonal", release="joint", bandwidth=0),
    "paper": small_schema(condition_gram="released", bandwidth=1),
    "static": ward_schema(constants={"bandwidth": 0}),
    "static, joint": ward_schema(constants={"bandwidth": 1, "release": "joint"}),
    "all slots": small_schema(bandwidth=9),
}


def fitted_with_all_pairs(schema: Schema, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    cohort = (ward_cohort if any(schema.layout.static) else random_cohort)(80, seed=3)
    with monkeypatch.context() as patch:
        patch.setattr(release, "kept_pairs", lambda _: ())
        planned = small_plan(80, schema)
        return fit(cohort, planned, noise=FastNoise(np.random.SeedSequence(1)))


def without_the_rest(whole: Bundle, name: str, statistic: Statistic) -> Bundle:
    """The same integers, those outside the band of a statistic left out."""
    released = whole.released[name]
    sums = statistic.left * (1 + statistic.right)
    (i, j), band = kept(released.entry.statistic), kept(statistic)
    chosen = (i[:, None] == band[0]) & (j[:, None] == band[1])
    integers = released.values[sums:][chosen.any(axis=1)]
    entry = replace(released.entry, statistic=statistic)
    values = np.concatenate([released.values[:sums], integers])
    assert len(values) == statistic.dimension
    return replace(whole, released=whole.released | {name: Released(values, entry)})


def arrays(part: object) -> Iterator[bytes]:
    """Every array of a model, bit by bit."""
    if isinstance(part, np.ndarray):
        yield part.tobytes()
    elif is_dataclass(part):
        for field in fields(part):
            yield from arrays(getattr(part, field.name))


@pytest.mark.parametrize("schema", SETTINGS.values(), ids=SETTINGS)
def test_the_same_integers_make_the_same_model_with_and_without_what_is_outside_the_band(
    schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, method = fitted_with_all_pairs(schema, monkeypatch), Trust()
    planned = {e.statistic.name: e.statistic for e in small_plan(80, schema).ledger.entries}
    name = "joint" if schema.constants.release == "joint" else "second"
    one, other = (
        replace(method.model(bundle), fingerprint="")
        for bundle in (whole, without_the_rest(whole, name, planned[name]))
    )
    assert list(arrays(one)) == list(arrays(other))
    assert one.values.spectrum.values.tobytes() == other.values.spectrum.values.tobytes()


@pytest.mark.parametrize("schema", SETTINGS.values(), ids=SETTINGS)
def test_the_band_holds_the_pairs_that_the_model_reads_and_no_other(schema: Schema) -> None:
    resolved = schema.resolved(80)
    slot, constants = resolved.layout.value_slot, resolved.resolved_constants
    read = within_band(slot, constants.bandwidth)
    if constants.covariance == "diagonal":
        read = np.eye(len(slot), dtype=bool)
    for line in Trust().stages(resolved)[0]:
        statistic = line.statistic
        if statistic.name in ("second", "joint"):
            assert np.array_equal(kept(statistic), np.nonzero(np.triu(read)))
            break
    else:
        pytest.fail("no second moment")


def test_what_was_not_released_is_no_number() -> None:
    statistic = Statistic("g", "g", "gram", 3, 100, band=(2, 3, 3), grid=10)
    found = decode(statistic, np.arange(5.0) * 29 * 100 * statistic.lift)
    assert np.array_equal(np.isnan(found), [[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    assert np.array_equal(np.diag(found), [0.0, 2.0, 4.0])
    assert np.array_equal(found, found.T, equal_nan=True)
