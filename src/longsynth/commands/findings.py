"""How checks are shown: a line each, or JSON; exit code 1 if one fails."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, NoReturn

import typer

from longsynth.commands.options import print_json, say
from longsynth.system.text import lines

if TYPE_CHECKING:
    from longsynth.system.finding import Finding


def held(findings: Sequence["Finding"]) -> str:
    """Say that all checks hold, and how many of them are for the reader to judge."""
    cautions = sum(finding.caution for finding in findings)
    marked = f"; read the {cautions} marked NOTE before you rely on them" if cautions else ""
    return f"{len(findings)} checks hold{marked}"


def tell(findings: Sequence["Finding"], *, json: bool, after: str = "", failing: str) -> NoReturn:
    """Print every finding and exit: with `after` if all hold, else with what not to do."""
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
        say(f"{failed} of {len(findings)} checks FAIL; {failing}")
    else:
        say(f"All {held(findings)}.{after and ' ' + after}")
    raise typer.Exit(1 if failed else 0)
