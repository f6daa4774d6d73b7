"""Disassociate on distributed records: split by items until parts fit a worker, then as local.

The splits are those of `horizontal_partition` on one machine. Workers count items and, for the most
frequent ones of a part, which of them its records hold together; from these counts the driver makes
as many splits as they decide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.anonymize.base import check_enough
from setveil.anonymize.disassociation.cluster_chunks import check_filled
from setveil.core.table import TransactionTable, Vocabulary
from setveil.engine import Local
from setveil.engine.spark import spoken_errors
from setveil.guarantee.disassociated import Disassociated
from setveil.release.base import Step
from setveil.release.disassociated import DisassociatedRelease
from setveil.spark.anonymized import DistributedAnonymization, kept
from setveil.spark.batches import apply_groups, rows_of
from setveil.spark.chunks import SCHEMA, DistributedChunks, blocks_of
from setveil.spark.table import ITEMS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast

    from setveil.anonymize import Disassociate
    from setveil.core.arrays import Int64Array
    from setveil.spark.batches import Batch
    from setveil.spark.table import DistributedTable

PART = 65_536
"""Parts of fewer records go to one worker."""
MASKS = 20
"""Logarithm of how many counts of items that stand together come to the driver at a time."""
TOPS = 16
"""Most items of a part that are looked at together."""

Tops = list[tuple[int, int]]
"""The most frequent items of a part with their counts."""


class Tests(NamedTuple):
    """A tree of questions for items, as :mod:`setveil.spark.kernels` walks it."""

    wanted: Int64Array
    yes: Int64Array
    no: Int64Array


@dataclass(eq=False)
class Part:
    """A part of the records while parts are split.

    Parameters
    ----------
    number
        Its number; the side without the item keeps it.
    size
        Its records.
    used
        The items it was split by, or that would have left too few on a side.
    whole
        Whether nothing splits it further.
    """

    number: int
    size: int
    used: tuple[int, ...] = ()
    whole: bool = False


def disassociate(
    method: Disassociate, table: DistributedTable, taxonomy: None = None, *, most: int = PART
) -> DistributedAnonymization:
    """Return the disassociated release of distributed records.

    Parameters
    ----------
    method
        The method with its parameters.
    table
        The records.
    taxonomy
        None: there is no tree.
    most
        Parts of so many records are split before they go to a worker. Clusters do not depend on
        it; which of them share chunks does, since that is decided within a part.
    """
    bare = _bare(table)
    check_enough(range(table.n_records), method.k)
    check_filled(table.n_records, bare, is_bag=table.bags)
    splitting = Splitting(table.n_records, k=method.k, most=max(most, 2 * method.split_from))
    while live := splitting.live():
        _split(table, splitting, live)
    parts = splitting.parts
    tests = table.broadcast(splitting.tests)
    routed = table.map(partial(send, tests=tests), f"part int, {ITEMS} array<int>")
    shared = table.broadcast((table.vocabulary, [part.used for part in parts]))
    blocks = kept(
        apply_groups(routed, "part", partial(solve, method=method, shared=shared), SCHEMA)
    )
    sizes = np.array([part.size for part in parts])
    step = Step(
        action="part",
        subject=f"{sizes.sum():,} records in {len(parts):,} parts "
        f"of {sizes.min():,} to {sizes.max():,}",
        reason="each is cut into clusters and chunks by one worker",
    )
    return DistributedAnonymization(
        release=DistributedChunks(frame=blocks, vocabulary=table.vocabulary),
        promise=Disassociated(k=method.k, m=method.m),
        log=(step,),
        figures={"parts": len(parts)},
    )


@dataclass(eq=False)
class Splitting:
    """The splits so far, and the parts they make.

    Parameters
    ----------
    records
        Number of all records.
    k
        Least size of a part.
    most
        Size from which a part is split.
    """

    records: int
    k: int
    most: int
    parts: list[Part] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parts.append(Part(0, self.records))
        self._rows: list[list[int]] = []  # item, yes, no
        self._above: list[tuple[int, int]] = [(-1, 0)]

    @property
    def tests(self) -> Tests:
        """The questions that lead a record to its part."""
        columns = np.array(self._rows, dtype=np.int64).reshape(-1, 3).T
        return Tests(*np.ascontiguousarray(columns))

    def live(self) -> list[Part]:
        """Return the parts that are still to be split."""
        return [part for part in self.parts if part.size >= self.most and not part.whole]

    def decide(
        self, part: Part, tops: Tops, limit: int, masks: Int64Array, counts: Int64Array
    ) -> None:
        """Split a part, and what comes of it, as far as counts decide.

        Parameters
        ----------
        part
            A live part.
        tops
            Its most frequent items that are not used, with their counts.
        limit
            No other item is in more records of the part.
        masks, counts
            Which of `tops` records hold together (bit `i` is item `i`), and how many do.
        """
        items = np.array([item for item, _ in tops], dtype=np.int64)
        held = (masks[:, None] >> np.arange(len(items))) & 1 == 1
        waiting = [(part, np.ones(len(masks), dtype=bool))]
        while waiting:
            now, inside = waiting.pop()
            if now.size < self.most:
                continue
            found = counts[inside] @ held[inside]
            found[np.isin(items, now.used)] = 0
            # Ties go to the lowest number.
            best = min(range(len(items)), key=lambda i: (-found[i], items[i]), default=-1)
            count = int(found[best]) if best >= 0 else 0
            if max(count, limit) < self.k:
                now.whole = True
                continue
            # In the whole part the listed items come first; in a piece of it another one may.
            if count < limit or (count == limit and not inside.all()):
                continue  # counted anew in the next round
            if now.size - count < self.k:
                now.used = (*now.used, int(items[best]))
                waiting.append((now, inside))
                continue
            other = self._split(now, int(items[best]), count)
            waiting += [(now, inside & ~held[:, best]), (other, inside & held[:, best])]

    def _split(self, part: Part, item: int, count: int) -> Part:
        """Take the records with an item out of a part, as a new one."""
        other = Part(len(self.parts), count, (*part.used, item))
        self.parts.append(other)
        part.size -= count
        row = len(self._rows)
        self._rows.append([item, -1 - other.number, -1 - part.number])
        question, answer = self._above[part.number]
        if question >= 0:
            self._rows[question][answer] = row
        self._above[part.number] = row, 2
        self._above.append((row, 1))
        return other


def _split(table: DistributedTable, splitting: Splitting, live: list[Part]) -> None:
    """Count what the live parts hold, and split them."""
    n_tops = min(max(MASKS - (len(live) - 1).bit_length(), 4), TOPS)
    place = np.full(len(splitting.parts), -1, dtype=np.int64)
    place[[part.number for part in live]] = np.arange(len(live))
    route = Route(table.broadcast(splitting.tests), place)
    listed = _top_items(table, route, live, n_tops + 1)
    tops = [found[:n_tops] for found in listed]
    limits = [found[n_tops][1] if len(found) > n_tops else 0 for found in listed]
    rows = np.full((len(live), n_tops), -1, dtype=np.int64)
    for number, found in enumerate(tops):
        rows[number, : len(found)] = [item for item, _ in found]
    masked = partial(count_masks, route=route, tops=rows)
    counted = table.map(masked, "part int, mask bigint, n bigint")
    with spoken_errors():
        masks = counted.groupBy("part", "mask").sum("n").toArrow()
    part, mask, n = (masks[name].to_numpy() for name in masks.column_names)
    order = np.lexsort((mask, part))
    borders = np.searchsorted(part[order], np.arange(len(live) + 1))
    for number, own in enumerate(live):
        mine = order[borders[number] : borders[number + 1]]
        splitting.decide(own, tops[number], limits[number], mask[mine], n[mine])


def _top_items(table: DistributedTable, route: Route, live: list[Part], number: int) -> list[Tops]:
    """Return for each live part its most frequent items that are not used, with their counts."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    counted = table.map(partial(count_part_items, route=route), "part int, item int, n bigint")
    total = counted.groupBy("part", "item").agg(sql.sum("n").alias("n"))
    by_count = Window.partitionBy("part").orderBy(sql.desc("n"), "item")
    enough = number + max(len(part.used) for part in live)
    ranked = total.withColumn("place", sql.row_number().over(by_count))
    with spoken_errors():
        rows = ranked.where(sql.col("place") <= enough).orderBy("part", "place").collect()
    found: list[Tops] = [[] for _ in live]
    for row in rows:
        if row["item"] not in live[row["part"]].used:
            found[row["part"]].append((row["item"], row["n"]))
    return [tops[:number] for tops in found]


def _bare(table: DistributedTable) -> int:
    from pyspark.sql import functions as sql

    with spoken_errors():
        return table.frame.where(sql.size(ITEMS) == 0).count()


# --- functions that run on the workers ------------------------------------------------------------


class Route(NamedTuple):
    """How a worker finds the live part of a record: the questions, and the place of each part."""

    tests: Broadcast[Tests]
    place: Int64Array

    def parts(self, batch: Batch) -> Int64Array:
        """Return the place of each record's part among the live ones, or -1."""
        from setveil.spark.kernels import route_by_items

        return self.place[route_by_items(*batch, *self.tests.value)]


def count_part_items(batch: Batch, route: Route) -> pa.Table:
    """Count the items of live parts."""
    import pyarrow as pa

    part = np.repeat(route.parts(batch), np.diff(batch.offsets))
    width = np.int64(batch.items.max(initial=0) + 1)
    keys, counts = np.unique(part[part >= 0] * width + batch.items[part >= 0], return_counts=True)
    columns = {
        "part": (keys // width).astype(np.int32),
        "item": (keys % width).astype(np.int32),
        "n": counts.astype(np.int64),
    }
    return pa.table(columns)


def count_masks(batch: Batch, route: Route, tops: Int64Array) -> pa.Table:
    """Count which of the top items of live parts records hold together."""
    import pyarrow as pa

    from setveil.spark.kernels import item_masks

    part = route.parts(batch)
    mask = item_masks(*batch, part, tops)[part >= 0]
    shift = np.int64(tops.shape[1])
    keys, counts = np.unique((part[part >= 0] << shift) | mask, return_counts=True)
    columns = {
        "part": (keys >> shift).astype(np.int32),
        "mask": keys & ((np.int64(1) << shift) - 1),
        "n": counts.astype(np.int64),
    }
    return pa.table(columns)


def send(batch: Batch, tests: Broadcast[Tests]) -> pa.Table:
    """Add the part of each record."""
    import pyarrow as pa

    from setveil.spark.batches import lists_of
    from setveil.spark.kernels import route_by_items

    part = route_by_items(*batch, *tests.value).astype(np.int32)
    return pa.table({"part": part, ITEMS: lists_of(*batch)})


def solve(
    table: pa.Table,
    method: Disassociate,
    shared: Broadcast[tuple[Vocabulary, list[tuple[int, ...]]]],
) -> pa.Table:
    """Cut one part into clusters and chunks, as the method does here."""
    vocabulary, used = shared.value
    offsets, items = rows_of(table[ITEMS])
    made = method.cut(
        TransactionTable(offsets=offsets, items=items, vocabulary=vocabulary),
        engine=Local(workers=1),
        used=used[table["part"][0].as_py()],
    )
    release = made.release
    assert isinstance(release, DisassociatedRelease)
    names = release.vocabulary.names
    numbers = np.array([vocabulary.number(name) for name in names], dtype=np.int32)
    return blocks_of(release, numbers)
