"""Generalized items whose cells are as dense as one wishes: what the density alone does."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.set_generalization.coat import draw_privacy
from setveil.guarantee import SupportConstraints
from setveil.release.base import Anonymization
from setveil.release.set_generalized import publish_sets

if TYPE_CHECKING:
    import numpy.typing as npt
    from scipy.sparse import csc_array

    from setveil import TransactionTable

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

LARGEST = 20
"""Most members of a set."""
NEAR = 0.1
"""How far from the wished density a set may be that one more item would complete."""
RARE = 3
"""Items that at most this many times k records hold may join a set."""


@dataclass(frozen=True, kw_only=True)
class WishedDensity:
    """Sets like COAT's, of items that occur together as often as gives a wished cell density.

    As in COAT a share of the items is drawn, and each of them that fewer than k records hold
    becomes part of a set that at least k records hold. But what joins a set is what brings the
    share of its cells that are original nearest to the wished one.

    Parameters
    ----------
    k
        Least number of records that hold a set.
    density
        The wished share of original cells.
    constrained
        Share of the items that are drawn.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows(
    ...     [["a", "b"], ["a", "b"], ["c", "d"], ["d", "e"], ["e", "f"], ["f"]])
    >>> for density in (0.3, 0.8):
    ...     made = WishedDensity(k=3, density=density, constrained=Fraction(1)).anonymize(
    ...         table, rng=np.random.default_rng(0))
    ...     print([group for group in made.release.groups if len(group) > 1])
    [('a', 'c', 'd', 'e', 'f')]
    [('a', 'f'), ('b', 'd'), ('c', 'e')]
    """

    requires: ClassVar[frozenset[str]] = frozenset()
    accepts: ClassVar[frozenset[str]] = frozenset({"rng"})

    k: int
    density: float
    constrained: Fraction = field(default=Fraction(4, 100))

    def anonymize(self, table: TransactionTable, *, rng: np.random.Generator) -> Anonymization:
        """Return the release, its key, and the promise of COAT that it keeps."""
        privacy = draw_privacy(table, self.constrained, rng)
        growth = Growth.of(table, self, rng)
        drawn = [table.vocabulary.number(item) for (item,) in privacy]
        for item in sorted(drawn, key=lambda item: (-growth.supports[item], item)):
            if growth.group_of[item] == item and growth.free[item]:
                growth.grow(item)
        release, key = publish_sets(table, growth.group_of)
        promise = SupportConstraints(itemsets=privacy, k=self.k)
        return Anonymization(release=release, key=key, promise=promise)


@dataclass(kw_only=True)
class Growth:
    """Items that are still free, and the sets made so far."""

    method: WishedDensity
    held: csc_array
    supports: Ints
    free: npt.NDArray[np.bool_]
    group_of: Ints
    rng: np.random.Generator

    @classmethod
    def of(cls, table: TransactionTable, method: WishedDensity, rng: np.random.Generator) -> Growth:
        """Return the state before the first set."""
        from scipy.sparse import csr_array

        ones = np.ones(len(table.items), dtype=np.int64)
        rows = csr_array((ones, table.items, table.offsets), shape=(len(table), table.n_items))
        supports = np.asarray(table.supports(), dtype=np.int64)
        return cls(
            method=method, held=rows.tocsc(), supports=supports, rng=rng,
            free=(supports > 0) & (supports <= RARE * method.k),
            group_of=np.arange(table.n_items, dtype=np.int64),
        )  # fmt: skip

    def grow(self, item: int) -> None:
        """Make a set around an item that too few records hold; others stay as they are."""
        if self.supports[item] >= self.method.k:
            return
        rows = self._rows(item)
        original, members = int(self.supports[item]), [item]
        self.free[item] = False
        while len(members) < LARGEST:
            inside = rows @ self.held
            wider = rows.sum() + self.supports - inside
            density = (original + self.supports) / (wider * (len(members) + 1))
            enough = rows.sum() >= self.method.k
            missed = np.where(self.free, np.abs(density - self.method.density), np.inf)
            away = missed if enough else np.where(wider >= self.method.k, missed, np.inf)
            if away.min() > NEAR and not enough:  # no last step is near: take one that leads on
                away = np.where(wider > rows.sum(), missed, np.inf)
            if np.isinf(away.min()):
                break
            now = abs(original / (rows.sum() * len(members)) - self.method.density)
            if enough and len(members) > 1 and away.min() >= now:
                break
            best = int(self.rng.choice(np.flatnonzero(away <= away.min() + 1e-12)))
            members.append(best)
            self.free[best] = False
            original += int(self.supports[best])
            rows = np.maximum(rows, self._rows(best))
        # Where nothing is left to join, what too few records hold is not published.
        self.group_of[members] = item if rows.sum() >= self.method.k else -1

    def _rows(self, item: int) -> Ints:
        found = np.zeros(self.held.shape[0], dtype=np.int64)
        found[self.held.indices[self.held.indptr[item] : self.held.indptr[item + 1]]] = 1
        return found
