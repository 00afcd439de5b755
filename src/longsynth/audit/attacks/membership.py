"""Membership: can someone with a patient's record tell whether it was in the training cohort?"""

from collections.abc import Callable, Sequence

import numpy as np

from longsynth.audit.metric import Metric, Score, scored
from longsynth.audit.ranking import Ranking
from longsynth.audit.view import summaries
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats
from longsynth.system.workers import single_thread

CHUNK = 1024  # records compared at a time, so that memory does not grow with their product


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
        parts = [_nearest(asked[i : i + CHUNK], among, k) for i in range(0, len(asked), CHUNK)]
    distance, position = _joined([p[0] for p in parts], k), _joined([p[1] for p in parts], k)
    return distance, position.astype(np.int64)


def _joined(parts: Sequence[np.ndarray], k: int) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty((0, k))


def _nearest(asked: Floats, among: Floats, k: int) -> tuple[Floats, np.ndarray]:
    """Screen by expanded squares, then take exact distances: copies are at distance 0."""
    screen = (among**2).sum(axis=1) - 2 * asked @ among.T
    wide = min(len(among), k + 2)
    close = np.argpartition(screen, wide - 1, axis=1)[:, :wide]
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

    close = [-nearest(people, generated)[0][:, 0] for people in (members, shuffled)]
    dense = [_log_ratio(people, generated, known) for people in (members, attacked)]
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


def _log_ratio(asked: Floats, generated: Floats, reference: Floats) -> Floats:
    """How much denser synthetic records lie around a record than real outsiders do."""
    if len(reference) == 0:
        return np.zeros(len(asked))
    return _sparseness(asked, reference) - _sparseness(asked, generated)


def _sparseness(asked: Floats, among: Floats) -> Floats:
    distance = nearest(asked, among, NEIGHBOURS)[0]
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
