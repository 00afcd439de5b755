"""What a plan says about noise in a variable's own unit is what the noise does to it."""

import re

import numpy as np
import pytest
from numpy.random import default_rng

import longsynth
from longsynth.methods.copula_score.cells import WIDTH_MIDDLE, Cells, marginal, mean_noise
from longsynth.methods.registry import private_method


def _mean(cells: Cells, waves: np.ndarray, noise: np.ndarray) -> float:
    chances = np.linspace(0.0005, 0.9995, 1000)
    return float(marginal(cells, waves, noise).unit(chances).mean())


@pytest.mark.parametrize("cells", [Cells(None, 0.1, 0.08), Cells(None, -0.3, 0.2)])
def test_the_mean_of_a_marginal_varies_as_much_as_is_said(cells: Cells) -> None:
    rng = default_rng(5)
    people = cells.centre + WIDTH_MIDDLE * cells.scale * rng.standard_normal(200_000)
    table = cells.waves(12)
    exact = table[cells.of(people)].mean(axis=0)
    noise = 0.01 * np.sqrt(np.arange(1.0, 13.0))
    means = [_mean(cells, exact + rng.normal(0.0, noise), noise) for _ in range(150)]
    assert np.std(means) == pytest.approx(mean_noise(cells, noise), rel=0.25)


def test_a_share_of_yes_follows_from_its_one_wave() -> None:
    cells, noise = Cells(2), np.array([0.03])
    high, low = cells.waves(1)[:, 0]
    shift = 0.03 / (high - low)  # of the share
    assert mean_noise(cells, noise) == pytest.approx(2 * shift)


def _said(patients: int, method: str, line: str) -> str:
    schema = longsynth.simulated_schema()
    plan = longsynth.plan(schema, patients, epsilon=4, delta=1e-5, method=method)
    entry = next(e for e in plan.ledger.entries if e.statistic.name == line)
    lines = private_method(method).lines(plan.schema)
    return lines[line].noise_meaning(entry, patients)


@pytest.mark.parametrize(("method", "line"), [("copula-score", "marginals"), ("trust", "values")])
def test_noise_is_given_in_the_units_of_the_first_variables_and_shrinks_with_patients(
    method: str, line: str
) -> None:
    first = longsynth.simulated_schema().variables[0]
    few, many = (
        re.findall(rf"±([\d.]+) {re.escape(first.unit)} in the mean {first.name}", text)
        for text in (_said(500, method, line), _said(50_000, method, line))
    )
    assert float(few[0]) > 5 * float(many[0]) > 0
