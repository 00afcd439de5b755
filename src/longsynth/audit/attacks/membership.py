"""Membership: can someone with a patient's record tell whether it was in the training cohort?"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from longsynth.audit.metric import Metric, Score, scored
from longsynth.audit.ranking import Ranking
from longsynth.audit.view import summaries
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats
from longsynth.system.workers import single_thread

CHUNK = 256  # records compared at a time, so that memory does not grow with their product
FEW, BLOCK, SPARE = 2_048, 32, 5  # people; those screened together; more than asked for, to be sure


def records(schema: Schema, cohort: Trajectories) -> Floats:
    """(n, D): all that an attacker knows: summaries, sites, then group, and the event last."""
    sites = cohort.site[:, None] == np.arange(len(schema.sites))
    return np.column_stack([summaries(schema, cohort), sites, cohort.group, cohort.event])


class Scale:
    """Distances in standard deviations of a reference cohort, which the attacker also has."""

    def __init__(self, reference: Floats) -> None:
        spread = reference.std(axis=0)
        # a column that does not vary keeps its public unit: a record that differs in it is far away
        self._spread = np.where(spread > 1e-9, spread, 1.0)

    def __call__(self, points: Floats) -> Floats:
        return np.asarray(points / self._spread)


def nearest(asked: Floats, among: Floats, k: int = 1) -> tuple[Floats, np.ndarray]:
    """Return distance and position of the k nearest, nearest first: (n, k) each."""
    k = min(k, len(among))
    with single_thread():
        screen = _Screen(among, k) if len(among) > FEW else None
        find = screen.nearest if screen else partial(_nearest, among=among, k=k)
        parts = [find(asked[i : i + CHUNK]) for i in range(0, len(asked), CHUNK)]
    distance, position = _joined([p[0] for p in parts], k), _joined([p[1] for p in parts], k)
    return distance, position.astype(np.int64)


class _Screen:
    """Finds those who may be nearest in float32, from squares about the mean. Where its rounding
    could hide one who is nearer, people are asked about again, in float64."""

    def __init__(self, among: Floats, k: int) -> None:
        self._among, self._k, self._centre = among, k, among.mean(axis=0)
        points = among - self._centre
        squares = (points**2).sum(axis=1)
        blocks = -(-len(among) // BLOCK)
        self._points = np.zeros((points.shape[1] + 1, blocks * BLOCK), np.float32)
        self._points[:-1, : len(among)], self._points[-1] = points.T, np.inf
        self._points[-1, : len(among)] = squares
        self._largest = float(squares.max())

    def nearest(self, asked: Floats) -> tuple[Floats, np.ndarray]:
        points = asked - self._centre
        squares = (points**2).sum(axis=1)
        screen = np.column_stack([-2 * points, np.ones(len(asked))]).astype(np.float32)
        screen = (screen @ self._points).reshape(len(asked), BLOCK, -1)
        wide, row = self._k + SPARE, np.arange(len(asked))[:, None]
        best = np.argpartition(screen.min(axis=1), wide, axis=1)[:, :wide]  # blocks
        found = screen[row, :, best].reshape(len(asked), -1)
        place = np.argpartition(found, wide - 1, axis=1)[:, :wide]
        close = best[row, place // BLOCK] + place % BLOCK * screen.shape[2]
        distance, position = _exact(asked, self._among, close, self._k)
        others = found[row, place].max(axis=1) + squares  # nobody else is nearer by the screen
        rounding = (len(self._points) + 4) * float(np.finfo(np.float32).eps)  # of their sum
        doubt = rounding * (squares + self._largest)
        again = np.flatnonzero(others - doubt <= distance[:, -1] ** 2)
        if len(again):
            distance[again], position[again] = _nearest(asked[again], self._among, self._k)
        return distance, position


def _joined(parts: Sequence[np.ndarray], k: int) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty((0, k))


def _nearest(asked: Floats, among: Floats, k: int) -> tuple[Floats, np.ndarray]:
    """Screen by expanded squares, then take exact distances: copies are at distance 0."""
    screen = (among**2).sum(axis=1) - 2 * asked @ among.T
    wide = min(len(among), k + 2)
    return _exact(asked, among, np.argpartition(screen, wide - 1, axis=1)[:, :wide], k)


def _exact(asked: Floats, among: Floats, close: np.ndarray, k: int) -> tuple[Floats, np.ndarray]:
    """The k nearest of those that are close (n, ·)."""
    exact = np.sqrt(((asked[:, None] - among[close]) ** 2).sum(axis=2))
    order = np.lexsort((close, exact), axis=1)[:, :k]
    return np.take_along_axis(exact, order, 1), np.take_along_axis(close, order, 1)


NEIGHBOURS = 3  # whose mean log distance stands for a density
SMALLEST = 1e-6  # distance of a copy, so that its logarithm exists
FEWEST = 4  # people on either side of an attack


def membership_scores(
    schema: Schema,
    train: Trajectories,
    control: Trajectories,
    synthetic: Trajectories,
    reference: Trajectories | None = None,
    *,
    bootstrap: int = 0,
    seed: int = 0,
) -> list[Score]:
    """Attack by distance and by a ratio of densities, each also on outsiders only, as a control.

    `control` must come from the same population as `train` and have no part in the fit. So must
    `reference`, which gives the unit of distances and the denominator of the density ratio. Without
    it, all outsiders give the unit, and half of them, drawn by `seed`, the denominator.
    """
    members, outsiders, generated = (records(schema, c) for c in (train, control, synthetic))
    known = outsiders if reference is None else records(schema, reference)
    scale = Scale(known)
    members, outsiders, known, generated = map(scale, (members, outsiders, known, generated))
    shuffled = outsiders[np.random.default_rng(seed).permutation(len(outsiders))]
    attacked = shuffled
    if reference is None:
        known, attacked = np.array_split(shuffled, 2)

    around = [nearest(people, generated, NEIGHBOURS)[0] for people in (members, shuffled)]
    close = [-distance[:, 0] for distance in around]
    around[1] = around[1][len(shuffled) - len(attacked) :]  # the attacked are the last of them
    dense = [
        _log_ratio(people, known, distance)
        for people, distance in zip((members, attacked), around, strict=True)
    ]
    attacks = {
        "mia_auc": (close[0], close[1]),
        "mia_auc_control": _halves(close[1]),
        "mia_density_auc": (dense[0], dense[1]),
        "mia_density_auc_control": _halves(dense[1]),
    }
    return [
        _attack(name, inside, outside, bootstrap, seed)
        for name, (inside, outside) in attacks.items()
    ]


def _log_ratio(asked: Floats, reference: Floats, to_generated: Floats) -> Floats:
    """How much denser synthetic records lie around a record than real outsiders do."""
    if len(reference) == 0:
        return np.zeros(len(asked))
    return _sparseness(nearest(asked, reference, NEIGHBOURS)[0]) - _sparseness(to_generated)


def _sparseness(distance: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(distance, SMALLEST)).mean(axis=1))


def _halves(score: Floats) -> tuple[Floats, Floats]:
    first, second = np.array_split(score, 2)
    return first, second


def _attack(name: str, inside: Floats, outside: Floats, bootstrap: int, seed: int) -> Score:
    """Score an attack; both sides are resampled, the synthetic patients stay as released."""
    if min(len(inside), len(outside)) < FEWEST:
        note = "too few patients to attack: give a larger control cohort"
        return Score(name, np.nan, np.nan, np.nan, "half", note)
    sizes = (len(inside), len(outside))
    (score,) = scored(
        _auc(name, inside, outside), sizes, MEMBERSHIP, bootstrap=bootstrap, seed=seed
    )
    return score


def _auc(
    name: str, inside: Floats, outside: Floats
) -> Callable[[Floats, Floats], dict[str, float]]:
    label = np.repeat([1, 0], [len(inside), len(outside)])
    ranking = Ranking(label, np.concatenate([inside, outside]))
    return lambda a, b: {name: ranking.auroc(np.concatenate([a, b]))}


def _with_control(name: str, by: str, short: str, meaning: str) -> list[Metric]:
    """An attack and its control, computed from the training, control and synthetic cohorts."""
    return [
        Metric(
            name,
            f"membership by {by}, AUC",
            "half",
            meaning,
            membership_scores,
            short=short,
            note="this attack only; the ledger bounds what any other attack can find",
            compare=f"`{name}_control`",
        ),
        Metric(
            f"{name}_control",
            "· control: outsiders only",
            "half",
            "The same with outsiders in both roles.",
            membership_scores,
            note="nobody here was trained on: how far the attack deviates by chance",
        ),
    ]


MEMBERSHIP = [
    *_with_control(
        "mia_auc",
        "distance",
        "MIA AUROC",
        "Patients closest to a synthetic record are taken for members.",
    ),
    *_with_control(
        "mia_density_auc",
        "density",
        "Density MIA AUROC",
        "Patients are taken for members if synthetic records around them are denser than real "
        "outsiders. Half of the control cohort is that reference.",
    ),
]
