"""The detectors: tests, most of them in tests/privacy, by what they look at.

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
    slow: bool = False  # meets only the bugs that it must catch, and the source as it is


DETECTORS = (
    Detector(
        "sensitivity",
        "how far one patient can move what is noised",
        (
            "privacy/test_sensitivity.py",
            "privacy/test_radii.py",
            "privacy/test_neighbours.py",
            "codes/test_code_lines.py",
        ),
        without=r"\[trust, (paper|reference|full), |no_replacement|blocks_of_counts_stay"
        r"|copula-score, (?!separate|much, pass 4)|copula_score_attains",
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
        "methods",
        "that a row is its own patient's, and whose method a release names",
        ("privacy/test_own_rows.py", "privacy/test_whose_method.py"),
        without=r"same_bits_in_any_company\[(?!dp-score|copula-score-full)|\[(trust|dp-markov)\]"
        r"|\[copula-score\]",
    ),
    Detector(
        "boundary",
        "sampling and verifying without the data",
        ("privacy/test_boundary.py",),
        without=r"\[copula-score|audit_folder",  # the bench has no documents, and bugs have lines
    ),
    Detector(
        "entrance",
        "what becomes of cells on their way to a fit, and of what readers say about them",
        ("privacy/test_entrance.py",),
    ),
    Detector(
        "engines",
        "whether Spark and this machine end a fit alike",
        ("contracts/test_type_matrix.py",),
        without=r"::(?!.*(one_wild|sparks_own))",
        slow=True,
    ),
    Detector(
        "forgery",
        "whether verify sees that numbers lack their noise",
        ("govern/test_noise_check.py",),
        without=r"\[(copula|trust, |dp-markov, |dp-score)|90\.0|known_seed|hundred_thousand"
        r"|_patient|any_numbers",
    ),
    Detector(
        "rendering",
        "text from outside, in statements, pages, terminals and commands",
        ("privacy/test_rendering.py",),
        without=r"one_word\[(?!\$|-rf)|(statement|place|form)\['(?!\*\*|a \||<img)"
        r"|wherever_it_stands\[\w+-'(?!ward|\W+x9b|left)|refused_unseen\['(?!two|left)"
        r"|rich_and_matplotlib\['(?!\[bold|\$x)|without_an_end|past_the_schema",
    ),
    Detector(
        "folders",
        "folders that others send or could read, and what a form approves",
        ("privacy/test_folders.py",),
    ),
)
NAMES = tuple(detector.name for detector in DETECTORS)
