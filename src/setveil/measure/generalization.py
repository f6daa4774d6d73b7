"""What generalization and suppression cost: distortion, certainty, lengths, levels, shares."""

from __future__ import annotations

from fractions import Fraction
from math import log2
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import NotApplicable, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.records import Records
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key, Release


def tree_for(taxonomy: Taxonomy, original: Records, sensitive: Iterable[str] = ()) -> Taxonomy:
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


def ggd_exact(release: Release, original: Records) -> Fraction:
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
    shown = release.label_counts()
    suppressed = int(original.occurrences().sum() - shown.occurrences.sum())
    widening = int(((shown.leaves - 1) * shown.occurrences).sum())
    if not widening:
        return Fraction(suppressed)
    return Fraction(widening, release.leaves_in_all(original) - 1) + suppressed


def ggd(release: Release, original: Records) -> float:
    """Return the generalized group distortion; see :func:`ggd_exact`."""
    return float(ggd_exact(release, original))


def ggd_share(release: Release, original: Records) -> float:
    """Return the distortion per original item: 0 nothing lost, 1 everything suppressed."""
    return float(ggd_exact(release, original) / _occurrences(original))


def ncp(
    release: Release,
    original: Records,
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
    published = int(release.label_counts().occurrences.sum())
    if not len(release):
        raise NotApplicable("there are no records to average over")
    return published / len(release)


def level_mean(release: Release) -> float:
    """Return the mean level of the published items in the taxonomy; the root is at level 1."""
    shown = release.label_counts()
    if shown.levels is None:
        raise release.lacks("has no taxonomy nodes")
    published = int(shown.occurrences.sum())
    if not published:
        raise NotApplicable("there are no published items to average over")
    return int((shown.levels * shown.occurrences).sum()) / published


def records_kept(release: Release, original: Records) -> float:
    """Return the share of the records that are published."""
    if not original.n_records:
        raise NotApplicable("the original has no records")
    return release.people() / original.n_records


def items_kept(release: Release, original: Records) -> float:
    """Return the number of published items as a share of the original ones."""
    return int(release.label_counts().occurrences.sum()) / _occurrences(original)


def items_exact(release: Release, original: Records) -> float:
    """Return the share of the original items that are published as themselves."""
    shown = release.label_counts()
    return int(shown.occurrences[shown.leaves == 1].sum()) / _occurrences(original)


def items_suppressed(release: Release, original: Records) -> float:
    """Return the share of the original items that are not published, as GGD counts them.

    Items that share a published node with another count here too.
    """
    total = _occurrences(original)
    return (total - int(release.label_counts().occurrences.sum())) / total


def _occurrences(original: Records) -> int:
    total = int(original.occurrences().sum())
    if not total:
        raise NotApplicable("the original has no items")
    return total


def average_loss(
    release: Release,
    original: Records,
    *,
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    key: Key | None = None,
) -> float:
    """Return the mean information loss of an occurrence of an original item.

    An item published as itself loses 0, one published as a node with several leaves loses that
    node's share of the ordinary items, a suppressed one loses 1. It is :func:`~setveil.measure.ncp`
    but for the divisor: the leaves of the taxonomy that are not sensitive, since no node stands
    for a sensitive item.

    Parameters
    ----------
    release, original
        What is compared.
    taxonomy
        The tree the release was made with, as it was given to the method; only a release that
        generalizes needs it.
    sensitive
        The sensitive items; those in the taxonomy do not count as its leaves.
    key
        Which original stands behind which record; needed where an item may have several images
        and nothing is hidden (Partition).

    Raises
    ------
    NotApplicable
        The images of the items cannot be told from what is given, or there are no items.

    Examples
    --------
    The worked example of the paper: fish and beef become meat, viagra is suppressed.

    >>> from setveil import Taxonomy, TransactionTable
    >>> from setveil.release import publish_recoded
    >>> tree = Taxonomy.from_parents({"wine": "alcohol", "beer": "alcohol", "fish": "meat",
    ...                               "beef": "meat", "alcohol": "all", "meat": "all"})
    >>> table = TransactionTable.from_rows([["wine", "fish", "pregnancy test", "viagra"],
    ...                                     ["wine", "beef"], ["beer"]])
    >>> sensitive = ["pregnancy test", "viagra"]
    >>> whole = tree.beside(sensitive)
    >>> image = {"fish": "meat", "beef": "meat"}
    >>> release, _ = publish_recoded(whole, table, [
    ...     -1 if item == "viagra" else whole.node(image.get(item, item))
    ...     for item in table.vocabulary.names])
    >>> average_loss(release, table, taxonomy=tree, sensitive=sensitive) == 2 / 7
    True

    References
    ----------
    J. Cao, P. Karras, C. Raïssi, K.-L. Tan: ρ-uncertainty: inference-proof transaction
    anonymization, PVLDB 3(1), 2010, section 3.2.
    """
    total = _occurrences(original)
    apart = set(sensitive)
    tree = None if taxonomy is None else tree_for(taxonomy, original, apart)
    found = release.images(original, key, tree)
    wide = found.leaves > 1
    widened = int((found.leaves * found.occurrences)[wide].sum())
    loss = Fraction(found.lost)
    if widened:
        if tree is None and apart:
            raise NotApplicable(
                "the release alone does not tell how many of its items are not sensitive",
                fix="give the taxonomy the release was made with",
            )
        known = 0 if tree is None else len(apart) - len(tree.missing(apart))
        loss += Fraction(widened, found.n_leaves - known)
    return float(loss / total)


def ul_exact(
    release: Release, original: Records, *, per_suppressed: float | Fraction = 1
) -> Fraction:
    """Return the utility loss of a release of generalized items, as an exact fraction.

    A generalized item of n members stands for any of 2ⁿ - 1 itemsets. It costs that as a share
    of all itemsets of the original, times the share of the records that show it. A suppressed
    item costs `per_suppressed`. A release of items as they were costs a little too, by this
    definition.

    Parameters
    ----------
    release, original
        What is compared.
    per_suppressed
        The cost of one item that no record shows, 0 or more.

    Raises
    ------
    NotApplicable
        The release has another form, or the original no items.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_sets
    >>> table = TransactionTable.from_rows([["flu"], ["fever", "hiv"], ["gout", "flu"]])
    >>> release, _ = publish_sets(table, [0, 0, 1, -1])
    >>> ul_exact(release, table)  # 3/15 · 3/3 and 1/15 · 1/3 and 1 for hiv
    Fraction(11, 9)

    References
    ----------
    G. Loukides, A. Gkoulalas-Divanis, B. Malin: COAT: COnstraint-based Anonymization of
    Transactions, Knowledge and Information Systems 28(2), 2011.
    """
    sets = release.as_sets()
    cost = Fraction(str(per_suppressed))
    if cost < 0:
        raise ParameterError(f"a suppressed item costs {per_suppressed}", fix="use 0 or more")
    items = np.flatnonzero(original.supports()).tolist()
    if not items:
        raise NotApplicable("the original has no items")
    shown = release.label_counts().occurrences
    stands_for = sum(
        ((1 << size) - 1) * support
        for size, support in zip(sets.sizes.tolist(), shown.tolist(), strict=True)
    )
    suppressed = sum(sets.group_of(original.vocabulary[i]) is None for i in items)
    everything = ((1 << len(items)) - 1) * max(len(release), 1)
    return Fraction(stands_for, everything) + cost * suppressed


def ul(release: Release, original: Records) -> float:
    """Return the utility loss as a number; see :func:`ul_exact`.

    With many items it is too small for one: :func:`ul_log2` still tells releases apart.
    """
    return float(ul_exact(release, original))


def ul_log2(release: Release, original: Records) -> float:
    """Return the logarithm to base 2 of the utility loss; see :func:`ul_exact`.

    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_sets
    >>> table = TransactionTable.from_rows([[f"item {i:04}"] for i in range(2000)])
    >>> release, _ = publish_sets(table, [i // 2 for i in range(2000)])
    >>> ul(release, table), round(ul_log2(release, table), 1)
    (0.0, -1998.4)
    """
    exact = ul_exact(release, original)
    return log2(exact.numerator) - log2(exact.denominator)
