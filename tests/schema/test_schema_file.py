"""schema.yaml: what is said about a mistake, what YAML would misread, and the way back."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longsynth.schema.constants import Constants
from longsynth.schema.file import dump, load_schema, parse_text
from longsynth.schema.schema import Labels, Schema, SlotRule, Time
from longsynth.schema.variable import Variable
from longsynth.system.errors import SchemaError
from longsynth.system.text import text_problem

GOOD = """\
longsynth: 1
name: ward study
slots: 4
max_gap: 48
group: {column: sex, levels: [m, f]}
site: {column: ward, levels: [A, B]}
protected:
  - {group: f, event: 1}
variables:
  - name: pulse
    kind: continuous
    bounds: [20, 220]
    bounds_from: a monitor
  - name: oxygen
    kind: binary
constants:
  steps: 10
"""


def the_refusal(text: str) -> str:
    with pytest.raises(SchemaError) as refused:
        parse_text(text, "s.yaml")
    return str(refused.value)


def with_edit(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def test_a_good_file_is_read() -> None:
    schema = parse_text(GOOD, "s.yaml")
    assert (schema.slots, schema.sites, schema.constants.steps) == (4, ("A", "B"), 10)
    assert [v.name for v in schema.variables] == ["pulse", "oxygen"]


EDITS = {  # what is written instead, the line, the place, the remedy
    "missing key": ("max_gap: 48\n", "", 1, "max_gap", "is required; add it"),
    "missing key of a variable": (
        "    kind: binary\n",
        "",
        14,
        "variables.2.kind",
        "is required; add it",
    ),
    "wrong format version": ("longsynth: 1", "longsynth: 2", 1, "longsynth", "should be 1"),
    "wrong type": ("slots: 4", "slots: many", 3, "slots", "valid integer"),
    "wrong choice": ("kind: binary", "kind: flag", 15, "variables.2.kind", "'binary'"),
    "no finite number": ("max_gap: 48", "max_gap: .inf", 4, "max_gap", "finite number"),
    "too few levels": ("[m, f]", "[m]", 5, "group.levels", "at least two levels"),
    "levels twice": ("[A, B]", "[A, A]", 6, "site.levels", "must differ"),
    "empty level": ("[A, B]", "[A, '']", 6, "site.levels.2", "at least 1 character"),
    "level that is null": ("[A, B]", "[A, ~]", 6, "site.levels.2", "valid string"),
    "unknown protected level": ("event: 1", "event: 2", 8, "protected.1.event", "none of 0, 1"),
    "bounds that fall": ("[20, 220]", "[220, 20]", 12, "variables.1.bounds", "must rise"),
    "one bound": ("[20, 220]", "[20]", 12, "variables.1.bounds.2", "is required; add it"),
    "no bounds": ("    bounds: [20, 220]\n", "", 10, "variables.1", "give bounds"),
    "no source": ("    bounds_from: a monitor\n", "", 10, "variables.1", "bounds_from"),
    "constant out of range": ("steps: 10", "steps: 0", 17, "constants.steps", "or equal to 1"),
    "constants at odds": (
        "steps: 10",
        "missing_min: 0.99",
        17,
        "constants.missing_min",
        "below missing_max",
    ),
    "constants that need more": (
        "steps: 10",
        "encoding: reference",
        10,
        "variables.1",
        "centre and scale",
    ),
    "misspelt key": ("name: ward", "nam: ward", 2, "nam", "did you mean 'name'"),
    "misspelt key of a variable": (
        "    bounds: [20",
        "    bouns: [20",
        12,
        "variables.1.bouns",
        "did you mean 'bounds'",
    ),
    "misspelt key of labels": ("sex, levels", "sex, level", 5, "group.level", "mean 'levels'"),
    "misspelt key of a rule": (
        "event: 1",
        "evnt: 1",
        8,
        "protected.1.evnt",
        "none of site, group, event",
    ),
    "misspelt constant": ("steps", "stepps", 17, "constants.stepps", "did you mean 'steps'"),
    "key like no other": ("steps", "zzz", 17, "constants.zzz", "remove it"),
}


@pytest.mark.parametrize("case", EDITS)
def test_a_mistake_is_reported_with_its_line_its_place_and_a_remedy(case: str) -> None:
    old, new, line, place, remedy = EDITS[case]
    reports = the_refusal(with_edit(old, new)).splitlines()
    (report,) = [r for r in reports if f": {place}: " in r]
    assert report.startswith(f"s.yaml, line {line}: ")
    assert remedy in report


def test_all_mistakes_are_reported_at_once_in_the_order_of_their_lines() -> None:
    text = GOOD.replace("slots: 4", "slots: 0").replace("kind: binary", "kind: flag")
    reports = the_refusal(text).splitlines()
    assert [r.split(": ")[0] for r in reports] == ["s.yaml, line 3", "s.yaml, line 15"]


MISREAD = {
    "yes as a level": ("[m, f]", "[no, yes]", 5, "YAML reads no as a truth value. Quote it"),
    "on as a name": ("name: oxygen", "name: on", 14, "YAML reads on as a truth value. Quote it"),
    "yes as a number": ("slots: 4", "slots: yes", 3, "YAML reads yes as a truth value. Quote it"),
    "octal": ("[A, B]", "[010, 011]", 6, "YAML reads 010 as another number. Quote it"),
    "hexadecimal": ("[A, B]", "[A, 0x1F]", 6, "YAML reads 0x1F as another number. Quote it"),
    "base sixty": ("[A, B]", "[A, 12:30]", 6, "YAML reads 12:30 as another number. Quote it"),
    "underscore": ("slots: 4", "slots: 1_0", 3, "YAML reads 1_0 as another number. Quote it"),
    "date": ("[A, B]", "[A, 2020-01-31]", 6, "YAML reads 2020-01-31 as a date. Quote it"),
    "no date": ("ward study", "2020-13-45", 2, "YAML reads 2020-13-45 as a date. Quote it"),
    "truth value as a key": ("slots: 4", "on: 4", 3, "a key must be a word"),
    "number as a key": ("slots: 4", "4: 4", 3, "a key must be a word"),
    "null as a key": ("slots: 4", "~: 4", 3, "a key must be a word"),
    "merge key": ("slots: 4", "<<: {slots: 4}", 3, "a key must be a word"),
    "list as a key": ("slots: 4", "? [slots]\n: 4", 3, "a key must be a word"),
    "key twice": ("slots: 4", "slots: 4\nslots: 5", 4, "'slots' is given twice. Keep one"),
    "inner key twice": ("[m, f]}", "[m, f], levels: [f, m]}", 5, "'levels' is given twice"),
    "alias": ("slots: 4", "slots: &t 4\nname2: *t", 4, "alias (*name). Write the value out"),
    "tab": ("slots: 4", "\tslots: 4", 3, "indent with spaces"),
    "open bracket": ("[A, B]", "[A, B", 6, "brackets"),
    "open quote": ("ward study", "'ward study", 18, "quotes"),
    "two documents": ("slots: 4", "---\nslots: 4", 3, "not YAML"),
    "tag of another language": ("slots: 4", "slots: !!python/none x", 3, "not YAML"),
    "bell": ("ward study", "ward\x07study", 2, "a control character. Remove it"),
}


@pytest.mark.parametrize("case", MISREAD)
def test_what_yaml_would_misread_is_refused_with_its_line(case: str) -> None:
    old, new, line, remedy = MISREAD[case]
    message = the_refusal(with_edit(old, new))
    assert message.startswith(f"s.yaml, line {line}: ")
    assert remedy in message


def test_quoted_words_and_codes_are_levels_like_any_other() -> None:
    text = with_edit("[A, B]", "['no', 'yes', '010', '0x1F', '12:30', '2020-01-31', 'null']")
    found = parse_text(text, "s.yaml").sites
    assert found == ("no", "yes", "010", "0x1F", "12:30", "2020-01-31", "null")


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "ward study", "- slots: 4", "---\n", "42"])
def test_a_file_that_is_no_mapping_is_told_how_to_start(text: str) -> None:
    assert the_refusal(text) == (
        "s.yaml, line 1: not a YAML mapping. Start with 'longsynth: 1', and write one key per line."
    )


@pytest.mark.parametrize("text", ["a: !!int x", "slots: " + "9" * 5000])
def test_yaml_that_no_schema_needs_is_refused(text: str) -> None:
    assert the_refusal(text) == "s.yaml, line 1: YAML cannot read it. Write simple values."


@pytest.mark.parametrize(
    "text", ["[" * 900_000, "{" * 900_000, "- " * 300_000], ids=["[", "{", "-"]
)
def test_endless_nesting_is_refused_at_once(text: str) -> None:
    assert "lists within lists" in the_refusal(text)


def refusal_of_file(path: Path) -> str:
    with pytest.raises(SchemaError) as refused:
        load_schema(path)
    return str(refused.value)


def test_a_file_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    for number, mark in enumerate([b"", b"\xef\xbb\xbf"]):
        path = tmp_path / str(number)
        path.write_bytes(mark + GOOD.replace("ward study", "Zürich").encode())
        assert load_schema(path).name == "Zürich"


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path, named in ((tmp_path / "none.yaml", "none.yaml"), (tmp_path, "schema.yaml")):
        assert refusal_of_file(path).startswith(
            f"{tmp_path / named} does not exist. Write it with "
        )


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes(GOOD.replace("ward study", "Zürich").encode("latin-1"))
    assert refusal_of_file(path) == f"{path}, line 2: not UTF-8. Save it as text in UTF-8."


@pytest.mark.parametrize("content", [bytes(range(256)), b"\x00" * 64, b"PAR1" + b"\x01" * 64])
def test_binary_garbage_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "garbage.yaml"
    path.write_bytes(content)
    assert re.match(rf"{path}, line [12]: ", refusal_of_file(path))


@pytest.mark.parametrize("letter", ["x", "ü"])  # of one byte and of two
def test_a_file_over_one_megabyte_is_refused_unread(letter: str, tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_bytes(GOOD.encode() + b"#" + letter.encode() * (2_000_000 // len(letter.encode())))
    assert "over 1 MB" in refusal_of_file(path)


# one printable line in any script: what a person types as a unit, a meaning, a source
printable = st.characters(exclude_categories=("C", "Zl", "Zp"))
words = st.text(printable, max_size=30).filter(lambda text: text_problem(text) is None)
level_names = words.filter(bool)
some_words = words.filter(lambda w: bool(w.strip()))
names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).map("x".__add__)
numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 9))  # far enough apart for bounds


@st.composite
def variables(draw: st.DrawFn, name: str) -> Variable:
    kind = draw(st.sampled_from(["continuous", "ordinal", "binary", "nominal"]))
    shared = {"name": name, "unit": draw(words), "kind": kind, "column": draw(words)}
    shared["aggregate"] = draw(st.sampled_from([None, "last"]))
    if kind == "nominal" or (kind != "continuous" and draw(st.booleans())):
        number = 2 if kind == "binary" else draw(st.integers(2, 5))
        shared["levels"] = draw(
            st.lists(level_names, min_size=number, max_size=number, unique=True)
        )
        return Variable.model_validate(shared)
    if kind == "binary":
        return Variable.model_validate(shared)
    if kind == "ordinal":
        low = draw(st.integers(-100, 100))
        bounds = (low, low + draw(st.integers(1, 100)))
    else:
        bounds = tuple(sorted(draw(st.lists(numbers, min_size=2, max_size=2, unique=True))))
    more = {
        "bounds": draw(st.sampled_from([bounds, (0, 1)])),
        "bounds_from": draw(some_words),
        "scale": draw(st.none() | st.floats(1e-6, 1e6)),
    }
    more["centre"] = draw(st.none() | st.just(more["bounds"][0]))
    if kind == "continuous" and more["bounds"][0] > 0:
        more["transform"] = draw(st.sampled_from(["none", "log"]))
    return Variable.model_validate(shared | more)


def labels(least: int, most: int) -> st.SearchStrategy[Labels]:
    levels = st.lists(level_names, min_size=least, max_size=most, unique=True)
    return st.builds(Labels, column=words, levels=levels, meaning=words)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    two = labels(2, 2) | st.just(Labels(column="group", levels=("0", "1")))
    group, event, site = draw(two), draw(two), draw(st.none() | labels(1, 5))
    rule = st.fixed_dictionaries(
        {"group": st.sampled_from(group.levels)},
        optional={
            "event": st.sampled_from(event.levels),
            "site": st.sampled_from(site.levels if site else ("all",)),
        },
    )
    constants = st.builds(
        Constants,
        clip_radius=st.none() | st.floats(1e-3, 1e3),
        ridge=st.floats(1e-12, 1e3),
        steps=st.integers(1, 1000),
    )
    unit = st.sampled_from(["seconds", "minutes", "hours", "days", "timestamp"])
    named = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    listed = [draw(variables(name)) for name in named]
    for v in range(1, len(listed)):
        if draw(st.booleans()):
            listed[v] = listed[v].model_copy(update={"static": True, "aggregate": None})
    over_time = [v.name for v in listed if not v.static]
    rule_of_slots = st.builds(
        SlotRule,
        anchors=st.lists(st.sampled_from(over_time), unique=True).map(tuple),
        merge=st.floats(0, 1e6),
        horizon=st.none() | st.floats(1e-6, 1e6),
        aggregate=st.sampled_from(["mean", "median", "last", "min", "max"]),
    )
    return Schema(
        longsynth=1,
        name=draw(some_words),
        slots=draw(st.integers(1, 2000)),
        max_gap=draw(st.floats(1e-3, 1e9)),
        time=draw(st.builds(Time, column=words, unit=unit)),
        group=group,
        event=event,
        site=site,
        protected=draw(st.none() | st.lists(rule, max_size=3).map(tuple)),
        length=draw(st.sampled_from(["variable", "full"])),
        slot_rule=draw(rule_of_slots),
        variables=tuple(listed),
        constants=draw(st.just(Constants()) | constants),
    )


@settings(max_examples=100, deadline=None)
@given(schemas())
def test_every_schema_comes_back_from_its_file(schema: Schema) -> None:
    assert parse_text(dump(schema), "s.yaml") == schema


@settings(max_examples=30, deadline=None)
@given(schemas(), st.integers(1, 10**8))
def test_a_settled_schema_comes_back_with_every_constant_it_states(schema: Schema, n: int) -> None:
    resolved = schema.resolved(n)
    back = parse_text(dump(resolved), "s.yaml")
    assert back.constants.model_fields_set == set(Constants.model_fields)
    assert back.resolved(n) == resolved


@settings(max_examples=30, deadline=None)
@given(schemas())
def test_the_canonical_schema_of_any_schema_is_one(schema: Schema) -> None:
    canonical = parse_text(dump(schema.canonical()), "s.yaml")
    assert canonical == schema.canonical()
    assert canonical.protected_strata.tolist() == schema.protected_strata.tolist()


def test_what_is_left_at_its_default_is_not_written() -> None:
    written = dump(parse_text(GOOD, "s.yaml"))
    assert re.findall("^[a-z_]+", written, re.MULTILINE) == [
        *("longsynth", "name", "slots", "max_gap", "group", "site"),
        *("protected", "variables", "constants"),
    ]


def test_the_example_in_the_documentation_is_a_schema() -> None:
    page = Path(__file__).parents[2] / "docs" / "schema.md"
    (example,) = re.findall(
        r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    schema = parse_text(example, "docs/schema.md")
    used = {key for key in Schema.model_fields if re.search(rf"^{key}:", example, re.MULTILINE)}
    assert used == set(Schema.model_fields) - {"source", "visits"}, "which have parts of their own"
    assert {v.kind for v in schema.variables} == {"continuous", "ordinal", "binary", "nominal"}
    by_outcomes = {
        "role",
        "status",
        "otherwise",
        "origin",
        "bands",
    }  # which `outcomes` and `groups` write
    shown = {key for v in schema.variables for key in v.model_fields_set} | {"source"} | by_outcomes
    assert shown == set(type(schema.variables[0]).model_fields), "every key of a variable"
    assert set(SlotRule.model_fields) == schema.slot_rule.model_fields_set
