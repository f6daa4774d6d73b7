"""Frequent itemsets on all levels of a taxonomy: what disassociation and generalization share."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.core.errors import NotApplicable
from setveil.data.table import Int64Array, TransactionTable
from setveil.measure.images import certain_table, check_same, tree_for
from setveil.measure.itemsets import LARGEST, TOP, apart_itemsets, share_lost
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.generalized import GeneralizedRelease
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.release.suppressed import SuppressedRelease

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.data.taxonomy import Taxonomy
    from setveil.release.base import Release

    Bools = npt.NDArray[np.bool_]


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
    >>> from setveil.data import Taxonomy
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
    before = _leaves_of(original, tree)
    after = published_nodes(release, original, tree, rng)
    return share_lost(
        *(_top(offsets, nodes, tree, k, largest) for offsets, nodes in (before, after))
    )


@singledispatch
def published_nodes(
    release: Release,
    original: TransactionTable,
    tree: Taxonomy,
    rng: np.random.Generator,
) -> tuple[Int64Array, Int64Array]:
    """Return the records of a release as compressed rows of nodes of `tree`."""
    raise NotApplicable(f"a release of the form {release.form!r} has no place in a taxonomy")


@published_nodes.register(DisassociatedRelease)
def _of_disassociated(
    release: DisassociatedRelease,
    original: TransactionTable,
    tree: Taxonomy,
    rng: np.random.Generator,
) -> tuple[Int64Array, Int64Array]:
    return _leaves_of(release.sample_world(rng), tree)


@published_nodes.register(SuppressedRelease)
def _of_suppressed(
    release: SuppressedRelease,
    original: TransactionTable,
    tree: Taxonomy,
    rng: np.random.Generator,
) -> tuple[Int64Array, Int64Array]:
    return _leaves_of(certain_table(release, original, tree), tree)


@published_nodes.register(GeneralizedRelease)
def _of_generalized(
    release: GeneralizedRelease,
    original: TransactionTable,
    tree: Taxonomy,
    rng: np.random.Generator,
) -> tuple[Int64Array, Int64Array]:
    used = np.unique(release.nodes)
    check_same(release.tree, used, tree)
    place = {node_id: v for v, node_id in enumerate(tree.ids)}
    here = np.zeros(len(release.tree), dtype=np.int64)
    here[used] = [place[release.tree.ids[v]] for v in used.tolist()]
    return release.offsets, here[release.nodes]


@published_nodes.register(SetGeneralizedRelease)
def _of_sets(
    release: SetGeneralizedRelease,
    original: TransactionTable,
    tree: Taxonomy,
    rng: np.random.Generator,
) -> tuple[Int64Array, Int64Array]:
    above = np.zeros(len(release.groups), dtype=np.int64)
    for number, members in enumerate(release.groups):
        leaves = tree.leaf_of(members)
        # In preorder, whatever is above the first and the last is above all between.
        above[number] = tree.lca(int(leaves.min()), int(leaves.max()))
    return release.offsets, above[release.items]


def _leaves_of(table: TransactionTable, tree: Taxonomy) -> tuple[Int64Array, Int64Array]:
    leaf = np.zeros(table.n_items, dtype=np.int64)
    used = np.flatnonzero(table.supports())
    leaf[used] = tree.leaf_of([table.vocabulary[i] for i in used.tolist()])
    return table.offsets, leaf[table.items]


def _top(
    offsets: Int64Array, nodes: Int64Array, tree: Taxonomy, k: int, largest: int
) -> dict[tuple[str, ...], int]:
    """Return the most frequent sets of nodes, none above another, by their ids."""
    starts, above = _ways(nodes, tree)
    counts = np.diff(starts)[nodes]
    ends = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(ends[-1]) - np.repeat(ends[:-1] - starts[nodes], counts)
    table = TransactionTable.from_csr(ends[offsets], above[places], tree.ids)
    node_of = np.array(sorted(range(len(tree)), key=tree.ids.__getitem__), dtype=np.int64)

    def related(items: Int64Array) -> Bools:
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
    return np.concatenate([[0], np.cumsum(lengths)]), np.array(flat, dtype=np.int64)
