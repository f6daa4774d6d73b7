"""AprioriKm (AA): k^m-anonymity by repairing rare itemsets, size by size."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import MethodRole, occurrences_below, price_of_nodes, silent
from setveil.anonymize.km.apriori_kernels import raise_cut, repair, repair_sets, rows_of_ranks
from setveil.anonymize.km.km_method import KmMethod, Recoding, rare_in_words
from setveil.core.literature import TERROVITIS_2008
from setveil.core.registry import register
from setveil.core.table import frozen
from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.anonymize.base import LeafRows
    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

# How often a run reports for each size of sets: the kernel returns to Python so many times.
REPORTS = 20


@register(
    "anonymizer",
    "apriori-km",
    paper="Terrovitis, Mamoulis & Kalnis 2008",
    bibtex=TERROVITIS_2008,
)
@dataclass(frozen=True, kw_only=True)
class AprioriKm(KmMethod):
    """Generalize until no set of 1, then 2, … up to m items is rare (AA).

    Every item is published as one node of the taxonomy, the same in all records. First rare
    items are generalized, then rare pairs of what is published by then, and so on up to sets of
    m. Sets of general nodes are looked at before sets of special ones: where even fruit and meat
    are rarely bought together, nothing needs to be known about apples and beef. For a rare set
    some of its nodes are replaced by ancestors, in the cheapest way that reaches support k.

    Parameters
    ----------
    k
        Least number of records.
    m
        Greatest number of items someone may know.

    Notes
    -----
    Cost is NCP: an occurrence of an item that is published as a node costs the node's share of
    all leaves, and nothing if it is published as itself. Of ways of equal cost the one with the
    most special nodes is taken.

    The decisions are those of the paper's count-tree, read as follows: generalized items are
    *replaced*, their ancestors stay candidates; the order is more general first (nearer to the
    root), then by falling support, then as in the taxonomy; every node of the count-tree is
    tested, not only its leaves, since short records end at inner nodes. What differs is how they
    are found: no count-tree is built and no set is stored. Supports do not depend on the
    generalizations, so nothing is counted twice; and a rare set whose parts are frequent is rarer
    than each of them, so sets are extended only by what some of their records lack.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.from_parents({"a1": "A", "a2": "A", "b1": "B", "b2": "B",
    ...                               "A": "ALL", "B": "ALL"})
    >>> table = TransactionTable.from_rows(
    ...     [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]])
    >>> result = AprioriKm(k=2, m=2).anonymize(table, taxonomy=tree)
    >>> result.release.to_rows()
    [['A', 'b1', 'b2'], ['A', 'b1', 'b2'], ['A', 'b1'], ['A', 'b2']]
    >>> for step in result.log:
    ...     print(step.action, step.subject, "because", step.reason, f"({step.cost:.4f})")
    generalize A because {a1, a2} is in 1 record (0.2273)

    References
    ----------
    M. Terrovitis, N. Mamoulis, P. Kalnis: Privacy-preserving anonymization of set-valued data,
    PVLDB 1(1), 2008.
    """

    called: ClassVar[str] = "broader terms for rare combinations"
    distributed: ClassVar[str] = "setveil.spark.apriori:apriori_km"
    role: ClassVar[MethodRole] = MethodRole(place=4)

    def _recode(self, rows: LeafRows, engine: Engine, progress: Progress) -> Recoding:
        """Repair all records together: each repair decides what is tested next."""
        tree = rows.taxonomy
        records = Records(tree=tree, offsets=rows.offsets, leaves=rows.leaves)
        raised = raise_rare(records, self.k, self.m, progress)
        steps = raised.steps(tree, whole_cost(tree, rows.leaves))
        return Recoding(raised.nodes, steps, {"generalizations": len(raised.log)})


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """Records whose rare sets are to be repaired, by themselves; what goes through an engine.

    Parameters
    ----------
    tree
        The taxonomy that numbers the leaves.
    offsets, leaves
        Records as sorted sets of leaves; at least k of them have items, or none.
    nodes
        Nodes to which all below them is generalized beforehand, none above another.
    number
        Which part of the data this is.
    """

    tree: Taxonomy
    offsets: Int64Array
    leaves: Int32Array
    nodes: tuple[int, ...] = ()
    number: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Raised:
    """What some records are generalized to, and why.

    Parameters
    ----------
    nodes
        The nodes that something is generalized to.
    cost
        Number of leaves of the image, summed over all occurrences of generalized items.
    log
        A line per generalization: the node, its cost, the support of the rare set, the set
        (filled up with -1).
    """

    nodes: list[int]
    cost: int
    log: Int64Array

    def steps(self, tree: Taxonomy, whole: int, where: str = "") -> list[Step]:
        """Return the generalizations as steps of a log; costs are shares of `whole`."""
        return [
            Step(
                action="generalize",
                subject=tree.ids[node],
                reason=rare_in_words(tree, (v for v in itemset if v >= 0), support, where),
                cost=cost / whole,
            )
            for node, cost, support, *itemset in self.log.tolist()
        ]


def solve_part(part: Records, *, k: int, m: int) -> dict[int, Raised]:
    """Repair a part of the data; returns its number → what it is generalized to."""
    return {part.number: raise_rare(part, k, m)}


def solve_parts(parts: Iterable[Records], k: int, m: int, engine: Engine) -> dict[int, Raised]:
    """Repair independent parts of the data, by their numbers; at least one is needed."""
    return engine.map_reduce(parts, partial(solve_part, k=k, m=m), operator.or_)


def whole_cost(tree: Taxonomy, leaves: Int32Array) -> int:
    """Return what it costs to publish everything as the root: the unit of NCP."""
    return max(len(leaves) * tree.n_leaves, 1)


def raise_rare(
    records: Records,
    k: int,
    m: int,
    progress: Progress = silent,
) -> Raised:
    """Generalize until every set of up to `m` nodes has support 0 or at least `k`.

    >>> from setveil import Taxonomy
    >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    >>> leaves = tree.leaf_of(["a", "a", "c", "d"])
    >>> found = raise_rare(Records(tree=tree, offsets=np.arange(5), leaves=leaves), k=2, m=1)
    >>> [tree.names[v] for v in found.nodes], found.cost
    (['group 1.2'], 4)
    """
    tree, offsets, leaves = records.tree, records.offsets, records.leaves
    m = min(m, int(np.diff(offsets).max(initial=0)))
    # What publishing a node costs beyond what is published below it.
    extra = occurrences_below(tree, leaves) * price_of_nodes(tree)
    closed = np.zeros(len(tree), dtype=bool)
    before = int(extra[0])
    # All read-only: a kernel is compiled anew for arrays that may be written to.
    fixed = (
        frozen(offsets, np.int64),
        frozen(leaves, np.int32),
        frozen(tree.parents, np.int32),
        frozen(tree.ends, np.int32),
    )
    for node in records.nodes:
        raise_cut(node, *fixed[2:], extra, closed)
    natural = np.arange(-1, len(tree) - 1, dtype=np.int32)
    heads = rows_of_ranks(*fixed[:3], natural, closed)[3]
    order, rank = ranked_by_supports(np.append(0, np.diff(heads)), tree.depths)
    log = np.full((len(tree), 3 + m), -1, dtype=np.int64)
    n_log = 0
    for size in range(1, m + 1):
        starts, ranks, row_of, heads, places = rows_of_ranks(*fixed[:3], rank, closed)
        if size == 1:
            supports, unlisted = np.diff(heads), np.empty((0, 1), dtype=np.int64)
            for r in np.flatnonzero((supports > 0) & (supports < k)).tolist():
                if not closed[order[r]]:
                    n_log = repair(
                        order[r : r + 1].astype(np.int64), supports[r], k, *fixed, rank, heads,
                        places, row_of, extra, closed, unlisted, log, n_log,
                    )  # fmt: skip
            continue
        pool = np.empty((size - 2, len(ranks)), dtype=np.int64)
        for first, last in _batches(heads):
            progress(f"repairing sets of {size}", int(heads[first]), len(ranks))
            n_log = repair_sets(
                size, first, last, k, *fixed, order, rank, starts, ranks, heads, places, row_of,
                pool, extra, closed, log, n_log,
            )  # fmt: skip
        progress(f"repairing sets of {size}", len(ranks), len(ranks))
    raised = np.unique(np.append(log[:n_log, 0], records.nodes).astype(np.int64))
    return Raised(
        nodes=raised[~closed[raised]].tolist(), cost=before - int(extra[0]), log=log[:n_log]
    )


def ranked_by_supports(supports: Int64Array, depths: Int32Array) -> tuple[Int32Array, Int32Array]:
    """Return the nodes but the root in their order, and the place of each in it.

    More general nodes come first, then those that more records hold.

    >>> order, rank = ranked_by_supports(np.array([0, 1, 3, 3]), np.array([1, 2, 2, 3]))
    >>> order.tolist(), rank.tolist()
    ([2, 1, 3], [-1, 1, 0, 2])
    """
    order = np.lexsort((-supports[1:], depths[1:])).astype(np.int32) + np.int32(1)
    rank = np.full(len(depths), -1, dtype=np.int32)
    rank[order] = np.arange(len(order))
    return order, rank


def _batches(heads: Int64Array) -> list[tuple[int, int]]:
    """Cut the ranks into runs of about equal numbers of places."""
    wanted = np.linspace(0, heads[-1], REPORTS + 1)
    borders = np.unique(np.append(np.searchsorted(heads, wanted[:-1]), len(heads) - 1))
    return list(pairwise(borders.tolist()))
