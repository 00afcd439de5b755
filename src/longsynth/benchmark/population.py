"""POPULATION.md: methods and budgets side by side, judged where differences can be seen."""

from longsynth.benchmark.experiments import PROPOSED, REFERENCES
from longsynth.benchmark.results import Results
from longsynth.benchmark.statistics import summary
from longsynth.benchmark.tables import interval, number
from longsynth.benchmark.trial import is_private
from longsynth.report.study_style import look, metric_head
from longsynth.report.study_tables import Table, markdown_body

NAME = "population"
SHOWN = (
    "auprc",
    "auroc",
    "brier",
    "ece",
    "mean_prediction",
    "worst_group_auprc",
    "marginal_ks",
    "correlation_error",
    "autocorrelation_error",
    "missingness_error",
    "mia_auc",
)


def population_text(results: Results, train_patients: int, fresh: int) -> str:
    """Return the table of means, and one table a metric with intervals over seeds."""
    seeds, lines = results.seeds(NAME), _lines(results)
    head = ("Method", "ε", *(metric_head(metric) for metric in SHOWN))
    rows = [
        (look(method).label, shown, *(number(_mean(results, method, label, m)) for m in SHOWN))
        for method, label, shown in lines
    ]
    parts = [
        "# Population",
        f"Means over {len(seeds)} seeds of {train_patients} training patients each, judged on "
        f"{fresh:,} fresh patients of the same simulated population.",
        markdown_body(Table("", "", head, tuple(rows), (look(PROPOSED).label,))),
        "## With intervals",
        "95 % t intervals over seeds.",
    ]
    for metric in SHOWN:
        found = [
            (look(method).label, shown, _with(results, method, label, metric))
            for method, label, shown in lines
        ]
        known = tuple(row for row in found if row[2] != "–")
        parts.append(markdown_body(Table("", "", ("Method", "ε", metric_head(metric)), known)))
    return "\n\n".join(parts) + "\n"


def _lines(results: Results) -> list[tuple[str, str, str]]:
    """Method, label and shown ε; what has no budget stands once."""
    lines = []
    for method in results.methods(NAME):
        labels = results.settings(NAME)
        private = method not in REFERENCES and is_private(method)
        lines += [
            (method, label, label if private else "–") for label in labels[: None if private else 1]
        ]
    return lines


def _mean(results: Results, method: str, label: str, metric: str) -> float:
    return summary(results.values(NAME, method, label, metric)).mean


def _with(results: Results, method: str, label: str, metric: str) -> str:
    found = summary(results.values(NAME, method, label, metric))
    return "–" if not found.seeds else f"{number(found.mean)} ({interval(found)})"
