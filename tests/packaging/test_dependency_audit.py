"""The audit of dependencies fails where it should and says what it could not ask."""

from pathlib import Path
from runpy import run_path

AUDIT = run_path(str(Path(__file__).parents[2] / "tools" / "dependency_audit.py"))
GOOD = {"name": "good", "version": "1.0", "vulns": []}
BAD = {"name": "bad", "version": "2.1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.2"]}]}
OFFLINE = {"name": "unknown", "skip_reason": "not found"}


def test_a_known_vulnerability_fails_and_names_the_fix() -> None:
    failures, _ = AUDIT["verdict"]([GOOD, BAD], require=False)
    assert failures == ["bad 2.1: PYSEC-1, fixed in 2.2"]


def test_what_could_not_be_asked_is_said_and_fails_where_it_is_required() -> None:
    failures, said = AUDIT["verdict"]([OFFLINE, OFFLINE], require=False)
    assert failures == []
    assert "NOT audited" in said
    assert AUDIT["verdict"]([GOOD, OFFLINE], require=True)[0]


def test_only_names_with_versions_count_as_pins() -> None:
    text = "numpy==2.1\n# why\nscipy>=1\nx @ file:///y\n-r other\n"
    assert AUDIT["unpinned"](text) == ["scipy>=1", "x @ file:///y", "-r other"]
    assert AUDIT["unpinned"](AUDIT["CONSTRAINTS"].read_text()) == []
