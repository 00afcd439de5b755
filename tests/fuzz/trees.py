"""Damage to documents: JSON and YAML that parse, and say something that nobody expects."""

import json
from copy import deepcopy
from typing import Any

from numpy.random import Generator

from fuzz.mutation import one_of, token
from injection import LITERAL, UNPRINTABLE

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -0.0, 1, -1, 2, 0.5, 1e308, -1e308, 5e-324, 1e-320),
    *(float("nan"), float("inf"), float("-inf"), 2**31, 2**53, 2**63 - 1, 2**63, -(2**63) - 1),
    *(2**64, 10**30, 10**400, -(10**4000)),
    *(
        "",
        " ",
        "0",
        "1",
        "nan",
        "inf",
        "1e5",
        "a",
        "x" * 5000,
        "\x00",
        "\x1b[31m",
        "\u2028",
        "\u202e",
    ),
    *(
        "\ud800",
        "é",
        "北京",
        "../../etc/passwd",
        "{}",
        "%s%n",
        "[bold]x[/]",
        "a\nb",
        "١٢",
        "1/0",
        "7/0",
    ),
    *(
        [],
        {},
        [[]],
        {"": {}},
        [None],
        [0] * 3000,
        {str(i): i for i in range(300)},
        {"a": [{"b": {}}]},
    ),
    *(*LITERAL[::4], *UNPRINTABLE[::4]),
)
NESTED = {"list": ("[", "]"), "map": ('{"a":', "}")}


def altered(tree: Any, rng: Generator, *, most: int = 3) -> Any:
    """Return a copy with one to `most` places changed."""
    tree = deepcopy(tree)
    for _ in range(int(rng.integers(1, most + 1))):
        tree = _altered(tree, rng)
    return tree


def _altered(tree: Any, rng: Generator) -> Any:
    """Go down a random path and change what stands there."""
    if isinstance(tree, dict | list) and tree and rng.random() < 0.85:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        key = one_of(rng, keys)
        action = rng.random()
        if action < 0.08:
            del tree[key]
        elif action < 0.14 and isinstance(tree, dict):
            tree[_word(rng)] = tree.pop(key)
        elif action < 0.2 and isinstance(tree, list):
            tree.insert(key, deepcopy(tree[key]))
        else:
            tree[key] = _altered(tree[key], rng)
        return tree
    action = rng.random()
    if action < 0.15:
        return [tree]
    if action < 0.25:
        return {_word(rng): tree}
    if action < 0.35 and isinstance(tree, int | float) and -1e300 < tree < 1e300:
        return tree * one_of(rng, (-1, 0, 2, 10, 0.1, 1e6)) + one_of(rng, (-1, 0, 1, 0.5))
    if action < 0.4:
        return repr(tree)[:1000] if not isinstance(tree, int) else "7"
    return deepcopy(one_of(rng, ODD))


def _word(rng: Generator) -> str:
    return str(one_of(rng, ("", "a", "A", "longsynth", "é", "\x00", "x" * 300, "__class__", "1")))


def json_text(tree: Any, rng: Generator) -> bytes:
    """Write a tree as JSON, sometimes with what a strict reader would not take."""
    text = json.dumps(tree, indent=one_of(rng, (None, 2)), ensure_ascii=bool(rng.random() < 0.5))
    action = rng.random()
    if action < 0.05:
        start, end = NESTED[one_of(rng, ("list", "map"))]
        deep = int(10 ** rng.uniform(1, 5))
        inner = start * deep + "0" + end * (deep if rng.random() < 0.5 else 0)
        text = _with_value(text, inner, rng)
    elif action < 0.1:
        text = _with_value(text, one_of(rng, ("NaN", "Infinity", "1e999", "-", "9" * 5000)), rng)
    elif action < 0.15 and text.startswith("{") and len(text) > 2:
        name = one_of(rng, list(tree)) if isinstance(tree, dict) and tree else "a"
        text = "{" + json.dumps(name) + ": 1, " + text[1:]  # a name twice
    elif action < 0.2:
        at = int(rng.integers(len(text) + 1))
        text = text[:at] + token(rng).decode("latin-1") + text[at:]
    encoding = one_of(rng, ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"))
    return text.encode(encoding, errors="surrogatepass" if encoding == "utf-16" else "replace")


def _with_value(text: str, value: str, rng: Generator) -> str:
    """Put a value in the place of one after a colon."""
    places = [i + 1 for i, c in enumerate(text) if c == ":"]
    if not places:
        return value
    at = one_of(rng, places)
    end = min((i for i in (text.find(c, at) for c in ",}\n") if i >= 0), default=len(text))
    return text[:at] + value + text[end:]
