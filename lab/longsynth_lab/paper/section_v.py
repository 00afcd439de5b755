"""The experiments of the paper's section V, as printed, and what each of our departures changes.

docs/paper.md lists all departures, also those without a constant: undoing those would break the
privacy guarantee.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from longsynth.audit.attacks.canary import QUANTILE
from longsynth.audit.attacks.membership import FEWEST, NEIGHBOURS, SMALLEST
from longsynth.audit.view import categorical
from longsynth.reading.simulation import simulated_schema
from longsynth_lab.experiments import (
    MAIN,
    METHODS,
    PRIVATE,
    PROPOSED,
    TRAIN_ON_REAL,
    UTILITY,
    Constant,
    Experiment,
    Setting,
    membership_experiment,
)

BY_STRATUM = "Marginals by stratum"  # the one that touches `independent` alone
PAPER_CHOICES: dict[str, tuple[Constant, ...]] = {  # by what the paper does instead
    "Condition Gram released": (("condition_gram", "released"),),
    "Sensitivity by the triangle inequality": (("gram_sensitivity", "triangle"),),
    "Whole second moment": (("second_moment", "whole"),),
    "Missing values interpolated": (("missing_values", "interpolated"),),
    "Masks as 0 and 1": (("mask_coding", "zero_one"),),
    "Strata drawn one by one": (("strata_draw", "independent"),),
    BY_STRATUM: (("marginals_by", "stratum"),),
}
AS_PRINTED: tuple[Constant, ...] = tuple(c for undone in PAPER_CHOICES.values() for c in undone)

SEEDS = (11, 22, 33, 44, 55)  # tab:configuration
ABLATION_SEEDS = 3  # how many of the seeds
COMPARISON_BOOTSTRAP = 200  # resamples of the judged patients for each seed's own interval
QUALITY = (*UTILITY, "fidelity", "membership")


# The paper's study. It says that the floor is there for downstream training and that the weights
# restore summaries of the population: so its classifier counts every synthetic patient once. Its
# accounting is the formula of eq:composition.
PRINTED = Setting(accounting="paper", constants=AS_PRINTED, weighted=False)


EPSILONS = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0)
TRAINING_SIZES = (120, 200, 350, 504)
EXTRA_MISSING = (0.0, 0.1, 0.2, 0.3, 0.4)
TOTAL_PATIENTS = (360, 720, 1440, 2880, 5760)
STRESSED = ("temporal-pca", "dp-score", PROPOSED)
SCALED = ("scorediff", "dp-score", PROPOSED)

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
        for label, undone in PAPER_CHOICES.items()
        if label != BY_STRATUM
    },
}
MARGINALS: dict[str, Setting] = {  # of `independent`
    OURS: Setting(),
    BY_STRATUM: Setting(constants=PAPER_CHOICES[BY_STRATUM]),
}
CANARIES = {"4 copies": 4, "1 copy": 1, "no canary": 0}
REPEATS, NOISE_DRAWS = "repeats", 10


def repeats(seeds: Iterable[int] = SEEDS, draws: int = NOISE_DRAWS) -> Experiment:
    """The private methods of the comparison again, with new noise and new synthetic patients for
    the same training patients."""
    return Experiment(
        REPEATS,
        "How much does another draw of noise change?",
        PRIVATE,
        tuple(seeds),
        {MAIN: PRINTED},
        QUALITY,
        references=False,
        draws=draws,
    )


def paper_study(
    seeds: Iterable[int] = SEEDS, methods: tuple[str, ...] = METHODS, patients: int = 720
) -> tuple[Experiment, ...]:
    """Return every experiment of the paper's section V, as printed, and an experiment for each
    departure. `methods` and `patients` are for tests."""
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


def further(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Return four times as many seeds: with few, a small leak looks like chance."""
    return tuple(seed + 1000 * turn for turn in range(4) for seed in seeds)


def _with(base: Setting, name: str, value: object) -> Setting:
    return replace(base, **{name: value})  # type: ignore[arg-type]


Value = str | int | float
HELD_OUT = "validation and test patients"


def attack_settings() -> dict[str, dict[str, Value]]:
    """Return attack → setting → value."""
    schema = simulated_schema()
    levels = [schema.variables[v].name for v in categorical(schema)[:1]]
    common = {
        "members": "training patients",
        "non_members": HELD_OUT,
        "unit_of_distance": f"standard deviation of each summary over {HELD_OUT}",
    }
    return {
        "membership": {
            **common,
            "neighbours": 1,
            "score": "closeness of the nearest synthetic patient",
            "fewest_people_on_either_side": FEWEST,
        },
        "membership by density": {
            **common,
            "neighbours": NEIGHBOURS,
            "score": "mean log distance to non-members minus that to synthetic patients",
            "reference_set": f"one half of {HELD_OUT}; the other half are the non-members",
            "smallest_distance": SMALLEST,
        },
        "membership in a fair game": {
            "members": "training patients, and in a second fit the same number of others",
            "non_members": "each other: the two groups swap roles",
            "reference_set": HELD_OUT,
            "neighbours": 1,
        },
        "attribute": {
            **common,
            "neighbours": 1,
            "attributes": " and ".join(["event", *levels]),
            "threshold": f"median over {HELD_OUT}, for a variable with levels",
        },
        "canary": {
            "copies": ", ".join(str(copies) for copies in CANARIES.values()),
            "threshold": f"quantile {QUANTILE:g} of the distances of {HELD_OUT} to the canary",
            "reference_set": HELD_OUT,
            "record": "every value at a public bound, all observed, longest gaps, protected group, "
            "with the event, at the last site",
        },
    }
