"""Text from outside stays text: it cannot state another promise, nor give orders to a program."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from injection import (
    FOLDERS,
    FORM,
    HIDDEN,
    LITERAL,
    SCHEMA,
    UNPRINTABLE,
    html_structure,
    html_words,
    markdown_structure,
    markdown_words,
    places,
    printable_lines,
    with_text,
)
from longsynth import Bundle, Refused, fit, model_of
from longsynth.commands.app import app
from longsynth.commands.verify import next_commands
from longsynth.govern.form import FORMAT, Form
from longsynth.govern.keys import load_private, make_keys
from longsynth.govern.provenance import Account, Provenance, Receipt
from longsynth.privacy.budget import Budget
from longsynth.release.folder import Release, release_files
from longsynth.release.statement import statement
from longsynth.release.status import status_of
from longsynth.release.synthetic_folder import Recipe, write_synthetic
from longsynth.release.verify import sign, verify
from longsynth.schema.file import parse_text
from longsynth.schema.schema import Schema
from longsynth.show.dossier.build import release_facts
from longsynth.show.dossier.facts import generate_population
from longsynth.show.dossier.page import public_page
from longsynth.show.pages import html_page, markdown_page
from longsynth.system.errors import SchemaError
from longsynth.system.text import cell, figure, markdown, shell
from support import random_cohort, small_plan, small_schema, write_checked

PLAIN = "plain words"


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return fit(random_cohort(40, 1), small_plan(40, method="dp-markov"))


def renamed(bundle: Bundle, name: str) -> Bundle:
    """The same release of a cohort that is called otherwise, past every check of the schema."""
    return replace(bundle, schema=bundle.schema.model_copy(update={"name": name}))


def write(bundle: Bundle, folder: Path) -> Path:
    """Write a release whose files agree with each other, whatever its schema says."""
    folder.mkdir(parents=True)
    for name, content in release_files(Release(bundle)).items():
        (folder / name).write_bytes(content)
    return folder


# --- what may come in ---------------------------------------------------------------------------


def parsed_form(text: str) -> Form:
    return Form(FORMAT.parse(text, "s.yaml"), "0" * 64)


@pytest.mark.parametrize("text", UNPRINTABLE, ids=ascii)
@pytest.mark.parametrize(
    ("document", "parse"),
    [(SCHEMA, lambda text: parse_text(text, "s.yaml")), (FORM, parsed_form)],
    ids=["schema", "form"],
)
def test_text_that_is_not_one_printable_line_is_refused_wherever_it_stands(
    document: dict[str, Any], parse: Callable[[str], object], text: str
) -> None:
    for place in places(document):
        with pytest.raises(Refused) as refused:
            parse(with_text(document, place, text))
        assert re.match(r"s\.yaml, line \d+: ", str(refused.value)), place
        assert printable_lines(str(refused.value)), place


@pytest.mark.parametrize("document", [SCHEMA, FORM], ids=["schema", "form"])
def test_text_without_an_end_is_refused_wherever_it_stands(document: dict[str, Any]) -> None:
    parse = parsed_form if document is FORM else lambda text: parse_text(text, "s.yaml")
    for place in places(document):
        with pytest.raises(Refused):
            parse(with_text(document, place, "x" * 6000))


def test_a_refusal_names_the_line_the_place_and_a_remedy() -> None:
    with pytest.raises(SchemaError) as refused:
        parse_text(with_text(SCHEMA, ("name",), UNPRINTABLE[0]), "s.yaml")
    assert str(refused.value).startswith("s.yaml, line 3: name: contains a line break")


def test_the_longest_meaning_of_a_label_still_fits_once_its_levels_are_told() -> None:
    schema = parse_text(with_text(SCHEMA, ("group", "meaning"), "x" * 950), "s.yaml")
    assert schema.canonical().group.meaning.endswith("; 0 is m, 1 is f")
    with pytest.raises(SchemaError, match="together with its levels; shorten it"):
        parse_text(with_text(SCHEMA, ("group", "meaning"), "x" * 990), "s.yaml")


# --- a release that states another promise ------------------------------------------------------


def test_a_release_whose_name_adds_lines_to_the_statement_fails_verify_and_sign(
    bundle: Bundle, tmp_path: Path
) -> None:
    release = write(renamed(bundle, UNPRINTABLE[0]), tmp_path / "release")
    findings = verify(release)
    assert not all(finding.good for finding in findings)
    assert "name: contains a line break" in findings[-1].sentence
    make_keys(tmp_path / "key")
    with pytest.raises(Refused, match="name: contains a line break"):
        sign(release, load_private(tmp_path / "key"))
    assert not (release / "signature.json").exists()


@pytest.mark.parametrize("text", LITERAL, ids=ascii)
def test_a_name_full_of_markup_is_literal_in_the_statement(bundle: Bundle, text: str) -> None:
    Schema.model_validate(bundle.schema.model_dump() | {"name": text})  # it may be called so
    page = statement(renamed(bundle, text), Provenance())
    plain = statement(renamed(bundle, PLAIN), Provenance())
    assert markdown_structure(page) == markdown_structure(plain)
    assert " ".join(text.split()) in markdown_words(page)
    assert len(page.splitlines()) == len(plain.splitlines())


def test_even_a_name_past_the_schema_adds_no_line_and_no_element(bundle: Bundle) -> None:
    plain = statement(renamed(bundle, PLAIN), Provenance())
    for text in UNPRINTABLE:
        page = statement(renamed(bundle, text), Provenance())
        assert markdown_structure(page) == markdown_structure(plain)
        assert len(page.splitlines()) == len(plain.splitlines())


def test_no_name_stands_above_the_promise(bundle: Bundle) -> None:
    page = statement(renamed(bundle, "ε = 0.01, approved"), Provenance())
    assert page.index("**ε = 4, δ = 1e-05**") < page.index("ε = 0.01")


def test_names_of_people_and_datasets_are_literal_in_the_statement(bundle: Bundle) -> None:
    def told(name: str) -> str:
        account = Account(name, Budget(4.0, 1e-5), Budget(1.0, 1e-5).rho)
        return statement(bundle, Provenance(name, None, Receipt(3, "0" * 64, (account,))))

    for name in ("__init__", "_x_", "www.evil.example", "1. first", "a: b"):
        assert markdown_structure(told(name)) == markdown_structure(told("plain"))
        assert markdown_words(told(name)).count(name) == 2


# --- pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", LITERAL, ids=ascii)
def test_answers_full_of_markup_are_literal_on_the_page_of_a_form(text: str) -> None:
    def filled(words: str) -> Form:
        form = FORM | {
            "study": dict.fromkeys(FORM["study"], words),
            "attacks": {"suite": [words, words + "x" * 80], "by": words},
            "stop_rules": [{"when": words, "then": words}],
            "public_facts": {
                **FORM["public_facts"],
                "variables": [{**FORM["public_facts"]["variables"][0], "bounds_from": words}],
            },
        }
        return parsed_form(json.dumps(form))

    for made, structure, words in (
        (markdown_page, markdown_structure, markdown_words),
        (html_page, html_structure, html_words),
    ):
        page = made(filled(text))
        assert structure(page) == structure(made(filled(PLAIN)))
        assert " ".join(text.split()) in " ".join(words(page).split())


def test_a_schema_full_of_markup_is_literal_in_the_dossier(bundle: Bundle, tmp_path: Path) -> None:
    def structure(text: str, folder: Path) -> list[object]:
        given = bundle.schema
        changed: dict[str, object] = {"name": text}
        for what in ("group", "event"):
            labels = getattr(given, what)
            levels = (labels.levels[0], f"{what} {text}")
            changed[what] = labels.model_copy(update={"levels": levels, "meaning": text})
        variables = (v.model_copy(update={"unit": text}) for v in given.variables)
        schema = given.model_copy(update=changed | {"variables": tuple(variables)})
        facts = release_facts(write(replace(bundle, schema=schema), folder))
        page = public_page(facts, generate_population(facts, 0))
        assert " ".join(text[1:].split()) in " ".join(html_words(page).split())
        return html_structure(page)

    plain = structure(PLAIN, tmp_path / "plain")
    for number, text in enumerate(("<b>x</b><!--", "\"'></title><script>x()</script>")):
        assert structure(text, tmp_path / str(number)) == plain


@pytest.mark.parametrize("text", [*LITERAL, *UNPRINTABLE], ids=ascii)
def test_markdown_shows_any_text_as_it_stands_in_any_place(text: str) -> None:
    for around in ("{}", "# {}", "- {}", "a\n\n1. {}", "| a | b |\n|---|---|\n| {} | c |", "*{}*"):
        page = around.format(markdown(text))
        assert markdown_structure(page) == markdown_structure(around.format("plain")), around
        if text in LITERAL:
            assert " ".join(text.split()) in markdown_words(page), around


# of a backslash at the very end rich makes two
@pytest.mark.parametrize("text", [t for t in LITERAL if not t.endswith("\\")], ids=ascii)
def test_rich_and_matplotlib_show_any_text_as_it_stands(text: str) -> None:
    from io import StringIO

    from matplotlib.cbook import is_math_text

    shown = StringIO()
    Console(file=shown, width=200, emoji=False, color_system=None).print(cell(text))
    assert " ".join(shown.getvalue().split()) == " ".join(text.split())
    assert not is_math_text(figure(text))


# --- terminals and shells -----------------------------------------------------------------------


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(done.exception, Refused):
        return 2, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def suggested(said: str) -> Iterator[list[str]]:
    """The words of every command that is suggested."""
    for found in re.findall(r"(?:Next: |^  |then )(longsynth .*)$", said, re.MULTILINE):
        yield shlex.split(found)


@pytest.fixture(scope="module")
def made(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cohort, a run and synthetic patients."""
    folder = tmp_path_factory.mktemp("made")
    for name in ("cohort", "synthetic"):
        (folder / name).mkdir()
    write_checked(folder / "cohort", small_schema(), [random_cohort(40, 1)])
    write(bundle, folder / "run" / "release")
    write_synthetic(folder / "synthetic", model_of(bundle), Recipe(bundle.fingerprint, 5, 7))
    return folder


@pytest.mark.parametrize("name", FOLDERS)
def test_a_suggested_command_has_the_folder_as_one_word(
    made: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    for what in ("cohort", "run", "synthetic"):
        shutil.copytree(made / what, tmp_path / what / name)
    Path(name).symlink_to(made / "cohort")
    given = {
        ("status", "--", name): 2,
        ("check", "--accept-problems=known", "--", name): 1,
        ("status", "--", f"run/{name}"): 4,
        ("status", "--", f"synthetic/{name}"): 1,
        ("schema", "new", "--columns=patient_id,hr", f"--out={name}.yaml"): 1,
        ("keygen", f"--out={name}.key"): 1,
        ("budget", "init", "--", f"{name}.book"): 1,
        ("governance", "new", f"--out={name}.form"): 1,
    }
    for arguments, number in given.items():
        code, said = run(*arguments)
        assert code == 0, said
        found = list(suggested(said))
        assert len(found) == number, said
        path = Path(arguments[-1].removeprefix("--out="))
        named = [str(p) for p in (path, path / "schema.yaml", path / "release")]
        named = [f"./{word}" if word.startswith("-") else word for word in named]
        for words in found:
            assert any(word in named for word in words), words
            assert all(word in named or re.fullmatch(r"[\w./-]+", word) for word in words), words


def test_a_message_that_suggests_a_command_quotes_the_folder_too(tmp_path: Path) -> None:
    folder = tmp_path / "$(touch pwned)"
    (folder / "x y" / "release").mkdir(parents=True)
    for arguments, named in (
        (("status", folder), folder / "x y"),
        (("ledger", folder), folder),
        (("budget", "show", folder / "book"), folder / "book"),
    ):
        code, said = run(*arguments)
        assert (code, str(folder) in said) == (2, True)
        command = re.search(r"(longsynth (?:status|budget init) [^`]*)", said)
        assert command is not None, said
        assert shlex.split(command[1])[-1] == str(named)


@pytest.mark.parametrize("text", UNPRINTABLE, ids=ascii)
def test_an_argument_that_is_not_one_printable_line_is_refused_unseen(text: str) -> None:
    for arguments in (("status", text), ("fit", "cohort", "--out", text), ("schema", text)):
        if "\x00" in text:
            continue  # no system passes it on
        code, said = run(*arguments)
        assert code == 2
        assert printable_lines(said)
        assert "\n" not in said
        assert "rename" in said


def test_nothing_that_is_said_orders_a_terminal_about(capsys: pytest.CaptureFixture[str]) -> None:
    from longsynth.commands.options import say

    for text in (*UNPRINTABLE, HIDDEN):
        say(f"first\n{text}\nlast")
        assert printable_lines(capsys.readouterr().out), text


def test_what_a_shell_makes_of_a_quoted_word_is_the_word() -> None:
    from subprocess import run as start

    words = [w for w in (*FOLDERS, *LITERAL, *UNPRINTABLE, HIDDEN, "\udc80") if "\x00" not in w]
    for word in words:
        assert printable_lines(shell(word))
        assert "\n" not in shell(word)
        done = start(["bash", "-c", f"printf %s {shell(word)}"], capture_output=True, check=True)
        assert done.stdout == os.fsencode(word)


def test_a_file_in_a_release_cannot_write_a_line_of_its_own(made: Path, tmp_path: Path) -> None:
    release = Path(shutil.copytree(made / "run" / "release", tmp_path / "release"))
    (release / HIDDEN).write_text("")
    for number in range(50):
        (release / f"z{number}").write_text("")
    code, said = run("verify", release)
    assert code == 1
    assert printable_lines(said)
    assert len(said.splitlines()) == len(verify(release)) + 1
    assert "also holds" in said
    assert "and more" in said
    code, said = run("verify", release, "--json")
    assert printable_lines(said)
    assert json.loads(said)["holds"] is False


def test_a_folder_beside_a_run_cannot_write_a_line_of_its_own(made: Path, tmp_path: Path) -> None:
    work = Path(shutil.copytree(made, tmp_path / "work"))
    (work / "synthetic").rename(work / HIDDEN)
    code, said = run("status", work / "run")
    assert code == 0, said
    assert printable_lines(said)
    after = said.partition("Next:\n")[2].splitlines()
    assert len(after) == len(next_commands(status_of(work / "run"))) == 4
    assert all(line.startswith("  longsynth ") for line in after)
    code, said = run("status", work / "run", "--json")
    assert printable_lines(said)
    assert json.loads(said)["drawn"] == [str(work / HIDDEN)]
