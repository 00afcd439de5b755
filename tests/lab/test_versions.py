"""A page shows one version of everything: a row from another one is refused by name."""

from dataclasses import replace

import pytest

from longsynth.system.errors import Refused
from longsynth_lab.results import Results, Row
from longsynth_lab.versions import ONE_BUDGET, judged_by, made_by, only, require_one, stale

ROWS = [
    Row(
        "pbc",
        method,
        seed,
        "4",
        "auprc",
        0.5,
        draw=draw,
        epsilon=4.0,
        delta=1e-5,
        accounting="gaussian",
        train_patients=218,
        patients_hash=f"people {seed}",
        made_by=made_by(method),
        judged_by=judged_by(),
    )
    for method in ("trust", "dp-markov")
    for seed in (501, 502)
    for draw in (0, 1)
]


def test_rows_of_one_version_pass() -> None:
    require_one(Results(ROWS), ONE_BUDGET, "make evidence")
    assert stale(Results(ROWS)) == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"made_by": "older"}, "version of the method"),
        ({"judged_by": "older"}, "version of the metrics"),
        ({"accounting": "zcdp"}, "accounting"),
        ({"delta": 1e-6}, "δ"),
        ({"patients_hash": "others"}, "set of patients"),
    ],
)
def test_a_row_from_elsewhere_is_refused_and_its_place_is_named(
    change: dict[str, object], what: str
) -> None:
    rows = [*ROWS[:-1], replace(ROWS[-1], **change)]  # type: ignore[arg-type]
    place = r"the row 'dp-markov' of 'pbc' at 4, seed 502, draw 1, auprc"
    with pytest.raises(Refused, match=f"{place} comes from a different {what}.*make evidence"):
        only(Results(rows), ["pbc"])
    assert only(Results(rows), ["another experiment"]).rows == ()


def test_what_is_stale_is_named() -> None:
    rows = [replace(row, made_by="older") if row.method == "trust" else row for row in ROWS]
    assert stale(Results(rows)) == ["pbc: trust has changed since it was measured"]
    rows = [replace(row, judged_by="older") for row in ROWS if row.method == "trust"]
    assert stale(Results(rows)) == ["pbc: the metrics have changed since trust was measured"]
