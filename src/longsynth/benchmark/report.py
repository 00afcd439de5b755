"""REPORT.md: our numbers beside the paper's, differences named, every claim with its interval."""

from collections.abc import Iterator

from longsynth.benchmark.experiments import BASELINES, PROPOSED, TRAIN_ON_REAL
from longsynth.benchmark.report_tables import (
    SWEEPS,
    ablation,
    ablation_less_full,
    beside,
    canary,
    contradictions,
    cost,
    dataset_beside,
    further,
    less_elsewhere,
    paired,
    statistics_beside,
    sweep,
    with_interval,
)
from longsynth.benchmark.results import Results
from longsynth.benchmark.statistics import Summary, compared, summary
from longsynth.benchmark.tables import TESTED, at, dataset, main, statistics
from longsynth.report.study_style import look, metric_label
from longsynth.report.study_tables import markdown_body

PRIVATE = ("dp-markov", "dp-score", "trust")
BESIDE = ("auprc", "brier", "ece", "autocorrelation_error", "mia_auc")
ALSO = (  # measured in the comparison, not in the paper's tables
    "auroc",
    "calibration_slope",
    "worst_group_auprc",
    "group_gap_auprc",
    "marginal_ks",
    "correlation_error",
    "transition_error",
    "prevalence_error",
    "missingness_error",
    "gap_wasserstein",
    "mia_density_auc",
)


def report_text(results: Results) -> str:
    """Return the whole report; every sentence with a number is made from the results."""
    seeds = results.seeds("comparison")
    parts = [
        "# Study report",
        f"Made from `results.parquet` ({len(results.rows):,} numbers, seeds "
        f"{', '.join(map(str, seeds))}). All patients are simulated. An interval is a 95 % t "
        "interval over seeds unless it says otherwise. *paper* is what the paper printed; its "
        "table counts where its text says something else.",
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
        contradictions(),
        *(block for metric in BESIDE for block in beside(results, metric)),
        "## Further metrics of the comparison",
        *(markdown_body(further(results, metric)) for metric in ALSO),
        "## Paired tests",
        statistics(results).caption,
        markdown_body(statistics(results)),
        statistics_beside(results),
        "## Sensitivity",
        *(block for name in SWEEPS for block in sweep(results, name)),
        "## Ablation",
        markdown_body(ablation(results)),
        f"Less the full method, paired over {len(results.seeds('ablation'))} seeds:",
        markdown_body(ablation_less_full(results)),
        "## Canary",
        "Share of synthetic records nearer to the planted record than 1 % of held-out patients "
        "are. Four copies are a group of four, to which a privacy promise for one patient does not "
        "apply as it stands; one copy is what it covers.",
        markdown_body(canary(results)),
        "## Cost",
        markdown_body(cost(results)),
        "## Patients",
        markdown_body(dataset(results)),
        dataset_beside(),
    ]
    return "\n\n".join(parts) + "\n"


def claims(results: Results) -> Iterator[str]:
    """Sentences that follow from the numbers, whatever they are."""
    for method in ("bootstrap", *PRIVATE):
        found = at(results, method, "mia_auc")
        if found.seeds < 2:
            continue
        yield (
            f"{look(method).label}: the nearest-neighbour membership attack reaches AUROC "
            f"{with_interval(found)}, {_against_chance(found)}. Less the same attack where the "
            "method was fitted to other people instead: "
            f"{_against_elsewhere(summary(less_elsewhere(results, method)))}."
        )
    yield (
        "Splits of so few patients are never balanced, and the same five serve every method: an "
        "attacker who knows nothing of the members is off 0.5 as well, and about one interval in "
        "twenty misses it. The difference from the fits to other people is free of that. One "
        "attack is not all attacks: only a ledger speaks about all of them."
    )
    copied = at(results, TRAIN_ON_REAL, "mia_auc")
    if copied.seeds:
        yield (
            "The attack is not blind: on a synthetic set that is a copy of the training patients "
            f"it reaches {with_interval(copied)}."
        )
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


def _against_chance(found: Summary) -> str:
    if found.contains(0.5):
        return "an interval that contains 0.5"
    if found.lower > 0.5:
        return "an interval above 0.5: it tells members from others"
    return "an interval below 0.5: an attacker could turn the ranking round"


def _against_elsewhere(gap: Summary) -> str:
    told = "contains zero" if gap.contains(0.0) else "excludes zero"
    return f"{with_interval(gap, '+')}, which {told}"
