"""Times and levels are told in words that suit the schema."""

import pytest

from longsynth.schema.columns import time_unit
from longsynth.show.dossier.words import level_names, levels_of, meaning_of, metric_label
from ward import ward_schema


@pytest.mark.parametrize(
    ("spans", "unit"),
    [
        ((0.5,), "hours"),
        ((72, None), "hours"),
        ((24 * 30, 24 * 365), "days"),
        ((24 * 365, 24 * 90), "days"),
        ((17520, 8760), "months"),
        ((10 * 8766, None), "years"),
    ],
)
def test_the_unit_of_time_suits_the_shortest_public_span(
    spans: tuple[float | None, ...], unit: str
) -> None:
    assert time_unit(*spans).name == unit


def test_levels_have_names() -> None:
    sex = {"column": "sex", "levels": ["M", "F"], "meaning": "sex as recorded"}
    died = {"column": "died", "levels": [0, 1], "meaning": "death in hospital"}
    schema = ward_schema(group=sex, event=died)
    assert levels_of(schema, "group") == ("M", "F")
    assert levels_of(schema, "event") == ("death in hospital: no", "death in hospital: yes")
    assert metric_label(schema, "group1_site_B_auprc") == "AUPRC, F at site B"
    assert metric_label(schema, "visit_count_error_event1") == "slots used, death in hospital: yes"
    (oxygen,) = [v for v in schema.variables if v.name == "oxygen"]
    assert level_names(oxygen) == ["no", "yes"]


def test_levels_that_a_cohort_folder_codes_keep_their_names() -> None:
    sex = {"column": "sex", "levels": ["M", "F"], "meaning": "sex as recorded"}
    bare = {"column": "status", "levels": ["survived", "died"]}
    coded = ward_schema(group=sex, event=bare).canonical()
    assert coded.levels("group") == ("0", "1")
    assert levels_of(coded, "group") == ("M", "F")
    assert meaning_of(coded, "group") == "sex as recorded"
    assert levels_of(coded, "event") == ("survived", "died")
    assert meaning_of(coded, "event") == "event"
