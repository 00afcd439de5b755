"""The picture of lab/speed.py: growth with patients, ratios to floors, growth with width."""

from pathlib import Path
from typing import Any

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

    from speed import ratios

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
