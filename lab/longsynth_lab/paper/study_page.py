"""docs/study-results.md: the study's numbers next to the paper's, from a stored result file."""

from collections.abc import Iterator

from longsynth.audit.classifiers import INVERSE_PENALTY
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
    "# Results of the study\n\n"
    f"This version has not been measured yet. `{COMMAND}` runs the study and writes this page.\n"
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
    """Return the rows that tables and this page use: none of a single variable or site."""
    return Results(
        row for row in results.rows if row.experiment in OF_PATIENTS or row.metric in METRICS
    )


def study_text(results: Results) -> str:
    """Return the page; every number in it is computed from the results or is the paper's."""
    require_one(results, ONE_BUDGET_PER_SETTING, COMMAND)
    seeds = ", ".join(map(str, results.seeds("comparison")))
    delta = f"{PRINTED.delta:g}".replace("e-0", "e-")
    parts = [
        "# Results of the study",
        f"**Methods.** Every choice is the paper's, as far as that keeps the privacy guarantee: "
        f"ε = {PRINTED.epsilon:g}, δ = {delta}, the paper's own accounting (`paper`), and one "
        f"classifier, a logistic regression (L2 penalty, C = {INVERSE_PENALTY:g}) without "
        "population weights. A section below undoes our [departures](paper.md) one at a time. Our "
        "other pages use our own choices.",
        f"`{COMMAND}` runs [the study](study.md), stores its numbers in "
        "`lab/results/study.parquet` and writes this page from them. Seeds of the comparison: "
        f"{seeds}. All patients are simulated. Intervals are 95 % t intervals over seeds. *Paper* "
        "is the number in the paper. *Differs* means that the 95 % interval of the difference "
        "excludes zero or, if the paper gives no standard deviation, that its number lies outside "
        "our interval.",
        "## Summary",
        "\n".join(f"- {claim}" for claim in (*claims(results), *_differences(results))),
        "Our simulator follows the paper's description, since the paper comes without code, so "
        "absolute numbers need not agree. Each test part has about ten events, so an interval "
        "that contains zero says little. [The page on simulated patients](population.md) uses "
        "20,000 held-out patients.",
        "## Comparison",
        main(results).caption,
        markdown_body(main(results)),
        "## Our numbers and the paper's main table",
        *(block for metric in BESIDE for block in beside(results, metric)),
        "## Numbers from the paper's text",
        *(markdown_body(metric_beside(results, metric)) for metric in QUOTED),
        "Canary exposure is the share of synthetic records near a planted record. The paper "
        "planted four copies:",
        markdown_body(canary_beside(results)),
        f"Change of the mean relative to {look('dp-score').label}:",
        markdown_body(_macros(results)),
        "## All metrics of section V",
        *(
            block
            for table in study_tables.compared_tables(results)
            for block in (f"### {table.name.capitalize()}", table.caption, markdown_body(table))
        ),
        "## Paired tests",
        statistics(results).caption,
        markdown_body(statistics(results)),
        "The same tests in the paper:",
        statistics_beside(results),
        "## Ablation",
        *ablation_part(results),
        "## Our departures from the paper",
        *departures_part(results),
        "## Cost",
        "Times and memory depend on the machine, so ours and the paper's are not comparable.",
        markdown_body(cost_beside(results)),
        "## Patients",
        markdown_body(dataset(results)),
        dataset_beside(),
        study_tables.support(results).caption,
        markdown_body(study_tables.support(results)),
        study_tables.clipping(results).caption,
        markdown_body(study_tables.clipping(results)),
        "## Settings of the attacks",
        study_tables.attacks().caption,
        markdown_body(study_tables.attacks()),
        "## Where the paper contradicts itself",
        "Where the paper's text and tables disagree, we compare with its tables.",
        "\n".join(f"- {sentence}" for sentence in contradictions(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _differences(results: Results) -> Iterator[str]:
    """Which numbers of the main table differ from ours, and how many patients are clipped."""
    told = differing(results, BESIDE)
    total = len(METHODS) * len(BESIDE)
    yield f"{len(told)} of {total} numbers of the paper's main table differ from ours" + (
        f": {'; '.join(told)}." if told else "."
    )
    share = results.values("dataset", TRAIN_ON_REAL, MAIN, "train_clipped_patients_share")
    if share:
        yield (
            f"The clip radius clips the values of {100 * min(share):.0f} to "
            f"{100 * max(share):.0f} % of training patients, depending on the seed."
        )


def _macros(results: Results) -> Table:
    rows = [
        (label, macros(results)[name].replace("$-$", "-").replace(r"\%", " %"), paper)
        for name, (label, paper) in MACROS.items()
    ]
    return Table("", "", ("Change", "Ours", "Paper"), tuple(rows))
