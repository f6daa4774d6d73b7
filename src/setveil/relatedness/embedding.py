"""Terms are close whose word vectors point the same way: one minus the cosine.

References
----------
.. [1] J. Pennington, R. Socher, C. Manning: GloVe: global vectors for word representation. EMNLP
   2014.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from setveil.core.registry import register
from setveil.io.embeddings import Vectors
from setveil.relatedness.base import BoolArray, FloatArray, place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.release.base import Release

ROUNDING = 1e-12


@register("relatedness", "glove", paper="Pennington, Socher & Manning 2014")
@dataclass(frozen=True, eq=False)
class Embedding:
    """One minus the cosine of two terms' vectors: 0 the same direction, 1 unrelated, 2 opposite.

    A phrase is the mean of the vectors of its known words. A term without a known word is
    unknown, and so is one whose vector is zero, as that has no direction.

    Parameters
    ----------
    vectors
        The words and their vectors.

    Examples
    --------
    >>> vectors = Vectors(words=("flu", "cold", "rock"), vectors=[[1, 0], [1, 1], [0, -1]])
    >>> Embedding(vectors).distances(["flu"], ["cold", "rock", "flu cold", "x"]).round(3).tolist()
    [[0.293, 1.0, 0.106, nan]]
    """

    vectors: Vectors

    @classmethod
    def from_spec(cls, place: str, *, release: Release | None = None) -> Self:
        """Return the distance by the vectors of a file; of a text only what a release needs."""
        path = place_of("glove", place, "FILE")
        return cls(Vectors.read(path, terms=None if release is None else terms_of(release)))

    def distances(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return the distance of each row term to each column term; NaN where one is unknown."""
        (down, down_known), (across, across_known) = (
            self._directions(rows),
            self._directions(columns),
        )
        distance = np.clip(1 - down @ across.T, 0, 2)
        both = down_known[:, None] & across_known[None, :]
        # The product of a direction with itself is 1 only up to a rounding.
        distance[distance < ROUNDING] = 0
        return np.where(both, distance, np.nan)

    def known(self, terms: Sequence[str]) -> BoolArray:
        """Tell for each term whether it has a direction."""
        return self._directions(terms)[1]

    def fingerprint(self) -> str:
        """Return a text that is the same exactly when all distances are."""
        return f"cosine({self._digest})"

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.blake2b("\n".join(self.vectors.words).encode(), digest_size=16)
        digest.update(np.ascontiguousarray(self.vectors.vectors).tobytes())
        return digest.hexdigest()

    def _directions(self, terms: Sequence[str]) -> tuple[FloatArray, BoolArray]:
        found, known = self.vectors.of(terms)
        rows = found.astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1)
        known = known & (lengths > 0)
        return rows / np.where(known, lengths, 1)[:, None], known


def terms_of(release: Release) -> list[str]:
    """Return all original items that a release shows, in clear or as members, sorted.

    >>> from setveil import TransactionTable
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["mumps"]])
    >>> release, _ = publish_sets(table, [0, 0, 1])
    >>> terms_of(release)
    ['flu', 'gout', 'mumps']
    """
    return release.original_items()
