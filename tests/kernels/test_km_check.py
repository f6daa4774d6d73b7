"""The counting kernel of the k^m check against recounting every itemset."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.km import supports

from setveil.guarantee.km_kernels import FOUND, SETS, STEPS, keep_rarest, rare_itemsets

FREE = np.iinfo(np.int64).max


def laid_out(rows, n_items):
    """Return records of ascending numbers as the kernel takes them."""
    items = np.array([item for row in rows for item in row], dtype=np.int32)
    ends = np.repeat(np.cumsum([len(row) for row in rows], dtype=np.int64), [len(r) for r in rows])
    held = np.bincount(items, minlength=n_items)
    return items, ends, np.concatenate([[0], np.cumsum(held)]), np.argsort(items, kind="stable")


def count(rows, n_items, size, k, *, shown=5, limit=10**9, parts=1):
    arrays = laid_out(rows, n_items)
    rarest, itemsets = np.full(shown, FREE), np.full((shown, size), -1, dtype=np.int32)
    state = np.zeros(3, dtype=np.int64)
    bounds = np.linspace(0, n_items, parts + 1).astype(int).tolist()
    done = [
        rare_itemsets(*arrays, first, last, k, limit, rarest, itemsets, state)
        for first, last in pairwise(bounds)
    ]
    return all(done), state, rarest, itemsets


def expected(rows, size, k):
    """Return the rare sets of a size by support and items, and whether smaller ones are fine."""
    counts = supports(rows, size)
    rare = sorted((n, items) for items, n in counts.items() if len(items) == size and n < k)
    return rare, all(n >= k for items, n in counts.items() if len(items) < size), counts


def assert_same(rows, n_items, size, k, **options):
    rare, _, counts = expected(rows, size, k)
    done, state, rarest, itemsets = count(rows, n_items, size, k, **options)
    assert done
    assert state[FOUND] == len(rare)
    found = [
        (n, tuple(items))
        for n, items in zip(rarest.tolist(), itemsets.tolist(), strict=True)
        if n != FREE
    ]
    assert found == rare[: len(rarest)]
    if size == 2:
        assert state[SETS] == sum(len(items) == 2 for items in counts)


def sets_of(n_items, max_rows=14):
    row = st.sets(st.integers(0, n_items - 1), max_size=6).map(sorted)
    return st.lists(row, max_size=max_rows)


@given(sets_of(6), st.integers(2, 5), st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_pairs(rows, k, parts):
    assert_same(rows, 6, 2, k, parts=parts)


@given(sets_of(5, max_rows=5), st.integers(3, 5), st.integers(2, 4), st.integers(2, 4))
@settings(max_examples=200, deadline=None)
def test_larger_sets_where_smaller_ones_are_frequent(rows, size, k, copies):
    """Copies make the small sets frequent; the largest record stands alone once."""
    rows = [row for row in rows for _ in range(copies)]
    _, applies, _ = expected(rows, size, k)
    if applies:
        assert_same(rows, 5, size, k)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_larger_sets_that_are_rare(size):
    """Every set of all items but one is frequent, the set of all is not."""
    everything = list(range(size))
    rows = [[i for i in everything if i != left_out] for left_out in everything] * 3
    rows.append(everything)
    rare, applies, _ = expected(rows, size, 3)
    assert applies
    assert rare == [(1, tuple(everything))]
    assert_same(rows, size, size, 3)


def test_an_item_of_all_records_is_passed_over():
    rows = [[0, 1, 2, 3]] * 5
    done, state, _, _ = count(rows, 4, 4, 5)
    assert done
    assert (state[FOUND], state[SETS]) == (0, 0)
    assert state[STEPS] == 5 * (4 + 3 + 2 + 1)


def test_nothing_at_all():
    assert count([], 0, 2, 3)[0]
    assert count([[], [0], []], 1, 2, 3)[1].tolist() == [0, 1, 0]


def test_the_limit_stops_and_is_told():
    rows = [[0, 1, 2]] * 4 + [[1, 2, 3]] * 4
    done, state, _, _ = count(rows, 4, 3, 2, limit=20)
    assert not done
    assert state[STEPS] > 20


def test_more_than_65536_records_and_items():
    rng = np.random.default_rng(0)
    n_items = 66_000
    head = rng.integers(0, 40, (70_000, 3))
    tail = rng.integers(n_items - 40, n_items, (70_000, 2))
    rows = [sorted(set(row)) for row in np.hstack([head, tail]).tolist()]
    assert_same(rows, n_items, 2, 45, shown=20, parts=3)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(4, 6)), unique=True))
@settings(max_examples=200, deadline=None)
def test_the_rarest_are_kept_in_order(entries):
    rarest, itemsets = np.full(4, FREE), np.full((4, 2), -1, dtype=np.int32)
    for support, first, last in entries:
        keep_rarest(rarest, itemsets, support, np.array([first, 0], dtype=np.int32), last)
    kept = sorted(entries)[:4]
    assert rarest[: len(kept)].tolist() == [support for support, _, _ in kept]
    assert itemsets[: len(kept)].tolist() == [[first, last] for _, first, last in kept]
