"""What the driver decides for distributed records, without Spark: parts are worked on here."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.loopback import LoopbackTable
from tests.strategies import tables_with_taxonomy

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import LRA, PCTA, AprioriKm, Coat, Disassociate, VPAKm
from setveil.anonymize.base import shorten_log
from setveil.anonymize.km.apriori_km import whole_cost
from setveil.core.errors import InfeasibleError
from setveil.core.records import Held, Rows
from setveil.guarantee import KmAnonymity
from setveil.release import publish_sets

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from setveil.spark import apriori, methods, splitting
from setveil.spark.kernels import (
    content_buckets,
    count_histograms,
    item_masks,
    route_by_ranges,
)


@pytest.mark.parametrize("cells", [1, 40, 1 << 22])
@settings(max_examples=40)
@given(
    drawn=tables_with_taxonomy(min_rows=4, max_rows=30),
    k=st.integers(2, 4),
    m=st.integers(1, 4),
    cut=st.integers(0, 99),
)
def test_apriori_raises_as_here(cells, drawn, k, m, cut):
    table, taxonomy = drawn
    if not k <= np.count_nonzero(table.lengths):
        return
    local = AprioriKm(k=k, m=m).anonymize(table, taxonomy=taxonomy)
    there = LoopbackTable(table, cut)
    tree, leaf = methods.items_in_tree(there, taxonomy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apriori, "CELLS", cells)
        search = apriori._Search(records=there, tree=tree, leaf=leaf, k=k)
        raised = search.run(min(m, int(table.lengths.max())))
    assert shorten_log(raised.steps(tree, whole_cost(tree, table.items))) == local.log


@settings(max_examples=60)
@given(
    rows=st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=5), min_size=12, max_size=60),
    k=st.integers(2, 3),
    most=st.integers(4, 8),
    n_tops=st.integers(1, 6),
    cut=st.integers(0, 99),
)
def test_parts_split_as_here(rows, k, most, n_tops, cut):
    table = TransactionTable.from_rows([[f"i{item}" for item in row] for row in rows])
    method = Disassociate(k=k, m=2, max_cluster_size=most, refine=False)
    local = method.anonymize(table).release
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "TOPS", n_tops)
        splits = splitting.make_parts(LoopbackTable(table, cut), k=k, most=2 * most)
    part = splits.questions.route(table.offsets, table.items)
    assert np.bincount(part).tolist() == [piece.size for piece in splits.groups]
    found = []
    for piece in splits.groups:
        own = table.take(np.flatnonzero(part == piece.number))
        found += method.cut(own, used=piece.used).release.to_rows()
    assert sorted(found) == sorted(local.to_rows())


@settings(max_examples=60)
@given(
    drawn=tables_with_taxonomy(min_rows=8, max_rows=40),
    k=st.integers(1, 3),
    most_items=st.sampled_from([8, 1000]),
)
def test_buckets_are_as_large_as_their_histograms_say(drawn, k, most_items):
    table, taxonomy = drawn
    there = LoopbackTable(table)
    tree, leaf = methods.items_in_tree(there, taxonomy)
    limits = splitting.Limits(k, 2 * k, most_items)
    for n_empty in {0, int(np.count_nonzero(table.lengths == 0))}:
        if len(table) - n_empty < k:
            continue
        made = splitting.make_buckets(there, tree, leaf, limits, n_empty=n_empty)
        bucket = made.route(Rows(table.offsets, table.items))
        counted = bucket[table.lengths > 0] if n_empty else bucket
        assert np.bincount(counted, minlength=len(made.sizes)).tolist() == made.sizes.tolist()
        assert made.sizes.min() >= k


def test_histograms_count_what_lies_below_heads():
    table = TransactionTable.from_rows([["a", "b"], ["a"], []])
    tree = Taxonomy.balanced(["a", "b"])
    leaves = tree.leaf_of(["a", "b"])[table.items]
    found = count_histograms(
        table.offsets, leaves, tree.ends, np.array([0]), np.zeros(3, dtype=np.int64), 1, 2
    )
    assert found[0, 0].tolist() == [[1, 0], [1, 1], [1, 2]]


def test_long_records_fill_a_bucket_before_their_number():
    rows = [["a", "b", "c", "d"][: 1 + number % 4] for number in range(40)]
    table = TransactionTable.from_rows(rows)
    there = LoopbackTable(table)
    tree, leaf = methods.items_in_tree(there, Taxonomy.balanced(["a", "b", "c", "d"]))
    made = splitting.make_buckets(there, tree, leaf, splitting.Limits(2, 1000, 60))
    whole = splitting.make_buckets(there, tree, leaf, splitting.Limits(2, 1000, 100))
    assert whole.sizes.tolist() == [40]
    bucket = made.route(Rows(table.offsets, table.items))
    assert np.bincount(bucket).tolist() == made.sizes.tolist()
    assert np.bincount(bucket, table.lengths).max() <= 60


def least_crowd(table, tree, published, m):
    """Return the fewest published records that anybody matches who knows up to m of its items."""
    paths = {}
    for name in {item for row in table.to_rows() for item in row}:
        node, paths[name] = int(tree.leaf_of([name])[0]), set()
        while node >= 0:
            paths[name].add(tree.ids[node])
            node = int(tree.parents[node])
    least = len(table)
    for row in map(sorted, table.to_rows()):
        for known in chain.from_iterable(combinations(row, size) for size in range(1, m + 1)):
            fits = sum(all(paths[item] & set(shown) for item in known) for shown in published)
            least = min(least, fits)
    return least


@pytest.mark.parametrize("method", [AprioriKm, LRA, VPAKm])
@settings(max_examples=40)
@given(
    drawn=tables_with_taxonomy(min_rows=8, max_rows=24),
    k=st.integers(2, 3),
    m=st.integers(1, 3),
    seed=st.integers(0, 100),
)
def test_a_union_of_km_anonymous_buckets_is_km_anonymous(method, drawn, k, m, seed):
    """One bucket may publish a node and another its child: nobody is found among fewer than k."""
    table, taxonomy = drawn
    table = table.take(np.flatnonzero(table.lengths))
    bucket = np.random.default_rng(seed).integers(0, 2, len(table))
    halves = [table.take(np.flatnonzero(bucket == number)) for number in (0, 1)]
    if min(map(len, halves)) < k:
        return
    tree = taxonomy.for_items([table.vocabulary[i] for i in np.flatnonzero(table.supports())])
    made = [method(k=k, m=m).anonymize(half, taxonomy=tree).release for half in halves]
    published = [row for release in made for row in release.to_rows(ids=True)]
    together = TransactionTable.from_rows(published)
    assert KmAnonymity(k=k, m=m).check(together).holds
    assert least_crowd(table, tree, published, m) >= k


@pytest.mark.parametrize("objective", ["ul_per_gain", "ul_gaining", "ul"])
@settings(max_examples=60)
@given(
    rows=st.lists(st.sets(st.integers(0, 9), max_size=5), min_size=6, max_size=30),
    k=st.integers(2, 5),
    seed=st.integers(0, 3),
)
def test_rare_records_are_enough_for_sets(objective, rows, k, seed):
    table = TransactionTable.from_rows([[f"i{item}" for item in row] for row in rows])
    names = table.vocabulary.names
    given_ = {
        "privacy": [[name] for name in names[seed:]] or None,
        "utility": [names[:4], names[4:]] if seed % 2 and len(names) > 4 else None,
    }
    supports = table.supports()
    rare = Held((supports > 0) & (supports < k))
    few = methods.rows_with(Rows(table.offsets, table.items), rare)
    for method in (
        Coat(k=k, s=1, constrained=1, objective=objective),
        Coat(k=k, s=0, constrained=1),
        PCTA(k=k, constrained=1, objective=objective),
    ):
        try:
            local = method.anonymize(table, **given_)
        except InfeasibleError:
            with pytest.raises(InfeasibleError):
                method.decide(table, rng=None, read=lambda _, few=few: few, **given_)
            continue
        found = method.decide(table, rng=None, read=lambda _, few=few: few, **given_)
        assert (found.log, found.promise) == (local.log, local.promise)
        release, _ = publish_sets(table, found.image)
        assert release.to_rows() == local.release.to_rows()


def test_questions_and_masks_by_hand():
    offsets, items = np.array([0, 3, 4, 4]), np.array([1, 3, 5, 3], dtype=np.int32)
    wanted = np.array([3, 5])
    answers = np.array([1, -1]), np.array([-2, -3])
    bucket = route_by_ranges(offsets, items, wanted, wanted + 1, np.array([1, 1]), *answers)
    assert bucket.tolist() == [0, 2, 1]
    masks = item_masks(offsets, items, np.array([0, 1, -1]), np.array([[5, 1], [3, -1]]))
    assert masks.tolist() == [3, 1, 0]
    cells = content_buckets(offsets, items, 1000)
    assert len(set(cells.tolist())) == 3


@pytest.mark.parametrize("n_cells", [1, 7, 300])
def test_runs_are_neither_small_nor_large(n_cells):
    rng = np.random.default_rng(n_cells)
    sizes = rng.integers(0, 6, n_cells)
    loads = np.stack([sizes, sizes * rng.integers(1, 9, n_cells)], axis=1)
    run = splitting.runs(loads, splitting.Limits(4, 10, 50))
    assert np.all(np.diff(run) >= 0)
    records, items = (np.bincount(run, column) for column in loads.T)
    if sizes.sum() >= 4:
        assert records.min() >= 4
    assert records.max() <= 10 + 4
    assert items.max() <= 50 + 5 * 8 + 3 * 8  # one cell, or a rest of fewer than four records
