"""Labels: the event is drawn last, from a model of its own.

Patients from the copula carry an event already. How it goes with their records is fitted to many of
them (the base), so drawing it anew from the base alone changes nothing. One more line says where
real patients depart from the base: the sum of (event − expected event) times a few summaries of the
record. A posterior reads it, and the event of a synthetic patient is drawn from the result.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from longsynth.encoding.record import one_hot
from longsynth.methods.copula_score.cells import Floats32
from longsynth.methods.copula_score.channels import Coding
from longsynth.methods.copula_score.summaries import Scale, Summaries, Summarised
from longsynth.sampling.model import Synthetic
from longsynth.sampling.strata import Strata
from longsynth.schema.schema import Schema, stratum_of
from longsynth.system.arrays import Floats, Ints

SCORES = 3  # columns before the summaries: a constant, the scores of many and of the latest
SCORE_UNIT = 2.0  # scores are divided by it: their spread is about that of log odds
PENALTY = 3e-4  # on squared coefficients of the base, per patient
LEAST, MOST = -8.0, 6.0  # log odds of the base are kept within
CONSTANT_SD, SLOPE_SD, SUMMARY_SD = 0.5, 1.0, 0.1  # how far the truth may be from the base
THIN = 1e-3  # directions with less of a summary's spread are not blown up
STEPS = 30  # of a fit, at most
HALVINGS = 20  # of a step that makes things worse
SETTLED = 1e-3
RARE = 1e-6  # chances of a level are at least


@dataclass(frozen=True)
class LogOdds:
    """Log odds of each level but the first against the first, linear in scaled summaries."""

    scale: Scale
    coefficients: Floats32  # (d + 1, E - 1), the constant first

    def __call__(self, summaries: Floats32) -> Floats32:
        odds = each(self.scale(summaries), self.coefficients[1:]) + self.coefficients[0]
        return np.asarray(np.clip(odds, LEAST, MOST))


def each(rows: Floats32, matrix: Floats32) -> Floats32:
    """rows @ matrix, one product per patient: rounding depends on that patient alone."""
    return np.asarray(np.matmul(rows[:, None, :], matrix)[:, 0])


def fitted_log_odds(summaries: Floats32, event: Ints, weight: Floats, levels: int) -> LogOdds:
    scale = Scale.of(summaries, weight)
    scaled = scale(summaries)
    columns = []
    for level in range(1, levels):
        either = (event == 0) | (event == level)
        columns.append(_logistic(scaled[either], (event == level)[either], weight[either]))
    return LogOdds(scale, np.stack(columns, axis=1).astype(np.float32))


def _logistic(scaled: Floats32, yes: Ints, weight: Floats) -> Floats:
    """Coefficients of a logistic regression with a penalty, the constant first."""
    rows = np.column_stack([np.ones(len(scaled), np.float32), scaled])
    share = (weight / weight.sum()).astype(np.float32)
    penalty = np.full(rows.shape[1], PENALTY)
    penalty[0] = RARE
    found = np.zeros(rows.shape[1])
    mean = np.clip(float(share @ yes), RARE, 1 - RARE)
    found[0] = np.log(mean / (1 - mean))

    def odds_and_loss(at: Floats) -> tuple[Floats, float]:
        odds = np.clip(rows @ at.astype(np.float32), -30, 30)
        return odds, float(share @ (np.log1p(np.exp(odds)) - yes * odds) + penalty @ at**2 / 2)

    odds, loss = odds_and_loss(found)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-odds))
        slope = (share * (yes - chance)) @ rows - penalty * found
        inner = rows * (share * np.maximum(chance * (1 - chance), RARE))[:, None]
        step = np.linalg.solve((rows.T @ inner).astype(np.float64) + np.diag(penalty), slope)
        for _ in range(HALVINGS):
            odds, after = odds_and_loss(found + step)
            if after <= loss:
                break
            step = step / 2
        found, loss = found + step, after
        if np.abs(step).max() < SETTLED:
            break
    return found


def chances(log_odds: Floats32 | Floats) -> Floats:
    """(n, E): of each level, from log odds (n, E - 1) against the first."""
    odds = np.exp(np.column_stack([np.zeros(len(log_odds)), log_odds]))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class LabelBase:
    """How the event goes with the record among patients of the copula; and what real patients add
    to the line that says where they depart from it."""

    summaries: Summaries
    many: LogOdds
    latest: LogOdds
    scale: Scale  # of the few
    whitened: Floats32  # (E - 1, K, K): columns of a design to numbers that are alike and apart

    def designs(self, of: Summarised) -> tuple[Floats32, Floats32]:
        """The base's log odds (n, E - 1), and for each level its columns (E - 1, n, K)."""
        base, latest = self.many(of.many), self.latest(of.few[:, : of.latest])
        scaled = self.scale(of.few)
        one = np.ones((len(scaled), 1), np.float32)
        levels = range(base.shape[1])
        scores = ([x[:, k : k + 1] / SCORE_UNIT for x in (base, latest)] for k in levels)
        return base, np.stack([np.hstack([one, *both, scaled]) for both in scores])

    def rows(self, of: Summarised, event: Ints) -> Floats32:
        """(n, (E - 1) · K): (event − expected) times whitened columns, before clipping."""
        base, designs = self.designs(of)
        apart = residuals(base, event)
        pairs = zip(designs, self.whitened, strict=True)
        white = [each(design, columns.T) for design, columns in pairs]
        return np.concatenate([white[k] * apart[:, k : k + 1] for k in range(len(white))], axis=1)


def residuals(base: Floats32, event: Ints) -> Floats32:
    """(n, E - 1): each level but the first, observed less expected."""
    expected = chances(base)[:, 1:]
    return (one_hot(event, expected.shape[1] + 1)[:, 1:] - expected).astype(np.float32)


def label_width(schema: Schema) -> int:
    """Numbers in a row: a design for each level of the event but the first."""
    return (len(schema.levels("event")) - 1) * (SCORES + Summaries.few_number(schema))


def label_base(summaries: Summaries, pool: Summarised, event: Ints, weight: Floats) -> LabelBase:
    """Return the base of these patients of the copula."""
    levels = len(summaries.schema.levels("event"))
    many = fitted_log_odds(pool.many, event, weight, levels)
    latest = fitted_log_odds(pool.few[:, : pool.latest], event, weight, levels)
    unwhitened = np.zeros((levels - 1, 0, 0), np.float32)
    base = LabelBase(summaries, many, latest, Scale.of(pool.few, weight), unwhitened)
    _, designs = base.designs(pool)
    share = (weight / weight.sum())[:, None]
    whitened = []
    for design in designs.astype(np.float64):
        size, direction = np.linalg.eigh(design.T @ (design * share))
        whitened.append((direction / np.sqrt(np.maximum(size, THIN))).T)
    return replace(base, whitened=np.array(whitened, np.float32))


@dataclass(frozen=True)
class Labels:
    """Draws the event of a synthetic patient from the record."""

    base: LabelBase
    coding: Coding
    shift: Floats  # (E - 1, K): of the coefficients, from the base
    constant: Floats  # (E - 1,): what makes each level as frequent as released

    def log_odds(self, of: Summarised) -> tuple[Floats32, Floats]:
        """(n, E - 1) each: of the base, and of the posterior."""
        base, designs = self.base.designs(of)
        moved = np.stack([z @ t for z, t in zip(designs, self.shift, strict=True)], axis=1)
        return base, np.asarray(base + moved + self.constant)

    def drawn(self, made: Synthetic, stratum: Ints, strata: Strata, rng: Generator) -> Synthetic:
        """Return the same records with events of their own, and weights to match.

        Strata over-represent some events; so do the events that are drawn here. A record weighs
        what its events weigh, times how much more often the posterior expects it than the base."""
        schema = self.base.summaries.schema
        coded = self.coding.of(made)
        u = self.base.summaries.channels.of(coded)
        base, log_odds = self.log_odds(self.base.summaries.of(u, coded.length, stratum))
        site, group, _ = schema.strata[stratum].T
        levels = len(schema.levels("event"))
        same = [stratum_of((site, group, np.full_like(site, y)), schema) for y in range(levels)]
        weight = strata.weight[np.stack(same, axis=1)]  # (n, E)
        often = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0)
        wanted = np.maximum(chances(log_odds), RARE) * often
        total = wanted.sum(axis=1)
        expected = (np.maximum(chances(base), RARE) * often).sum(axis=1)
        event = dealt(wanted / total[:, None], rng)
        weight = total / expected * np.take_along_axis(weight, event[:, None], axis=1)[:, 0]
        return replace(made, event=event, weight=weight)


def dealt(chance: Floats, rng: Generator) -> Ints:
    """Return a level for each patient by these chances (n, E), as evenly as whole patients allow:
    among patients with like chances, each level is as frequent as they say."""
    event, left = np.zeros(len(chance), np.int64), np.ones(len(chance))
    waiting = np.arange(len(chance))
    for level in range(chance.shape[1] - 1, 0, -1):
        now = np.clip(chance[waiting, level] / np.maximum(left[waiting], RARE), 0.0, 1.0)
        order = rng.permutation(len(waiting))  # ties in no order
        order = order[np.argsort(now[order], kind="stable")]
        reached = np.floor(np.cumsum(now[order]) + rng.random())
        chosen = waiting[order[np.diff(reached, prepend=0.0) > 0]]
        event[chosen] = level
        left -= chance[:, level]
        waiting = np.flatnonzero(event == 0)
    return event


def read_labels(
    base: LabelBase,
    pool: Summarised,
    weight: Floats,
    *,
    released: Floats,
    noise: float,
    radius: float,
    patients: int,
    shares: Floats,
) -> Labels:
    """Return the labels that the released mean row explains best: Gauss-Newton steps to the maximum
    of the posterior around the base, with the patients of the pool in the place of the real ones
    and their rows clipped alike. The constant then gives each level its released share."""
    odds, designs = base.designs(pool)
    designs = designs.astype(np.float64)
    share = weight / weight.sum()  # of the pool
    white = designs @ base.whitened.transpose(0, 2, 1)
    levels, _, width = designs.shape
    size = levels * width
    nothing = np.zeros(len(share), np.int64)
    apart = np.stack([residuals(odds, nothing + y) for y in range(levels + 1)])  # (E, n, E - 1)
    long = np.sqrt(np.einsum("ynk,kn->yn", apart**2, (white**2).sum(axis=2)))
    apart = apart * np.minimum(1.0, radius / np.maximum(long, RARE))[:, :, None]
    sd = np.tile([CONSTANT_SD, *[SLOPE_SD] * 2, *[SUMMARY_SD] * (width - SCORES)], levels)
    shift = np.zeros((levels, width))
    for _ in range(STEPS):
        moved = np.stack([z @ t for z, t in zip(designs, shift, strict=True)], axis=1)
        chance = chances(odds + moved)
        expected, slope, chanced = np.empty(size), np.empty((size, size)), np.empty((size, size))
        for k in range(levels):
            here = slice(k * width, (k + 1) * width)
            mean = np.einsum("ny,yn->n", chance, apart[:, :, k])
            expected[here] = (share * mean) @ white[k]
            for j in range(levels):
                there = slice(j * width, (j + 1) * width)
                rise = chance[:, j + 1] * (apart[j + 1, :, k] - mean)
                slope[here, there] = white[k].T @ (designs[j] * (share * rise)[:, None])
                both = np.einsum("ny,yn->n", chance, apart[:, :, k] * apart[:, :, j])
                chanced[here, there] = white[k].T @ (white[j] * (share * both)[:, None])
        doubt = chanced / patients + noise**2 * np.eye(size)
        told = np.linalg.solve(doubt, np.column_stack([slope, released - expected]))
        curved = slope.T @ told[:, :-1] + np.diag(1 / sd**2)
        step = np.linalg.solve(curved, slope.T @ told[:, -1] - shift.ravel() / sd**2)
        shift += (step * min(1.0, 2 / max(np.abs(step).max(), 1e-12))).reshape(shift.shape)
        if np.abs(step).max() < SETTLED:
            break
    moved = np.stack([z @ t for z, t in zip(designs, shift, strict=True)], axis=1)
    constant = np.zeros(levels)
    for _ in range(STEPS):
        mean = share @ chances(odds + moved + constant)
        constant += np.log(shares[1:] / shares[0]) - np.log(mean[1:] / mean[0])
    return Labels(base, Coding(base.summaries.schema), shift, constant)
