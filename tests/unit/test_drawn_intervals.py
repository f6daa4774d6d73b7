"""The upper ends of rates over clusters are upper ends, also where clusters are few."""

import numpy as np
import pytest

from setveil.measure.elimination import drawn_tables, interval


@pytest.mark.parametrize("units", [2, 4, 8, 20])
@pytest.mark.parametrize("rate", [0.05, 0.2, 0.6])
def test_the_truth_is_seldom_above_the_upper_end(rate, units):
    rng = np.random.default_rng(units)
    draws, tries, missed = drawn_tables(units), 400, 0
    for _ in range(tries):
        own = rng.beta(rate * 10, 10 - rate * 10, size=units)  # clusters differ
        sizes = rng.integers(5, 40, size=units)
        right = rng.binomial(sizes, own)
        found = interval(right.sum() / sizes.sum(), (draws @ right) / (draws @ sizes), units=units)
        assert 0 <= found.low <= found.value <= found.high <= 1
        missed += found.high < rate
    assert missed / tries <= 0.07  # 2.5% by the name; the middle 95% of the draws misses up to 25%


def test_units_that_agree_are_still_few():
    same = interval(0.0, np.zeros(500), units=20)
    assert 0.1 < same.high < 0.25
    assert interval(0.0, np.zeros(500), units=200).high < same.high
    assert interval(-0.5, np.full(9, -0.5), units=9, least=-1.0).low < -0.5
