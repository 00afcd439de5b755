"""The detectors: the tests in tests/privacy, by what they look at.

Each mutant meets all of them. So that this stays quick, a detector may leave out tests that only
repeat its others at greater length; `make test` runs every one of them on the source as it is.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Detector:
    name: str
    looks_at: str
    files: tuple[str, ...]  # below tests
    without: str = r"(?!)"  # tests left out here: a pattern of file::name


DETECTORS = (
    Detector(
        "sensitivity",
        "how far one patient can move what is noised",
        ("privacy/test_sensitivity.py", "privacy/test_radii.py", "privacy/test_neighbours.py"),
        without=r"\[trust, (paper|reference|full), |no_replacement|blocks_of_counts_stay"
        r"|copula-score, (?!separate)|copula_score_attains",
    ),
    Detector(
        "exactness",
        "sums that are the same bits in any order",
        ("privacy/test_exactness.py",),
    ),
    Detector(
        "closure",
        "the account, and that it covers all that left",
        ("privacy/test_curator.py", "privacy/test_closure.py", "privacy/test_budget.py"),
        without=r"never_smaller_than|test_budget.*::(?!\S*\[4(\.0)?-)",
    ),
    Detector(
        "noise",
        "the law, freshness and independence of the noise",
        ("privacy/test_noise.py",),
        without=r"\[copula",
    ),
    Detector(
        "game",
        "what an attacker gets out of real fits",
        ("privacy/test_game.py",),
        without=r"\[joint\]",
    ),
    Detector(
        "non-interference",
        "whatever is left of the patients when the mechanism is silenced",
        ("privacy/test_non_interference.py",),
        without=r"\[(others|ward.*|no id|nobody)\]|no_setting_opens|sees_a_leak",
    ),
    Detector(
        "boundary",
        "sampling and verifying without the data",
        ("privacy/test_boundary.py",),
        without=r"\[copula-score|audit_folder",  # the bench has no documents, and bugs have lines
    ),
    Detector(
        "folders",
        "folders that others send or could read, and what a form approves",
        ("privacy/test_folders.py",),
    ),
)
NAMES = tuple(detector.name for detector in DETECTORS)
