"""`longsynth status`: what a folder is, and what to type next."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longsynth.commands.options import Json
from longsynth.commands.output import passed, print_json, say
from longsynth.system.text import cell

if TYPE_CHECKING:
    from longsynth.release.status import Standing

KINDS = {
    "release": "a release: you may share it with the guarantee below",
    "not private": "NOT PRIVATE: learned without protection, do not share it",
    "synthetic": "synthetic patients",
    "cohort": "a cohort of patients: do not share it",
    "export": "patients in CSV files: do not share it",
}


def status(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, a release, synthetic data or a cohort.")
    ],
    json: Json = False,
) -> None:
    """Say what a folder is, whether its checks pass, and what to type next.

    Reads no patient. Exit code 0, or 1 if a check of the release fails.
    """
    from longsynth.release.status import standing

    found = standing(folder)
    if json:
        print_json(_as_json(found))
    else:
        _show(found)
    raise typer.Exit(0 if found.holds else 1)


def _as_json(found: "Standing") -> dict[str, Any]:
    return {
        "folder": str(found.folder),
        "kind": found.kind,
        **found.facts,
        "verified": found.holds if found.findings else None,
        "findings": [asdict(finding) for finding in found.findings],
        "drawn": [str(path) for path in found.drawn],
        "next": list(found.next),
    }


def _show(found: "Standing") -> None:
    from rich.table import Table

    from longsynth.show.terminal import stdout

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _lines(found):
        table.add_row(cell(name), cell(text))
    console = stdout()
    what = (
        KINDS[found.kind] if found.holds else "CHANGED since longsynth wrote it: do not rely on it"
    )
    console.print(cell(f"{found.folder}: {what}"), highlight=False, style="bold")
    console.print(table)
    for finding in found.findings:
        if finding.caution or not finding.good:
            say(f"{'NOTE' if finding.good else 'FAIL'} {finding.sentence}")
    say("Next:")  # not through the console, which would break a command in two
    for command in found.next or ("nothing: do not share it; there is no guarantee to check",):
        say(f"  {command}")


def _lines(found: "Standing") -> list[tuple[str, str]]:
    facts = found.facts
    if found.kind == "release" and facts:
        return [*_promise(facts), *_vouched(facts), *_checked(found)]
    if found.kind == "synthetic":
        chosen = ", ".join(f"{name}={level}" for name, level in facts["where"].items())
        return [
            ("patients", f"{facts['patients']:,}, seed {facts['seed']}, format {facts['format']}"),
            *([("only", chosen)] if chosen else []),
            (
                "drawn from",
                facts["fingerprint"] if facts["private"] else "a method without privacy",
            ),
        ]
    if found.kind in ("cohort", "export"):
        return [("schema", "schema.yaml" if facts["schema"] else "none yet")]
    return [("method", str(facts.get("method")))] if facts else _checked(found)


def _promise(facts: dict[str, Any]) -> list[tuple[str, str]]:
    from longsynth.show.terminal import bar
    from longsynth.system.text import as_typed

    accounts = [
        (
            "budget cap",
            f"{bar(a['spent_rho'] / a['cap_rho'])} ρ = {a['spent_rho']:.6g} of "
            f"{a['cap_rho']:.6g} spent for '{a['dataset']}', including this fit",
        )
        for a in facts["accounts"]
    ]
    return [
        ("method", f"{facts['method']}, from {facts['method_from']}"),
        ("patients", f"{facts['patients']:,}"),
        (
            "ε spent",
            f"{as_typed(facts['epsilon'])} at δ = {as_typed(facts['delta'])} under "
            f"'{facts['accounting']}' (ρ = {facts['rho']:.6g})",
        ),
        *((name, f"{bar(share)} {100 * share:.3g} %") for name, share in facts["lines"].items()),
        *accounts,
    ]


def _vouched(facts: dict[str, Any]) -> list[tuple[str, str]]:
    book, form = facts["book_entry"], facts["governance"]
    signed = "not signed"
    if facts["signed"]:
        signer = facts["signed_by"] or "someone who gave no name"
        signed = f"by {signer}; check the key with verify --key"
    return [
        ("budget book", f"entry {book}" if book else "none: repeated fits are not added up"),
        ("governance", f"form {form}" if form else "no form"),
        ("fitted by", facts["fitted_by"] or "not stated"),
        ("signed", signed),
    ]


def _checked(found: "Standing") -> list[tuple[str, str]]:
    good, count = sum(finding.good for finding in found.findings), len(found.findings)
    checked = (
        f"all {passed(found.findings)}"
        if found.holds
        else f"{count - good} of {count} checks FAILED"
    )
    drawn = ", ".join(map(str, found.drawn)) or "nothing in this folder"
    return [("verified", checked), ("drawn from it", drawn)]
