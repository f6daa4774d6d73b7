"""The swap kernel against its plain twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import selection as reference

from setveil.text.swap_kernels import swap_towards


def run(*, rows, parts, wholes, order, size, target, tolerance, swaps):
    """Call the kernel on plain lists and return the new order, its sums and counts."""
    offsets = np.cumsum([0, *map(len, rows)])
    items = np.array([i for row in rows for i in row], dtype=np.int32)
    n_items = int(items.max(initial=-1)) + 1
    order = np.array(order)
    counts = np.zeros(n_items, dtype=np.int64)
    for record in order[:size]:
        counts[items[offsets[record] : offsets[record + 1]]] += 1
    parts, wholes = np.array(parts, dtype=np.int64), np.array(wholes, dtype=np.int64)
    part = parts[order[:size]].sum() + np.count_nonzero(counts)
    sums = np.array([part, wholes[order[:size]].sum()])
    leaving, entering = (np.array(side, dtype=np.int64) for side in zip(*swaps, strict=True))
    kept = swap_towards(
        offsets, items, parts, wholes, counts, order, sums, target, tolerance, leaving, entering
    )
    return order, kept, sums, counts


@st.composite
def cases(draw):
    n = draw(st.integers(2, 8))
    row = st.lists(st.integers(0, 6), max_size=5, unique=True).map(sorted)
    rows = draw(st.lists(row, min_size=n, max_size=n))
    parts = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    more = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    wholes = [a + len(row) + b for a, row, b in zip(parts, rows, more, strict=True)]
    size = draw(st.integers(1, n - 1))
    swap = st.tuples(st.integers(0, size - 1), st.integers(size, n - 1))
    return {
        "rows": rows,
        "parts": parts,
        "wholes": wholes,
        "order": draw(st.permutations(range(n))),
        "size": size,
        "target": draw(st.floats(0, 1)),
        "tolerance": draw(st.sampled_from([0.0, 0.01, 0.2])),
        "swaps": draw(st.lists(swap, min_size=1, max_size=20)),
    }


@given(cases())
def test_agrees_with_counting_anew(case):
    rows, parts, wholes = case["rows"], case["parts"], case["wholes"]
    order, kept, sums, counts = run(**case)
    assert (order.tolist(), kept) == reference.swap_towards(**case)
    chosen = order[: case["size"]].tolist()
    assert sums[1] == sum(wholes[r] for r in chosen)
    assert sums[0] == sum(parts[r] for r in chosen) + len({i for r in chosen for i in rows[r]})
    assert counts.tolist() == [sum(i in rows[r] for r in chosen) for i in range(len(counts))]


def test_counts_past_two_bytes():
    n, size = 70_001, 70_000
    rows = [[0, 1 + i] for i in range(size)] + [[0]]
    order, kept, sums, counts = run(
        rows=rows,
        parts=[0] * n,
        wholes=[len(row) for row in rows],
        order=range(n),
        size=size,
        target=0.0,
        tolerance=0.0,
        swaps=[(69_999, 70_000)],
    )
    assert kept == 1
    assert order[69_999] == 70_000
    assert sums.tolist() == [size, 2 * size - 1]
    assert counts[0] == size


def test_a_choice_without_a_ratio_takes_any_that_has_one():
    order, kept, sums, _ = run(
        rows=[[], []],
        parts=[0, 1],
        wholes=[0, 2],
        order=[0, 1],
        size=1,
        target=0.9,
        tolerance=0.0,
        swaps=[(0, 1)],
    )
    assert (order.tolist(), kept, sums.tolist()) == ([1, 0], 1, [1, 2])
