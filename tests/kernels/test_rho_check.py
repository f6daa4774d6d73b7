"""The kernels behind ρ-uncertainty against plain sets: merging, counting, reserving, searching."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import rho as reference

from setveil.guarantee.rho_kernels import (
    CHOSEN,
    DONE,
    FOUND,
    FRESH,
    PAUSED,
    TOTAL,
    WITHOUT,
    Frames,
    Marks,
    bit_rows,
    count_pairs,
    count_without,
    merge_rows,
    reserve,
    search,
    sort_numbers,
)
from setveil.guarantee.rho_rules import build_index
from setveil.kernels.rows import transpose

WIDTH = 6
row_lists = st.lists(st.sets(st.integers(0, WIDTH - 1)), max_size=30)
thresholds = st.sampled_from([(1, 2), (1, 1), (2, 3), (1, 5), (9, 10)])
ENDLESS = 1 << 40


def compressed(rows):
    offsets = np.cumsum([0, *map(len, rows)])
    return offsets, np.array([x for row in rows for x in sorted(row)], dtype=np.int32)


def indexed(rows, *, covers=None):
    """Return the index of some rows, those rows in its numbers, and the number of each item.

    `covers` makes all items have bit covers, or none.
    """
    index, numbers = build_index(*compressed(rows), WIDTH)
    if covers is not None:
        begin = 0 if covers else len(numbers)
        made = bit_rows(index.list_starts, index.list_rows, begin, len(index.weights))
        index = index._replace(covers=made)
    bounds = zip(index.row_starts[:-1], index.row_starts[1:], strict=True)
    plain = [set(index.row_items[a:b].tolist()) for a, b in bounds]
    return index, plain, numbers


def marks_of(index):
    return Marks(*np.zeros((3, len(index.weights)), np.int64))


@given(row_lists)
@settings(max_examples=100, deadline=None)
def test_index(rows):
    index, plain, numbers = indexed(rows)
    named = Counter(
        {
            frozenset(numbers[list(row)].tolist()): w
            for row, w in zip(plain, index.weights, strict=True)
        }
    )
    assert named == Counter(frozenset(row) for row in rows if row)
    assert [len(row) for row in plain] == sorted(map(len, plain), reverse=True)
    frequency = [sum(x in row for row in plain) for x in range(len(numbers))]
    assert frequency == sorted(frequency)
    for x in range(len(numbers)):
        held = index.list_rows[index.list_starts[x] : index.list_starts[x + 1]].tolist()
        assert held == [t for t, row in enumerate(plain) if x in row]
        assert index.supports[x] == sum(
            w for row, w in zip(plain, index.weights, strict=True) if x in row
        )
    for row, sign in zip(plain, index.signs, strict=True):
        assert int(sign) == sum(1 << x for x in row)


@given(row_lists, st.integers(0, WIDTH))
@settings(max_examples=50, deadline=None)
def test_bits(rows, begin):
    offsets, items = compressed(rows)
    starts, lists = transpose(offsets, items, WIDTH)
    bits = bit_rows(starts, lists, begin, len(rows))
    for x in range(begin, WIDTH):
        found = {t for t in range(len(rows)) if int(bits[x - begin, t >> 6]) >> (t & 63) & 1}
        assert found == {t for t, row in enumerate(rows) if x in row}


def test_more_than_65536_rows():
    rng = np.random.default_rng(0)
    n = 70_000
    numbers = rng.integers(0, 66_000, n)
    first, copies, _ = merge_rows(np.arange(n + 1), numbers.astype(np.int32), np.arange(66_000))
    expected = Counter(numbers.tolist())
    assert dict(zip(numbers[first].tolist(), copies.tolist(), strict=True)) == expected
    starts, rows = transpose(np.arange(n + 1), numbers.astype(np.int32), 66_000)
    assert np.array_equal(np.sort(rows), np.arange(n))
    assert np.array_equal(np.diff(starts), np.bincount(numbers, minlength=66_000))
    bits = bit_rows(starts, rows, 65_990, n)
    assert [int(np.bitwise_count(row).sum()) for row in bits] == [
        expected[x] for x in range(65_990, 66_000)
    ]


@given(st.lists(st.integers(-5, 50)))
@settings(max_examples=50, deadline=None)
def test_sorting(numbers):
    array = np.array(numbers, dtype=np.int64)
    sort_numbers(array)
    assert array.tolist() == sorted(numbers)


@given(row_lists, thresholds, st.integers(0, 1), st.integers(0, 100))
@settings(max_examples=100, deadline=None)
def test_pairs(rows, threshold, strict, steps):
    index, plain, numbers = indexed(rows)
    p, q = threshold
    weights = index.weights.tolist()

    def weight(itemset):
        return sum(w for row, w in zip(plain, weights, strict=True) if itemset <= row)

    sensitive = np.arange(len(numbers))
    expected = {
        (a, x, weight({a, x}))
        for a in sensitive.tolist()
        for x in range(len(numbers))
        if x != a and weight({a, x}) and weight({a, x}) * q >= p * weight({x}) + strict
    }
    room = np.empty((WIDTH, 3), dtype=np.int64)
    place, found = 0, []
    while place < len(sensitive):
        place, n_found = count_pairs(index, sensitive, place, p, q, strict, False, room, steps)
        found += map(tuple, room[:n_found].tolist())
    assert sorted(found) == sorted(expected)
    room = np.empty((WIDTH + 1, 3), dtype=np.int64)  # the best so far leaves room for the rest
    _, n_best = count_pairs(index, sensitive, 0, p, q, strict, True, room, ENDLESS)
    assert n_best == bool(expected)
    if n_best:
        best = max(Fraction(both, weight({x})) for _, x, both in expected)
        assert Fraction(int(room[0, 2]), weight({int(room[0, 1])})) == best


@given(row_lists, thresholds, st.booleans(), st.integers(0, 60))
@settings(max_examples=150, deadline=None)
def test_reserving(rows, threshold, covers, steps):
    index, plain, numbers = indexed(rows, covers=covers)
    p, q = threshold
    marks = marks_of(index)
    for tick, a in enumerate(range(len(numbers)), start=1):
        expected = reference.reserve(plain, index.weights.tolist(), a, Fraction(p, q))
        margins, unmet = np.empty(len(expected), np.int64), np.empty(len(expected), np.bool_)
        held = [t for t, row in enumerate(plain) if a in row]
        place, hits = 0, []
        while place < len(expected):
            place, hit = reserve(
                index, a, p, q, 0, ENDLESS, tick, marks, margins, unmet, place, steps
            )
            hits += [hit] if hit >= 0 else []
        for j, (margin, short) in enumerate(expected):
            if plain[held[j]] == {a}:
                assert margins[j] > ENDLESS
                assert not unmet[j]
                continue
            assert (margins[j], unmet[j]) == (margin, short)
            weight = int(index.weights[held[j]])
            assert (j in hits) == (Fraction(weight, weight + margin) >= Fraction(p, q))


@given(row_lists, st.sets(st.integers(0, WIDTH - 1), min_size=1), st.booleans())
@settings(max_examples=100, deadline=None)
def test_counting(rows, itemset, covers):
    index, plain, numbers = indexed(rows, covers=covers)
    if max(itemset) >= len(numbers):
        return
    marks = marks_of(index)
    marks.holder[::2] = 1
    expected = sum(int(index.weights[t]) for t, row in enumerate(plain) if t % 2 and itemset <= row)
    seen, _ = count_without(index, np.array(sorted(itemset)), 1, marks, ENDLESS)
    assert seen == expected
    few, _ = count_without(index, np.array(sorted(itemset)), 1, marks, 0)
    assert (few > 0) == (expected > 0)


def new_search(index, a, *, margins):
    n_items, k = len(index.supports), int(index.list_starts[a + 1] - index.list_starts[a])
    state = np.zeros(5, dtype=np.int64)
    state[FRESH] = 1
    sizes, borders, places, starts = np.zeros((4, WIDTH + 3), dtype=np.int64)
    sizes[0] = k
    marks = marks_of(index)
    marks.holder[index.list_rows[index.list_starts[a] : index.list_starts[a + 1]]] = 1
    frames = Frames(
        np.arange(k), sizes, borders, places, starts, np.empty(WIDTH * WIDTH, np.int64),
        np.empty(n_items, np.int64), *np.zeros((2, n_items), np.bool_), state,
    )  # fmt: skip
    return marks, margins, np.ones(k, np.bool_), frames


@given(row_lists, thresholds, st.booleans(), st.sampled_from([0, 7, ENDLESS]))
@settings(max_examples=150, deadline=None)
def test_searching_without_any_certificate(rows, threshold, bounded, steps):
    """Every row counts as unmet, with a margin of nothing or the true one: the search alone."""
    index, plain, numbers = indexed(rows)
    (p, q), weights = threshold, index.weights.tolist()
    spread = [row for row, w in zip(plain, weights, strict=True) for _ in range(w)]
    for a in range(len(numbers)):
        expected = reference.violations(spread, Fraction(p, q), [a], prior=False)
        true = [margin for margin, _ in reference.reserve(plain, weights, a, Fraction(p, q))]
        margins = np.array(true if bounded else [0] * len(true), dtype=np.int64)
        marks, margins, unmet, frames = new_search(index, a, margins=margins)
        said = PAUSED
        while said == PAUSED:
            said = search(index, a, p, q, 0, 1, marks, margins, unmet, frames, steps)
        assert said == (FOUND if expected else DONE)
        if said == FOUND:
            known = frozenset(frames.chosen[: frames.state[CHOSEN]].tolist())
            both, without = int(frames.state[TOTAL]), int(frames.state[WITHOUT])
            assert expected[known, a] == (both + without, Fraction(both, both + without))


@pytest.mark.parametrize("covers", [False, True])
def test_long_rows(covers):
    """Rows of 5 items with a, each within one of 6 without: the certificate alone decides."""
    rows = [set(range(WIDTH)) - {0}] * 3 + [set(range(WIDTH))]
    index, _, numbers = indexed(rows, covers=covers)
    a = int(np.flatnonzero(numbers == 0)[0])
    margins, unmet = np.empty(1, np.int64), np.empty(1, np.bool_)
    for p, q, hit in ((1, 4, 0), (1, 3, -1)):
        done = reserve(index, a, p, q, 0, -1, 1, marks_of(index), margins, unmet, 0, ENDLESS)
        assert done == (1, hit)
