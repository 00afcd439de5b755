"""The far side of the boundary: with a release folder and nothing else, all the rest works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from longsynth import privacy, run_fit
from support import random_cohort, small_schema, write_checked

ROOT = Path(__file__).parents[2]
BOTH = """
import sys
from longsynth.commands.__main__ import main
for command in (["sample", "release", "--patients", "500", "--seed", "5", "--out", "drawn"],
                ["verify", "release", "drawn"]):
    sys.argv = ["longsynth", *command]
    try:
        main()
    except SystemExit:
        pass
"""


def test_the_audit_folder_is_as_short_as_the_documents_say() -> None:
    lines = sum(len(p.read_text().splitlines()) for p in Path(privacy.__path__[0]).glob("*.py"))
    assert lines <= 600
    said = [ROOT / "README.md", ROOT / "docs/received.md", ROOT / "src/longsynth/privacy/README.md"]
    for page in said:
        assert re.search(r"at most 600\s+lines", page.read_text(), re.IGNORECASE), page


@pytest.fixture(params=["trust", "copula-score"])
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """RUN of a cohort with few events, whose folder is still there."""
    (tmp_path / "cohort").mkdir()
    cohort = random_cohort(60, seed=4)
    cohort.event[6:] = 0
    write_checked(tmp_path / "cohort", small_schema(), [cohort])
    run_fit(tmp_path / "cohort", tmp_path / "run", epsilon=4, delta=1e-5, method=request.param)
    return tmp_path / "run"


def test_sampling_and_verifying_are_the_same_where_there_is_no_data(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once here, beside internal/ and the cohort; then in a new process that has neither."""
    monkeypatch.chdir(run)
    monkeypatch.setattr("sys.argv", [])  # set anew below, and restored after the test
    exec(compile(BOTH, "both commands", "exec"), {})
    near = contents(run / "drawn"), capfd.readouterr().out
    far = tmp_path / "far away"
    far.mkdir()
    shutil.copytree(run / "release", far / "release")
    for folder in (run, tmp_path / "cohort"):
        shutil.rmtree(folder)
    done = subprocess.run([sys.executable, "-c", BOTH], cwd=far, capture_output=True, text=True)
    assert (contents(far / "drawn"), done.stdout) == near
    assert "All " in done.stdout, "verification fails"
    assert done.returncode == 0


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
