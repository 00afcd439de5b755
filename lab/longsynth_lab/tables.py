"""Tables in LaTeX and Markdown from one description, and the format of numbers in them."""

import re
from dataclasses import dataclass

from longsynth_lab.statistics import Summary

_LATEX = {
    "±": r"$\pm$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "→": r"$\rightarrow$",
    "−": r"$-$",
    "–": "--",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "#": r"\#",
}
NEGATIVE = re.compile(r"(?<![\w.])-(?=\d)")  # a hyphen that is a minus
TEXT_WIDTH = 0.56  # of a line, for a column of sentences


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as shown; a row whose first cell is in `strong` is bold."""

    name: str  # main, for tab:main
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    strong: tuple[str, ...] = ()
    rule_before: str = ""  # a line above the row that starts with this
    text: bool = False  # the last column holds sentences, not numbers: they are broken into lines


def markdown(table: Table) -> str:
    lines = [table.caption, "", *_markdown_rows(table)]
    return "\n".join(lines) + "\n"


def markdown_body(table: Table) -> str:
    return "\n".join(_markdown_rows(table))


def latex(table: Table) -> str:
    """Return a `table` environment. It needs booktabs, and array if a column contains text."""
    wide = len(table.head) > 5
    kind = "table*" if wide else "table"
    columns = "l" + "r" * (len(table.head) - 1)
    if table.text:
        columns = rf"{columns[:-1]}>{{\raggedright\arraybackslash}}p{{{TEXT_WIDTH}\linewidth}}"
    lines = [
        rf"\begin{{{kind}}}[t]",
        rf"\caption{{{_escaped(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\centering\scriptsize" if wide else r"\centering\footnotesize",
        rf"\begin{{tabular}}{{{columns}}}\toprule",
        " & ".join(_escaped(cell) for cell in table.head) + r" \\ \midrule",
    ]
    for row in table.rows:
        if row[0] == table.rule_before:
            lines.append(r"\midrule")
        cells = [_escaped(cell) for cell in row]
        if row[0] in table.strong:
            cells[0] = rf"\textbf{{{cells[0]}}}"
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule\end{tabular}", rf"\end{{{kind}}}"]) + "\n"


def _markdown_rows(table: Table) -> list[str]:
    alone = ["---", *["---" if table.text else "---:"] * (len(table.head) - 1)]
    lines = [_line(table.head), _line(alone)]
    for row in table.rows:
        first = f"**{row[0]}**" if row[0] in table.strong else row[0]
        lines.append(_line((first, *row[1:])))
    return lines


def _line(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _escaped(text: str) -> str:
    plain = NEGATIVE.sub("−", text)
    return "".join(_LATEX.get(character, character) for character in plain)


def number(value: float, digits: int = 3) -> str:
    return "–" if value != value else f"{value:.{digits}f}"


def spread(found: Summary, digits: int = 3) -> str:
    if found.seeds < 2:
        return number(found.mean, digits)
    return f"{found.mean:.{digits}f} ± {found.sd:.{digits}f}"


def interval(found: Summary, digits: int = 3, sign: str = "") -> str:
    if found.seeds < 2:
        return "–"
    return f"{found.lower:{sign}.{digits}f} to {found.upper:{sign}.{digits}f}"


def with_interval(found: Summary, sign: str = "", digits: int = 3) -> str:
    if found.seeds < 2:
        return number(found.mean, digits)
    ends = f"{found.lower:{sign}.{digits}f} to {found.upper:{sign}.{digits}f}"
    return f"{found.mean:{sign}.{digits}f} ({ends})"
