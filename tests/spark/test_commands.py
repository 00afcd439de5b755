"""The commands on Spark, as docs/spark.md shows them."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longsynth import fit, model_of, simulate, simulated_schema
from longsynth.engines.spark.cohort import write_on_spark
from longsynth.sample import CHUNK, sample_chunks
from longsynth.writing.cohort import CHUNKS, write_parts
from spark_sessions import LEAN, Sessions, why_not
from support import random_cohort, small_plan, write_checked

pytestmark = pytest.mark.xdist_group("spark")
ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"JAVA_TOOL_OPTIONS": LEAN}


def longsynth(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "longsynth.commands", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=ENVIRONMENT)


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_the_pages_local_commands_run_as_written_and_spark_prints_nothing(
    tmp_path: Path,
) -> None:
    page = (ROOT / "docs/spark.md").read_text()
    blocks = re.findall(r"^```\w*\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (block,) = (text for text in blocks if "local[2]" in text)
    assert longsynth(tmp_path, "simulate", "--patients", "60", "--out", "cohort").returncode == 0
    for line in block.strip().splitlines():
        program, *arguments = shlex.split(line)
        assert program == "longsynth"
        done = longsynth(tmp_path, *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert "WARN" not in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["big", "big-synthetic", "cohort"]
    checked = longsynth(tmp_path, "verify", "big/release", "big-synthetic")
    assert "bit for bit the same" in checked.stdout, checked.stdout


def test_the_pages_example_with_a_session_runs_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sparks: Sessions
) -> None:
    sparks.on()
    page = (ROOT / "docs/spark.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("cohort").mkdir()
    write_checked("cohort", simulated_schema(), simulate(60, seed=1).batches())
    seen: dict[str, object] = {}
    exec(compile(block, "docs/spark.md", "exec"), seen)
    assert seen["bundle"].patients == 60  # type: ignore[attr-defined]


def test_parts_drawn_on_spark_are_the_bytes_that_one_machine_writes(
    tmp_path: Path, sparks: Sessions
) -> None:
    patients = CHUNK * CHUNKS + CHUNK + 3  # two parts, the second with two chunks
    model = model_of(fit(random_cohort(60, seed=4), small_plan(60)))
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    write_parts(tmp_path / "here", model.schema, sample_chunks(model, patients, seed=3))
    write_on_spark(sparks.on(), tmp_path / "there", model, patients, seed=3)
    here, there = (
        {str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()}
        for place in (tmp_path / "here", tmp_path / "there")
    )
    assert len(here) == 5  # two parts of two tables, and the schema
    assert here == there


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_fit_on_spark_that_is_stopped_leaves_nothing_and_says_so_in_a_sentence(
    tmp_path: Path,
) -> None:
    write_large(tmp_path / "cohort")
    (tmp_path / "scratch").mkdir()
    options = ["--epsilon", "4", "--delta", "1e-5", "--engine", "spark", "--master", "local[1]"]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "longsynth.commands.__main__",
            "fit",
            "cohort",
            *options,
            "--out",
            "run",
        ],
        cwd=tmp_path,
        env=ENVIRONMENT | {"TMPDIR": str(tmp_path / "scratch")},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(tmp_path.glob("scratch/longsynth-*/blockmgr-*/*/shuffle_*")):
        assert process.poll() is None, "it ended before it could be stopped"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == -signal.SIGINT
    assert said.startswith("longsynth: interrupted (SIGINT).")
    assert said.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cohort", "scratch"]
    assert not list((tmp_path / "scratch").iterdir())


def write_large(folder: Path) -> None:
    folder.mkdir()
    write_checked(folder, simulated_schema(), simulate(30_000, seed=1).batches(4096))
