"""What commands share: options, one-line arguments, an example in every help text, and output."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from longsynth.privacy.budget import DEFAULT_ACCOUNTING
from longsynth.system.errors import Code, Refused
from longsynth.system.text import json_text, lines, shell, text_problem

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from longsynth.engines import Distributed
    from longsynth.system.errors import Finding


class Accountings(StrEnum):
    paper = "paper"
    zcdp = "zcdp"
    gaussian = "gaussian"


class Engines(StrEnum):
    local = "local"
    spark = "spark"


DEFAULT_ACCOUNTINGS = Accountings(DEFAULT_ACCOUNTING)
BUDGET_OPTIONS = ("--epsilon", 4, "--delta", "1e-6")  # in suggested commands
SAMPLE_OPTIONS = ("--patients", 500, "--seed", 7, "--out")

EPSILON = typer.Option(help="ε: how much one patient can matter; smaller is safer.")
DELTA = typer.Option(help="δ: probability of failure, at most 1/(10 · patients).")
Accounting = Annotated[Accountings, typer.Option(help="How ρ becomes ε; see docs/privacy.md.")]
Jobs = Annotated[
    int, typer.Option(min=1, max=64, help="Threads; any number gives the same result.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
Method = Annotated[str, typer.Option(help="The method; `longsynth methods` lists them.")]
NewFile = Annotated[Path, typer.Option("--out", help="A file that does not exist yet.")]
Out = Annotated[Path, typer.Option("--out", help="A folder that does not exist yet.")]
CohortFolder = Annotated[
    Path, typer.Argument(metavar="COHORT", help="A cohort folder with schema.yaml.")
]
Release = Annotated[
    Path, typer.Argument(metavar="RELEASE", help="A release folder, for example RUN/release.")
]
Governance = Annotated[Path | None, typer.Option(help="The governance form to comply with.")]
Engine = Annotated[Engines, typer.Option(help="Where it runs: on this machine, or on Spark.")]
Master = Annotated[
    str | None,
    typer.Option(help="Spark only: local[4], spark://host:7077, yarn, k8s://…", show_default=False),
]
Tables = Annotated[
    str | None,
    typer.Option(
        help="Spark only: a database with the tables observations and patients, instead of files."
    ),
]
Partitions = Annotated[
    int | None, typer.Option(min=1, help="Spark only: the number of partitions of the patients.")
]


def cohort_on(
    engine: Engines, cohort: Path, master: str | None, tables: str | None, partitions: int | None
) -> "Path | AbstractContextManager[Distributed]":
    """Return the folder, or its patients on Spark, which starts when they are opened."""
    if engine == Engines.local:
        require_local(master, tables, partitions)
        return cohort
    from longsynth.engines.spark import spark_cohort

    return spark_cohort(cohort, master=master or "local[*]", tables=tables, partitions=partitions)


def require_local(*spark_options: object) -> None:
    if any(option is not None for option in spark_options):
        raise Refused(
            Code.OPTIONS_CONFLICT,
            "--master, --tables and --partitions belong to Spark.",
            "Add --engine spark, or leave them out.",
        )


def require_new(path: Path) -> None:
    if path.exists():
        raise Refused(
            Code.OUTPUT_EXISTS,
            f"{path} already exists.",
            "Choose another --out, or remove it first.",
        )


class ByExample(TyperCommand):
    """Its epilog is an example, which `--help` and every usage error show."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # Typer's own exceptions moved between its releases: known by what they carry
            if isinstance(message := getattr(error, "message", None), str) and self.epilog:
                error.message = f"{message}\n{self.epilog}".lstrip()  # type: ignore[attr-defined]
            raise


class OneLineArguments(TyperGroup):
    """Refuses an argument that is not one printable line, before any message can repeat it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for argument in args:
            if problem := text_problem(argument):
                raise Refused(
                    Code.ARGUMENT_NOT_PRINTABLE,
                    f"the argument {shell(argument)} {problem}.",
                    "If it names a file or a folder, rename that first.",
                )
        return super().parse_args(ctx, args)


def command(
    app: typer.Typer, example: str, name: str | None = None, panel: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command with an example, which its help and its usage errors show."""
    epilog = f"For example: longsynth {example}"
    return app.command(name, cls=ByExample, epilog=epilog, rich_help_panel=panel)


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
