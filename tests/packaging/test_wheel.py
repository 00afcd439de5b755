"""The wheel is complete: it works away from the checkout."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(arguments: list[str], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_wheel_works_when_installed_outside_the_checkout(tmp_path: Path) -> None:
    build = ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    run(build, tmp_path)
    (wheel,) = tmp_path.glob("longsynth-*.whl")
    place = tmp_path / "place"
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    run(["-m", "pip", "install", *quiet, "--target", str(place), str(wheel)], tmp_path)
    found = run(
        ["-c", "import longsynth; print(longsynth.__file__)"], tmp_path, PYTHONPATH=str(place)
    )
    assert found.stdout.startswith(str(place))
    assert (place / "longsynth/reading/simulated.yaml").is_file()
    assert sorted(p.name for p in place.iterdir() if p.suffix != ".dist-info") == [
        "bin",
        "longsynth",
    ]
    assert (place / "longsynth/show/templates/style.css").is_file()
    assert list((place / "longsynth/show/templates/fonts").glob("*.woff2"))
    assert (place / "longsynth/py.typed").is_file()
    assert (place / "longsynth/privacy/README.md").is_file()
    shown = run(
        ["-m", "longsynth.commands", "demo", "--out", "demo"], tmp_path, PYTHONPATH=str(place)
    )
    assert "checks passed" in shown.stdout
