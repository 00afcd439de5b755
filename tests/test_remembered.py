"""Remembered: made once for an object that is asked for again, and anew for any other."""

from longsynth.encoding.scaling import scaling_of
from longsynth.system.remembered import remembered
from support import small_schema


def test_the_same_object_is_asked_once_and_an_equal_one_again() -> None:
    asked = []

    @remembered
    def number(listed: list[int]) -> int:
        asked.append(listed)
        return sum(listed)

    one, equal = [1, 2], [1, 2]
    assert [number(one), number(one), number(equal), number([5])] == [3, 3, 3, 5]
    assert asked == [[1, 2], [1, 2], [5]]


def test_a_schema_gets_its_own_scaling_and_not_the_last_one() -> None:
    schema = small_schema()
    first = schema.variables[0].model_copy(update={"bounds": (0.0, 1.0)})
    other = schema.model_copy(update={"variables": (first, *schema.variables[1:])})
    assert scaling_of(schema) is scaling_of(schema)
    assert scaling_of(other).half_ranges()[0] == 0.5
    assert scaling_of(schema).half_ranges()[0] != 0.5
