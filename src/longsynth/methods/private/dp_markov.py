"""dp-markov: private first-order transition tables over public bins, by event."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from longsynth import encoding
from longsynth.bundle import Bundle
from longsynth.errors import Refused
from longsynth.methods.method import Stage
from longsynth.methods.private import lines, unconditional
from longsynth.methods.private.lines import GAP_SQUARES, GAPS, MASKS, STRATA
from longsynth.model.markov import Chains, bins_of, distributions
from longsynth.model.model import Model
from longsynth.model.strata import population_masses, synthesis_strata
from longsynth.privacy.ledger import Entry
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.records import Cohort, Ints
from longsynth.scaling import Scaling
from longsynth.schema import Schema

MOST_LEVELS = 60  # its transition tables grow with the square
FIRST, STEPS = "first bins", "transitions"
SHARES = {STRATA: 5, FIRST: 20, STEPS: 50, MASKS: 15, GAPS: 7, GAP_SQUARES: 3}  # of 100


class DPMarkov:
    name: ClassVar[str] = "dp-markov"
    summary: ClassVar[str] = "private transition tables between public bins, by event"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        """A patient fills one block a variable: first bins with 1, transitions with T - 1. What is
        static has a first bin only."""
        blocks, moving, widest = len(schema.variables), len(_moving(schema)), _widest(schema)
        found = [
            lines.strata(schema),
            Statistic(
                FIRST,
                "first bin by variable and event",
                "count",
                blocks * 2 * widest,
                blocks=blocks,
            ),
            Statistic(
                STEPS,
                "transitions between bins by variable and event",
                "count",
                moving * 2 * widest**2,
                blocks=moving,
                grid=max(schema.slots - 1, 1),
            ),
            *unconditional.statistics(schema),
        ]
        share = lines.shares(SHARES, schema)
        return (tuple((s, share[s.name]) for s in found),)

    def contributions(
        self, batch: Cohort, schema: Schema, stage: Stage, so_far: Bundle
    ) -> Mapping[str, Contribution]:
        cell = encoding.strata(batch, schema)
        first, steps = _counted(batch, schema, Scaling(schema), schema.strata[cell, 2])
        return {
            STRATA: Contribution(encoding.one_hot(cell, len(schema.strata))),
            FIRST: Contribution(first),
            STEPS: Contribution(steps),
            **unconditional.rows(batch, schema),
        }

    def blur(self, entry: Entry, schema: Schema, patients: int) -> str:
        sd = entry.sigma / entry.statistic.lift
        match entry.statistic.name:
            case "first bins":
                return f"±{sd:.1f} patients in each bin"
            case "transitions":
                return f"±{sd:.1f} transitions, of {patients * max(schema.slots - 1, 1):,} at most"
        return lines.blur(entry, schema, patients)

    def model(self, bundle: Bundle) -> Model:
        schema, scaling = bundle.schema, Scaling(bundle.schema)
        mass = population_masses(bundle.mean(STRATA))
        bins, widest, moving = bins_of(schema), _widest(schema), _moving(schema)
        first = _numbers(bundle, FIRST).reshape(len(bins), 2, widest)
        steps = np.zeros((len(bins), 2, widest, widest))  # of what is static, none
        steps[moving] = _numbers(bundle, STEPS).reshape(len(moving), 2, widest, widest)
        noise = {n: bundle.released[n].entry for n in (FIRST, STEPS)}
        level = {n: e.sigma / e.statistic.lift for n, e in noise.items()}
        lengths, masks, gaps = unconditional.parts(bundle, mass)
        return Model(
            schema=schema,
            strata=synthesis_strata(mass, schema.protected_strata, 0.0),
            lengths=lengths,
            values=Chains(
                bins=bins,
                start=[
                    distributions(first[v, :, : b.number], level[FIRST]) for v, b in enumerate(bins)
                ],
                step=[
                    distributions(steps[v, :, : b.number, : b.number], level[STEPS])
                    for v, b in enumerate(bins)
                ],
                events=schema.strata[:, 2],
                slots=schema.slots,
                scaling=scaling,
            ),
            masks=masks,
            gaps=gaps,
            fingerprint=bundle.fingerprint,
        )


def _widest(schema: Schema) -> int:
    widest = max(b.number for b in bins_of(schema))
    if widest > MOST_LEVELS:
        raise Refused(
            f"dp-markov takes at most {MOST_LEVELS} levels, and an ordinal variable has {widest}: "
            "declare it continuous, or use another method."
        )
    return widest


def _moving(schema: Schema) -> list[int]:
    """The variables that can change from slot to slot."""
    return [v for v, static in enumerate(schema.layout.static) if not static]


def _numbers(bundle: Bundle, name: str) -> NDArray[np.float64]:
    found = bundle.released[name]
    return found.values / found.entry.statistic.lift


def _counted(batch: Cohort, schema: Schema, scaling: Scaling, event: Ints) -> tuple[Ints, Ints]:
    """First bins and transitions of each patient over observed slots, one block a variable."""
    observed = encoding.seen(batch, schema)
    values = np.where(observed, batch.values, 0.0)
    encoded = scaling.unit(values)
    n, widest = batch.patients, _widest(schema)
    first = np.zeros((n, len(schema.variables), 2, widest), np.int64)
    steps = np.zeros((n, len(schema.variables), 2, widest, widest), np.int64)
    for v, bins in enumerate(bins_of(schema)):
        place = bins.of(values[:, :, v], encoded[:, :, v])
        _follow(place, observed[:, :, v], event, first[:, v], steps[:, v])
    return first.reshape(n, -1), steps[:, _moving(schema)].reshape(n, -1)


def _follow(
    place: Ints,
    observed: NDArray[np.bool_],
    event: Ints,
    first: Ints,
    steps: Ints,
) -> None:
    """Walk the slots; `last` is the last bin seen, or -1."""
    last = np.full(len(event), -1)
    for slot in range(place.shape[1]):
        bin_, seen = place[:, slot], observed[:, slot]
        fresh, known = np.flatnonzero(seen & (last < 0)), np.flatnonzero(seen & (last >= 0))
        first[fresh, event[fresh], bin_[fresh]] = 1
        steps[known, event[known], last[known], bin_[known]] += 1
        last = np.where(seen, bin_, last)
