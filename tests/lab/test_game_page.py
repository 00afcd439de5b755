"""docs/game.md is generated: it says what the stored games say, and they say that claims stood."""

import json
from io import StringIO
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from longsynth.audit.game import ONE_PASS, SEVERAL_PASSES
from longsynth.audit.game.verdict import BUNDLE, GameReport, read_report
from longsynth.commands.attack import show_game
from longsynth.methods import DEFAULT
from longsynth.privacy.budget import DEFAULT_ACCOUNTING
from longsynth.privacy.noise import OPENDP
from longsynth.show.game_page import main_rows
from longsynth_lab.evidence.game_page import SETTINGS, Setting, game_page

ROOT = Path(__file__).parents[2]
REMEDY = "python lab/game.py --reuse --out lab/results/game.json --page docs/game.md"


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "lab/results/game.json").read_text())
    return found


@pytest.fixture(scope="module")
def games(stored: dict[str, Any]) -> dict[Setting, GameReport]:
    return {Setting(**g["setting"]): read_report(g["report"]) for g in stored["games"]}


def test_the_page_in_docs_is_the_one_the_results_give(stored: dict[str, Any]) -> None:
    assert (ROOT / "docs/game.md").read_text() == game_page(stored), f"run {REMEDY}"


def test_every_setting_was_played_in_full(games: dict[Setting, GameReport]) -> None:
    assert tuple(games) == SETTINGS
    for setting, report in games.items():
        claim = (report.method, report.epsilon, report.delta, report.accounting, report.patients)
        assert claim == (
            setting.method,
            setting.epsilon,
            setting.delta,
            setting.accounting,
            setting.patients,
        )
        fits = {(r.noise, r.trials) for r in report.rows if r.played == "real fits"}
        usual = ONE_PASS if len(setting.plan().stages) == 1 else SEVERAL_PASSES
        assert fits == {("fast", usual.fast), (OPENDP, usual.opendp)}


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_what_was_played_are_the_lines_that_are_planned_now(
    setting: Setting, games: dict[Setting, GameReport]
) -> None:
    planned = setting.plan()
    now = {e.statistic.name: float(f"{sqrt(2 * e.rho):.6g}") for e in planned.ledger.entries}
    rows = games[setting].rows
    assert {r.line: r.mu_claimed for r in rows if r.line != BUNDLE} == now, "play again"
    numbers = {e.statistic.name: e.statistic.dimension for e in planned.ledger.entries}
    assert {s.line: s.numbers for s in games[setting].spreads} == numbers, "play again"


def test_the_default_method_was_played_as_it_is_used(games: dict[Setting, GameReport]) -> None:
    assert {s.accounting for s in games if s.method == DEFAULT} == {"zcdp", DEFAULT_ACCOUNTING}


def test_the_papers_budgets_were_played_for_both_forms_of_release(
    games: dict[Setting, GameReport],
) -> None:
    for release in ("separate", "joint"):
        played = {s.epsilon for s in games if (s.method, s.release) == ("trust", release)}
        assert played == {1.0, 4.0, 12.0}


def test_no_bound_exceeds_its_claim(games: dict[Setting, GameReport]) -> None:
    for report in games.values():
        assert report.holds
        for row in report.rows:
            assert row.mu_surely <= row.mu_claimed
            assert row.epsilon_surely <= row.epsilon_claimed
        if report.accounting == "zcdp":  # whose claim leaves room for a bound at 95 %
            for row in main_rows(report):
                assert row.epsilon_gaussian <= row.epsilon_claimed
                assert row.epsilon_counted <= row.epsilon_claimed


def test_the_attacker_reaches_nine_tenths_on_every_tight_pair(
    games: dict[Setting, GameReport],
) -> None:
    for setting, report in games.items():
        tight = [row for row in main_rows(report) if row.tight and row.enough]
        for row in tight:
            assert row.mu >= 0.9 * row.mu_claimed
            assert row.mu_error <= 0.03 * row.mu_claimed
        names = {row.line for row in tight}
        if setting.method == "trust":
            # Products of far slots are not released, and values near enough to each other for all
            # of theirs to be do not fill the radius: no pair uses up the claim of that line.
            banded = "joint" if setting.release == "joint" else "second"
            assert names == {row.line for row in report.rows} - {BUNDLE, banded}
            (reached,) = (row.attained for row in main_rows(report) if row.line == banded)
            assert 0.89 < reached < 0.95


def test_a_failed_game_would_show_on_the_page(stored: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(stored))
    changed["games"][0]["report"]["failures"] = ["'strata': something is wrong"]
    page = game_page(changed)
    assert "- FAILS: 'strata': something is wrong." in page
    assert page.count("| 0 |") == game_page(stored).count("| 0 |") - 1


def test_the_widest_table_fits_a_hundred_columns(games: dict[Setting, GameReport]) -> None:
    """With a budget of 1 a small line takes millions of trials."""
    written = StringIO()
    show_game(Console(file=written, width=100), games[SETTINGS[0]], "Played.")
    assert "2,0" in written.getvalue() or "2,4" in written.getvalue()
    assert "…" not in written.getvalue()
