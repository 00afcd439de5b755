"""A first schema from names of columns or SDV's metadata. What they cannot tell is marked."""

import json
from pathlib import Path
from typing import Any

import pytest

import longsynth
from leaks.sentinels import found_in_error
from longsynth.schema.from_names import MARK, Columns, starting_schema
from longsynth.schema.suggest import Suggestion
from refusals import refused

ROWS, PEOPLE = ["patient_id", "time", "hr", "sbp"], ["patient_id", "group", "died"]
TWO_TABLES: dict[str, Any] = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {
        "visits": {
            "columns": {
                "who": {"sdtype": "id"},
                "seen": {"sdtype": "datetime", "datetime_format": "%Y"},
                "hr": {"sdtype": "numerical"},
                "glow": {"sdtype": "numerical"},
            }
        },
        "people": {
            "primary_key": "who",
            "columns": {
                "who": {"sdtype": "id", "regex_format": "ZQXW"},
                "died": {"sdtype": "boolean"},
                "colour": {"sdtype": "categorical"},
                "street": {"sdtype": "address", "pii": True},
            },
        },
    },
    "relationships": [{"parent_table_name": "people", "child_table_name": "visits"}],
}


def test_it_is_what_the_command_writes() -> None:
    draft = longsynth.Schema.suggest(ROWS, PEOPLE)
    assert draft.text == starting_schema("my cohort", Columns(tuple(ROWS), tuple(PEOPLE)))
    assert len(draft.marks) == sum(bool(MARK.search(line)) for line in draft.text.splitlines()) > 5
    assert len(repr(draft)) < 100


def test_a_schema_is_refused_until_every_mark_is_settled() -> None:
    draft = longsynth.Schema.suggest(ROWS, PEOPLE)
    with refused("marks-open"):
        draft.schema()
    settled = Suggestion("\n".join(line.split("  # C")[0] for line in draft.text.splitlines()))
    settled = Suggestion("\n".join(line.split("# CHECK")[0] for line in settled.text.splitlines()))
    names = [variable.column for variable in settled.schema().variables]
    assert names == ["hr", "sbp"]


def test_metadata_of_sdv_give_names_and_types_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(TWO_TABLES))
    for given in (TWO_TABLES, path, str(path)):
        draft = longsynth.Schema.suggest(given)
        assert "patient: {column: who}" in draft.text
        assert "time: {column: seen" in draft.text
        assert "event: {column: died" in draft.text
        assert "{name: glow, kind: continuous" in draft.text
        assert "{name: colour, kind: nominal, static: true" in draft.text
        assert "Left out: street" in draft.text
        assert "ZQXW" not in draft.text and "%Y" not in draft.text


def test_metadata_of_one_table_are_read_too() -> None:
    draft = longsynth.Schema.suggest(TWO_TABLES["tables"]["visits"])
    assert "patient: {column: who}" in draft.text and "column: hr" in draft.text


@pytest.mark.parametrize("given", [{}, {"tables": {}}, {"tables": 3}, {"columns": {"a": 1}}])
def test_what_is_no_metadata_is_refused(given: dict[str, Any]) -> None:
    with refused("columns-unknown"):
        longsynth.Schema.suggest(given)


def test_a_file_that_is_no_json_is_refused_without_a_word_of_it(tmp_path: Path) -> None:
    path = tmp_path / "metadata.json"
    path.write_text("ZQXW;1")
    with refused("file-unreadable") as caught:
        longsynth.Schema.suggest(path)
    assert not found_in_error(caught.value)


def test_names_that_may_be_cells_are_not_repeated() -> None:
    with refused("columns-unknown") as caught:
        longsynth.Schema.suggest(["patient_id", "77.313371337", "hr"])
    assert "313371337" not in str(caught.value)
