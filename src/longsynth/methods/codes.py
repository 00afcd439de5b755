"""Ledger lines about codes from public lists, shared by all methods: who has which code, when, and
which codes come together. How to read these lines is in sampling/codes.py.

A patient has at most `cap` codes of each list, so at most K codes of all lists together; see
`counted_codes`. Every row here is a vector of zeros and ones with at most K ones, or 2K.
"""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from longsynth.encoding.record import COURSES, STARTS, code_labels, course_of, label_blocks
from longsynth.encoding.rows import Encoded, Encoder
from longsynth.methods.fact import Fact, by_column, each
from longsynth.methods.method import Line
from longsynth.methods.words import points
from longsynth.privacy.statistic import DIAGONAL, Statistic, kept
from longsynth.privacy.sums import Contribution, Rows
from longsynth.reading.records import Cohort
from longsynth.sampling.codes import CODE_PAIRS, CODE_TIMES, CODES
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Ints

CODE_SHARES = {CODES: Fraction(2, 25), CODE_TIMES: Fraction(1, 25), CODE_PAIRS: Fraction(3, 25)}


def most_codes(schema: Schema) -> int:
    """K: codes that count of one patient, of all lists together."""
    return sum(listed.cap for listed in schema.codes)


def code_lines(schema: Schema, shares: Mapping[str, Fraction]) -> list[Line]:
    """No line without codes."""
    if not schema.codes:
        return []
    size, most, blocks = len(schema.code_names), most_codes(schema), label_blocks(schema)
    ever = Statistic(
        CODES,
        "label × code that a patient ever has",
        "cross",
        right=size,
        right_squared=most,
        left=sum(blocks),
        left_squared=len(blocks),
    )
    when = Statistic(
        CODE_TIMES,
        "how each code of a patient starts and goes on",
        "cross",
        right=(STARTS + COURSES) * size,
        right_squared=2 * most,
        left=1,
        left_squared=1,
    )
    pairs = Statistic(CODE_PAIRS, "code × code", "gram", right=size, right_squared=most)
    return [
        Line(ever, shares[CODES], _ever_rows, _ever_noise),
        Line(when, shares[CODE_TIMES], _time_rows, _time_noise),
        Line(pairs, shares[CODE_PAIRS], _pair_rows, _pair_noise),
    ]


def _ever_rows(encoded: Encoded) -> Contribution:
    labels = code_labels(encoded.stratum, encoded.length, encoded.schema)
    return Contribution(encoded.ever_codes, labels)


def _pair_rows(encoded: Encoded) -> Contribution:
    return Contribution(encoded.ever_codes)


def _time_rows(encoded: Encoded) -> Contribution:
    return Contribution(_course_rows(encoded.codes, encoded.length), encoded.ones)


def _course_rows(given: Bools, length: Ints) -> Rows:
    """(n, (starts + courses)·C): one start and one course for each code, by what is public about
    the slots that are left. A record of one slot shows no start, and its last slot no course."""
    patient, code = np.nonzero(given.any(axis=1))
    start, course = course_of(given[patient, :, code], length[patient])
    marks = np.zeros((len(given), STARTS + COURSES, given.shape[2]), np.int8)
    for cell in (start, np.where(course >= 0, STARTS + course, -1)):
        shown = cell >= 0
        marks[patient[shown], cell[shown], code[shown]] = 1
    return marks.reshape(len(given), -1)


def _ever_noise(sd: float, number: int) -> str:
    return f"±{sd:.1f} patients with each code and label"


def _time_noise(sd: float, number: int) -> str:
    return f"±{sd:.1f} patients for each way in which a code starts or goes on"


def _pair_noise(sd: float, number: int) -> str:
    return f"±{points(sd / number)} in the share of patients with a code, or with two"


def code_facts(schema: Schema) -> list[Fact]:
    """Each patient has one level of each label; the diagonal of pairs counts the codes again."""
    lines = {line.name: line.statistic for line in code_lines(schema, CODE_SHARES)}
    if not lines:
        return []
    blocks, size, facts = label_blocks(schema), len(schema.code_names), []
    of_block = np.repeat(np.arange(len(blocks)), blocks)
    for block in range(1, len(blocks)):
        signs = (of_block == 0).astype(np.int64) - (of_block == block)
        same = {CODES: by_column(signs, size)}
        facts.append(Fact(f"'{CODES}' counts the same codes for every label", same))
    row, column = kept(lines[CODE_PAIRS])
    diagonal = each(np.flatnonzero(row == column), lines[CODE_PAIRS].dimension)
    once = by_column(DIAGONAL * (of_block == 0).astype(np.int64), size)
    both = {CODES: once, CODE_PAIRS: -diagonal}
    facts.append(Fact(f"'{CODES}' and '{CODE_PAIRS}' count the same codes", both))
    return facts


def exact_codes(cohort: Cohort, schema: Schema) -> dict[str, Ints]:
    """The same sums for a method without privacy."""
    totals: dict[str, Ints] = {}
    for batch in cohort.batches() if schema.codes else ():
        encoded = Encoder(schema)(batch)
        for line in code_lines(schema, CODE_SHARES):
            right, left = line.rows(encoded)
            ours = right if line.name == CODE_PAIRS else left
            total = ours.T.astype(np.float64) @ right.astype(np.float64)
            totals[line.name] = totals.get(line.name, np.int64(0)) + np.rint(total).astype(np.int64)
    return totals
