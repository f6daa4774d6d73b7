import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil.anonymize.set_generalization.cover_kernels import (
    common_bits,
    join,
    rare_pattern,
    record_patterns,
    shared_supports,
    tid_bits,
)

ITEMS = 6
records = st.lists(st.sets(st.integers(0, ITEMS - 1)), max_size=140)


def compressed(rows):
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return offsets, np.array([i for row in rows for i in sorted(row)], dtype=np.int32)


def bits_of(rows, n_items=ITEMS):
    return tid_bits(*compressed(rows), n_items)


def as_set(words):
    return {64 * w + b for w, word in enumerate(words.tolist()) for b in range(64) if word >> b & 1}


@settings(deadline=None)
@given(records)
def test_bits_are_the_records_of_items(rows):
    bits = bits_of(rows)
    assert bits.shape == (ITEMS, (len(rows) + 63) // 64)
    for item in range(ITEMS):
        assert as_set(bits[item]) == {r for r, row in enumerate(rows) if item in row}


@settings(deadline=None)
@given(records, st.integers(0, ITEMS - 1), st.sets(st.integers(0, ITEMS - 1)))
def test_unions(rows, chosen, within):
    bits = bits_of(rows)
    others = np.array([i for i in range(ITEMS) if i != chosen], dtype=np.int64)
    among = common_bits(bits, np.array(sorted(within), dtype=np.int64))
    shared, inside = shared_supports(bits, chosen, others, among)
    for other, both, part in zip(others.tolist(), shared.tolist(), inside.tolist(), strict=True):
        either = [row for row in rows if row & {chosen, other}]
        assert both == sum(row >= {chosen, other} for row in rows)
        assert part == sum(within <= row for row in either)
    other = int(others[0])
    expected = as_set(bits[chosen]) | as_set(bits[other])
    both = as_set(bits[chosen]) & as_set(bits[other])
    assert join(bits, chosen, other) == len(both)
    assert as_set(bits[chosen]) == expected


@settings(deadline=None)
@given(records, st.sets(st.integers(0, ITEMS - 1), min_size=1), st.integers(1, 9))
def test_what_records_hold_and_too_few_share(rows, chosen, k):
    places = sorted(chosen)
    patterns = record_patterns(bits_of(rows), np.array(places, dtype=np.int64))
    held = [sum(1 << places.index(i) for i in row & chosen) for row in rows if row & chosen]
    assert patterns.tolist() == sorted(held)
    rare = {}
    for pattern in held:
        support = sum(other & pattern == pattern for other in held)
        if support < k:
            rare[pattern] = support
    found, support = rare_pattern(patterns, k)
    if not rare:
        assert support == 0
    else:
        assert support == max(rare.values())
        assert found == min(p for p, s in rare.items() if s == support)


def test_more_than_65536_records_and_64_items():
    n = 70_000
    rows = [{r % 64} for r in range(n)]
    bits = bits_of(rows, 64)
    shared, unions = shared_supports(
        bits, 0, np.arange(1, 64), common_bits(bits, np.array([], dtype=np.int64))
    )
    assert not shared.any()
    assert unions.sum() == 63 * len(range(0, n, 64)) + sum(
        len(range(i, n, 64)) for i in range(1, 64)
    )
    patterns = record_patterns(bits, np.arange(64))
    assert len(patterns) == n
    assert int(patterns[-1]) == 1 << 63
    assert rare_pattern(patterns, n)[1] == len(range(0, n, 64))
    assert rare_pattern(patterns, 1000)[1] == 0
