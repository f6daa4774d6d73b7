"""OptimalKm (OA): the cheapest global recoding that is k^m-anonymous, by exhaustive search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.km.km_method import GrowingCut, KmMethod, Recoding
from setveil.core.errors import InfeasibleError
from setveil.core.literature import TERROVITIS_2008
from setveil.core.registry import register
from setveil.release.base import Step

if TYPE_CHECKING:
    import numpy.typing as npt

    from setveil.anonymize.base import LeafRows
    from setveil.core.arrays import Int64Array
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

MOST_ITEMS = 32
"""With more items than this the search is refused; a taxonomy of 32 has up to 458,330 cuts."""


@register(
    "anonymizer",
    "optimal-km",
    paper="Terrovitis, Mamoulis & Kalnis 2008",
    bibtex=TERROVITIS_2008,
)
@dataclass(frozen=True, kw_only=True)
class OptimalKm(KmMethod):
    """Find the cheapest cut of the taxonomy whose recoding is k^m-anonymous (OA).

    A cut publishes each item as the one node of the cut above it, in all records. The search
    goes up from the cut of all leaves, cheapest cut first, so the first safe one is the best. A
    cut that publishes a rare set (up to m nodes, in some records but in fewer than k) can become
    safe only if one node of that set is generalized; only these cuts are tried next. Rare sets
    are remembered, and most cuts are discarded by one that is known.

    Parameters
    ----------
    k
        Least number of records.
    m
        Greatest number of items someone may know.

    Notes
    -----
    Cost is NCP: an occurrence of an item that is published as a node costs the node's share of
    all leaves, and nothing if it is published as itself. The number of cuts grows exponentially,
    so data with more than 32 different items is refused. Nodes that stand for no more of the
    items that occur than a node below them are never tried: they cost more and hide nothing.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.from_parents({"a1": "A", "a2": "A", "b1": "B", "b2": "B",
    ...                               "A": "ALL", "B": "ALL"})
    >>> table = TransactionTable.from_rows(
    ...     [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]])
    >>> result = OptimalKm(k=2, m=2).anonymize(table, taxonomy=tree)
    >>> result.release.to_rows()
    [['A', 'b1', 'b2'], ['A', 'b1', 'b2'], ['A', 'b1'], ['A', 'b2']]
    >>> result.figures["cuts_tried"], result.figures["cuts"]
    (2, 5)

    References
    ----------
    M. Terrovitis, N. Mamoulis, P. Kalnis: Privacy-preserving anonymization of set-valued data,
    PVLDB 1(1), 2008.
    """

    called: ClassVar[str] = "broader terms for rare combinations, at least cost"

    def _recode(self, rows: LeafRows, engine: Engine, progress: Progress) -> Recoding:
        """Search the cuts, the cheapest first: which one is next depends on the last."""
        space = _Space.of(rows)
        best, tried = _search(space, self.k, self.m, progress)
        nodes = [space.nodes[i] for i in _bits(best & ~space.leaves)]
        figures = {"cuts_tried": tried, "cuts": space.n_cuts}
        return Recoding(nodes, _log(rows, nodes, tried, space.n_cuts), figures)


@dataclass(frozen=True, eq=False)
class _Space:
    """The nodes worth trying, numbered from 0 in preorder; a cut is a bit set of them.

    Row `i` of `holds` tells which of the distinct records hold something below node `i`;
    `copies` is how often each of these records occurs.
    """

    nodes: list[int]
    parents: list[int]
    below: list[int]  # bit sets
    costs: list[int]
    leaves: int  # bit set
    n_cuts: int
    holds: npt.NDArray[np.bool_]
    copies: Int64Array

    @classmethod
    def of(cls, rows: LeafRows) -> _Space:
        tree = rows.taxonomy
        leaves, place = np.unique(rows.leaves, return_inverse=True)
        # How many of the items that occur lie below each node, and at how many the next one up.
        n_below = np.searchsorted(leaves, tree.ends) - np.searchsorted(leaves, range(len(tree)))
        kept = _worth_trying(tree, n_below)
        number = {v: i for i, v in enumerate(kept)}
        ups = [[number[u] for u in tree.ancestors(v)[1:] if u in number] for v in kept]
        parents = [above[0] if above else -1 for above in ups]
        n_cuts = _n_cuts(parents)
        if len(leaves) > MOST_ITEMS:
            raise InfeasibleError(
                f"OptimalKm searches the cuts of the taxonomy, and with {len(leaves):,} items "
                f"there are {_in_words(n_cuts)}; it takes at most {MOST_ITEMS} items",
                fix="use direct-km or apriori-km, which are nearly as good and far faster",
            )
        below = [sum(1 << i for i, above in enumerate(ups) if j in above) for j in range(len(kept))]
        masks = np.bitwise_or.reduceat(
            np.append(np.int64(1) << place.astype(np.int64), 0), rows.offsets[:-1]
        ) * (np.diff(rows.offsets) > 0)
        distinct, copies = np.unique(masks, return_counts=True)
        first = np.searchsorted(leaves, kept)
        inside = [((1 << int(n_below[v])) - 1) << int(f) for v, f in zip(kept, first, strict=True)]
        cut = GrowingCut(rows)
        return cls(
            nodes=kept,
            parents=parents,
            below=below,
            costs=[cut.cost(v) for v in kept],
            leaves=sum(1 << number[v] for v in leaves.tolist()),
            n_cuts=n_cuts,
            holds=(np.array(inside, dtype=np.int64)[:, None] & distinct) != 0,
            copies=copies,
        )

    def raised(self, cut: int, i: int) -> int:
        """Return the cut with node `i` generalized to its parent."""
        parent = self.parents[i]
        return cut & ~self.below[parent] | 1 << parent

    def cost(self, cut: int) -> int:
        return sum(self.costs[i] for i in _bits(cut))

    def rare_sets(self, cut: int, k: int, m: int) -> list[int]:
        """Return the smallest sets of nodes of the cut with support from 1 to k - 1, as bits."""
        nodes = np.array(_bits(cut), dtype=np.int64)
        for size in range(1, min(m, len(nodes)) + 1):
            rare = self._rare_of_size(nodes, size, k)
            if rare:
                return rare
        return []

    def _rare_of_size(self, nodes: Int64Array, size: int, k: int) -> list[int]:
        rare: list[int] = []
        everyone = np.arange(len(self.copies))
        stack = [(0, 0, 0, everyone)]
        while stack:
            length, chosen, first, records = stack.pop()
            held = self.holds[nodes[first:]][:, records]
            supports = held @ self.copies[records]
            for at in np.flatnonzero(supports).tolist():
                extended = chosen | 1 << int(nodes[first + at])
                if length + 1 < size:
                    stack.append((length + 1, extended, first + at + 1, records[held[at]]))
                elif supports[at] < k:
                    rare.append(extended)
        return rare


def _search(space: _Space, k: int, m: int, progress: Progress) -> tuple[int, int]:
    """Return the cheapest safe cut and how many cuts were looked at."""
    known = np.empty(0, dtype=np.int64)
    heap = [(0, space.leaves)]
    seen = {space.leaves}
    tried = 0
    while True:
        cut = heappop(heap)[1]
        tried += 1
        if tried % 100 == 1:
            progress("searching", min(tried, space.n_cuts), space.n_cuts)
        hit = known[(known & cut) == known]
        if not len(hit):
            hit = np.array(space.rare_sets(cut, k, m), dtype=np.int64)
            known = np.concatenate([known, hit])
        if not len(hit):
            return cut, tried
        # All cuts above that are safe have generalized one node of every rare set: one will do.
        for i in _bits(int(hit[0])):
            if space.parents[i] >= 0:
                higher = space.raised(cut, i)
                if higher not in seen:
                    seen.add(higher)
                    heappush(heap, (space.cost(higher), higher))


def _worth_trying(tree: Taxonomy, n_below: Int64Array) -> list[int]:
    """Return the nodes with an item below that have more of them than any node below."""
    most = np.zeros(len(tree), dtype=np.int64)
    np.maximum.at(most, tree.parents[1:], n_below[1:])
    return np.flatnonzero(n_below > most).tolist()


def _n_cuts(parents: list[int]) -> int:
    """Count the cuts: one for a leaf, otherwise one more than the product over the children."""
    product = [1] * len(parents)
    is_leaf = [True] * len(parents)
    for i in range(len(parents) - 1, -1, -1):
        cuts = 1 if is_leaf[i] else product[i] + 1
        if parents[i] < 0:
            return cuts
        is_leaf[parents[i]] = False
        product[parents[i]] *= cuts
    return 1


def _in_words(number: int) -> str:
    if number < 10**9:
        return f"{number:,}"
    return f"about 10^{int((number.bit_length() - 1) * math.log10(2))}"


def _bits(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _log(rows: LeafRows, nodes: list[int], tried: int, n_cuts: int) -> list[Step]:
    cut = GrowingCut(rows)
    steps = [
        Step(
            action="generalize",
            subject=rows.taxonomy.ids[v],
            reason="part of the cheapest cut that keeps the promise",
            cost=cut.share(cut.cost(v)),
        )
        for v in sorted(nodes)
    ]
    steps.append(
        Step(
            action="search",
            subject=f"{tried:,} of {n_cuts:,} cuts",
            reason="no other can be safe and cheaper",
        )
    )
    return steps
