"""dp-markov under other public rules: what a search tried beside the paper's chain."""

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from longsynth.bundle import Bundle
from longsynth.encoding.rows import Encoded, Encoder
from longsynth.methods import lines
from longsynth.methods.dp_markov.model import Chains, counts_in, distributions
from longsynth.methods.dp_markov.release import absent, count_steps, mark_first
from longsynth.methods.dp_markov.settings import (
    FIRST,
    STEPS,
    Bins,
    bins_of,
    checked,
    moving,
    widest,
)
from longsynth.methods.fact import Fact, by_column, empty
from longsynth.methods.method import Line, PrivateMethod, Stage, Work, tables_work
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.auxiliary import (
    GAP_SQUARES,
    GAPS,
    MASKS,
    STRATA,
    Gaps,
    Masks,
    gaps_from,
    masks_from,
    noise_in_mean,
    released_lengths,
    same_for_all,
    unconditional_parts,
)
from longsynth.sampling.model import Model
from longsynth.sampling.strata import (
    AllSlots,
    Lengths,
    SlotUse,
    Strata,
    population_masses,
    strata_of,
)
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.arrays import Bools, Floats, Ints
from longsynth_lab.markov_chains import Counts, Prior, shrunk_chains
from longsynth_lab.markov_tables import on_simplex, shrunk_toward


@dataclass(frozen=True, slots=True)
class Rule:
    """Public settings; the defaults are the product's: a plain first-order chain by event."""

    bins: int = 10  # of each continuous variable
    focus: float = 0.0  # scales about the centre in which bins are narrow; 0: even bins
    halves: bool = False  # bins of all slots, in two halves of the record; else first bins
    states: int = 60  # bins are joined to so many states for transitions, at the most
    drawn: bool = False  # tables shrunk toward a Gaussian one and each other; else by event alone
    threshold: float = 1.0  # a count below so much noise is no evidence, where tables stand alone
    spread: float = 0.2  # prior spread of variables' persistence about their mean
    between: float = 0.7  # spread of patients' own means, in spreads of a variable
    effect: float = 0.5  # prior spread of an event's effect, in spreads of a variable
    temper: float = 0.35  # part of an effect on repeated readings that is kept
    steady: bool = False  # masks and gaps shrunk toward their mean over time
    own: bool = True  # a table of its own for each event; else everybody's with the event's shares
    floor: float = 0.0  # least share of patients sampled with the event, with weights
    strata: int = 5  # percent of ρ
    first: int = 20
    steps: int = 50
    masks: int = 15
    gaps: int = 7
    gap_squares: int = 3

    def __post_init__(self) -> None:
        if not self.drawn and self.states < self.bins:
            raise ValueError("tables that stand alone need a state for each bin")

    @property
    def shares(self) -> dict[str, int]:
        return {
            STRATA: self.strata,
            FIRST: self.first,
            STEPS: self.steps,
            MASKS: self.masks,
            GAPS: self.gaps,
            GAP_SQUARES: self.gap_squares,
        }

    @property
    def events(self) -> int:
        """Tables of transitions: one for each event, or one for everybody."""
        return 2 if self.own or not self.drawn else 1

    @property
    def parts(self) -> int:
        """Parts of a record whose bins are counted."""
        return 2 if self.halves else 1

    def bins_of(self, schema: Schema) -> list[Bins]:
        if not self.focus:
            return bins_of(schema, self.bins)
        even = bins_of(schema, self.bins)
        pairs = zip(schema.variables, even, strict=True)
        return checked([_focused(variable, bins, self.focus) for variable, bins in pairs])

    def state(self, bins: Bins) -> Ints:
        """(K,): the state of each bin."""
        joined = min(self.states, bins.number) if bins.ordered else bins.number
        return np.arange(bins.number) * joined // bins.number

    def most_states(self, schema: Schema) -> int:
        return max(int(self.state(bins).max()) + 1 for bins in self.bins_of(schema))


# What a search found best on development seeds: far less noise for few patients, but no longer the
# paper's baseline.
SMOOTHED = Rule(
    bins=16, focus=0.5, halves=True, states=4, drawn=True, spread=0.2, between=0.7, effect=0.5,
    temper=0.35, steady=True, own=False, strata=10, first=30, steps=35,
)  # fmt: skip


def _focused(variable: Variable, even: Bins, focus: float) -> Bins:
    """Intervals are even in asinh of the distance from the public centre, in `focus` scales: about
    even near it and by ratio far from it. Without a centre they are even."""
    centre, scale = variable.centre, variable.scale
    if even.edges is None or centre is None or scale is None:
        return even
    first, last = even.edges[0], even.edges[-1]
    if even.log:
        centre, scale = float(np.log(centre)), float(np.log1p(scale / centre))
    reach = focus * scale
    near, far = (float(np.arcsinh((end - centre) / reach)) for end in (first, last))
    edges = centre + reach * np.sinh(np.linspace(near, far, even.number + 1))
    edges[0], edges[-1] = first, last
    return Bins(even.number, even.lowest, tuple(edges.tolist()), even.log)


@dataclass(frozen=True)
class MarkovVariant(PrivateMethod):
    name: ClassVar[str] = "dp-markov"
    summary: ClassVar[str] = "private transition tables between public bins, by event"

    rule: Rule = field(default_factory=Rule)

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        """A patient fills one block for each variable with the first bin, and one with up to T - 1
        transitions. With `halves` there are two blocks with bins, one for each half of the record,
        and each with up to ⌈T/2⌉ readings; a static variable counts as if read in every slot."""
        rule, shares = self.rule, lines.shares_of(self.rule.shares, schema)
        blocks, moves, most = len(schema.variables), len(moving(schema)), max(schema.slots - 1, 1)
        readings = _half(schema) if rule.halves else 1
        first = Statistic(
            FIRST,
            f"{'bins in each half' if rule.halves else 'first bin'} by variable and event",
            "count",
            rule.parts * blocks * 2 * widest(rule.bins_of(schema)),
            blocks=rule.parts * blocks,
            grid=readings,
        )
        steps = Statistic(
            STEPS,
            "transitions between states by variable" + " and event" * rule.own,
            "count",
            moves * rule.events * rule.most_states(schema) ** 2,
            blocks=moves,
            grid=most,
        )
        what = "readings in each bin" if rule.halves else "patients in each first bin"
        return (
            (
                lines.strata(schema, shares),
                Line(first, shares[FIRST], _first_rows, partial(_noise, readings, what)),
                Line(steps, shares[STEPS], _step_rows, partial(_noise, most, "transitions")),
                *lines.unconditional(schema, shares),
            ),
        )

    def encoder(self, schema: Schema, so_far: Bundle) -> "VariantEncoder":
        return VariantEncoder(schema, self.rule)

    def facts(self, schema: Schema) -> list[Fact]:
        """Bins and states that a variable lacks stay empty; with halves, a static variable fills
        both."""
        rule, bins = self.rule, self.rule.bins_of(schema)
        no_bin = absent([b.number for b in bins], widest(bins))
        states = [int(rule.state(bins[v])[-1]) + 1 for v in moving(schema)]
        no_state = absent(states, rule.most_states(schema))
        no_step = no_state[:, :, None] | no_state[:, None, :]
        facts = [
            *lines.patient_facts(schema),
            empty(FIRST, np.tile(no_bin.repeat(2, axis=0), (rule.parts, 1))),
            empty(STEPS, no_step.repeat(rule.events, axis=0)),
        ]
        if rule.halves:
            still = np.eye(len(bins), dtype=np.int64)[list(schema.layout.static)]
            same = by_column(np.hstack([still, -still]), 2 * no_bin.shape[1])
            facts.append(Fact(f"'{FIRST}' is the same in both halves if static", {FIRST: same}))
        return facts

    def work(self, schema: Schema, patients: int) -> Work:
        return tables_work(schema)

    def model(self, bundle: Bundle) -> Model:
        schema, rule = bundle.schema, self.rule
        bins, variables, most = rule.bins_of(schema), moving(schema), rule.most_states(schema)
        first, first_noise = counts_in(bundle, FIRST)
        moves, step_noise = counts_in(bundle, STEPS)
        first = first.reshape(rule.parts, len(bins), 2, widest(bins))
        steps = np.zeros((len(bins), rule.events, most, most))  # a static variable has none
        steps[variables] = moves.reshape(len(variables), rule.events, most, most)
        mass = self._masses(bundle)
        lengths, masks, gaps = (steady_parts if rule.steady else unconditional_parts)(bundle, mass)
        counts = [
            Counts(
                bins=b,
                state=(state := rule.state(b)),
                first=first[:, v, :, : b.number],
                steps=steps[v, :, : state.max() + 1, : state.max() + 1],
                first_noise=first_noise,
                step_noise=step_noise,
            )
            for v, b in enumerate(bins)
        ]
        events = schema.strata[:, 2]
        start, step = self._chains(counts, mass[events == 1].sum(), bundle.patients)
        return Model(
            schema=schema,
            strata=_lifted(mass, events, rule.floor),
            lengths=lengths,
            values=Chains(bins=bins, start=start, step=step, events=events, slots=schema.slots),
            masks=masks,
            gaps=gaps,
            fingerprint=bundle.fingerprint,
        )

    def _chains(
        self, counts: list[Counts], rate: float, patients: int
    ) -> tuple[list[Floats], list[Floats]]:
        rule = self.rule
        if rule.drawn:
            prior = Prior(rule.effect, rule.between, rule.temper, rule.spread)
            return shrunk_chains(counts, rate, patients, prior)
        start = [distributions(c.first.sum(axis=0), rule.threshold * c.first_noise) for c in counts]
        return start, [distributions(c.steps, rule.threshold * c.step_noise) for c in counts]

    def _masses(self, bundle: Bundle) -> Floats:
        if not self.rule.drawn:
            return population_masses(bundle.mean(STRATA))
        table = bundle.mean(STRATA).reshape(-1, 2)
        event, rest = (on_simplex(table.sum(axis=a), 1.0) for a in (0, 1))
        shrunk = shrunk_toward(table, np.outer(rest, event), noise_in_mean(bundle, STRATA))
        return on_simplex(shrunk, 1.0).ravel()


class VariantEncoder(Encoder):
    def __init__(self, schema: Schema, rule: Rule) -> None:
        super().__init__(schema)
        self.rule, self.bins, self.most = rule, rule.bins_of(schema), rule.most_states(schema)

    def __call__(self, batch: Cohort) -> "VariantEncoded":
        return VariantEncoded(batch, self)


class VariantEncoded(Encoded):
    encoder: VariantEncoder

    @cached_property
    def places(self) -> list[Ints]:
        """(n, T) for each variable: the bin of each cell, whether or not it is observed."""
        values = np.where(self.observed, self.batch.values, 0.0)
        return [bins.of(values[:, :, v]) for v, bins in enumerate(self.encoder.bins)]


def _first_rows(encoded: VariantEncoded) -> Contribution:
    rule, bins, schema = encoded.encoder.rule, encoded.encoder.bins, encoded.schema
    shape = encoded.batch.patients, rule.parts, len(bins), 2, widest(bins)
    first = np.zeros(shape, np.int64)
    for v, place in enumerate(encoded.places):
        observed = encoded.observed[:, :, v]
        if rule.halves:
            whole = schema.layout.static[v]
            _tally(place, observed, encoded.event, first[:, :, v], _half(schema), whole)
        else:
            mark_first(place, observed, encoded.event, first[:, 0, v])
    return Contribution(first.reshape(len(first), -1))


def _step_rows(encoded: VariantEncoded) -> Contribution:
    rule, most, variables = encoded.encoder.rule, encoded.encoder.most, moving(encoded.schema)
    shape = encoded.batch.patients, len(variables), rule.events, most, most
    steps = np.zeros(shape, np.int64)
    whose = encoded.event if rule.events == 2 else np.zeros_like(encoded.event)
    for i, v in enumerate(variables):
        state = rule.state(encoded.encoder.bins[v])[encoded.places[v]]
        count_steps(state, encoded.observed[:, :, v], whose, steps[:, i])
    return Contribution(steps.reshape(len(steps), -1))


def _noise(unit: int, what: str, sd: float, patients: int) -> str:
    return f"±{sd * unit:.1f} {what}"


def _half(schema: Schema) -> int:
    return (schema.slots + 1) // 2


def _tally(place: Ints, observed: Bools, event: Ints, first: Ints, half: int, whole: bool) -> None:
    """Count the bins of each half; a static variable fills both halves."""
    for slot in range(place.shape[1]):
        here = np.flatnonzero(observed[:, slot])
        if whole:
            first[here[:, None], [[0, 1]], event[here, None], place[here, slot, None]] = half
        else:
            first[here, slot // half, event[here], place[here, slot]] += 1


def _lifted(mass: Floats, event: Ints, floor: float) -> Strata:
    """Sample patients with the event at least so often; weights restore the released masses."""
    rate = float(mass[event == 1].sum())
    if not 0 < rate < floor:
        return strata_of(mass, mass)
    factor = np.where(event == 1, floor / rate, (1 - floor) / (1 - rate))
    return strata_of(mass, mass * factor)


def steady_parts(bundle: Bundle, mass: Floats) -> tuple[Lengths | AllSlots, Masks, Gaps]:
    """Lengths, masks and gaps, the last two shrunk toward their mean over time as far as noise
    explains the rest."""
    schema, lengths = bundle.schema, released_lengths(bundle)
    slot_use, cells, slots = SlotUse(mass, lengths.in_use), schema.layout.cell_slot, schema.slots
    by_variable = schema.layout.cells_of(np.arange(len(cells))[None], -1)[0].T
    over_time = [np.arange(slots)]
    series = {
        MASKS: ([p[p >= 0] for p in by_variable], cells),
        GAPS: (over_time, np.arange(slots)),
        GAP_SQUARES: (over_time, np.arange(slots)),
    }
    sums = {
        name: _steady(
            bundle.mean(name)[0], slot_use.divisor(where), places, noise_in_mean(bundle, name)
        )
        for name, (places, where) in series.items()
    }
    missing, means = (
        same_for_all(sums[name] / slot_use.divisor(series[name][1]), schema)
        for name in (MASKS, GAPS)
    )
    gaps = gaps_from(means, sums[GAP_SQUARES], slot_use, schema)
    return lengths, masks_from(missing, schema), gaps


def _steady(sums: Floats, users: Floats, series: list[Ints], noise: float) -> Floats:
    """Each series of sums shrunk toward one mean among its users."""
    steady = sums.copy()
    for place in series:
        mean = sums[place].sum() / users[place].sum()
        steady[place] = shrunk_toward(sums[place], mean * users[place], noise)
    return steady
