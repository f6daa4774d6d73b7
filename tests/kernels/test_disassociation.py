"""Splitting records and items, against plain sets."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import disassociation as plain

from setveil.anonymize.disassociation.cluster_kernels import horizontal_partition, share_terms
from setveil.anonymize.disassociation.safe_kernels import safe_clusters
from setveil.kernels.vertical_partition import (
    TERM_CHUNK,
    partition_clusters,
    vertical_partition,
)

ITEMS = 8
NONE = np.zeros(0, dtype=np.int64)


def rows(*, most=14, items=ITEMS, least=1, min_length=1):
    row = st.frozensets(st.integers(0, items - 1), min_size=min_length, max_size=6)
    some = st.lists(row, min_size=least, max_size=most)
    return some.flatmap(
        lambda drawn: st.lists(st.sampled_from(drawn), max_size=6).map(drawn.__add__)
    )


def csr(records):
    offsets = np.concatenate([[0], np.cumsum([len(record) for record in records])])
    items = [item for record in records for item in sorted(record)]
    return offsets.astype(np.int64), np.array(items, dtype=np.int32)


def chunks_of(terms, chunk):
    """Return the domains in order, and the term chunk."""
    domains = [
        [t for t, c in zip(terms, chunk, strict=True) if c == number]
        for number in sorted(set(chunk) - {TERM_CHUNK})
    ]
    return domains, {t for t, c in zip(terms, chunk, strict=True) if c == TERM_CHUNK}


def split(term_offsets, terms, chunk):
    return [chunks_of(terms[a:b].tolist(), chunk[a:b].tolist()) for a, b in pairwise(term_offsets)]


@settings(max_examples=200, deadline=None)
@given(records=rows(most=30), k=st.integers(1, 4), more=st.integers(0, 8))
def test_clusters(records, k, more):
    k = min(k, len(records))
    most = k + more
    order, borders = horizontal_partition(*csr(records), ITEMS, k, most, NONE)
    found = [order[a:b].tolist() for a, b in pairwise(borders)]
    assert found == plain.horizontal(records, k, most, lambda size: size >= 2 * most)
    assert min(map(len, found)) >= k
    assert sorted(order.tolist()) == list(range(len(records)))


def test_an_item_in_nearly_all_records_does_not_end_the_splitting():
    records = [frozenset({0, 1 + i % 5}) for i in range(200)] + [frozenset({6})]
    order, borders = horizontal_partition(*csr(records), ITEMS, 3, 50, NONE)
    assert np.diff(borders).tolist() == [40, 40, 40, 40, 41]
    assert sorted(order.tolist()) == list(range(201))


def test_more_records_than_fit_into_sixteen_bits():
    records = [frozenset({i % 7, 7}) for i in range(70_000)]
    _, borders = horizontal_partition(*csr(records), ITEMS, 2, 100, NONE)
    assert np.diff(borders).tolist() == [10_000] * 7
    terms, chunk = vertical_partition(*csr(records), ITEMS, 2, 2)
    assert terms.tolist() == [7, 0, 1, 2, 3, 4, 5, 6]
    assert set(chunk.tolist()) == {0}


@settings(max_examples=200, deadline=None)
@given(records=rows(), k=st.integers(1, 4), m=st.integers(1, 4))
def test_chunks(records, k, m):
    terms, chunk = vertical_partition(*csr(records), ITEMS, k, m)
    assert chunks_of(terms.tolist(), chunk.tolist()) == plain.vertical(records, k, m)


@settings(max_examples=200, deadline=None)
@given(clusters=st.lists(rows(), min_size=1, max_size=3), k=st.integers(1, 4), m=st.integers(1, 4))
def test_clusters_of_chunks(clusters, k, m):
    borders = np.cumsum([0, *map(len, clusters)])
    records = [record for cluster in clusters for record in cluster]
    found = split(*partition_clusters(*csr(records), borders, ITEMS, k, m))
    for cluster, (domains, terms) in zip(clusters, found, strict=True):
        assert (domains, terms) == plain.repaired(cluster, *plain.vertical(cluster, k, m), k, m)


@settings(max_examples=200, deadline=None)
@given(
    clusters=st.lists(rows(items=5), min_size=1, max_size=3),
    k=st.integers(1, 3),
    m=st.integers(1, 3),
    share=st.sampled_from([(1, 1), (3, 4), (1, 2), (1, 3)]),
)
def test_safe_clusters(clusters, k, m, share):
    borders = np.cumsum([0, *map(len, clusters)])
    records = [record for cluster in clusters for record in cluster]
    offsets, items = csr(records)
    caps = [min(n - 1, n * share[0] // share[1]) for n in map(len, clusters)]
    *parted, removed = safe_clusters(offsets, items, borders, ITEMS, k, m, np.array(caps))
    record_of = np.repeat(np.arange(len(records)), np.diff(offsets))
    gone = {(int(record_of[at]), int(items[at])) for at in removed}
    for start, cluster, cap, (domains, terms) in zip(
        borders, clusters, caps, split(*parted), strict=False
    ):
        n = len(cluster)
        expected, others, deleted = plain.safe(cluster, k, m, cap)
        assert (domains, terms) == (expected, others)
        mine = {(r - start, i) for r, i in gone if start <= r < start + n}
        assert mine == deleted
        left = [record - {i for r, i in mine if r == at} for at, record in enumerate(cluster)]
        assert all(left)
        assert all(plain.is_km([r & set(d) for r in left], k, m) for d in domains)
        if len(domains) > 1 or terms:
            counts = plain.supports(left)
            assert all(counts[item] <= cap for domain in domains for item in domain)


@settings(max_examples=200, deadline=None)
@given(
    members=st.lists(
        st.tuples(rows(most=6, items=6, min_length=0), st.booleans()), min_size=2, max_size=4
    ),
    banned=st.frozensets(st.integers(0, 5), max_size=2),
    k=st.integers(1, 4),
    m=st.integers(1, 3),
    spare=st.integers(0, 8),
)
def test_shared_chunks(members, banned, k, m, spare):
    records = [record for rows, _ in members for record in rows]
    size, filled = len(records), [record for record in records if record]
    cluster = [c for c, (rows, _) in enumerate(members) for row in rows if row]
    borders, items, chunk = share_terms(
        np.array([0, len(filled)]),
        *csr(filled),
        np.array(cluster, dtype=np.int64),
        np.array([len(rows) for rows, _ in members]),
        np.array([may for _, may in members]),
        np.array([0, len(banned)]),
        np.array(sorted(banned), dtype=np.int32),
        np.array([size]),
        np.array([size - spare]),
        ITEMS,
        k,
        m,
    )
    expected = plain.shared(members, banned, k, m, size - spare)
    assert chunks_of(items.tolist(), chunk.tolist())[0] == (expected or [])
    assert borders.tolist() == [0, len(items)]


@pytest.mark.parametrize("m", [1, 2, 9])
def test_one_record_of_one_item(m):
    terms, chunk = vertical_partition(*csr([frozenset({3})]), ITEMS, 1, m)
    assert (terms.tolist(), chunk.tolist()) == ([3], [0])
