"""`longsynth ledger`, `verify`, `dossier` and `status`: look at a release and check it."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longsynth.commands.options import (
    BUDGET_OPTIONS,
    SAMPLE_OPTIONS,
    Governance,
    Json,
    Release,
    passed,
    print_json,
    say,
    show_findings,
)
from longsynth.system.errors import Code, Refused
from longsynth.system.text import as_typed, cell, command_line

if TYPE_CHECKING:
    from longsynth.release.status import FolderStatus


def ledger(release: Release, json: Json = False) -> None:
    """Show the ledger of a release: every number that was released, and what it cost."""
    from longsynth.methods.registry import private_method
    from longsynth.release.folder import load_release
    from longsynth.release.statement import ledger_json

    bundle = load_release(release)
    if json:
        print_json(ledger_json(bundle.method, bundle.ledger))
        return
    from longsynth.show.terminal import show_ledger, stdout

    title = f"Ledger of {release}: '{bundle.method}', {bundle.patients:,} patients"
    show_ledger(stdout(), title, private_method(bundle.method), bundle.schema, bundle.ledger)
    if caution := bundle.origin.caution(bundle.method):
        say(f"NOTE {caution}")


def verify(
    release: Release,
    synthetic: Annotated[
        Path | None,
        typer.Argument(metavar="SYNTHETIC", help="Synthetic patients: sample again, compare."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The public key (KEY.pub) of the expected signer.")
    ] = None,
    governance: Governance = None,
    json: Json = False,
) -> None:
    """Check that a release is consistent, without the data. Exit code 0 if so, else 1."""
    from longsynth.release.folder import require_release
    from longsynth.release.verify import verify as check

    require_release(release)  # a mistyped name says nothing about a release
    for path in (synthetic, key, governance):
        if path is not None and not path.exists():
            raise Refused(
                Code.FILE_MISSING, f"{path} does not exist.", "Correct the path, or leave it out."
            )
    findings = check(release, synthetic, key=key, governance=governance)
    show_findings(findings, json=json, failing="do not rely on this release.")


REDRAWS = 8


def dossier(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A RUN with release/, or a release folder itself."),
    ],
    out: Annotated[Path, typer.Option("--out", help="A new file: dossier.html.")],
    audit: Annotated[
        Path | None,
        typer.Option(help="A folder that `longsynth audit` wrote: makes the internal edition."),
    ] = None,
    governance: Annotated[
        Path | None, typer.Option(help="The governance form of the fit, to include.")
    ] = None,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Also write a PDF file, using Chromium.")
    ] = False,
    redraws: Annotated[
        int,
        typer.Option(min=0, max=1000, help="Redraws of the noise for the bands; 0 for none."),
    ] = REDRAWS,
) -> None:
    """Make one page about a release for a board: guarantee, ledger, charts and checks.

    The public edition is made from the release alone.

    With --audit it contains figures about real patients: do not share it.
    """
    from longsynth.show.dossier.build import write_dossier

    written = write_dossier(run, out, audit=audit, governance=governance, pdf=pdf, redraws=redraws)
    files = " and ".join(map(str, written))
    if audit is None:
        say(f"Wrote {files}: the public edition, from the release alone.")
    else:
        say(f"Wrote {files}: the internal edition. It shows real patients: NOT FOR RELEASE.")


KINDS = {
    "release": "a release: you may share it with the guarantee below",
    "not private": "NOT PRIVATE: learned without protection, do not share it",
    "synthetic": "synthetic patients",
    "cohort": "a cohort of patients: do not share it",
    "export": "patients in CSV files: do not share it",
    "split": "a cohort in two parts, of which one is held out: do not share it",
    "audit": "an audit, computed from real patients: do not share it",
    "file": "an export of patients, by its name: do not share it",
}


def status(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, a release, synthetic data, a cohort, …")
    ],
    json: Json = False,
) -> None:
    """Say what a folder is, whether its checks pass, and what to type next.

    Reads no patient. Exit code 0, or 1 if a check of the release fails.
    """
    from longsynth.release.status import status_of

    state = status_of(folder)
    if json:
        print_json(_as_json(state))
    else:
        _show(state)
    raise typer.Exit(0 if state.holds else 1)


def next_commands(state: "FolderStatus") -> tuple[str, ...]:
    """Return what to type next."""
    folder, schema = state.folder, state.folder / "schema.yaml"
    if state.kind == "release":
        if not state.holds or not state.facts:
            return (command_line("verify", state.source),)
        after = (
            command_line("verify", state.source, state.synthetic[0])
            if state.synthetic
            else command_line("sample", state.source, *SAMPLE_OPTIONS, "synthetic")
        )
        return (
            *(
                ()
                if state.facts["signed"]
                else (command_line("sign", state.source, "--key", "KEY"),)
            ),
            *(
                ()
                if state.dossiers
                else (command_line("dossier", folder, "--out", "dossier.html"),)
            ),
            *(_with_audit(folder, audit) for audit in state.audits[:1]),
            command_line("ledger", state.source),
            after,
        )
    if state.kind == "not private":
        return (command_line("sample", state.source, *SAMPLE_OPTIONS, "drawn"),)
    if state.kind == "synthetic":
        verify = command_line("verify", state.source or "RELEASE", folder)
        return (verify,) if state.facts["private"] else ()
    if state.kind == "audit":
        return (_with_audit(state.source.parent if state.source else Path("RUN"), folder),)
    if state.kind == "file":
        return (command_line("recipe", "new", folder, "--out", "recipe.yaml"),)
    if state.kind == "split" and state.source:
        folder, schema = state.source, state.source / "schema.yaml"
    if not state.facts["schema"]:
        return (command_line("schema", "new", "--cohort", folder, "--out", schema),)
    if state.kind == "export":
        source = ("import", "events", folder, "--schema", schema, "--out", "cohort")
        return (command_line(*source),)
    checked = state.facts["checked"]
    if not _is_sound(checked):
        return (command_line("check", folder),)
    return (
        command_line("plan", schema, "--patients", "N", *BUDGET_OPTIONS),
        command_line("fit", folder, *BUDGET_OPTIONS, "--out", "run"),
    )


def _with_audit(run: Path, audit: Path) -> str:
    return command_line("dossier", run, "--audit", audit, "--out", "internal.html")


def _as_json(state: "FolderStatus") -> dict[str, Any]:
    return {
        "folder": str(state.folder),
        "kind": state.kind,
        **state.facts,
        "verified": state.holds if state.findings else None,
        "findings": [asdict(finding) for finding in state.findings],
        "drawn": [str(path) for path in state.synthetic],
        "audits": [str(path) for path in state.audits],
        "dossiers": [str(path) for path in state.dossiers],
        "next": list(next_commands(state)),
    }


def _show(state: "FolderStatus") -> None:
    from rich.table import Table

    from longsynth.show.terminal import stdout

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _lines(state):
        table.add_row(cell(name), cell(text))
    console = stdout()
    what = (
        KINDS[state.kind] if state.holds else "CHANGED since longsynth wrote it: do not rely on it"
    )
    console.print(cell(f"{state.folder}: {what}"), highlight=False, style="bold")
    console.print(table)
    for finding in state.findings:
        if finding.caution or not finding.good:
            say(f"{'NOTE' if finding.good else 'FAIL'} {finding.sentence}")
    say("Next:")  # not through the console, which would break a command in two
    for command in next_commands(state) or (
        "nothing: do not share it; there is no guarantee to check",
    ):
        say(f"  {command}")


def _lines(state: "FolderStatus") -> list[tuple[str, str]]:
    facts = state.facts
    if state.kind == "release" and facts:
        return [*_promise(facts), *_vouched(facts), *_checked(state)]
    if state.kind == "synthetic":
        chosen = ", ".join(facts["where"])
        return [
            ("patients", f"{facts['patients']:,}, seed {facts['seed']}, format {facts['format']}"),
            *([("only", chosen)] if chosen else []),
            (
                "sampled from",
                facts["fingerprint"] if facts["private"] else "a method without privacy",
            ),
        ]
    if state.kind == "audit":
        return [("sampled from", str(state.source or facts["fingerprint"]))]
    if state.kind in ("cohort", "export", "split"):
        schema = [("schema", "schema.yaml" if facts["schema"] else "none yet")]
        return [*schema, ("checked", _look(facts["checked"]))] if "checked" in facts else schema
    if facts:
        return [("method", str(facts.get("method")))]
    return _checked(state) if state.kind == "release" else []


def _is_sound(checked: dict[str, Any] | None) -> bool:
    """Whether a fit would accept the last check of a cohort."""
    accepted = checked and (checked["colour"] != "red" or checked["accepted"])
    return bool(checked and checked["matches"] and accepted)


def _look(checked: dict[str, Any] | None) -> str:
    if checked is None:
        return "not yet: a fit is refused"
    if not checked["matches"]:
        return "not since the tables or the schema changed: a fit is refused"
    name = f" by {checked['by']}" if checked["by"] else ""
    reason = f"; accepted: {checked['accepted']}" if checked["accepted"] else ""
    return f"{checked['colour']}, {checked['at']}{name}{reason}"


def _promise(facts: dict[str, Any]) -> list[tuple[str, str]]:
    from longsynth.show.terminal import bar

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
        signed = f"by {signer}; to check the key: verify --key"
    return [
        ("budget book", f"entry {book}" if book else "none: repeated fits are not added up"),
        ("governance", f"form {form}" if form else "no form"),
        ("fitted by", facts["fitted_by"] or "not stated"),
        ("signed", signed),
    ]


def _checked(state: "FolderStatus") -> list[tuple[str, str]]:
    good, count = sum(finding.good for finding in state.findings), len(state.findings)
    checked = (
        f"all {passed(state.findings)}"
        if state.holds
        else f"{count - good} of {count} checks FAILED"
    )
    return [
        ("verified", checked),
        ("sampled from it", ", ".join(map(str, state.synthetic)) or "nothing in this folder"),
        *([("audited in", ", ".join(map(str, state.audits)))] if state.audits else []),
        ("dossier", ", ".join(map(str, state.dossiers)) or "none in this folder"),
    ]
