"""Clump against its plain twin: the same clusters, not merely the same loss."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.clump import clump_reference
from tests.reference.lcg import Tree
from tests.strategies import rows_over, tables_with_taxonomy, taxonomies

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Clump
from setveil.measure import ggd_exact


def assert_same(table, taxonomy, method):
    """Compare clusters, published bags and distortion, record by record."""
    result = method.anonymize(table, taxonomy=taxonomy)
    expected = clump_reference(
        table.to_rows(),
        Tree.of(taxonomy),
        method.k,
        method.r,
        method.objective,
        distinct=method.distinct,
    )
    found: dict[int, list[int]] = {}
    for record, cluster in enumerate(result.figures["clusters"].tolist()):
        found.setdefault(cluster, []).append(record)
    assert sorted(found.values()) == sorted(sorted(members) for members in expected.clusters)
    assert ggd_exact(result.release, table) == expected.ggd
    rows = result.release.to_rows(ids=True)
    published = dict(zip(result.key.records.tolist(), rows, strict=True))
    for members, bag in zip(expected.clusters, expected.published, strict=True):
        assert all(sorted(published[i]) == list(bag) for i in members)


@st.composite
def methods(draw, n):
    return Clump(
        k=draw(st.integers(1, n)),
        r=draw(st.sampled_from([1, 2, 3, 10, None])),
        objective=draw(st.sampled_from(["total", "increment"])),
        distinct=draw(st.booleans()),
    )


@given(st.data(), tables_with_taxonomy(min_rows=1, max_rows=16))
@settings(max_examples=200)
def test_same_clusters_for_sets(data, drawn):
    table, taxonomy = drawn
    assert_same(table, taxonomy, data.draw(methods(len(table))))


@given(st.data(), taxonomies(max_nodes=8))
@settings(max_examples=100)
def test_same_clusters_for_bags(data, taxonomy):
    rows = data.draw(rows_over(list(taxonomy.ids), min_rows=1, max_rows=10))
    again = data.draw(st.lists(st.integers(1, 3), min_size=10, max_size=10))
    table = TransactionTable.from_rows(
        [row * times for row, times in zip(rows, again, strict=False)], bags=True
    )
    assert_same(table, taxonomy, data.draw(methods(len(table))))


def drawn_table(n, items, *, longest, seed):
    rng = random.Random(seed)
    return TransactionTable.from_rows(
        [rng.sample(items, rng.randint(1, longest)) for _ in range(n)]
    )


@pytest.mark.parametrize("objective", ["total", "increment"])
def test_more_than_65536_records(objective):
    items = [f"i{n}" for n in range(200)]
    table = drawn_table(66_001, items, longest=4, seed=1)
    method = Clump(k=3, r=4, objective=objective)
    assert_same(table, Taxonomy.balanced(items, fanout=5), method)


def test_more_than_65536_leaves():
    items = [f"i{n:05}" for n in range(66_000)]
    table = drawn_table(400, items[:100] + items[-300:], longest=12, seed=2)
    assert_same(table, Taxonomy.balanced(items, fanout=8), Clump(k=4, r=None))
