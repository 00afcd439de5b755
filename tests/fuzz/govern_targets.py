"""Malformed budget books, governance forms, keys and signatures, and their readers."""

import re
import shutil
import sqlite3
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from numpy.random import Generator

from fuzz.folder_inputs import damage, no_file
from fuzz.kind import PROMISE, Kind, made_once
from fuzz.mutation import mutated, one_of, token
from fuzz.trees import altered, json_text
from fuzz.yaml_inputs import yaml_bytes
from longsynth.govern.book import Book, init_book
from longsynth.govern.book.entries import link
from longsynth.govern.form import load_form
from longsynth.govern.keys import is_encrypted, load_private, load_public, make_keys
from longsynth.privacy.budget import Budget
from longsynth.release.run import run_fit
from longsynth.release.verify import sign, verify
from longsynth.show.pages import html_page, markdown_page
from longsynth.system.errors import Refused

EXAMPLE = Path(__file__).parents[2] / "examples" / "governance.yaml"
PASSPHRASE = b"open sesame"
SQL = (
    "UPDATE events SET content = '{}'",
    "UPDATE events SET content = replace(content, '1.0', '1e999')",
    "UPDATE events SET content = CAST(x'ff00fe' AS TEXT)",
    "UPDATE events SET content = 7",
    "UPDATE events SET hash = NULL",
    "UPDATE events SET number = number * 9223372036854775807",
    "UPDATE head SET hash = x'00', number = 'x'",
    "DELETE FROM head",
    "DELETE FROM events WHERE number = 2",
    "INSERT INTO head SELECT * FROM head",
    "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END",
    "CREATE VIEW v AS SELECT 1",
    "ALTER TABLE events ADD COLUMN x",
    "DROP TABLE head",
    "PRAGMA user_version = -1",
    "PRAGMA application_id = 0",
    "PRAGMA journal_mode = WAL",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'x'",
    "INSERT INTO events VALUES (99, zeroblob(1000000), '')",
)


@cache
def _base() -> Path:
    place = made_once()
    book = init_book(place / "book", "an owner")
    book.grant("hospital", Budget(8.0, 1e-5))
    book.grant("ward", Budget(4.0, 1e-5), "hospital")
    by = {"book": place / "book", "dataset": "ward", "fitted_by": "A. Fitter"}
    run_fit(place / "cohort", place / "charged", **PROMISE, **by)
    make_keys(place / "key", name="B. Signer")
    make_keys(place / "locked", passphrase=PASSPHRASE)
    sign(place / "charged/release", load_private(place / "key"), signer="B. Signer")
    return place


def verified(release: Path, drawn: Path | None = None, key: Path | None = None) -> list[str]:
    """Verify; a check that fails is a refusal, one that breaks is not."""
    findings = verify(release, drawn, key=key)
    said = "\n".join(finding.sentence for finding in findings)
    if re.search(r"a check ended with (?!OSError|FileNotFoundError|Arrow)", said):
        raise AssertionError(findings[-1].sentence)
    if not all(finding.good for finding in findings):
        raise Refused("a-code", said, "Give another.")
    return [said]


def _make_signed(folder: Path, rng: Generator) -> None:
    shutil.copytree(_base() / "charged/release", folder / "release")
    shutil.copy(_base() / "key.pub", folder)
    name = one_of(rng, ("signature.json", "signature.json", "manifest.json"))
    damage(folder / "release", name, rng)


def _signed(folder: Path, rng: Generator) -> list[str]:
    return verified(folder / "release", key=folder / "key.pub" if rng.random() < 0.5 else None)


def _make_book(folder: Path, rng: Generator) -> None:
    path = folder / "book"
    shutil.copy(_base() / "book", path)
    action = rng.random()
    if action < 0.05:
        no_file(path, rng)
    elif action < 0.4:
        path.write_bytes(mutated(path.read_bytes(), rng))
    elif action < 0.6:
        with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.Error):
            connection.executescript(one_of(rng, SQL))
            connection.commit()
    else:
        _forge(path, rng)
    if rng.random() < 0.05:
        path.with_name("book-journal").write_bytes(rng.bytes(600))


def _forge(path: Path, rng: Generator) -> None:
    """Rewrite an entry, and all hashes after it: a chain that holds over something odd."""
    import json

    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT content FROM events ORDER BY number").fetchall()
        texts = [str(row[0]) for row in rows]
        at = int(rng.integers(len(texts)))
        if rng.random() < 0.7:
            tree = altered(json.loads(texts[at]), rng)
            compact = json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            texts[at] = compact if rng.random() < 0.6 else json_text(tree, rng).decode("latin-1")
        else:
            texts[at] = mutated(texts[at].encode(), rng).decode("utf-8", "replace")
        connection.execute("DELETE FROM events")
        connection.execute("DELETE FROM head")
        head = ""
        for number, text in enumerate(texts, 1):
            text = text.encode("utf-8", "replace").decode()
            head = link(head, text)
            connection.execute("INSERT INTO events VALUES (?, ?, ?)", (number, text, head))
        connection.execute("INSERT INTO head VALUES (?, ?)", (len(texts), head))
        connection.commit()


def _book(folder: Path, rng: Generator) -> list[str]:
    book = Book(folder / "book", patience=1.0)
    action = rng.random()
    if action < 0.4:
        return [str(book.read().events)]
    if action < 0.6:
        return [str(book.grant("another", Budget(1.0, 1e-5), "hospital"))]
    findings = book.verify()
    said = "\n".join(finding.sentence for finding in findings)
    if not all(finding.good for finding in findings):
        raise Refused("a-code", said, "Give another.")
    return [said]


def _make_form(folder: Path, rng: Generator) -> None:
    (folder / "form.yaml").write_bytes(yaml_bytes(EXAMPLE.read_text("utf-8"), rng))


def _form(folder: Path, rng: Generator) -> list[str]:
    form = load_form(folder / "form.yaml")
    return [html_page(form), markdown_page(form)]


def _make_keys(folder: Path, rng: Generator) -> None:
    for name in ("key", "key.pub", "locked"):
        shutil.copy(_base() / name, folder)
    name = one_of(rng, ("key", "key.pub", "locked"))
    path = folder / name
    content = path.read_bytes()
    action = rng.random()
    if action < 0.1:
        no_file(path, rng)
    elif action < 0.7:
        path.write_bytes(mutated(content, rng))
    elif action < 0.8:
        path.write_bytes(content.replace(b"\n", token(rng)))
    else:
        path.write_bytes(
            one_of(rng, (b"", b"ssh-ed25519", b"-----BEGIN PRIVATE KEY-----", rng.bytes(90)))
        )


def _keys(folder: Path, rng: Generator) -> list[str]:
    said = [load_public(folder / "key.pub").fingerprint]
    if not is_encrypted(folder / "key"):
        said.append(load_private(folder / "key").public.fingerprint)
    given = one_of(rng, (PASSPHRASE, b"wrong", None))
    return [*said, load_private(folder / "locked", given).public.fingerprint]


SIGNED = Kind("signed release", 1, _make_signed, _signed)
BOOK = Kind("budget book", 1, _make_book, _book)
FORM = Kind("governance form", 1, _make_form, _form)
KEYS = Kind("keys", 1, _make_keys, _keys)
