"""How far noise moves a picture: the released numbers are noised once more, as often as asked, and
everything is computed again. Post-processing: the fresh noise is public and protects nobody."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

from longsynth.audit.description import describe
from longsynth.bundle import Bundle
from longsynth.privacy.ledger import Released
from longsynth.sample import sample
from longsynth.sampling.synthetic import Synthetic
from longsynth.show.dossier.facts import Facts

PATIENTS, SEED = 4000, 2026  # drawn for every picture; public, so that anyone draws the same


@dataclass(frozen=True, slots=True)
class Drawn:
    """Synthetic patients, their portrait, and how much noise moves each number of it."""

    patients: Synthetic
    portrait: dict[str, Any]
    spread: dict[str, Any] | None  # standard deviations, laid out as the portrait is
    redraws: int


def draw(
    facts: Facts, redraws: int, watch: Callable[[Iterator[int]], Iterator[int]] = iter
) -> Drawn:
    """Draw patients and their portrait; two redraws are the fewest that have a spread."""
    schema = facts.bundle.schema
    patients = sample(facts.model_of(facts.bundle), PATIENTS, seed=SEED)
    others = []
    for k in watch(iter(range(redraws))):
        again = facts.model_of(noised(facts.bundle, k))
        others.append(describe(schema, sample(again, PATIENTS, seed=SEED), along=False))
    found = describe(schema, patients)
    return Drawn(patients, found, _spread(others) if redraws > 1 else None, redraws)


def noised(bundle: Bundle, k: int) -> Bundle:
    """The bundle as another draw of the stated noise might have left it, centred on this one."""
    rng = Generator(SFC64(SeedSequence(SEED, spawn_key=(k,))))
    released = {
        name: Released(
            found.values
            + np.rint(rng.normal(0.0, found.entry.sigma, found.values.shape)).astype(np.int64),
            found.entry,
        )
        for name, found in bundle.released.items()
    }
    return replace(bundle, released=released)


def _spread(found: list[Any]) -> Any:
    """Standard deviations of numbers that stand in the same place; text stays as it is."""
    first = found[0]
    if isinstance(first, dict):
        return {key: _spread([each[key] for each in found]) for key in first}
    if isinstance(first, list):
        return [_spread(list(each)) for each in zip(*found, strict=True)]
    if isinstance(first, str):
        return first
    known = [x for x in found if x is not None]
    return float(f"{np.std(known, ddof=1):.5g}") if len(known) > 1 else None
