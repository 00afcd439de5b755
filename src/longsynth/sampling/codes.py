"""Codes from public lists: released sums, and which codes synthetic patients have in which slots.

A method generates records; codes come on top, given the labels and the length of each record. A
Gaussian copula says which codes a patient ever has: thresholds from the released counts, shifted by
label, and correlations from the released pairs. Then each code gets a start and a course.

All sums have noise of a known deviation, so everything is shrunk by what the noise explains:
prevalences towards an exponential law, differences between labels towards none, pairs towards a
matrix of low rank with few exceptions, and starts and courses towards those of all codes.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from longsynth.bundle import Bundle, per_unit
from longsynth.encoding.record import (
    COURSES,
    ON_AND_OFF,
    ONCE,
    RUN,
    STARTS,
    TO_THE_END,
    code_labels,
    label_blocks,
    strata,
    within_cap,
)
from longsynth.privacy.statistic import DIAGONAL, OFF_DIAGONAL
from longsynth.schema.record import Trajectories, packed_codes
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Bytes, Floats, Ints, sizes_only

CODES, CODE_TIMES, CODE_PAIRS = "codes", "code times", "code pairs"
RAREST = 1e-7  # of the patients: a threshold stays finite
ROUNDS = 20  # of fitting margins, and of low rank with an unknown diagonal
TERMS = 10  # of the series of a bivariate normal probability
STRONGEST = 0.95  # correlation
LEAST = 1e-3  # eigenvalue of correlations
CALIBRATIONS, SEED = 3, 2  # for what the cap takes away; public
AT_ONCE = 4096  # courses drawn together


Labels = NDArray[np.int8]  # (n, labels), see `code_labels`


Patients = TypeVar("Patients", bound=Any)  # Synthetic, which knows this file


class _Reading(NamedTuple):
    """Sums over patients, and the deviation of their noise."""

    ever: Floats  # (labels, C)
    ever_noise: float
    when: Floats  # (starts + courses, C)
    when_noise: float
    pairs: Floats  # (C, C)
    pair_noise: float  # off the diagonal


@dataclass(frozen=True, slots=True)
class Codes:
    """Draws the codes of patients."""

    schema: Schema
    base: Floats  # (C,), thresholds
    shift: Floats  # (labels, C), of thresholds
    root: Floats  # (C, C), triangular: of the correlations
    starts: Floats  # (starts, C), shares
    courses: Floats  # (courses, C), shares

    __repr__ = sizes_only

    def draw(self, stratum: Ints, length: Ints, rng: Generator) -> Bytes:
        """(n, T, bytes), one bit for each code. No patient has more of a list than its cap."""
        schema = self.schema
        ever = self.ever(code_labels(stratum, length, schema), rng)
        patient, code = np.nonzero(within_cap(ever, rng.random(ever.shape), schema))
        shares = self.starts[:, code], self.courses[:, code]
        found: list[tuple[Ints, Ints, Ints]] = []
        for first in range(0, len(patient), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            starts, courses = (s[:, some] for s in shares)
            given = slots_of(length[patient[some]], starts, courses, schema.slots, rng)
            row, slot = np.nonzero(given)
            found.append((patient[some][row], slot, code[some][row]))
        empty = np.zeros(0, np.int64)
        parts = [np.concatenate([empty, *(f[i] for f in found)]) for i in range(3)]
        return packed_codes((len(stratum), schema.slots), len(schema.code_names), *parts)

    def given_to(self, made: Patients, stratum: Ints, rng: Generator) -> Patients:
        """Return generated patients with codes."""
        return replace(made, codes=self.draw(stratum, made.length, rng))

    def ever(self, labels: Labels, rng: Generator) -> Bools:
        """(n, C): which codes a patient ever has, before the cap."""
        noise = rng.standard_normal((len(labels), len(self.base)), np.float32)
        thresholds = labels.astype(np.float32) @ self.shift.astype(np.float32)
        thresholds += self.base.astype(np.float32)
        return np.asarray(noise @ self.root.T.astype(np.float32) < thresholds)


def released_codes(bundle: Bundle, some: Trajectories, mass: Floats) -> Codes | None:
    """Return what draws the codes that a bundle describes; None if it has none. `some` are patients
    that the model generated, and `mass` are the shares of the strata: they say how labels and
    lengths come together."""
    schema = bundle.schema
    if not schema.codes or CODES not in bundle.released:
        return None
    read, number = _read(bundle), bundle.patients
    stratum = strata(some, schema)
    alike = np.bincount(stratum, minlength=len(mass))
    each = np.maximum(mass[stratum], 1e-12) / alike[stratum]
    labels, place = np.unique(
        code_labels(stratum, some.length, schema), axis=0, return_inverse=True
    )
    weight = np.bincount(place.ravel(), each, minlength=len(labels)) / each.sum()
    share = prevalences(read, label_blocks(schema), number)
    base, shift = _thresholds(share, read, labels, weight, number)
    at = base + labels @ shift
    root = np.asarray(
        np.linalg.cholesky(_correlations(share, at, weight, read, number)), np.float64
    )
    starts = _shares(read.when[:STARTS], read.when_noise)
    courses = _shares(read.when[STARTS:], read.when_noise)
    codes = Codes(schema, base, shift, root, starts, courses)
    return _calibrated(codes, labels[place.ravel()], each / each.sum(), share)


def _read(bundle: Bundle) -> _Reading:
    schema = bundle.schema
    size, labels = len(schema.code_names), sum(label_blocks(schema))
    if bundle.ledger.budget is None:
        ever, when = bundle.array(CODES, labels, size), bundle.array(CODE_TIMES, -1, size)
        return _Reading(ever, 0.0, when, 0.0, bundle.array(CODE_PAIRS, size, size), 0.0)
    noise = {
        name: bundle.released[name].entry.sigma / per_unit(bundle.released[name].entry.statistic)
        for name in (CODES, CODE_TIMES, CODE_PAIRS)
    }
    sums = {name: bundle.patients * bundle.mean(name) for name in noise}
    return _Reading(
        sums[CODES],
        noise[CODES],
        sums[CODE_TIMES].reshape(-1, size),
        noise[CODE_TIMES],
        sums[CODE_PAIRS],
        noise[CODE_PAIRS] * DIAGONAL / OFF_DIAGONAL,
    )


def prevalences(read: _Reading, blocks: list[int], number: int) -> Floats:
    """(C,): the share of patients with each code. Every block of labels counts all patients, and so
    does the diagonal of pairs: we weight them by their noise. The prior is an exponential law, the
    least informative one of a positive number with a known mean."""
    ends = np.cumsum(blocks)
    totals = [part.sum(axis=0) for part in np.split(read.ever, ends[:-1])]
    precision = [1 / max(cells * read.ever_noise**2, 1e-12) for cells in blocks]
    totals.append(np.diag(read.pairs))
    precision.append(1 / max((read.pair_noise * OFF_DIAGONAL / DIAGONAL) ** 2, 1e-12))
    share = np.average(totals, axis=0, weights=precision) / number
    noise = 1 / np.sqrt(sum(precision)) / number
    mean = max(float(share.mean()), noise / np.sqrt(len(share)), RAREST)
    centre = (share - noise**2 / mean) / noise  # of a normal law that is cut off at zero
    density = np.exp(-(centre**2) / 2 - log_ndtr(centre)) / np.sqrt(2 * np.pi)
    return np.asarray(np.clip(noise * (centre + density), RAREST, 1 - RAREST))


def _thresholds(
    share: Floats, read: _Reading, labels: Labels, weight: Floats, number: int
) -> tuple[Floats, Floats]:
    """Return thresholds (C,) and their shifts (labels, C). Labels come together in a patient, so
    shifts are fitted to what each label shows by itself."""
    base = ndtri(share)
    of_label = labels.T * weight  # (labels, rows of `labels`)
    known = np.maximum(of_label.sum(axis=1), 1e-9)[:, None]  # the share of each label
    slope = number * known * np.exp(-(base**2) / 2) / np.sqrt(2 * np.pi)
    apart = read.ever - number * known * share
    shift = _shrunk(apart, slope, read.ever_noise**2 + number * known * share * (1 - share))
    wanted = base + shift
    for _ in range(ROUNDS):
        chances = ndtr(base + labels @ shift)
        have = ndtri(np.clip(of_label @ chances / known, RAREST, 1 - RAREST))
        shift += np.where(known > 1e-8, wanted - have, 0.0) / 2
        have = ndtri(np.clip(weight @ ndtr(base + labels @ shift), RAREST, 1 - RAREST))
        base += ndtri(share) - have
    return base, shift


def _shrunk(apart: Floats, slope: Floats, variance: Floats) -> Floats:
    """Return effects (rows, C) from slope · effect + noise. All of a row have one prior deviation:
    what the noise leaves unexplained."""
    prior = ((apart**2 - variance) / slope**2 * _precision(slope, variance)).sum(axis=1)
    prior = np.maximum(prior / _precision(slope, variance).sum(axis=1), 0.0)[:, None]
    return np.asarray(prior * slope * apart / (prior * slope**2 + variance))


def _precision(slope: Floats, variance: Floats) -> Floats:
    return np.asarray((slope**2 / np.maximum(variance, 1e-12)) ** 2 + 1e-30)


def _shares(counts: Floats, noise: float) -> Floats:
    """(rows, C): how the patients with a code divide, shrunk towards all codes together."""
    together = np.maximum(counts.sum(axis=1), noise * np.sqrt(counts.shape[1]) / 10 + 1e-9)
    common = (together / together.sum())[:, None]
    number = np.maximum(counts.sum(axis=0), max(noise, 1e-9))
    variance = noise**2 + number * common * (1 - common) + 1e-12
    slope = np.broadcast_to(number, counts.shape)
    shares = common + _shrunk(counts - number * common, slope, variance)
    shares = np.maximum(shares, 1e-9)
    return np.asarray(shares / shares.sum(axis=0))


def _correlations(share: Floats, at: Floats, weight: Floats, read: _Reading, number: int) -> Floats:
    """(C, C): correlations of the copula, from how much more often two codes come together than
    labels explain."""
    chances = ndtr(at)  # (rows of labels, C)
    apart = read.pairs / number - (chances.T * weight) @ chances
    noise, spread = read.pair_noise / number, share * (1 - share)
    scale = (noise**2 + spread**2 / number) ** 0.25  # so that every entry has noise of about 1
    apart = _denoised(apart / np.outer(scale, scale), spread / scale) * np.outer(scale, scale)
    found = _inverted(apart, at, weight)
    np.fill_diagonal(found, 1.0)
    values, vectors = np.linalg.eigh(found)
    repaired = (vectors * np.maximum(values, LEAST)) @ vectors.T
    deviation = np.sqrt(np.diag(repaired))
    return np.asarray(repaired / np.outer(deviation, deviation))


def _denoised(matrix: Floats, usual: Floats) -> Floats:
    """Return a symmetric matrix whose entries had noise of deviation 1, of unknown diagonal: the
    part of low rank that stands out, and single entries that stand out of the rest.

    Noise is the same for all codes, but two rare codes cannot have much to do with each other. So
    each entry of an eigenvector is shrunk by itself: `usual` (C,) is how large it is by prevalence.
    """
    size, low = len(matrix), np.zeros_like(matrix)
    usual = (usual**2 / (usual**2).sum())[:, None]
    for _ in range(ROUNDS):
        whole = matrix.copy()
        np.fill_diagonal(whole, np.diag(low))
        values, vectors = np.linalg.eigh(whole)
        out = values**2 > 4 * size  # of what noise alone reaches
        values, vectors = values[out], vectors[:, out]
        strength = (np.abs(values) + np.sqrt(values**2 - 4 * size)) / 2  # without the noise
        prior, noise = (1 - size / strength**2) * usual, 1 / strength**2
        vectors = vectors * prior / (prior + noise)
        low = (vectors * np.sign(values) * strength) @ vectors.T
    rest, least = matrix - low, np.sqrt(2 * np.log(max(size * (size - 1) / 2, 2)))
    np.fill_diagonal(rest, 0.0)
    return np.asarray(low + np.sign(rest) * np.maximum(np.abs(rest) - least, 0.0))


def _inverted(apart: Floats, at: Floats, weight: Floats) -> Floats:
    """(C, C): the correlations at which two codes come together so much more often than by chance,
    by bisection of Mehler's series."""
    density, terms = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi), []
    before, hermite, factor = np.zeros_like(at), np.ones_like(at), 1.0
    for k in range(1, TERMS + 1):
        factor /= k
        part = density * hermite
        terms.append(factor * (part.T * weight) @ part)
        before, hermite = hermite, at * hermite - (k - 1) * before
    low, high = np.full_like(apart, -STRONGEST), np.full_like(apart, STRONGEST)
    for _ in range(30):
        middle, series = (low + high) / 2, np.zeros_like(apart)
        for term in reversed(terms):
            series = (series + term) * middle
        low, high = np.where(series < apart, middle, low), np.where(series < apart, high, middle)
    return np.asarray(np.where(np.abs(apart) < 1e-15, 0.0, (low + high) / 2))


def _calibrated(codes: Codes, labels: Labels, weight: Floats, share: Floats) -> Codes:
    """Return the same with thresholds that make up for what the cap takes away."""
    wanted, target = share.copy(), share
    for _ in range(CALIBRATIONS):
        rng = Generator(SFC64(SeedSequence(SEED)))
        ever = codes.ever(labels, rng)
        kept = within_cap(ever, rng.random(ever.shape), codes.schema)
        lost = weight @ (ever & ~kept)
        if not lost.any():
            break
        more = np.clip(target + lost, RAREST, 0.9)
        base = codes.base + ndtri(more) - ndtri(np.clip(wanted, RAREST, 0.9))
        codes, wanted = replace(codes, base=base), more
    return codes


def slots_of(length: Ints, starts: Floats, courses: Floats, most: int, rng: Generator) -> Bools:
    """(n, T): slots of one code each, in records of these lengths, from the shares of starts and
    courses (…, n)."""
    number, slots = len(length), np.arange(most)
    u = rng.random((5, number))
    start, course = (
        (np.cumsum(s, axis=0) < u[i]).sum(axis=0) for i, s in enumerate((starts, courses))
    )
    half, later = (length - 1) // 2, np.maximum(length - 1, 0)
    start = np.where((start == 1) & (half == 0), 2, np.minimum(start, STARTS - 1))
    low = np.where(start == 1, 1, half + 1)
    high = np.where(start == 1, half, later)
    first = np.where((start == 0) | (later == 0), 0, low + np.floor(u[2] * (high - low + 1)))
    left = later - first  # slots after the first
    course = np.where((course == RUN) & (left < 2), ONCE, np.minimum(course, COURSES - 1))
    course = np.where((course == ON_AND_OFF) & (left < 2), TO_THE_END, course)
    run = first + 1 + np.floor(u[3] * np.maximum(left - 1, 1))
    pause = first + 1 + np.floor(u[3] * np.maximum(left - 1, 1))
    again = pause + 1 + np.floor(u[4] * np.maximum(later - pause, 1))
    last = np.select(
        [course == ONCE, course == RUN, course == TO_THE_END], [first, run, later], again
    )
    given = (slots >= first[:, None]) & (slots <= last[:, None])
    off = course == ON_AND_OFF
    between = (slots > pause[off, None]) & (slots < again[off, None])
    missing = (slots == pause[off, None]) | (between & (rng.random(between.shape) < 0.5))
    given[off] &= ~missing
    return np.asarray(given & (slots < np.maximum(length, 0)[:, None]))
