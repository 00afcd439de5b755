"""dp-markov: private first-order transition tables over public bins, by event."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from longsynth.bundle import Bundle
from longsynth.encoding import rows as encoding
from longsynth.methods.fact import Fact, by_column, empty
from longsynth.methods.method import Stage
from longsynth.methods.private import lines, unconditional
from longsynth.methods.private.lines import STRATA
from longsynth.methods.private.markov_rule import FIRST, STEPS, Rule
from longsynth.methods.work import Work, tables_work
from longsynth.privacy.ledger import Entry
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.drawn_chains import Counts, Prior, drawn_chains
from longsynth.sampling.markov import Bins, Chains, bins_of
from longsynth.sampling.model import Model
from longsynth.sampling.strata import Strata, population_masses, strata_of
from longsynth.sampling.tables import distributions, drawn_to, on_simplex
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints
from longsynth.system.errors import Refused

MOST_LEVELS = 60  # its transition tables grow with the square


@dataclass(frozen=True)
class DPMarkov:
    name: ClassVar[str] = "dp-markov"
    summary: ClassVar[str] = "private transition tables between public bins, by event"

    rule: Rule = field(default_factory=Rule)

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        """A patient fills one block for each variable with the first bin, and one with up to T - 1
        transitions, of which what is static makes none. By a rule with `halves` there are two
        blocks with bins, one for each half of the record and each with up to ⌈T/2⌉ readings; what
        is static counts there as if read in every slot."""
        blocks, moving, widest = len(schema.variables), len(_moving(schema)), self._widest(schema)
        halves = 2 if self.rule.halves else 1
        found = [
            lines.strata(schema),
            Statistic(
                FIRST,
                "bins in each half by variable and event"
                if self.rule.halves
                else "first bin by variable and event",
                "count",
                halves * blocks * 2 * widest,
                blocks=halves * blocks,
                grid=_half(schema) if self.rule.halves else 1,
            ),
            Statistic(
                STEPS,
                "transitions between states by variable" + " and event" * self.rule.own,
                "count",
                moving * self._events * self._states(schema) ** 2,
                blocks=moving,
                grid=max(schema.slots - 1, 1),
            ),
            *unconditional.statistics(schema),
        ]
        share = lines.shares(self.rule.shares, schema)
        return (tuple((s, share[s.name]) for s in found),)

    def contributions(
        self, batch: Cohort, schema: Schema, stage: Stage, so_far: Bundle
    ) -> Mapping[str, Contribution]:
        cell = encoding.strata(batch, schema)
        first, steps = self._counted(batch, schema, schema.strata[cell, 2])
        return {
            STRATA: Contribution(encoding.one_hot(cell, len(schema.strata))),
            FIRST: Contribution(first),
            STEPS: Contribution(steps),
            **unconditional.rows(batch, schema),
        }

    def facts(self, schema: Schema) -> list[Fact]:
        """Bins and states that a variable lacks stay empty; if there are halves, what is static
        fills both."""
        bins, halves = self._bins(schema), 2 if self.rule.halves else 1
        no_bin = np.arange(self._widest(schema)) >= np.array([b.number for b in bins])[:, None]
        states = np.array([self._state(bins[v])[-1] + 1 for v in _moving(schema)])[:, None]
        no_state = np.arange(self._states(schema)) >= states
        no_step = no_state[:, :, None] | no_state[:, None, :]
        found = [
            *lines.patient_facts(schema),
            empty(FIRST, np.tile(no_bin.repeat(2, axis=0), (halves, 1))),
            empty(STEPS, no_step.repeat(self._events, axis=0)),
        ]
        if self.rule.halves:
            still = np.eye(len(bins), dtype=np.int64)[list(schema.layout.static)]
            same = by_column(np.hstack([still, -still]), 2 * no_bin.shape[1])
            found.append(Fact(f"'{FIRST}' is the same in both halves if static", {FIRST: same}))
        return found

    def blur(self, entry: Entry, schema: Schema, patients: int) -> str:
        sd = entry.sigma / entry.statistic.lift
        match entry.statistic.name:
            case "bins":
                what = "readings in each bin" if self.rule.halves else "patients in each first bin"
                return f"±{sd:.1f} {what}"
            case "transitions":
                return f"±{sd:.1f} transitions, of {patients * max(schema.slots - 1, 1):,} at most"
        return lines.blur(entry, schema, patients)

    def model(self, bundle: Bundle) -> Model:
        schema, rule = bundle.schema, self.rule
        bins, widest, moving = self._bins(schema), self._widest(schema), _moving(schema)
        halves, most = 2 if rule.halves else 1, self._states(schema)
        first = _numbers(bundle, FIRST).reshape(halves, len(bins), 2, widest)
        steps = np.zeros((len(bins), self._events, most, most))  # of what is static, none
        steps[moving] = _numbers(bundle, STEPS).reshape(len(moving), self._events, most, most)
        noise = {n: bundle.released[n].entry for n in (FIRST, STEPS)}
        level = {n: e.sigma / e.statistic.lift for n, e in noise.items()}
        mass = self._masses(bundle)
        lengths, masks, gaps = unconditional.parts(bundle, mass, steady=rule.steady)
        counts = [
            Counts(
                bins=b,
                state=(state := self._state(b)),
                first=first[:, v, :, : b.number],
                steps=steps[v, :, : state.max() + 1, : state.max() + 1],
                first_noise=level[FIRST],
                step_noise=level[STEPS],
            )
            for v, b in enumerate(bins)
        ]
        start, step = self._chains(counts, mass[schema.strata[:, 2] == 1].sum(), bundle.patients)
        return Model(
            schema=schema,
            strata=_lifted(mass, schema.strata[:, 2], rule.floor),
            lengths=lengths,
            values=Chains(
                bins=bins,
                start=start,
                step=step,
                events=schema.strata[:, 2],
                slots=schema.slots,
            ),
            masks=masks,
            gaps=gaps,
            fingerprint=bundle.fingerprint,
        )

    def work(self, schema: Schema, patients: int) -> Work:
        return tables_work(schema)

    @property
    def _events(self) -> int:
        """Tables of transitions: one for each event, or one for everybody."""
        return 2 if self.rule.own or not self.rule.drawn else 1

    def _states(self, schema: Schema) -> int:
        return max(int(self._state(b).max()) + 1 for b in self._bins(schema))

    def _state(self, bins: Bins) -> Ints:
        """(K,): the state of each bin."""
        joined = min(self.rule.states, bins.number) if bins.ordered else bins.number
        return np.arange(bins.number) * joined // bins.number

    def _chains(
        self, counts: list[Counts], rate: float, patients: int
    ) -> tuple[list[Floats], list[Floats]]:
        rule = self.rule
        if rule.drawn:
            prior = Prior(rule.effect, rule.between, rule.temper, rule.spread)
            return drawn_chains(counts, rate, patients, prior)
        start = [distributions(c.first.sum(axis=0), rule.threshold * c.first_noise) for c in counts]
        return start, [distributions(c.steps, rule.threshold * c.step_noise) for c in counts]

    def _masses(self, bundle: Bundle) -> NDArray[np.float64]:
        if not self.rule.drawn:
            return population_masses(bundle.mean(STRATA))
        entry = bundle.released[STRATA].entry
        noise = entry.sigma / (entry.statistic.lift * bundle.patients)
        table = bundle.mean(STRATA).reshape(-1, 2)
        event, rest = (on_simplex(table.sum(axis=a), 1.0) for a in (0, 1))
        return on_simplex(drawn_to(table, np.outer(rest, event), noise), 1.0).ravel()

    def _bins(self, schema: Schema) -> list[Bins]:
        return bins_of(schema, self.rule.bins, self.rule.focus)

    def _widest(self, schema: Schema) -> int:
        widest = max(b.number for b in self._bins(schema))
        if widest > MOST_LEVELS:
            raise Refused(
                f"dp-markov takes at most {MOST_LEVELS} levels, and an ordinal variable has "
                f"{widest}: declare it continuous, or use another method."
            )
        return widest

    def _counted(self, batch: Cohort, schema: Schema, event: Ints) -> tuple[Ints, Ints]:
        """Bins and transitions of each patient over observed slots, in blocks."""
        observed = encoding.seen(batch, schema)
        values = np.where(observed, batch.values, 0.0)
        n, widest, blocks = batch.patients, self._widest(schema), len(schema.variables)
        first = np.zeros((n, 2 if self.rule.halves else 1, blocks, 2, widest), np.int64)
        most = self._states(schema)
        steps = np.zeros((n, blocks, self._events, most, most), np.int64)
        whose = event if self._events == 2 else np.zeros_like(event)
        for v, bins in enumerate(self._bins(schema)):
            place = bins.of(values[:, :, v])
            if self.rule.halves:
                whole = schema.layout.static[v]
                _tally(place, observed[:, :, v], event, first[:, :, v], _half(schema), whole)
            else:
                _start(place, observed[:, :, v], event, first[:, 0, v])
            _follow(self._state(bins)[place], observed[:, :, v], whose, steps[:, v])
        return first.reshape(n, -1), steps[:, _moving(schema)].reshape(n, -1)


def _lifted(mass: NDArray[np.float64], event: Ints, floor: float) -> Strata:
    """Draw patients with the event at least so often; weights restore the released masses."""
    rate = float(mass[event == 1].sum())
    if not 0 < rate < floor:
        return strata_of(mass, mass)
    factor = np.where(event == 1, floor / rate, (1 - floor) / (1 - rate))
    return strata_of(mass, mass * factor)


def _half(schema: Schema) -> int:
    return (schema.slots + 1) // 2


def _moving(schema: Schema) -> list[int]:
    """The variables that can change from slot to slot."""
    return [v for v, static in enumerate(schema.layout.static) if not static]


def _numbers(bundle: Bundle, name: str) -> NDArray[np.float64]:
    found = bundle.released[name]
    return found.values / found.entry.statistic.lift


def _tally(
    place: Ints, observed: NDArray[np.bool_], event: Ints, first: Ints, half: int, whole: bool
) -> None:
    """Count the bins of each half; what is static fills both halves."""
    for slot in range(place.shape[1]):
        seen = np.flatnonzero(observed[:, slot])
        if whole:
            first[seen[:, None], [[0, 1]], event[seen, None], place[seen, slot, None]] = half
        else:
            first[seen, slot // half, event[seen], place[seen, slot]] += 1


def _start(place: Ints, observed: NDArray[np.bool_], event: Ints, first: Ints) -> None:
    """Mark the first bin that was seen."""
    seen = np.flatnonzero(observed.any(axis=1))
    slot = observed[seen].argmax(axis=1)
    first[seen, event[seen], place[seen, slot]] = 1


def _follow(state: Ints, observed: NDArray[np.bool_], event: Ints, steps: Ints) -> None:
    """Walk the slots; `last` is the last state seen, or -1."""
    last = np.full(len(event), -1)
    for slot in range(state.shape[1]):
        now, seen = state[:, slot], observed[:, slot]
        known = np.flatnonzero(seen & (last >= 0))
        steps[known, event[known], last[known], now[known]] += 1
        last = np.where(seen, now, last)
