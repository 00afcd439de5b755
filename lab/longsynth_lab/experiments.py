"""Experiments as data: who the patients are, what is fitted and what is measured."""

from collections.abc import Mapping
from dataclasses import dataclass

from longsynth.privacy.budget import DEFAULT_ACCOUNTING, Accounting

PROPOSED = "trust"
BASELINES = ("bootstrap", "independent", "temporal-pca", "scorediff", "dp-markov", "dp-score")
METHODS = (*BASELINES, PROPOSED)  # the order of every table and figure
PRIVATE = ("dp-markov", "dp-score", PROPOSED)
TRAIN_ON_REAL, BASE_RATE = "train on real", "base rate"
REFERENCES = (TRAIN_ON_REAL, BASE_RATE)  # judged like a method, but nothing is synthesised
STEERING_SEEDS = tuple(range(101, 121))  # development seeds: they choose, and never judge

UTILITY = ("utility", "subgroups")

Constant = tuple[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to generate and evaluate a synthetic cohort."""

    source: str = "simulated"  # of the patients: a name in `patients.SOURCES`
    epsilon: float = 12.0
    delta: float = 1e-5
    accounting: Accounting = DEFAULT_ACCOUNTING
    patients: int = 720  # simulated, before the split
    train: int | None = None  # so many of the training part; None: all of them
    extra_missing: float = 0.0  # chance that an observed cell of anyone is lost as well
    canary: int = 0  # copies of one extreme patient put in the place of training patients
    constants: tuple[Constant, ...] = ()  # public constants other than their defaults
    fresh: int = 0  # judged on so many patients of another seed; then there is no split
    weighted: bool = True  # whether population weights count when the classifier is trained


@dataclass(frozen=True, slots=True)
class Experiment:
    name: str
    question: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    settings: Mapping[str, Setting]  # by the label that stands in the results
    measures: tuple[str, ...]  # names in `measures.MEASURES`
    bootstrap: int = 0
    alone: bool = False  # measures the clock: nothing else may run beside it
    references: bool = True  # rows of REFERENCES beside the methods
    draws: int = 1  # of noise and synthetic patients for each seed

    @property
    def all_methods(self) -> tuple[str, ...]:
        return (*self.methods, *(REFERENCES if self.references else ()))


MAIN = "main"  # the label of the one setting of an experiment without settings


def membership_experiment(
    methods: tuple[str, ...], seeds: tuple[int, ...], settings: Mapping[str, Setting]
) -> Experiment:
    """Return the fair membership game, with a copy of the training patients for comparison."""
    return Experiment(
        "membership",
        "Can members be told from others of the same population?",
        (*methods, TRAIN_ON_REAL),
        seeds,
        settings,
        ("membership swapped",),
        references=False,
    )
