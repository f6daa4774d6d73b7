"""What randomizing records cost: what is still true, and the loss of the paper's comparison."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.arrays import distinct_in_rows
from setveil.core.errors import NotApplicable
from setveil.measure.generalization import tree_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key, Release


def items_true(release: Release, original: TransactionTable, *, key: Key) -> float:
    """Return the share of the published items that their records really hold.

    >>> from setveil import TransactionTable
    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> table = TransactionTable.from_rows([["flu"], ["gout"]])
    >>> drawn = TransactionTable.from_rows([["flu", "gout"], ["gout"]])
    >>> release, key = publish_perturbed(drawn, ItemChannel(beta="1/4", domain=2))
    >>> items_true(release, table, key=key)
    0.6666666666666666
    """
    form = release.as_randomized()
    if not len(form.items):
        raise NotApplicable("nothing is published")
    return int(form.held_by(original.take(key.records)).sum()) / len(form.items)


def items_shown(release: Release, original: TransactionTable, *, key: Key) -> float:
    """Return the share of the original items that their randomized records still show.

    >>> from setveil import TransactionTable
    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["gout"]])
    >>> drawn = TransactionTable.from_rows([["flu", "gout"], ["gout"]])
    >>> release, key = publish_perturbed(drawn, ItemChannel(beta="1/4", domain=3))
    >>> items_shown(release, table, key=key)
    0.6666666666666666
    """
    form = release.as_randomized()
    lined = original.take(key.records)
    offsets, _ = distinct_in_rows(lined.offsets, lined.items)
    if not offsets[-1]:
        raise NotApplicable("the original has no items")
    return int(form.held_by(lined).sum()) / int(offsets[-1])


def perturbation_loss(
    release: Release,
    original: TransactionTable,
    *,
    key: Key,
    taxonomy: Taxonomy,
    sensitive: Iterable[str] = (),
) -> float:
    """Return the mean loss of an original item by the measure of Cao et al. (2010), section 6.

    Each item that a record lost costs the share of all leaves that lie below the lowest common
    ancestor of everything that is wrong with the record: what was lost and what was added. What
    was kept costs nothing.

    **The measure has two defects; it is here to compare with print.** A leaf costs nothing, as
    everywhere in the paper; so where *one* item is wrong, the ancestor is that item itself, and
    losing it is free. And records in which items were only added cost nothing either. Read it
    beside :func:`items_true` and :func:`items_shown`.

    Parameters
    ----------
    release, original, key
        The randomized records, the original, and which belong together.
    taxonomy
        A tree of the items.
    sensitive
        Sensitive items; those that the tree lacks stand beside it.

    Examples
    --------
    One record lost apple and gained pear: their ancestor has 2 of 3 leaves. Another lost beef and
    nothing else, which is free.

    >>> from setveil import Taxonomy, TransactionTable
    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> food = Taxonomy.from_parents({"apple": "fruit", "pear": "fruit", "fruit": "food",
    ...                               "beef": "food"})
    >>> table = TransactionTable.from_rows([["apple"], ["apple", "beef"]])
    >>> drawn = TransactionTable.from_rows([["pear"], ["apple"]])
    >>> release, key = publish_perturbed(drawn, ItemChannel(beta="1/4", domain=3))
    >>> perturbation_loss(release, table, key=key, taxonomy=food)
    0.2222222222222222
    """
    form = release.as_randomized()
    lined = original.take(key.records)
    offsets, numbers = distinct_in_rows(lined.offsets, lined.items)
    if not len(numbers):
        raise NotApplicable("the original has no items")
    tree = tree_for(taxonomy, original, sensitive)
    there = _leaves(tree, lined.vocabulary.names, numbers)
    here = _leaves(tree, form.vocabulary.names, form.items)
    widths = 0
    for (a, b), (c, d) in zip(
        pairwise(offsets.tolist()), pairwise(form.offsets.tolist()), strict=True
    ):
        wrong = np.setxor1d(there[a:b], here[c:d], assume_unique=True)
        if len(wrong) < 2:
            continue
        lost = len(np.setdiff1d(there[a:b], here[c:d], assume_unique=True))
        # Nodes are in preorder: whatever is above the first and the last is above all.
        top = next(v for v in tree.ancestors(int(wrong[0])) if tree.ends[v] > wrong[-1])
        widths += lost * int(tree.leaves[top])
    return float(Fraction(widths, tree.n_leaves * len(numbers)))


def _leaves(tree: Taxonomy, names: tuple[str, ...], numbers: Int32Array) -> Int64Array:
    """Return the leaf of each occurrence."""
    used = np.unique(numbers)
    leaf = np.zeros(len(names) + 1, dtype=np.int64)
    leaf[used] = tree.leaf_of([names[i] for i in used.tolist()])
    return leaf[numbers]
