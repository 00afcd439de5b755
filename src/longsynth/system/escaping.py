"""How text from outside is written so that it stays text: one function for each destination.

terminal   one line that a terminal prints and never obeys
lines      several lines of our own with such text in them
json_text  JSON on a terminal
cell       text in a table or message that rich prints, which has a markup of its own
markdown   text within a line of Markdown
html       text of an element or of an attribute; the dossier's templates do the same
figure     text in a chart by matplotlib, which reads formulas
shell      one word of a shell command
"""

import html as _html
import json
import os
import re
import shlex
from pathlib import Path

from longsynth.system.outside_text import is_printable

_SPECIAL = re.compile(
    r"[\\`*\[\]<>|#!&~$^{}]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # within a word it is no markup
    r"|:(?=//)|(?<=www)\."  # some renderers make links of bare addresses
)
_OPENS_A_BLOCK = re.compile(r"^(?=[-+](?:[-\s]|$)|=)|^(\d{1,9})(?=[.)](?:\s|$))")


def terminal(text: object) -> str:
    """What cannot be printed is spelled out, line breaks included."""
    return "".join(c if is_printable(c) else c.encode("unicode_escape").decode() for c in str(text))


def lines(text: str) -> str:
    return "\n".join(map(terminal, text.split("\n")))


def json_text(content: object) -> str:
    """Indented, letters as they are, no NaN, which JSON does not know."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    return "".join(c if c == "\n" or is_printable(c) else json.dumps(c)[1:-1] for c in text)


def cell(text: object) -> str:
    from rich.markup import escape

    return escape(terminal(text))


def markdown(text: object) -> str:
    """Text that Markdown shows as it stands, also at the start of a list item or a table cell."""
    plain = _SPECIAL.sub(r"\\\g<0>", " ".join(terminal(text).split()))
    return _OPENS_A_BLOCK.sub(r"\1\\", plain)


def html(text: object) -> str:
    return _html.escape(terminal(text))


def figure(text: object) -> str:
    return terminal(text).replace("$", r"\$")


def shell(word: object) -> str:
    """One word, whatever it holds. A path that begins with a dash does not become an option."""
    text = f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word)
    if all(map(is_printable, text)):
        return shlex.quote(text)
    return f"$'{''.join(c if c.isalnum() or c in ' ./_-' else _bytes(c) for c in text)}'"


def _bytes(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def as_typed(number: float) -> str:
    """Every digit of ε or δ: rounding one would state another promise."""
    return repr(float(number)).removesuffix(".0")
