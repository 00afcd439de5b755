"""Standard output that ends early, or is full: no traceback, and an exit code that says so."""

import subprocess
import sys

import pytest

from atomic.outputs import Work, environment, main_here

LONGSYNTH = f"{sys.executable} -m longsynth.commands"


def shell(line: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-c", f"set -o pipefail; {line}"]
    return subprocess.run(command, capture_output=True, text=True, env=environment(**more))


def printing(work: Work) -> dict[str, str]:
    promise = "--patients 300 --epsilon 4 --delta 1e-5"
    return {
        "plan": f"{LONGSYNTH} plan {work.cohort}/schema.yaml {promise}",
        "ledger": f"{LONGSYNTH} ledger {work.release} --json",
        "methods": f"{LONGSYNTH} methods",
    }


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_ends_a_command_in_silence(work: Work, unbuffered: str) -> None:
    name = "ledger" if unbuffered else "plan"
    done = shell(f"{printing(work)[name]} | true", PYTHONUNBUFFERED=unbuffered)
    assert done.stderr == ""
    assert done.returncode == 141


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_a_sentence(work: Work, unbuffered: str) -> None:
    name = "methods" if unbuffered else "ledger"
    done = shell(f"{printing(work)[name]} > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert done.stderr.startswith("longsynth: standard output could not be written: No space")
    assert done.stderr.endswith("[output-not-written]\n")
    assert done.returncode == 2


def test_a_failed_check_keeps_its_exit_code(work: Work) -> None:
    code, out, said = main_here("verify", work.cohort)
    assert (code, said) == (1, "")
    assert "FAIL" in out
