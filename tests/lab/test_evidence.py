"""The evidence that is kept: today's code made all of it, and the pages say what it says."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.conftest import Kept
from longsynth.methods import DEFAULT
from longsynth.schema.constants import Constants
from longsynth_lab.evidence.cohort_pages import population_text, real_text
from longsynth_lab.evidence.comparisons import (
    LARGE,
    MEMBERSHIP,
    OPEN,
    PBC,
    PHYSIONET,
    RIVALS,
    SMALL,
    evidence,
)
from longsynth_lab.evidence.constants_page import constants_text
from longsynth_lab.evidence.flagship_page import flagship_text
from longsynth_lab.evidence.rivals import variants_shown
from longsynth_lab.evidence.rivals_page import rivals_text
from longsynth_lab.experiments import REFERENCES
from longsynth_lab.membership import membership_text
from longsynth_lab.seeds import evaluation_seeds, require_development
from longsynth_lab.trial import trials
from longsynth_lab.variants import MOVED
from longsynth_lab.versions import only, stale

ROOT = Path(__file__).parents[2]
PAGES: dict[str, Callable[[Kept], str]] = {
    "rivals.md": lambda kept: rivals_text(kept("searches")),
    "constants.md": lambda kept: constants_text(kept("searches")),
    "population.md": lambda kept: population_text(kept("evidence")),
    "real.md": lambda kept: real_text(kept("evidence"), kept("searches")),
    "flagship.md": lambda kept: flagship_text(kept("evidence"), kept("earlier")),
    "membership.md": lambda kept: membership_text(only(kept("evidence"), [MEMBERSHIP])),
}


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("searches", "make evidence"),
        ("evidence", "make evidence"),
        ("study", "make paper"),
        ("study_repeats", "make paper"),
    ],
)
def test_nothing_is_stale(kept: Kept, name: str, command: str) -> None:
    if not kept(name).rows:
        pytest.skip(f"not measured yet: run '{command}'")
    found = stale(kept(name))
    assert not found, f"run '{command}' to measure these anew:\n" + "\n".join(found)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_result_files_give(kept: Kept, name: str) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert page == PAGES[name](kept), "run 'python lab/evidence.py --pages'"


def test_an_experiment_that_is_shown_was_run_to_its_end(kept: Kept) -> None:
    """On the seeds that may judge, with every method and draw."""
    wanted = evidence(evaluation_seeds(), variants_shown(kept("searches")))
    have = {(r.experiment, r.method, r.seed, r.draw, r.setting) for r in kept("evidence").rows}
    shown = {experiment for experiment, *_ in have}
    assert shown <= {experiment.name for experiment in wanted}
    for trial in trials([experiment for experiment in wanted if experiment.name in shown]):
        for use in trial.uses:
            assert (use.experiment, trial.method, trial.seed, trial.draw, use.setting) in have


@pytest.mark.parametrize("experiment", [SMALL, LARGE, PBC, PHYSIONET])
def test_every_method_and_variant_stands_beside_both_references(
    kept: Kept, experiment: str
) -> None:
    if not kept("evidence").methods(experiment):
        pytest.skip(f"'{experiment}' has not been measured: run 'make evidence'")
    variants = [name for shown in variants_shown(kept("searches")).values() for name in shown]
    wanted = {DEFAULT, *RIVALS, *variants, *OPEN, *REFERENCES}
    assert set(kept("evidence").methods(experiment)) == wanted


def test_every_utility_table_has_both_references() -> None:
    for name in PAGES:
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        for table in (part for part in page.split("\n\n") if part.startswith("| Method | ε")):
            if "AUPRC" in table.splitlines()[0]:
                assert "| Train on real |" in table
                assert "| Base rate |" in table
            assert not re.search(r"[a-z]+_[a-z]+", table), "a column without a name for readers"


def test_every_constant_has_a_row_with_its_own_reason(kept: Kept) -> None:
    lines = constants_text(kept("searches")).splitlines()
    for name, field in Constants.model_fields.items():
        row = next(line for line in lines if line.startswith(f"| `{name}` |"))
        assert field.description, name
        assert row.split(" | ")[-1][1:].removesuffix(" |") in field.description, name


def test_only_development_seeds_chose(kept: Kept) -> None:
    require_development(row.seed for row in kept("searches").rows)


def test_every_moved_constant_stands_beside_its_default(kept: Kept) -> None:
    tables = constants_text(kept("searches")).split("### ")[1:]
    assert [table.split()[0] for table in tables] == list(MOVED)
    assert all(table.count("(default)") == 1 for table in tables)
    usual = Constants().model_dump()
    assert all(usual[name] not in values for name, values in MOVED.items())
