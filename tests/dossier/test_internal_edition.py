"""The internal edition: marked on every page, for its owner only, and never surer than its data."""

import json
import stat
from typing import Any

import pytest

from dossier.conftest import ACCEPTED, World
from dossier.test_public_edition import Elements
from longsynth.release.folder import load_release
from longsynth.show.dossier.audited.audit_file import Audit, Panels, ScoreRecord
from longsynth.show.dossier.audited.verdicts import Verdict, verdicts


def test_it_is_marked_and_only_its_owner_can_read_it(world: World) -> None:
    page = Elements(world.internal.read_text())
    assert page.said.startswith("NOT FOR RELEASE")
    assert stat.S_IMODE(world.internal.stat().st_mode) == 0o600
    assert stat.S_IMODE(world.public.stat().st_mode) & 0o044


def test_it_says_why_problems_of_the_cohort_were_accepted_and_the_public_edition_does_not(
    world: World,
) -> None:
    assert ACCEPTED in Elements(world.internal.read_text()).said
    assert ACCEPTED not in world.internal.read_text(), "it is not escaped"
    for file in (world.public, *world.release.iterdir()):
        assert "Fahrenheit" not in file.read_text()


def test_it_holds_every_score_of_the_attacks_with_control_and_baseline(world: World) -> None:
    said = Elements(world.internal.read_text()).said
    rows = json.loads((world.audit / "audit.json").read_text())
    attacks = [r for r in rows if r["section"] == "attacks" and r["value"] is not None]
    assert len(attacks) > 10
    for row in attacks:
        assert f"{row['value']:.3f}" in said, row["metric"]
    for words in ("outsiders only", "majority guess", "train on real", "base rate", "Canaries"):
        assert words in said


def test_every_variable_is_shown_and_the_audit_names_the_release(world: World) -> None:
    text = world.internal.read_text()
    panels = json.loads((world.audit / "panels.json").read_text())
    bundle = load_release(world.release)
    assert panels["fingerprint"] == bundle.fingerprint
    for v, variable in enumerate(bundle.schema.variables):
        assert f'id="fig-compare-{v}"' in text
        along = f'id="fig-along-event-{v}"' in text
        assert along == (not variable.static and variable.kind != "nominal")


def score(section: str, row: str, metric: str, *value: float | None, **more: Any) -> ScoreRecord:
    low = value[1] if len(value) > 1 else None
    high = value[2] if len(value) > 2 else None
    base = {"model": "", "weighted": True, "better": "none", "note": ""} | more
    return ScoreRecord(
        section=section, row=row, metric=metric, value=value[0], lower=low, upper=high, **base
    )


def found(*scores: ScoreRecord) -> dict[str, Verdict]:
    empty = {"real": {}, "training": {}, "synthetic": {}}
    panels = Panels(
        format=1,
        fingerprint="",
        patients={"test": 100},
        bootstrap=100,
        portraits=empty,
        curves=[],
    )
    return {v.about: v for v in verdicts(Audit(list(scores), panels), "0.730")}


def mia(*value: float, control: tuple[float, ...]) -> Verdict:
    return found(
        score("attacks", "synthetic patients", "mia_auc", *value),
        score("attacks", "synthetic patients", "mia_auc_control", *control),
        score("attacks", "training patients themselves", "mia_auc", 1.0, 1.0, 1.0),
    )["Membership attack by distance"]


def test_an_attack_that_failed_is_never_called_proof() -> None:
    verdict = mia(0.5, 0.45, 0.55, control=(0.5, 0.45, 0.55))
    assert verdict.tone == "good"
    assert "not shown to beat guessing" in verdict.says
    assert "no proof about other attacks" in verdict.says
    assert "0.730" in verdict.says


def test_an_attack_that_succeeded_is_called_so() -> None:
    verdict = mia(0.7, 0.65, 0.75, control=(0.5, 0.45, 0.55))
    assert verdict.tone == "poor"
    assert "investigate before release" in verdict.says


def test_an_attack_below_one_half_counts_as_far_above() -> None:
    assert mia(0.3, 0.25, 0.35, control=(0.5, 0.45, 0.55)).tone == "poor"


def test_an_attack_within_reach_of_chance_is_left_open() -> None:
    verdict = mia(0.53, 0.51, 0.55, control=(0.5, 0.45, 0.56))
    assert verdict.tone == "open"
    assert "neither shown nor ruled out" in verdict.says


def test_an_audit_without_attacks_says_that_nothing_can_be_said() -> None:
    said = found()
    assert said["Membership attack by distance"].tone == "open"
    assert "Cannot be evaluated" in said["Membership attack by distance"].says
    assert "None were planted" in said["Canaries"].says
    assert "Cannot be evaluated" in said["Use for prediction"].says


def likeness(*ours: float) -> Verdict:
    return found(
        score("fidelity", "synthetic patients", "gap_wasserstein", *ours),
        score("fidelity", "training patients themselves", "gap_wasserstein", 0.1, 0.05, 0.15),
    )["Likeness"]


def test_likeness_is_never_claimed_beyond_what_two_real_cohorts_show() -> None:
    near, far = likeness(0.16, 0.1, 0.2), likeness(0.3, 0.2, 0.4)
    assert near.tone == "good"
    assert "not shown to be larger" in near.says
    assert far.tone == "poor"
    assert "Larger: gaps, hours." in far.says


@pytest.mark.parametrize(
    ("ours", "tone", "words"),
    [
        ((0.80, 0.75, 0.85), "good", "neither shown nor ruled out"),
        ((0.70, 0.65, 0.75), "poor", "worse than training on real"),
        ((0.55, 0.45, 0.65), "poor", "not shown to be better than guessing"),
        ((0.80,), "open", "Without intervals, no conclusion is possible"),
    ],
)
def test_use_is_judged_against_real_training_and_guessing(
    ours: tuple[float, ...], tone: str, words: str
) -> None:
    verdict = found(
        score("utility", "train on synthetic", "auroc", *ours, model="logistic"),
        score("utility", "train on real", "auroc", 0.82, 0.77, 0.87, model="logistic"),
    )["Use for prediction"]
    assert (verdict.tone, words in verdict.says) == (tone, True), verdict.says
