"""Gather's kernels against plain Python, exactly."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import gather as plain

from setveil.anonymize.k_anonymity import gather_kernels as exchange_kernels
from setveil.anonymize.k_anonymity import gather_kernels as kernels

MAX_NODES = 9


@st.composite
def problems(draw, max_records=14):
    """Sparse vectors over a few nodes, some empty, some alike, and a k they can be grouped by."""
    n_nodes = draw(st.integers(1, MAX_NODES))
    vector = st.dictionaries(st.integers(0, n_nodes - 1), st.integers(1, 5), max_size=n_nodes)
    pool = draw(st.lists(vector, min_size=1, max_size=6))
    vectors = draw(st.lists(st.sampled_from(pool), min_size=2, max_size=max_records))
    k = draw(st.integers(2, max(2, len(vectors) // 2)))
    heads = draw(st.integers(1, n_nodes))
    return vectors, n_nodes, min(k, len(vectors)), heads


def arrays(vectors, dtype=np.int32):
    starts = np.concatenate([[0], np.cumsum([len(v) for v in vectors])]).astype(np.int64)
    nodes = np.array([node for v in vectors for node in v], dtype=np.int32)
    weights = np.array([w for v in vectors for w in v.values()], dtype=dtype)
    return starts, nodes, weights


def heads_of(vectors, heads):
    return [[v.get(h, 0) for h in range(heads)] for v in vectors]


def clusters_of(order, borders):
    return [order[a:b].tolist() for a, b in pairwise(borders)]


@given(problem=problems())
@settings(deadline=None, max_examples=150)
def test_dense_heads_and_sums_are_the_vectors(problem):
    vectors, _, _, heads = problem
    starts, nodes, weights = arrays(vectors)
    heavy = kernels.dense_heads(starts, nodes, weights, heads, 0)
    assert heavy.tolist() == heads_of(vectors, heads)
    halved = kernels.dense_heads(starts, nodes, weights, heads, 1)
    assert halved.tolist() == [[w // 2 for w in row] for row in heads_of(vectors, heads)]
    assert kernels.row_sums(starts, weights).tolist() == [plain.total(v) for v in vectors]


@given(problem=problems(max_records=20), limit=st.integers(1, 12))
@settings(deadline=None, max_examples=300)
def test_every_split_is_a_best_one(problem, limit):
    vectors, _, k, heads = problem
    limit = max(limit, 2 * k - 1)
    heavy = heads_of(vectors, heads)
    order = np.arange(len(vectors))
    borders = kernels.split_by_counts(np.array(heavy, dtype=np.int32), order, k, limit, limit, 4096)
    cells = clusters_of(order, borders)
    assert sorted(order.tolist()) == list(range(len(vectors)))
    assert all(len(cell) >= k for cell in cells)
    assert all(len(cell) <= limit for cell in cells)
    # Among splits of equal gain the kernel may take another: the first one's gain must agree.
    expected = plain.split(heavy, list(range(len(vectors))), k, limit, limit)
    if len(vectors) > limit:
        assert (len(cells) > 1) == (len(expected) > 1)
        node, at = kernels._best_split(
            np.array(heavy, dtype=np.int32), np.arange(len(vectors)), k, 4096
        )
        best = plain.split_gain(heavy, list(range(len(vectors))), k)
        if node < 0:
            assert best == 0
        else:
            column = [row[node] for row in heavy]
            above = sum(w >= at for w in column)
            assert k <= above <= len(column) - k
            assert (at - min(column)) * above == best


def test_inseparable_records_are_cut_into_pieces():
    heavy = np.ones((23, 3), dtype=np.int32)
    borders = kernels.split_by_counts(heavy, np.arange(23), 5, 9, 5, 4096)
    assert np.diff(borders).tolist() == [5, 5, 5, 8]


@given(problem=problems(), width=st.integers(2, 20))
@settings(deadline=None, max_examples=200)
def test_growing_clusters(problem, width):
    vectors, n_nodes, k, heads = problem
    width = max(width, k)
    starts, nodes, weights = arrays(vectors)
    heavy = heads_of(vectors, heads)
    block = np.arange(len(vectors))[::-1].copy()
    dense = np.zeros(n_nodes, dtype=np.int64)
    order, borders = kernels.grow_clusters(
        starts, nodes, weights, np.array(heavy, dtype=np.int32),
        kernels.row_sums(starts, weights), 0, block, k, width, dense,
    )  # fmt: skip
    expected = plain.grow(vectors, heavy, block.tolist(), k, width)
    assert clusters_of(order, borders) == expected
    assert not dense.any()
    own = kernels.row_sums(starts, weights)
    found = kernels.cells_value(starts, nodes, weights, own, order, borders, dense)
    assert found == plain.value(vectors, expected)
    assert not dense.any()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_exchange_does_what_plain_recomputation_does(dtype, data):
    vectors, n_nodes, k, heads = data.draw(problems(max_records=16))
    window = data.draw(st.integers(1, 4))
    tries = data.draw(st.integers(1, 4))
    starts, nodes, weights = arrays(vectors, dtype)
    heavy = heads_of(vectors, heads)
    order = np.array(data.draw(st.permutations(range(len(vectors)))), dtype=np.int64)
    sizes = [k] * (len(vectors) // k)
    sizes[-1] += len(vectors) % k
    borders = np.concatenate([[0], np.cumsum(sizes)])
    clusters = clusters_of(order, borders)
    label = exchange_kernels.exchange(
        starts, nodes, weights, np.array(heavy, dtype=np.int32), n_nodes, order, borders,
        k, window, tries, 3,
    )  # fmt: skip
    expected = plain.Exchange(vectors, heavy, clusters, k=k, window=window, tries=tries).run(3)
    found = [np.flatnonzero(label == c).tolist() for c in range(len(clusters))]
    assert found == [sorted(c) for c in expected]
    assert plain.value(vectors, expected) >= plain.value(vectors, clusters)


def test_exchange_grows_its_pool_of_entries():
    # Long records that share nothing at first: the summaries outgrow their first room.
    rng = np.random.default_rng(7)
    topic = rng.integers(0, 6, size=120)
    vectors = [{int(v): int(rng.integers(1, 9)) for v in range(t * 50, t * 50 + 50)} for t in topic]
    order = rng.permutation(120)
    borders = np.arange(0, 121, 4)
    starts, nodes, weights = arrays(vectors)
    heavy = kernels.dense_heads(starts, nodes, weights, 64, 0)
    label = exchange_kernels.exchange(
        starts, nodes, weights, heavy, 300, order, borders, 4, 30, 8, 6
    )
    clusters = [np.flatnonzero(label == c).tolist() for c in range(30)]
    reference = plain.Exchange(
        vectors, heavy.tolist(), clusters_of(order, borders), k=4, window=30, tries=8
    ).run(6)
    assert clusters == [sorted(c) for c in reference]


def test_more_than_65536_nodes_and_records():
    n = 70_000
    starts = np.arange(n + 1, dtype=np.int64) * 2
    nodes = np.stack([np.arange(n) // 2 * 2, np.arange(n) // 2 * 2 + 1], axis=1).ravel()
    weights = np.full(2 * n, 3, dtype=np.int32)
    heavy = kernels.dense_heads(starts, nodes.astype(np.int32), weights, 64, 0)
    assert heavy[:64].sum() == 64 * 6
    assert heavy[64:].sum() == 0
    order = np.arange(n)
    borders = np.arange(0, n + 1, 2)
    own = kernels.row_sums(starts, weights)
    dense = np.zeros(n, dtype=np.int64)
    nodes = nodes.astype(np.int32)
    assert kernels.cells_value(starts, nodes, weights, own, order, borders, dense) == n * 6
    label = exchange_kernels.exchange(starts, nodes, weights, heavy, n, order, borders, 2, 2, 2, 1)
    assert np.array_equal(label, np.arange(n) // 2)
