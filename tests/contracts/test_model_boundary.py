"""No model can reach a patient: the import contract covers every method, and it can fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
METHODS = "src/longsynth/methods"
FORBIDDEN = {  # one import each, at several distances from a patient
    f"{METHODS}/trust/model.py": "from longsynth.reading.records import Cohort",
    f"{METHODS}/dp_score/model.py": "from longsynth.methods import lines",
    f"{METHODS}/dp_markov/settings.py": "from longsynth.privacy.curator import Curator",
    f"{METHODS}/copula_score/cells.py": "from longsynth.encoding.rows import Encoder",
}


def linted(folder: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(folder / name) for name in ("src", "lab"))
    command = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [str(command), "--no-logo", "--no-cache", "--config", str(folder / "pyproject.toml")],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_import_of_patients_into_a_model_breaks_the_contract(tmp_path: Path) -> None:
    for part in ("src/longsynth", "lab/longsynth_lab"):
        shutil.copytree(
            ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__", "*.csv")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, line in FORBIDDEN.items():
        path = tmp_path / name
        path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    done = linted(tmp_path)
    assert done.returncode == 1, done.stderr
    assert "The public side never reaches a patient BROKEN" in done.stdout
    for method in ("trust", "dp_score", "dp_markov", "copula_score"):
        assert f"longsynth.methods.{method}.model is not allowed to import" in done.stdout, method


def test_every_private_method_has_a_model_that_the_contract_covers() -> None:
    folders = {path.parent.name for path in (ROOT / METHODS).glob("*/release.py")}
    assert folders == {path.parent.name for path in (ROOT / METHODS).glob("*/model.py")}
    assert folders == {"trust", "dp_score", "dp_markov", "copula_score"}
    assert '"longsynth.methods.*.model"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
