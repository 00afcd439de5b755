"""REPORT.md: our numbers next to the paper's, all differences, and claims with intervals."""

from collections.abc import Iterator

from longsynth_lab.experiments import BASELINES, MAIN, PROPOSED, TRAIN_ON_REAL
from longsynth_lab.labels import look
from longsynth_lab.membership import CHANCE, Verdict, verdicts
from longsynth_lab.paper.beside_published import (
    SWEEPS,
    ablation_beside,
    ablation_less_full,
    beside,
    canary_beside,
    cost_beside,
    dataset_beside,
    departures_less_ours,
    metric_beside,
    paired,
    statistics_beside,
    sweep,
)
from longsynth_lab.paper.contradictions import table_against_text
from longsynth_lab.paper.section_v import PRINTED
from longsynth_lab.paper.study_tables import (
    ATTRIBUTE,
    PREVALENCE,
    SUBGROUPS,
    TESTED,
    at,
    attacks,
    clipping,
    compared_tables,
    dataset,
    departures,
    main,
    statistics,
    support,
)
from longsynth_lab.results import Results
from longsynth_lab.statistics import compared, summary
from longsynth_lab.tables import markdown_body, with_interval

BESIDE = ("auprc", "brier", "ece", "autocorrelation_error", "mia_auc")
ALSO = (  # measured in the comparison, not in the paper's tables
    "auroc",
    "calibration_slope",
    *SUBGROUPS,
    "marginal_ks",
    "correlation_error",
    "transition_error",
    *PREVALENCE,
    "missingness_error",
    "gap_wasserstein",
    "mia_density_auc",
    *ATTRIBUTE,
)


def report_text(results: Results) -> str:
    """Return the whole report; every sentence with a number is computed from the results."""
    seeds = results.seeds("comparison")
    parts = [
        "# Study report",
        f"This report is computed from `results.parquet` ({len(results.rows):,} numbers, seeds "
        f"{', '.join(map(str, seeds))}). All patients are simulated. Intervals are 95 % t "
        "intervals over seeds unless stated otherwise. *Paper* is the number in the paper; where "
        "its text and tables disagree, we use the table. The study makes every choice of the paper "
        "that a constant can make, and its classifier uses no weights. *Departures* shows what our "
        "own choices change.",
        "## Conclusions",
        "\n".join(f"- {claim}" for claim in claims(results)),
        "## Comparison",
        main(results).caption,
        markdown_body(main(results)),
        "## Our numbers and the paper's",
        "*Differs* means that the 95 % interval of the difference (Welch, from both standard "
        f"deviations over seeds) excludes zero. With {len(seeds)} seeds and about ten events in "
        "each test part, such intervals are wide, and one that contains zero says little. Our "
        "simulator follows the paper's description, since the paper comes without code, so "
        "absolute numbers need not agree. If the paper gives no standard deviation, *differs* "
        "means that its number lies outside our interval.",
        f"The paper contradicts itself: {'; '.join(table_against_text())}. We use its tables.",
        *(block for metric in BESIDE for block in beside(results, metric)),
        "## Further metrics of the comparison",
        *(
            block
            for table in compared_tables(results)
            for block in (table.caption, markdown_body(table))
        ),
        "### Every metric with its interval",
        *(markdown_body(metric_beside(results, metric)) for metric in ALSO),
        "## Paired tests",
        statistics(results).caption,
        markdown_body(statistics(results)),
        statistics_beside(results),
        "## Sensitivity",
        *(block for name in SWEEPS for block in sweep(results, name)),
        "## Ablation",
        *ablation_part(results),
        "## Departures",
        *departures_part(results),
        "## Canary",
        "Share of synthetic records that are closer to the planted record than the closest 1 % of "
        "held-out patients. The guarantee covers one patient, so one copy. Four copies are a group "
        "of four patients, for which it is weaker.",
        markdown_body(canary_beside(results)),
        "## Cost",
        markdown_body(cost_beside(results)),
        "## Patients",
        markdown_body(dataset(results)),
        dataset_beside(),
        *(
            block
            for table in (support(results), clipping(results), attacks())
            for block in (f"### {table.name.capitalize()}", table.caption, markdown_body(table))
        ),
    ]
    return "\n\n".join(parts) + "\n"


def ablation_part(results: Results) -> list[str]:
    """Every variant next to the paper's, and its difference from the full method."""
    return [
        markdown_body(ablation_beside(results)),
        f"Difference from the full method, paired over {len(results.seeds('ablation'))} seeds:",
        markdown_body(ablation_less_full(results)),
    ]


def departures_part(results: Results) -> list[str]:
    """What our own choices change: each departure, and its difference from our defaults."""
    return [
        departures(results).caption,
        markdown_body(departures(results)),
        f"Difference from our defaults, paired over {len(results.seeds('departures'))} seeds:",
        markdown_body(departures_less_ours(results)),
    ]


def claims(results: Results) -> Iterator[str]:
    """Sentences computed from the numbers."""
    yield from _membership(verdicts(results, {MAIN: PRINTED}, ("mia_auc_swapped",)))
    ours, real = at(results, PROPOSED, "auprc"), at(results, TRAIN_ON_REAL, "auprc")
    rate = at(results, "base rate", "auprc")
    if ours.seeds > 1:
        yield (
            f"{look(PROPOSED).label} has AUPRC {with_interval(ours)}; training on the real "
            f"patients gives {with_interval(real)} and predicting the base rate "
            f"{with_interval(rate)}."
        )
        for metric, name in {"brier": "Brier score", "ece": "ECE"}.items():
            gap = summary(paired(results, metric, "base rate"))
            better = (
                "better" if gap.upper < 0 else "worse" if gap.lower > 0 else "not clearly different"
            )
            than = "from" if better.endswith("different") else "than"
            yield (
                f"The {name} of {look(PROPOSED).label} is {better} {than} that of "
                "always predicting the training event rate: difference "
                f"{with_interval(gap, '+')}."
            )
    tests = [
        test
        for metric in TESTED
        for test in compared(results, metric, proposed=PROPOSED, baselines=BASELINES)
    ]
    below = [test for test in tests if test.holm < 0.05]
    tested = sum(test.p == test.p for test in tests)
    smallest = 2 / 2 ** len(results.seeds("comparison"))
    yield (
        f"{len(below)} of {tested} paired comparisons have a Holm p below 0.05. With this number "
        f"of seeds, the smallest possible p before correction is {smallest:.3g}."
    )


def _membership(rows: list[Verdict]) -> Iterator[str]:
    """The fair game of `membership`, in which chance differences between groups cancel."""
    known = [row for row in rows if row.found.seeds > 1]
    for row in known:
        yield (
            f"{look(row.method).label}: the membership attack reaches AUROC "
            f"{with_interval(row.found)}, {_against_chance(row)}."
        )
    if known:
        yield (
            "These numbers are from the nearest-neighbour attack in a fair game, in which members "
            f"and non-members swap roles, over {max(row.found.seeds for row in known)} seeds. The "
            "comparison below runs the attack on small splits, which are never balanced and are "
            "the same for all methods, so some of its intervals miss 0.5 by chance. A failed "
            "attack proves nothing about other attacks; only the ledger bounds all of them."
        )


def _against_chance(row: Verdict) -> str:
    side = "above" if row.found.mean > CHANCE else "below"
    if row.holm is None:
        told = f"an interval {side} 0.5" if row.differs else "an interval that contains 0.5"
        return f"{told}; there is no bound"
    told = f"{side} 0.5" if row.differs else "not clearly different from 0.5"
    return f"{told} (Holm p {row.holm:.3f} over the private methods); its bound is {row.bound:.3f}"
