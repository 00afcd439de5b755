"""A cell: the files of one finished trial. Its table of scores is written last: then it is done."""

import json
import math
import time
from pathlib import Path
from typing import Any

from longsynth.audit.metric import Score
from longsynth.bundle import Bundle
from longsynth_lab.measures import CLASSIFIER, Evidence, measured, run
from longsynth_lab.results import Prediction, Row, table_of, write_text_whole, write_whole
from longsynth_lab.trial import Trial, patients_hash

SECONDS = "cell_seconds"  # of the processor, for making and judging: what a rerun will take


def scores_file(out: Path, trial: Trial) -> Path:
    return out / "cells" / f"{trial.name}.parquet"


def predictions_file(out: Path, trial: Trial) -> Path:
    return out / "cells" / "predictions" / f"{trial.name}.parquet"


def run_cell(out: Path, trial: Trial) -> None:
    """Run a trial and write its files, each under another name first."""
    start = time.process_time()
    evidence = run(trial)
    found = measured(evidence) | {SECONDS: [_seconds(time.process_time() - start)]}
    if keeps_predictions(trial):
        write_whole(predictions_file(out, trial), table_of(_predictions(evidence), Prediction))
    if evidence.bundle is not None:
        text = json.dumps(_ledger(evidence.bundle), indent=2, ensure_ascii=False) + "\n"
        write_text_whole(out / "ledgers" / f"{trial.name}.json", text)
    budget = evidence.bundle.ledger.budget if evidence.bundle else None
    provenance: dict[str, Any] = {
        "draw": trial.draw,
        "epsilon": budget.epsilon if budget else math.nan,
        "delta": budget.delta if budget else math.nan,
        "accounting": budget.accounting if budget else "",
        "train_patients": evidence.parts.train.patients,
        "test_patients": evidence.parts.test.patients,
        "patients_hash": patients_hash(evidence.parts),
        "made_by": trial.made_by,
        "judged_by": trial.judged_by,
    }
    rows = [
        Row(
            use.experiment,
            trial.method,
            trial.seed,
            use.setting,
            score.metric,
            float(score.value),
            float(score.lower),
            float(score.upper),
            classifier=CLASSIFIER.get(measure, ""),
            **provenance,
        )
        for use in trial.uses
        for measure in (*use.measures, SECONDS)
        for score in found.get(measure, ())
    ]
    write_whole(scores_file(out, trial), table_of(rows, Row))


def keeps_predictions(trial: Trial) -> bool:
    """A fresh population's predictions are left out: their scores say all and they are many. Those
    about real patients are not for keeping."""
    setting = trial.setting
    return "utility" in trial.measures and not setting.fresh and setting.world == "simulated"


def _predictions(evidence: Evidence) -> list[Prediction]:
    trial, made = evidence.trial, evidence.predictions
    columns = zip(made.event, made.probability, made.group, made.site, strict=True)
    patients = [(int(e), float(p), int(g), int(s)) for e, p, g, s in columns]
    return [
        Prediction(use.experiment, trial.method, trial.seed, use.setting, place, *patient)
        for use in trial.uses
        if "utility" in use.measures
        for place, patient in enumerate(patients)
    ]


def _ledger(bundle: Bundle) -> dict[str, Any]:
    from longsynth.release.statement import ledger_json

    if bundle.ledger.private:
        return ledger_json(bundle.method, bundle.ledger)
    return {
        "method": bundle.method,
        "patients": bundle.patients,
        "promise": "NOT PRIVATE: these statistics were taken without noise",
        "entries": [{"statistic": entry.statistic.name} for entry in bundle.ledger.entries],
    }


def _seconds(value: float) -> Score:
    return Score(SECONDS, value, math.nan, math.nan, "none")
