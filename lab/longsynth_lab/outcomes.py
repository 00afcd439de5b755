"""Studies with several outcomes and groups: what models of each outcome are worth after training on
synthetic patients, beside training on real ones and the base rate.

One cohort needs a step before its import, because the source codes "unknown" in another way than a
schema can say; `PREPARED` has the query.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from longsynth import fit, import_cohort, model_of, plan, read_cohort, sample
from longsynth.audit.audit import predicted_outcomes
from longsynth.audit.metric import Score
from longsynth.audit.result import ON_SYNTHETIC
from longsynth.audit.targets import Patients
from longsynth.reading.records import Cohort
from longsynth.reading.split import split_cohort
from longsynth.schema.schema import Schema
from longsynth_lab.patients import CHECKOUT, folder_of_cohorts

METHODS = ("copula-score", "dp-markov")  # the default, and one rival with its default settings
DELTA, BOOTSTRAP = 1e-5, 200
LINEAR = ("logistic", "linear", "Cox", "")  # one model for each outcome, and none


class Study(NamedTuple):
    """A cohort and its example schema."""

    schema: str
    cohort: str
    holdout: float
    epsilons: tuple[float, ...]
    draws: int  # of the noise


STUDIES = (
    Study("pbc_survival", "pbc", 0.4, (4.0, 1.0), 5),
    Study("physionet2012_outcomes", "physionet2012", 0.25, (4.0, 1.0), 3),
    Study("physionet2019_sepsis", "physionet2019_a", 0.25, (4.0, 1.0), 3),
)
PREPARED = {
    "physionet2012_outcomes": """SELECT * REPLACE (
        CASE WHEN saps1 >= 0 THEN saps1 END AS saps1, CASE WHEN los_d >= 0 THEN los_d END AS los_d,
        CASE WHEN survival_d BETWEEN 0 AND 365 THEN survival_d ELSE 365 END AS survival_d),
        (survival_d BETWEEN 0 AND 365)::INT AS died FROM '{}'""",
}


def prepared(schema: str, cohort: Path, out: Path) -> Path:
    """Write the tables as the example schema asks for them; return where they are."""
    if schema not in PREPARED:
        return cohort
    out.mkdir()
    shutil.copyfile(cohort / "observations.parquet", out / "observations.parquet")
    query = PREPARED[schema].format(cohort / "patients.parquet")
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{out}/patients.parquet' (FORMAT parquet)")
    return out


def measured(study: Study, scratch: Path) -> dict[str, Any]:
    """Import, split by patient, fit, sample and score. Intervals of single rows resample the test
    patients; draws of the noise are rows of their own."""
    tables = prepared(study.schema, folder_of_cohorts() / study.cohort, scratch / "tables")
    schema_file = CHECKOUT / "examples" / "schemas" / f"{study.schema}.yaml"
    import_cohort("events", str(tables), schema_file, scratch / "cohort")
    split_cohort(scratch / "cohort", study.holdout, scratch / "parts")
    (schema, train), (_, test) = (read_cohort(scratch / "parts" / p) for p in ("train", "holdout"))
    commands = _commands(scratch)
    print(study.schema, commands, flush=True)
    rows = list(_references(schema, train, test))
    for epsilon in study.epsilons:
        for method in METHODS:
            planned = plan(schema, train.patients, epsilon=epsilon, delta=DELTA, method=method)
            for draw in range(study.draws):
                synthetic = sample(model_of(fit(train, planned)), train.patients, seed=draw)
                place = {"method": method, "epsilon": epsilon, "draw": draw}
                rows += [
                    place | row
                    for row in _scored(schema, train, test, synthetic, bootstrap=0)
                    if row["row"] == ON_SYNTHETIC
                ]
            print(study.schema, method, epsilon, flush=True)
    return {
        "study": study._asdict(),
        "patients": {"train": train.patients, "test": test.patients},
        "commands": commands,
        "rows": rows,
    }


def _references(schema: Schema, train: Cohort, test: Cohort) -> Iterator[dict[str, Any]]:
    """Rows that no noise changes: training on real patients, and the base rate."""
    for row in _scored(schema, train, test, train, bootstrap=BOOTSTRAP):
        if row["row"] != ON_SYNTHETIC:
            yield {"method": "", "epsilon": None, "draw": None} | row


def _scored(
    schema: Schema, train: Cohort, test: Cohort, synthetic: Any, *, bootstrap: int
) -> Iterator[dict[str, Any]]:
    cohorts = (Patients(schema, cohort) for cohort in (train, test, synthetic))
    for case in predicted_outcomes(*cohorts, models=LINEAR):
        source = case.source
        if not source.weighted:
            continue
        for section, scores in (
            ("utility", case.scores(bootstrap=bootstrap)),
            ("subgroups", case.by_part(schema, bootstrap=bootstrap)),
        ):
            for score in scores:
                if section == "utility" or "_site_" not in score.metric:
                    yield {"outcome": source.outcome, "row": source.row, "section": section} | (
                        _numbers(score)
                    )


def _numbers(score: Score) -> dict[str, Any]:
    values = {"value": score.value, "lower": score.lower, "upper": score.upper}
    known = {name: float(f"{x:.5g}") if x == x else None for name, x in values.items()}
    return {"metric": score.metric, **known, "note": score.note}


def _commands(scratch: Path) -> dict[str, int]:
    """The whole way of a user, once: the exit code of each command."""
    run, synthetic = scratch / "run", scratch / "synthetic"
    train, test = (str(scratch / "parts" / part) for part in ("train", "holdout"))
    audit = ("--train", train, "--test", test, "--synthetic", synthetic, "--out", scratch / "audit")
    steps: dict[str, tuple[Any, ...]] = {
        "check": (train,),
        "fit": (train, "--epsilon", 4, "--delta", DELTA, "--out", run),
        "sample": (run / "release", "--patients", 2000, "--seed", 1, "--out", synthetic),
        "verify": (run / "release", synthetic),
        "audit": (*audit, "--bootstrap", 50),
        "dossier": (run, "--audit", scratch / "audit", "--out", scratch / "dossier.html"),
    }
    program = [sys.executable, "-m", "longsynth.commands"]
    return {
        name: subprocess.run(
            [*program, name, *map(str, words)], capture_output=True, check=False
        ).returncode
        for name, words in steps.items()
    }
