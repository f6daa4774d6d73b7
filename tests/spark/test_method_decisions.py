"""What the driver decides for distributed records, without Spark: batches are worked on here."""

from __future__ import annotations

from collections import Counter
from functools import partial, reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import tables_with_taxonomy

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import AprioriKm, Disassociate
from setveil.anonymize.base import shorten_log
from setveil.anonymize.km.apriori_km import whole_cost
from setveil.engine import Local

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")

from setveil.spark import apriori, buckets, disassociate  # noqa: E402
from setveil.spark.batches import Batch, lists_of  # noqa: E402
from setveil.spark.generalize import items_in_tree  # noqa: E402
from setveil.spark.kernels import (  # noqa: E402
    content_buckets,
    count_histograms,
    item_masks,
    route_by_counts,
    route_by_items,
)
from setveil.spark.table import sorted_rows  # noqa: E402


class Sent:
    """What a worker would read as ``.value``."""

    def __init__(self, value):
        self.value = value


class Halves:
    """A table in two batches, with the verbs of a distributed one."""

    has_ids = bags = False

    def __init__(self, table):
        self.vocabulary, self.n_items = table.vocabulary, table.n_items
        self.supports, self.n_records = table.supports(), len(table)
        half = len(table) // 2
        halves = (np.arange(half), np.arange(half, len(table)))
        self.batches = [Batch(part.offsets, part.items) for part in map(table.take, halves)]

    @staticmethod
    def broadcast(value):
        return Sent(value)

    def fold(self, function, merge, empty):
        for batch in self.batches:
            empty = merge(empty, function(batch))
        return empty

    def fold_tables(self, function, merge, empty):
        """The same for functions that take what Spark hands out."""
        tables = (pa.table({"items": lists_of(*batch)}) for batch in self.batches)
        return reduce(merge, map(function, tables), empty)

    def map(self, function, _schema):
        return pa.concat_tables([function(batch) for batch in self.batches])


class Groups:
    """What Spark's grouping would give."""

    def __init__(self, table, by, function, _schema):
        keys = table[by].to_numpy()
        parts = [table.filter(pa.array(keys == key)) for key in np.unique(keys)]
        self.results = [function(part.combine_chunks()) for part in parts]

    def toArrow(self):  # noqa: N802  (as Spark calls it)
        empty = pa.table({"sets": pa.array([], pa.list_(pa.int64()))})
        return pa.concat_tables(self.results) if self.results else empty


@pytest.mark.parametrize("cells", [1, 40, 1 << 22])
@settings(max_examples=40)
@given(
    drawn=tables_with_taxonomy(min_rows=4, max_rows=30),
    k=st.integers(2, 4),
    m=st.integers(1, 4),
)
def test_apriori_raises_as_here(cells, drawn, k, m):
    table, taxonomy = drawn
    if not k <= np.count_nonzero(table.lengths):
        return
    local = AprioriKm(k=k, m=m).anonymize(table, taxonomy=taxonomy)
    halves = Halves(table)
    tree, leaf = items_in_tree(halves, taxonomy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apriori, "CELLS", cells)
        patch.setattr(apriori, "apply_groups", Groups)
        patch.setattr(apriori, "PLACES", 20)
        search = apriori._Search(table=halves, tree=tree, leaf=leaf, k=k)
        raised = search.run(min(m, int(table.lengths.max())))
    assert shorten_log(raised.steps(tree, whole_cost(tree, table.items))) == local.log


def split_as_spark_does(table, splitting, live, n_tops):
    """Count and decide one round; what Spark groups is counted in Python."""
    place = np.full(len(splitting.parts), -1)
    place[[part.number for part in live]] = np.arange(len(live))
    route = disassociate.Route(Sent(splitting.tests), place)
    counts = Counter()
    counted = table.map(partial(disassociate.count_part_items, route=route), "")
    for row in counted.to_pylist():
        counts[row["part"], row["item"]] += row["n"]
    listed = [
        sorted(
            ((i, n) for (p, i), n in counts.items() if p == number and i not in part.used),
            key=lambda found: (-found[1], found[0]),
        )
        for number, part in enumerate(live)
    ]
    tops = np.full((len(live), n_tops), -1)
    for number, found in enumerate(listed):
        tops[number, : len(found[:n_tops])] = [item for item, _ in found[:n_tops]]
    masks = table.map(partial(disassociate.count_masks, route=route, tops=tops), "").to_pylist()
    for number, part in enumerate(live):
        own = Counter()
        for row in masks:
            own[row["mask"]] += row["n"] if row["part"] == number else 0
        limit = listed[number][n_tops][1] if len(listed[number]) > n_tops else 0
        mask, n = (np.array(list(column), dtype=np.int64) for column in (own, own.values()))
        splitting.decide(part, listed[number][:n_tops], limit, mask, n)


@settings(max_examples=60)
@given(
    rows=st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=5), min_size=12, max_size=60),
    k=st.integers(2, 3),
    most=st.integers(4, 8),
    n_tops=st.integers(1, 6),
)
def test_parts_split_as_here(rows, k, most, n_tops):
    table = TransactionTable.from_rows([[f"i{item}" for item in row] for row in rows])
    method = Disassociate(k=k, m=2, max_cluster_size=most, refine=False)
    local = method.anonymize(table).release
    splitting = disassociate.Splitting(len(table), k=k, most=2 * most)
    halves = Halves(table)
    for _ in range(200):
        live = splitting.live()
        if not live:
            break
        split_as_spark_does(halves, splitting, live, n_tops)
    assert not splitting.live()
    part = route_by_items(table.offsets, table.items, *splitting.tests)
    assert np.bincount(part).tolist() == [part.size for part in splitting.parts]
    found = []
    for piece in splitting.parts:
        made = method.cut(
            table.take(np.flatnonzero(part == piece.number)),
            engine=Local(workers=1),
            used=piece.used,
        )
        found += made.release.to_rows()
    assert sorted(found) == sorted(local.to_rows())


@settings(max_examples=60)
@given(
    drawn=tables_with_taxonomy(min_rows=8, max_rows=40),
    k=st.integers(1, 3),
    most_items=st.sampled_from([8, 1000]),
)
def test_buckets_are_as_large_as_their_histograms_say(drawn, k, most_items):
    table, taxonomy = drawn
    halves = Halves(table)
    tree, leaf = items_in_tree(halves, taxonomy)
    heads, weight = buckets._heads(tree, leaf, table.supports())
    rows = sorted_rows(table.offsets, leaf[table.items], len(tree), bags=True)
    growing = buckets._Growing(len(table), len(table.items))
    limits = buckets.Limits(k, 2 * k, most_items)
    while len(live := growing.live(limits)):
        place = np.full(len(growing.loads), -1)
        place[live] = np.arange(len(live))
        bucket = place[route_by_counts(*rows, tree.ends, *growing.questions)]
        found = count_histograms(*rows, tree.ends, heads, bucket, len(live), buckets.COUNTS)
        for number, histogram in zip(live.tolist(), found, strict=True):
            growing.split(number, histogram, heads, weight, k)
    bucket = route_by_counts(*rows, tree.ends, *growing.questions)
    n = len(growing.loads)
    loads = [np.bincount(bucket, weights, minlength=n) for weights in (None, table.lengths)]
    assert np.stack(loads, axis=1).tolist() == growing.loads.tolist()
    assert growing.loads[:, 0].min() >= k


def test_long_records_fill_a_bucket_before_their_number():
    rows = [["a", "b", "c", "d"][: 1 + number % 4] for number in range(40)]
    table = TransactionTable.from_rows(rows)
    halves = Halves(table)
    tree, leaf = items_in_tree(halves, Taxonomy.balanced(["a", "b", "c", "d"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "fold", lambda _, *rest: halves.fold_tables(*rest))
        halves.frame = None
        made = buckets.make_buckets(halves, tree, leaf, buckets.Limits(2, 1000, 60))
        whole = buckets.make_buckets(halves, tree, leaf, buckets.Limits(2, 1000, 100))
    assert whole.sizes.tolist() == [40]
    bucket = made.route(table.offsets, table.items)
    assert np.bincount(bucket).tolist() == made.sizes.tolist()
    assert np.bincount(bucket, table.lengths).max() <= 60


def test_questions_and_masks_by_hand():
    offsets, items = np.array([0, 3, 4, 4]), np.array([1, 3, 5, 3], dtype=np.int32)
    bucket = route_by_items(offsets, items, np.array([3, 5]), np.array([1, -1]), np.array([-2, -3]))
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
    run = buckets.runs(loads, buckets.Limits(4, 10, 50))
    assert np.all(np.diff(run) >= 0)
    records, items = (np.bincount(run, column) for column in loads.T)
    if sizes.sum() >= 4:
        assert records.min() >= 4
    assert records.max() <= 10 + 4
    assert items.max() <= 50 + 5 * 8 + 3 * 8  # one cell, or a rest of fewer than four records
