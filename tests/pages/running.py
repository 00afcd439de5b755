"""Run a page: its blocks in order, in an empty folder, as a reader would type them.

`PYTHONPATH=src:tests python -m pages.running docs/book.md` writes what commands print now into
the page, where that is not what the page shows.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pages.blocks import ROOT, Block, blocks
from preloaded import server, stop_server

# The same commands with less work: a page says what is worth doing, a test what is cheap.
CHEAPER = {
    r"attack game( --.*)?": ["--method", "dp-markov"],  # a release says its method itself
    r"attack game.*": ["--trials", "10", "--opendp-trials", "10", "--jobs", "1"],
    r"audit .*": ["--bootstrap", "3"],
    r"dossier .*": ["--redraws", "1"],
    r"bench population.*": ["--methods", "dp-markov", "--epsilon", "4"],
    r"bench population.* --out .*": ["--seeds", "1", "--train-patients", "60", "--jobs", "1"],
}
_SHIM = """import re, sys
from longsynth.commands.__main__ import main
if __name__ == "__main__":  # processes that it starts read this file again
    typed = " ".join(sys.argv[1:])
    for command, cheaper in {cheaper}.items():
        if re.fullmatch(command, typed) and "--help" not in typed:
            sys.argv += cheaper
    sys.argv[0] = "longsynth"
    main()
"""
_HASH = re.compile(r"\b[0-9a-f]{64}\b")


@dataclass
class Scratch:
    """A folder with `longsynth` and `python` on its path, and the hashes that were seen there."""

    folder: Path
    hashes: dict[str, str] = field(default_factory=dict)  # in the page -> here

    def __post_init__(self) -> None:
        self.work, programs = self.folder / "work", self.folder / "programs"
        self.work.mkdir()
        programs.mkdir()
        (programs / "shim.py").write_text(_SHIM.format(cheaper=CHEAPER))
        for name, first in (("python", []), ("longsynth", [str(programs / "shim.py")])):
            server().write_client(programs / name, ["python", *first])
        kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR")}
        self.environment = kept | {
            "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "EXAMPLES": str(ROOT / "examples"),
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONWARNINGS": "error",
            "NO_COLOR": "1",
        }

    def ran(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.work,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def run_page(page: Path, folder: Path) -> str:
    """Return the page as it would have to be: the same text if it tells the truth."""
    scratch, text, moved = Scratch(folder), page.read_text("utf-8"), 0
    for block in blocks(page):
        if not block.runs:
            continue
        if block.title is not None:
            path = scratch.work / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            told = _console(scratch, block)
            start = block.start + moved
            text = text[:start] + told + text[start + len(block.text) :]
            moved += len(told) - len(block.text)
        else:
            program = ["bash", "-euo", "pipefail", "-c"] if block.language == "bash" else None
            done = scratch.ran([*(program or ["python", "-c"]), block.text])
            assert done.returncode == 0, f"{block.place}\n{done.stdout}"
    return text


def _console(scratch: Scratch, block: Block) -> str:
    told = ""
    for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        typed, _, shown = step.partition("\n")
        command = _HASH.sub(lambda found: scratch.hashes.get(found[0], found[0]), typed)
        done = scratch.ran(["bash", "-c", command])
        refused = re.search("^(longsynth: |FAIL )", shown, re.MULTILINE)
        assert bool(done.returncode) == bool(refused), f"{block.place}: {typed}\n{done.stdout}"
        said = re.sub(r"[ \t]+$", "", done.stdout, flags=re.MULTILINE)
        same = not shown or re.fullmatch(_pattern(shown), said)
        told += f"$ {typed}\n" + (shown if same else said)
        scratch.hashes |= dict(zip(_HASH.findall(shown), _HASH.findall(said), strict=False))
    return told


def _pattern(shown: str) -> str:
    """What the page shows, with any hash and any day, and anything for `…`."""
    lines = [
        r"(?:.*\n)*?" if line == "…" else _line(line) + r"\n"
        for line in (line.rstrip() for line in shown.splitlines())
    ]
    return "".join(lines)


def _line(line: str) -> str:
    words = re.escape(line).replace("…", ".*")
    words = re.sub(r"\d{4}\\-\d\d\\-\d\d", r"\\d{4}-\\d\\d-\\d\\d", words)
    return _HASH.sub("[0-9a-f]{64}", re.sub(r"\b[0-9a-f]{12}\.\*", ".*", words))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            Path(name).write_text(run_page(Path(name).resolve(), Path(scratch)), encoding="utf-8")
    stop_server()
