"""Malformed schema.yaml: tags, aliases, nesting, keys twice, odd numbers and odd letters."""

import json
from pathlib import Path
from typing import Any

import yaml
from numpy.random import Generator

from fuzz.mutation import mutated, one_of
from fuzz.trees import altered

FULL: dict[str, Any] = {
    "longsynth": 1,
    "name": "ward study",
    "slots": 3,
    "max_gap": 48.0,
    "patient": {"column": "id"},
    "time": {"column": "at", "unit": "minutes"},
    "group": {"column": "sex", "levels": ["m", "f"], "meaning": "sex"},
    "event": {"column": "died", "levels": ["no", "yes"]},
    "site": {"column": "ward", "levels": ["A", "B", "1"]},
    "protected": [{"group": "f", "event": "yes"}, {"site": "B"}],
    "variables": [
        {
            "name": "pulse",
            "unit": "bpm",
            "kind": "continuous",
            "bounds": [20, 220],
            "bounds_from": "a monitor",
            "centre": 80,
            "scale": 20,
        },
        {
            "name": "crp",
            "kind": "continuous",
            "bounds": [0.1, 500],
            "bounds_from": "a laboratory",
            "transform": "log",
            "column": "CRP mg/l",
        },
        {"name": "dose", "kind": "ordinal", "bounds": [0, 4], "bounds_from": "the scale"},
        {"name": "oxygen", "kind": "binary"},
    ],
    "constants": {
        "clip_radius": 2.5,
        "grid_bits": 12,
        "bandwidth": 2,
        "covariance": "banded",
        "ridge": 0.01,
        "eigen_floor": 0.001,
        "eigen_cap": 9.0,
        "event_floor": 0.02,
        "missing_min": 0.01,
        "missing_max": 0.95,
        "shrinkage": 0.5,
        "steps": 20,
        "release": "separate",
        "condition_gram": "derived",
        "gram_sensitivity": "tight",
        "second_moment": "band",
        "missing_values": "midpoint",
        "mask_coding": "centred",
        "strata_draw": "even",
        "marginals_by": "event",
        "encoding": "bounds",
    },
}
TEXT = yaml.safe_dump(FULL, sort_keys=False)
LINES = (  # to stand anywhere in the text
    *("a: &a [x]\nb: *a", "<<: {slots: 3}", "? [a, b]\n: 1", "? {a: b}\n: 1", "? !!str [a]\n: 1"),
    *(
        "slots: !!int ''",
        "slots: !!int '+'",
        "slots: !!float ''",
        "slots: !!int '0b'",
        "name: !!x y",
    ),
    *("name: !!binary é", "name: !!binary aGk=", "site: !!set {a, b}", "site: !!omap [a: 1]"),
    *("site: !!pairs [a: 1]", "name: !!timestamp x", "name: !!bool x", "name: !!null x"),
    *("name: !!python/object/apply:os.getcwd []", "name: !!python/name:os.system ''"),
    *("name: =", "=: 1", "name: <<", "~: 1", "1: 1", "1.5: 1", "2020-01-01: 1", "yes: 1", "'': 1"),
    *("slots: 0o17", "slots: 1_000", "slots: 12:30", "slots: .nan", "slots: -.inf", "slots: 1e3"),
    *("max_gap: 1e400", "max_gap: 1e-400", "max_gap: !!float 1", "slots: 3.0", "slots: '3'"),
    *(
        "%YAML 9.9",
        "%TAG ! tag:x,2000:",
        "---",
        "...",
        "--- |",
        "# ",
        "name: |\n  a\n  b",
        "name: >-\n x",
    ),
    *(
        'name: "\\ud800"',
        'name: "\\U0010FFFF"',
        'name: "\\x00"',
        'name: "\\x1b[2J"',
        "name: \u2028",
    ),
    *("name: \x85", "name: \ufeff", "name: \u202e", "name: '[bold]x[/]'", "name: \t", "name: @x"),
    *("slots: " + "9" * 300, "slots: " + "9" * 5000, "name: " + "x" * 90_000, "x: {" * 30),
)


def any_schema(folder: Path, rng: Generator) -> None:
    (folder / "schema.yaml").write_bytes(schema_bytes(rng))


def schema_bytes(rng: Generator) -> bytes:
    return yaml_bytes(TEXT, rng)


def yaml_bytes(text: str, rng: Generator) -> bytes:
    """Return a document like this one that is wrong somewhere, or everywhere."""
    action = rng.random()
    if action < 0.4:
        return _written(altered(_parsed(text), rng), rng)
    if action < 0.6:
        return _with_line(text, rng).encode("utf-8", "surrogatepass")
    if action < 0.9:
        return mutated(text.encode("utf-8", "replace"), rng)
    if action < 0.96:
        return _bomb(text, rng).encode("utf-8", "replace")
    return text.encode(
        one_of(rng, ("utf-16", "utf-32", "utf-8-sig", "latin-1", "cp500")), "replace"
    )


def _parsed(text: str) -> Any:
    """The document, or the schema if this one is damaged already."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, LookupError, RecursionError):
        return FULL


def _written(tree: Any, rng: Generator) -> bytes:
    if rng.random() < 0.5:
        return json.dumps(tree, ensure_ascii=bool(rng.random() < 0.5)).encode("utf-8", "replace")
    flow = one_of(rng, (None, True, False))
    text = yaml.safe_dump(tree, sort_keys=False, default_flow_style=flow, allow_unicode=True)
    return text.encode("utf-8", "surrogatepass")


def _with_line(text: str, rng: Generator) -> str:
    lines = text.splitlines() or [""]
    for _ in range(int(rng.integers(1, 3))):
        at, new = int(rng.integers(len(lines))), one_of(rng, LINES)
        indent = " " * int(one_of(rng, (0, 0, 2, 4)))
        lines[at : at + int(rng.integers(0, 2))] = [indent + new]
    return "\n".join(lines)


def _bomb(text: str, rng: Generator) -> str:
    """Small on paper, endless for a careless reader."""
    size = int(10 ** rng.uniform(1, 4.5))
    aliases = "\n".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40))
    return one_of(
        rng,
        (
            "a0: &a0 [x]\n" + aliases,
            "a: " + "[" * size,
            "a: " + "{b: " * size,
            "- " * size,
            "? " * size,
            "a: [" + "x, " * size + "]",
            "\n".join(f"name{i}: 1" for i in range(size)),
            text + "\n".join(f"    - {{name: x{i}, kind: binary}}" for i in range(size)),
            "a: &a\n  b: *a",
            "!!x " * size,
            "&a " * size,
            '"' + "\\" * size,
            "a: " + "1:" * size,
            "a: " + "-" * size,
            "\n" * size,
            ":" * size,
            "a: |" + "\n " * size,
            "%" * size,
        ),
    )
