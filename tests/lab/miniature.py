"""The paper's whole study in small: every experiment, method, metric and file."""

from dataclasses import replace

from longsynth_lab.experiments import Experiment, Setting
from longsynth_lab.paper.section_v import paper_study

SEEDS, PATIENTS = (11, 22), 120
SEVERAL = (
    "dataset",
    "comparison",
    "membership",
    "epsilon",
    "ablation",
    "departures",
    "marginals",
)  # experiments with more than one seed


def miniature(seeds: tuple[int, ...] = SEEDS) -> list[Experiment]:
    """The whole study, smaller: few patients, the ends of each sweep, no resampling."""
    return [
        replace(
            experiment,
            seeds=experiment.seeds[: len(seeds) if experiment.name in SEVERAL else 1],
            settings=_ends(experiment),
            measures=tuple(m for m in experiment.measures if m != "telling apart"),
            bootstrap=0,
        )
        for experiment in paper_study(seeds, patients=PATIENTS)
    ]


def _ends(experiment: Experiment) -> dict[str, Setting]:
    if experiment.name in ("canary", "ablation", "departures", "marginals"):  # fixed labels
        return dict(experiment.settings)
    if experiment.name == "scarcity":  # fewer than there are
        first = next(iter(paper_study(patients=PATIENTS)[1].settings.values()))
        return {"40": replace(first, train=40), "84": first}
    if experiment.name == "scaling":
        return dict(list(experiment.settings.items())[:2])
    labels = list(experiment.settings)
    return {label: experiment.settings[label] for label in {labels[0]: 0, labels[-1]: 0}}
