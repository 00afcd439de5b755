"""Real against synthetic patients. All results stay internal.

metric, registry           what a metric and a score are; every metric by section
utility, ranking           models trained on synthetic patients, overall and by group
fidelity, marginals,
dependence                 distances between two cohorts
attacks/                   membership, attribute and canary attacks
game/                      the distinguishing game against the guarantee itself
view, classifiers          what all metrics share: one scale, summaries, two classifiers
audit, result              all of it on one synthetic cohort
inputs, refit              what an audit reads: cohorts, weights, the run to fit again
description                a cohort in a few hundred numbers, for plots
"""
