"""Utility loss: what generalized items cost by the number of itemsets they may stand for."""

from __future__ import annotations

from fractions import Fraction
from math import log2
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import NotApplicable, ParameterError

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.release.base import Release


def ul_exact(
    release: Release, original: TransactionTable, *, per_suppressed: float | Fraction = 1
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
    stands_for = sum(
        ((1 << size) - 1) * support
        for size, support in zip(sets.sizes.tolist(), sets.supports().tolist(), strict=True)
    )
    suppressed = sum(sets.group_of(original.vocabulary[i]) is None for i in items)
    everything = ((1 << len(items)) - 1) * max(len(release), 1)
    return Fraction(stands_for, everything) + cost * suppressed


def ul(release: Release, original: TransactionTable) -> float:
    """Return the utility loss as a number; see :func:`ul_exact`.

    With many items it is too small for one: :func:`ul_log2` still tells releases apart.
    """
    return float(ul_exact(release, original))


def ul_log2(release: Release, original: TransactionTable) -> float:
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
