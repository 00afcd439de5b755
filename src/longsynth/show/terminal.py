"""Tables on the terminal: the ledger, constants, settings and what a check counted."""

from collections.abc import Collection

from rich.console import Console
from rich.table import Table

from longsynth.methods.method import PrivateMethod
from longsynth.privacy.budget import ACCOUNTINGS, epsilon_of
from longsynth.privacy.ledger import Ledger
from longsynth.reading.quality import Quality
from longsynth.release.statement import Attacker, delta_warning, natural, odds_in_words
from longsynth.schema.schema import Schema
from longsynth.system.text import cell

EIGHTHS = " ▏▎▍▌▋▊▉"
STYLES = {"red": "bold red", "amber": "yellow", "green": "green"}  # of a verdict


def show_ledger(
    console: Console, title: str, method: PrivateMethod, schema: Schema, ledger: Ledger
) -> None:
    """Print every line with its price and what its noise means for this number of patients."""
    budget = ledger.budget
    table = Table(title=cell(title), title_justify="left", show_footer=True, pad_edge=False)
    table.add_column("statistic", "total", overflow="fold")
    table.add_column(
        "numbers", f"{sum(e.statistic.dimension for e in ledger.entries):,}", justify="right"
    )
    wide = console.width >= 100
    if wide:
        table.add_column("sensitivity", justify="right")
        table.add_column("noise σ", justify="right")
    table.add_column("ρ", f"{float(ledger.spent):.6f}", justify="right")
    table.add_column(
        "share", f"{float(100 * sum(e.share for e in ledger.entries)):g} %", justify="right"
    )
    table.add_column(f"what the noise means for {ledger.patients:,} patients", overflow="fold")
    lines = method.lines(schema)
    for entry in ledger.entries:
        line, percent = natural(entry), 100 * float(entry.share)
        table.add_row(
            f"{cell(entry.statistic.name)}\n[dim]{cell(entry.statistic.meaning)}[/]",
            f"{entry.statistic.dimension:,}",
            *([f"{line['sensitivity']:.4g}", f"{line['sigma']:.4g}"] if wide else []),
            f"{line['rho']:.6f}",
            f"{percent:.3g} %" + (f"\n{bar(percent / 100, 6, '░')}" if wide else ""),
            cell(lines[entry.statistic.name].noise_meaning(entry, ledger.patients)),
        )
    console.print(table)
    if budget is None:
        return
    auc, detected = Attacker.against(ledger.spent).shown()
    under = ", ".join(f"{a} {epsilon_of(ledger.spent, budget.delta, a):.4g}" for a in ACCOUNTINGS)
    console.print(
        f"ε = {budget.epsilon:g} at δ = {budget.delta:g} with accounting '{budget.accounting}' "
        f"(ε of this noise under each accounting: {under})."
    )
    console.print(
        f"Limits for the strongest possible attacker on one patient: AUC {auc} (chance 0.5), "
        f"{detected} true alarms at 1 % false alarms, odds changed by a factor of "
        f"{odds_in_words(budget.epsilon)}, apart from δ."
    )
    if warning := delta_warning(budget, ledger.patients):
        console.print(f"[bold]Note:[/] {warning}")


def show_constants(console: Console, schema: Schema, by_hand: Collection[str]) -> None:
    """Print the public constants of the plan, and which of them were set by hand."""
    resolved = schema.resolved_constants.model_dump()
    shown = ", ".join(f"{name} {_short(value)}" for name, value in resolved.items())
    console.print(f"Public constants (set them under 'constants:' in the schema): {shown}.")
    if by_hand:
        names = ", ".join(by_hand)
        console.print(f"[bold]Set by hand[/], which the release states: {names}.")


def show_settings(console: Console, method: PrivateMethod, schema: Schema) -> None:
    """Print the settings that the method derives from public facts."""
    settings = method.settings_text(schema)
    if not settings:
        return
    table = Table(
        title=f"Settings of '{cell(method.name)}': public, they follow from the schema, N, ε and δ",
        title_justify="left",
        show_header=False,
        pad_edge=False,
    )
    table.add_column("setting", style="dim")
    table.add_column("value", overflow="fold")
    for name, value in settings.items():
        table.add_row(cell(name), cell(value))
    console.print(table)


def show_quality(console: Console, quality: Quality) -> None:
    """Print the verdict of a check and its findings, worst first. They are not protected."""
    table = Table(
        title="RAW FACTS about patients: do not share", title_justify="left", pad_edge=False
    )
    table.add_column("")
    table.add_column("where", overflow="fold")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("what was found, and what to change", overflow="fold")
    for finding in quality.findings:
        remedy = f"\n[dim]{cell(finding.remedy)}[/]" if finding.remedy else ""
        table.add_row(
            f"[{STYLES[finding.colour]}]{finding.colour}[/]",
            cell(finding.subject),
            f"{finding.percent:.1f} %",
            f"{cell(finding.sentence)}{remedy}",
        )
    console.print(table)
    counted = ", ".join(f"{count} {colour}" for colour, count in quality.colours.items())
    colour = quality.colour
    console.print(
        f"Verdict: [{STYLES[colour]}]{colour}[/] ({counted}) for {quality.patients:,} patients and "
        f"{quality.counts['rows']:,} rows."
    )


def stdout() -> Console:
    """A console on standard output, 120 columns wide where no terminal sets a width."""
    console = Console(emoji=False)
    return console if console.is_terminal else Console(width=120, highlight=False, emoji=False)


def bar(share: float, width: int = 10, rest: str = " ") -> str:
    """A share as text: `width` cells, filled from the left in eighths; above one it is full."""
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    whole, part = divmod(eighths, 8)
    return ("█" * whole + (EIGHTHS[part] if part else "")).ljust(width, rest)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
