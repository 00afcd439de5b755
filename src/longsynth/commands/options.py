"""Options that several commands share: one name, one help text, everywhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longsynth.privacy.budget import DEFAULT_ACCOUNTING
from longsynth.system.text import json_text, lines


class Accountings(StrEnum):
    paper = "paper"
    zcdp = "zcdp"
    gaussian = "gaussian"


USUAL = Accountings(DEFAULT_ACCOUNTING)

EPSILON = typer.Option(help="ε: how much one patient can matter; smaller is safer.")
DELTA = typer.Option(help="δ: chance of failure, at most 1/(10·patients).")
Accounting = Annotated[Accountings, typer.Option(help="How ρ becomes ε; see docs/privacy.md.")]
Jobs = Annotated[
    int, typer.Option(min=1, max=64, help="Threads; any number gives the same result.")
]
Json = Annotated[bool, typer.Option("--json", help="Plain JSON for a script.")]
Method = Annotated[str, typer.Option(help="The generator; `longsynth methods` lists them.")]
Out = Annotated[Path, typer.Option("--out", help="A folder that does not exist yet.")]
Release = Annotated[
    Path, typer.Argument(metavar="RELEASE", help="A release folder, for instance RUN/release.")
]


def print_json(content: object) -> None:
    """What `--json` prints."""
    typer.echo(json_text(content))


def say(text: str, *, err: bool = False) -> None:
    """Print lines of ours. Whatever text from outside they hold, the terminal does not obey it."""
    typer.echo(lines(text), err=err)
