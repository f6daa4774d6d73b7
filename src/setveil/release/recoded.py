"""Publishing by global recoding: every item has one image, or is suppressed everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import ParameterError
from setveil.core.table import canonical_order, take_rows
from setveil.release.base import Key
from setveil.release.generalized import GeneralizedRelease
from setveil.release.rows import occurring

if TYPE_CHECKING:
    import numpy.typing as npt

    from setveil.core.table import Int32Array, TransactionTable
    from setveil.core.taxonomy import Taxonomy


def publish_recoded(
    taxonomy: Taxonomy, table: TransactionTable, image: npt.ArrayLike
) -> tuple[GeneralizedRelease, Key]:
    """Publish every record as the set of its items' images, in canonical order.

    Items that share an image are published once. Where an item that occurs is suppressed, the
    release says so (``hides`` and ``whole``); where none is, it hides nothing.

    Parameters
    ----------
    taxonomy
        The tree that `image` numbers, with a leaf for every item.
    table
        The original records.
    image
        For each item of the table's vocabulary the node that stands for it, or -1 where the
        item is suppressed. Each node lies above its item, none above another, and a suppressed
        item below none of them. Items that do not occur do not matter.

    Returns
    -------
    tuple of GeneralizedRelease and Key
        What may be published, and which original stands behind each published record.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    >>> table = TransactionTable.from_rows([["c"], ["a", "b", "d"], ["d"]])
    >>> pair = tree.node("group 1.1")
    >>> release, key = publish_recoded(tree, table, [pair, pair, -1, tree.node("d")])
    >>> release.to_rows(), key.records.tolist(), release.whole
    ([['group 1.1', 'd'], ['d'], []], [1, 2, 0], True)
    """
    nodes = _checked(taxonomy, table, np.asarray(image))
    mapped = nodes[table.items]
    stays = mapped >= 0
    hides = not bool(stays.all())
    # Record and node in one number: one sort orders every record and lets equal images meet.
    width = np.int64(len(taxonomy))
    record = np.repeat(np.arange(len(table), dtype=np.int64), table.lengths)
    keys = np.sort(record[stays] * width + mapped[stays])
    keys = keys[np.diff(keys, prepend=-1) > 0]
    offsets = np.searchsorted(keys, np.arange(len(table) + 1) * width)
    tree, place = taxonomy.pruned(occurring(mapped[stays]))
    published = place[keys % width]
    order = canonical_order(offsets, published)
    row_offsets, row_nodes = take_rows(offsets, published, order)
    release = GeneralizedRelease(
        tree=tree, offsets=row_offsets, nodes=row_nodes, hides=hides, whole=hides
    )
    return release, Key(records=order)


def _checked(
    taxonomy: Taxonomy, table: TransactionTable, image: npt.NDArray[np.generic]
) -> Int32Array:
    """Return the images as numbers, or say which item's is impossible."""
    whole_numbers = np.issubdtype(image.dtype, np.integer) or not image.size
    if image.shape != (table.n_items,) or not whole_numbers:
        raise ParameterError(
            f"the image has the type {image.dtype} and the shape {image.shape}",
            fix=f"give one node number for each of the {table.n_items} items of the vocabulary",
        )
    numbers = image.astype(np.int64)
    if numbers.min(initial=0) < -1 or numbers.max(initial=-1) >= len(taxonomy):
        raise ParameterError("an image is no node of the taxonomy", fix="use its numbers, or -1")
    nodes = numbers.astype(np.int32)
    items = occurring(table.items)
    if not len(items):
        return nodes
    leaves = taxonomy.leaf_of([table.vocabulary[i] for i in items.tolist()])
    own = nodes[items]
    used = np.unique(own[own >= 0])
    for v in used[:-1][taxonomy.ends[used[:-1]] > used[1:]].tolist():
        raise ParameterError(
            f"the image {taxonomy.names[v]!r} lies above another",
            fix="recode all items below a node to that node",
        )
    # Nodes of `used` are apart, so at most the last one that starts before a leaf lies above it.
    nearest = np.append(used, -1)[np.searchsorted(used, leaves, side="right") - 1]
    above = np.where((nearest >= 0) & (leaves < taxonomy.ends[nearest]), nearest, -1)
    wrong = np.flatnonzero(above != own)
    if len(wrong):
        item, node = table.vocabulary[int(items[wrong[0]])], int(own[wrong[0]])
        said = f"its image {taxonomy.names[node]!r} does not lie above it"
        if node < 0:
            said = f"it lies below the image {taxonomy.names[int(above[wrong[0]])]!r} of others"
        raise ParameterError(
            f"the item {item!r} cannot be recoded so: {said}",
            fix="give each item a node above it, the same for all items below that node",
        )
    return nodes
