"""The whole audit: complete, repeatable, without ids, and calm about awkward cohorts."""

import builtins
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from audit.audit_support import changed, plain_schema, series, weighted
from longsynth.audit.audit import audit
from longsynth.audit.inputs import read_synthetic, require_agreement
from longsynth.audit.ranking import Predictions
from longsynth.audit.result import WARNING, AuditResult, Source
from longsynth.audit.utility import utility_scores
from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.schema.schema import Schema
from longsynth.show.audit_page import write_audit
from longsynth.system.errors import Code, CohortError
from longsynth.writing.cohort import write_cohort
from refusals import refused
from support import random_cohort, small_schema


@pytest.fixture(scope="module")
def result() -> AuditResult:
    drawn = weighted(simulate(250, seed=3), 1 + np.arange(250) % 2)
    train, test = simulate(200, seed=1), simulate(150, seed=2)
    return audit(simulated_schema(), train, test, drawn, bootstrap=25)


def test_train_on_real_and_base_rate_stand_beside_every_row(result: AuditResult) -> None:
    for section in ("utility", "subgroups"):
        assert {(s.row, s.model, s.weighted) for s in result.sources(section)} == {
            ("train on synthetic", "logistic", True),
            ("train on synthetic", "logistic", False),
            ("train on synthetic", "boosted", True),
            ("train on synthetic", "boosted", False),
            ("train on real", "logistic", True),
            ("train on real", "boosted", True),
            ("base rate", "", True),
        }
    for section in ("fidelity", "attacks"):
        assert {s.row for s in result.sources(section)} == {
            "synthetic patients",
            "training patients themselves",
        }


def test_metrics_are_unique_in_their_row_and_every_score_has_an_interval_or_a_reason(
    result: AuditResult,
) -> None:
    keys = [(row.section, row.source, row.score.metric) for row in result.rows]
    assert len(keys) == len(set(keys))
    for row in result.rows:
        score = row.score
        inside = score.lower <= score.value <= score.upper
        assert inside or score.note, (row.section, row.source, score)


def test_the_attacks_beside_it_show_what_success_looks_like(result: AuditResult) -> None:
    success = result.of("attacks", Source("training patients themselves"))
    assert success["mia_auc"].value > 0.9
    assert success["mia_density_auc"].value > 0.9
    assert success["attribute_advantage"].lower > 0


def test_an_audit_repeats() -> None:
    cohorts = [random_cohort(60, seed) for seed in (1, 2, 3)]
    first, again = (audit(small_schema(), *cohorts, bootstrap=5, seed=2) for _ in range(2))
    assert first.tidy() == again.tidy()


def test_the_files_say_on_top_that_they_may_not_leave(result: AuditResult, tmp_path: Path) -> None:
    paths = write_audit(result, tmp_path)
    assert {p.name for p in paths} == {
        "AUDIT.md",
        "audit.json",
        "predictions.parquet",
        "curves.png",
        "attacks.png",
    }
    assert all(p.stat().st_size for p in paths)
    page = (tmp_path / "AUDIT.md").read_text()
    assert page.splitlines()[0] == (f"**{WARNING}**")
    for words in ("train on real", "base rate", "## Attacks", "is not evidence"):
        assert words in page
    assert "proof" not in page and "proves" not in page
    metadata = pq.read_schema(tmp_path / "predictions.parquet").metadata
    assert metadata[b"warning"] == WARNING.encode()
    assert "do not share" in WARNING


def test_the_json_is_a_tidy_list(result: AuditResult, tmp_path: Path) -> None:
    write_audit(result, tmp_path)
    rows = json.loads((tmp_path / "audit.json").read_text())
    assert len(rows) == len(result.rows)
    names = "section outcome row model weighted metric value lower upper better note"
    assert all(" ".join(row) == names for row in rows)


def test_the_metrics_can_be_computed_again_from_the_predictions(
    result: AuditResult, tmp_path: Path
) -> None:
    write_audit(result, tmp_path)
    table = pq.read_table(tmp_path / "predictions.parquet").to_pydict()
    keys = (table[name] for name in ("row", "model", "weighted"))
    labels = list(zip(*keys, strict=True))
    for source in result.sources("utility"):
        rows = [
            i
            for i, found in enumerate(labels)
            if found == (source.row, source.model, source.weighted)
        ]
        columns = {name: np.array(table[name])[rows] for name in ("event", "probability", "group")}
        again = utility_scores(Predictions(**columns, site=np.zeros(len(rows), dtype=np.int64)))
        for score in again:
            stored = result.of("utility", source)[score.metric].value
            assert score.value == pytest.approx(stored, nan_ok=True)


def test_no_output_names_a_patient_or_keeps_the_order_of_patients(tmp_path: Path) -> None:
    train, test = simulate(80, seed=1), simulate(60, seed=2)
    found = audit(simulated_schema(), train, test, simulate(80, seed=3), bootstrap=0)
    write_audit(found, tmp_path)
    table = pq.read_table(tmp_path / "predictions.parquet")
    assert table.column_names == [
        "outcome",
        "row",
        "model",
        "weighted",
        "event",
        "probability",
        "group",
        "site",
    ]
    order = np.random.default_rng(0).permutation(60)
    again = audit(simulated_schema(), train, test.take(order), simulate(80, seed=3), bootstrap=0)
    (tmp_path / "again").mkdir()
    write_audit(again, tmp_path / "again")
    other = pq.read_table(tmp_path / "again" / "predictions.parquet")
    assert np.allclose(table["probability"].to_numpy(), other["probability"].to_numpy())
    assert table["event"].to_pylist() == other["event"].to_pylist()


def awkward() -> dict[str, tuple[Schema, list[Cohort]]]:
    small = [random_cohort(40, seed) for seed in (1, 2, 3)]
    none = np.zeros(40, dtype=np.int64)
    nobody = [changed(c, length=none) for c in small]
    wild = [changed(c, values=c.values * 1e300, gaps=c.gaps * np.inf) for c in small]
    one_each = [c.take(slice(0, 1)) for c in small]
    lines = [series([1, 2, 3], [4], [], [2, 9], event=[0, 1, 0, 1]) for _ in range(3)]
    return {
        "no levels, one site": (plain_schema(), lines),
        "no events": (small_schema(), [changed(c, event=none) for c in small]),
        "all events": (small_schema(), [changed(c, event=none + 1) for c in small]),
        "one group": (small_schema(), [changed(c, group=none) for c in small]),
        "a group without events": (small_schema(), [changed(c, event=c.group) for c in small]),
        "no rows": (small_schema(), nobody),
        "synthetic without rows": (small_schema(), [small[0], small[1], nobody[2]]),
        "wild values": (small_schema(), wild),
        "one patient each": (small_schema(), one_each),
        "constant": (small_schema(), [changed(c, values=c.values * 0 + 1) for c in small]),
    }


@pytest.mark.parametrize("name", awkward())
def test_awkward_cohorts_are_audited_without_a_warning(name: str, tmp_path: Path) -> None:
    schema, cohorts = awkward()[name]
    found = audit(schema, *cohorts, bootstrap=3)
    for row in found.rows:
        assert np.isfinite(row.score.value) or row.score.note, (row.section, row.score)
    assert len(write_audit(found, tmp_path)) == 5


def test_synthetic_weights_are_read_in_the_order_of_the_patients(tmp_path: Path) -> None:
    drawn = weighted(simulate(30, seed=3), np.arange(30) + 1.0)
    write_cohort(tmp_path, simulated_schema(), [drawn])
    people = pq.read_table(tmp_path / "patients.parquet")
    order = np.random.default_rng(0).permutation(30)
    pq.write_table(people.take(order), tmp_path / "patients.parquet")
    _, found = read_synthetic(tmp_path)
    assert found.weight.tolist() == drawn.weight.tolist()
    assert found.event.tolist() == drawn.event.tolist()
    pq.write_table(people.drop(["weight"]), tmp_path / "patients.parquet")
    assert read_synthetic(tmp_path)[1].weight.tolist() == [1] * 30


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_a_weight_that_is_none_is_refused(tmp_path: Path, wrong: float) -> None:
    write_cohort(tmp_path, simulated_schema(), [weighted(simulate(3, seed=3), [1, wrong, 1])])
    with refused(Code.WEIGHTS_UNUSABLE, CohortError):
        read_synthetic(tmp_path)


def test_weights_or_ids_that_are_text_are_refused(tmp_path: Path) -> None:
    write_cohort(tmp_path, simulated_schema(), [weighted(simulate(3, seed=3), [1, 1, 1])])
    people = pq.read_table(tmp_path / "patients.parquet")
    for column in ("patient_id", "weight"):
        place = people.column_names.index(column)
        as_text = people.column(column).cast("string")
        pq.write_table(people.set_column(place, column, as_text), tmp_path / "patients.parquet")
        with refused(Code.WEIGHTS_UNUSABLE, CohortError):
            read_synthetic(tmp_path)


def test_cohorts_must_describe_the_same_record() -> None:
    schema = small_schema()
    assert require_agreement({"training": schema, "test": schema.canonical()}) is schema
    for change, words in (
        ({"slots": 5}, "slots"),
        ({"variables": schema.variables[:2]}, "variables"),
        ({"site": None}, "sites"),
        ({"max_gap": 7.0}, "max_gap"),
    ):
        other = schema.model_copy(update=change)
        with refused(Code.COHORTS_DISAGREE) as refusal:
            require_agreement({"training": schema, "test": schema, "synthetic": other})
        assert words in str(refusal.value)


def test_without_scikit_learn_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def absent(name: str, *rest: object, **more: object) -> object:
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError(name)
        return real_import(name, *rest, **more)  # type: ignore[arg-type]

    for name in [n for n in sys.modules if n.partition(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", absent)
    cohort = random_cohort(10, 1)
    with refused(Code.PACKAGE_MISSING) as refusal:
        audit(small_schema(), cohort, cohort, cohort)
    assert "pip install 'longsynth[audit]'" in refusal.value.remedy
