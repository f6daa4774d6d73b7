"""Frequent itemsets on all levels of a taxonomy: what disassociation and generalization share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.core.arrays import BoolArray, Int64Array, offsets_of
from setveil.core.table import TransactionTable
from setveil.measure.generalization import tree_for
from setveil.measure.itemsets import LARGEST, TOP, apart_itemsets, share_lost
from setveil.release.views import leaf_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Release


def multilevel_itemset_loss(
    release: Release,
    original: TransactionTable,
    *,
    taxonomy: Taxonomy,
    sensitive: Iterable[str] = (),
    k: int = TOP,
    largest: int = LARGEST,
    rng: np.random.Generator | None = None,
) -> float:
    """Return the share of the most frequent itemsets of all levels that the release lost.

    tKd-ML2: as :func:`~setveil.measure.top_k_itemset_loss`, but a record also holds every node
    above its items, and itemsets are sets of nodes, none above another. The root, which says
    nothing, is left out. A generalized release so keeps what it says in general terms, and
    compares with one that keeps the items and hides which stand together.

    Parameters
    ----------
    release, original
        What is compared. A disassociated release is counted in one reconstruction, all others
        by what they show: the published nodes and those above them; of a generalized item that
        is a set, the lowest node above all its members.
    taxonomy
        The tree whose nodes count.
    sensitive
        The sensitive items; those that the taxonomy lacks stand beside it.
    k, largest
        How many itemsets, of up to how many nodes.
    rng
        Draws the reconstruction; without it always the same one is drawn.

    Examples
    --------
    >>> from setveil import Taxonomy
    >>> from setveil.release import publish_recoded
    >>> food = Taxonomy.from_parents({"apple": "fruit", "pear": "fruit", "beef": "meat",
    ...                               "fruit": "food", "meat": "food"})
    >>> table = TransactionTable.from_rows([["apple"], ["pear"], ["beef"]])
    >>> fruit = food.node("fruit")
    >>> release, _ = publish_recoded(food, table, [fruit, food.node("beef"), fruit])
    >>> multilevel_itemset_loss(release, table, taxonomy=food)  # of five nodes, apple and pear
    0.4

    References
    ----------
    M. Terrovitis, N. Mamoulis, J. Liagouris, S. Skiadopoulos: Privacy preservation by
    disassociation, PVLDB 5(10), 2012.
    """
    tree = tree_for(taxonomy, original, sensitive)
    rng = np.random.default_rng(0) if rng is None else rng
    before, after = leaf_rows(original, tree), release.nodes_published(tree, rng)
    return share_lost(
        *(_top(offsets, nodes, tree, k, largest) for offsets, nodes in (before, after))
    )


def _top(
    offsets: Int64Array, nodes: Int64Array, tree: Taxonomy, k: int, largest: int
) -> dict[tuple[str, ...], int]:
    """Return the most frequent sets of nodes, none above another, by their ids."""
    starts, above = _ways(nodes, tree)
    counts = np.diff(starts)[nodes]
    ends = offsets_of(counts)
    places = np.arange(ends[-1]) - np.repeat(ends[:-1] - starts[nodes], counts)
    table = TransactionTable.from_csr(ends[offsets], above[places], tree.ids)
    node_of = np.array(sorted(range(len(tree)), key=tree.ids.__getitem__), dtype=np.int64)

    def related(items: Int64Array) -> BoolArray:
        node = node_of[items]
        below = (node[:, None] <= node) & (node < tree.ends[node][:, None])
        return np.asarray(below | below.T)

    return apart_itemsets(table, k, largest=largest, related=related)


def _ways(nodes: Int64Array, tree: Taxonomy) -> tuple[Int64Array, Int64Array]:
    """Return for each node of `nodes` itself and all above it but the root, as compressed rows."""
    ways: dict[int, list[int]] = {
        v: [w for w in tree.ancestors(v) if w] for v in np.unique(nodes).tolist()
    }
    lengths = np.zeros(len(tree), dtype=np.int64)
    for v, way in ways.items():
        lengths[v] = len(way)
    flat = [w for v in sorted(ways) for w in ways[v]]
    return offsets_of(lengths), np.array(flat, dtype=np.int64)
