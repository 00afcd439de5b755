"""docs/scale.md and its plot, from the results of lab/speed.py.

python lab/speed_page.py    writes the page again from lab/results/speed.json
"""

import json
from pathlib import Path
from typing import Any

from longsynth.sample import CHUNK
from speed import RESULT, ratios
from speed_plans import DRAWN

PARTS = ("normal", "product")
SLOWER = 1.25  # a ratio that grew by more is pointed out

HEAD = """# Scale

Fitting makes one pass over the data for each stage of a method and adds up exact sums. Sampling
generates chunks of 16,384 patients, each with its own seed. In both, memory does not grow with the
number of patients. Only sorting unsorted rows with DuckDB takes more memory, up to a limit; beyond
it, DuckDB uses the disk.

- **Sorted Parquet files are streamed.** If ids are whole numbers in ascending order in both tables,
  files are read once, directly into the sums. Rows of one patient may be in any order. Other files,
  for example with text ids or unsorted rows, are sorted by DuckDB first. The integers are the same.
- **`--jobs N`** makes `fit` and `sample` use N threads in addition to the one that reads or writes.
  Any number gives the same integers before noise, and the same bytes of synthetic patients.
- **Wide records.** `longsynth plan` says how much memory and time a fit needs, from the schema and
  the number of patients alone. If this machine has too little memory, the fit is refused before it
  charges any budget.
"""

TABLE = """
## Measurements

`make bench` measures this again, each figure in a separate process, and compares with the committed
result. The ratio divides CPU seconds by those of a floor in the same run. The floors are:

- `fit`: one Polars scan of the file that decodes and adds up every column, plus one float64 product
  of the same number of rows of D numbers with themselves (SYRK), in chunks of 8,192. The file is in
  the system's cache, and Polars' threads are already running, as for the measured fit.
- `copula-score`: one scan per pass (three, or four with labels), and one such product at the
  width of each.
- unsorted rows: DuckDB's sort alone.
- `sample`: writing the same tables with PyArrow alone, with the same settings.

For the floors and for `trust` on sorted rows, we report the fastest of three runs. A fit includes
opening, planning, all passes and the noise. *Command* is the whole of `longsynth fit`, which also
counts unreadable cells and writes two folders. With few patients, fixed costs dominate.

| patients | | CPU s | floor s | ratio | peak MB |
|---:|---|---:|---:|---:|---:|
"""

WIDE = """
## Wide records

{patients:,} patients. `trust` spends most of its time drawing noise for each number. The last
columns show how many integers each method adds up and releases:

| D = T·V | `trust`, CPU s | peak MB | {methods} |
|---:|---:|---:|{lines}|
"""

BAND = """
`trust` releases only the products of slots within a band (`bandwidth`, by default 3), which is all
that its model reads. All pairs of a record of {width:,} numbers would be {pairs:,} products. The
other methods need no band: `copula-score` pools pairs of slots by their distance into a few groups,
`dp-markov` counts transitions from one slot to the next, and `dp-score` uses no pairs.

## Single precision

When sampling, `trust` and `dp-score` draw normal numbers, multiply them by their factor and add
means in float32. They clip and write values in float64. For a chunk of 16,384 patients, the draws
take {normal32:.1f} ms and the product {product32:.1f} ms; in float64 they would take {normal64:.1f}
and {product64:.1f} ms. This saves {gain:.0f} % of the time to generate and write a chunk at
{patients:,} patients. `copula-score` looks normal numbers up by 16 random
bits each, and balances and multiplies them in float32.
"""

PLANS = f"""
## What `longsynth plan` says

`longsynth plan` states what the commands `fit` and `sample` take, start and imports included. Each
cell is planned / measured. A sample is of {DRAWN:,} patients, and builds the model first.

| method | T | V | patients | `fit`, CPU s | peak MB | `sample`, CPU s | peak MB |
|---|---:|---:|---:|---:|---:|---:|---:|
"""

AUDITS = """
## Audits

As many training, test and synthetic patients each. The floor is one float32 product between all
training and all synthetic records, of 64 numbers each. An audit searches for the nearest records
sixteen times, so attacks grow with the square of the number of patients. Everything else grows in
proportion to it.

| patients | CPU s | floor s | ratio |
|---:|---:|---:|---:|
"""

NAMES = {
    "fit": ("`trust`, sorted", "trust"),
    "fit, not sorted": ("`trust`, unsorted", "shuffled"),
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
    made = (_plans, _audits, _wide, _band, _machine)
    return text + "".join(part(content) for part in made)


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


def _plans(content: dict[str, Any]) -> str:
    text = PLANS
    for row in content["plans"]:
        text += f"| `{row['method']}` | {row['slots']} | {row['variables']} | {row['patients']:,} |"
        for command in ("fit", "sample"):
            said, was = row["planned"][command], row["measured"][command]
            text += f" {said['cpu']:.1f} / {was['cpu']:.1f} |"
            text += f" {said['peak']:,.0f} / {was['peak']:,.0f} |"
        text += "\n"
    return text


def _audits(content: dict[str, Any]) -> str:
    text = AUDITS
    for row in content["audits"]:
        cpu, floor = row["cpu"], row["floor"]
        text += f"| {row['patients']:,} | {cpu:.1f} | {floor:.3f} | {cpu / floor:,.0f} |\n"
    return text


def show(content: dict[str, Any], before: dict[str, Any]) -> None:
    earlier = {row["patients"]: ratios(row) for row in before.get("sizes", [])}
    print(f"{'patients':>9} {'':<20}{'CPU':>9}{'peak':>9}{'ratio':>7}{'before':>8}")
    keys = {"fit": "trust", "fit, not sorted": "shuffled", "fit, command": "command"}
    for row in content["sizes"]:
        for name, ratio in ratios(row).items():
            found, last = row[keys.get(name, name)], earlier.get(row["patients"], {}).get(name)
            note = "" if last is None else f"{last:>8.1f}" + " slower" * (ratio > SLOWER * last)
            print(
                f"{row['patients']:>9,} {name:<20}{found['cpu']:>8.2f}s{found['peak']:>6.0f} MB"
                f"{ratio:>7.1f}{note}"
            )
    for row in content["audits"]:
        ratio = row["cpu"] / row["floor"]
        print(f"{row['patients']:>9,} {'audit':<20}{row['cpu']:>8.2f}s{'':>12}{ratio:>7.1f}")
    for row in content["plans"]:
        said = [row["planned"][c]["cpu"] / row["measured"][c]["cpu"] for c in ("fit", "sample")]
        case = f"{row['method']}, T = {row['slots']}, V = {row['variables']}"
        print(f"{row['patients']:>9,} {case:<32} planned / measured: {said[0]:.2f}, {said[1]:.2f}")
    for row in content["widths"]:
        print(f"D = {row['width']:>5,} {'fit':<20}{row['cpu']:>8.2f}s{row['peak']:>6.0f} MB")


LINES = {  # of a result: its name among the ratios, colour and mark
    "trust": ("fit", "#1f5a8c", "o"),
    "shuffled": ("fit, not sorted", "#8c2d1f", "s"),
    "copula-score": ("copula-score", "#6b4c9a", "v"),
    "sample": ("sample", "#2e7d4f", "^"),
}


def plot(content: dict[str, Any], target: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows, wide = content["sizes"], content["widths"]
    size = [row["patients"] for row in rows]
    figure, axes = pyplot.subplots(1, 4, figsize=(14, 3.4), layout="constrained")
    for key, (label, colour, mark) in LINES.items():
        look = {"color": colour, "marker": mark, "label": label, "lw": 1.5, "ms": 5}
        axes[0].loglog(size, [row[key]["cpu"] for row in rows], **look)
        axes[1].semilogx(size, [row[key]["peak"] for row in rows], **look)
        axes[2].loglog(size, [ratios(row)[label] for row in rows], **look)
    floor = [row["scan"]["cpu"] + row["syrk"]["cpu"] for row in rows]
    axes[0].loglog(size, floor, color="0.5", ls="--", lw=1, label="scan + SYRK")
    axes[0].loglog(size, [row["write"]["cpu"] for row in rows], color="0.5", ls=":", label="write")
    axes[2].axhline(1, color="0.5", lw=1, ls="--")
    width = [row["width"] for row in wide]
    axes[3].loglog(width, [row["cpu"] for row in wide], color="#1f5a8c", marker="o", label="CPU s")
    axes[3].loglog(
        width, [row["peak"] / 1e3 for row in wide], color="#8c6d1f", marker="D", label="peak GB"
    )
    titles = ("CPU seconds", "peak memory, MB", "CPU over its floor", "by width D, 2,000 patients")
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("patients" if axis is not axes[3] else "D = T·V", fontsize=9)
        axis.grid(alpha=0.25, lw=0.5)
        axis.legend(fontsize=7, frameon=False)
        axis.tick_params(labelsize=8)
    axes[1].set_ylim(bottom=0)
    figure.savefig(target, dpi=130)


if __name__ == "__main__":
    write(json.loads(RESULT.read_text(encoding="utf-8")), Path("docs/scale.md"))
