"""`make mutants`: every deliberate bug before all detectors, and who caught it."""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mutants.catalogue import MUTANTS
from mutants.detectors import NAMES
from mutants.examine import ROOT
from mutants.runner import Outcome, bench, tried

CLEAN = "unmodified tree"


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only those whose name holds one of these")
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="another source tree")
    given = parser.parse_args()
    chosen = [m for m in MUTANTS if not given.names or any(n in m.name for n in given.names)]
    console, start = Console(), time.monotonic()
    console = console if console.is_terminal else Console(width=120, highlight=False)
    outcomes: list[Outcome] = []
    with bench(given.source) as folder, console.status("") as status:
        for outcome in tried(folder, [None, *chosen]):
            outcomes.append(outcome)
            status.update(f"{len(outcomes) - 1} of {len(chosen)} mutants met all detectors")
    _show(console, outcomes)
    _explain(console, [o for o in outcomes if given.names or not o.as_it_should_be])
    return _conclude(console, outcomes, time.monotonic() - start)


def _show(console: Console, outcomes: list[Outcome]) -> None:
    table = Table(title="Deliberate privacy bugs and who caught them", title_justify="left")
    table.add_column("mutant")
    table.add_column("caught by")
    table.add_column("s", justify="right")
    for outcome in outcomes[1:] + outcomes[:1]:
        name = outcome.mutant.name if outcome.mutant else CLEAN
        if outcome is outcomes[0]:
            table.add_section()
        table.add_row(escape(name), _caught(outcome), f"{outcome.seconds:.1f}")
    console.print(table)


def _caught(outcome: Outcome) -> str:
    caught = ", ".join(name for name in NAMES if name in outcome.caught)
    if outcome.mutant is None:
        return "[bold red]false alarm[/]: " + caught if not outcome.as_it_should_be else "nobody"
    if not caught:
        return "[bold red]SURVIVED[/]"
    missed = "" if outcome.as_it_should_be else f" [bold red]not by {outcome.mutant.by}[/]"
    return caught + missed


def _explain(console: Console, outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        name = outcome.mutant.name if outcome.mutant else CLEAN
        console.print(f"\n[bold]{escape(name)}[/]", highlight=False)
        if outcome.mutant:
            console.print(f"  {escape(outcome.mutant.bug)}", highlight=False)
        for detector, claim in outcome.caught.items():
            console.print(f"  {detector}: {escape(claim)}", highlight=False)
        if outcome.trouble:
            console.print(f"  {escape(outcome.trouble)}", highlight=False)


def _conclude(console: Console, outcomes: list[Outcome], seconds: float) -> int:
    clean, *killed = outcomes
    by = Counter(name for outcome in killed for name in outcome.caught)
    alone = Counter(next(iter(o.caught)) for o in killed if len(o.caught) == 1)
    each = ", ".join(f"{name} {by[name]} ({alone[name]} alone)" for name in NAMES)
    console.print(f"Caught by {each}.", highlight=False)
    processor = sum(outcome.processor for outcome in outcomes)
    good = sum(outcome.as_it_should_be for outcome in killed)
    console.print(
        f"{good} of {len(killed)} killed; unmodified tree: "
        f"{'clean' if clean.as_it_should_be else 'FALSE ALARM'}; {seconds:.0f} s "
        f"({processor:.0f} s of processor time).",
        highlight=False,
    )
    return 0 if all(outcome.as_it_should_be for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
