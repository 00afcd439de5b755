"""The paper's study runs as printed, and our departures are undone one at a time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from longsynth.schema.constants import Constants
from longsynth_lab.experiments import Experiment, Setting
from longsynth_lab.measures import Evidence, run
from longsynth_lab.paper.section_v import (
    ABLATION,
    AS_PRINTED,
    BY_STRATUM,
    DEPARTURES,
    MARGINALS,
    OURS,
    PAPER_CHOICES,
    PRINTED,
    paper_study,
)
from longsynth_lab.studies import membership_study, population_study
from longsynth_lab.trial import Trial, Use, schema_of

STUDY = {experiment.name: experiment for experiment in paper_study()}
APART = ("ablation", "departures", "marginals")  # experiments that move constants


def constants_of(experiment: Experiment) -> dict[str, dict[str, object]]:
    """By label, those that are not our defaults."""
    usual = Constants().model_dump()
    return {
        label: {k: v for k, v in schema_of(one).constants.model_dump().items() if v != usual[k]}
        for label, one in experiment.settings.items()
    }


@pytest.mark.parametrize("name", [name for name in STUDY if name not in APART])
def test_every_experiment_of_the_paper_runs_as_printed(name: str) -> None:
    for found in constants_of(STUDY[name]).values():
        assert found == dict(AS_PRINTED)
    for setting in STUDY[name].settings.values():
        assert not setting.weighted
        assert setting.accounting == "paper"


def test_an_ablation_changes_one_thing_of_the_study_as_printed() -> None:
    for label, found in constants_of(STUDY["ablation"]).items():
        assert found == dict(AS_PRINTED) | dict(ABLATION[label])
    assert STUDY["ablation"].settings["Full"] == PRINTED


def test_each_departure_is_undone_alone() -> None:
    found = constants_of(STUDY["departures"])
    assert found[OURS] == {}
    assert found["As printed"] == dict(AS_PRINTED)
    for label, undone in PAPER_CHOICES.items():
        where = MARGINALS if label == BY_STRATUM else DEPARTURES
        assert where[label] == Setting(constants=undone)
        assert len(undone) == 1
    assert STUDY["departures"].methods == ("trust",)
    assert STUDY["marginals"].methods == ("independent",)


def test_other_studies_keep_our_choices() -> None:
    for study in (population_study(("trust",), (4.0,)), membership_study(("trust",), (4.0,))):
        for setting in study[0].settings.values():
            assert setting.constants == ()
            assert setting.weighted


def evidence() -> Evidence:
    constants = (("event_floor", 0.2),)
    setting = Setting(epsilon=50.0, patients=200, constants=constants)
    return run(Trial("trust", 11, setting, (Use("x", "x", ("utility",)),)))


def test_the_setting_says_whether_weights_count_when_the_classifier_is_trained() -> None:
    found = evidence()
    assert np.ptp(found.synthetic.weight) > 0  # type: ignore[union-attr]
    plain = replace(found.trial, setting=replace(found.trial.setting, weighted=False))
    without = replace(found, trial=plain).predictions.probability
    assert not np.allclose(found.predictions.probability, without)
    equal = replace(found.synthetic, weight=np.ones(found.synthetic.patients))  # type: ignore
    as_one = replace(found, synthetic=equal).predictions.probability
    assert np.array_equal(as_one, without)


def test_the_report_and_the_tables_show_what_each_departure_changes(study: Path) -> None:
    report = (study / "REPORT.md").read_text(encoding="utf-8")
    section = report.partition("## Departures")[2].partition("\n## ")[0]
    table = (study / "tables/departures.md").read_text(encoding="utf-8")
    for whose, settings in (("", DEPARTURES), ("Independent: ", MARGINALS)):
        for label in settings:
            row = f"| {whose}{label} | "
            assert section.count(row) == (1 if label == OURS else 2)
            assert table.count(row) == 1
    assert "| – |" not in section
