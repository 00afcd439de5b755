"""Membership: can someone with a patient's record tell whether it was in the training cohort?"""

from collections.abc import Callable

import numpy as np

from longsynth.audit.attacks.fingerprint import Scale, nearest, records
from longsynth.audit.intervals import scored
from longsynth.audit.ranking import Ranking
from longsynth.audit.score import Better, Score
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats

NEIGHBOURS = 3  # whose mean log distance stands for a density
SMALLEST = 1e-6  # distance of a copy, so that its logarithm exists
FEWEST = 4  # people on either side of an attack
NOTES = {
    "mia_auc": "this attack only; what another one finds is bounded by the ledger, not by this",
    "mia_density_auc": "this attack only; what another one finds is bounded by the ledger",
    "mia_auc_control": "nobody here was trained on: how far the attack strays by chance",
    "mia_density_auc_control": "nobody here was trained on: how far the attack strays by chance",
}


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
    """Attack with distance, and with a ratio of densities; each beside a run on outsiders only.

    `control` must come from the same population as `train` and have no part in the fit. The
    `reference`, from there too, gives the unit of distances and what the density ratio divides
    by; without one, outsiders and half of them, drawn by `seed`, do.
    """
    members, outsiders, drawn = (records(schema, c) for c in (train, control, synthetic))
    known = outsiders if reference is None else records(schema, reference)
    scale = Scale(known)
    members, outsiders, known, drawn = map(scale, (members, outsiders, known, drawn))
    shuffled = outsiders[np.random.default_rng(seed).permutation(len(outsiders))]
    judged = shuffled
    if reference is None:
        known, judged = np.array_split(shuffled, 2)

    close = [-nearest(people, drawn)[0][:, 0] for people in (members, shuffled)]
    dense = [_log_ratio(people, drawn, known) for people in (members, judged)]
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


def _log_ratio(asked: Floats, drawn: Floats, reference: Floats) -> Floats:
    """How much denser synthetic records lie around a record than real outsiders do."""
    if len(reference) == 0:
        return np.zeros(len(asked))
    return _sparseness(asked, reference) - _sparseness(asked, drawn)


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
    (score,) = scored(
        _auc(name, inside, outside),
        (len(inside), len(outside)),
        _half,
        bootstrap=bootstrap,
        seed=seed,
        limits=lambda _: (0.0, 1.0),
        notes=lambda metric, _: NOTES[metric],
    )
    return score


def _auc(
    name: str, inside: Floats, outside: Floats
) -> Callable[[Floats, Floats], dict[str, float]]:
    label = np.repeat([1, 0], [len(inside), len(outside)])
    ranking = Ranking(label, np.concatenate([inside, outside]))
    return lambda a, b: {name: ranking.auroc(np.concatenate([a, b]))}


def _half(_: str) -> Better:
    return "half"
