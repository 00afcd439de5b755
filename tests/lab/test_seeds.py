"""Seeds that choose never judge, and a set of seeds judges one version."""

from pathlib import Path

import pytest

from longsynth.system.errors import Refused
from longsynth_lab.experiments import STEERING_SEEDS
from longsynth_lab.seeds import (
    SEEDS,
    development_seeds,
    evaluation_seeds,
    evaluation_sets,
    looked_at,
    note_judged,
    numbers,
    require_development,
)

FILE = """\
# A comment that stays.
development: 1-3
evaluation:
  - seeds: 11,12
    judged: [old]
    spent: it led to a change
  - seeds: 21-22
    judged: []
  - seeds: 31-32
    judged: []
looked_at: {}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "seeds.yaml"
    path.write_text(FILE)
    return path


def test_a_spent_set_is_passed_over(file: Path) -> None:
    assert evaluation_seeds(file, "new") == (21, 22)


def test_a_set_that_judged_a_version_judges_it_again_and_no_other(file: Path) -> None:
    note_judged(file, "new")
    assert evaluation_seeds(file, "new") == (21, 22)
    assert evaluation_seeds(file, "newer") == (31, 32)
    note_judged(file, "newer")
    with pytest.raises(Refused, match="Add a set of unused seeds"):
        evaluation_seeds(file, "newest")


def test_noting_a_version_keeps_the_rest_of_the_file(file: Path) -> None:
    note_judged(file, "new")
    assert file.read_text() == FILE.replace("judged: []", "judged: [new]", 1)


def test_a_search_on_evaluation_seeds_is_refused(file: Path) -> None:
    require_development([1, 3], file)
    with pytest.raises(Refused, match="Seed 21 is not a development seed"):
        require_development([1, 21], file)


def test_a_seed_with_two_uses_is_refused(file: Path) -> None:
    file.write_text(FILE.replace("21-22", "3,22"))
    with pytest.raises(Refused, match="uses seed 3 twice"):
        evaluation_sets(file)


def test_our_own_file_is_sound() -> None:
    assert set(STEERING_SEEDS) <= set(development_seeds())
    assert all(one.judged and one.spent for one in evaluation_sets() if one.spent)
    assert set(looked_at()) == {"physionet2012", "pbc"}
    assert SEEDS.name == "seeds.yaml"
    assert numbers("11,22, 101-103") == (11, 22, 101, 102, 103)
