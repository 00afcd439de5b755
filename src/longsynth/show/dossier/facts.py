"""All that the public edition knows: the facts of a release, and synthetic patients generated from
it. Nothing here reads a file."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

from longsynth.audit.description import describe
from longsynth.bundle import Bundle
from longsynth.govern.provenance import Provenance
from longsynth.privacy.ledger import Released
from longsynth.sample import sample
from longsynth.sampling.model import Model, Synthetic

PATIENTS, SEED = 4000, 2026  # behind every chart; public, so that anyone gets the same patients


@dataclass(frozen=True, slots=True)
class FormSection:
    """A section of the governance form: questions with answers, or a table."""

    title: str
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()  # question, and one or more answers
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class Form(NamedTuple):
    title: str
    sections: tuple[FormSection, ...]


class Signed(NamedTuple):
    by: str | None
    key: str  # its fingerprint


@dataclass(frozen=True, slots=True)
class Facts:
    bundle: Bundle
    provenance: Provenance
    version: str  # of the longsynth that fitted
    summary: str  # the method in one line
    noise: dict[str, str]  # what the noise on each ledger line means
    passes: dict[str, int]  # in which pass over the data each line is released
    files: dict[str, str]  # SHA-256 of each file of the release
    signed: Signed | None
    form: Form | None  # the governance form, if it was given
    model_of: Callable[[Bundle], Model]  # post-processing: no data, no noise


@dataclass(frozen=True, slots=True)
class Population:
    """Synthetic patients, their description, and how far noise moves each number of it."""

    patients: Synthetic
    description: dict[str, Any]
    noise: dict[str, Any] | None  # standard deviations, laid out like the description
    redraws: int


def generate_population(
    facts: Facts, redraws: int, advance: Callable[[], object] = lambda: None
) -> Population:
    """Generate patients from the release, and again after each of `redraws` further draws of noise.

    All of it is post-processing: the additional noise is public and protects nobody. A standard
    deviation needs at least two redraws.
    """
    schema = facts.bundle.schema
    others = []
    for k in range(redraws):
        again = sample(facts.model_of(noised(facts.bundle, k)), PATIENTS, seed=SEED)
        others.append(describe(schema, again, along=False))
        advance()
    patients = sample(facts.model_of(facts.bundle), PATIENTS, seed=SEED)
    noise = _standard_deviations(others) if redraws > 1 else None
    return Population(patients, describe(schema, patients), noise, redraws)


def noised(bundle: Bundle, k: int) -> Bundle:
    """The bundle after one more draw of the noise that its ledger states."""
    rng = Generator(SFC64(SeedSequence(SEED, spawn_key=(k,))))
    released = {
        name: Released(
            line.values
            + np.rint(rng.normal(0.0, line.entry.sigma, line.values.shape)).astype(np.int64),
            line.entry,
        )
        for name, line in bundle.released.items()
    }
    return replace(bundle, released=released)


def _standard_deviations(descriptions: list[Any]) -> Any:
    """Of the numbers in the same place of each description; text is kept."""
    first = descriptions[0]
    if isinstance(first, dict):
        return {key: _standard_deviations([each[key] for each in descriptions]) for key in first}
    if isinstance(first, list):
        return [_standard_deviations(list(each)) for each in zip(*descriptions, strict=True)]
    if isinstance(first, str):
        return first
    known = [x for x in descriptions if x is not None]
    return float(f"{np.std(known, ddof=1):.5g}") if len(known) > 1 else None
