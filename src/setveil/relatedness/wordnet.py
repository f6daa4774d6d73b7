"""Terms are close that share a narrow concept of WordNet: one minus the likeness of Wu and Palmer.

References
----------
.. [1] Z. Wu, M. Palmer: Verb semantics and lexical selection. ACL 1994.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from setveil.core.registry import register
from setveil.io.wordnet import WordNet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.arrays import BoolArray, FloatArray
    from setveil.release.base import Release


@register("relatedness", "wordnet", paper="Wu & Palmer 1994")
@dataclass(frozen=True, eq=False)
class WuPalmer:
    """One minus 2·depth(lca) / (depth(a) + depth(b)), for the senses of two terms that fit best.

    A phrase that WordNet does not list is looked up by its last word, which says what kind of
    thing it is: a "sudden headache" is a headache.

    Parameters
    ----------
    wordnet
        The nouns of WordNet.
    heads
        Whether a phrase that is not listed is looked up by its last word.

    Examples
    --------
    >>> tiny = WordNet.from_senses({"pug": ["pug.n.01"], "dog": ["dog.n.01"]},
    ...                            parents={"pug.n.01": "dog.n.01"})
    >>> WuPalmer(tiny).distances(["old pug"], ["dog", "pug", "cat"]).round(3).tolist()
    [[0.333, 0.0, nan]]
    """

    wordnet: WordNet
    heads: bool = True

    @classmethod
    def from_spec(cls, place: str, *, release: Release | None = None) -> Self:
        """Return the distance by WordNet in a given directory, or where it usually lies."""
        del release
        return cls(WordNet.find(place.strip() or None))

    def distances(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return the distance of each row term to each column term; NaN where one is unknown."""
        likeness = self.wordnet.likeness(
            map(self._known_form, rows), map(self._known_form, columns)
        )
        return np.asarray(1 - likeness)

    def known(self, terms: Sequence[str]) -> BoolArray:
        """Tell for each term whether WordNet lists it, or its last word."""
        return np.array([self._known_form(term) in self.wordnet for term in terms], dtype=bool)

    def fingerprint(self) -> str:
        """Return a text that is the same exactly when all distances are."""
        return f"wu-palmer({self._digest}{', heads' if self.heads else ''})"

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.blake2b("\n".join(self.wordnet.lemmas).encode(), digest_size=16)
        for array in (self.wordnet.tree.parents, self.wordnet.starts, self.wordnet.senses):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def _known_form(self, term: str) -> str:
        """Return the form of a term to look up: itself, or its last word."""
        if not self.heads or term in self.wordnet:
            return term
        words = term.replace("_", " ").split()
        return words[-1] if words else term
