"""The 41 CSV files that the paper's figures read, from seed-level results."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

import numpy as np
import pyarrow as pa

from longsynth.audit.ranking import Predictions, curves
from longsynth_lab.experiments import BASELINES, MAIN, METHODS, PROPOSED
from longsynth_lab.labels import look
from longsynth_lab.paper.section_v import ABLATION, SCALED, STRESSED
from longsynth_lab.results import Results, pooled
from longsynth_lab.statistics import summary

CellValue = str | int | float


@dataclass(frozen=True, slots=True)
class Frame:
    """A small table. Its rows are in plotting order, which sets the positions of bars."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[CellValue, ...], ...]

    def column(self, name: str) -> list[CellValue]:
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def numbers(self, name: str) -> list[float]:
        return [float(value) for value in self.column(name)]


def as_csv(frame: Frame) -> str:
    """Return the file's text: full precision, `nan` for missing numbers, no quoting."""
    lines = [",".join(frame.columns)]
    for row in frame.rows:
        cells = [_cell(value) for value in row]
        if any(set(cell) & set(',"\n') for cell in cells):
            raise ValueError(f"{frame.name}: a cell with a comma or quote would shift its row")
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def read_csv(path: Path) -> list[list[str]]:
    """Return the cells of a CSV file, including its head."""
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))


def _cell(value: CellValue) -> str:
    if isinstance(value, float):
        return "nan" if isnan(value) else repr(float(value))
    return str(value)


CURVE_POINTS = 51
CALIBRATION_EDGES = (  # the ten bins of the ECE, the lowest divided: rare events are foreseen there
    *(0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05),
    *(place / 10 for place in range(1, 11)),
)
SCALING = ("patients_total", "fit_seconds", "sample_seconds", "seconds", "least", "most")
SUMMARY = ("mean", "std", "lower", "upper", "seeds")

# file, experiment, metric: one row for each method, in the order of METHODS
BARS = (  # fig:main, fig:fidelity, fig:efficiency
    ("main_auprc", "comparison", "auprc"),
    ("main_brier", "comparison", "brier"),
    ("main_ece", "comparison", "ece"),
    ("membership_auc", "comparison", "mia_auc"),
    ("marginal_ks", "comparison", "marginal_ks"),
    ("correlation_error", "comparison", "correlation_error"),
    ("autocorrelation_error", "comparison", "autocorrelation_error"),
    ("runtime_fit", "cost", "fit_seconds"),
    ("peak_memory", "cost", "peak_mb"),
)
# file, experiment, metric, column of the setting; one file for each method if there are several
LINES = (  # fig:robustness
    ("epsilon_auprc", "epsilon", "auprc", "epsilon", ()),
    ("epsilon_membership", "epsilon", "mia_auc", "epsilon", ()),
    ("epsilon_autocorr", "epsilon", "autocorrelation_error", "epsilon", ()),
    ("data_scarcity", "scarcity", "auprc", "train_patients", STRESSED),
    ("missingness_robustness", "missingness", "auprc", "extra_missing_rate", STRESSED),
)
# file, curve, x and y
CURVES = (  # fig:curves
    ("roc_curves", "roc", "fpr", "tpr"),
    ("pr_curves", "pr", "recall", "precision"),
)
CURVED = (*BASELINES[1:], PROPOSED)


def figure_frames(results: Results, predictions: pa.Table) -> list[Frame]:
    """Return every file that a figure reads, computed from seed-level numbers alone."""
    return [*_bars(results), *_lines(results), *_single(results), *_curves(predictions)]


def summarised(
    results: Results, experiment: str, method: str, setting: str, metric: str
) -> tuple[float, float, float, float, int]:
    found = summary(results.values(experiment, method, setting, metric))
    return found.mean, found.sd, found.lower, found.upper, found.seeds


def _bars(results: Results) -> Iterator[Frame]:
    for name, experiment, metric in BARS:
        rows = [
            (
                look(method).label,
                *summarised(results, experiment, method, MAIN, metric),
                *_ends(results.values(experiment, method, MAIN, metric)),
            )
            for method in METHODS
        ]
        yield Frame(name, ("method", *SUMMARY, "least", "most"), tuple(rows))


def _lines(results: Results) -> Iterator[Frame]:
    for name, experiment, metric, column, several in LINES:
        for method in several or (PROPOSED,):
            rows = [
                (float(setting), *summarised(results, experiment, method, setting, metric))
                for setting in results.settings(experiment)
            ]
            file = f"{name}_{look(method).suffix}" if several else name
            yield Frame(file, (column, *SUMMARY), tuple(rows))


def _single(results: Results) -> Iterator[Frame]:
    """The three files with a shape of their own: canary (fig:fidelity), ablation (fig:robustness)
    and scaling (fig:efficiency)."""
    rows = []
    for method in METHODS:
        four, one, none = (
            summarised(results, "canary", method, label, "canary_exposure")
            for label in ("4 copies", "1 copy", "no canary")
        )
        rows.append((look(method).label, four[0], four[1], one[0], one[1], none[0], none[1]))
    columns = ("exposure_rate", "std", "one_copy", "one_copy_std", "control", "control_std")
    yield Frame("canary", ("method", *columns), tuple(rows))
    yield Frame(
        "ablation_auprc",
        ("variant", *SUMMARY),
        tuple(
            (variant, *summarised(results, "ablation", PROPOSED, variant, "auprc"))
            for variant in ABLATION
        ),
    )
    for method in SCALED:
        yield Frame(f"scalability_{look(method).suffix}", SCALING, _scaling(results, method))


def _scaling(results: Results, method: str) -> tuple[tuple[float, ...], ...]:
    """Mean seconds of both steps, then of their sum, with the fastest and slowest seed."""
    rows = []
    for setting in results.settings("scaling"):
        fit, drawn = (
            results.by_seed("scaling", method, setting, metric)
            for metric in ("fit_seconds", "sample_seconds")
        )
        both = [fit[seed] + drawn[seed] for seed in sorted(fit.keys() & drawn.keys())]
        means = (summary(list(found)).mean for found in (fit.values(), drawn.values(), both))
        rows.append((int(setting), *means, *_ends(both)))
    return tuple(rows)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """The lowest and highest seed: a range that stays above zero on a logarithmic axis."""
    known = [value for value in values if np.isfinite(value)]
    return (min(known), max(known)) if known else (np.nan, np.nan)


def _curves(predictions: pa.Table) -> Iterator[Frame]:
    """Curves pool the test patients of all seeds. They are for illustration; reported numbers come
    from single seeds."""
    for method in CURVED:
        found = pooled(predictions, "comparison", method, MAIN)
        made = Predictions(**{k: found[k] for k in ("event", "probability", "group", "site")})
        drawn = curves(made) if len(found["event"]) else {}
        for name, curve, x, y in CURVES:
            points = drawn.get(curve, {x: np.array([np.nan]), y: np.array([np.nan])})
            rows = _ordered(np.asarray(points[x]), np.asarray(points[y]))
            yield Frame(f"{name}_{look(method).suffix}", (x, y), rows)
        columns = ("predicted", "observed", "patients")
        yield Frame(f"calibration_curves_{look(method).suffix}", columns, _calibration(made))


def _calibration(made: Predictions) -> tuple[tuple[float, float, int], ...]:
    """Mean prediction, share of events and number of patients for every non-empty bin."""
    place = np.clip(np.digitize(made.probability, CALIBRATION_EDGES), 1, len(CALIBRATION_EDGES) - 1)
    rows = []
    for one in np.unique(place):
        chosen = place == one
        predicted, observed = made.probability[chosen].mean(), made.event[chosen].mean()
        rows.append((float(predicted), float(observed), int(chosen.sum())))
    return tuple(rows) or ((np.nan, np.nan, 0),)


def _ordered(
    x: np.ndarray[tuple[int], np.dtype[np.float64]], y: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[tuple[float, float], ...]:
    """Return points in ascending order, thinned to at most CURVE_POINTS with both ends kept."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) > CURVE_POINTS:  # points of the curve itself, evenly along it: nothing is invented
        step = np.hypot(np.diff(x), np.diff(y)).cumsum()
        along = np.concatenate([[0.0], step]) / step[-1]
        kept = np.unique(np.searchsorted(along, np.linspace(0, 1, CURVE_POINTS)))
        x, y = x[kept], y[kept]
    return tuple((float(a), float(b)) for a, b in zip(x, y, strict=True))


SEED_BY_SEED = ("comparison", "canary", "cost", "ablation", "scarcity", "missingness")


def seeds_frame(results: Results) -> Frame:
    """Return (experiment, metric, method, setting, seed, value) for results shown per seed."""
    rows = [
        (row.experiment, row.metric, row.method, row.setting, row.seed, row.value)
        for row in results.rows
        if row.experiment in SEED_BY_SEED
    ]
    columns = ("experiment", "metric", "method", "setting", "seed", "value")
    return Frame("seeds", columns, tuple(rows))
