"""The membership attack beside a fit that never saw the members."""

from longsynth.benchmark.experiments import MAIN, TRAIN_ON_REAL, Setting
from longsynth.benchmark.measures import measured, run
from longsynth.benchmark.trial import Trial, Use


def attacked(method: str) -> dict[str, float]:
    measures = ("membership", "membership elsewhere")
    trial = Trial(method, 101, Setting(patients=240), (Use("comparison", MAIN, measures),))
    scores = measured(run(trial))
    return {s.metric: s.value for name in measures for s in scores[name]}


def test_copies_are_found_out_where_they_were_made_and_nowhere_else() -> None:
    for method, least in ((TRAIN_ON_REAL, 1.0), ("bootstrap", 0.7)):
        found = attacked(method)
        assert found["mia_auc"] >= least
        assert 0.35 < found["mia_auc_elsewhere"] < 0.65
