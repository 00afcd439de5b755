"""Injected text: in a schema, a form, a person's name or a folder's name, and where it goes."""

import json
import os
import re
import shlex
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from numpy.random import Generator
from typer.testing import CliRunner

from fuzz.kind import Fault, Kind, made_once
from fuzz.mutation import one_of
from injection import (
    FOLDERS,
    FORM,
    LITERAL,
    SCHEMA,
    UNPRINTABLE,
    html_structure,
    markdown_structure,
    places,
    printable_lines,
    with_text,
)
from longsynth import Bundle, fit
from longsynth.commands.app import app
from longsynth.govern.form import FORMAT, Form
from longsynth.govern.provenance import Provenance, require_name
from longsynth.release.statement import statement
from longsynth.schema.file import parse_text
from longsynth.show.pages import html_page, markdown_page
from longsynth.system.errors import Refused
from support import random_cohort, small_plan

PIECES = (
    *LITERAL,
    *UNPRINTABLE,
    *FOLDERS,
    *("\n", "\n\n", "\t", " ", "|", "`", "*", "<", "$(", "'"),
)


def _make_text(folder: Path, rng: Generator) -> None:
    pieces = [str(one_of(rng, PIECES)) for _ in range(int(rng.integers(1, 5)))]
    input_ = {"text": "".join(pieces), "at": int(rng.integers(1000)), "what": int(rng.integers(4))}
    (folder / "text.json").write_text(json.dumps(input_))
    shutil.copytree(made_once() / "cohort", folder / _named("".join(pieces)))


def _text(folder: Path, rng: Generator) -> list[str]:
    given = json.loads((folder / "text.json").read_text())
    text, what = given["text"], given["what"]
    if what == 3:
        return _folder(folder, text)
    if what == 2:
        require_name(text)
        page, like = (
            statement(_bundle(), Provenance(text)),
            statement(_bundle(), Provenance("A. F")),
        )
        return _same(markdown_structure, page, like)
    document: dict[str, Any] = (SCHEMA, FORM)[what]
    chosen = list(places(document))
    place = chosen[given["at"] % len(chosen)]
    changed, plain = (with_text(document, place, words) for words in (text, "x"))
    if what == 0:
        name = parse_text(changed, "s.yaml").name
        page, like = (_statement(words) for words in (name, "plain"))
        return _same(markdown_structure, page, like)
    found = Form(FORMAT.parse(changed, "f.yaml"), "0" * 64)
    like_form = Form(FORMAT.parse(plain, "f.yaml"), "0" * 64)
    return [
        *_same(markdown_structure, markdown_page(found), markdown_page(like_form)),
        *_same(html_structure, html_page(found), html_page(like_form)),
    ]


def _same(structure: Any, page: str, like: str) -> list[str]:
    if structure(page) != structure(like):
        raise Fault("text became markup")
    return [page]


def _statement(name: str) -> str:
    bundle = _bundle()
    schema = bundle.schema.model_copy(update={"name": name})
    return statement(replace(bundle, schema=schema), Provenance())


@cache
def _bundle() -> Bundle:
    return fit(random_cohort(30, 1), small_plan(30, method="dp-markov"))


def _folder(folder: Path, text: str) -> list[str]:
    """What `status` says of a cohort in a folder of this name."""
    named = folder / _named(text)
    done = CliRunner().invoke(app, ["status", str(named)], env={"COLUMNS": "4000"})
    if isinstance(done.exception, Refused):
        if not printable_lines(str(done.exception)):
            raise Fault("a refusal repeats what cannot be printed")
        raise done.exception
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    commands = re.findall("^  (longsynth .*)$", done.output, re.MULTILINE)
    first = [shlex.split(command)[2] for command in commands if " plan " not in command]
    if not printable_lines(done.output) or not first or set(first) != {str(named)}:
        raise Fault("a folder's name became more than a word")
    return [done.output]


def _named(text: str) -> str:
    """The text as the name of a folder; cut short, it may end within a letter."""
    name = os.fsdecode(text.replace("/", "").replace("\x00", "").encode()[:200])
    return name if name not in ("", ".", "..", "text.json") else "x"


TEXT = Kind("injected text", 1, _make_text, _text)
