"""`longsynth bench`: the paper's study, and two comparisons for development."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from longsynth.commands.options import command, say
from longsynth.system.errors import Code, Note, Refused, is_interrupt
from longsynth.system.folders import not_written

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Run studies on simulated patients and write tables, figures and reports.",
)

Number = TypeVar("Number", int, float)
Out = Annotated[Path, typer.Option("--out", help="A new folder, or one to continue.")]
Jobs = Annotated[int, typer.Option(min=1, max=64, help="Processes; each uses one core.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a folder; keep finished cells.")]


@command(app, "bench paper --out study")
def paper(
    out: Out,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds of the populations, for instance 11,22,33,44,55.")
    ] = None,
    jobs: Jobs = 2,
    resume: Resume = False,
    check_paper: Annotated[
        Path | None,
        typer.Option(
            "--check-paper", help="Compile the paper's own paper.tex with this study's files."
        ),
    ] = None,
) -> None:
    """Run the paper's study and write all its tables, its figures and a checked report."""
    from longsynth_lab.paper.latex_build import PaperSource, build_paper
    from longsynth_lab.paper.section_v import SEEDS
    from longsynth_lab.studies import run_paper

    chosen = _numbers(seeds, "--seeds", int) if seeds else SEEDS
    source = PaperSource.read(check_paper) if check_paper else None
    with _resumable(out):
        found = run_paper(out, seeds=chosen, jobs=jobs, resume=resume)
    for mismatch in found.mismatches:
        say(f"MISMATCH {mismatch}", err=True)
    say(
        f"Wrote {out}. Recomputed {found.checked:,} published numbers: "
        f"{len(found.mismatches)} mismatches.\nNext: read {out / 'REPORT.md'}. Plots and their "
        f"data are in {out / 'figures'}, tables in {out / 'tables'}."
    )
    if source:
        say(str(build_paper(out, source)))
    raise typer.Exit(0 if found.valid else 1)


@command(app, "bench population --methods dp-markov,trust --out population")
def population(
    out: Out,
    methods: Annotated[
        str | None, typer.Option(help="Methods, for instance dp-markov,trust; default: all.")
    ] = None,
    epsilon: Annotated[str, typer.Option(help="Budgets, for instance 1,4,12.")] = "12",
    seeds: Annotated[str | None, typer.Option(help="Seeds; default: 20 development seeds.")] = None,
    train_patients: Annotated[int, typer.Option(min=20, help="Training patients.")] = 504,
    jobs: Jobs = 2,
    resume: Resume = False,
) -> None:
    """Compare methods on 20,000 held-out patients and 20 development seeds."""
    from longsynth.methods import DEFAULT
    from longsynth_lab.experiments import METHODS, STEERING_SEEDS
    from longsynth_lab.studies import run_population

    chosen = _numbers(seeds, "--seeds", int) if seeds else STEERING_SEEDS
    with _resumable(out):
        text = run_population(
            out,
            methods=tuple(methods.split(",")) if methods else (*METHODS, DEFAULT),
            epsilons=_numbers(epsilon, "--epsilon", float),
            seeds=chosen,
            train_patients=train_patients,
            jobs=jobs,
            resume=resume,
        )
    say(text.partition("## Groups")[0].rstrip())
    say(f"\nWrote {out / 'POPULATION.md'} with intervals, and {out / 'results.parquet'}.")


@command(app, "bench membership --out membership")
def membership(
    out: Out,
    methods: Annotated[
        str, typer.Option(help="Methods to attack.")
    ] = "bootstrap,dp-markov,dp-score,trust,copula-score",
    epsilon: Annotated[str, typer.Option(help="Budgets, for instance 1,4,12.")] = "1,4,12",
    seeds: Annotated[str | None, typer.Option(help="Seeds; default: 20 development seeds.")] = None,
    train_patients: Annotated[int, typer.Option(min=20, help="Training patients.")] = 504,
    jobs: Jobs = 2,
    resume: Resume = False,
) -> None:
    """Run a fair membership game over 20 seeds and compare with what each budget allows."""
    from longsynth_lab.experiments import STEERING_SEEDS
    from longsynth_lab.studies import run_membership

    with _resumable(out):
        text = run_membership(
            out,
            methods=tuple(methods.split(",")),
            epsilons=_numbers(epsilon, "--epsilon", float),
            seeds=_numbers(seeds, "--seeds", int) if seeds else STEERING_SEEDS,
            train_patients=train_patients,
            jobs=jobs,
            resume=resume,
        )
    say(text[text.index("## Conclusions") :].rstrip())
    say(f"\nWrote {out / 'MEMBERSHIP.md'} and {out / 'results.parquet'}.")


@contextmanager
def _resumable(out: Path) -> Iterator[None]:
    """After an interrupt or a full disk, say how to continue."""
    kept = Note(f"Finished cells are kept in {out}: go on with --resume.")
    try:
        yield
    except OSError as error:
        error.add_note(kept)
        raise not_written(out, error) from None
    except BaseException as error:
        if is_interrupt(error) and out.is_dir():
            error.add_note(kept)
        raise


def _numbers(text: str, option: str, kind: Callable[[str], Number]) -> list[Number]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise Refused(
            Code.OPTION_UNUSABLE,
            f"{option} takes numbers, not {text!r}.",
            "Separate them by commas.",
        ) from None
