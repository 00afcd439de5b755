"""What commands print: lines, JSON, and the findings of checks (exit code 1 if one fails)."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, NoReturn

import typer

from longsynth.system.text import json_text, lines

if TYPE_CHECKING:
    from longsynth.system.errors import Finding


def say(text: str, *, err: bool = False) -> None:
    """Print our own lines. Control characters in text from outside are escaped."""
    typer.echo(lines(text), err=err)


def print_json(content: object) -> None:
    """Print what `--json` promises."""
    typer.echo(json_text(content))


def passed(findings: Sequence["Finding"]) -> str:
    """Say that all checks passed, and how many of them need a look."""
    notes = sum(finding.caution for finding in findings)
    marked = f"; read the {notes} marked NOTE before you rely on them" if notes else ""
    return f"{len(findings)} checks passed{marked}"


def show_findings(
    findings: Sequence["Finding"], *, json: bool, after: str = "", failing: str
) -> NoReturn:
    """Print every finding and exit: with `after` if all passed, else with what not to do."""
    failed = sum(not finding.good for finding in findings)
    if json:
        print_json({"holds": not failed, "findings": [asdict(finding) for finding in findings]})
        raise typer.Exit(1 if failed else 0)
    from rich.text import Text

    from longsynth.show.terminal import stdout

    console = stdout()
    for finding in findings:
        mark = ("NOTE", "bold yellow") if finding.caution else ("ok  ", "green")
        mark = mark if finding.good else ("FAIL", "bold red")
        console.print(Text.assemble(mark, f" {lines(finding.sentence)}"), soft_wrap=True)
    if failed:
        say(f"{failed} of {len(findings)} checks FAILED; {failing}")
    else:
        say(f"All {passed(findings)}.{after and ' ' + after}")
    raise typer.Exit(1 if failed else 0)
