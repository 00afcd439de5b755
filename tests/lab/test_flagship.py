"""Who is ahead, and what was asked: always against the best row of a rival."""

import pytest

from longsynth.methods import DEFAULT
from longsynth.reading.simulation import simulated_schema
from longsynth.system.errors import Refused
from longsynth_lab.evidence.comparison_tables import COMPARED, outcomes
from longsynth_lab.evidence.comparisons import RIVALS, SMALL, evidence, searches
from longsynth_lab.evidence.flagship_page import outcome, targets
from longsynth_lab.evidence.rivals import CHOSEN_FOR, best_settings, variants_shown, verdicts
from longsynth_lab.measures import BOOSTED
from longsynth_lab.results import Results, Row
from longsynth_lab.seeds import require_development
from longsynth_lab.variants import VARIANTS, base_of, is_private, searched, variant_of

OURS = [0.30, 0.31, 0.32]


def rows(
    method: str, values: list[float], *, epsilon: str = "12", metric: str = "auprc"
) -> list[Row]:
    return [Row(SMALL, method, s, epsilon, metric, v) for s, v in enumerate(values)]


def reached(metric: str, epsilon: str, results: Results) -> bool | None:
    chosen = next(
        t for t in targets() if (t.experiment, t.setting, t.metric) == (SMALL, epsilon, metric)
    )
    return outcome(results, chosen).reached


def test_a_number_is_reached_missed_or_not_measured() -> None:
    assert reached("marginal_ks", "12", Results([])) is None
    good = rows(DEFAULT, [0.02, 0.023], metric="marginal_ks")
    bad = rows(DEFAULT, [0.022, 0.023], metric="marginal_ks")
    assert reached("marginal_ks", "12", Results(good)) is True
    assert reached("marginal_ks", "12", Results(bad)) is False


def test_an_entry_is_held_against_the_best_variant_of_a_rival() -> None:
    plain, better = rows("dp-markov", [0.2] * 3), rows("dp-markov, threshold 3", [0.4] * 3)
    ours = rows(DEFAULT, OURS)
    assert reached("auprc", "12", Results(ours + plain)) is True
    assert reached("auprc", "12", Results(ours + plain + better)) is False


def test_another_budget_is_the_limit_where_an_entry_says_so() -> None:
    ours = rows(DEFAULT, [0.30, 0.32], epsilon="1")
    below, above = (rows("trust", [level] * 2) for level in (0.30, 0.32))
    assert reached("auprc", "1", Results(ours)) is None
    assert reached("auprc", "1", Results(ours + below)) is True
    assert reached("auprc", "1", Results(ours + above)) is False


def test_a_verdict_takes_the_best_row_for_each_metric() -> None:
    found = rows(DEFAULT, OURS) + rows(DEFAULT, OURS, metric="brier")
    for metric in ("auprc", "brier"):
        found += rows("dp-markov", [0.20, 0.22, 0.21], metric=metric)
        found += rows("dp-markov, smoothed", [0.40, 0.42, 0.41], metric=metric)
    said = {
        v.metric: (v.best, v.outcome) for v in verdicts(Results(found), SMALL, ("auprc", "brier"))
    }
    assert said == {
        "auprc": ("dp-markov, smoothed", "behind"),
        "brier": ("dp-markov", "behind"),
    }


def test_losses_are_told_first_and_a_gain_is_no_loss() -> None:
    found = rows(DEFAULT, OURS)
    found += rows("trust", [0.20, 0.22, 0.21]) + rows("dp-markov, threshold 3", [0.40, 0.42, 0.41])
    text = "\n".join(outcomes(Results(found), SMALL))
    behind, _, ahead = text.partition("is ahead**")
    assert "AUPRC against DP-Markov: -0.100 at ε = 12" in behind
    assert "TRUST" not in behind
    assert "AUPRC against TRUST-LONGSYNTH: +0.100 at ε = 12" in ahead


def test_the_best_setting_of_a_search_for_each_metric_has_a_row() -> None:
    names = searched("dp-markov")
    best = {metric: names[1 + place % 3] for place, metric in enumerate(CHOSEN_FOR)}
    found = []
    for rival in RIVALS:
        for name in searched(rival):
            for metric in CHOSEN_FOR:
                good = name == best[metric]
                higher = metric in ("auprc", "auroc")
                value = 0.9 if good == higher else 0.1
                found.append(Row(f"search {rival}", name, 101, "4", metric, value))
    assert best_settings(Results(found), "dp-markov") == best
    assert set(best.values()) <= set(variants_shown(Results(found))["dp-markov"])


def test_a_variant_that_earlier_pages_showed_does_not_disappear() -> None:
    found = [
        Row(f"search {rival}", name, 101, "4", metric, 0.5)
        for rival in RIVALS
        for name in searched(rival)
        for metric in CHOSEN_FOR
    ]
    shown = variants_shown(Results(found))["dp-markov"]
    assert {"dp-markov, threshold 3", "dp-markov, smoothed"} <= set(shown)


def test_searches_use_development_seeds_and_try_every_variant() -> None:
    made = searches((101, 102))
    for experiment in made:
        require_development(experiment.seeds)
    tried = {name for experiment in made for name in experiment.methods}
    assert {f"{m}, {v}" for m in RIVALS for v in VARIANTS[m]} <= tried


def test_all_evidence_has_one_accounting_and_one_delta() -> None:
    made = (*searches((101,)), *evidence((501, 502), dict.fromkeys(RIVALS, ())))
    settings = [s for experiment in made for s in experiment.settings.values()]
    assert {(s.accounting, s.delta) for s in settings} == {("gaussian", 1e-5)}


def test_a_radius_is_the_same_part_of_every_schema() -> None:
    schema = simulated_schema()
    found = dict(variant_of("trust, reference, joint, radius 1/2, floor .02").constants_for(schema))
    assert float(found["clip_radius"]) ** 2 == pytest.approx(
        schema.slots * len(schema.variables) / 4
    )
    assert found["encoding"] == "reference"


def test_variants_are_known_by_the_name_of_their_method() -> None:
    assert base_of("dp-markov, threshold 3") == "dp-markov"
    assert is_private("dp-markov, threshold 3")
    assert not is_private("bootstrap")
    assert {base_of(name) for name in searched(DEFAULT)} == {DEFAULT}


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(Refused, match="'dp-markov' has no variant 'threshold 99'"):
        variant_of("dp-markov, threshold 99")


def test_both_classifiers_are_compared() -> None:
    for metric in ("auprc", "auroc", "brier", "ece"):
        assert {metric, BOOSTED + metric} <= set(COMPARED)
