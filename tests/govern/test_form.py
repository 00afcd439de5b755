"""The governance form: what it asks, what it says of a mistake, and what it does not allow."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from hashlib import sha256
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator, FormatChecker
from typer.testing import CliRunner

from longsynth import Bundle, Refused, Schema, fit, load_schema, simulated_schema
from longsynth.commands.app import app
from longsynth.govern.form import FILL, Form, blank_form, json_schema, load_form
from longsynth.govern.keys import load_private, make_keys
from longsynth.govern.provenance import Account, Provenance, Receipt
from longsynth.privacy.budget import Budget
from longsynth.release.folder import Release, release_files
from longsynth.release.form_check import (
    _earlier_sha256,
    allows,
    schema_departures,
    schema_sha256,
)
from longsynth.release.verify import sign, verify
from longsynth.schema.file import dump
from longsynth.show.pages import html_page, markdown_page
from longsynth.system.errors import Code
from refusals import refused
from support import random_cohort, rich_content, rich_schema, small_plan, small_schema

EXAMPLE = Path(__file__).parents[2] / "examples/governance.yaml"
CONTENT: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
FITTER, STEWARD, DAY = "data engineer", "data steward", date(2030, 1, 1)


def written(content: dict[str, Any], path: Path) -> Path:
    path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    return path


def changed(place: str, value: object) -> dict[str, Any]:
    """The example with another answer at a place, or without one."""
    content = json.loads(json.dumps(CONTENT))
    *path, last = (int(step) if step.isdigit() else step for step in place.split("."))
    inner = content
    for step in path:
        inner = inner[step]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return content


def leaves(content: object, place: str = "") -> Iterator[str]:
    if isinstance(content, dict | list) and content:
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        for key, inner in pairs:
            yield from leaves(inner, f"{place}.{key}".lstrip("."))
    else:
        yield place


def shown(place: str) -> str:
    """A place as messages name it: they count from one."""
    return ".".join(str(int(s) + 1) if s.isdigit() else s for s in place.split("."))


def the_refusal(content: dict[str, Any], tmp_path: Path) -> list[str]:
    with pytest.raises(Refused) as refused:
        load_form(written(content, tmp_path / "form.yaml"))
    return str(refused.value).splitlines()


# --- filling it in ------------------------------------------------------------------------------


def test_the_example_is_complete_and_keeps_to_the_simulated_schema() -> None:
    form = load_form(EXAMPLE)
    assert list(schema_departures(form, simulated_schema())) == []
    assert form.says.budget.epsilon == 12


def test_a_new_form_asks_every_question_that_the_example_answers(tmp_path: Path) -> None:
    blank = yaml.safe_load(blank_form())

    def keys(content: object) -> object:
        if isinstance(content, dict):
            return {key: keys(inner) for key, inner in content.items()}
        return keys(content[0]) if isinstance(content, list) and content else None

    assert keys(blank) == keys(CONTENT)


def test_a_new_form_is_reported_question_by_question(tmp_path: Path) -> None:
    (tmp_path / "form.yaml").write_text(blank_form())
    with pytest.raises(Refused) as refused:
        load_form(tmp_path / "form.yaml")
    reports = str(refused.value).splitlines()
    open_places = [p for p in leaves(yaml.safe_load(blank_form())) if "governance" not in p]
    open_places = [p for p in open_places if p not in ("protection.unit", "protection.adjacency")]
    assert len(reports) == len(open_places)
    lines = blank_form().splitlines()
    for place in open_places:
        (report,) = [r for r in reports if f": {shown(place)}: not filled in yet" in r]
        number = re.search(r"line (\d+)", report)
        assert number is not None
        assert FILL in lines[int(number[1]) - 1]


@pytest.mark.parametrize("place", [p for p in leaves(CONTENT) if p != "governance"])
def test_any_answer_may_be_left_open_and_is_then_named(place: str, tmp_path: Path) -> None:
    reports = the_refusal(changed(place, FILL), tmp_path)
    assert len(reports) == 1, reports
    assert f": {shown(place)}: not filled in yet" in reports[0]


def test_a_schema_answers_what_it_can(tmp_path: Path) -> None:
    blank = yaml.safe_load(blank_form(simulated_schema()))
    assert blank["public_facts"] == CONTENT["public_facts"]
    for what in ("outcomes", "groups"):
        assert blank[what] == [CONTENT[what][0] | {"approved_use": FILL}]
    (tmp_path / "form.yaml").write_text(blank_form(simulated_schema()))
    with pytest.raises(Refused) as refused:
        load_form(tmp_path / "form.yaml")
    assert "public_facts" not in str(refused.value)


def test_a_schema_with_awkward_words_still_gives_a_form() -> None:
    awkward = 'no: # "quoted"\nand\u2028broken, [x]'
    schema = small_schema()
    event = schema.event.model_copy(update={"meaning": awkward, "levels": ("no", "1e3")})
    content = yaml.safe_load(blank_form(schema.model_copy(update={"event": event})))
    (outcome,) = content["outcomes"]
    assert (outcome["meaning"], outcome["levels"]) == (awkward, ["no", "1e3"])


MISTAKES = {  # place, what is written there, where it is reported, what is said
    "another version": ("governance", 2, "governance", "should be 1"),
    "a missing answer": ("study.title", None, "study.title", "is required; add it"),
    "an empty answer": ("study.title", " ", "study.title", "at least 1 character"),
    "a misspelt key": ("study.titel", "x", "study.titel", "did you mean 'title'"),
    "a misspelt section": ("bugdet", {}, "bugdet", "did you mean 'budget'"),
    "a day in words": ("data.valid_from", "tomorrow", "data.valid_from", "2031-01-31"),
    "no such day": ("data.valid_from", "2031-02-30", "data.valid_from", "day value"),
    "an end before the start": (
        "data.valid_until",
        "2020-01-01",
        "data.valid_until",
        "would end before",
    ),
    "another unit": ("protection.unit", "visit", "protection.unit", "'patient'"),
    "another adjacency": ("protection.adjacency", "removal", "protection.adjacency", "replacement"),
    "no patients": ("protection.patients_at_least", 0, "protection.patients_at_least", "or equal"),
    "fewer than at least": (
        "protection.patients_at_most",
        99,
        "protection.patients_at_most",
        "not be below 100",
    ),
    "one level": ("outcomes.0.levels", ["0"], "outcomes.1.levels", "at least 2 items"),
    "an outcome of no kind": ("outcomes.0.kind", "event", "outcomes.1.kind", "'time_to_event'"),
    "no hash": ("public_facts.schema_sha256", "abc", "public_facts.schema_sha256", "pattern"),
    "bounds without a source": (
        "public_facts.variables.0.bounds_from",
        None,
        "public_facts.variables.1",
        "bounds_from",
    ),
    "bounds that fall": (
        "public_facts.variables.0.bounds",
        [3, 1],
        "public_facts.variables.1.bounds",
        "must rise",
    ),
    "a variable twice": (
        "public_facts.variables.1.name",
        "Heart_Rate",
        "public_facts.variables.2.name",
        "two variables",
    ),
    "no variables": ("public_facts.variables", [], "public_facts.variables", "at least 1 item"),
    "a site that is not named": ("held_back.kind", "site", "held_back.sites", "name the sites"),
    "an ε of nothing": ("budget.epsilon", 0, "budget.epsilon", "greater than or equal"),
    "an ε beyond all sense": ("budget.epsilon", 101, "budget.epsilon", "less than or equal"),
    "a δ of one": ("budget.delta", 1, "budget.delta", "less than 1"),
    "an ε without a reason": ("budget.epsilon_reason", None, "budget.epsilon_reason", "required"),
    "an unknown accounting": ("budget.accounting", ["rdp"], "budget.accounting.1", "'zcdp'"),
    "an unknown method": ("budget.methods", ["magic"], "budget.methods.1", "is unknown"),
    "a method that is not private": (
        "budget.methods",
        ["trust", "bootstrap"],
        "budget.methods.2",
        "NOT PRIVATE",
    ),
    "no methods": ("budget.methods", [], "budget.methods", "at least 1 item"),
    "no attacks": ("attacks.suite", [], "attacks.suite", "at least 1 item"),
    "a name of two lines": ("people.fit", ["a\nb"], "people.fit.1", "used as a name"),
    "nobody who may sign": ("people.sign", [], "people.sign", "at least 1 item"),
    "one person for both": ("people.sign", ["Data  Engineer"], "people.fit.1", "name someone else"),
    "a red team that fits": ("red_team.by", "Data Engineer", "red_team.by", "independent"),
    "no stop rules": ("stop_rules", [], "stop_rules", "at least 1 item"),
    "a stop rule without a deed": ("stop_rules.0.then", None, "stop_rules.1.then", "required"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_reported_with_its_line_its_place_and_a_remedy(
    what: str, tmp_path: Path
) -> None:
    place, value, reported, remedy = MISTAKES[what]
    reports = the_refusal(changed(place, value), tmp_path)
    (report,) = [r for r in reports if f": {reported}: " in r]
    assert remedy in report
    number = re.search(r"form\.yaml, line (\d+): ", report)
    assert number is not None
    key = next(s for s in reversed(reported.split(".")) if not s.isdigit())
    block = (tmp_path / "form.yaml").read_text().splitlines()[: int(number[1])]
    if value is not None:  # what is missing has no line of its own
        assert any(f"{key}:" in line for line in block[-3:]), block[-3:]


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    content = changed("budget.epsilon", 0)
    content["study"]["title"] = FILL
    content["held_back"]["kind"] = "ward"
    assert len(the_refusal(content, tmp_path)) == 3


HOSTILE = {
    "nothing": (b"", "not a YAML mapping"),
    "a list": (b"- 1", "not a YAML mapping"),
    "not UTF-8": (b"a: 1\nb: \xff", "line 2: not UTF-8"),
    "a bare date": (b"governance: 1\ndata: {valid_from: 2031-01-31}", "as a date. Quote it."),
    "a truth value": (b"governance: 1\nbudget: {book: no}", "truth value. Quote it."),
    "an alias": (b"a: &x 1\nb: *x", "alias"),
    "a key twice": (b"governance: 1\ngovernance: 1", "given twice"),
    "an object": (b"a: !!python/object/apply:os.system [ls]", "not YAML"),
    "deep nesting": (b"a: " + b"[" * 50_000, "deeper than in any governance form"),
    "a long file": (b"#" * 1_000_001, "over 1 MB"),
    "a control character": (b"a: \x07", "control character"),
    "many values": (b"a: [" + b"1," * 60_000 + b"1]", "more values than any governance form"),
    "an empty number": (b"a: !!int ''", "Write simple values."),
    "a letter beyond all": (b'a: "\\UFFFFFFFF"', "Write simple values."),
    "an order to the terminal": (b'governance: 1\n"\\e[2J": 1', "\\x1b[2J"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_form_is_refused_in_a_sentence(what: str, tmp_path: Path) -> None:
    content, sentence = HOSTILE[what]
    (tmp_path / "form.yaml").write_bytes(content)
    with pytest.raises(Refused, match=re.escape(sentence)):
        load_form(tmp_path / "form.yaml")


# --- as JSON Schema -----------------------------------------------------------------------------

BETWEEN_ANSWERS = {  # rules that JSON Schema has no words for
    "an end before the start",
    "fewer than at least",
    "bounds without a source",
    "bounds that fall",
    "a variable twice",
    "a site that is not named",
    "an unknown method",
    "a method that is not private",
    "a name of two lines",
    "one person for both",
    "a red team that fits",
    "an empty answer",  # of blanks alone
}


def validator() -> Draft202012Validator:
    Draft202012Validator.check_schema(json_schema())
    return Draft202012Validator(json_schema(), format_checker=FormatChecker())


def test_the_example_is_valid_as_json_schema() -> None:
    assert [e.message for e in validator().iter_errors(CONTENT)] == []


@pytest.mark.parametrize("what", [m for m in MISTAKES if m not in BETWEEN_ANSWERS])
def test_the_json_schema_finds_the_same_mistakes(what: str) -> None:
    place, value, _, _ = MISTAKES[what]
    assert list(validator().iter_errors(changed(place, value)))


# --- what it allows -----------------------------------------------------------------------------

ASKED: dict[str, Any] = {
    "schema": simulated_schema(),
    "method": "trust",
    "budget": Budget(12.0, 1e-5, "zcdp"),
    "patients": 720,
    "dataset": None,
    "fitted_by": FITTER,
    "today": DAY,
}


def test_what_the_form_allows_is_allowed() -> None:
    form = load_form(EXAMPLE)
    allows(form, **ASKED)
    allows(form, **ASKED | {"dataset": "simulated deterioration cohort"})
    allows(form, **ASKED | {"fitted_by": "Data  ENGINEER", "patients": 100})
    allows(form, **ASKED | {"today": date(2025, 1, 1)})
    allows(form, **ASKED | {"today": date(2099, 12, 31)})


REFUSED_FITS = {
    "a larger ε": (
        {"budget": Budget(12.000001, 1e-5, "zcdp")},
        "budget.epsilon: 12.000001 is over 12",
    ),
    "a larger δ": ({"budget": Budget(12, 1.1e-5, "zcdp")}, "budget.delta: 1.1e-05 is over 1e-05"),
    "another accounting": (
        {"budget": Budget(12, 1e-5, "paper")},
        "budget.accounting",
    ),
    "no budget": ({"budget": None}, "budget.epsilon"),
    "another method": ({"method": "bootstrap"}, "budget.methods"),
    "too few patients": (
        {"patients": 99},
        "not between 100 and 10,000",
    ),
    "too many patients": ({"patients": 10_001}, "protection"),
    "another dataset": ({"dataset": "elsewhere"}, "data.dataset"),
    "another person": ({"fitted_by": "a stranger"}, "people.fit"),
    "the signer": ({"fitted_by": STEWARD}, "people.fit"),
    "no person": ({"fitted_by": None}, "people.fit"),
    "too early": ({"today": date(2024, 12, 31)}, "data.valid_from"),
    "too late": ({"today": date(2100, 1, 1)}, "data.valid_until"),
}


@pytest.mark.parametrize("what", REFUSED_FITS)
def test_a_fit_that_departs_from_the_form_is_refused(what: str) -> None:
    departure, sentence = REFUSED_FITS[what]
    with refused(Code.FORM_NOT_MET) as caught:
        allows(load_form(EXAMPLE), **ASKED | departure)
    departures = [line for line in str(caught.value).splitlines() if line.startswith("- ")]
    assert len(departures) == 1
    assert sentence in departures[0]


def test_every_departure_is_named_at_once() -> None:
    everything: dict[str, Any] = {}
    for departure, _ in REFUSED_FITS.values():
        everything |= departure
    with pytest.raises(Refused) as refused:
        allows(load_form(EXAMPLE), **ASKED | everything | {"budget": Budget(13, 1e-4, "paper")})
    assert str(refused.value).count("\n- ") == 8


def test_a_book_is_required_where_the_form_says_so(tmp_path: Path) -> None:
    form = load_form(written(changed("budget.book", "required"), tmp_path / "form.yaml"))
    with pytest.raises(Refused, match=r"budget\.book"):
        allows(form, **ASKED)
    allows(form, **ASKED | {"dataset": "simulated deterioration cohort"})


HASH = "public_facts.schema_sha256"
SCHEMAS: dict[str, tuple[Callable[[str], str], list[str]]] = {
    "another event": (
        lambda t: t.replace("event: {column: event", "event: {column: died"),
        ["outcomes: event: the schema has column died; approved is event", HASH],
    ),
    "levels the other way round": (
        lambda t: t.replace("column: event, levels: [0, 1]", "column: event, levels: [1, 0]"),
        ["outcomes: event: the schema has levels [1, 0]; approved is [0, 1]", HASH],
    ),
    "another group": (
        lambda t: t.replace("group: {column: group", "group: {column: sex"),
        ["groups: group: the schema has column sex", HASH],
    ),
    "wider bounds": (
        lambda t: t.replace("[30, 220]", "[30, 300]"),
        ["heart_rate: the schema has bounds [30, 300]; approved is [30, 220]", HASH],
    ),
    "another source": (
        lambda t: t.replace("counting range of a bedside", "the cohort's"),
        ["heart_rate: the schema has bounds_from", HASH],
    ),
    "another kind": (
        lambda t: t.replace("kind: ordinal", "kind: continuous"),
        ["medication_intensity: the schema has kind", HASH],
    ),
    "a variable more": (
        lambda t: t + "  - {name: extra, kind: binary}\n",
        ["the schema has extra, which is not approved", HASH],
    ),
    "a variable less": (
        lambda t: t.replace("  - name: oxygen_support\n    kind: binary", ""),
        ["oxygen_support is approved, but the schema lacks it", HASH],
    ),
    "more slots": (lambda t: t.replace("slots: 14", "slots: 15"), [HASH]),
    "another constant": (lambda t: t + "constants: {bandwidth: 2}\n", [HASH]),
}


def simulated_text() -> str:
    return (files("longsynth.reading") / "simulated.yaml").read_text()


@pytest.mark.parametrize("what", SCHEMAS)
def test_a_schema_that_departs_from_the_form_is_refused(what: str, tmp_path: Path) -> None:
    edit, sentences = SCHEMAS[what]
    (tmp_path / "schema.yaml").write_text(edit(simulated_text()))
    schema = load_schema(tmp_path / "schema.yaml")
    departures = list(schema_departures(load_form(EXAMPLE), schema))
    assert len(departures) == len(sentences), departures
    for departure, sentence in zip(departures, sentences, strict=True):
        assert sentence in departure
    with pytest.raises(Refused, match=re.escape(sentences[0])):
        allows(load_form(EXAMPLE), **ASKED | {"schema": schema})


def test_a_schema_cannot_forge_a_line_of_the_report(tmp_path: Path) -> None:
    schema = simulated_schema()
    event = schema.event.model_copy(update={"column": "x\nok   all is well\x1b[2J"})
    forged = schema.model_copy(update={"event": event})
    departures = list(schema_departures(load_form(EXAMPLE), forged))
    assert "x\\nok   all is well\\x1b[2J" in departures[0]
    assert all(departure.isprintable() for departure in departures)


def test_a_site_that_is_held_back_may_not_be_fitted(tmp_path: Path) -> None:
    content = changed("held_back", CONTENT["held_back"] | {"kind": "site", "sites": ["D", "C"]})
    form = load_form(written(content, tmp_path / "form.yaml"))
    with pytest.raises(Refused, match="C is held back, but the schema names it") as refused:
        allows(form, **ASKED)
    assert "D is held back" not in str(refused.value)


def test_the_forms_hash_is_that_of_its_exact_bytes(tmp_path: Path) -> None:
    path = tmp_path / "form.yaml"
    path.write_bytes(EXAMPLE.read_bytes() + b"# a comment\n")
    one, other = load_form(EXAMPLE), load_form(path)
    assert one.says == other.says
    assert one.sha256 != other.sha256
    assert one.sha256 == sha256(EXAMPLE.read_bytes()).hexdigest()


def rich_form(tmp_path: Path, **changes: object) -> Form:
    """The example, with what a schema of every kind of outcome answers by itself."""
    known = yaml.safe_load(blank_form(rich_schema()))
    facts = {k: known[k] for k in ("outcomes", "groups", "codes", "public_facts")}
    text = yaml.safe_dump(CONTENT | facts | changes, sort_keys=False).replace(FILL, "an answer")
    (tmp_path / "rich.yaml").write_text(text)
    return load_form(tmp_path / "rich.yaml")


def test_a_form_names_every_outcome_group_code_list_and_protected_combination(
    tmp_path: Path,
) -> None:
    form = rich_form(tmp_path)
    assert list(schema_departures(form, rich_schema())) == []
    survival, *others = form.says.outcomes
    assert (survival.name, survival.kind, survival.horizon) == (
        "survival", "time_to_event", "365 days",
    )  # fmt: skip
    assert [o.kind for o in others] == ["binary", "nominal", "ordinal", "ordinal", "continuous"]
    html, text = unescape(html_page(form)), markdown_page(form).replace("\\", "")
    for page in (html, text):
        for told in ("censored, dead, transplanted", "365 days", "time to event", "A01, B01, C07",
                     "65 to under 80", "band = 80 and over and sex = F"):  # fmt: skip
            assert told in page, told


RICH: dict[str, tuple[Callable[[Any], None], str]] = {
    "another horizon": (
        lambda s: s["outcomes"][0].update(horizon=730),
        "outcomes: survival: the schema has horizon 730 days; approved is 365 days",
    ),
    "another competing event": (
        lambda s: s["outcomes"][0]["status"].update(levels=["censored", "dead", "lost"]),
        "outcomes: survival: the schema has levels [censored, dead, lost]",
    ),
    "one outcome more": (
        lambda s: s["outcomes"].append({"name": "pain", "kind": "binary"}),
        "outcomes: the schema has pain, which is not approved",
    ),
    "one group less": (lambda s: s["groups"].pop(), "groups: payer is approved, but"),
    "one code more": (
        lambda s: s["codes"][0].update(levels=["A01", "B01", "C07", "D01"]),
        "codes: drugs: the schema has levels [A01, B01, C07, D01]",
    ),
    "other people protected": (
        lambda s: s.update(protected=[{"sex": "M"}]),
        "public_facts.protected: the schema has [sex = M]; approved is [band = 80",
    ),
}


@pytest.mark.parametrize("what", RICH)
def test_a_departure_is_named_by_the_name_of_its_outcome_group_or_list(
    what: str, tmp_path: Path
) -> None:
    edit, sentence = RICH[what]
    content = rich_content()
    edit(content)
    departures = list(schema_departures(rich_form(tmp_path), Schema.model_validate(content)))
    assert any(sentence in departure for departure in departures), departures
    assert HASH in departures[-1]


def test_a_form_that_names_one_outcome_and_one_audit_group_stays_valid(tmp_path: Path) -> None:
    """As forms did before there could be several."""
    content = json.loads(json.dumps(CONTENT))
    for many, one in (("outcomes", "outcome"), ("groups", "audit_group")):
        (entry,) = content.pop(many)
        content[one] = {k: v for k, v in entry.items() if k not in ("name", "kind")}
    del content["codes"], content["public_facts"]["protected"]
    form = load_form(written(content, tmp_path / "form.yaml"))
    assert form.says.outcomes == load_form(EXAMPLE).says.outcomes
    allows(form, **ASKED)
    edited = simulated_schema().model_copy(update={"event": None, "protected": None})
    departures = list(schema_departures(form, edited))
    assert departures[0] == "outcomes: event is approved, but the schema lacks it."
    content["outcome"] = content["audit_group"] = None
    assert load_form(written(content, tmp_path / "form.yaml")).says.groups == ()
    content["outcomes"] = []
    assert "did you mean 'outcomes'" in the_refusal(content, tmp_path)[0]


# --- releases -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return fit(random_cohort(120, 1), small_plan(120))


@pytest.fixture
def form_path(tmp_path: Path) -> Path:
    """A form that allows a fit of the small schema."""
    schema: Schema = small_schema()
    variables = yaml.safe_load(blank_form(schema))["public_facts"]["variables"]
    facts = {"schema_sha256": schema_sha256(schema), "variables": variables}
    return written(changed("public_facts", facts), tmp_path / "form.yaml")


def release_of(bundle: Bundle, folder: Path, **provenance: object) -> Path:
    folder.mkdir()
    found = Provenance(**{"fitted_by": FITTER, **provenance})  # type: ignore[arg-type]
    for name, content in release_files(Release(bundle, found)).items():
        (folder / name).write_bytes(content)
    return folder


def failures(release: Path, form: Path) -> list[str]:
    return [f.sentence for f in verify(release, governance=form) if not f.good]


def test_a_release_is_held_against_the_form_it_names(
    bundle: Bundle, form_path: Path, tmp_path: Path
) -> None:
    form = load_form(form_path)
    release = release_of(bundle, tmp_path / "release", governance=form.sha256)
    assert failures(release, form_path) == []
    told = [f.sentence for f in verify(release, governance=form_path)]
    assert any("fitted under this form" in s for s in told)
    assert any("form allows this schema, method, budget and fitter" in s for s in told)
    form_path.write_text(form_path.read_text() + "# one letter more\n")
    (failure,) = failures(release, form_path)
    assert f"ANOTHER form, SHA-256 {form.sha256}" in failure


def test_a_release_that_names_no_form_fails_under_any(
    bundle: Bundle, form_path: Path, tmp_path: Path
) -> None:
    (failure,) = failures(release_of(bundle, tmp_path / "release"), form_path)
    assert "names NO governance form" in failure


def test_naming_a_form_does_not_help_who_departed_from_it(
    bundle: Bundle, form_path: Path, tmp_path: Path
) -> None:
    tight = yaml.safe_load(form_path.read_text())
    tight["budget"] |= {"epsilon": 3.9, "book": "required"}
    tight["people"]["fit"] = ["someone else"]
    form = load_form(written(tight, form_path))
    found = failures(release_of(bundle, tmp_path / "r", governance=form.sha256), form_path)
    assert len(found) == 3
    for sentence, place in zip(found, ("budget.epsilon", "budget.book", "people.fit"), strict=True):
        assert f"the form does NOT allow this: {place}" in sentence


def test_the_dataset_in_the_book_is_the_one_approved(
    bundle: Bundle, form_path: Path, tmp_path: Path
) -> None:
    sha, cap = load_form(form_path).sha256, Budget(8, 1e-5, "zcdp")
    for name, expected in (("simulated deterioration cohort", 0), ("elsewhere", 1)):
        book = Receipt(1, "0" * 64, (Account(name, cap, bundle.ledger.spent),))
        release = release_of(bundle, tmp_path / name, governance=sha, book=book)
        assert len(failures(release, form_path)) == expected


def test_a_form_that_cannot_be_read_is_a_failed_check(bundle: Bundle, tmp_path: Path) -> None:
    release = release_of(bundle, tmp_path / "release")
    (tmp_path / "form.yaml").write_text("[")
    for path in (tmp_path / "form.yaml", tmp_path / "nowhere.yaml", tmp_path):
        (failure,) = failures(release, path)
        assert "a check stopped with" not in failure


def test_only_those_whom_the_form_names_may_sign(
    bundle: Bundle, form_path: Path, tmp_path: Path
) -> None:
    make_keys(tmp_path / "key")
    key = load_private(tmp_path / "key")
    release = release_of(bundle, tmp_path / "r", governance=load_form(form_path).sha256)
    for signer, told in (("a stranger", "NOT allow a stranger"), (None, "no name was given")):
        with pytest.raises(Refused, match=told):
            sign(release, key, signer=signer, governance=form_path)
    sign(release, key, signer="Data Steward", governance=form_path)
    assert failures(release, form_path) == []
    other = Path(shutil.copytree(release, tmp_path / "other"))
    (other / "signature.json").unlink()
    sign(other, key, signer="a stranger")
    assert any("does NOT allow a stranger to sign" in f for f in failures(other, form_path))


# --- its page -----------------------------------------------------------------------------------


def texts(content: object) -> Iterator[str]:
    for place in leaves(content):
        inner = content
        for step in place.split("."):
            inner = inner[int(step)] if isinstance(inner, list) else inner[step]  # type: ignore[index]
        if isinstance(inner, str):
            yield inner


def test_the_page_shows_every_answer() -> None:
    form = load_form(EXAMPLE)
    html, markdown = unescape(html_page(form)), markdown_page(form)
    for text in texts({k: v for k, v in CONTENT.items() if k != "protection"}):
        assert text in html, text
        assert text in markdown.replace("\\", ""), text
    for page in (html, markdown):
        for phrase in ("one patient's complete record", form.sha256, "10,000", "1e-05"):
            assert phrase in page


def test_the_page_stands_alone_and_runs_nothing() -> None:
    page = html_page(load_form(EXAMPLE))
    for word in ("<script", "http:", "https:", "src=", "href=", "@import", "url("):
        assert word not in page
    assert page.count("<style>") == 1


def hostile() -> Form:
    form = load_form(EXAMPLE)
    study = form.says.study.model_copy(update={"title": "</style><script>x()</script>| # *a*\nb"})
    return replace(form, says=form.says.model_copy(update={"study": study}))


def test_an_answer_cannot_break_out_of_the_page() -> None:
    assert "<script" not in html_page(hostile())
    assert html_page(hostile()).count("</style>") == 1
    title = markdown_page(hostile()).splitlines()[0]
    assert title == r"# Governance form: \</style\>\<script\>x()\</script\>\| \# \*a\*\\nb"


# --- the commands -------------------------------------------------------------------------------


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["governance", *map(str, arguments)])
    if isinstance(done.exception, Refused):
        return 2, f"{done.exception} [{done.exception.code}]"
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def test_the_commands_write_check_and_print_a_form(tmp_path: Path) -> None:
    schema, form = tmp_path / "schema.yaml", tmp_path / "form.yaml"
    schema.write_text(dump(simulated_schema()))
    code, told = run("new", "--out", form, "--schema", schema)
    assert (code, f"governance check {form} --schema {schema}" in told) == (0, True)
    code, told = run("check", form, "--schema", schema)
    assert (code, "study.title: not filled in yet" in told) == (2, True)
    assert f"The SHA-256 of {schema} is {CONTENT['public_facts']['schema_sha256']}." in told
    code, told = run("check", EXAMPLE, "--schema", schema)
    assert (code, f"{schema} complies with it." in told) == (0, True)
    assert "up to ε = 12, δ = 1e-05 per fit" in told
    assert load_form(EXAMPLE).sha256 in told
    for name, start in (("p.html", "<!doctype html>"), ("p.md", "# Governance form")):
        assert run("page", EXAMPLE, "--out", tmp_path / name)[0] == 0
        assert (tmp_path / name).read_text().startswith(start)
    code, told = run("json-schema")
    assert json.loads(told) == json_schema()


def test_the_check_notes_what_is_allowed_but_unwise(tmp_path: Path) -> None:
    content = changed("budget.delta", 1e-3)
    content["data"] |= {"valid_from": "2001-01-01", "valid_until": "2001-12-31"}
    code, told = run("check", written(content, tmp_path / "form.yaml"))
    assert code == 0
    for note in ("ended on 2001-12-31", "above 1/(10·N)", "not added up", "give --schema"):
        assert note in told


def test_refusals_of_the_commands_name_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("kept")
    (tmp_path / "s.yaml").write_text(simulated_text().replace("slots: 14", "slots: 15"))
    cases = (
        (Code.OUTPUT_EXISTS, ("new", "--out", tmp_path / "there.md")),
        (Code.OUTPUT_EXISTS, ("page", EXAMPLE, "--out", tmp_path / "there.md")),
        (Code.OPTION_UNUSABLE, ("page", EXAMPLE, "--out", tmp_path / "page.pdf")),
        (Code.FILE_MISSING, ("check", tmp_path / "nowhere.yaml")),
        (Code.FORM_NOT_MET, ("check", EXAMPLE, "--schema", tmp_path / "s.yaml")),
    )
    for refusal_code, arguments in cases:
        code, told = run(*arguments)
        assert (code, f"[{refusal_code}]" in told) == (2, True), told
    assert (tmp_path / "there.md").read_text() == "kept"


def test_a_hash_of_the_earlier_kind_is_refused_with_the_remedy(tmp_path: Path) -> None:
    schema: Schema = small_schema()
    variables = yaml.safe_load(blank_form(schema))["public_facts"]["variables"]
    facts = {"schema_sha256": _earlier_sha256(schema), "variables": variables}
    form = load_form(written(changed("public_facts", facts), tmp_path / "form.yaml"))
    (departure,) = (d for d in schema_departures(form, schema) if "sha256" in d)
    assert f"the schema's is {schema_sha256(schema)}, but the form states" in departure
    assert "earlier kind" in departure
