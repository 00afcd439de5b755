"""Algorithm 2 (alg:sample): weighted irregular trajectories from a model. No data, no noise."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from numpy.random import SFC64, Generator, SeedSequence

from longsynth.encoding.scaling import as_stated
from longsynth.sampling.constraints import constrained
from longsynth.sampling.model import Model, Synthetic, joined
from longsynth.sampling.selection import Selection, selected
from longsynth.sampling.strata import Strata
from longsynth.sampling.times import ended, observed_times
from longsynth.sampling.where import Where
from longsynth.schema.schema import stratum_of
from longsynth.system.errors import Code, Refused, checked
from longsynth.system.workers import in_threads, one_thread

CHUNK = 16_384  # patients that share a seed


@checked(model="Call model_of(bundle) first.", patients="Give a whole number.")
def sample(model: Model, patients: int, *, seed: int, where: Where | None = None) -> Synthetic:
    """Return synthetic patients. The same model, number, seed and condition give the same bits.

    >>> import longsynth
    >>> model = longsynth.model_of(longsynth.load_release("run/release"))
    >>> longsynth.sample(model, 500, seed=7)
    Synthetic(500 patients, 14 slots, 6 variables)
    """
    return joined(list(sample_chunks(model, patients, seed=seed, where=where)))


def sample_chunks(
    model: Model,
    patients: int,
    *,
    seed: int,
    where: Where | None = None,
    jobs: int = 1,
    chunks: range | None = None,
) -> Iterator[Synthetic]:
    """Yield the same patients in chunks, each with a seed of its own, or some of the chunks by
    number. Any number of jobs gives the same bits."""
    if patients < 1 or seed < 0:
        raise Refused(
            Code.SAMPLE_UNUSABLE,
            "a sample needs at least one patient and a seed of zero or more.",
            "Ask for one patient or more, with a seed that is not negative.",
        )
    selection = selected(model, where, seed, sampled)
    numbers = range(-(-patients // CHUNK)) if chunks is None else chunks
    sizes = ((chunk, min(CHUNK, patients - chunk * CHUNK)) for chunk in numbers)
    return in_threads(partial(_chunk, model, selection, seed), sizes, jobs)


def _chunk(model: Model, selection: Selection, seed: int, piece: tuple[int, int]) -> Synthetic:
    chunk, patients = piece
    rng = Generator(SFC64(SeedSequence(seed, spawn_key=(chunk,))))
    with one_thread():
        return selection.filled(model, patients, rng, sampled)


def sampled(model: Model, strata: Strata, patients: int, rng: Generator) -> Synthetic:
    """alg:sample, with every line applied to all patients of a chunk at once."""
    evenly = model.schema.constants.strata_draw == "even"
    stratum = strata.drawn(patients, rng, evenly=evenly)  # s_i ~ q, eq:fair
    shared = model.shared(stratum, rng)  # c_i, or more that values, masks and gaps share
    length = model.lengths.draw(shared, rng)  # slots in use
    values = model.values.draw(shared, rng)  # eq:transport; support and rounding
    observed = model.masks.draw(shared, length, rng)  # eq:auxiliary; at least two per variable
    gaps = as_stated(model.gaps.draw(shared, rng), model.schema)  # eq:auxiliary
    site, group, event = model.schema.strata[stratum].T
    weight = strata.weight[stratum]  # w_i = p / q
    made = Synthetic(values, observed, gaps, length, group, event, site, weight, model.fingerprint)
    if model.labels:
        made = model.labels.drawn(made, stratum, strata, rng)
        stratum = stratum_of((site, group, made.event), model.schema)
    for point in model.points:
        point.placed(values, rng)
    for times in model.times:
        time = times.time(values, made.event, rng)
        values[:, 0, times.outcome.variable] = time
        if times.from_start:
            gaps, length = ended(gaps, length, time * times.hours)
    if model.times:
        observed = model.masks.draw(shared, length, rng) & model.schema.layout.up_to(length)
        observed = observed_times(observed, model.times)
        made = replace(made, observed=observed, gaps=gaps, length=length)
    made = constrained(made, model.schema)  # public, so it costs nothing
    return model.codes.given_to(made, stratum, rng) if model.codes else made
