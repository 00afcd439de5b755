"""Text from outside: what is accepted, and how it is escaped for each place where it is shown.

Schemas, forms, names and folders come from people whom the reader of a release may not trust. Their
text appears in statements, pages, terminals and commands. A line break could add a sentence there,
and an invisible character could change what the reader sees. Both are refused wherever text comes
in: a text is one printable line of bounded length. The rest is made literal where it goes out:

terminal      one line for a terminal, without control characters
lines         the same for several lines of our own that quote such text
json_text     JSON on a terminal
cell          text in a table or message that rich prints, which has its own markup
markdown      text within a line of Markdown
figure        text in a chart by matplotlib, which reads formulas
html_table    a table for a notebook
shell         one word of a shell command
command_line  a whole longsynth command

The templates of HTML pages escape whatever fills them.
"""

import json
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated
from unicodedata import category

from pydantic import AfterValidator, Field, StringConstraints

NAME, UNIT, LEVEL, COLUMN, CODE = 100, 100, 200, 200, 500  # characters, at most
TITLE, MEANING, ANSWER = 200, 1000, 5000
MARKS = 4  # accents on one letter; more of them would cover the lines above
LONGEST_QUOTE = 200  # characters of outside text that a message repeats
_NAME = re.compile(rf"\w[\w .,@:+'-]{{0,{NAME - 1}}}")
_SPECIAL = re.compile(
    r"[\\`*\[\]<>|#!&~$^{}]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # within a word it is no markup
    r"|:(?=//)|(?<=www)\."  # some renderers turn bare addresses into links
)
_OPENS_A_BLOCK = re.compile(r"^(?=[-+](?:[-\s]|$)|=)|^(\d{1,9})(?=[.)](?:\s|$))")


def is_printable(character: str) -> bool:
    """Whether it is a letter, digit, sign, accent or space of any script. Characters that control a
    terminal or the direction of text, line breaks and unassigned characters are not printable."""
    return character.isprintable() or category(character) == "Zs"


def text_problem(text: str) -> str | None:
    """Say why a text is not one printable line, or return None if it is."""
    if text.splitlines()[1:] or text.endswith(tuple("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")):
        return "contains a line break: write it on one line"
    hidden = next((c for c in text if not is_printable(c)), None)
    if hidden is not None:
        return f"contains the character U+{ord(hidden):04X}, which cannot be printed: remove it"
    if re.search(f"M{{{MARKS + 1}}}", "".join(category(c)[0] for c in text)):
        return f"contains more than {MARKS} accents in a row: remove them"
    return None


def is_one_line(text: object, longest: int) -> bool:
    return isinstance(text, str) and len(text) <= longest and text_problem(text) is None


def is_name(text: object) -> bool:
    """Whether it can name a person, a role or a dataset: letters, digits and a few other signs."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def _checked(text: str) -> str:
    if problem := text_problem(text):
        raise ValueError(problem)
    return text


_ONE_LINE = AfterValidator(_checked)

# compared with the data, so kept character by character
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=NAME)]
Unit = Annotated[str, Field(max_length=UNIT), _ONE_LINE]
LevelText = Annotated[str, Field(min_length=1, max_length=LEVEL), _ONE_LINE]
ColumnName = Annotated[str, Field(max_length=COLUMN), _ONE_LINE]
CodeText = Annotated[str, Field(max_length=CODE), _ONE_LINE]

# for readers only: surrounding blanks do not count, as YAML ends a folded text with a line break
_STRIPPED = StringConstraints(strip_whitespace=True)
Title = Annotated[str, _STRIPPED, Field(min_length=1, max_length=TITLE), _ONE_LINE]
Meaning = Annotated[str, _STRIPPED, Field(max_length=MEANING), _ONE_LINE]
Answer = Annotated[str, _STRIPPED, Field(min_length=1, max_length=ANSWER), _ONE_LINE]


def terminal(text: object) -> str:
    """Return one line; unprintable characters and line breaks appear as escapes."""
    return "".join(c if is_printable(c) else c.encode("unicode_escape").decode() for c in str(text))


def shortened(text: str, longest: int = LONGEST_QUOTE) -> str:
    """Return a bounded part of a text for a message on a terminal."""
    line = terminal(text)
    return line if len(line) <= longest else f"{line[:longest]}…"


def lines(text: str) -> str:
    return "\n".join(map(terminal, text.split("\n")))


def json_text(content: object) -> str:
    """Return indented JSON with letters as they are and without NaN, which JSON does not allow."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    return "".join(c if c == "\n" or is_printable(c) else json.dumps(c)[1:-1] for c in text)


def cell(text: object) -> str:
    from rich.markup import escape

    return escape(terminal(text))


def markdown(text: object) -> str:
    """Return text that Markdown shows literally, also at the start of a list item or table cell."""
    escaped = _SPECIAL.sub(r"\\\g<0>", " ".join(terminal(text).split()))
    return _OPENS_A_BLOCK.sub(r"\1\\", escaped)


def markdown_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    head = list(header)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def figure(text: object) -> str:
    return terminal(text).replace("$", r"\$")


def shell(word: object) -> str:
    """Return exactly one word. A path that begins with a dash does not become an option."""
    text = f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word)
    if all(map(is_printable, text)):
        return shlex.quote(text)
    return f"$'{''.join(c if c.isalnum() or c in ' ./_-' else _bytes(c) for c in text)}'"


def _bytes(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def command_line(*words: object) -> str:
    """Return a longsynth command that can be typed as shown, e.g. longsynth verify 'my folder'."""
    return " ".join(["longsynth", *map(shell, words)])


def as_typed(number: float) -> str:
    """Return every digit of ε or δ: a rounded number would state another guarantee."""
    return repr(float(number)).removesuffix(".0")


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a caption, for `_repr_html_`. Text is escaped."""
    from markupsafe import Markup, escape

    def line(tag: str, cells: Sequence[object]) -> Markup:
        parts = (Markup(f"<{tag}>{{}}</{tag}>").format(escape(str(cell))) for cell in cells)
        return Markup("<tr>{}</tr>").format(Markup().join(parts))

    lines = [line("th", head), *(line("td", row) for row in rows)]
    return Markup("<table><caption>{}</caption>{}</table>").format(caption, Markup().join(lines))
