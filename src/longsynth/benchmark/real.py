"""The page on real open cohorts: every method beside training on real patients."""

from longsynth.benchmark.experiments import PROPOSED
from longsynth.benchmark.results import Results
from longsynth.benchmark.statistics import summary
from longsynth.benchmark.tables import interval, number
from longsynth.report.study_style import look, metric_head
from longsynth.report.study_tables import Table, markdown_body

NONE = "0"  # label of a row without a budget
TITLES = {
    "physionet2012": "PhysioNet 2012: 8,000 intensive care stays",
    "pbc": "PBC: 312 patients of a trial",
}
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
    "visit_count_error",
    "mia_auc",
    "mia_density_auc",
    "attribute_advantage",
)
WITH_INTERVALS = ("auprc", "auroc", "brier", "worst_group_auprc", "mia_auc", "mia_density_auc")


def real_text(results: Results) -> str:
    """Return the whole page; every number comes from the result file."""
    parts = [
        "# Real cohorts",
        "Every method on two open cohorts, with the schemas in `examples/schemas`. A cohort is "
        "split at random, seven parts to train and three to judge; numbers are means over "
        "splits, and intervals are 95 % t intervals over them. The splits share patients, so the "
        "intervals are too narrow for another sample of patients. *Train on real* under an attack "
        "shows what copies look like. Nothing was tuned on these cohorts.",
    ]
    for name in dict.fromkeys(row.experiment for row in results.rows):
        seeds = results.seeds(name)
        lines = [
            (method, label)
            for method in results.methods(name)
            for label in results.settings(name)
            if results.values(name, method, label, "auprc")
        ]
        rows = [
            (look(m).label, "–" if label == NONE else label, *_means(results, name, m, label))
            for m, label in lines
        ]
        head = ("Method", "ε", *map(metric_head, SHOWN))
        parts += [
            f"## {TITLES.get(name, name)}",
            f"{len(seeds)} splits.",
            markdown_body(Table("", "", head, tuple(rows), (look(PROPOSED).label,))),
            "### With intervals",
        ]
        with_intervals = [
            (
                look(m).label,
                "–" if label == NONE else label,
                *(_with(results, name, m, label, metric) for metric in WITH_INTERVALS),
            )
            for m, label in lines
        ]
        head = ("Method", "ε", *map(metric_head, WITH_INTERVALS))
        parts.append(markdown_body(Table("", "", head, tuple(with_intervals))))
    return "\n\n".join(parts) + "\n"


def _means(results: Results, name: str, method: str, label: str) -> tuple[str, ...]:
    found = (summary(results.values(name, method, label, metric)) for metric in SHOWN)
    return tuple(number(one.mean) for one in found)


def _with(results: Results, name: str, method: str, label: str, metric: str) -> str:
    found = summary(results.values(name, method, label, metric))
    return "–" if not found.seeds else f"{number(found.mean)} ({interval(found)})"
