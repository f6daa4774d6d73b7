"""What generalization and suppression cost: distortion, certainty, lengths, levels, shares."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key, Release


def tree_for(
    taxonomy: Taxonomy, original: TransactionTable, sensitive: Iterable[str] = ()
) -> Taxonomy:
    """Return the tree that a release of `original` is about, from the one a user gave.

    Ordinary items that the tree lacks are attached to its root, as a method that was told to do
    so has done (one that was not has refused them). Sensitive items that it lacks stand beside
    it, below a new root.

    >>> from setveil import Taxonomy, TransactionTable
    >>> table = TransactionTable.from_rows([["pug", "rabies"]])
    >>> tree_for(Taxonomy.from_parents({"pug": "dog"}), table, ["rabies"]).names
    ('*', 'dog', 'pug', 'rabies')
    """
    names = [original.vocabulary[i] for i in np.flatnonzero(original.supports()).tolist()]
    apart = set(taxonomy.missing(set(sensitive).intersection(names)))
    tree = taxonomy.for_items((n for n in names if n not in apart), missing="attach-to-root")
    return tree.beside(sorted(apart))


def ggd_exact(release: Release, original: TransactionTable) -> Fraction:
    """Return the generalized group distortion as an exact fraction.

    Every published node v costs LM(v) = (leaves below v - 1) / (all leaves - 1), and every item
    of the original that is not published costs 1: a suppressed one, and also one that shares its
    published node with another (Partition publishes sets, so two fruits become one "fruit").
    For a generalized item that is a set, its members are the leaves below it, and the different
    items of the original are all leaves.

    >>> from setveil import Taxonomy, TransactionTable
    >>> from setveil.release import publish_groups
    >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    >>> release, _ = publish_groups(tree, group_offsets=[0, 1], group_of=[0, 0], hides=True,
    ...                             group_nodes=[tree.node("group 1.1")])
    >>> ggd_exact(release, TransactionTable.from_rows([["a"], ["b", "d"]]))
    Fraction(5, 3)

    References
    ----------
    A. Milani Fard and K. Wang, "An effective clustering approach to web query log
    anonymization", 2010.
    """
    leaves = release.leaves_published()
    suppressed = len(original.items) - len(leaves)
    widening = int((leaves - 1).sum())
    if not widening:
        return Fraction(suppressed)
    return Fraction(widening, release.leaves_in_all(original) - 1) + suppressed


def ggd(release: Release, original: TransactionTable) -> float:
    """Return the generalized group distortion; see :func:`ggd_exact`."""
    return float(ggd_exact(release, original))


def ggd_share(release: Release, original: TransactionTable) -> float:
    """Return the distortion per original item: 0 nothing lost, 1 everything suppressed."""
    return float(ggd_exact(release, original) / _occurrences(original))


def ncp(
    release: Release,
    original: TransactionTable,
    *,
    key: Key | None = None,
    taxonomy: Taxonomy | None = None,
) -> float:
    """Return the mean normalized certainty penalty of the original items.

    An item published as itself costs 0, one published as a node with several leaves costs that
    node's share of all leaves, a suppressed one costs 1. (A node with a single leaf says as much
    as the leaf, and costs 0.)

    Where items may have been left out of any record, every published node stands for exactly one
    item, so the release and the number of original items are enough. Where each item has one
    image throughout the release (global recoding), the taxonomy tells it. Elsewhere (Partition,
    LRA) several items may share a node in one record and not in another, and only `key` and
    `taxonomy` tell how many; each of them is charged for its own image.

    Raises
    ------
    NotApplicable
        Items may share nodes, and `key` or `taxonomy` is missing.
    """
    total = _occurrences(original)
    found = release.images(original, key, taxonomy)
    widened = int((found.leaves * found.occurrences)[found.leaves > 1].sum())
    return float((Fraction(widened, found.n_leaves) + found.lost) / total)


def length_mean(release: Release) -> float:
    """Return the mean number of published items per record."""
    published = release.leaves_published()
    if not len(release):
        raise NotApplicable("there are no records to average over")
    return len(published) / len(release)


def level_mean(release: Release) -> float:
    """Return the mean level of the published items in the taxonomy; the root is at level 1.

    An interior item that is published as itself is at its own level, not at that of its private
    leaf.
    """
    form = release.as_nodes()
    if not len(form.nodes):
        raise NotApplicable("there are no published items to average over")
    levels = form.tree.depths.astype(np.int64) - form.tree.pseudo
    return int(levels[form.nodes].sum()) / len(form.nodes)


def records_kept(release: Release, original: TransactionTable) -> float:
    """Return the share of the records that are published."""
    if not len(original):
        raise NotApplicable("the original has no records")
    return release.people() / len(original)


def items_kept(release: Release, original: TransactionTable) -> float:
    """Return the number of published items as a share of the original ones."""
    return len(release.leaves_published()) / _occurrences(original)


def items_exact(release: Release, original: TransactionTable) -> float:
    """Return the share of the original items that are published as themselves."""
    return int((release.leaves_published() == 1).sum()) / _occurrences(original)


def items_suppressed(release: Release, original: TransactionTable) -> float:
    """Return the share of the original items that are not published, as GGD counts them.

    Items that share a published node with another count here too.
    """
    total = _occurrences(original)
    return (total - len(release.leaves_published())) / total


def _occurrences(original: TransactionTable) -> int:
    if not len(original.items):
        raise NotApplicable("the original has no items")
    return len(original.items)
