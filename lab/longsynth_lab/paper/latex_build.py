"""Compile the paper's own source with a study's files in place of its numbers."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from longsynth.system.errors import Refused
from longsynth.system.folders import write_whole
from longsynth_lab.errors import LabCode
from longsynth_lab.paper.macros import NAMES
from longsynth_lab.results import write_text_whole

FOLDER = "paper-check"  # inside the study
PICTURE_SLOT = r"\includegraphics[]{ }"  # of fig:architecture: it names no file
PICTURE = r"\includegraphics{architecture.pdf}"
MACRO = re.compile(rf"^\\newcommand\{{\\({'|'.join(NAMES)})\}}\{{.*\}}[ \t]*\n", re.MULTILINE)
DATA_FILE = re.compile(r"\{(figures/data/[\w.-]+\.csv)\}")
CITED = re.compile(r"\\cite\{([^}]*)\}")
UNDEFINED = re.compile(r"LaTeX Warning: Reference `([^']+)'.* undefined")
NO_FILE = re.compile(r"File `([^']+)' not found")
MOST_PASSES = 6
SECONDS = 300  # for one pass


@dataclass(frozen=True, slots=True)
class PaperBuild:
    pdf: Path
    passes: int  # until labels and references stood still
    data_files: int
    uncited: tuple[str, ...]  # keys that have no entry, as references.bib is not there

    def __str__(self) -> str:
        said = (
            f"{self.pdf} compiles from the paper's source, {self.data_files} data files, "
            f"{len(NAMES)} macros and the architecture figure, in {self.passes} passes."
        )
        if self.uncited:
            said += (
                f" references.bib is not beside the paper, so its {len(self.uncited)} citations "
                "are printed as question marks. Put it there and run this again."
            )
        return said


@dataclass(frozen=True, slots=True)
class PaperSource:
    """A paper.tex that has every slot a study fills."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> "PaperSource":
        """Refuse a source that cannot be compiled before a study spends an hour."""
        if not shutil.which("pdflatex"):
            raise Refused(LabCode.TOOL_MISSING, "pdflatex is not installed.", "Install TeX Live.")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise Refused(
                LabCode.PAPER_UNUSABLE, f"{path} cannot be read.", "Name the paper's own paper.tex."
            ) from None
        found = sorted(name for name in MACRO.findall(text))
        if found != sorted(NAMES):
            missing = ", ".join(f"\\{name}" for name in NAMES if found.count(name) != 1)
            raise Refused(
                LabCode.PAPER_UNUSABLE,
                f"{path} is not the paper's source: it does not define {missing} exactly once.",
                "Name the paper's own paper.tex.",
            )
        if text.count(PICTURE_SLOT) != 1:
            raise Refused(
                LabCode.PAPER_UNUSABLE,
                f"{path} has no empty slot for the architecture figure.",
                "Name the paper's own paper.tex.",
            )
        return cls(path, text)

    @property
    def data_files(self) -> list[str]:
        return sorted(set(DATA_FILE.findall(self.text)))

    @property
    def citations(self) -> list[str]:
        keys = (key.strip() for found in CITED.findall(self.text) for key in found.split(","))
        return sorted(set(keys))

    def filled(self) -> str:
        """Return the source with our macros and figure; everything else is unchanged."""
        first = MACRO.search(self.text)
        place = first.start() if first else 0
        rest = MACRO.sub("", self.text[place:])
        return f"{self.text[:place]}\\input{{macros}}\n{rest}".replace(PICTURE_SLOT, PICTURE)


def build_paper(study: Path, source: PaperSource) -> PaperBuild:
    """Compile the paper in DIR/paper-check with the study's data, macros and architecture.

    A bibliography next to the paper is used; without one, citations remain undefined. Tables and
    prose keep the numbers typed into the source.
    """
    out = study / FOLDER
    absent = [name for name in source.data_files if not (study / name).is_file()]
    if absent:
        raise Refused(
            LabCode.STUDY_UNFINISHED,
            f"{study} lacks {', '.join(absent)}, which the paper reads.",
            "Finish the study first.",
        )
    for name in source.data_files:
        _copy(study / name, out / name)
    for name in ("macros.tex", "architecture.tex"):
        _copy(study / "paper" / name, out / name)
    write_text_whole(out / "paper.tex", source.filled())
    bibliography = source.path.with_name("references.bib")
    if bibliography.is_file():
        _copy(bibliography, out / bibliography.name)
    _pdflatex(out, "architecture")
    passes = _until_it_stands_still(out, bibliography.is_file())
    undefined = sorted(set(UNDEFINED.findall(_log(out, "paper"))))
    if undefined:
        raise Refused(
            LabCode.PAPER_NOT_COMPILED,
            f"{out}: the paper refers to {', '.join(undefined)}, which nothing defines.",
            "Add the missing label to the paper.",
        )
    uncited = () if bibliography.is_file() else tuple(source.citations)
    return PaperBuild(out / "paper.pdf", passes, len(source.data_files), uncited)


def _until_it_stands_still(out: Path, bibliography: bool) -> int:
    """Compile until a pass leaves the labels unchanged; return the number of passes."""
    (out / "paper.aux").unlink(missing_ok=True)
    before = b""
    for number in range(1, MOST_PASSES + 1):
        _pdflatex(out, "paper")
        if bibliography and number == 1:
            _run(out, ["bibtex", "paper"])
        labels = (out / "paper.aux").read_bytes()
        if labels == before:
            return number
        before = labels
    raise Refused(
        LabCode.PAPER_NOT_COMPILED,
        f"{out}: references still change after {MOST_PASSES} passes of pdflatex.",
        "See paper.log in that folder.",
    )


def _pdflatex(out: Path, name: str) -> None:
    options = ["-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    if _run(out, ["pdflatex", *options, f"{name}.tex"]):
        return
    log = _log(out, name)
    package = NO_FILE.search(log)
    if package:
        raise Refused(
            LabCode.TOOL_MISSING,
            f"LaTeX does not find {package[1]}.",
            "Install the package that contains it (on Debian: texlive-latex-extra, "
            "texlive-publishers or texlive-science).",
        )
    said = next((line for line in log.splitlines() if line.startswith("!")), "no message")
    raise Refused(
        LabCode.PAPER_NOT_COMPILED,
        f"pdflatex cannot compile {out / name}.tex: {said}",
        f"See {name}.log next to it.",
    )


def _run(out: Path, command: list[str]) -> bool:
    surroundings = os.environ | {"max_print_line": "1000"}  # messages on one line
    try:
        done = subprocess.run(
            command, cwd=out, env=surroundings, capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Refused(
            LabCode.PAPER_NOT_COMPILED,
            f"{command[0]} did not finish within {SECONDS} seconds in {out}.",
            "Run it there by hand.",
        ) from None
    except OSError:
        raise Refused(
            LabCode.TOOL_MISSING, f"{command[0]} cannot be started.", "Install TeX Live."
        ) from None
    return done.returncode == 0


def _log(out: Path, name: str) -> str:
    path = out / f"{name}.log"
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _copy(source: Path, target: Path) -> None:
    write_whole(target, source.read_bytes())
