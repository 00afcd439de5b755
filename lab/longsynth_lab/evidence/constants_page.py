"""docs/constants.md: every public constant with its reason, and its effect on `trust`."""

import re
from collections.abc import Iterator

from longsynth.reading.simulation import simulated_schema
from longsynth.schema.constants import Constants
from longsynth_lab.evidence.comparison_tables import CONDITIONS, cell, metric_name, metric_title
from longsynth_lab.evidence.comparisons import CONSTANTS
from longsynth_lab.evidence.rivals import higher_is_better
from longsynth_lab.experiments import REFERENCES
from longsynth_lab.labels import look
from longsynth_lab.results import Results
from longsynth_lab.statistics import Summary, summary
from longsynth_lab.tables import Table, markdown_body
from longsynth_lab.variants import MOVED, moved
from longsynth_lab.versions import only

SHOWN = (
    "auprc",
    "brier",
    "marginal_ks",
    "correlation_error",
    "autocorrelation_error",
    "missingness_error",
    "prevalence_error",
)
SETTING = "12"  # ε
RADIUS = {"clip_radius": "2/3"}  # the default, in parts of √(T·V)
SYMBOL = re.compile(r"([^ ,:]{1,5}): |(ν = N·μ): ")


def constants_text(results: Results) -> str:
    """Return the page from the results on development seeds."""
    found = only(results, [CONSTANTS])
    seeds = found.seeds(CONSTANTS)
    parts = [
        "# Constants",
        CONDITIONS,
        "These are all public numbers that methods use. None of them comes from a cohort. You can "
        "set any of them in a schema, under `constants:`. Symbols and `eq:` labels are the "
        "paper's.",
        "\n".join(_definitions()),
        "## How much they matter",
        f"We changed one constant of `trust` at a time: 504 simulated patients, ε = {SETTING}, "
        f"{len(seeds)} development seeds ({seeds[0]} to {seeds[-1]}), two draws of noise per seed. "
        "Development seeds can guide a choice but cannot confirm it.",
        _table(found, [("all defaults", "trust"), *((look(r).label, r) for r in REFERENCES)]),
        "↓ or ↑ marks a number whose 95 % interval of the paired difference from the default "
        "excludes zero. Bold: the difference is an improvement. With so many numbers some marks "
        "are chance. For example, `steps` does not change the end point of the path, so a mark "
        "there can only be chance.",
    ]
    for constant in MOVED:
        parts += [f"### {constant}", *_moved(found, constant)]
    return "\n\n".join(parts) + "\n"


def _definitions() -> Iterator[str]:
    """Names, defaults and reasons, all read from the model of the constants."""
    resolved = simulated_schema().resolved(504).resolved_constants.model_dump()
    yield "| constant | symbol | default | meaning and reason |"
    yield "|---|---|---|---|"
    for name, field in Constants.model_fields.items():
        described = field.description or ""
        symbol = SYMBOL.match(described)
        reason = described[symbol.end() :] if symbol else described
        default = f"`{field.default}`"
        if field.default is None:
            default = f"by rule ({resolved[name]:.3g} below)"
        shown = f"`{(symbol[1] or symbol[2])}`" if symbol else ""
        yield f"| `{name}` | {shown} | {default} | {reason} |"


def _moved(results: Results, constant: str) -> Iterator[str]:
    default = RADIUS.get(constant, str(Constants.model_fields[constant].default))
    rows = [(f"**{default}** (default)", "trust")]
    rows += [(str(value), moved(constant, value)) for value in MOVED[constant]]
    head = "in √(T·V)" if constant in RADIUS else constant
    yield _table(results, rows, head)
    better, worse = list[str](), list[str]()
    for shown, row in rows[1:]:
        for metric in SHOWN:
            gap = _gap(results, row, metric)
            if _differs(gap):
                good = (gap.mean > 0) == higher_is_better(metric)
                (better if good else worse).append(f"{shown} in {metric_name(metric)}")
    said = [
        f"{word} than the default: {'; '.join(some)}."
        for word, some in (("Better", better), ("Worse", worse))
        if some
    ]
    yield " ".join(said) or "No value differs clearly from the default."


def _table(results: Results, rows: list[tuple[str, str]], head: str = "") -> str:
    body = [(shown, *(_cell(results, row, metric) for metric in SHOWN)) for shown, row in rows]
    heads = (head, *(metric_title(metric) for metric in SHOWN))
    return markdown_body(Table("", "", heads, tuple(body)))


def _cell(results: Results, row: str, metric: str) -> str:
    shown = cell(summary(results.values(CONSTANTS, row, SETTING, metric)), with_interval=False)
    gap = _gap(results, row, metric)
    if row in REFERENCES or not _differs(gap):
        return shown
    marked = f"{shown} {'↑' if gap.mean > 0 else '↓'}"
    return f"**{marked}**" if (gap.mean > 0) == higher_is_better(metric) else marked


def _gap(results: Results, row: str, metric: str) -> Summary:
    """The difference from the default, paired over seeds."""
    there, here = (results.by_seed(CONSTANTS, r, SETTING, metric) for r in (row, "trust"))
    return summary([there[seed] - here[seed] for seed in sorted(there.keys() & here.keys())])


def _differs(gap: Summary) -> bool:
    return gap.seeds > 1 and gap.mean != 0 and not gap.contains(0.0)
