"""Run a study from scratch and write its artefacts."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from longsynth.system.errors import Refused
from longsynth_lab.errors import LabCode
from longsynth_lab.experiments import (
    METHODS,
    STEERING_SEEDS,
    UTILITY,
    Experiment,
    Setting,
    membership_experiment,
)
from longsynth_lab.paper.section_v import SEEDS, paper_study
from longsynth_lab.paper.validation import Validation, validate
from longsynth_lab.results import read_results, write_text_whole
from longsynth_lab.runner import run_experiments


def run_paper(
    out: Path,
    *,
    seeds: Sequence[int] = SEEDS,
    jobs: int = 1,
    resume: bool = False,
    experiments: Sequence[Experiment] | None = None,
) -> Validation:
    """Run the paper's study, write and check every artefact. `experiments` is for tests."""
    from longsynth_lab.paper.artefacts import write_artefacts

    _distinct(seeds)
    run_experiments(experiments or paper_study(seeds), out, jobs=jobs, resume=resume)
    write_artefacts(out)
    return validate(out)


def run_population(
    out: Path,
    *,
    methods: Sequence[str] = METHODS,
    epsilons: Sequence[float] = (12.0,),
    seeds: Sequence[int] = STEERING_SEEDS,
    train_patients: int = 504,
    fresh: int = 20_000,
    jobs: int = 1,
    resume: bool = False,
) -> str:
    """Compare methods on held-out patients, write DIR/POPULATION.md and return its text."""
    from longsynth_lab.evidence.cohort_pages import steering_text

    _distinct(seeds)
    study = population_study(tuple(methods), epsilons, seeds, train_patients, fresh)
    run_experiments(study, out, jobs=jobs, resume=resume)
    text = steering_text(read_results(out / "results.parquet"))
    write_text_whole(out / "POPULATION.md", text)
    return text


def run_membership(
    out: Path,
    *,
    methods: Sequence[str],
    epsilons: Sequence[float] = (1.0, 4.0, 12.0),
    seeds: Sequence[int] = STEERING_SEEDS,
    train_patients: int = 504,
    jobs: int = 1,
    resume: bool = False,
) -> str:
    """Run the fair membership game, write DIR/MEMBERSHIP.md and return its text."""
    from longsynth_lab.membership import membership_text

    _distinct(seeds)
    study = membership_study(tuple(methods), epsilons, seeds, train_patients)
    run_experiments(study, out, jobs=jobs, resume=resume)
    text = membership_text(read_results(out / "results.parquet"))
    write_text_whole(out / "MEMBERSHIP.md", text)
    return text


def _distinct(seeds: Sequence[int]) -> None:
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise Refused(
            LabCode.SEEDS_UNUSABLE,
            "The seeds are empty, repeated or negative.",
            "Give one or more different whole numbers of zero or more.",
        )


def membership_study(
    methods: tuple[str, ...],
    epsilons: Iterable[float],
    seeds: Iterable[int] = STEERING_SEEDS,
    train_patients: int = 504,
) -> tuple[Experiment, ...]:
    """Return only the fair game, for any methods and budgets, without a split."""
    settings = {
        f"{epsilon:g}": Setting(
            epsilon=epsilon,
            patients=train_patients,
            fresh=2 * train_patients,
        )
        for epsilon in epsilons
    }
    return (membership_experiment(methods, tuple(seeds), settings),)


def population_study(
    methods: tuple[str, ...],
    epsilons: Iterable[float],
    seeds: Iterable[int] = STEERING_SEEDS,
    train_patients: int = 504,
    fresh: int = 20_000,
) -> tuple[Experiment, ...]:
    """Return a comparison with many seeds and enough held-out patients to see differences."""
    settings = {
        f"{epsilon:g}": Setting(
            epsilon=epsilon,
            patients=train_patients,
            fresh=fresh,
        )
        for epsilon in epsilons
    }
    return (
        Experiment(
            "population",
            "How good is a release for the population its patients came from?",
            methods,
            tuple(seeds),
            settings,
            (*UTILITY, "boosted", "fidelity in short"),
        ),
    )
