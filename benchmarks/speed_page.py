"""docs/scale.md from the result of benchmarks/speed.py: every number comes from the file."""

from pathlib import Path
from typing import Any

from speed import ratios

HEAD = """# Scale

Fitting is a pass of exact sums for each stage of a method; sampling draws chunks of 16,384
patients, each with a seed of its own. Memory does not grow with the number of patients in either;
DuckDB's sort of rows in disorder takes more, up to a limit, and the rest on disk.

- **Sorted Parquet streams.** If ids are whole numbers that rise in both tables, files are read
  once, straight into the sums; rows of one patient may come in any order. Anything else, such as
  text ids or rows in disorder, is sorted by DuckDB first, on disk where it must. The integers are
  the same.
- **`--jobs N`** of `fit` and `sample` uses N threads beside the one that reads or writes. Any
  number gives the same integers before noise, and the same bytes of synthetic patients.
- **Wide records.** `longsynth plan` says how much memory and time a fit would need, from the
  schema and the number of patients alone. A fit that this machine has not the memory for is
  refused before anything is charged.
"""

TABLE = """
## Measured

`make bench` measures this anew, each figure in a process of its own, and compares with the
committed result. A ratio is CPU seconds over those of a floor in the same run: for `fit` one
Polars scan of the file and one float64 product of all values (SYRK); where rows are not sorted,
DuckDB's sort alone; for `sample` writing the same tables with PyArrow alone, with the same
settings. *Command* is all of `longsynth fit`, which also counts what could not be read and writes
two folders. For few patients what is fixed outweighs the rest.

| patients | | CPU s | floor s | ratio | peak MB |
|---:|---|---:|---:|---:|---:|
"""

WIDE = """
Wide records, {patients:,} patients; most of the time at D = 2,000 is the noise of two million
numbers:

| D = T·V | CPU s | peak MB |
|---:|---:|---:|
"""

NAMES = {
    "fit": ("`trust`, sorted", "trust"),
    "fit, not sorted": ("`trust`, not sorted", "shuffled"),
    "fit, command": ("`trust`, command", "command"),
    "sample": ("`trust`, sample", "sample"),
    "copula-score": ("`copula-score`, sorted", "copula-score"),
}


def page(content: dict[str, Any]) -> str:
    text = HEAD + TABLE
    for row in content["sizes"]:
        for name, ratio in ratios(row).items():
            label, key = NAMES[name]
            cpu, peak = row[key]["cpu"], row[key]["peak"]
            text += f"| {row['patients']:,} | {label} | {cpu:.2f} | {cpu / ratio:.3f} |"
            text += f" {ratio:.1f} | {peak:.0f} |\n"
    wide = content["widths"]
    text += WIDE.format(patients=wide[0]["patients"])
    for row in wide:
        text += f"| {row['width']:,} | {row['cpu']:.1f} | {row['peak']:.0f} |\n"
    about = content["surroundings"]
    return text + f"\nPython {about['python']}, {about['machine']}, BLAS {about['blas']}.\n"


def write(content: dict[str, Any], target: Path) -> None:
    target.write_text(page(content), encoding="utf-8")
