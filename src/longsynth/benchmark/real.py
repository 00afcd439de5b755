"""The page on real open cohorts: every method beside training on real patients."""

from collections.abc import Iterator
from dataclasses import dataclass

from longsynth.audit.utility import FEW_EVENTS
from longsynth.benchmark.experiments import BASE_RATE, PROPOSED, TRAIN_ON_REAL
from longsynth.benchmark.results import Results
from longsynth.benchmark.statistics import Summary, summary
from longsynth.benchmark.tables import number
from longsynth.report.study_style import look, metric_head
from longsynth.report.study_tables import Table, markdown_body

NONE = "0"  # label of a row without a budget
TITLES = {
    "physionet2012": "PhysioNet 2012: 8,000 intensive care stays",
    "pbc": "PBC: 312 patients of a trial",
}
GROUPS = {"physionet2012": ("men", "women"), "pbc": ("under 60", "60 or older")}
UTILITY = ("auprc", "auroc", "brier", "ece", "mean_prediction")
FIDELITY = (
    "marginal_ks",
    "correlation_error",
    "autocorrelation_error",
    "transition_error",
    "missingness_error",
    "gap_wasserstein",
    "visit_count_error",
)
ATTACKS = (
    "mia_auc",
    "mia_density_auc",
    "attribute_accuracy",
    "attribute_accuracy_control",
    "attribute_advantage",
)
WITH_INTERVAL = ("auprc", "auroc", "brier", "worst_group_auprc", *ATTACKS[:2], ATTACKS[-1])
HEAD = """\
# Real cohorts

Every method on two open cohorts, with the schemas in `examples/schemas`. A cohort is split at \
random, seven parts to train and three to judge; numbers are means over splits, and ± is half of \
a 95 % t interval over them. The splits share patients, so it is too small for another sample of \
patients. No method was tuned on these cohorts but one: priors and shares of `copula-score` were \
tried on seven tenths of the PhysioNet stays with eight of its variables, and stays of these are \
judged here, so its rows there are optimistic. Which method is called the best was seen \
afterwards. [Metrics](metrics.md) says what each column means and where its traps are.

*Train on real* is the ceiling for utility, and under an attack it shows what copies look like. \
*Base rate* always predicts the event rate of the training patients: whatever does no better has \
learnt nothing of use. Methods without an ε promise nothing."""


def real_text(results: Results) -> str:
    """Return the whole page; every number comes from the result file."""
    names = dict.fromkeys(row.experiment for row in results.rows)
    return (
        "\n\n".join([HEAD, *(part for n in names for part in _Judged(results, n).parts())]) + "\n"
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    """One cohort's part of the page."""

    results: Results
    name: str

    def parts(self) -> Iterator[str]:
        yield f"## {TITLES.get(self.name, self.name)}"
        yield f"{len(self.results.seeds(self.name))} splits. " + " ".join(self._in_short())
        for title, metrics in (("Utility", UTILITY), ("Fidelity", FIDELITY), ("Attacks", ATTACKS)):
            yield f"### {title}"
            yield self._table({metric: metric_head(metric) for metric in metrics})
            if metrics is UTILITY:
                yield "### Subgroups"
                yield from self._subgroups()

    def _in_short(self) -> Iterator[str]:
        real, guess = (self._of(m, NONE, "auprc").mean for m in (TRAIN_ON_REAL, BASE_RATE))
        yield f"AUPRC is {number(real)} from real patients and {number(guess)} by guessing."
        for label in self.results.settings(self.name):
            private = [m for m in self.results.methods(self.name) if look(m).private]
            found = {m: self._of(m, label, "auprc").mean for m in private if label != NONE}
            if found:
                best = max(found, key=lambda m: found[m])
                reached = f"{self._cell(best, label, 'auprc')} ({look(best).label})"
                yield f"At ε = {label} the best private method reaches {reached}."

    def _subgroups(self) -> Iterator[str]:
        groups = dict(enumerate(GROUPS.get(self.name, ("group 0", "group 1"))))
        parts = {f"group{g}": name for g, name in groups.items()}
        heads = {f"{part}_auprc": f"AUPRC, {name} ↑" for part, name in parts.items()}
        heads |= {m: metric_head(m) for m in ("worst_group_auprc", "group_gap_auprc")}
        heads |= {f"{part}_ece": f"ECE, {name} ↓" for part, name in parts.items()}
        yield self._table(heads, {f"{part}_auprc": part for part in parts})
        sites = [m.removesuffix("_events") for m in self._metrics() if "_site_" in m]
        within = {part: f"{groups[int(part[5])]}, {part.partition('_site_')[2]}" for part in sites}
        yield "AUPRC of each group at each site:"
        heads = {f"{part}_auprc": name for part, name in within.items()}
        yield self._table(heads, {f"{part}_auprc": part for part in within})
        few = [name for part, name in (parts | within).items() if self._events(part) < FEW_EVENTS]
        if few:
            yield (
                f"> **Too few to say anything.** Fewer than {FEW_EVENTS} events in a split: "
                f"{'; '.join(few)}. Differences between methods, or between groups, are mostly "
                "chance there."
            )

    def _table(self, heads: dict[str, str], judged: dict[str, str] | None = None) -> str:
        """A row a method and budget; `judged` says by which part's events a metric is judged."""
        rows = []
        if judged:
            counts = (f"{self._events(judged[m]):.0f}" if m in judged else "" for m in heads)
            rows.append(("*Events judged, a split*", "", *counts))
        for method, label in self._lines():
            cells = [self._cell(method, label, metric) for metric in heads]
            if set(cells) != {"–"}:
                rows.append((look(method).label, "–" if label == NONE else label, *cells))
        bold = (look(PROPOSED).label,)
        return markdown_body(Table("", "", ("Method", "ε", *heads.values()), tuple(rows), bold))

    def _lines(self) -> list[tuple[str, str]]:
        return [
            (method, label)
            for method in self.results.methods(self.name)
            for label in self.results.settings(self.name)
            if self.results.values(self.name, method, label, "auprc")
        ]

    def _metrics(self) -> list[str]:
        rows = (r for r in self.results.rows if (r.experiment, r.method) == (self.name, BASE_RATE))
        return [m for m in dict.fromkeys(row.metric for row in rows) if m.endswith("_events")]

    def _events(self, part: str) -> float:
        return self._of(BASE_RATE, NONE, f"{part}_events").mean

    def _of(self, method: str, label: str, metric: str) -> Summary:
        return summary(self.results.values(self.name, method, label, metric))

    def _cell(self, method: str, label: str, metric: str) -> str:
        found = self._of(method, label, metric)
        if not found.seeds or metric not in WITH_INTERVAL:
            return number(found.mean)
        return f"{number(found.mean)} ± {number((found.upper - found.lower) / 2)}"
