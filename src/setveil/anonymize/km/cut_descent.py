"""A safe cut of the taxonomy made as specific as it can be: no node of it can be split."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from setveil.anonymize.km.cut_search import CutSearch
from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.anonymize.base import LeafRows


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
