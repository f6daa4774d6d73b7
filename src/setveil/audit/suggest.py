"""A first idea of which items may be sensitive, for an owner who has not named any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable

MOST = 10
LEAST = 2


def suggest_sensitive(table: TransactionTable, *, most: int = MOST) -> list[tuple[str, int]]:
    """Return rare items with the number of records that hold them, the rarest first.

    What few people have is what they would rather not have found; but only the owner knows. Items
    of a single record are left out: they name a person, whatever they mean.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu", "hiv"], ["flu"], ["mumps"]])
    >>> suggest_sensitive(table, most=1)
    [('hiv', 2)]
    """
    supports = table.supports()
    several = np.flatnonzero(supports >= LEAST)
    rare = several[np.argsort(supports[several], kind="stable")][:most].tolist()
    return [(table.vocabulary[number], int(supports[number])) for number in rare]
