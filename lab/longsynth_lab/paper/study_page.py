"""docs/study-results.md: the study's numbers beside the paper's, from a stored result file."""

from collections.abc import Iterator

from longsynth_lab.experiments import MAIN, METHODS, TRAIN_ON_REAL
from longsynth_lab.labels import look
from longsynth_lab.paper import study_tables
from longsynth_lab.paper.beside_published import (
    beside,
    canary_beside,
    cost_beside,
    dataset_beside,
    differing,
    metric_beside,
    statistics_beside,
)
from longsynth_lab.paper.contradictions import contradictions
from longsynth_lab.paper.macros import macros
from longsynth_lab.paper.published import MACROS
from longsynth_lab.paper.report import BESIDE, ablation_part, claims, departures_part
from longsynth_lab.paper.section_v import PRINTED
from longsynth_lab.paper.study_tables import (
    ABLATION_METRICS,
    COSTS,
    DEPARTURE_METRICS,
    MAIN_METRICS,
    TESTED,
    dataset,
    main,
    statistics,
)
from longsynth_lab.results import Results
from longsynth_lab.tables import Table, markdown_body
from longsynth_lab.versions import ONE_BUDGET_PER_SETTING, require_one

COMMAND = "make paper"
PLACEHOLDER = (
    "# What the study measured\n\n"
    f"Not there yet for this version: `{COMMAND}` runs the study and writes this page.\n"
)
QUOTED = ("correlation_error", "worst_group_auprc")  # means that the paper's text gives
OF_PATIENTS = ("dataset",)  # experiments whose every number is kept
METRICS = {
    *MAIN_METRICS,
    *TESTED,
    *ABLATION_METRICS,
    *COSTS,
    *DEPARTURE_METRICS,
    *study_tables.UTILITY,
    *study_tables.SUBGROUPS,
    *study_tables.FIDELITY,
    *study_tables.PREVALENCE,
    *study_tables.MEMBERSHIP,
    *study_tables.ATTRIBUTE,
    "mia_auc_swapped",
    "canary_exposure",
}


def needed(results: Results) -> Results:
    """Return what tables and this page are made of: no single variable, no single site."""
    return Results(
        row for row in results.rows if row.experiment in OF_PATIENTS or row.metric in METRICS
    )


def study_text(results: Results) -> str:
    """Return the whole page; every number in it is computed from the results or was printed."""
    require_one(results, ONE_BUDGET_PER_SETTING, COMMAND)
    seeds = ", ".join(map(str, results.seeds("comparison")))
    parts = [
        "# What the study measured",
        f"`{COMMAND}` runs [the study](study.md), stores its numbers in "
        "`lab/results/study.parquet` and writes this page from them. Seeds of the "
        f"comparison: {seeds}. All patients are simulated. An interval is a 95 % t interval over "
        "seeds. *Paper* is what the paper printed. *Differs*: the 95 % interval of the difference "
        "excludes zero or, where the paper gives no spread, its number lies outside our interval.",
        f"Every choice is as the paper prints it, where that keeps the promise: ε = "
        f"{PRINTED.epsilon:g}, δ = {PRINTED.delta:g}, the paper's own accounting (`paper`), one "
        "classifier (logistic regression, without population weights). [Departures](paper.md) are "
        "undone one at a time below. Our other pages use our own choices.",
        "## In short",
        "\n".join(f"- {claim}" for claim in (*claims(results), *_differences(results))),
        "Our simulator follows the paper's description and not its code, so levels need not agree. "
        "Test parts have some ten events each: an interval that holds zero confirms little. "
        "[The population study](population.md) can tell more.",
        "## Comparison",
        main(results).caption,
        markdown_body(main(results)),
        "## Beside the paper's main table",
        *(block for metric in BESIDE for block in beside(results, metric)),
        "## Numbers that only the paper's text gives",
        *(markdown_body(metric_beside(results, metric)) for metric in QUOTED),
        "Canary exposure, the share of synthetic records near a planted one. The paper planted "
        "four copies:",
        markdown_body(canary_beside(results)),
        f"Against {look('dp-score').label}, as changes of the mean:",
        markdown_body(_macros(results)),
        "## Paired tests",
        statistics(results).caption,
        markdown_body(statistics(results)),
        "Beside the paper's:",
        statistics_beside(results),
        "## Ablation",
        *ablation_part(results),
        "## Our departures from the paper",
        *departures_part(results),
        "## Cost",
        "Seconds and traced memory of this machine beside the paper's. They depend on machines.",
        markdown_body(cost_beside(results)),
        "## Patients",
        markdown_body(dataset(results)),
        dataset_beside(),
        study_tables.support(results).caption,
        markdown_body(study_tables.support(results)),
        study_tables.clipping(results).caption,
        markdown_body(study_tables.clipping(results)),
        "## Where the paper contradicts itself",
        "Its tables count above where its text says something else.",
        "\n".join(f"- {sentence}" for sentence in contradictions(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _differences(results: Results) -> Iterator[str]:
    """How many of the main table's numbers differ from ours, and whose."""
    told = differing(results, BESIDE)
    total = len(METHODS) * len(BESIDE)
    yield f"{len(told)} of {total} numbers of the paper's main table differ from ours" + (
        f": {'; '.join(told)}." if told else "."
    )
    share = results.values("dataset", TRAIN_ON_REAL, MAIN, "train_clipped_patients_share")
    if share:
        yield (
            f"The clip radius scales back the values of {100 * min(share):.0f} to "
            f"{100 * max(share):.0f} % of training patients, by seed."
        )


def _macros(results: Results) -> Table:
    rows = [
        (label, macros(results)[name].replace("$-$", "-").replace(r"\%", " %"), paper)
        for name, (label, paper) in MACROS.items()
    ]
    return Table("", "", ("Change", "Ours", "Paper"), tuple(rows))
