"""The equivocation kernel against every partition, and on more values than 16 bits count."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import equivocation as reference

from setveil.measure.equivocation import least_entropy


@given(
    st.dictionaries(st.integers(0, 20), st.integers(1, 9), min_size=1, max_size=7),
    st.lists(st.integers(0, 20), min_size=1, max_size=3),
)
def test_twin(weights, widths):
    values = sorted(weights)
    whole = sum(weights.values())
    found = least_entropy(
        np.array(values, dtype=np.float64),
        np.array([weights[v] / whole for v in values]),
        np.array(widths, dtype=np.float64),
    )
    chances = [Fraction(weights[v], whole) for v in values]
    truth = [reference.equivocation(values, chances, width) for width in widths]
    assert found.tolist() == pytest.approx(truth, abs=1e-9)


def test_many_values_and_none_wide_enough():
    n = 70_000
    chances = np.full(n, 1 / n)
    found = least_entropy(np.arange(n, dtype=np.float64), chances, np.array([0.0, 1.0]))
    assert found.tolist() == pytest.approx([np.log2(n), np.log2(n / 2)], abs=1e-6)
