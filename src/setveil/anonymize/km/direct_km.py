"""DirectKm (DA): k^m-anonymity by one walk through the count-tree of all itemsets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.km.cut_kernels import rare_below, records_of, with_ancestors
from setveil.anonymize.km.km_method import GrowingCut, KmMethod, Recoding, rare_in_words
from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.core.errors import InfeasibleError
from setveil.core.literature import TERROVITIS_2008
from setveil.core.registry import register
from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil.anonymize.base import LeafRows
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

MOST_SETS = 20_000_000_000
"""A count-tree of more itemsets (counted once per record that holds them) is refused."""


@register(
    "anonymizer",
    "direct-km",
    paper="Terrovitis, Mamoulis & Kalnis 2008",
    bibtex=TERROVITIS_2008,
)
@dataclass(frozen=True, kw_only=True)
class DirectKm(KmMethod):
    """Walk through all sets of up to m nodes; generalize where one is too rare (DA).

    The records are expanded with the ancestors of their items. The count-tree holds every set of
    up to m nodes of a record in which none lies above another; on the way down a set, nodes go
    from general to special. The walk meets a general set before a special one. Where a set has
    support below k, some of its items are replaced by ancestors, in the cheapest way that
    reaches k, and this for the whole data: an item below a generalized node is published as
    that node in all records. Sets that hold an item which was generalized meanwhile are passed
    over.

    Parameters
    ----------
    k
        Least number of records.
    m
        Greatest number of items someone may know.

    Notes
    -----
    Cost is NCP: an occurrence of an item that is published as a node costs the node's share of
    all leaves, and nothing if it is published as itself. Ways of equal cost are decided for the
    most special nodes. The print tests only complete paths of the count-tree; here every set is
    tested, since in short records inner ones are complete too. The tree itself, which would take
    the memory of all sets, is never built: it is walked one branch at a time.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.from_parents({"a1": "A", "a2": "A", "b1": "B", "b2": "B",
    ...                               "A": "ALL", "B": "ALL"})
    >>> table = TransactionTable.from_rows(
    ...     [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]])
    >>> result = DirectKm(k=2, m=2).anonymize(table, taxonomy=tree)
    >>> result.release.to_rows()
    [['A', 'b1', 'b2'], ['A', 'b1', 'b2'], ['A', 'b1'], ['A', 'b2']]
    >>> for step in result.log:
    ...     print(step.action, step.subject, "because", step.reason)
    generalize A because {a1, a2} is in 1 record

    References
    ----------
    M. Terrovitis, N. Mamoulis, P. Kalnis: Privacy-preserving anonymization of set-valued data,
    PVLDB 1(1), 2008.
    """

    called: ClassVar[str] = "broader terms for rare combinations, in one walk"

    def _recode(self, rows: LeafRows, engine: Engine, progress: Progress) -> Recoding:
        """Walk through the count-tree: each repair decides what is tested next."""
        m = min(self.m, int(np.diff(rows.offsets).max()))
        walk = _Walk(_Expanded.of(rows, m), GrowingCut(rows), self.k)
        walk.run(m, progress)
        return Recoding(walk.cut.nodes, walk.log, {"repairs": len(walk.log)})


@dataclass(frozen=True, eq=False)
class _Expanded:
    """The records with all ancestors of their items; nodes are numbered by rank."""

    node_of: Int64Array  # the taxonomy node behind each rank
    rank_of: Int64Array
    offsets: Int64Array
    items: Int32Array
    record_of: Int32Array
    place_offsets: Int64Array  # for each rank the run of its places
    places: Int64Array

    @classmethod
    def of(cls, rows: LeafRows, m: int) -> _Expanded:
        tree = rows.taxonomy
        offsets, nodes = with_ancestors(rows.offsets, rows.leaves, tree.parents)
        lengths = np.diff(offsets)
        _check_size(lengths, m)
        supports = np.bincount(nodes, minlength=len(tree))
        order = np.lexsort((-supports, tree.depths))
        node_of = order[supports[order] > 0]
        rank_of = np.full(len(tree), -1, dtype=np.int64)
        rank_of[node_of] = np.arange(len(node_of))
        width = np.int64(max(len(node_of), 1))
        record_of = np.repeat(np.arange(len(rows)), lengths)
        items = (np.sort(record_of * width + rank_of[nodes]) % width).astype(np.int32)
        return cls(
            node_of=node_of,
            rank_of=rank_of,
            offsets=offsets,
            items=items,
            record_of=record_of.astype(np.int32),
            place_offsets=offsets_of(supports[node_of]),
            places=np.argsort(items, kind="stable"),
        )

    def places_of(self, rank: int) -> Int64Array:
        return self.places[self.place_offsets[rank] : self.place_offsets[rank + 1]]

    def support(self, nodes: list[int]) -> int:
        """Count the records that hold all of these taxonomy nodes."""
        ranks = self.rank_of[nodes].tolist()
        lists = sorted((self.record_of[self.places_of(rank)] for rank in ranks), key=len)
        common = lists[0]
        for records in lists[1:]:
            spot = np.minimum(np.searchsorted(records, common), len(records) - 1)
            common = common[records[spot] == common]
        return len(common)


@dataclass(eq=False)
class _Walk:
    """One walk through the count-tree: what is rare is repaired on the spot."""

    expanded: _Expanded
    cut: GrowingCut
    k: int
    log: list[Step] = field(default_factory=list)

    def run(self, m: int, progress: Progress) -> None:
        """Test every set of up to `m` nodes, in the order of the count-tree."""
        data, tree = self.expanded, self.cut.tree
        total = len(data.node_of)
        starts, ends = data.node_of.astype(np.int32), tree.ends[data.node_of]
        for rank, node in enumerate(data.node_of.tolist()):
            if rank % 100 == 0:
                progress("testing", rank, total)
            if self.cut.hidden[node]:
                continue
            places = data.places_of(rank)
            if len(places) < self.k:
                self._repair([rank])
            elif m > 1:
                begins, kept = records_of(
                    rank, data.offsets, data.items, places, data.record_of, starts, ends,
                    self.cut.hidden[data.node_of],
                )  # fmt: skip
                number, found = rare_below(begins, kept, starts, ends, self.k, m)
                self._repair_all(found[: number * m].reshape(number, m))
        progress("testing", total, total)

    def _repair_all(self, itemsets: Int64Array) -> None:
        """Repair these itemsets in the order of the count-tree, unless one before has done it."""
        itemsets = itemsets[np.lexsort(itemsets.T[::-1])]
        # A place that is filled up with -1 reads the last entry, which is never hidden.
        while len(itemsets):
            hidden = np.append(self.cut.hidden[self.expanded.node_of], False)
            itemsets = itemsets[~hidden[itemsets].any(axis=1)]
            if len(itemsets):
                self._repair([rank for rank in itemsets[0].tolist() if rank >= 0])

    def _repair(self, ranks: list[int]) -> None:
        """Replace items by ancestors, in the cheapest way that at least k records hold."""
        items = self.expanded.node_of[ranks].tolist()
        cost, nodes = next(way for way in self._ways(items) if self._suffices(items, way[1]))
        self.log.append(self._step(items, nodes, cost))
        for node in nodes:
            self.cut.raise_to(node)

    def _suffices(self, items: list[int], nodes: tuple[int, ...]) -> bool:
        together = [*nodes, *(v for v in items if not self.cut.covers(nodes, v))]
        return self.expanded.support(together) >= self.k

    def _ways(self, items: list[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Give the ways to generalize some of `items`, cheapest first, as cost and new nodes.

        A way is a number of levels up for each item. One level more never costs less, so a heap
        that starts with the items themselves meets the ways in order of cost. Of equal cost,
        the most special nodes come first.
        """
        ups = [self.cut.tree.ancestors(v) for v in items]
        start = (0,) * len(items)
        heap, seen = [(0, start)], {start}
        while heap:
            cost = heap[0][0]
            equals = set()
            while heap and heap[0][0] == cost:
                levels = heappop(heap)[1]
                equals.add(self._new_nodes(ups, levels))
                for i, up in enumerate(ups):
                    higher = (*levels[:i], levels[i] + 1, *levels[i + 1 :])
                    if higher[i] < len(up) and higher not in seen:
                        seen.add(higher)
                        nodes = self._new_nodes(ups, higher)
                        heappush(heap, (sum(map(self.cut.cost, nodes)), higher))
            equals.discard(())
            for nodes in sorted(equals, key=self._speciality):
                yield cost, nodes

    def _new_nodes(self, ups: list[list[int]], levels: tuple[int, ...]) -> tuple[int, ...]:
        chosen = {up[level] for up, level in zip(ups, levels, strict=True) if level}
        return tuple(sorted(v for v in chosen if not self.cut.covers(chosen, v)))

    def _speciality(self, nodes: tuple[int, ...]) -> list[int]:
        return sorted((-self.expanded.rank_of[list(nodes)]).tolist())

    def _step(self, items: list[int], nodes: tuple[int, ...], cost: int) -> Step:
        tree = self.cut.tree
        return Step(
            action="generalize",
            subject=", ".join(tree.ids[v] for v in nodes),
            reason=rare_in_words(tree, items, self.expanded.support(items)),
            cost=self.cut.share(cost),
        )


def _check_size(lengths: Int64Array, m: int) -> None:
    """Refuse a count-tree that nobody would wait for, before anything is counted."""
    values, numbers = np.unique(lengths, return_counts=True)
    sets = sum(
        number * sum(math.comb(length, size) for size in range(1, m + 1))
        for length, number in zip(values.tolist(), numbers.tolist(), strict=True)
    )
    if sets > MOST_SETS:
        raise InfeasibleError(
            f"the records and the ancestors of their items have {sets:.1e} sets of at most {m}, "
            f"but DirectKm counts at most {MOST_SETS:.0e}",
            fix="use apriori-km, which counts far fewer, or a smaller m",
        )
