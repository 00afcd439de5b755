"""REPORT.md: our numbers beside the paper's, differences named, every claim with its interval."""

from collections.abc import Iterator

from longsynth_lab.experiments import BASELINES, MAIN, PROPOSED, TRAIN_ON_REAL
from longsynth_lab.labels import look, metric_label
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
    """Return the whole report; every sentence with a number is made from the results."""
    seeds = results.seeds("comparison")
    parts = [
        "# Study report",
        f"Made from `results.parquet` ({len(results.rows):,} numbers, seeds "
        f"{', '.join(map(str, seeds))}). All patients are simulated. An interval is a 95 % t "
        "interval over seeds unless it says otherwise. *paper* is what the paper printed; its "
        "table counts where its text says something else. The study runs as printed: every choice "
        "of the paper that a constant can make is made, and its classifier knows no weights. What "
        "our own choices change stands under *Departures*.",
        "## What can be said",
        "\n".join(f"- {claim}" for claim in claims(results)),
        "## Comparison",
        main(results).caption,
        markdown_body(main(results)),
        "## Beside the paper",
        "*differs*: the 95 % interval of the difference (Welch, from both spreads over seeds) "
        f"excludes zero. With {len(seeds)} seeds and some ten events in each test part such "
        "intervals are wide, and one that holds zero confirms little. Our simulator follows the "
        "paper's description and not its code, so levels need not agree. Where the paper gives no "
        "spread, *differs* means that its number lies outside our interval.",
        f"The paper contradicts itself: {'; '.join(table_against_text())}. Its tables stand here.",
        *(block for metric in BESIDE for block in beside(results, metric)),
        "## Further metrics of the comparison",
        *(
            block
            for table in compared_tables(results)
            for block in (table.caption, markdown_body(table))
        ),
        "### Each with its interval",
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
        "Share of synthetic records nearer to the planted record than 1 % of held-out patients "
        "are. Four copies are a group of four, to which a privacy promise for one patient does not "
        "apply as it stands; one copy is what it covers.",
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
    """Every variant beside the paper's, and less the full method."""
    return [
        markdown_body(ablation_beside(results)),
        f"Less the full method, paired over {len(results.seeds('ablation'))} seeds:",
        markdown_body(ablation_less_full(results)),
    ]


def departures_part(results: Results) -> list[str]:
    """What our own choices change: each departure, and less our defaults."""
    return [
        departures(results).caption,
        markdown_body(departures(results)),
        f"Less our defaults, paired over {len(results.seeds('departures'))} seeds:",
        markdown_body(departures_less_ours(results)),
    ]


def claims(results: Results) -> Iterator[str]:
    """Sentences that follow from the numbers, whatever they are."""
    yield from _membership(verdicts(results, {MAIN: PRINTED}, ("mia_auc_swapped",)))
    ours, real = at(results, PROPOSED, "auprc"), at(results, TRAIN_ON_REAL, "auprc")
    rate = at(results, "base rate", "auprc")
    if ours.seeds > 1:
        yield (
            f"{look(PROPOSED).label} has AUPRC {with_interval(ours)}; training on the real "
            f"patients gives {with_interval(real)} and predicting the base rate "
            f"{with_interval(rate)}."
        )
        for metric in ("brier", "ece"):
            gap = summary(paired(results, metric, "base rate"))
            better = (
                "better" if gap.upper < 0 else "worse" if gap.lower > 0 else "not told apart from"
            )
            than = "" if better.endswith("from") else " than"
            yield (
                f"{metric_label(metric)} of {look(PROPOSED).label} is {better}{than} always "
                f"predicting the training event rate: difference {with_interval(gap, '+')}."
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
        f"{len(below)} of {tested} paired comparisons have a Holm p below 0.05. With this many "
        f"seeds the smallest possible p before correction is {smallest:.3g}."
    )


def _membership(rows: list[Verdict]) -> Iterator[str]:
    """The fair game of `membership`, in which the luck of who is in a split cancels."""
    known = [row for row in rows if row.found.seeds > 1]
    for row in known:
        yield (
            f"{look(row.method).label}: the membership attack reaches AUROC "
            f"{with_interval(row.found)}, {_against_chance(row)}."
        )
    if known:
        yield (
            "That is the nearest-neighbour attack in a fair game, in which members and outsiders "
            f"change places, over {max(row.found.seeds for row in known)} seeds. The comparison "
            "below plays it on splits of few patients, which are never balanced and serve every "
            "method alike: of its intervals over few seeds some miss 0.5 by luck. One attack is "
            "not all attacks: only a ledger speaks about all of them."
        )


def _against_chance(row: Verdict) -> str:
    side = "above" if row.found.mean > CHANCE else "below"
    if row.holm is None:
        told = f"an interval {side} 0.5" if row.told_apart else "an interval that contains 0.5"
        return f"{told}; nothing bounds it"
    told = f"{side} 0.5" if row.told_apart else "not told apart from 0.5"
    return f"{told} (Holm p {row.holm:.3f} over the private methods); its ε allows {row.bound:.3f}"
