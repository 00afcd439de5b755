"""Back from encoded numbers to clinical units."""

import numpy as np

from longsynth.encoding.scaling import Scaling
from longsynth.schema.file import parse_text

SCHEMA = """
longsynth: 1
name: two
slots: 2
max_gap: 24
variables:
  - {name: pulse, kind: continuous, bounds: [0, 300], bounds_from: monitor}
  - {name: crp, kind: continuous, bounds: [0.1, 500], bounds_from: analyser, transform: log}
"""


def test_a_draw_beyond_any_number_is_cut_at_the_bound_without_a_warning() -> None:
    schema = parse_text(SCHEMA, "schema.yaml")
    assert [v.name for v in schema.variables if v.transform == "log"] == ["crp"]
    (crp,) = (place for place, v in enumerate(schema.variables) if v.name == "crp")
    bounds = schema.variables[crp].bounds
    assert bounds is not None
    drawn = Scaling(schema).from_unit(np.full((2, len(schema.variables)), [[1e6], [-1e6]]))
    assert drawn[:, crp].tolist() == [bounds[1], bounds[0]]


def test_a_value_is_rounded_where_one_reading_stands_for_a_slot_and_not_where_a_mean_does() -> None:
    text = SCHEMA.replace("from: monitor}", "from: monitor, resolution: 1}")
    rules = {
        "": 1.0,
        "slot_rule: {aggregate: mean}": 1.0,
        "slot_rule: {merge: 4, aggregate: mean}": 0.0,
        "slot_rule: {anchors: [crp], aggregate: mean}": 0.0,
        "slot_rule: {merge: 4}": 1.0,  # the lower median is a reading
    }
    for rule, step in rules.items():
        schema = parse_text(f"{text}{rule}\n", "schema.yaml")
        assert schema.steps == (step, 0.0), rule
        pulse = Scaling(schema).from_unit(np.full((1, 2), 0.0123))[0, 0]
        assert (pulse == round(pulse)) == bool(step), rule
