"""The kernels of AprioriKm against plain sets, and the whole against the count-tree."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.reference.km import apriori_reference, recoded
from tests.reference.lcg import Tree
from tests.strategies import occurring, tables_with_taxonomy

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import AprioriKm
from setveil.anonymize.base import leaf_rows
from setveil.anonymize.km.apriori_kernels import (
    cheapest_ancestors,
    pop,
    probe,
    probing_is_cheaper,
    push,
    rows_of_ranks,
    scan,
    sort_found,
)
from setveil.anonymize.km.apriori_km import Records, raise_rare


class Data:
    """A table as the kernels see it, beside the same as plain sets of node numbers."""

    def __init__(self, table, given_tree, closed_below=()):
        self.rows = leaf_rows(table, given_tree.for_items(occurring(table)))
        self.tree = tree = self.rows.taxonomy
        self.closed = np.zeros(len(tree), dtype=bool)
        for node in closed_below:
            self.closed[node + 1 : tree.ends[node]] = True
        rng = np.random.default_rng(len(tree))
        within = rng.permutation(len(tree) - 1)
        self.order = (np.lexsort((within, tree.depths[1:])) + 1).astype(np.int32)
        self.rank = np.full(len(tree), -1, dtype=np.int32)
        self.rank[self.order] = np.arange(len(self.order))
        self.starts, self.ranks, self.row_of, self.heads, self.places = rows_of_ranks(
            self.rows.offsets, self.rows.leaves, tree.parents, self.rank, self.closed
        )
        self.sets = [
            {v for leaf in self.rows.leaves[a:b].tolist() for v in tree.ancestors(leaf)}
            for a, b in pairwise(self.rows.offsets.tolist())
        ]

    def related(self, u, v):
        return u in self.tree.ancestors(v) or v in self.tree.ancestors(u)

    def support(self, nodes):
        return sum(set(nodes) <= row for row in self.sets)


@st.composite
def datasets(draw):
    table, tree = draw(tables_with_taxonomy(min_rows=1, max_rows=20))
    assume(len(tree) > 1)
    data = Data(table, tree)
    below = draw(st.lists(st.integers(1, len(data.tree) - 1), max_size=2))
    return Data(table, tree, below)


@given(datasets())
@settings(max_examples=100, deadline=None)
def test_rows_hold_the_ranks_of_the_open_nodes(data):
    for row, (start, end) in enumerate(pairwise(data.starts.tolist())):
        wanted = sorted(data.rank[v] for v in data.sets[row] if v > 0 and not data.closed[v])
        assert data.ranks[start:end].tolist() == wanted
        assert set(data.row_of[start:end].tolist()) <= {row}
    for r, (start, end) in enumerate(pairwise(data.heads.tolist())):
        wanted = [place for place, rank in enumerate(data.ranks.tolist()) if rank == r]
        assert data.places[start:end].tolist() == wanted


@given(datasets(), st.integers(1, 5), st.data())
@settings(max_examples=150, deadline=None)
def test_scanning_and_probing_find_the_same_rare_pairs(data, k, choice):
    r = choice.draw(st.integers(0, len(data.order) - 1))
    node = int(data.order[r])
    positions = data.places[data.heads[r] : data.heads[r + 1]]
    later = np.arange(r + 1, len(data.order), dtype=np.int32)
    wanted = {
        other: data.support([node, int(data.order[other])])
        for other in later.tolist()
        if not data.closed[data.order[other]] and not data.related(node, int(data.order[other]))
    }
    if data.closed[node]:
        wanted = {}  # a closed node stands in no row
    counts = np.zeros(len(data.order), dtype=np.int64)
    found = scan(
        positions, np.array([node]), data.starts, data.ranks, data.row_of, data.order,
        data.tree.ends, data.closed, counts,
    )  # fmt: skip
    assert {f: counts[f] for f in found.tolist()} == {f: n for f, n in wanted.items() if n}
    assert found.tolist() == sorted(found.tolist())
    counts[found] = 0
    assert not counts.any()
    if not data.closed[node]:
        rare = probe(
            node, k, later, data.places, data.heads[:-1], data.heads[1:], data.rows.offsets,
            data.rows.leaves, data.row_of, data.order, data.tree.ends, data.closed, counts,
        )  # fmt: skip
        assert {f: counts[f] for f in rare.tolist()} == {
            f: n for f, n in wanted.items() if 0 < n < k
        }


def test_probing_is_for_frequent_nodes():
    # A hundred thousand records of 20 nodes; ten later nodes, each in all of them.
    n = 100_000
    starts, row_of = np.arange(n + 1) * 20, np.repeat(np.arange(n, dtype=np.int32), 20)
    begins, stops = np.zeros(30, dtype=np.int64), np.full(30, n)
    later = np.arange(20, 30, dtype=np.int32)
    frequent, single = starts[:-1].copy(), starts[:1].copy()
    assert probing_is_cheaper(frequent, n, 5, later, begins, stops, starts, row_of)
    assert not probing_is_cheaper(single, n, 5, later, begins, stops, starts, row_of)


@given(st.sets(st.integers(0, 400), min_size=1), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_sorting_by_insertion_or_by_counts(numbers, random):
    counts = np.zeros(401, dtype=np.int64)
    counts[sorted(numbers)] = 1
    found = np.array(random.sample(sorted(numbers), len(numbers)), dtype=np.int32)
    sort_found(found, len(found), counts)
    assert found.tolist() == sorted(numbers)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30))
@settings(deadline=None)
def test_the_heap_gives_the_cheapest_first(costs):
    heap = np.full(len(costs), -1)
    for i in range(len(costs)):
        push(heap, i, np.array(costs), i)
    taken = [pop(heap, size, np.array(costs)) for size in range(len(costs), 0, -1)]
    assert sorted(taken) == list(range(len(costs)))
    assert [costs[i] for i in taken] == sorted(costs)


@given(datasets(), st.integers(1, 6), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_the_cheapest_ancestors(data, k, choice):
    assume(0 < k <= sum(map(bool, data.sets)))
    tree = data.tree
    itemset = []
    for v in choice.draw(st.permutations(data.order.tolist()))[:8]:
        apart = not any(data.related(u, v) for u in itemset)
        if data.support([v]) and not data.closed[v] and apart and len(itemset) < 3:
            itemset.append(v)
    assume(itemset and data.support(itemset) < k)
    extra = np.array([choice.draw(st.integers(0, 3)) for _ in range(len(tree))])
    # A node costs no less than all that it replaces.
    for v in range(len(tree) - 1, 0, -1):
        extra[tree.parents[v]] += extra[v]
    ways = []
    for chosen in product(*map(tree.ancestors, itemset)):
        top = {v for v in chosen if not any(u != v and u in tree.ancestors(v) for u in chosen)}
        new = top - set(itemset)
        if data.support(top) >= k:
            ways.append((sum(extra[v] for v in new), sorted(-data.rank[v] for v in new)))
    found = cheapest_ancestors(
        np.array(itemset), k, data.rows.offsets, data.rows.leaves, tree.parents, tree.ends, extra,
        data.rank, data.heads, data.places, data.row_of,
        np.empty((0, len(itemset)), dtype=np.int64),
    )  # fmt: skip
    key = (sum(extra[v] for v in found.tolist()), sorted((-data.rank[found]).tolist()))
    assert key == min(ways)


def assert_as_the_count_tree(rows, taxonomy, k, m):
    result = AprioriKm(k=k, m=m).anonymize(TransactionTable.from_rows(rows), taxonomy=taxonomy)
    published = dict(
        zip(result.key.records.tolist(), result.release.to_rows(ids=True), strict=True)
    )
    expected = apriori_reference(rows, Tree.of(taxonomy), k, m)
    assert [set(published[i]) for i in range(len(rows))] == recoded(rows, expected.image)


def drawn_rows(items, n, longest, seed):
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, len(items) + 1)
    weights /= weights.sum()
    return [
        sorted(set(rng.choice(items, int(rng.integers(1, longest + 1)), p=weights).tolist()))
        for _ in range(n)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_enough_records_for_every_way_of_counting(seed):
    items = [f"i{n:03}" for n in range(60)]
    rows = drawn_rows(items, 400, 8, seed)
    assert_as_the_count_tree(rows, Taxonomy.balanced(items, fanout=3), 3 + seed, 2 + seed % 2)


def test_more_than_65536_records():
    items = [f"i{n:03}" for n in range(100)]
    rows = drawn_rows(items, 66_000, 3, 1)
    assert_as_the_count_tree(rows, Taxonomy.balanced(items, fanout=10), 40, 2)


def test_more_than_65536_leaves():
    items = [f"i{n:05}" for n in range(66_000)]
    rows = drawn_rows(items[:20] + items[-60:], 400, 5, 2)
    assert_as_the_count_tree(rows, Taxonomy.balanced(items, fanout=8), 3, 2)


def test_a_cut_to_start_from():
    tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    leaves = tree.leaf_of(["a", "a", "c", "c"])
    start = (tree.node("group 1.1"),)
    records = Records(tree=tree, offsets=np.arange(5), leaves=leaves, nodes=start)
    found = raise_rare(records, k=2, m=2)
    assert (found.nodes, found.cost, len(found.log)) == ([1], 4, 0)
