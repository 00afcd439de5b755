"""docs/study-results.md: the study's numbers next to the paper's, from a stored result file."""

from collections.abc import Iterator
from dataclasses import replace

from longsynth.audit.classifiers import INVERSE_PENALTY
from longsynth_lab.experiments import MAIN, METHODS, PRIVATE, PROPOSED, TRAIN_ON_REAL
from longsynth_lab.labels import look, metric_head
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
from longsynth_lab.statistics import summary
from longsynth_lab.tables import Table, markdown_body, number
from longsynth_lab.versions import ONE_BUDGET_PER_SETTING, require_one

COMMAND = "make paper"
NOTHING = Results(())
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


def study_text(results: Results, repeated: Results = NOTHING) -> str:
    """Return the page; every number in it is computed from the results or is the paper's."""
    compared = (replace(row, experiment="comparison") for row in repeated.rows)
    require_one(Results((*results.rows, *compared)), ONE_BUDGET_PER_SETTING, COMMAND)
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
        "\n".join(
            f"- {claim}"
            for claim in (*claims(results), *_repeated(results, repeated), *_differences(results))
        ),
        "Our simulator follows the paper's description, since the paper comes without code, so "
        "absolute numbers need not agree. Each test part has about ten events, so an interval "
        "that contains zero says little. [The page on simulated patients](population.md) uses "
        "20,000 held-out patients.",
        "## Comparison",
        main(results).caption,
        markdown_body(main(results)),
        *_repeats_part(results, repeated),
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


def _means(results: Results, repeated: Results, method: str, metric: str) -> list[float]:
    """The mean over seeds in the study's run, and then in each repetition."""
    draws: dict[int, list[float]] = {}
    for row in repeated.rows:
        if (row.method, row.metric) == (method, metric):
            draws.setdefault(row.draw, []).append(row.value)
    own = summary(results.values("comparison", method, MAIN, metric)).mean
    return [own, *(summary(draws[draw]).mean for draw in sorted(draws))]


def _repeated(results: Results, repeated: Results) -> Iterator[str]:
    """Where the study's own run lies among the repetitions."""
    if repeated.rows:
        own, *others = _means(results, repeated, PROPOSED, "auprc")
        above = sum(other > own for other in others)
        yield (
            f"The noise has no seed, and another draw of it changes the result. With "
            f"{len(others)} other draws for the same patients, the AUPRC of "
            f"{look(PROPOSED).label} was {number(summary(others).mean)} on average, from "
            f"{number(min(others))} to {number(max(others))}. {above} of them gave more than this "
            "run."
        )


def _repeats_part(results: Results, repeated: Results) -> Iterator[str]:
    if not repeated.rows:
        return
    runs = len({row.draw for row in repeated.rows})
    yield "## Other draws of noise"
    yield (
        "The interval of a mean over seeds includes the noise of one draw per seed. Here the "
        f"comparison of the private methods was repeated {runs} times, with new noise and new "
        "synthetic patients for the same training patients. Each cell is the mean over seeds in "
        "the run above, then the mean of the repetitions with their lowest and highest."
    )
    body = []
    for method in PRIVATE:
        cells = []
        for metric in BESIDE:
            own, *others = _means(results, repeated, method, metric)
            spread = f"{number(min(others))} to {number(max(others))}"
            cells.append(f"{number(own)}; {number(summary(others).mean)} ({spread})")
        body.append((look(method).label, *cells))
    yield markdown_body(Table("", "", ("Method", *map(metric_head, BESIDE)), tuple(body)))


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
