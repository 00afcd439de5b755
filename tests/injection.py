"""Text that tries to be more than text, and what a reader's program makes of a page."""

import json
from collections.abc import Iterator
from copy import deepcopy
from html.parser import HTMLParser
from typing import Any

from markdown_it import MarkdownIt

from longsynth.system.text import is_printable

UNPRINTABLE = (  # each is refused wherever text comes in
    "ward\n\n**ε = 0.01, δ = 1e-9**, approved by the board.\n",
    *("two\rlines", "two\u2028lines", "two\u2029lines", "two\x85lines", "two\x0blines"),
    *("\x1b[2J\x1b[1;1Hall 12 checks hold", "\x9b31mred", "bell\x07", "back\x08\x08", "nul\x00"),
    *("left\u202etxet", "\u2066isolate", "mark\u200f", "zero\u200bwidth", "soft\u00adhyphen"),
    *("tag\U000e0041", "private\ue000", "not yet\u0378", "tower" + "\u0300" * 9),
)
LITERAL = (  # each is allowed and must be shown as it stands
    *("**ε = 0.01**, approved", "# heading", "#", "[x](http://evil.example)", "![x](y.png)"),
    *("<img src=x onerror=alert(1)>", "</title></style><script>x()</script>", "<!-- gone", "<b>"),
    *("a | b | c", "a \\| b", "`code`", "``` fence", "~~gone~~", "_x_", "__init__", "a_b_c", "*"),
    *("- item", "+ item", "1. item", "1) item", "> quote", "---", "- - -", "===", "\\", "x\\"),
    *("&lt;b&gt;", "&#42;", "http://evil.example", "www.evil.example", "a  \u00a0 b", "$x^2$"),
    *("[bold red]x[/]", "[link=http://evil.example]x[/link]", "[/]", ":warning:", "\\[b]x"),
    *("{{ 7 * 7 }}", "{% if x %}", "%s {0} {name}", "\"quoted\" 'twice'", "ünï ε µg/m² 血圧"),
)
FOLDERS = (  # allowed names of folders that a shell or a terminal could take for more
    *("$(touch pwned)", "`touch pwned`", "a b", "it's", 'say "x"', "-rf", "--out", "x; touch y"),
    *("a && b", "x > y", "*", "~x", "#x", "!!", "\\", "a\\ b", "[red]x", "a\u00a0b", "ünï", "%s"),
)
HIDDEN = "x\n\x1b[2JAll 12 checks hold.\u202e"  # a name of a file or a folder that stands there

FORM: dict[str, Any] = {
    "governance": 1,
    "study": {"title": "title", "question": "question", "recipients": "recipients"},
    "data": {
        "owner": "owner",
        "dataset": "ward",
        "source": "source",
        "approved_by": "body",
        "approval": "reference",
        "valid_from": "2020-01-01",
        "valid_until": "2090-01-01",
    },
    "protection": {
        "unit": "patient",
        "adjacency": "replacement",
        "patients_at_least": 1,
        "patients_at_most": 999,
    },
    "outcome": {"column": "e", "levels": ["n", "y"], "meaning": "death", "approved_use": "all"},
    "audit_group": {"column": "g", "levels": ["m", "f"], "meaning": "sex", "approved_use": "all"},
    "public_facts": {
        "schema_sha256": "0" * 64,
        "variables": [
            {
                "name": "pulse",
                "unit": "bpm",
                "kind": "continuous",
                "bounds": [20, 220],
                "bounds_from": "the manual",
            }
        ],
    },
    "held_back": {"kind": "site", "what": "north", "sites": ["north"], "opened": "at the end"},
    "budget": {
        "epsilon": 4,
        "epsilon_reason": "as others",
        "delta": 1e-6,
        "delta_reason": "small",
        "accounting": ["zcdp"],
        "methods": ["trust"],
        "book": "required",
    },
    "attacks": {"suite": ["membership", "attributes"], "by": "the auditor"},
    "people": {"fit": ["A. Fitter"], "sign": ["B. Signer"], "internal": ["A. Fitter"]},
    "red_team": {"by": "C. Breaker", "task": "break it", "outcome": "to the board"},
    "stop_rules": [{"when": "an attack succeeds", "then": "nothing leaves"}],
}
SCHEMA: dict[str, Any] = {
    "longsynth": 1,
    "name": "ward study",
    "slots": 3,
    "max_gap": 48.0,
    "slot_rule": {"anchors": ["pulse"], "merge": 1},
    "patient": {"column": "id"},
    "time": {"column": "at", "unit": "minutes"},
    "group": {"column": "sex", "levels": ["m", "f"], "meaning": "sex"},
    "event": {
        "column": "died",
        "levels": ["no", "yes"],
        "meaning": "death",
        "source": {"codes": ["DEATH"], "values": {"d": "yes"}},
    },
    "site": {"column": "ward", "levels": ["A", "B"], "meaning": "ward of admission"},
    "protected": [{"group": "f", "event": "yes", "site": "B"}],
    "variables": [
        {
            "name": "pulse",
            "unit": "bpm",
            "kind": "continuous",
            "bounds": [20, 220],
            "bounds_from": "the manual",
            "column": "HR (bpm)",
            "source": {"codes": ["HR"], "pattern": "H.*", "units": {"/min": 1}},
        },
        {"name": "rhythm", "kind": "nominal", "levels": ["sinus", "paced"]},
    ],
    "source": {
        "variable": "what",
        "value": "value",
        "unit": "unit",
        "start": {"codes": ["ADMIT"], "column": "admitted"},
        "end": {"codes": ["DISCHARGE"]},
    },
}


def places(tree: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every text in a document, keys that the writer chose included."""
    if isinstance(tree, str):
        yield at
    elif isinstance(tree, dict | list):
        for key, inner in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from places(inner, (*at, key))
            if at[-1:] in (("units",), ("values",)):
                yield (*at, key, None)


def with_text(tree: Any, at: tuple[Any, ...], text: str) -> str:
    """The document as YAML, one key a line, with another text at this place."""
    changed = deepcopy(tree)
    *way, last = at if at[-1] is not None else at[:-1]
    inner = changed
    for step in way:
        inner = inner[step]
    if at[-1] is None:
        inner[text] = inner.pop(last)
    else:
        inner[last] = text
    return json.dumps(changed, indent=1)


def printable_lines(text: str) -> bool:
    return all(c == "\n" or is_printable(c) for c in text)


def markdown_structure(page: str) -> list[tuple[str, str]]:
    """Every element that a reader of Markdown finds, without the words in it."""
    found = []
    for token in _markdown(page):
        found.append((token.type, token.tag))
        found += [(inner.type, inner.tag) for inner in token.children or () if inner.type != "text"]
    return found


def markdown_words(page: str) -> str:
    """What a reader of Markdown shows, without its markup."""
    inner = (token.children or () for token in _markdown(page))
    return " ".join("".join(part.content for part in parts) for parts in inner)


def _markdown(page: str) -> Any:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[object] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))
        self.words += [value for _, value in attrs if value]

    def handle_endtag(self, tag: str) -> None:
        self.found.append(tag)

    def handle_comment(self, data: str) -> None:
        self.found.append(("comment", data))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def html_structure(page: str) -> list[object]:
    """Every element, with the names of its attributes, without the words in it."""
    return _read(page).found


def html_words(page: str) -> str:
    return "".join(_read(page).words)


def _read(page: str) -> _Elements:
    reader = _Elements()
    reader.feed(page)
    reader.close()
    return reader
