"""The elimination kernels against plain NumPy that computes everything anew in every round."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.reference import elimination as reference

from setveil.attack.elimination.elimination_kernels import (
    eliminate_by_groups,
    eliminate_by_weight,
    eliminate_in_order,
)

# Few different values give many ties; the others none.
few = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
shapes = st.tuples(st.integers(1, 9), st.integers(1, 7))
tables = st.one_of(
    shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=few)),
    shapes.flatmap(
        lambda shape: st.integers(0, 2**32).map(
            lambda seed: np.random.default_rng(seed).gamma(2.0, size=shape)
        )
    ),
)
RULES = {False: reference.Counting, True: reference.Redistributing}


@pytest.mark.parametrize("redistribute", [False, True])
@given(table=tables)
def test_groups_as_the_reference(redistribute, table):
    cells, decided, threshold, _, final = reference.by_groups(table, RULES[redistribute])
    got, gaps, limit, weighted = eliminate_by_groups(table, redistribute)
    assert list(map(tuple, got.tolist())) == cells
    assert reference.by_groups_in_arrays(table, RULES[redistribute]) == cells
    assert gaps.tolist() == decided
    assert limit == pytest.approx(threshold, rel=1e-12)
    np.testing.assert_array_equal(weighted, final)
    assert (~np.isnan(weighted)).any(axis=0).all()
    assert (~np.isnan(weighted)).any(axis=1).all()


@given(table=tables)
def test_weights_as_the_reference(table):
    cells, decided, threshold = reference.wba(table)
    got, values, limit = eliminate_by_weight(table)
    assert list(map(tuple, got.tolist())) == cells
    assert values.tolist() == decided
    assert limit == pytest.approx(threshold, rel=1e-12)


@given(table=tables, threshold=few)
def test_order_as_the_reference(table, threshold):
    rows, columns = np.indices(table.shape).reshape(2, -1)
    order = np.lexsort((columns, rows, -table.ravel()))
    order = order[table.ravel()[order] > threshold]
    gone = order[eliminate_in_order(rows[order], columns[order], table.shape)]
    cells = list(zip(rows[gone].tolist(), columns[gone].tolist(), strict=True))
    assert cells == reference.above(table, threshold)


@pytest.mark.parametrize("redistribute", [False, True])
def test_a_table_with_more_rows_than_16_bits(redistribute):
    table = np.zeros((70_000, 2))
    table[69_000:69_005, 0] = [0.9, 0.5, 0.8, 0.6, 0.7]
    cells, _, _, weighted = eliminate_by_groups(table, redistribute)
    assert cells.tolist() == [[69_000 + row, 0] for row in (0, 2, 4, 3, 1)]
    assert np.isnan(weighted).sum() == 5
    cells, _, _ = eliminate_by_weight(table)
    assert cells.tolist() == [[69_000 + row, 0] for row in (0, 2, 4, 3, 1)]
