"""`longsynth budget`: the book that adds up what all fits of the same patients cost."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longsynth.commands.options import (
    BUDGET_OPTIONS,
    DEFAULT_ACCOUNTINGS,
    Accounting,
    Json,
    command,
    print_json,
    say,
    show_findings,
)
from longsynth.system.text import cell, command_line

if TYPE_CHECKING:
    from rich.table import Table

    from longsynth.govern.book import BookState
    from longsynth.govern.book.entries import Balance, DatasetAccount

app = typer.Typer(
    no_args_is_help=True,
    help="Keep a budget book: limits on what all fits of the same patients may cost together.",
)


BookFile = Annotated[Path, typer.Argument(metavar="BOOK", help="The file that holds the book.")]


@command(app, "budget init ward.book --owner 'the clinic'")
def init(
    book: BookFile,
    owner: Annotated[str | None, typer.Option(help="Whose data the book is about.")] = None,
) -> None:
    """Create a book: one file per data owner, kept on a local disk."""
    from longsynth.govern.book import init_book

    opened = init_book(book, owner)
    say(
        f"Wrote {book}. Head: {opened.read().head}\n"
        f"Next: {command_line('budget', 'grant', book, '--dataset', 'ID', *BUDGET_OPTIONS)}"
    )


@command(app, "budget grant ward.book --dataset ward --epsilon 8 --delta 1e-6")
def grant(
    book: BookFile,
    dataset: Annotated[str, typer.Option(help="The owner's name for these patients.")],
    epsilon: Annotated[float, typer.Option(help="ε of all fits together; it is final.")],
    delta: Annotated[float, typer.Option(help="δ of all fits together.")],
    accounting: Accounting = DEFAULT_ACCOUNTINGS,
    parent: Annotated[
        str | None,
        typer.Option(help="A dataset that includes these patients; it pays too."),
    ] = None,
) -> None:
    """Set the cap of a dataset before its first fit. It can never be changed."""
    from longsynth.govern.book import Book
    from longsynth.privacy.budget import Budget

    cap = Budget(epsilon, delta, accounting.value)
    receipt = Book(book).grant(dataset, cap, parent)
    above = [f"'{a.dataset}'" for a in receipt.accounts[1:]]
    say(
        f"Entry {receipt.entry}: all fits of '{dataset}' together may cost ρ = {float(cap.rho):.6g}"
        f"{', also charged to ' + ', '.join(above) if above else ''}.\nHead: {receipt.head}\n"
        "Next: "
        + command_line(
            *("fit", "COHORT", "--book", book, "--dataset", dataset),
            *("--epsilon", "E", "--delta", "D", "--out", "RUN"),
        )
    )


@command(app, "budget show ward.book")
def show(
    book: BookFile,
    json: Json = False,
) -> None:
    """Show every cap, what is spent and left of it, every entry, and the head to write down."""
    from longsynth.govern.book import Book

    state = Book(book).read()
    if json:
        print_json(_as_json(state))
        return
    from longsynth.show.terminal import stdout

    console, opened = stdout(), state.balance.opened
    owner = f" of {opened.owner}" if opened and opened.owner else ""
    say(f"Budget book {book}{owner}")
    console.print(_datasets(state.balance))
    console.print(_entries(state))
    say(  # not through the console, which would break the head on a narrow screen
        "The guarantee for all fits together is the cap, not the amount spent so far.\n"
        f"Head after entry {len(state.events)}: {state.head}"
    )


@command(app, "budget verify ward.book")
def verify(
    book: BookFile,
    head: Annotated[
        list[str] | None,
        typer.Option(help="A head you wrote down elsewhere; it must occur."),
    ] = None,
    json: Json = False,
) -> None:
    """Check a book from its first entry. Exit code 0 if every check passes, else 1.

    A book that was reset to an earlier state can only be detected with --head.
    """
    from longsynth.govern.book import Book

    findings = Book(book).verify(head or [])
    show_findings(
        findings,
        json=json,
        after="Let someone who cannot write to the book write down its head, and give that with "
        "--head next time.",
        failing="do not charge to this book.",
    )


def _datasets(balance: "Balance") -> "Table":
    from rich.table import Table

    from longsynth.release.statement import rounded_up
    from longsynth.show.terminal import bar
    from longsynth.system.text import as_typed

    table = Table(pad_edge=False)
    table.add_column("dataset", overflow="fold")
    table.add_column("cap", overflow="fold")
    for column in ("fits", "ρ cap", "ρ spent", "ρ left", "spent, as ε"):
        table.add_column(column, justify="right", overflow="fold")
    table.add_column("of the cap", no_wrap=True)
    for account, depth in _as_a_tree(balance):
        cap = account.grant.cap
        table.add_row(
            f"{'  ' * (depth - 1)}{'└ ' if depth else ''}{cell(account.grant.dataset)}",
            f"ε {as_typed(cap.epsilon)}, δ {as_typed(cap.delta)}, {cap.accounting}",
            f"{account.fits:,}",
            *(f"{float(r):.6g}" for r in (account.grant.rho, account.spent, account.left)),
            rounded_up(_spent_epsilon(account)),
            bar(float(account.spent / account.grant.rho)),
        )
    return table


def _entries(state: "BookState") -> "Table":
    from rich.table import Table

    from longsynth.govern.book.entries import event_json
    from longsynth.system.text import as_typed

    table = Table(pad_edge=False)
    table.add_column("no.", justify="right", no_wrap=True)
    for column in ("day", "entry", "dataset", "method"):
        table.add_column(column, overflow="fold")
    for column in ("patients", "ε", "δ", "ρ"):
        table.add_column(column, justify="right", overflow="fold")
    for number, event in enumerate(state.events, 1):
        facts = event_json(event)
        rho = facts.get("rho")
        table.add_row(
            str(number),
            *(cell(facts.get(key) or "") for key in ("day", "event", "dataset", "method")),
            f"{facts['patients']:,}" if facts.get("patients") else "",
            *(as_typed(facts[key]) if key in facts else "" for key in ("epsilon", "delta")),
            f"{float(Fraction(rho)):.6g}" if rho else "",
        )
    return table


def _as_a_tree(balance: "Balance") -> "list[tuple[DatasetAccount, int]]":
    """Return each dataset below its parent, in the order in which they were granted."""
    paths = {
        name: [s.grant.dataset for s in reversed(balance.lineage(name))]
        for name in balance.accounts
    }
    order = {name: place for place, name in enumerate(paths)}
    ranked = sorted(paths, key=lambda name: [order[step] for step in paths[name]])
    return [(balance.accounts[name], len(paths[name]) - 1) for name in ranked]


def _spent_epsilon(account: "DatasetAccount") -> float:
    from longsynth.privacy.budget import epsilon_of

    cap = account.grant.cap
    return epsilon_of(account.spent, cap.delta, cap.accounting) if account.spent else 0.0


def _as_json(state: "BookState") -> dict[str, Any]:
    from longsynth.govern.book.entries import FORMAT, event_json

    datasets = [
        {
            "dataset": account.grant.dataset,
            "parent": account.grant.parent,
            "epsilon": account.grant.cap.epsilon,
            "delta": account.grant.cap.delta,
            "accounting": account.grant.cap.accounting,
            "fits": account.fits,
            "cap_rho": str(account.grant.rho),
            "spent_rho": str(account.spent),
            "left_rho": str(account.left),
            "spent_epsilon": _spent_epsilon(account),
        }
        for account in state.balance.accounts.values()
    ]
    entries = [
        {"number": number, **event_json(event), "hash": stated}
        for number, (event, stated) in enumerate(zip(state.events, state.hashes, strict=True), 1)
    ]
    owner = state.balance.opened.owner if state.balance.opened else None
    return {
        "format": FORMAT,
        "owner": owner,
        "head": state.head,
        "datasets": datasets,
        "entries": entries,
    }
