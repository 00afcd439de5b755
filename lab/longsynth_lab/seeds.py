"""Seed-level values for the plots: a mean hides how few and how scattered its seeds are."""

from longsynth_lab.results import Results
from longsynth_lab.study_frames import Frame

SHOWN = ("comparison", "canary", "cost", "ablation", "scarcity", "missingness")


def seeds_frame(results: Results) -> Frame:
    """Return (experiment, metric, method, setting, seed, value) of what is shown seed by seed."""
    rows = [
        (row.experiment, row.metric, row.method, row.setting, row.seed, row.value)
        for row in results.rows
        if row.experiment in SHOWN
    ]
    columns = ("experiment", "metric", "method", "setting", "seed", "value")
    return Frame("seeds", columns, tuple(rows))
