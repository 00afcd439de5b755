"""The distinguishing game, short: no attacker who plays through real fits beats the claim."""

import pytest

from code_cohorts import code_schema
from longsynth.audit.game import play
from longsynth.audit.game.verdict import GameReport
from support import small_plan, small_schema
from ward import pointed_ward_schema, timed_ward_schema


def played(release: str, seed: int) -> GameReport:
    plan = small_plan(60, small_schema(release=release))
    return play(plan, trials=10, opendp_trials=10, seed=seed, tries=10, numbers=200_000)


@pytest.mark.parametrize("release", ["separate", "joint"])
def test_no_attacker_does_better_than_the_ledger_allows(release: str) -> None:
    """A table may fail by chance once in ten thousand times; what is true fails again."""
    report = played(release, seed=1)
    assert not report.failures or not played(release, seed=2).failures, report.failures[0]
    assert any(row.tight for row in report.rows), "a pair far from every bound shows nothing"


def test_no_attacker_gains_more_from_codes_than_their_lines_claim() -> None:
    lists = [{"name": "drugs", "cap": 2, "levels": [f"d{i}" for i in range(7)]}]
    plan = small_plan(60, code_schema(codes=lists), method="dp-score")
    report, again = (
        play(plan, trials=10, opendp_trials=10, seed=seed, tries=10, numbers=200_000)
        for seed in (1, 2)
    )
    assert not report.failures or not again.failures, report.failures[0]
    lines = {row.line for row in report.rows}
    assert {"codes", "code times", "code pairs"} <= lines
    assert any(row.tight for row in report.rows if row.line == "code pairs")


@pytest.mark.parametrize("line", ["times", "point masses"])
def test_no_attacker_gains_more_from_a_shared_line_than_it_claims(line: str) -> None:
    schema = timed_ward_schema(slots=2) if line == "times" else pointed_ward_schema(slots=2)
    plan = small_plan(60, schema, method="dp-markov")
    report, again = (
        play(plan, trials=10, opendp_trials=10, seed=seed, tries=10, numbers=200_000)
        for seed in (1, 2)
    )
    assert not report.failures or not again.failures, report.failures[0]
    assert any(row.tight for row in report.rows if row.line == line)
