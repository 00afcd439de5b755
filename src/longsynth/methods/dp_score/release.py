"""The lines of `dp-score`, in one pass."""

from functools import partial

import numpy as np

from longsynth.encoding.rows import Encoded, on_grid
from longsynth.encoding.scaling import grid_of
from longsynth.methods import lines
from longsynth.methods.dp_score.settings import SHARES, SQUARES
from longsynth.methods.method import Line, Stage
from longsynth.privacy.sums import Contribution
from longsynth.schema.schema import Schema


def score_lines(schema: Schema) -> Stage:
    size, grid, shares = schema.width, grid_of(schema), lines.shares_of(SHARES, schema)
    squares = lines.sum_of(  # z² - ½ lies within ±½
        SQUARES, "squared encoded value, centred", size, size * grid**2 // 4, grid
    )
    return (
        lines.strata(schema, shares),
        lines.values(schema, shares),
        Line(squares, shares[SQUARES], _square_rows, partial(lines.squares_noise, schema)),
        *lines.unconditional(schema, shares),
    )


def _square_rows(encoded: Encoded) -> Contribution:
    grid = encoded.encoder.grid
    squares = np.where(encoded.columns_in_use, (encoded.values / grid) ** 2 - 0.5, 0.0)
    return Contribution(on_grid(squares, grid), encoded.ones)
