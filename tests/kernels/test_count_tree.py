"""The kernels of the count-tree against the trie itself, built in plain Python."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.km import CountTree, direct_reference, published_ncp
from tests.reference.lcg import Tree
from tests.strategies import occurring, tables_with_taxonomy

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import DirectKm
from setveil.anonymize.base import leaf_rows
from setveil.anonymize.km.cut_kernels import rare_below, records_of, with_ancestors
from setveil.anonymize.km.direct_km import _Expanded


def first_rare(trie, path, k, rank, hidden):
    """Give the rare itemsets of a trie, nothing below a rare one, without hidden nodes."""
    for item in sorted(trie, key=rank.__getitem__):
        if item in hidden:
            continue
        count, below = trie[item]
        if count < k:
            yield (*path, item)
        else:
            yield from first_rare(below, (*path, item), k, rank, hidden)


@given(tables_with_taxonomy(min_rows=1), st.integers(1, 4), st.integers(2, 4), st.data())
@settings(max_examples=150, deadline=None)
def test_rare_sets_below_a_node(drawn, k, m, data):
    table, given_tree = drawn
    taxonomy = given_tree.for_items(occurring(table))
    rows = leaf_rows(table, taxonomy)
    expanded = _Expanded.of(rows, m)
    ids = [taxonomy.ids[v] for v in expanded.node_of.tolist()]
    tree = Tree.of(taxonomy)
    leaves = [[taxonomy.ids[v] for v in taxonomy.leaf_of(row).tolist()] for row in table]
    trie = CountTree(leaves, tree, m)
    assert sorted(trie.rank, key=trie.rank.__getitem__) == ids
    hidden = np.array([data.draw(st.booleans()) for _ in ids], dtype=bool)
    starts, ends = expanded.node_of.astype(np.int32), taxonomy.ends[expanded.node_of]
    for rank, node_id in enumerate(ids):
        places = expanded.places_of(rank)
        assert len(places) == trie.support([node_id]) == expanded.support([expanded.node_of[rank]])
        begins, kept = records_of(
            rank, expanded.offsets, expanded.items, places, expanded.record_of, starts, ends, hidden
        )
        number, found = rare_below(begins, kept, starts, ends, k, m)
        itemsets = sorted(
            [ids[i] for i in row if i >= 0] for row in found[: number * m].reshape(-1, m).tolist()
        )
        out_of_sight = {v for v, is_hidden in zip(ids, hidden.tolist(), strict=True) if is_hidden}
        below = trie.trie[node_id][1]
        expected = first_rare(below, (node_id,), k, trie.rank, out_of_sight)
        assert itemsets == sorted(map(list, expected))


@given(tables_with_taxonomy(min_rows=0))
@settings(max_examples=50, deadline=None)
def test_ancestors_of_a_record_come_once(drawn):
    table, given_tree = drawn
    taxonomy = given_tree.for_items(occurring(table))
    rows = leaf_rows(table, taxonomy)
    offsets, nodes = with_ancestors(rows.offsets, rows.leaves, taxonomy.parents)
    for i in range(len(rows)):
        own = rows.leaves[rows.offsets[i] : rows.offsets[i + 1]].tolist()
        expected = {u for v in own for u in taxonomy.ancestors(v)}
        assert sorted(nodes[offsets[i] : offsets[i + 1]].tolist()) == sorted(expected)


def test_more_than_65536_records_and_leaves():
    rng = np.random.default_rng(0)
    items = [f"i{n:05}" for n in range(66_000)]
    numbers = [*range(12), *range(65_980, 66_000)]
    rows = [
        [items[i] for i in rng.choice(numbers, size=int(rng.integers(1, 4)), replace=False)]
        for _ in range(66_001)
    ]
    taxonomy = Taxonomy.balanced(items, fanout=8)
    result = DirectKm(k=300, m=2).anonymize(TransactionTable.from_rows(rows), taxonomy=taxonomy)
    published = dict(
        zip(result.key.records.tolist(), result.release.to_rows(ids=True), strict=True)
    )
    tree = Tree.of(taxonomy)
    found = published_ncp(rows, [published[i] for i in range(len(rows))], tree)
    assert found == direct_reference(rows, tree, 300, 2).ncp > 0
