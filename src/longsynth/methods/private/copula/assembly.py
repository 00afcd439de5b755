"""Assembly: a sampler from marginals, correlations and means. Thresholds and maps are set so that
its patients, on average, observe as often and show the values that the marginals say."""

from dataclasses import replace

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

from longsynth.bundle import Bundle
from longsynth.methods.private.copula.choices import Choices
from longsynth.methods.private.copula.reading import First, length_marginal
from longsynth.reading.records import Cohort
from longsynth.sampling.copula.channels import plain_scaling
from longsynth.sampling.copula.latent import (
    RANKS,
    Balanced,
    Drawing,
    Evened,
    FullLength,
    Latent,
    LatentGaps,
    LatentLengths,
    Map,
    Thresholds,
    Values,
    within,
)
from longsynth.sampling.copula.marginal import Marginal
from longsynth.sampling.copula.population import synthesis
from longsynth.sampling.lengths import Lengths
from longsynth.sampling.model import Model
from longsynth.sampling.score import Draws, ScorePath, independent, noise_levels
from longsynth.system.arrays import Floats, Ints

KNOTS = 400  # of a map from latent numbers to ranks
TOO_FEW = 10  # latent numbers for a map of their own: then that of a normal variable
SEED = 1  # the same for everyone: the model is a function of the bundle


def assembled(
    bundle: Bundle,
    known: First,
    correlations: Floats,
    means: Floats,
    stratum: Ints,
    choices: Choices,
) -> Model:
    """Return the sampler; patients of these strata are drawn to set its thresholds and maps."""
    schema, constants = bundle.schema, bundle.schema.resolved_constants
    scaling, spectrum = plain_scaling(schema), within(correlations, means, known.mass)
    latent = Latent(
        ScorePath(
            means=means.reshape(len(means), -1),
            spectrum=spectrum,
            levels=noise_levels(constants.steps, float(spectrum.values.max())),
            scaling=scaling,
            start=Balanced(schema.strata[:, 2]) if choices.balanced else independent,
        ),
        schema.slots,
    )
    rng = _rng()
    course = latent(stratum, rng)
    lengths = _lengths(known, course, schema.strata[:, 2], schema.slots)
    length = lengths.draw(course, rng)
    used = np.arange(schema.slots) < length[:, None]
    variables, static = len(schema.variables), np.array(schema.layout.static)
    marginals = known.channels.marginals
    cuts = np.empty(variables)
    for v in range(variables):
        marks = course.latent[:, :, variables + v]
        asked = marks[:, 0] if static[v] else marks[used]
        cuts[v] = np.quantile(asked, 1 - known.channels.rates[v]) if len(asked) else 0.0
    masks = Thresholds(cuts, schema.layout, constants.least_observations)
    observed = masks.draw(course, length, rng)
    gap = course.latent[:, :, 2 * variables]
    return Model(
        schema=schema,
        strata=synthesis(
            known.mass,
            schema.strata,
            schema.protected_strata,
            constants.event_floor,
            choices.balance,
        ),
        lengths=lengths,
        values=Values(
            tuple(
                _map(course.latent[:, :, v][observed[:, :, v]], marginals[v])
                for v in range(variables)
            ),
            scaling,
        ),
        masks=masks,
        gaps=LatentGaps(
            2 * variables,
            _map(gap[:, 0], marginals[-2]),
            _map(gap[:, 1:][used[:, 1:]], marginals[-1]),
            scaling,
        ),
        fingerprint=bundle.fingerprint,
        course=latent,
    )


def evened(model: Model, stratum: Ints) -> Model:
    """Return the same sampler, with the spread of small samples evened; patients of these strata,
    which have the population's shares, show what it should be."""
    law = np.quantile(model.course(stratum, _rng()).latent, RANKS, axis=(0, 1)).T
    return replace(model, course=Evened(model.course, law, model.strata.weight))


def drawn(model: Model, stratum: Ints) -> Cohort:
    """Return generated patients of these strata, counted below as if they were real."""
    rng = _rng()
    course = model.course(stratum, rng)
    length = model.lengths.draw(course, rng)
    values = model.values.draw(course, rng)
    observed = model.masks.draw(course, length, rng)
    gaps = model.gaps.draw(course, rng)
    site, group, event = model.schema.strata[stratum].T
    return Cohort(values, observed, gaps, length, group, event, site)


def _lengths(known: First, course: Drawing, events: Ints, slots: int) -> LatentLengths | FullLength:
    if not isinstance(known.lengths, Lengths):
        return FullLength(slots)
    latent, event = course.latent[:, 0, -1], events[course.stratum]
    without, with_event = (
        _map(latent[event == y], length_marginal(known.lengths.chances[y])) for y in (0, 1)
    )
    return LatentLengths((without, with_event), events, slots)


def _map(latent: Draws, marginal: Marginal) -> Map:
    asked = latent.astype(np.float64) if len(latent) >= TOO_FEW else np.linspace(-2.0, 2.0, TOO_FEW)
    ranks = (np.arange(KNOTS) + 0.5) / KNOTS
    return Map(np.quantile(asked, ranks), ranks, marginal)


def _rng() -> Generator:
    return Generator(SFC64(SeedSequence(SEED)))
