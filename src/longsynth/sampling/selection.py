"""Whom to generate: strata exactly, everything else by rejection; and what completes a model."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

from longsynth.bundle import Bundle
from longsynth.sampling.codes import released_codes
from longsynth.sampling.model import Model, Synthetic, joined
from longsynth.sampling.points import pointed, released_points
from longsynth.sampling.strata import Strata, strata_of
from longsynth.sampling.times import released_times, with_ranks
from longsynth.sampling.where import Where, allowed_strata, conditions, floors, met
from longsynth.schema.conditions import Condition
from longsynth.schema.schema import LABEL_ORDER
from longsynth.system.errors import Code, Refused
from longsynth.system.workers import one_thread

Draw = Callable[[Model, Strata, int, Generator], Synthetic]  # Algorithm 2
AT_ONCE = 16_384  # patients generated together
PILOT = (1 << 32) - 1  # a chunk that no sample has: it measures conditions
RAREST = 1 / 1000  # of the generated patients: conditions that fewer meet are refused
REFERENCE, SEED = 8_192, 1  # generated patients to whom others are compared; public


@dataclass(frozen=True, slots=True)
class Selection:
    """Whom to generate: strata, and what else decides whether a generated patient is kept."""

    strata: Strata
    conditions: tuple[Condition, ...] = ()
    acceptance: float | None = None  # the share of generated patients that are kept; None: all
    scale: float = 1.0  # of the weights, so that their mean is one

    def kept(self, model: Model, made: Synthetic, rng: Generator) -> Synthetic:
        keep, chance = met(model.schema, made, self.conditions), np.ones(made.patients)
        if model.floors:
            chance = model.floors.kept(model.schema, made)
            keep &= rng.random(made.patients) < chance
        weight = made.weight / chance / self.scale  # importance weights: p / q
        return replace(made, weight=weight).take(np.flatnonzero(keep))

    def filled(self, model: Model, patients: int, rng: Generator, draw: Draw) -> Synthetic:
        """Generate until so many patients are kept."""
        if self.acceptance is None:
            return draw(model, self.strata, patients, rng)
        parts, missing = [], patients
        while missing > 0:
            enough = int(1.1 * missing / self.acceptance) + 100
            made = draw(model, self.strata, min(enough, AT_ONCE), rng)
            parts.append(self.kept(model, made, rng))
            missing -= parts[-1].patients
        return joined(parts).take(np.arange(patients))


def selected(model: Model, where: Where | None, seed: int, draw: Draw) -> Selection:
    """Condition exactly on labels, and measure how many patients meet the rest."""
    wanted = tuple(conditions(model.schema, where))
    allowed = allowed_strata(model.schema, wanted)
    if not allowed.any():
        raise _too_rare("no patient can meet these conditions.")
    on_labels = any(condition.on_label for condition in wanted)
    strata = model.strata.given(allowed) if on_labels else model.strata
    others = tuple(condition for condition in wanted if not condition.on_label)
    if not others and model.floors is None:
        return Selection(strata)
    rng = Generator(SFC64(SeedSequence(seed, spawn_key=(PILOT,))))
    with one_thread():
        made = draw(model, strata, AT_ONCE, rng)
        first = Selection(strata, others).kept(model, made, rng)
    acceptance = first.patients / AT_ONCE
    if acceptance < RAREST:
        raise _too_rare(f"fewer than {RAREST:.1%} of the generated patients meet these conditions.")
    return Selection(strata, others, round(acceptance, 4), float(first.weight.mean()) or 1.0)


def in_proportion(model: Model) -> Model:
    """Return a model whose patients have the released shares of the population, each with weight
    one: no stratum is drawn more often than it occurs."""
    return replace(model, strata=strata_of(model.strata.mass, model.strata.mass), floors=None)


def _too_rare(problem: str) -> Refused:
    return Refused(Code.CONDITION_RARE, problem, "Ask for a wider condition.")


def completed(model: Model, bundle: Bundle, draw: Draw) -> Model:
    """Return a method's model with what all methods share: times to event, point masses, codes, and
    floors of protected combinations that are no strata. Patients generated with a public seed show
    where a generated number stands among others, which labels come together, and how rare protected
    combinations are."""
    times, schema = released_times(bundle), bundle.schema
    labels = (schema.key(name) in LABEL_ORDER for rule in schema.protected or () for name in rule)
    if not times and not pointed(schema) and not schema.codes and all(labels):
        return model
    some = draw(model, model.strata, REFERENCE, Generator(SFC64(SeedSequence(SEED))))
    ranked = (with_ranks(part, some.values, some.event, some.weight) for part in times)
    points = released_points(bundle, some, some.weight)
    timed = replace(model, times=tuple(ranked), points=points)
    rng = Generator(SFC64(SeedSequence(SEED)))
    some = draw(timed, model.strata, REFERENCE, rng)
    codes = released_codes(bundle, some, model.strata.mass)
    return replace(timed, codes=codes, floors=floors(model.schema, some))
