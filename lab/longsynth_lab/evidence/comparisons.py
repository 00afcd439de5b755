"""Every experiment behind the documentation's pages on quality, as data.

All use one accounting, one δ and the same two classifiers. Settings are chosen on development
seeds. Methods are evaluated on evaluation seeds, once per version.
"""

from collections.abc import Iterable, Mapping

from longsynth.methods import DEFAULT
from longsynth.privacy.budget import Accounting
from longsynth_lab.experiments import BASELINES, PRIVATE, Experiment, Setting, membership_experiment
from longsynth_lab.patients import AS_RECORDED
from longsynth_lab.variants import MOVED, ablated, moved, searched

ACCOUNTING: Accounting = "gaussian"
DELTA = 1e-5  # below 1/(10 N) for up to 10,000 patients
FRESH = 20_000  # simulated patients that judge, of the same law and another seed
FRESH_IN_SEARCHES = 5_000  # who judge hundreds of settings, to choose and not to report
RIVALS = PRIVATE  # private methods beside the default one
OPEN = tuple(method for method in BASELINES if method not in PRIVATE)  # promise nothing

SMALL, LARGE = "simulated 504", "simulated 5000"
PHYSIONET, HELD_OUT, PBC = "physionet2012", "physionet2012 held out", "pbc"
ABLATION, MEMBERSHIP, LARGEST = "ablation", "membership", "largest budget"
CONSTANTS = "constants"
WITHOUT, WITH = "without hints", "with hints"
STRESSES = ("two factors", "wrong references", "bounds only")
HARDLY_ANY_NOISE = 100.0  # the largest ε that a plan takes: what is left is the model

JUDGED = ("utility", "boosted", "subgroups", "fidelity in short")
OF_REAL = (*JUDGED, "events")
ATTACKS = ("membership", "attribute")
CHOSEN_BY = ("utility", "fidelity in short")

SEARCHED_AT = (1.0, 4.0, 12.0)


def settings(
    source: str, epsilons: Iterable[float], patients: int = 0, fresh: int = 0
) -> dict[str, Setting]:
    return {
        f"{epsilon:g}": Setting(
            source=source,
            epsilon=epsilon,
            delta=DELTA,
            accounting=ACCOUNTING,
            patients=patients,
            fresh=fresh,
        )
        for epsilon in epsilons
    }


def attacks_on(cohort: str) -> str:
    return f"attacks on {cohort}"


def hints_on(cohort: str) -> str:
    return f"hints on {cohort}"


def hints(cohort: str, seeds: tuple[int, ...]) -> Experiment:
    """The default method with the schema as it was, and with how the cohort is recorded."""
    sources = {WITHOUT: cohort, WITH: AS_RECORDED[cohort]}
    return Experiment(
        hints_on(cohort),
        "Do public facts on how values are recorded make patients harder to tell from real ones?",
        (DEFAULT,),
        seeds,
        {
            f"{epsilon}, {hinted}": setting
            for hinted, source in sources.items()
            for epsilon, setting in settings(source, (4.0, 12.0)).items()
        },
        ("telling apart", "telling apart by variable"),
        draws=3,
    )


def search(method: str, seeds: tuple[int, ...]) -> Experiment:
    """Every variant of a rival on development seeds."""
    return Experiment(
        f"search {method}",
        f"Which public settings serve {method} best?",
        searched(method),
        seeds,
        settings("simulated", SEARCHED_AT, 504, FRESH_IN_SEARCHES),
        CHOSEN_BY,
        references=False,
    )


def searches(seeds: tuple[int, ...]) -> tuple[Experiment, ...]:
    """Return the experiments for development seeds: searches, and the effects of each constant and
    of hints in a schema."""
    constants = Experiment(
        CONSTANTS,
        "What does each public constant of the paper's method do?",
        ("trust", *(moved(name, value) for name, values in MOVED.items() for value in values)),
        seeds,
        settings("simulated", (12.0,), 504, FRESH_IN_SEARCHES),
        CHOSEN_BY,
        draws=2,
    )
    chosen = (search(method, seeds) for method in (*RIVALS, DEFAULT))
    return *chosen, constants, *(hints(cohort, seeds) for cohort in (PBC, PHYSIONET))


def evidence(
    seeds: tuple[int, ...], variants: Mapping[str, tuple[str, ...]]
) -> tuple[Experiment, ...]:
    """Return the experiments that compare the default method with its rivals, each with the
    variants that a search found best for some metric."""
    shown = (DEFAULT, *(name for rival in RIVALS for name in (rival, *variants[rival])))
    main = (DEFAULT, *RIVALS)
    few = seeds[:5]
    return (
        Experiment(
            SMALL,
            "How useful and how faithful are releases of 504 simulated patients?",
            (*OPEN, *shown),
            seeds,
            settings("simulated", (1.0, 2.0, 4.0, 12.0), 504, FRESH),
            JUDGED,
        ),
        Experiment(
            PBC,
            "How do they serve a small trial?",
            (*OPEN, *shown),
            seeds,
            settings(PBC, (1.0, 4.0, 12.0)),
            OF_REAL,
            draws=3,
        ),
        Experiment(
            PHYSIONET,
            "How do they serve intensive care?",
            (*OPEN, *shown),
            few,
            settings(PHYSIONET, (1.0, 4.0, 12.0)),
            OF_REAL,
            draws=2,
        ),
        *(
            Experiment(
                attacks_on(cohort),
                "What do attacks find out about real patients?",
                (*OPEN, *main),
                few,
                settings(cohort, (1.0, 4.0, 12.0)),
                ATTACKS,
            )
            for cohort in (PBC, PHYSIONET)
        ),
        Experiment(
            HELD_OUT,
            "What do stays show that no prior was tried on?",
            (DEFAULT,),
            few,
            settings(HELD_OUT, (1.0, 4.0, HARDLY_ANY_NOISE)),
            JUDGED,
        ),
        Experiment(
            LARGEST,
            "What would be left without noise?",
            (DEFAULT,),
            few,
            settings("simulated", (HARDLY_ANY_NOISE,), 504, FRESH),
            JUDGED,
            references=False,
        ),
        Experiment(
            ABLATION,
            "Which part of the default method does what?",
            ablated(),
            few,
            settings("simulated", (1.0, 12.0), 504, FRESH),
            CHOSEN_BY,
        ),
        *(
            Experiment(
                stress,
                "What if the public knowledge is wrong?",
                main,
                few,
                settings(stress, (1.0, 12.0), 504, FRESH),
                CHOSEN_BY,
            )
            for stress in STRESSES
        ),
        membership_experiment(
            ("bootstrap", *main), seeds, settings("simulated", (1.0, 4.0, 12.0), 504, 1008)
        ),
        Experiment(
            LARGE,
            "And of 5,000?",
            (*OPEN, *shown),
            few,
            settings("simulated", (1.0, 4.0, 12.0), 5000, FRESH),
            JUDGED,
        ),
    )
