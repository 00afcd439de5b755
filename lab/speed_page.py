"""docs/scale.md from the result of lab/speed.py: every number comes from the file."""

from pathlib import Path
from typing import Any

from longsynth.sample import CHUNK
from speed import ratios

PARTS = ("normal", "product")

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
committed result. A ratio is CPU seconds over those of a floor in the same run. For `fit` the floor
is one Polars scan of the file, in which every column is decoded and added up, and one float64
product of as many rows of D numbers with themselves (SYRK), in chunks of 8,192; the file is in the
system's cache and Polars' threads stand, as is true of the fit that is measured. For `copula-score`
it is a scan for each of its three passes and one such product at the width of each. Where rows are
not sorted, it is DuckDB's sort alone; for `sample`, writing the same tables with PyArrow alone,
with the same settings. Of floors, and of `trust` from sorted rows, the least of three runs counts.
A fit is opening, planning, all passes and the noise. *Command* is all of `longsynth fit`, which
also counts what could not be read and writes two folders. For few patients what is fixed outweighs
the rest.

| patients | | CPU s | floor s | ratio | peak MB |
|---:|---|---:|---:|---:|---:|
"""

WIDE = """
## Wide records

{patients:,} patients; most of the time of `trust` is noise, number by number. Beside it, how many
integers each method adds up and releases:

| D = T·V | `trust`, CPU s | peak MB | {methods} |
|---:|---:|---:|{lines}|
"""

BAND = """
`trust` multiplies numbers of slots within a band (`bandwidth`, 3 if nothing else is said), strip by
strip, and releases these products: all that its model reads. All pairs of a record of {width:,}
numbers would be {pairs:,}. The other methods have nothing to cut: `copula-score` pools pairs of
slots by their distance in a few groups, `dp-markov` counts steps from one slot to the next, and
`dp-score` adds up no pairs.

## Single precision

`trust` and `dp-score` draw normal numbers in float32, multiply them with their factor and add
means in it; values are clipped and written in float64. A chunk of 16,384 patients takes
{normal32:.1f} ms of draws and {product32:.1f} ms for the product; in float64 it would be
{normal64:.1f} and {product64:.1f} ms. That spares {gain:.0f} % of drawing and writing a chunk at
{patients:,} patients: most of the time goes elsewhere. `copula-score` draws in float64, and
balances and multiplies in float32.
"""

NAMES = {
    "fit": ("`trust`, sorted", "trust"),
    "fit, not sorted": ("`trust`, not sorted", "shuffled"),
    "fit, command": ("`trust`, command", "command"),
    "sample": ("`trust`, sample", "sample"),
    "copula-score": ("`copula-score`, sorted", "copula-score"),
    "copula-score sample": ("`copula-score`, sample", "copula-score sample"),
}


def page(content: dict[str, Any]) -> str:
    text = HEAD + TABLE
    for row in content["sizes"]:
        for name, ratio in ratios(row).items():
            label, key = NAMES[name]
            cpu, peak = row[key]["cpu"], row[key]["peak"]
            text += f"| {row['patients']:,} | {label} | {cpu:.2f} | {cpu / ratio:.3f} |"
            text += f" {ratio:.1f} | {peak:.0f} |\n"
    return text + _wide(content) + _band(content) + _machine(content)


def _wide(content: dict[str, Any]) -> str:
    wide = content["widths"]
    methods = list(wide[0]["stored"])
    text = WIDE.format(
        patients=wide[0]["patients"],
        methods=" | ".join(f"`{m}`" for m in methods),
        lines="|".join("---:" for _ in methods),
    )
    for row in wide:
        stored = " | ".join(f"{row['stored'][m]:,}" for m in methods)
        text += f"| {row['width']:,} | {row['cpu']:.2f} | {row['peak']:.0f} | {stored} |\n"
    return text


def _band(content: dict[str, Any]) -> str:
    most, draws = content["sizes"][-1], content["draws"]
    chunk = most["sample"]["cpu"] * CHUNK / most["patients"]
    found = {f"{what}{bits}": draws[f"{what} float{bits}"] for what in PARTS for bits in (64, 32)}
    gain = sum(found[f"{what}64"] - found[f"{what}32"] for what in PARTS) / chunk
    in_ms = {name: 1e3 * seconds for name, seconds in found.items()}
    width = content["widths"][-1]["width"]
    pairs = width * (width + 1) // 2
    return BAND.format(
        gain=100 * gain, patients=most["patients"], width=width, pairs=pairs, **in_ms
    )


def _machine(content: dict[str, Any]) -> str:
    about = content["surroundings"]
    return f"\nPython {about['python']}, {about['machine']}, BLAS {about['blas']}.\n"


def write(content: dict[str, Any], target: Path) -> None:
    target.write_text(page(content), encoding="utf-8")
