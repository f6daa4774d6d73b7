"""Average information loss: what the items of the original are worth after publication."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from setveil.core.errors import NotApplicable
from setveil.measure.generalization import tree_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key, Release


def average_loss(
    release: Release,
    original: TransactionTable,
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
    total = len(original.items)
    if not total:
        raise NotApplicable("the original has no items")
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
