"""Summaries, paired tests and Holm's correction, against numbers worked out by hand."""

from math import isnan, sqrt

import pytest

from longsynth_lab.results import Results, Row
from longsynth_lab.statistics import compared, holm, less_published, summary, wilcoxon_p


def test_holm_multiplies_by_the_number_still_in_play_and_never_falls() -> None:
    # sorted: a .01 × 4 = .04, c .02 × 3 = .06, b .04 × 2 = .08, d .045 × 1 → held at .08
    found = holm({"a": 0.01, "b": 0.04, "c": 0.02, "d": 0.045})
    assert found == pytest.approx({"a": 0.04, "c": 0.06, "b": 0.08, "d": 0.08})


def test_holm_stops_at_one_and_leaves_out_what_was_not_tested() -> None:
    found = holm({"a": 0.6, "b": 0.5, "absent": float("nan")})
    assert found["b"] == 1.0
    assert found["a"] == 1.0
    assert isnan(found["absent"])


def test_five_differences_of_one_sign_have_the_smallest_exact_p() -> None:
    assert wilcoxon_p([0.1, 0.2, 0.3, 0.4, 0.5]) == pytest.approx(2 / 2**5)
    assert wilcoxon_p([0.0, 0.0, 0.0]) == 1.0


def test_a_summary_has_the_t_interval_of_its_mean() -> None:
    found = summary([1.0, 2.0, 3.0, float("nan")])
    assert (found.mean, found.sd, found.seeds) == (2.0, 1.0, 3)
    assert found.upper - found.mean == pytest.approx(4.302652729911275 / sqrt(3))  # t(.975, 2)
    assert isnan(summary([1.0]).lower)


def test_two_equal_means_differ_by_an_interval_around_zero() -> None:
    gap = less_published(summary([1.0, 2.0, 3.0, 4.0, 5.0]), 3.0, sqrt(2.5), 5)
    assert gap.mean == 0.0
    assert gap.contains(0.0)
    assert gap.upper == pytest.approx(2.306004135204166)  # t(.975, 8) · √(2.5/5 + 2.5/5)


def test_each_metric_is_a_holm_family_of_its_own_over_all_baselines() -> None:
    rows = [
        Row("comparison", method, seed, "main", "auprc", base + seed * step)
        for method, base, step in (("trust", 0.3, 0.01), ("a", 0.2, 0.02), ("b", 0.1, 0.03))
        for seed in range(5)
    ]
    tests = compared(Results(rows), "auprc", proposed="trust", baselines=("a", "b"))
    assert [test.baseline for test in tests] == ["a", "b"]
    assert [test.p for test in tests] == pytest.approx([2 / 32, 2 / 32])
    assert [test.holm for test in tests] == pytest.approx([4 / 32, 4 / 32])
    assert tests[0].difference.mean == pytest.approx(0.1 - 0.01 * 2)
