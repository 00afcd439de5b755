"""The registry of metrics: the page agrees with it, and a new metric is one entry."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from audit.audit_support import study_cohort, study_schema
from code_cohorts import code_cohort, code_schema
from longsynth.audit.audit import audit
from longsynth.audit.fidelity import FIDELITY
from longsynth.audit.marginals import Measure
from longsynth.audit.metric import Metric
from longsynth.audit.refit import Refit
from longsynth.audit.registry import SECTIONS, find_metric, label_of, metrics_of
from longsynth.audit.result import AuditResult
from longsynth.audit.view import view
from longsynth.privacy.budget import Budget
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.show.audit_page import write_audit
from longsynth.show.dossier.audit_file import Audit, Panels, ScoreRecord
from longsynth.show.dossier.page import internal_content
from support import random_cohort

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "metrics.md").read_text()
sys.path.insert(0, str(ROOT / "tools"))
import metrics_page  # noqa: E402


def small_audit() -> AuditResult:
    cohorts = [code_cohort(40, code_schema(), seed) for seed in (1, 2, 3)]
    refit = Refit(lambda planted, _: planted, Budget(1.0, 1e-5))
    return audit(code_schema(), *cohorts, refit=refit, bootstrap=0)


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return small_audit()


@pytest.fixture(scope="module")
def many() -> AuditResult:
    """Of a schema with every kind of outcome and several groups."""
    cohorts = [study_cohort(60, seed) for seed in (1, 2, 3)]
    return audit(study_schema(), *cohorts, bootstrap=0)


def test_the_tables_of_the_page_are_those_of_the_registry() -> None:
    for section in SECTIONS:
        assert f"<!-- metrics: {section} -->" in PAGE
    assert metrics_page.page(PAGE) == PAGE, "run python tools/metrics_page.py"


def test_every_score_belongs_to_a_metric_that_explains_it(
    result: AuditResult, many: AuditResult
) -> None:
    covered = set()
    for row in result.rows + many.rows:
        metric = find_metric(row.score.metric)
        assert metric is not None, row.score.metric
        assert metric.better == row.score.better
        assert not re.search(r"[<>\[\]]", metric.label + metric.heading), "a part is not filled in"
        covered.add(metric.meaning)
    for section in SECTIONS:
        for metric in metrics_of(section):
            assert metric.meaning in covered, f"{metric.name} was not computed"
            assert metric.meaning.endswith(".")


def test_a_name_is_covered_by_the_most_literal_metric() -> None:
    assert label_of("group_gap_auprc") == "AUPRC, difference between the groups"
    assert label_of("group1_site_B_auprc") == "AUPRC in group 1 at site B"
    assert label_of("attribute_accuracy_control") == "· control: outsiders"
    assert label_of("attribute_accuracy_control_event") == "· control: outsiders: event"
    assert label_of("marginal_ks") == "distributions"
    assert label_of("marginal_ks_pulse_rate") == "distributions: pulse_rate"
    assert label_of("a_metric_of_another_version") == "a metric of another version"


def stay(schema: Schema, real: Trajectories, synthetic: Trajectories) -> Measure:
    """Difference of the mean time from the first to the last slot, in hours."""
    a, b = (view(schema, cohort).time[:, -1] for cohort in (real, synthetic))

    def measure(real_weight: np.ndarray, synthetic_weight: np.ndarray) -> dict[str, float]:
        means = [np.average(x, weights=w) for x, w in ((a, real_weight), (b, synthetic_weight))]
        return {"stay_error": abs(float(means[0] - means[1]))}

    return measure


@pytest.fixture
def added() -> Iterator[Metric]:
    """One entry in one place, taken away again."""
    meaning = "The difference in the mean length of stay, in hours."
    metric = Metric("stay_error", "length of stay, hours", "lower", meaning, stay)
    FIDELITY.append(metric)
    yield metric
    FIDELITY.remove(metric)


def test_a_metric_is_added_by_one_entry_and_seen_everywhere(added: Metric, tmp_path: Path) -> None:
    result = small_audit()
    write_audit(result, tmp_path)
    rows = json.loads((tmp_path / "audit.json").read_text())
    (ours, _) = [row for row in rows if row["metric"] == "stay_error"]
    assert (ours["section"], ours["better"]) == ("fidelity", "lower")
    assert ours["value"] > 0
    assert "| stay_error ↓ | length of stay, hours |" in (tmp_path / "AUDIT.md").read_text()

    content = internal_content(result.schema, read(result), ())
    assert "length of stay, hours ↓" in [row[0] for row in content["fidelity"].rows]

    line = f"| `stay_error` | {added.meaning} | 0 |"
    assert line not in PAGE
    assert line in metrics_page.page(PAGE)


def test_a_metric_that_was_taken_away_is_gone(result: AuditResult) -> None:
    assert find_metric("stay_error") is None
    assert all(row.score.metric != "stay_error" for row in result.rows)


def read(result: AuditResult) -> Audit:
    """The audit as the dossier reads it."""
    from longsynth.audit.description import describe

    cohort = describe(result.schema, random_cohort(40, 1))
    panels = Panels(
        format=1,
        fingerprint="",
        patients=result.patients,
        bootstrap=0,
        portraits=dict.fromkeys(("real", "training", "synthetic"), cohort),
        curves=[],
    )
    return Audit([ScoreRecord.model_validate(row) for row in result.tidy()], panels)
