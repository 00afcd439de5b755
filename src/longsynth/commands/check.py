"""`longsynth check` and `longsynth split`: judge a cohort, and hold patients out before a fit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longsynth.commands.options import (
    BUDGET_OPTIONS,
    CohortFolder,
    Engine,
    Engines,
    Json,
    Master,
    Out,
    Tables,
    cohort_on,
    print_json,
    say,
)
from longsynth.system.errors import Code, Refused
from longsynth.system.text import command_line, is_one_line

if TYPE_CHECKING:
    from longsynth.reading.quality import Quality

LONGEST_REASON = 500


def check(
    cohort: CohortFolder,
    html: Annotated[
        Path | None,
        typer.Option(help="Also write a page with histograms. Internal: do not share it."),
    ] = None,
    accept_problems: Annotated[
        str | None, typer.Option(help="Accept red findings, for this reason.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Your name, for the receipt.")] = None,
    json: Json = False,
    engine: Engine = Engines.local,
    master: Master = None,
    tables: Tables = None,
) -> None:
    """Judge a cohort before any budget is spent: red, amber or green, with what to correct.

    Exit code 1 if anything is red and not accepted. Leaves COHORT/internal/check.json, the receipt
    that `longsynth fit` asks for. The output is for the data steward only: it contains raw facts
    about patients.
    """
    from dataclasses import asdict

    from longsynth.govern.provenance import require_name
    from longsynth.reading.cohort_folder import CohortFolder as Folder
    from longsynth.reading.quality import examine, fingerprint_of, write_receipt

    if by is not None:
        require_name(by)
    reason = None if accept_problems is None else accept_problems.strip()
    if reason is not None and not (reason and is_one_line(reason, LONGEST_REASON)):
        raise Refused(
            Code.OPTION_UNUSABLE,
            "--accept-problems needs a reason.",
            f"Give one sentence of up to {LONGEST_REASON} characters.",
        )
    if html is not None and html.exists():
        raise Refused(
            Code.OUTPUT_EXISTS, f"{html} already exists.", "Choose another --html, or remove it."
        )
    chosen = cohort_on(engine, cohort, master, tables, None)
    with Folder(chosen) if isinstance(chosen, Path) else chosen as source:
        content = fingerprint_of(source.folder) if source.folder else None
        quality = examine(source, cohort, histograms=html is not None)
        schema = source.schema
    red = quality.colours["red"] > 0
    accepted = reason if red else None
    if html is not None:
        from longsynth.show.check_page import write_check_page

        write_check_page(html, schema, quality, accepted)
    if json:
        print_json(
            {
                "patients": quality.patients,
                **quality.counts,
                "verdict": quality.colour,
                "colours": quality.colours,
                "accepted": accepted,
                "findings": [asdict(finding) for finding in quality.findings],
            }
        )
    else:
        from longsynth.show.terminal import show_quality, stdout

        show_quality(stdout(), quality)
    if content:
        write_receipt(cohort, quality.colours, by=by, accepted=accepted, fingerprint=content)
    if not json:
        if html is not None:
            say(f"Wrote {html}. It shows real patients: do not share it.")
        say(_next(cohort, quality, accepted))
    if red and not accepted:
        raise typer.Exit(1)


def _next(cohort: Path, quality: "Quality", accepted: str | None) -> str:
    if quality.colours["red"] and not accepted:
        reason = command_line("check", cohort, "--accept-problems", "the reason")
        return (
            "Correct what is red, and check again. A fit is refused until then.\n"
            f"If it is right as it stands: {reason}"
        )
    size = ("--patients", quality.patients)
    return f"Next: {command_line('plan', cohort / 'schema.yaml', *size, *BUDGET_OPTIONS)}"


def split(
    cohort: CohortFolder,
    out: Out,
    holdout: Annotated[float, typer.Option(help="The share to hold out, below 1.")] = 0.2,
) -> None:
    """Hold patients out, by a keyed hash of their ids, so that an audit has people nobody fitted.

    Writes OUT/train and OUT/holdout. Reads ids only; rows are copied as they are.
    """
    from longsynth.reading.split import split_cohort

    parts = split_cohort(cohort, holdout, out)
    say(
        f"Wrote {parts.train:,} patients to {out / 'train'} and {parts.holdout:,} to "
        f"{out / 'holdout'}. Fit the first, and keep the second for `longsynth audit --test`.\n"
        f"Next: {command_line('check', out / 'train')}"
    )
