"""What a piece of text from outside may be: one printable line of bounded length.

Schemas, forms, names and folders come from people whom the reader of a release may not trust. Their
text stands in statements, pages, terminals and commands. A line break in it could add a sentence of
its own there, and an invisible character could change what is seen. So both are refused wherever
text comes in. `escaping` then makes the rest literal wherever text goes out.
"""

import re
from typing import Annotated
from unicodedata import category

from pydantic import AfterValidator, Field, StringConstraints

NAME, UNIT, LEVEL, COLUMN, CODE = 100, 100, 200, 200, 500  # characters, at most
TITLE, MEANING, ANSWER = 200, 1000, 5000
MARKS = 4  # accents on one letter; a tower of them covers the lines above
_NAME = re.compile(rf"\w[\w .,@:+'-]{{0,{NAME - 1}}}")


def is_printable(character: str) -> bool:
    """Letters, digits, signs, accents and spaces of every script. Not printable are characters that
    control a terminal or the direction of text, line breaks, and those that have no meaning yet."""
    return character.isprintable() or category(character) == "Zs"


def text_problem(text: str) -> str | None:
    """Say why a text is not one printable line; None if it is one."""
    if text.splitlines()[1:] or text.endswith(tuple("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")):
        return "holds a line break: write it in one line"
    hidden = next((c for c in text if not is_printable(c)), None)
    if hidden is not None:
        return f"holds the character U+{ord(hidden):04X}, which cannot be printed: remove it"
    if re.search(f"M{{{MARKS + 1}}}", "".join(category(c)[0] for c in text)):
        return f"holds more than {MARKS} accents in a row: remove them"
    return None


def is_one_line(text: object, longest: int) -> bool:
    return isinstance(text, str) and len(text) <= longest and text_problem(text) is None


def is_name(text: object) -> bool:
    """A name of a person, a role or a dataset: letters, digits and few other signs."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def _checked(text: str) -> str:
    if found := text_problem(text):
        raise ValueError(found)
    return text


_ONE_LINE = AfterValidator(_checked)

# compared with what stands in the data: kept to the letter
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=NAME)]
Unit = Annotated[str, Field(max_length=UNIT), _ONE_LINE]
LevelText = Annotated[str, Field(min_length=1, max_length=LEVEL), _ONE_LINE]
ColumnName = Annotated[str, Field(max_length=COLUMN), _ONE_LINE]
Code = Annotated[str, Field(max_length=CODE), _ONE_LINE]

# for readers alone: blanks around it do not count, as YAML adds a line break to a folded text
_STRIPPED = StringConstraints(strip_whitespace=True)
Title = Annotated[str, _STRIPPED, Field(min_length=1, max_length=TITLE), _ONE_LINE]
Meaning = Annotated[str, _STRIPPED, Field(max_length=MEANING), _ONE_LINE]
Answer = Annotated[str, _STRIPPED, Field(min_length=1, max_length=ANSWER), _ONE_LINE]
