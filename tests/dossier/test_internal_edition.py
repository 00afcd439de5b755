"""The internal edition: marked on every page, for its owner only, and never surer than its data."""

import json
import stat
from typing import Any

import pytest

from dossier.conftest import ACCEPTED, World
from dossier.test_public_edition import Elements
from longsynth.release.folder import load_release
from longsynth.show.dossier.audit_file import Audit, Panels, ScoreRecord
from longsynth.show.dossier.verdicts import Verdict, verdicts
from ward import ward_schema


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
    predicted = section in ("utility", "subgroups")
    base = {"model": "", "weighted": True, "better": "none", "note": ""} | more
    base |= {"outcome": "event" if predicted else ""}
    return ScoreRecord(
        section=section, row=row, metric=metric, value=value[0], lower=low, upper=high, **base
    )


def found(*scores: ScoreRecord, limit: str = "0.730") -> dict[str, Verdict]:
    empty = {"real": {}, "training": {}, "synthetic": {}}
    panels = Panels(
        format=1,
        fingerprint="",
        patients={"test": 100},
        bootstrap=100,
        portraits=empty,
        curves=[],
    )
    schema = ward_schema(group={"column": "sex", "levels": ["M", "F"]})
    return {v.about: v for v in verdicts(schema, Audit(list(scores), panels), limit)}


Interval = tuple[float | None, ...]  # value, lower and upper end
OURS, THEMSELVES = "synthetic patients", "training patients themselves"
REFITS = "fits with planted canaries"


def predicted(ours: Interval, section: str = "utility", metric: str = "auprc") -> list[ScoreRecord]:
    return [
        score(section, "train on synthetic", metric, *ours, model="logistic"),
        score(section, "train on real", metric, 0.6, 0.5, 0.7, model="logistic"),
        score(section, "base rate", metric, 0.1),
    ]


def grouped(m: Interval, f: Interval) -> list[ScoreRecord]:
    both = zip((m, f), ("group0_auprc", "group1_auprc"), strict=True)
    return [s for ours, metric in both for s in predicted(ours, "subgroups", metric)]


def beside(section: str, metric: str, ours: Interval, real: Interval) -> list[ScoreRecord]:
    return [score(section, OURS, metric, *ours), score(section, THEMSELVES, metric, *real)]


def attacked(ours: Interval, control: Interval) -> list[ScoreRecord]:
    attack = beside("attacks", "mia_auc", ours, (1.0, 1.0, 1.0))
    return [*attack, score("attacks", OURS, "mia_auc_control", *control)]


def guessed(gain: Interval) -> list[ScoreRecord]:
    return [score("attacks", OURS, "attribute_advantage", *gain)]


def planted(gain: Interval) -> list[ScoreRecord]:
    exposure = score("attacks", REFITS, "canary_exposure_1", 0.01)
    return [score("attacks", REFITS, "canary_advantage_1", *gain), exposure]


def apart(*ours: float) -> list[ScoreRecord]:
    return beside("fidelity", "real_vs_synthetic_auc", ours, (0.5, 0.47, 0.53))


MEMBERSHIP, AROUND = "Membership attack by distance", (0.5, 0.45, 0.55)
CASES: dict[str, tuple[str, list[ScoreRecord], str, str]] = {
    # real patients gain 0.5 over the base rate of 0.1; four fifths of that end at 0.5
    "as good as real": ("Prediction", predicted((0.58, 0.52, 0.64)), "good", "four fifths"),
    "better than real": ("Prediction", predicted((0.8, 0.7, 0.9)), "good", "four fifths"),
    "wide": ("Prediction", predicted((0.55, 0.4, 0.7)), "open", "neither shown nor ruled out"),
    "loses": ("Prediction", predicted((0.4, 0.35, 0.45)), "poor", "More than a fifth"),
    "useless": ("Prediction", predicted((0.12, 0.05, 0.19)), "poor", "not shown to be better"),
    "no interval": ("Prediction", predicted((0.6,)), "open", "no conclusion is possible"),
    "no score": ("Prediction", [], "open", "Cannot be evaluated"),
    "both groups": ("Groups", grouped((0.6, 0.55, 0.65), (0.6, 0.55, 0.65)), "good", "“F”"),
    "one group lost": ("Groups", grouped((0.6, 0.55, 0.65), (0.2, 0.1, 0.3)), "poor", "“F”"),
    "one group wide": ("Groups", grouped((0.6, 0.3, 0.9), (0.6, 0.55, 0.65)), "open", "“M”"),
    "as near": (
        *("Description", beside("fidelity", "marginal_ks", (0.06, 0.05, 0.07), (0.05, 0.04, 0.06))),
        *("good", "at most slightly larger"),
    ),
    "shown but slight": (
        *("Description", beside("fidelity", "marginal_ks", (0.08, 0.07, 0.09), (0.05, 0.04, 0.06))),
        *("good", "at most slightly larger"),
    ),
    "far": (
        *("Description", beside("fidelity", "marginal_ks", (0.3, 0.2, 0.4), (0.05, 0.04, 0.06))),
        *("poor", "Clearly larger: distributions."),
    ),
    "far, perhaps": (
        *("Description", beside("fidelity", "marginal_ks", (0.3, 0.05, 0.5), (0.05, 0.04, 0.06))),
        *("open", "Perhaps larger: distributions."),
    ),
    "gaps in hours": (  # of at most 48: one hour is slight, six are not
        *("Description", beside("fidelity", "gap_wasserstein", (1.5, 1.4, 1.6), (0.5, 0.4, 0.6))),
        *("good", "at most slightly larger"),
    ),
    "gaps much longer": (
        *("Description", beside("fidelity", "gap_wasserstein", (6.5, 6.0, 7.0), (0.5, 0.4, 0.6))),
        *("poor", "Clearly larger: gaps"),
    ),
    "distances without intervals": (
        *("Description", beside("fidelity", "marginal_ks", (0.3,), (0.05,))),
        *("open", "no conclusion is possible"),
    ),
    "nearly real": ("Synthetic or real", apart(0.55, 0.52, 0.58), "good", "hardly be told"),
    "perhaps told": ("Synthetic or real", apart(0.6, 0.55, 0.65), "open", "not clear"),
    "often told": ("Synthetic or real", apart(0.75, 0.7, 0.8), "poor", "often be told"),
    "clearly told": ("Synthetic or real", apart(0.98, 0.97, 0.99), "poor", "clearly be told"),
    "told, no interval": ("Synthetic or real", apart(0.98), "open", "no conclusion"),
    "attack failed": (MEMBERSHIP, attacked(AROUND, AROUND), "good", "not shown to beat guessing"),
    "attack by chance": (
        *(MEMBERSHIP, attacked((0.53, 0.51, 0.55), (0.5, 0.45, 0.56))),
        *("open", "neither shown nor ruled out"),
    ),
    "attack won": (MEMBERSHIP, attacked((0.65, 0.6, 0.7), AROUND), "poor", "weigh it"),
    "attack inverted": (MEMBERSHIP, attacked((0.35, 0.3, 0.4), AROUND), "poor", "weigh it"),
    "attack above ε": (MEMBERSHIP, attacked((0.9, 0.8, 1.0), AROUND), "poor", "do not release"),
    "attack, no interval": (MEMBERSHIP, attacked((0.5,), AROUND), "open", "no conclusion"),
    "no attack": (MEMBERSHIP, [], "open", "Cannot be evaluated"),
    "fitted guessed better": ("Attribute attack", guessed((0.1, 0.05, 0.15)), "poor", "weigh it"),
    "no difference": ("Attribute attack", guessed((0.01, -0.02, 0.04)), "good", "population"),
    "fitted guessed worse": ("Attribute attack", guessed((-0.1, -0.15, -0.05)), "good", "did not"),
    "gain, no interval": ("Attribute attack", guessed((0.1,)), "open", "no conclusion"),
    "canary left a trace": ("Canaries", planted((0.02, 0.01, 0.03)), "poor", "left a trace"),
    "no trace": ("Canaries", planted((0.0, -0.01, 0.01)), "good", "do not show"),
    "fewer near it": ("Canaries", planted((-0.02, -0.03, -0.01)), "good", "do not show"),
    "none planted": ("Canaries", [], "open", "None were planted"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_verdict_means_what_it_says(case: str) -> None:
    about, scores, tone, words = CASES[case]
    verdict = found(*scores)[about]
    assert (verdict.tone, words in verdict.says) == (tone, True), verdict


def test_an_attack_that_failed_is_never_called_proof() -> None:
    says = found(*attacked(AROUND, AROUND))[MEMBERSHIP].says
    assert "no proof about other attacks" in says
    assert "0.730" in says


def test_the_first_page_gives_the_quality_the_attacks_and_what_to_avoid(world: World) -> None:
    lead = Elements(world.internal.read_text().split('class="lead"')[1].split("</p>")[0]).said
    for words in (
        "asked to approve",
        "by guessing",
        "Do not use them for",
        "Description",
        "attack",
    ):
        assert words in lead
    assert "was not measured" not in lead
