"""Real open cohorts: every method at several budgets, judged on patients it never saw.

    python benchmarks/real_cohorts.py --cohorts FOLDER --out benchmarks/results/real.parquet
    python benchmarks/real_cohorts.py --out benchmarks/results/real.parquet --page docs/real.md

A cohort is split at random, seven parts to train and three to judge, once a seed. Finished cells
are kept beside the result file, so that a stopped run goes on where it was; what the result file
holds already is kept too, but for the methods named by --again.
"""

import argparse
import math
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from longsynth.audit.attacks.attribute import attribute_scores
from longsynth.audit.attacks.membership import membership_scores
from longsynth.audit.comparisons.telling_apart import telling_apart
from longsynth.audit.fidelity import COMPARISONS, fidelity_scores
from longsynth.audit.score import Score
from longsynth.audit.subgroups import subgroup_scores
from longsynth.audit.utility import base_rate, train_and_predict, utility_scores
from longsynth.benchmark.experiments import BASE_RATE, METHODS, TRAIN_ON_REAL
from longsynth.benchmark.real import real_text
from longsynth.benchmark.results import Row, joined, read_results, table_of
from longsynth.benchmark.results import write_whole as write_table
from longsynth.benchmark.trial import is_private
from longsynth.fit import fit, fit_without_privacy
from longsynth.io.tables import read_cohort
from longsynth.methods.registry import model_of
from longsynth.plan import plan
from longsynth.records import Cohort
from longsynth.sample import sample
from longsynth.schema import Schema
from longsynth.synthetic import Synthetic

SCHEMAS = Path(__file__).parents[1] / "examples" / "schemas"
COHORTS = {"physionet2012": 1e-6, "pbc": 1e-5}  # name, δ
COMPARED = (*METHODS, "copula-score")
EPSILONS = (1.0, 4.0, 12.0)
SEEDS = (1, 2, 3, 4, 5)  # of the splits
NONE = "0"  # label of a row without a budget


@cache
def whole(folder: Path, name: str) -> tuple[Schema, Cohort]:
    """Read a cohort with its example schema."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "schema.yaml").write_bytes((SCHEMAS / f"{name}.yaml").read_bytes())
        for table in ("observations.parquet", "patients.parquet"):
            (place / table).symlink_to((folder / name / table).resolve())
        return read_cohort(place)


def split(cohort: Cohort, seed: int) -> tuple[Cohort, Cohort]:
    order = np.random.default_rng(seed).permutation(cohort.patients)
    cut = round(0.7 * cohort.patients)
    return cohort.take(np.sort(order[:cut])), cohort.take(np.sort(order[cut:]))


def made(
    method: str, epsilon: float, delta: float, schema: Schema, train: Cohort, seed: int
) -> Synthetic | Cohort:
    if method == TRAIN_ON_REAL:
        return train
    if is_private(method):
        planned = plan(schema, train.patients, epsilon=epsilon, delta=delta, method=method)
        bundle = fit(train, planned)
    else:
        bundle = fit_without_privacy(train, schema, method)
    return sample(model_of(bundle), train.patients, seed=seed)


def scores(
    method: str,
    epsilon: float,
    delta: float,
    schema: Schema,
    parts: tuple[Cohort, Cohort],
    seed: int,
) -> list[Score]:
    train, test = parts
    if method == BASE_RATE:
        guessed = base_rate(train, test)
        known = [*utility_scores(guessed), *subgroup_scores(schema, guessed)]
        return [*known, *judged_events(schema, test)]
    drawn = made(method, epsilon, delta, schema, train, seed)
    predictions = train_and_predict(schema, drawn, test)
    comparisons = [c for c in COMPARISONS if c is not telling_apart]
    return [
        *utility_scores(predictions),
        *subgroup_scores(schema, predictions),
        *fidelity_scores(schema, test, drawn, comparisons=comparisons),
        *membership_scores(schema, train, test, drawn, seed=seed),
        *attribute_scores(schema, train, test, drawn),
    ]


def judged_events(schema: Schema, test: Cohort) -> list[Score]:
    """How many events each group has, and each at every site: few of them say little."""
    found = {}
    for group in (0, 1):
        of_group = test.event * (test.group == group)
        found[f"group{group}_events"] = of_group.sum()
        for place, site in enumerate(schema.sites):
            found[f"group{group}_site_{site}_events"] = of_group[test.site == place].sum()
    return [Score(name, float(n), math.nan, math.nan, "none") for name, n in found.items()]


def run(folder: Path, out: Path, again: list[str]) -> None:
    cells, known = [], _rows_by_cell(out)
    for name, delta in COHORTS.items():
        for seed in SEEDS:
            for method in (*COMPARED, TRAIN_ON_REAL, BASE_RATE):
                private = method in COMPARED and is_private(method)
                for epsilon in EPSILONS if private else (0.0,):
                    label = f"{epsilon:g}" if private else NONE
                    plain = method.replace(" ", "-")
                    cell = (
                        out.parent / f"{out.stem}-cells" / f"{name}-{plain}-{label}-{seed}.parquet"
                    )
                    cells.append(cell)
                    if cell.exists():
                        continue
                    before = known.get((name, method, seed, label))
                    if before and method not in again:
                        write_table(cell, table_of(before, Row))
                        continue
                    schema, everyone = whole(folder, name)
                    parts = split(everyone, seed)
                    found = scores(method, epsilon, delta, schema, parts, seed)
                    rows = [
                        Row(name, method, seed, label, s.metric, float(s.value), math.nan, math.nan)
                        for s in found
                    ]
                    write_table(cell, table_of(rows, Row))
                    print(cell.stem, flush=True)
    write_table(out, joined(cells))


def _rows_by_cell(out: Path) -> dict[tuple[str, str, int, str], list[Row]]:
    found: dict[tuple[str, str, int, str], list[Row]] = {}
    for row in read_results(out).rows if out.exists() else ():
        found.setdefault((row.experiment, row.method, row.seed, row.setting), []).append(row)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cohorts", type=Path, help="the folder of open cohorts; runs them")
    parser.add_argument("--out", type=Path, required=True, help="the result file")
    parser.add_argument("--again", nargs="*", default=[], help="methods to measure again")
    parser.add_argument("--page", type=Path, help="the page to write from the result file")
    arguments = parser.parse_args()
    if arguments.cohorts:
        run(arguments.cohorts, arguments.out, arguments.again)
    if arguments.page:
        arguments.page.write_text(real_text(read_results(arguments.out)), encoding="utf-8")
