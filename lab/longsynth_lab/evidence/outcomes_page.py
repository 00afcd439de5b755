"""docs/outcomes.md: the utility of each outcome in studies with several of them."""

from collections.abc import Iterator
from statistics import mean
from typing import Any

from longsynth.audit.registry import find_metric
from longsynth.audit.result import BASE_RATE, ON_REAL
from longsynth.system.text import markdown_table

HEAD = """# Several outcomes

Studies of real, openly licensed patients with several outcomes: competing times to event, numbers,
grades and an event. Patients were split by `longsynth split`. A model of each outcome is trained on
synthetic patients, on the real ones, and not at all (*base rate*), and tested on held-out real
patients: a logistic regression, a ridge regression or a Cox model. [The metrics](metrics.md) say
what each number means and what a model may know.

- **Synthetic rows** show the mean over draws of the noise, and in brackets the lowest and the
  highest draw.
- **Real and base-rate rows** show a 95 % interval from resampled test patients.
- Noise and split are not seeded: a rerun gives other patients and other noise. One split is one
  sample of patients, and with few patients another split can change the order of rows.
- `dp-markov` runs with its default settings, and no other rival was measured. Where it is ahead of
  `copula-score`, a tuned rival could be further ahead.

`python lab/outcomes.py --out lab/results/outcomes.json --page docs/outcomes.md` measures it again.
"""
SHOWN = (
    *("auprc", "auroc", "brier", "mean_prediction", "r2", "mae", "rank_correlation"),
    *("concordance", "integrated_brier", "curve_distance", "hazard_ratio_error"),
)


def outcomes_page(results: dict[str, Any]) -> str:
    parts = [HEAD]
    for name, study in results["studies"].items():
        train, test = (f"{study['patients'][part]:,}" for part in ("train", "test"))
        draws = study["study"]["draws"]
        parts.append(
            f"## `{name}`\n\n{train} patients were fitted and {test} held out; {draws} draws of "
            f"the noise. The schema is `examples/schemas/{name}.yaml`. {_way(study['commands'])}\n"
        )
        rows = [row for row in study["rows"] if row["section"] == "utility"]
        for outcome in dict.fromkeys(row["outcome"] for row in rows):
            chosen = [row for row in rows if row["outcome"] == outcome]
            parts.append(f"### {outcome}\n\n{_table(chosen)}\n")
    return "\n".join(parts)


def _way(commands: dict[str, int]) -> str:
    """How the commands of a user ended."""
    failed = [f"`{name}` ({code})" for name, code in commands.items() if code]
    if failed:
        return f"These commands failed, with their exit codes: {', '.join(failed)}."
    return f"These commands succeeded: {', '.join(f'`{name}`' for name in commands)}."


def _table(rows: list[dict[str, Any]]) -> str:
    computed = {row["metric"] for row in rows}
    metrics = [name for name in SHOWN if name in computed]
    heads = [metric.heading for name in metrics if (metric := find_metric(name))]
    return markdown_table(
        ("trained on", *heads),
        [
            (label, *(_cell([r for r in chosen if r["metric"] == m]) for m in metrics))
            for label, chosen in _sources(rows)
        ],
    )


def _sources(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for label in (ON_REAL, BASE_RATE):
        yield label, [row for row in rows if row["row"] == label]
    drawn = [row for row in rows if row["method"]]
    for method, epsilon in dict.fromkeys((row["method"], row["epsilon"]) for row in drawn):
        chosen = [row for row in drawn if (row["method"], row["epsilon"]) == (method, epsilon)]
        yield f"synthetic, `{method}`, ε = {epsilon:g}", chosen


def _cell(rows: list[dict[str, Any]]) -> str:
    values = [row["value"] for row in rows if row["value"] is not None]
    if not values:
        return "–"
    low, high = min(values), max(values)
    if len(rows) == 1:
        low, high = rows[0]["lower"], rows[0]["upper"]
    return (
        f"{mean(values):.3f} ({low:.3f} to {high:.3f})" if low is not None else f"{values[0]:.3f}"
    )
