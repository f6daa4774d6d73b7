"""The uniqueness curve against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import uniqueness as reference
from tests.strategies import tables

from setveil import TransactionTable
from setveil.core.errors import InputError, ParameterError
from setveil.measure.uniqueness import uniqueness
from setveil.synthetic import lookalike


@given(tables(min_rows=1), st.integers(1, 4))
def test_counting_agrees_with_the_definition(table, m):
    rate = uniqueness(table, m)
    assert rate.exact
    assert rate.value == pytest.approx(float(reference.uniqueness(table.to_rows(), m)))
    assert rate.low == rate.value == rate.high


@given(tables(min_rows=1, max_length=5), st.integers(2, 3))
def test_every_sampled_answer_agrees_with_the_definition(table, m):
    # With nothing countable and many draws from few (record, itemset) pairs, the estimate can
    # only stay near the truth if each single answer is right.
    truth = float(reference.uniqueness(table.to_rows(), m))
    samples = 400
    rate = uniqueness(table, m, samples=samples, countable=-1, rng=np.random.default_rng(5))
    assert not rate.exact
    assert rate.low <= rate.value <= rate.high
    if truth in {0.0, 1.0}:
        assert rate.value == truth
    assert abs(rate.value - truth) < 5 * (truth * (1 - truth) / samples) ** 0.5 + 1e-9


@pytest.mark.parametrize("m", [1, 2, 3])
def test_bags_count_as_sets(m):
    rows = [["a", "a", "b"], ["a", "b", "b"], ["a", "c", "c"]]
    bag = TransactionTable.from_rows(rows, bags=True)
    assert uniqueness(bag, m) == uniqueness(TransactionTable.from_rows(rows), m)


def test_an_empty_record_is_single_only_when_alone():
    assert uniqueness(TransactionTable.from_rows([[]]), 2).value == 1.0
    assert uniqueness(TransactionTable.from_rows([[]]), 1).value == 1.0
    assert uniqueness(TransactionTable.from_rows([[], []]), 2).value == 0.0
    assert uniqueness(TransactionTable.from_rows([[]]), 2, countable=-1).value == 1.0


def test_sampling_agrees_with_counting_on_larger_data():
    table = lookalike("bms-webview-2", n=5000, seed=3).table
    for m in (2, 3):
        exact = uniqueness(table, m, countable=10**8)
        assert exact.exact
        estimate = uniqueness(table, m, samples=4000, countable=0, rng=np.random.default_rng(1))
        assert abs(estimate.value - exact.value) < 0.035
        assert 0.0 < exact.value < 1.0


def test_knowing_more_singles_out_more():
    table = lookalike("aol", n=3000).table
    values = [uniqueness(table, m).value for m in (1, 2, 3, 4)]
    assert values == sorted(values)
    assert values[-1] > values[0]


def test_the_same_table_gives_the_same_answer():
    table = lookalike("aol", n=2000).table
    assert uniqueness(table, 3) == uniqueness(table, 3)


def test_itemsets_whose_keys_would_overflow_are_sampled():
    table = TransactionTable.from_rows([[f"i{n}" for n in range(40)], ["i1"], ["i2"]])
    assert not uniqueness(table, 14).exact  # 40 ** 14 does not fit into 64 bits


@pytest.mark.parametrize(("m", "samples"), [(0, 10), (-1, 10), (2, 0)])
def test_wrong_parameters_are_refused(m, samples):
    with pytest.raises(ParameterError):
        uniqueness(TransactionTable.from_rows([["a"]]), m, samples=samples)


def test_an_empty_table_is_refused():
    with pytest.raises(InputError, match="empty table"):
        uniqueness(TransactionTable.from_rows([]), 1)
