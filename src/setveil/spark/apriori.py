"""AprioriKm on distributed records: workers count, the driver decides; the same cut as local.

Supports do not depend on what is generalized. So the driver needs, for each size, the rare sets of
nodes that are still open, in the order in which the method looks at them. It asks for them wave by
wave: a wave is a range of first nodes, from the most general on, and what is decided in one wave
spares the next ones most of their work.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.anonymize.base import shorten_log
from setveil.anonymize.km.apriori_kernels import repair_listed
from setveil.anonymize.km.apriori_km import Raised, ranked_by_supports
from setveil.anonymize.km.km_method import check_recodable, image_of
from setveil.core.arrays import BoolArray, Int32Array, Int64Array, offsets_of
from setveil.core.records import Rows, cut_by_cost
from setveil.core.table import frozen, take_rows
from setveil.spark.methods import (
    DistributedAnonymization,
    count_empty,
    items_in_tree,
    published_nodes,
    recoded,
)
from setveil.spark.table import sorted_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil.anonymize.km.apriori_km import AprioriKm
    from setveil.core.records import Records, Shared
    from setveil.core.taxonomy import Taxonomy
    from setveil.spark.table import DistributedTable

CELLS = 1 << 22
"""So many counts come to the driver at a time."""


class Nodes(NamedTuple):
    """What a worker needs to know of the tree, for one wave.

    Parameters
    ----------
    leaf
        The leaf of each item.
    parents, ends
        The shape of the tree.
    order, rank
        The nodes but the root in their order, and the place of each in it.
    closed
        Which nodes lie below the cut.
    column
        For each rank how many open ones stand before it; at the end, how many there are.
    rarest
        The open ranks, the rarest first.
    """

    leaf: Int32Array
    parents: Int32Array
    ends: Int32Array
    order: Int32Array
    rank: Int32Array
    closed: BoolArray
    column: Int64Array
    rarest: Int64Array

    def rows(self, rows: Rows) -> tuple[Int64Array, Int32Array]:
        """Return records as sorted rows of the ranks of their open nodes."""
        from setveil.anonymize.km.apriori_kernels import rows_of_ranks

        offsets, leaves = sorted_rows(
            rows.offsets, self.leaf[rows.items], len(self.parents), bags=True
        )
        # All but ranks read-only, as in the method itself: else the kernel is compiled anew.
        starts, ranks, *_ = rows_of_ranks(
            frozen(offsets, np.int64), frozen(leaves, np.int32), frozen(self.parents, np.int32),
            self.rank, self.closed,
        )  # fmt: skip
        return starts, ranks

    @property
    def place(self) -> Int64Array:
        """For each rank its place among the open ones when the rarest come first."""
        place = np.full(len(self.order), -1, dtype=np.int64)
        place[self.rarest] = np.arange(len(self.rarest))
        return place

    def open_ranks(self, first: int = 0, last: int | None = None) -> Int64Array:
        """Return the open ranks of a range, ascending."""
        ranks = np.sort(self.rarest)
        low, high = self.column[first], self.column[-1 if last is None else last]
        return ranks[low:high]


class Wave(NamedTuple):
    """The first nodes of the sets that are counted, as a range of ranks, and the tree for them."""

    nodes: Shared[Nodes]
    first: int
    last: int
    width: int


def apriori_km(
    method: AprioriKm, table: DistributedTable, *, taxonomy: Taxonomy, most: int = 0
) -> DistributedAnonymization:
    """Return the k^m-anonymous release of distributed records: the same as of records here.

    It only counts there: `most`, the records that a worker gets at a time, changes nothing.
    """
    sets = table.distinct()
    check_recodable(table.n_records, table.n_records - count_empty(table), method.k)
    tree, leaf = items_in_tree(table, taxonomy)
    search = _Search(records=sets, tree=tree, leaf=leaf, k=method.k)
    raised = search.run(min(method.m, sets.longest))
    image = np.append(image_of(tree, raised.nodes), np.int32(-1))[leaf]
    release, key = published_nodes(recoded(sets, image), tree, hides=False)
    whole = max(int(table.supports().sum()) * tree.n_leaves, 1)
    return DistributedAnonymization(
        release=release,
        promise=method.promise,
        key=key,
        log=shorten_log(raised.steps(tree, whole)),
        figures={"generalizations": len(raised.log)},
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Search:
    """The driver's side: what is asked, and what is decided."""

    records: Records
    tree: Taxonomy
    leaf: Int32Array
    k: int

    def run(self, m: int) -> Raised:
        """Raise rare sets of 1, 2, … m nodes, as `raise_rare` does it with records here."""
        tree = self.tree
        known = self.leaf >= 0
        held = np.bincount(self.leaf[known], self.records.supports()[known], len(tree))
        running = offsets_of(held.astype(np.int64))
        extra = (running[tree.ends] - running[:-1]) * np.where(tree.is_leaf, 0, tree.leaves)
        before = int(extra[0])
        closed = np.zeros(len(tree), dtype=bool)
        supports = self._supports()
        order, rank = ranked_by_supports(supports, tree.depths)
        log, n_log = np.full((len(tree), 3 + m), -1, dtype=np.int64), 0
        for size in range(1, m + 1):
            first = 0
            while first < len(order):
                if size == 1:
                    single = supports[order]
                    listed = np.flatnonzero((single > 0) & (single < self.k))[:, None]
                    counts, first = single[listed[:, 0]], len(order)
                else:
                    nodes = self._nodes(order, rank, supports, closed)
                    if nodes.column[first] == nodes.column[-1]:
                        break
                    wave = self._wave(nodes, first)
                    search = self._rare_pairs if size == 2 else partial(self._rare_sets, size)
                    listed, counts = search(wave, nodes)
                    first = wave.last
                if len(listed):
                    n_log = repair_listed(
                        listed.astype(np.int64), counts.astype(np.int64), self.k, tree.parents,
                        tree.ends, order, rank, extra, closed, log, n_log,
                    )  # fmt: skip
        raised = np.unique(log[:n_log, 0])
        return Raised(
            nodes=raised[~closed[raised]].tolist(), cost=before - int(extra[0]), log=log[:n_log]
        )

    def _nodes(
        self, order: Int32Array, rank: Int32Array, supports: Int64Array, closed: BoolArray
    ) -> Nodes:
        """Return the tree as it is now."""
        is_open = ~closed[order] & (supports[order] > 0)
        ranks = np.flatnonzero(is_open)
        return Nodes(
            leaf=self.leaf,
            parents=self.tree.parents,
            ends=self.tree.ends,
            order=order,
            rank=rank,
            closed=closed.copy(),
            column=offsets_of(is_open),
            rarest=ranks[np.argsort(supports[order[ranks]], kind="stable")],
        )

    def _supports(self) -> Int64Array:
        """Return for each node but the root how many records hold something below it."""
        n = len(self.tree)
        natural, supports = np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.int64)
        closed = np.zeros(n, dtype=bool)
        nodes = self._nodes(natural[1:], natural - np.int32(1), supports, closed)
        counted = partial(count_nodes, nodes=self.records.share(nodes))
        return self.records.fold(counted, np.add, supports)

    def _wave(self, nodes: Nodes, first: int) -> Wave:
        """Return the wave that begins at a rank: as many first nodes as counts can be held of."""
        width = len(nodes.rarest)
        rows = max(CELLS // max(width, 1), 1)
        last = int(np.searchsorted(nodes.column, nodes.column[first] + rows, side="right")) - 1
        return Wave(self.records.share(nodes), first, max(last, first + 1), width)

    def _rare_pairs(self, wave: Wave, nodes: Nodes) -> tuple[Int64Array, Int64Array]:
        """Return the rare pairs of a wave, sorted, and their supports."""
        own = nodes.open_ranks(wave.first, wave.last)
        nothing = np.zeros((len(own), wave.width), dtype=np.int32)
        counts = self.records.fold(partial(count_pairs, wave=wave), np.add, nothing)
        row, column = np.nonzero((counts > 0) & (counts < self.k))
        pairs = np.stack([own[row], nodes.open_ranks()[column]], axis=1)
        above, below = nodes.order[pairs[:, 0]], nodes.order[pairs[:, 1]]
        apart = ~((above <= below) & (below < self.tree.ends[above]))
        return pairs[apart], counts[row, column][apart].astype(np.int64)

    def _rare_sets(self, size: int, wave: Wave, nodes: Nodes) -> tuple[Int64Array, Int64Array]:
        """Return the rare sets of a wave, sorted, and their supports."""
        own = nodes.open_ranks(wave.first, wave.last)
        nothing = np.zeros((len(own), wave.width), dtype=np.int64)
        costs = self.records.fold(partial(count_costs, wave=wave), np.add, nothing)
        room = self.records.parts.room
        bounds = cut_by_cost(costs.ravel(), int(costs.sum()) if room is None else room)
        solved = partial(list_rare, wave=wave, bounds=bounds, size=size, k=self.k)
        found = self.records.regroup(partial(cut_by_parts, wave=wave, bounds=bounds), solved)
        lines = np.concatenate([np.empty((0, size + 1), dtype=np.int64), *found])
        others = nodes.rarest[lines[:, 1:size]]
        sets = np.sort(np.column_stack([own[lines[:, 0]], others]), axis=1)
        order = np.lexsort(sets.T[::-1])
        return sets[order], lines[order, size]


# --- functions that run on the workers ------------------------------------------------------------


def count_nodes(rows: Rows, nodes: Shared[Nodes]) -> Int64Array:
    """Count the records that hold each node."""
    _, ranks = nodes.value.rows(rows)
    counts = np.bincount(ranks, minlength=len(nodes.value.order))
    return np.concatenate([[0], counts])


def count_pairs(rows: Rows, wave: Wave) -> Int32Array:
    """Count the pairs of a wave."""
    from setveil.spark.kernels import wave_pairs

    nodes = wave.nodes.value
    counts: Int32Array = wave_pairs(
        *nodes.rows(rows), wave.first, wave.last, nodes.column, wave.width
    )
    return counts


def count_costs(rows: Rows, wave: Wave) -> Int64Array:
    """Count the places that searches under two nodes read."""
    from setveil.spark.kernels import tail_costs

    nodes = wave.nodes.value
    costs: Int64Array = tail_costs(
        *nodes.rows(rows), wave.first, wave.last, nodes.column, nodes.order, nodes.ends,
        nodes.place, wave.width,
    )  # fmt: skip
    return costs


def cut_by_parts(
    rows: Rows, wave: Wave, bounds: Int64Array
) -> Iterator[tuple[int, tuple[Int64Array, Rows]]]:
    """Yield what each part of the search reads: the first nodes' rows, and the other nodes."""
    from setveil.spark.kernels import cut_tails

    nodes = wave.nodes.value
    part, head, offsets, items = cut_tails(
        *nodes.rows(rows), wave.first, wave.last, nodes.column, nodes.order, nodes.ends,
        nodes.place, wave.width, bounds,
    )  # fmt: skip
    order = np.argsort(part, kind="stable")
    numbers, firsts = np.unique(part[order], return_index=True)
    lasts = np.append(firsts[1:], len(order))[: len(firsts)]
    for number, first, last in zip(numbers.tolist(), firsts, lasts, strict=True):
        mine = order[first:last]
        yield number, (head[mine], Rows(*take_rows(offsets, items, mine)))


def list_rare(
    part: int,
    pieces: list[tuple[Int64Array, Rows]],
    *,
    wave: Wave,
    bounds: Int64Array,
    size: int,
    k: int,
) -> Int64Array:
    """Return the rare sets of one part: the first node's row, the others' places, the support."""
    from setveil.spark.kernels import rare_sets

    nodes = wave.nodes.value
    low, high = int(bounds[part]), int(bounds[part + 1])
    head = np.concatenate([heads for heads, _ in pieces])
    lengths = np.concatenate([np.diff(rows.offsets) for _, rows in pieces])
    rows = Rows(offsets_of(lengths), np.concatenate([rows.items for _, rows in pieces]))
    by_place = nodes.order[nodes.rarest].astype(np.int64)
    lines = []
    for own in np.unique(head).tolist():
        first = max(low - own * wave.width, 0)
        last = min(high - own * wave.width, wave.width)
        mine = take_rows(*rows, np.flatnonzero(head == own))
        found = rare_sets(size - 1, k, first, last, *mine, by_place, nodes.ends)
        lines.append(np.column_stack([np.full(len(found), own), found]))
    return np.concatenate(lines)
