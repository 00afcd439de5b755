"""Full disks, read-only disks, missing permission: a sentence, exit code 2 and nothing left.

The disks are real: small file systems in a mount namespace of their own, where that is allowed.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from atomic.outputs import Work, commands, environment

TESTS = Path(__file__).parents[1]
ROOT = os.geteuid() == 0  # whom nothing is denied unless it gives that right up
NAMESPACE = ["unshare", "--mount", *([] if ROOT else ["--map-root-user"])]
HUMBLE = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if ROOT else []
RUNNER = """
import functools, json, os, subprocess, sys
sys.path.insert(0, {tests!r})
from atomic.outputs import main_here
from longsynth_lab import studies
studies.run_population = functools.partial(studies.run_population, fresh=60)
disk, options, jobs = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
if options:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], check=True)
found = {{}}
for name, arguments in jobs.items():
    code, _, said = main_here(*arguments)
    found[name] = [code, said, sorted(os.listdir(disk))]
print(json.dumps(found))
"""


def outcomes(
    disk: Path, options: str, jobs: dict[str, list[object]], prefix: Sequence[str] = (), **more: Any
) -> dict[str, tuple[int, str, list[str]]]:
    """Run commands one after the other on a disk of its own, in one process."""
    prefix = NAMESPACE if options else prefix
    if prefix and subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip(f"{prefix[0]} is not allowed here")
    command = [sys.executable, "-c", RUNNER.format(tests=str(TESTS)), str(disk), options]
    command = [*prefix, *command, json.dumps(jobs, default=str)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), **more)
    assert done.returncode == 0, done.stderr
    return {name: tuple(found) for name, found in json.loads(done.stdout).items()}


def to(disk: Path, work: Work, patients: int) -> dict[str, list[object]]:
    found = commands(work, patients)
    return {name: [*command, "--out", disk / "out"] for name, command in found.items()}


def test_a_full_disk_is_a_sentence_for_every_command(work: Work, tmp_path: Path) -> None:
    jobs = to(tmp_path, work, 3_000) | {"demo": ["demo", "--out", tmp_path / "out"]}
    found = outcomes(tmp_path, "size=12k", jobs)
    assert set(found) == {"fit", "sample", "simulate", "audit", "demo"}
    for name, (code, said, left) in found.items():
        assert code == 2, (name, said)
        assert said == (
            f"longsynth: {tmp_path / 'out'} could not be written: No space left on device. Free "
            "some space, or choose another output path. [output-not-written]\n"
        ), name
        assert left == [], name


def test_a_read_only_disk_is_a_sentence(work: Work, tmp_path: Path) -> None:
    wanted = ["bench", "population", "--methods", "independent", "--seeds", 1, "--jobs", 1]
    jobs = {
        "fit": [*commands(work, 9)["fit"], "--out", tmp_path / "out"],
        "deep": [*commands(work, 9)["simulate"], "--out", tmp_path / "a" / "b" / "out"],
        "bench": [*wanted, "--out", tmp_path / "out"],
    }
    for name, (code, said, left) in outcomes(tmp_path, "ro", jobs).items():
        assert code == 2, (name, said)
        assert "could not be written: Read-only file system. Choose another output path." in said, (
            name
        )
        assert left == []


def test_a_study_on_a_full_disk_keeps_its_cells_and_says_how_to_go_on(tmp_path: Path) -> None:
    wanted = ["--methods", "independent", "--train-patients", 40, "--jobs", 1, "--seeds", 1]
    study = ["bench", "population", "--out", tmp_path / "out", *wanted]
    # a file for the lock, and no block for a cell: folders take one inode each
    ((code, said, left),) = outcomes(tmp_path, "nr_inodes=5,size=1m", {"bench": study}).values()
    assert code == 2, said
    assert "could not be written: No space left on device" in said
    assert f"Finished cells are kept in {tmp_path / 'out'}: go on with --resume." in said
    assert left == ["out"]


def test_a_limit_on_the_size_of_files_is_a_sentence(work: Work, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    jobs = {name: to(tmp_path, work, 2_000)[name] for name in ("sample", "simulate")}
    for name, (code, said, left) in outcomes(tmp_path, "", jobs, preexec_fn=limit).items():
        assert code == 2, (name, said)
        assert "could not be written: File too large. Raise the limit" in said, name
        assert left == []


def test_missing_permission_is_a_sentence(work: Work, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    (tmp_path / "shut").mkdir(mode=0o000)
    simulate = commands(work, 9)["simulate"]
    jobs = {n: [*simulate, "--out", tmp_path / n / "out"] for n in ("locked", "shut")}
    jobs["bench"] = ["bench", "population", "--jobs", 1, "--out", tmp_path / "locked" / "out"]
    for name, (code, said, left) in outcomes(tmp_path, "", jobs, HUMBLE).items():
        assert code == 2, (name, said)
        assert "Permission denied. Ask for permission to write there" in said, name
        assert left == ["locked", "shut"]
