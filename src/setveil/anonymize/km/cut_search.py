"""Cuts of the taxonomy with what must be suppressed in them, priced one split at a time."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from setveil.anonymize.coherence.mole_kernels import COMPLETE, hit_all, minimal_moles
from setveil.anonymize.km.cut_kernels import rest_is_frequent, rows_of_split
from setveil.core.arrays import Int64Array, distinct_in_rows, offsets_of
from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.anonymize.base import LeafRows

LIMIT = 2_000_000
"""A split after which there are more threats than this is not made."""

WORK = 2_000_000_000
"""Nor one for which more places of records would have to be read to find them."""

SAFE_WORK = 50_000_000
"""The same where a single threat is enough to know."""

EMPTY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cut:
    """One node above each leaf that occurs, and the nodes among them that are suppressed.

    Parameters
    ----------
    nodes
        The nodes, ascending.
    threat_offsets, threats
        The minimal sets of them that some record holds, but fewer than k.
    suppressed, hits
        What hits all threats, in the order of choice, and how many threats each hit first.
    general
        What generalizing to the nodes costs.
    cost
        What that and the suppression cost together.
    """

    nodes: Int64Array
    threat_offsets: Int64Array
    threats: Int64Array
    suppressed: Int64Array
    hits: Int64Array
    general: int
    cost: int


class CutSearch:
    """The records of a problem, with all that stays the same from cut to cut.

    Costs are whole numbers, in units of 1 / (all leaves - 1): an occurrence below node v costs
    ``leaves(v) - 1`` where v is published, and the whole unit where v is suppressed. A node with
    one child that occurs is never in a cut, but this child in its place: it is held by the same
    records and says more.

    Examples
    --------
    >>> from setveil.anonymize.base import leaf_rows
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.from_parents({"a": "A", "b": "A", "A": "*", "c": "*"})
    >>> table = TransactionTable.from_rows([["a"], ["b"], ["a", "c"]])
    >>> search = CutSearch(leaf_rows(table, tree), k=2, m=2)
    >>> top = search.start()
    >>> top.cost / search.unit, [tree.names[v] for v in search.splittable(top)]
    (4.0, ['*'])
    >>> below = search.split(top, 0)
    >>> below.cost / search.unit, [tree.names[v] for v in below.suppressed]
    (2.5, ['c'])
    """

    def __init__(self, rows: LeafRows, *, k: int, m: int | None) -> None:
        self.k, self.m = k, m
        self.tree = rows.taxonomy
        self.offsets, self.leaves = distinct_in_rows(rows.offsets, rows.leaves)
        n_nodes = len(self.tree)
        row = np.repeat(np.arange(len(rows), dtype=np.int64), np.diff(self.offsets))
        # Sixteen bits are sorted by their digits, in a tenth of the time.
        narrow = self.leaves.astype(np.min_scalar_type(n_nodes))
        self._holders = row[np.argsort(narrow, kind="stable")]
        self._holder_offsets = np.zeros(n_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.leaves, minlength=n_nodes), out=self._holder_offsets[1:])
        # Leaf occurrences below each node.
        self.occurrences = self._holder_offsets[self.tree.ends] - self._holder_offsets[:-1]
        self.unit = max(self.tree.n_leaves - 1, 1)
        self.generalizing = self.occurrences * (self.tree.leaves - 1)
        self.residual = self.occurrences * self.unit - self.generalizing
        self._seen = np.zeros(len(rows), dtype=bool)
        self._below: dict[int, Int64Array] = {}
        self._ranked: tuple[Cut | None, Int64Array, Int64Array] = None, EMPTY, EMPTY
        self.tried = 0

    def start(self) -> Cut:
        """Return the cut of the lowest node above all records."""
        if not len(self.leaves):
            return self._cut(EMPTY, np.zeros(1, dtype=np.int64), EMPTY)
        root = self._lowest(0)
        rare = np.count_nonzero(np.diff(self.offsets)) < self.k
        threats = np.array([root] if rare else [], dtype=np.int64)
        return self._cut(np.array([root], dtype=np.int64), np.arange(len(threats) + 1), threats)

    def splittable(self, cut: Cut) -> list[int]:
        """Return the nodes of a cut that have children, ascending."""
        return [v for v in cut.nodes.tolist() if len(self.children(v))]

    def children(self, node: int) -> Int64Array:
        """Return what a split puts in a node's place."""
        if node not in self._below:
            self._below[node] = np.array(
                [self._lowest(child) for child in self._occurring(node)], dtype=np.int64
            )
        return self._below[node]

    def _occurring(self, node: int) -> list[int]:
        found = []
        child, end = node + 1, int(self.tree.ends[node])
        while child < end:
            if self.occurrences[child]:
                found.append(child)
            child = int(self.tree.ends[child])
        return found

    def _lowest(self, node: int) -> int:
        while len(below := self._occurring(node)) == 1:
            node = below[0]
        return node

    def split(self, cut: Cut, node: int) -> Cut | None:
        """Return the cut with the children of `node` in its place; None if that is too much.

        Threats without the node stay as they are, and those with it go. New ones hold a child,
        so only records that hold the node are looked at.
        """
        self.tried += 1
        fresh = self._new_threats(cut, node)
        if fresh is None:
            return None
        lengths = np.diff(cut.threat_offsets)
        stays = np.ones(len(lengths), dtype=bool)
        stays[np.repeat(np.arange(len(lengths)), lengths)[cut.threats == node]] = False
        old = cut.threats[np.repeat(stays, lengths)]
        sizes = np.concatenate([lengths[stays], np.diff(fresh[0])])
        if len(sizes) > LIMIT:
            return None
        return self._cut(
            self._replaced(cut, node),
            offsets_of(sizes),
            np.concatenate([old, fresh[1]]),
        )

    def _cut(self, nodes: Int64Array, offsets: Int64Array, threats: Int64Array) -> Cut:
        suppressed, hits = hit_all(offsets, threats, self.residual)
        general = int(self.generalizing[nodes].sum())
        return Cut(
            nodes=nodes,
            threat_offsets=offsets,
            threats=threats,
            suppressed=suppressed,
            hits=hits,
            general=general,
            cost=general + int(self.residual[suppressed].sum()),
        )

    def cut_at(self, nodes: Sequence[int]) -> Cut:
        """Return the safe cut of some nodes and the leaves that lie below none of them."""
        free = self.occurrences * self.tree.is_leaf > 0
        for node in nodes:
            free[node : self.tree.ends[node]] = False
        lowest = [self._lowest(node) for node in nodes if self.occurrences[node]]
        chosen = np.union1d(np.flatnonzero(free), np.array(lowest, dtype=np.int64))
        return self._cut(chosen, np.zeros(1, dtype=np.int64), EMPTY)

    def safe_split(self, cut: Cut, node: int) -> Cut | None:
        """Return a cut without threats after a split; None if that would make one.

        Every new threat holds a child. The rarest child comes first: it has the fewest records to
        read and is the most likely to be in a threat.
        """
        children = self.children(node)
        if self.occurrences[children].min() < self.k:
            return None
        after = self._cut(self._replaced(cut, node), cut.threat_offsets, cut.threats)
        for child in children[np.argsort(self.occurrences[children], kind="stable")].tolist():
            found = self._moles(after, child, np.array([child]), limit=0, work=SAFE_WORK)
            if found[2] != COMPLETE:
                return None
        return after

    def _replaced(self, cut: Cut, node: int) -> Int64Array:
        """Return the nodes of a cut with the children of one in its place."""
        return np.sort(np.concatenate([cut.nodes[cut.nodes != node], self.children(node)]))

    def _new_threats(self, cut: Cut, node: int) -> tuple[Int64Array, Int64Array] | None:
        """Return the minimal threats with a child of `node`, or None if they are too many."""
        set_offsets, nodes, state = self._moles(
            cut, node, self.children(node), limit=LIMIT, work=WORK
        )
        if state != COMPLETE:
            return None
        if self.m is not None and self.m < 3:
            return set_offsets, nodes
        # What a threat holds beside its only child was not counted: it may be rare by itself.
        good = rest_is_frequent(
            self.offsets, self.leaves, self._holder_offsets, self._holders, self.tree.ends,
            node, int(self.tree.ends[node]), set_offsets, nodes, self.k, self._seen,
        )  # fmt: skip
        lengths = np.diff(set_offsets)
        return offsets_of(lengths[good]), nodes[np.repeat(good, lengths)]

    def _moles(
        self, cut: Cut, node: int, leading: Int64Array, *, limit: int, work: int
    ) -> tuple[Int64Array, Int64Array, int]:
        """Return the rare sets of some nodes, at or below `node`, and the rest of the cut.

        Each holds one of the leading nodes and is minimal but for what it holds beside them.
        """
        frequent, rank_of = self._ranks(cut)
        first, end = node, int(self.tree.ends[node])
        child_of = np.searchsorted(leading, np.arange(first, end), side="right") - 1
        holders = self._holders[self._holder_offsets[first] : self._holder_offsets[end]]
        offsets, items = rows_of_split(
            self.offsets, self.leaves, holders, first, end, child_of, len(leading), rank_of,
            self._seen,
        )  # fmt: skip
        longest = int(np.diff(offsets).max())
        p = longest if self.m is None else min(self.m, longest)
        set_offsets, sets, state = minimal_moles(
            offsets, items, len(leading) + len(frequent), EMPTY, EMPTY.astype(np.int32), 0,
            self.k, EMPTY, p, len(leading), limit, work,
        )  # fmt: skip
        return set_offsets, np.concatenate([leading, frequent])[sets], state

    def _ranks(self, cut: Cut) -> tuple[Int64Array, Int64Array]:
        """Return the nodes of a cut that are no threats, and for each leaf the place of its own."""
        if self._ranked[0] is not cut:
            single = cut.threats[cut.threat_offsets[:-1][np.diff(cut.threat_offsets) == 1]]
            frequent = np.setdiff1d(cut.nodes, single) if len(single) else cut.nodes
            nodes = np.arange(len(self.tree))
            rank_of = np.searchsorted(frequent, nodes, side="right") - 1
            if len(frequent):
                rank_of[nodes >= self.tree.ends[frequent[rank_of]]] = -1
            self._ranked = cut, frequent, rank_of
        return self._ranked[1], self._ranked[2]


@dataclass(frozen=True, kw_only=True, eq=False)
class Descent:
    """Where a descent ended, and the nodes it split with what that saved.

    Parameters
    ----------
    nodes
        The inner nodes that something is generalized to.
    splits
        Nodes that were split, in order, and the NCP saved, in leaves over all occurrences.
    """

    nodes: list[int]
    splits: list[tuple[int, int]]

    def steps(self, ids: Sequence[str], whole: int) -> list[Step]:
        """Return the splits as steps of a log; costs are shares of `whole`, below 0."""
        return [
            Step(
                action="specialize",
                subject=ids[node],
                reason="no set with what stands below it is rare",
                cost=-saved / whole,
            )
            for node, saved in self.splits
        ]


def descend(rows: LeafRows, nodes: Sequence[int], *, k: int, m: int) -> Descent:
    """Split nodes of a cut that is k^m-anonymous as long as it stays so.

    A cut above a safe one is safe, too. So a node that cannot be split now cannot be split later,
    when other nodes are: each is tried once, the one that saves most first.

    Parameters
    ----------
    rows
        Records as sorted sets of leaves.
    nodes
        The inner nodes that something is generalized to; other leaves stand for themselves.
    k, m
        Sets of up to `m` nodes are in `k` records or none.

    Examples
    --------
    >>> from setveil.anonymize.base import leaf_rows
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    >>> table = TransactionTable.from_rows([["a", "c"], ["a", "c"], ["b", "c"], ["b", "d"]])
    >>> found = descend(leaf_rows(table, tree), [0], k=2, m=1)
    >>> [tree.names[v] for v in found.nodes], [tree.names[v] for v, _ in found.splits]
    (['group 1.2'], ['group 2.1', 'group 1.1'])
    """
    search = CutSearch(rows, k=k, m=m)
    tree = search.tree
    price = search.occurrences * np.where(tree.is_leaf, 0, tree.leaves)

    def saved(node: int) -> int:
        return int(price[node] - price[search.children(node)].sum())

    cut = search.cut_at(nodes)
    splits = []
    waiting = [(-saved(node), node) for node in search.splittable(cut)]
    heapify(waiting)
    while waiting:
        _, node = heappop(waiting)
        below = search.safe_split(cut, node)
        if below is None:
            continue
        cut = below
        splits.append((node, saved(node)))
        for child in search.children(node).tolist():
            if len(search.children(child)):
                heappush(waiting, (-saved(child), child))
    return Descent(nodes=cut.nodes[~tree.is_leaf[cut.nodes]].tolist(), splits=splits)
