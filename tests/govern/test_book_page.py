"""docs/book.md shows what the commands print, but for hashes and the day."""

import re
import shlex
import shutil
import sys
from io import StringIO
from pathlib import Path

import pytest

from longsynth.cli import main
from longsynth.io.writer import write_cohort
from longsynth.simulate import simulate, simulated_schema

PAGE = Path(__file__).parents[2] / "docs/book.md"


def masked(text: str) -> list[str]:
    text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)
    text = re.sub(r"\b[0-9a-f]{12}…", "HASH…", text)
    return [line.rstrip() for line in re.sub(r"\d{4}-\d\d-\d\d", "DAY", text).splitlines()]


def printed(arguments: list[str], patch: pytest.MonkeyPatch) -> str:
    if arguments[0] == "cp":
        shutil.copy(*arguments[1:])
        return ""
    said = StringIO()
    patch.setattr(sys, "argv", arguments)
    patch.setattr(sys, "stdout", said)
    patch.setattr(sys, "stderr", said)
    with pytest.raises(SystemExit):
        main()
    return said.getvalue()


def test_every_command_of_the_page_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    Path("cohort").mkdir()
    write_cohort(Path("cohort"), simulated_schema(), simulate(720, seed=11).batches(720))
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(steps) == 10
    head = ""
    for step in steps:
        command, _, shown = step.partition("\n")
        with monkeypatch.context() as patch:
            told = printed(shlex.split(re.sub("[0-9a-f]{64}", head, command)), patch)
        assert masked(told) == masked(shown), command
        head = ([head, *re.findall("[0-9a-f]{64}", told)])[-1]
