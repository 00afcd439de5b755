"""The lines about codes: what one patient can move, and what all patients add up to."""

import numpy as np
import pytest

from code_cohorts import code_cohort, code_schema, with_given
from longsynth.encoding.record import counted_codes
from longsynth.encoding.rows import Encoder
from longsynth.methods.codes import CODE_SHARES, code_facts, code_lines, exact_codes, most_codes
from longsynth.methods.method import Line
from longsynth.privacy.sums import add_up
from longsynth.reading.records import Cohort
from longsynth.sampling.codes import CODE_PAIRS, CODE_TIMES, CODES
from longsynth.schema.record import given_codes
from longsynth.schema.schema import Schema
from support import SLOTS, one_patient, replaced

WIDE = {"codes": [{"name": "drugs", "cap": 2, "levels": [f"d{i}" for i in range(12)]}]}


def lines_of(schema: Schema) -> list[Line]:
    return code_lines(schema, CODE_SHARES)


def sums(cohort: Cohort, schema: Schema, line: Line) -> list[int]:
    contribution = line.rows(Encoder(schema)(cohort))
    return add_up(line.statistic, contribution).total.tolist()


def patient(schema: Schema, cells: object, **labels: int) -> Cohort:
    given = np.zeros((1, SLOTS, len(schema.code_names)), bool)
    given[0][cells] = True
    return with_given(one_patient(**labels), given)


def hostile(schema: Schema) -> list[Cohort]:
    """Records that want to move a line as far as they can."""
    size = len(schema.code_names)
    everything = patient(schema, (slice(None), slice(None)), group=1, event=1, site=2)
    bits = np.full((1, SLOTS, everything.codes.shape[2] + 1), 255, np.uint8)
    fields = {name: getattr(everything, name) for name in Cohort.__slots__}
    return [
        everything,
        Cohort(**fields | {"codes": bits}),  # bits that belong to no code
        patient(schema, (slice(None), slice(0, 2))),
        patient(schema, (slice(None), slice(size - 2, size)), event=1),
        patient(schema, (0, slice(None))),
        patient(schema, (SLOTS - 1, slice(None)), group=1),
        patient(schema, (slice(0, SLOTS, 2), slice(None)), length=SLOTS),
        patient(schema, (slice(None), slice(None)), length=0, event=1),
        patient(schema, (slice(None), slice(None)), length=99, site=-7, group=9, event=9),
        patient(schema, (slice(0, 0), slice(0, 0))),
    ]


@pytest.mark.parametrize("more", [{}, WIDE], ids=["two lists", "one list"])
def test_no_record_moves_a_line_past_its_sensitivity(more: dict[str, object]) -> None:
    schema = code_schema(**more).resolved(30)
    cohort, others = code_cohort(30, schema, share=0.3), hostile(schema)
    for line in lines_of(schema):
        base = sums(cohort, schema, line)
        moved = [sums(replaced(cohort, 4, _fitting(cohort, o)), schema, line) for o in others]
        for one in [base, *moved]:
            for other in moved:
                distance = sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
                assert distance <= line.statistic.row_sensitivity_squared, line.name


def _fitting(cohort: Cohort, other: Cohort) -> Cohort:
    fields = {name: getattr(other, name) for name in Cohort.__slots__}
    return Cohort(**fields | {"codes": other.codes[:, :, : cohort.codes.shape[2]]})


def test_the_sensitivity_of_pairs_is_reached() -> None:
    schema = code_schema(**WIDE).resolved(30)
    line = next(line for line in lines_of(schema) if line.name == CODE_PAIRS)
    first, last = patient(schema, (0, slice(0, 2))), patient(schema, (0, slice(10, 12)))
    apart = np.array(sums(first, schema, line)) - np.array(sums(last, schema, line))
    reached = float((apart**2).sum() / line.statistic.row_sensitivity_squared)
    assert 0.95 < reached <= 1


@pytest.mark.parametrize("more", [{}, WIDE], ids=["two lists", "one list"])
def test_rows_of_any_record_stay_inside_their_radii(more: dict[str, object]) -> None:
    schema = code_schema(**more).resolved(30)
    for cohort in [code_cohort(50, schema, share=0.5), *hostile(schema)]:
        encoded = Encoder(schema)(cohort)
        for line in lines_of(schema):
            right, left = line.rows(encoded)
            assert set(np.unique(right)) <= {0, 1}
            assert (right.sum(axis=1, dtype=int) <= line.statistic.right_squared).all(), line.name
            if line.statistic.left:
                assert (left.sum(axis=1, dtype=int) == line.statistic.left_squared).all()


def test_rows_of_a_patient_are_the_same_in_any_company() -> None:
    schema = code_schema().resolved(30)
    cohort = code_cohort(30, schema, share=0.5)
    for line in lines_of(schema):
        right, left = line.rows(Encoder(schema)(cohort))
        for i in (0, 17):
            alone = line.rows(Encoder(schema)(cohort.take(np.array([i]))))
            assert (alone.right[0] == right[i]).all(), line.name
            assert line.statistic.left == 0 or (alone.left[0] == left[i]).all(), line.name


def test_the_codes_given_first_count_and_then_those_first_in_the_list() -> None:
    schema = code_schema(**WIDE)
    given = np.zeros((1, SLOTS, 12), bool)
    given[0, 2, [0, 1]] = True
    given[0, 1, [9, 5, 7]] = True
    kept = counted_codes(with_given(one_patient(), given), schema)
    assert list(np.flatnonzero(kept.any(axis=(0, 1)))) == [5, 7]
    late = counted_codes(with_given(one_patient(length=1), given), schema)
    assert not late.any(), "slots past the end of a record hold nothing"


def test_a_code_twice_in_a_slot_counts_once_and_every_later_slot_counts_for_its_course() -> None:
    schema = code_schema(**WIDE).resolved(9)
    once, on = patient(schema, (0, 3)), patient(schema, (slice(None), 3))
    ever, when, pairs = lines_of(schema)
    assert sums(once, schema, ever) == sums(on, schema, ever)
    assert sums(once, schema, pairs) == sums(on, schema, pairs)
    assert sums(once, schema, when) != sums(on, schema, when)


@pytest.mark.parametrize("more", [{}, WIDE, {"site": None, "group": None, "length": "full"}])
def test_what_verify_knows_of_the_lines_holds_for_every_patient(more: dict[str, object]) -> None:
    schema = code_schema(**more).resolved(9)
    released = {line.name: line for line in lines_of(schema)}
    assert code_facts(schema)
    for record in [*hostile(schema), code_cohort(1, schema, share=0.5)]:
        totals = {n: np.array(sums(record, schema, line)) for n, line in released.items()}
        for fact in code_facts(schema):
            total = sum(weights @ totals[name] for name, weights in fact.weights.items())
            assert (total == fact.value).all(), fact.says


def test_methods_without_privacy_learn_the_same_sums() -> None:
    schema = code_schema().resolved(40)
    cohort = code_cohort(40, schema)
    exact = exact_codes(cohort, schema)
    ever = counted_codes(cohort, schema).any(axis=1).astype(int)
    assert (exact[CODE_PAIRS] == ever.T @ ever).all()
    assert set(exact) == {CODES, CODE_TIMES, CODE_PAIRS}
    assert exact[CODES][:3].sum() == ever.sum(), "the sites come first"
    assert (ever.sum(axis=1) <= most_codes(schema)).all()
    assert len(given_codes(cohort.codes)[0]) > ever.sum()
