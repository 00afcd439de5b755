"""Write the tables of docs/metrics.md from the registry of metrics."""

import re
from pathlib import Path

from longsynth.audit.metric import Better, Metric
from longsynth.audit.registry import SECTIONS, metrics_of
from longsynth.system.folders import write_whole

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
PERFECT: dict[Better, str] = {
    "higher": "1",
    "lower": "0",
    "half": "0.5",
    "one": "1",
    "zero": "0",
    "none": "–",
}


def page(text: str) -> str:
    """The page with the table of each section after its comment `<!-- metrics: SECTION -->`."""
    for section in SECTIONS:
        head = f"<!-- metrics: {section} -->\n"
        before, _, after = text.partition(head)
        rest = re.sub(r"\A(?:\|.*\n)*", "", after)
        text = before + head + _table(section) + rest
    return text


def _table(section: str) -> str:
    metrics = metrics_of(section)
    compared = any(metric.compare for metric in metrics)
    rows = [["metric", "meaning", "perfect"], ["---"] * 3, *map(_row, metrics)]
    if compared:
        last = ["compare with", "---", *(metric.compare for metric in metrics)]
        rows = [[*row, cell] for row, cell in zip(rows, last, strict=True)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(metric: Metric) -> list[str]:
    return [f"`{metric.name}`", metric.meaning, PERFECT[metric.better]]


if __name__ == "__main__":
    write_whole(PAGE, page(PAGE.read_text(encoding="utf-8")).encode())
