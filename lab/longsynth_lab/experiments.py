"""The study as data: who is simulated, what is fitted and what is measured.

The runner knows none of these names. Adding an experiment is adding an entry here; equal
settings of several experiments are run once and share their numbers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from longsynth.privacy.budget import DEFAULT_ACCOUNTING, Accounting
from longsynth_lab import printed

PROPOSED = "trust"
BASELINES = ("bootstrap", "independent", "temporal-pca", "scorediff", "dp-markov", "dp-score")
METHODS = (*BASELINES, PROPOSED)  # the order of every table and figure
PRIVATE = ("dp-markov", "dp-score", PROPOSED)
TRAIN_ON_REAL, BASE_RATE = "train on real", "base rate"
REFERENCES = (TRAIN_ON_REAL, BASE_RATE)  # judged like a method, but nothing is synthesised

SEEDS = (11, 22, 33, 44, 55)  # tab:configuration
STEERING_SEEDS = tuple(range(101, 121))  # development seeds: they choose, and never judge
ABLATION_SEEDS = 3  # how many of the seeds
COMPARISON_BOOTSTRAP = 200  # resamples of the judged patients for each seed's own interval

UTILITY = ("utility", "subgroups")
QUALITY = (*UTILITY, "fidelity", "membership")

Constant = printed.Constant


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to make and judge a synthetic cohort."""

    world: str = "simulated"  # where patients come from: a name in `worlds.WORLDS`
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


# The paper's study. It says that the floor is there for downstream training and that the weights
# restore summaries of the population: so its classifier counts every synthetic patient once. Its
# accounting is the formula of eq:composition.
PRINTED = Setting(accounting="paper", constants=printed.AS_PRINTED, weighted=False)


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


EPSILONS = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0)
TRAINING_SIZES = (120, 200, 350, 504)
EXTRA_MISSING = (0.0, 0.1, 0.2, 0.3, 0.4)
TOTAL_PATIENTS = (360, 720, 1440, 2880, 5760)
STRESSED = ("temporal-pca", "dp-score", PROPOSED)
SCALED = ("scorediff", "dp-score", PROPOSED)
MAIN = "main"  # the label of the one setting of an experiment without settings

ABLATION: dict[str, tuple[Constant, ...]] = {
    "Full": (),
    "No fairness floor": (("event_floor", 0.0),),
    "Diagonal covariance": (("covariance", "diagonal"),),
    "Unconditioned masks/gaps": (("shrinkage", 0.0),),
}
OURS = "Ours"
DEPARTURES: dict[str, Setting] = {  # of `trust`: ours, the paper's, and one choice at a time undone
    OURS: Setting(),
    "As printed": PRINTED,
    "Classifier without weights": Setting(weighted=False),
    "The paper's formula for ε": Setting(accounting="paper"),
    **{
        label: Setting(constants=undone)
        for label, undone in printed.DEPARTURES.items()
        if label != printed.MARGINALS
    },
}
MARGINALS: dict[str, Setting] = {  # of `independent`
    OURS: Setting(),
    printed.MARGINALS: Setting(constants=printed.DEPARTURES[printed.MARGINALS]),
}
CANARIES = {"4 copies": 4, "1 copy": 1, "no canary": 0}


def paper_study(
    seeds: Iterable[int] = SEEDS, methods: tuple[str, ...] = METHODS, patients: int = 720
) -> tuple[Experiment, ...]:
    """Return every experiment of the paper's section V, as printed, and beside them what our own
    choices change. `methods` and `patients` are for tests."""
    drawn = tuple(seeds)
    base = replace(PRINTED, patients=patients)

    def only(wanted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in wanted if name in methods)

    def varied(**changes: Mapping[str, object]) -> dict[str, Setting]:
        (name, values), *_ = changes.items()
        return {label: _with(base, name, value) for label, value in values.items()}

    training = round(0.7 * patients)
    return (
        Experiment(
            "dataset",
            "Who are the patients?",
            (TRAIN_ON_REAL,),
            drawn,
            {MAIN: base},
            ("dataset",),
            references=False,
        ),
        Experiment(
            "comparison",
            "How do the methods compare?",
            methods,
            drawn,
            {MAIN: base},
            (*QUALITY, "telling apart", "attribute"),
            bootstrap=COMPARISON_BOOTSTRAP,
        ),
        membership_experiment(only(("bootstrap", *PRIVATE)), further(drawn), {MAIN: base}),
        Experiment(
            "epsilon",
            "What does a smaller or larger budget change?",
            only((PROPOSED,)),
            drawn,
            varied(epsilon={f"{e:g}": e for e in EPSILONS}),
            QUALITY,
        ),
        Experiment(
            "scarcity",
            "How few training patients are enough?",
            only(STRESSED),
            drawn,
            varied(
                train={
                    str(n): None if n == training else n for n in TRAINING_SIZES if n <= training
                }
            ),
            UTILITY,
        ),
        Experiment(
            "missingness",
            "What if charting is worse?",
            only(STRESSED),
            drawn,
            varied(extra_missing={f"{p:g}": p for p in EXTRA_MISSING}),
            UTILITY,
        ),
        Experiment(
            "ablation",
            "What does each component contribute?",
            only((PROPOSED,)),
            drawn[:ABLATION_SEEDS],
            varied(constants={label: (*base.constants, *c) for label, c in ABLATION.items()}),
            QUALITY,
        ),
        *(
            Experiment(
                name,
                "What does each departure from the paper change?",
                only(concerned),
                drawn[:ABLATION_SEEDS],
                {label: replace(one, patients=patients) for label, one in settings.items()},
                (*UTILITY, "fidelity"),
                references=False,
            )
            for name, concerned, settings in (
                ("departures", (PROPOSED,), DEPARTURES),
                ("marginals", ("independent",), MARGINALS),
            )
        ),
        Experiment(
            "canary",
            "Does an extreme patient reappear?",
            methods,
            drawn,
            varied(canary=CANARIES),
            ("canary",),
            references=False,
        ),
        Experiment(
            "cost",
            "How long does it take, and how much memory?",
            methods,
            drawn,
            {MAIN: base},
            ("cost",),
            alone=True,
            references=False,
        ),
        Experiment(
            "scaling",
            "How does the time grow with the cohort?",
            only(SCALED),
            drawn[:ABLATION_SEEDS],
            {str(n): replace(base, patients=n) for n in TOTAL_PATIENTS if n <= 8 * patients},
            ("cost",),
            alone=True,
            references=False,
        ),
    )


def membership_experiment(
    methods: tuple[str, ...], seeds: tuple[int, ...], settings: Mapping[str, Setting]
) -> Experiment:
    """Return the fair game, beside it what a copy of the training patients looks like."""
    return Experiment(
        "membership",
        "Can members be told from others of the same population?",
        (*methods, TRAIN_ON_REAL),
        seeds,
        settings,
        ("membership swapped",),
        references=False,
    )


def membership_study(
    methods: tuple[str, ...],
    epsilons: Iterable[float],
    seeds: Iterable[int] = STEERING_SEEDS,
    train_patients: int = 504,
) -> tuple[Experiment, ...]:
    """Return the fair game alone, for any methods and budgets; nobody is split off."""
    settings = {
        f"{epsilon:g}": Setting(
            epsilon=epsilon,
            patients=train_patients,
            fresh=2 * train_patients,
        )
        for epsilon in epsilons
    }
    return (membership_experiment(methods, tuple(seeds), settings),)


def further(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Return four times as many: seeds of few populations cannot tell a small leak from luck."""
    return tuple(seed + 1000 * turn for turn in range(4) for seed in seeds)


def population_study(
    methods: tuple[str, ...],
    epsilons: Iterable[float],
    seeds: Iterable[int] = STEERING_SEEDS,
    train_patients: int = 504,
    fresh: int = 20_000,
) -> tuple[Experiment, ...]:
    """Return the table to steer by: many seeds, judged where differences can be seen."""
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


def _with(base: Setting, name: str, value: object) -> Setting:
    return replace(base, **{name: value})  # type: ignore[arg-type]
