"""The distinguishing game, short: no attacker who plays through real fits beats the claim."""

import pytest

from longsynth.redteam.game import play
from support import small_plan, small_schema


@pytest.mark.parametrize("release", ["separate", "joint"])
def test_no_attacker_does_better_than_the_ledger_allows(release: str) -> None:
    report = play(
        small_plan(60, small_schema(release=release)),
        trials=10,
        opendp_trials=10,
        seed=1,
        tries=10,
        numbers=200_000,
    )
    assert report.failures == ()
    assert any(row.tight for row in report.rows), "a pair far from every bound shows nothing"
