"""Vectors and least common generalizations against their definitions."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.lcg import Tree, lcg

from setveil import Taxonomy, TransactionTable
from setveil.anonymize.base import leaf_rows
from setveil.anonymize.k_anonymity.clusters import node_vectors, publish_clusters
from setveil.anonymize.k_anonymity.vector_kernels import least_common_generalizations


@st.composite
def cases(draw):
    """A random tree, and bags of any of its nodes."""
    n = draw(st.integers(2, 12))
    parents = {f"n{i:02}": f"n{draw(st.integers(0, i - 1)):02}" for i in range(1, n)}
    names = st.sampled_from(sorted({*parents, "n00"}))
    rows = draw(st.lists(st.lists(names, max_size=5), min_size=1, max_size=8))
    return parents, rows


def below(parents, node, row):
    """How many items of `row` lie at or below `node`."""
    count = 0
    for item in row:
        while item is not None and item != node:
            item = parents.get(item)  # noqa: PLW2901
        count += item == node
    return count


@given(case=cases())
@settings(deadline=None, max_examples=200)
def test_vectors_hold_weighted_counts(case):
    parents, rows = case
    table = TransactionTable.from_rows(rows, bags=True)
    prepared = leaf_rows(table, Taxonomy.from_parents(parents))
    vectors = node_vectors(prepared)
    tree = prepared.taxonomy
    above = {tree.ids[v]: tree.ids[tree.parents[v]] for v in range(1, len(tree))}
    leaves = dict(zip(tree.ids, tree.leaves.tolist(), strict=True))
    gamma = {v: leaves[p] - leaves[v] for v, p in above.items()}
    for i in range(len(vectors)):
        row = [tree.ids[v] for v in prepared.leaves[prepared.offsets[i] : prepared.offsets[i + 1]]]
        expected = Counter(gamma[v] * c for v in above if (c := below(above, v, row)) and gamma[v])
        part = slice(vectors.starts[i], vectors.starts[i + 1])
        assert Counter(vectors.weights[part].tolist()) == expected
        assert len(set(vectors.nodes[part].tolist())) == len(vectors.nodes[part])
        assert vectors.lengths[i] == len(row)
    # Heavier nodes come first.
    mass = np.bincount(vectors.nodes, weights=vectors.weights, minlength=vectors.n_nodes)
    assert np.all(np.diff(mass) <= 0)
    assert vectors.whole == max(tree.n_leaves - 1, 1)


def test_weights_are_64_bit_where_32_would_overflow():
    n = 70_000
    tree = Taxonomy.from_parents({**{f"x{i:05}": "x" for i in range(n)}, "y": "top", "x": "top"})
    rows = TransactionTable.from_rows([["y"] * 40_000, ["y"]], bags=True)
    vectors = node_vectors(leaf_rows(rows, tree))
    assert vectors.weights.dtype == np.int64
    assert vectors.weights.tolist() == [n * 40_000, n]


@given(case=cases(), data=st.data())
@settings(deadline=None, max_examples=200)
def test_least_common_generalizations_agree_with_the_closed_form(case, data):
    parents, rows = case
    table = TransactionTable.from_rows(rows, bags=True)
    prepared = leaf_rows(table, Taxonomy.from_parents(parents))
    tree = prepared.taxonomy
    n_groups = data.draw(st.integers(1, len(rows)))
    label = np.array(
        [i if i < n_groups else data.draw(st.integers(0, n_groups - 1)) for i in range(len(rows))]
    )
    members = np.argsort(label, kind="stable")
    group_offsets = np.concatenate([[0], np.cumsum(np.bincount(label))])
    starts, nodes = least_common_generalizations(
        prepared.offsets, prepared.leaves, tree.parents, group_offsets, members
    )
    above = {tree.ids[v]: tree.ids[tree.parents[v]] for v in range(1, len(tree))}
    reference = Tree({**above, tree.ids[0]: None})
    named = [
        [tree.ids[v] for v in prepared.leaves[prepared.offsets[i] : prepared.offsets[i + 1]]]
        for i in range(len(rows))
    ]
    for group in range(n_groups):
        published = nodes[starts[group] : starts[group + 1]]
        assert np.all(np.diff(published) >= 0)
        part = [named[i] for i in range(len(rows)) if label[i] == group]
        found = Counter(tree.ids[v] for v in published.tolist())
        assert found == Counter(lcg(part, reference))


def test_distinct_publishes_each_node_once():
    tree = Taxonomy.from_parents({"a": "x", "b": "x", "c": "x", "d": "x"})
    table = TransactionTable.from_rows([["a", "b"], ["c", "d"]])
    prepared = leaf_rows(table, tree)
    label = np.zeros(2, dtype=np.int64)
    assert publish_clusters(prepared, label)[0].to_rows() == [["x", "x"]] * 2
    assert publish_clusters(prepared, label, distinct=True)[0].to_rows() == [["x"]] * 2
