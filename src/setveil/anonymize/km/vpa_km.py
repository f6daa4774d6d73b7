"""VPAKm (VPA): k^m-anonymity part by part of the item domain, then across the parts."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import occurrences_below, price_of_nodes
from setveil.anonymize.km.apriori_km import Records, raise_rare, solve_parts, whole_cost
from setveil.anonymize.km.hghs import CutSearch
from setveil.anonymize.km.km_method import KmMethod, Recoding
from setveil.core.arrays import offsets_of
from setveil.core.literature import TERROVITIS_2011
from setveil.core.params import count
from setveil.core.registry import register
from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from setveil.anonymize.base import LeafRows
    from setveil.anonymize.km.apriori_km import Raised
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine


@register(
    "anonymizer",
    "vpa-km",
    paper="Terrovitis, Mamoulis & Kalnis 2011",
    bibtex=TERROVITIS_2011,
)
@dataclass(frozen=True, kw_only=True)
class VPAKm(KmMethod):
    """Repair rare itemsets within parts of the item domain first, then across them (VPA).

    The items are split into parts along the taxonomy. Each part is repaired on its own, as
    AprioriKm does it, on the records reduced to the part's items; the parts are independent and
    run through the engine. Their generalizations together are where AprioriKm then starts on the
    whole records: only sets with items of several parts can still be rare. In the end published
    nodes are replaced by their children where no set becomes rare. Recoding is global:
    an item is published as the same node in all records.

    Parameters
    ----------
    k
        Least number of records.
    m
        Greatest number of items someone may know.
    parts
        Greatest number of parts of the item domain.

    Notes
    -----
    A part is a run of neighbouring subtrees of the taxonomy with about the same number of item
    occurrences as the others, so that a repair inside a part concerns that part alone, unless
    it reaches a node above several parts. There may be fewer parts than asked for, where the
    taxonomy cannot be split evenly. A part held by fewer than k records is left to the last
    step. Where repairs of two parts meet, the higher node counts. The paper splits the domain
    at will; along the taxonomy, fewer repairs have to be widened later.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.from_parents({"a1": "A", "a2": "A", "b1": "B", "b2": "B",
    ...                               "A": "ALL", "B": "ALL"})
    >>> table = TransactionTable.from_rows(
    ...     [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]])
    >>> result = VPAKm(k=2, m=2, parts=2).anonymize(table, taxonomy=tree)
    >>> result.release.to_rows()
    [['A', 'b1', 'b2'], ['A', 'b1', 'b2'], ['A', 'b1'], ['A', 'b2']]

    References
    ----------
    M. Terrovitis, N. Mamoulis, P. Kalnis: Local and global recoding methods for anonymizing
    set-valued data, The VLDB Journal 20(1), 2011.
    """

    called: ClassVar[str] = "broader terms for rare combinations, part by part"
    distributed: ClassVar[str] = "setveil.spark.methods:sliced"

    parts: int = count(8, doc="greatest number of parts of the item domain")

    def _recode(self, rows: LeafRows, engine: Engine, progress: Progress) -> Recoding:
        """Repair the parts, then all records from there on; then split what need not be raised."""
        tree = rows.taxonomy
        ranges = domain_parts(rows, self.parts)
        whole = whole_cost(tree, rows.leaves)
        solved = self._solve_parts(rows, ranges, engine, progress)
        log: list[Step] = []
        for number, part in sorted(solved.items()):
            log += part.steps(tree, whole, f" (part {number + 1} of {len(ranges)})")
        start = highest(tree, (node for part in solved.values() for node in part.nodes))
        joined = raise_rare(
            Records(tree=tree, offsets=rows.offsets, leaves=rows.leaves, nodes=tuple(start)),
            self.k,
            self.m,
            progress,
        )
        inside = sum(part.cost for part in solved.values())
        across = joined.steps(tree, whole)
        widened = joined.cost - inside - int(joined.log[:, 1].sum())
        if widened:
            log.append(
                Step(
                    action="join",
                    subject=f"{len(ranges)} parts",
                    reason="where their generalizations meet, the higher node counts",
                    cost=widened / whole,
                )
            )
        nodes, splits = specialize(rows, joined.nodes, k=self.k, m=self.m)
        log += across
        log += [
            Step(
                action="specialize",
                subject=tree.ids[node],
                reason="no set with what stands below it is rare",
                cost=-saved / whole,
            )
            for node, saved in splits
        ]
        figures = {"parts": len(ranges), "generalizations_across_parts": len(across)}
        return Recoding(nodes, log, figures)

    def _solve_parts(
        self,
        rows: LeafRows,
        ranges: list[tuple[int, int]],
        engine: Engine,
        progress: Progress,
    ) -> dict[int, Raised]:
        """Repair each part that at least k records hold; with a single part there is nothing."""
        parts = [_reduce_records(rows, number, *nodes) for number, nodes in enumerate(ranges)]
        work = [part for part in parts if len(part.offsets) > self.k]
        if len(ranges) < 2 or not work:
            return {}

        def parts_with_progress() -> Iterator[Records]:
            for done, part in enumerate(work):
                progress("repairing parts", done, len(work))
                yield part

        return solve_parts(parts_with_progress(), self.k, self.m, engine)


def specialize(
    rows: LeafRows, nodes: Sequence[int], *, k: int, m: int
) -> tuple[list[int], list[tuple[int, int]]]:
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

    Returns
    -------
    tuple
        The inner nodes that something is generalized to now; and the nodes that were split, in
        order, each with the NCP saved, in leaves over all occurrences.

    Examples
    --------
    >>> from setveil.anonymize.base import leaf_rows
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    >>> table = TransactionTable.from_rows([["a", "c"], ["a", "c"], ["b", "c"], ["b", "d"]])
    >>> left, splits = specialize(leaf_rows(table, tree), [0], k=2, m=1)
    >>> [tree.names[v] for v in left], [tree.names[v] for v, _ in splits]
    (['group 1.2'], ['group 2.1', 'group 1.1'])
    """
    search = CutSearch(rows, k=k, m=m)
    tree = search.tree
    price = search.occurrences * price_of_nodes(tree)

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
    return cut.nodes[~tree.is_leaf[cut.nodes]].tolist(), splits


def domain_parts(rows: LeafRows, parts: int) -> list[tuple[int, int]]:
    """Split the taxonomy into at most `parts` runs of nodes with about as many occurrences each.

    The heaviest subtree is replaced by its children until there are enough subtrees; then
    neighbouring ones are put together.

    >>> from setveil.anonymize.base import leaf_rows
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    >>> domain_parts(leaf_rows(TransactionTable.from_rows([["a", "b", "c", "d"]]), tree), 2)
    [(1, 4), (4, 7)]
    """
    tree = rows.taxonomy
    held = occurrences_below(tree, rows.leaves)
    tops = [0]
    while len(tops) < parts:
        # A subtree of one child stands for the same items as that child.
        heaviest = max(
            range(len(tops)), key=lambda i: (not tree.is_leaf[tops[i]], held[tops[i]], -i)
        )
        node = tops[heaviest]
        if tree.is_leaf[node]:
            break
        below = np.arange(node + 1, tree.ends[node])
        tops[heaviest : heaviest + 1] = below[tree.parents[below] == node].tolist()
    weights = held[tops]
    middles = np.cumsum(weights) - weights / 2
    part_of = np.minimum(middles * parts // max(int(weights.sum()), 1), parts - 1)
    firsts = np.flatnonzero(np.append(True, np.diff(part_of) > 0))
    lasts = np.append(firsts[1:], len(tops)) - 1
    return [
        (tops[a], int(tree.ends[tops[b]]))
        for a, b in zip(firsts.tolist(), lasts.tolist(), strict=True)
    ]


def highest(tree: Taxonomy, nodes: Iterable[int]) -> list[int]:
    """Return those of the nodes that lie below no other of them.

    >>> from setveil import Taxonomy
    >>> highest(Taxonomy.balanced(["a", "b", "c", "d"], fanout=2), [2, 1, 5, 1])
    [1, 5]
    """
    found: list[int] = []
    for node in sorted(set(nodes)):
        if not found or node >= tree.ends[found[-1]]:
            found.append(node)
    return found


def _reduce_records(rows: LeafRows, number: int, first: int, end: int) -> Records:
    """Return the records reduced to the leaves from `first` to before `end`, without empty ones."""
    inside = (rows.leaves >= first) & (rows.leaves < end)
    record = np.repeat(np.arange(len(rows)), np.diff(rows.offsets))[inside]
    lengths = np.bincount(record, minlength=len(rows))
    offsets = offsets_of(lengths[lengths > 0])
    return Records(tree=rows.taxonomy, offsets=offsets, leaves=rows.leaves[inside], number=number)
