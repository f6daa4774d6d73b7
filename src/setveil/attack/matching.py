"""Matching the items of two sets of records by their frequencies and co-occurrences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.core.table import TransactionTable


BLOCK = 4096
"""Records whose pairs are counted at once."""
WARM, COLD = (0.005, 0.05, 0.2), 0.5
"""How much of the evidence is believed in the first round, of each try, and in the last."""
FIRST = 0.3
"""How much of it is believed before the first round."""
GREATEST = 50
"""Co-occurrences of an item that are compared before anything is named."""
BALANCING = 10
"""How often rows and columns are brought to one in turn."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """Items of one set of records: how often they occur, and with which others.

    Parameters
    ----------
    records
        Number of records.
    shares
        For each item the share of records that hold it.
    pairs
        For each two items the share of records that hold both; 0 on the diagonal.
    fixed
        The same for each item and each fixed point, an item that is known on both sides.
    fixed_shares
        For each fixed point the share of records that hold it.
    """

    records: int
    shares: FloatArray
    pairs: FloatArray
    fixed: FloatArray
    fixed_shares: FloatArray

    @classmethod
    def of(cls, table: TransactionTable, items: Int64Array, fixed: Sequence[int]) -> Side:
        """Count the items of these numbers, and the fixed points, in a table.

        >>> from setveil import TransactionTable
        >>> table = TransactionTable.from_rows([["a", "b"], ["a"]])
        >>> Side.of(table, np.array([0, 1]), []).pairs.tolist()
        [[0.0, 0.5], [0.5, 0.0]]
        """
        wanted = np.concatenate([items, np.array(fixed, dtype=np.int64)])
        place = np.full(table.n_items, -1, dtype=np.int64)
        place[wanted] = np.arange(len(wanted))
        places = place[table.items]
        counts = np.zeros((len(items), len(wanted)))
        for start in range(0, len(table), BLOCK):
            stop = min(start + BLOCK, len(table))
            part = places[table.offsets[start] : table.offsets[stop]]
            rows = np.repeat(np.arange(stop - start), table.lengths[start:stop])
            held = np.zeros((stop - start, len(wanted)), dtype=np.float32)
            held[rows[part >= 0], part[part >= 0]] = 1.0
            counts += held[:, : len(items)].T @ held
        counts /= max(len(table), 1)
        shares = counts.diagonal().copy()
        np.fill_diagonal(counts, 0.0)
        return cls(
            records=len(table),
            shares=shares,
            pairs=counts[:, : len(items)],
            fixed=counts[:, len(items) :],
            fixed_shares=table.supports()[wanted[len(items) :]] / max(len(table), 1),
        )

    def surplus(self) -> tuple[FloatArray, float]:
        """Return co-occurrences beyond what the frequencies give, and how far to trust them.

        The trust is the part of their squares that is more than sampling makes of nothing, times
        two: what is more than chance is found in few pairs, which all the others would drown.
        """
        expected = np.outer(self.shares, self.shares)
        np.fill_diagonal(expected, 0.0)
        seen = beyond(self.pairs, expected, self.records)
        # The variance of each is 1 / (4 records), and less where hardly a record is expected.
        chance = np.minimum(0.25 / max(self.records, 1), expected / 2).sum()
        found = (seen**2).sum()
        return seen, float(np.clip(2 * (1 - chance / found), 0, 1)) if found else 0.0

    def fixed_surplus(self) -> FloatArray:
        """Return co-occurrences with fixed points beyond what the frequencies give."""
        return beyond(self.fixed, np.outer(self.shares, self.fixed_shares), self.records)


def beyond(shares: FloatArray, expected: FloatArray, records: int) -> FloatArray:
    """Return the roots of shares of records, less the roots of what is expected.

    By Freeman and Tukey, as the plain root is too coarse for counts of none or one.

    >>> beyond(np.array([0.25, 0.16]), np.array([0.16, 0.16]), 10**6).round(3).tolist()
    [0.1, 0.0]
    """
    step = 1.0 / max(records, 1)
    return np.asarray((np.sqrt(shares) + np.sqrt(shares + step) - np.sqrt(4 * expected + step)) / 2)


def match(hidden: Side, clear: Side, *, rounds: int) -> tuple[Int64Array, FloatArray]:
    """Name the items of one side by those of the other, each by another one.

    Counts are Poisson in both; the root of a share has the same variance everywhere,
    1 / (4 records), so that squared differences of roots add up to a likelihood. That of naming
    item t by w is expected under the present chances P of all other items:

        cost(t, w) = (√f_t - √f_w)² + ½ Σ_a Σ_v P_av (x_ta - y_wv)²

    with x the surplus of a co-occurrence over what frequencies alone would give, and y the same of
    the other side times the trust in it. Raw co-occurrences would count an item's frequency once
    more with each of its neighbours, and be sure of what is chance; so, where items occur
    independently of each other, y is 0 and the frequencies decide.

    New chances are exp(-cost / 2 variance), balanced so that each item has one name and each name
    at most one item; less of the evidence is believed in the first rounds than in the last. The
    first chances compare each item's frequency and its greatest co-occurrences, whoever they are
    with. Which part of the evidence to believe at the start depends on the records: several are
    tried, and the naming under which the counts agree best is kept; naming by rank of frequency
    is one of them.

    Parameters
    ----------
    hidden, clear
        The two sides; the clear one should have at least as many items.
    rounds
        How often the chances are improved.

    Returns
    -------
    tuple of array and array
        For each hidden item the number of a clear one (-1 where none is left), and its chance.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["a", "b"], ["a", "b"], ["a"], ["c", "b"], ["c"]])
    >>> side = Side.of(table, np.array([0, 1, 2]), [])
    >>> turned = Side.of(table, np.array([2, 0, 1]), [])
    >>> match(turned, side, rounds=20)[0].tolist()
    [2, 0, 1]

    References
    ----------
    S. Gold, A. Rangarajan: A graduated assignment algorithm for graph matching. IEEE Transactions
    on Pattern Analysis and Machine Intelligence 18(4), 1996.
    """
    scale = 2.0 / (1.0 / max(hidden.records, 1) + 1.0 / max(clear.records, 1))
    alone = (np.sqrt(hidden.shares)[:, None] - np.sqrt(clear.shares)) ** 2
    alone += _squared_distances(hidden.fixed_surplus(), clear.fixed_surplus())
    x, (y, trust) = hidden.surplus()[0], clear.surplus()
    y *= trust
    own = (x**2).sum(axis=1)[:, None]
    most = min(GREATEST, len(x), len(y))
    alike = alone + _squared_distances(
        -np.sort(-np.sqrt(hidden.pairs))[:, :most], -np.sort(-np.sqrt(clear.pairs))[:, :most]
    )
    best = _ranked(hidden, clear, _balanced(-2 * COLD * scale * alone))
    least = _misfit(best[0], alone, x, y)
    for warm in WARM:
        chances = _balanced(-FIRST * scale * alike)
        for believed in np.geomspace(warm, COLD, rounds):
            together = own - 2.0 * (x @ (chances @ y.T)) + y**2 @ chances.sum(axis=0)
            # A pair speaks twice, for each of its items; a frequency once.
            chances = _balanced(-believed * scale * (2 * alone + together))
        found = _assigned(chances)
        misfit = _misfit(found[0], alone, x, y)
        if misfit < least:
            least, best = misfit, found
    return best


def _ranked(hidden: Side, clear: Side, chances: FloatArray) -> tuple[Int64Array, FloatArray]:
    """Name the most frequent item by the most frequent one, and so on."""
    rows, columns = (np.argsort(-side.shares, kind="stable") for side in (hidden, clear))
    both = min(len(rows), len(columns))
    found, sure = np.full(len(rows), -1, dtype=np.int64), np.zeros(len(rows))
    found[rows[:both]] = columns[:both]
    sure[rows[:both]] = chances[rows[:both], columns[:both]]
    return found, sure


def _misfit(found: Int64Array, alone: FloatArray, x: FloatArray, y: FloatArray) -> float:
    """Return how far the counts of the named items are from those of their names."""
    named = np.flatnonzero(found >= 0)
    names = found[named]
    apart = (x[np.ix_(named, named)] - y[np.ix_(names, names)]) ** 2
    return float(alone[named, names].sum() + apart.sum() / 2)


def _squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * (a @ b.T))


def _balanced(logits: FloatArray) -> FloatArray:
    """Return chances whose rows sum to 1 and whose columns to at most about 1."""
    chances = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    for _ in range(BALANCING):
        chances /= chances.sum(axis=1, keepdims=True)
        chances /= np.maximum(chances.sum(axis=0), 1.0)
    return np.asarray(chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300))


def _assigned(chances: FloatArray) -> tuple[Int64Array, FloatArray]:
    """Give each row a column of its own, the surest first."""
    found = np.full(len(chances), -1, dtype=np.int64)
    sure = np.zeros(len(chances))
    taken = np.zeros(chances.shape[1], dtype=bool)
    for row in np.argsort(-chances.max(axis=1, initial=0.0), kind="stable").tolist():
        left = np.where(taken, -1.0, chances[row])
        best = int(np.argmax(left))
        if not taken[best]:
            found[row], sure[row], taken[best] = best, chances[row, best], True
    return found, sure
