"""Telling apart: a classifier that looks for any difference between real and synthetic."""

import numpy as np

from longsynth.audit.classifiers import fitted_probability
from longsynth.audit.comparisons.comparison import Measure
from longsynth.audit.ranking import Ranking
from longsynth.audit.summaries import summaries
from longsynth.audit.view import weights
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Floats, Ints

FOLDS = 3


def telling_apart(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Cross-validated AUC of a boosted classifier on summaries, event, group and site.

    Each cohort weighs the same in training. The folds are made once: bootstrap weights count the
    patients judged, not those trained on.
    """
    features = np.vstack([_features(schema, real), _features(schema, synthetic)])
    label = np.repeat([0, 1], [real.patients, synthetic.patients])
    weight = np.concatenate([np.ones(real.patients), weights(synthetic)])
    score = _out_of_fold(features, label, weight)
    ranking = Ranking(label, score)

    def measure(real_weight: Floats, synthetic_weight: Floats) -> dict[str, float]:
        both = np.concatenate([real_weight, synthetic_weight])
        return {"real_vs_synthetic_auc": ranking.auroc(both)}

    return measure


def _out_of_fold(features: Floats, label: Ints, weight: Floats) -> Floats:
    """Copies of one record share a fold, or a copied record would count as a lesson on itself."""
    _, record = np.unique(features, axis=0, return_inverse=True)
    records = int(record.max()) + 1
    fold = np.random.default_rng(0).permutation(records)[record.ravel()] % FOLDS
    score = np.zeros(len(label))
    for held_out in range(FOLDS):
        train, judge = fold != held_out, fold == held_out
        balanced = weight[train].copy()
        for kind in (0, 1):
            chosen = label[train] == kind
            if balanced[chosen].sum() > 0:
                balanced[chosen] *= len(balanced) / 2 / balanced[chosen].sum()
        if judge.any():
            score[judge] = fitted_probability(
                "boosted", features[train], label[train], balanced, features[judge]
            )
    return score


def _features(schema: Schema, cohort: Trajectories) -> Floats:
    sites = cohort.site[:, None] == np.arange(len(schema.sites))
    return np.column_stack([summaries(schema, cohort), cohort.event, cohort.group, sites])
