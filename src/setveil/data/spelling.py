"""Which of many names is spelled most like another: by the groups of three letters they share."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.data.table import Int64Array

WORDS = re.compile(r"[^\W_]+")


def trigrams(text: str) -> frozenset[str]:
    """Return the groups of three letters of each word, with two blanks before it and one after.

    The first letters of a word count more often than the others that way. Capitals are small
    letters; a text without letters or digits is one word.

    >>> sorted(trigrams("Ale"))
    ['  a', ' al', 'ale', 'le ']
    """
    folded = text.casefold()
    padded = (f"  {word} " for word in WORDS.findall(folded) or [folded])
    return frozenset(word[i : i + 3] for word in padded for i in range(len(word) - 2))


class Spellings:
    """Names that can be searched for the one most similar to another.

    Two names are as similar as the share of their groups of three letters that both have
    (:func:`trigrams`; Jaccard's coefficient, as in PostgreSQL's ``pg_trgm``): 1 for the same
    words in any order, 0 where they share none. Only names that share a group are compared.

    >>> Spellings(["whole milk", "male cosmetics", "baby food"]).nearest("baby cosmetics")
    (1, 0.5)
    """

    def __init__(self, names: Sequence[str]) -> None:
        found = [trigrams(name) for name in names]
        holders: defaultdict[str, list[int]] = defaultdict(list)
        for place, groups in enumerate(found):
            for group in groups:
                holders[group].append(place)
        self._holders: dict[str, Int64Array] = {
            group: np.array(places, dtype=np.int64) for group, places in holders.items()
        }
        self._sizes = np.array([len(groups) for groups in found], dtype=np.int64)

    def nearest(self, name: str) -> tuple[int, float]:
        """Return the place of the most similar name, the first of equals, and the similarity.

        The place is -1 where no name shares a group of letters with this one.
        """
        groups = trigrams(name)
        holders = [self._holders[group] for group in groups if group in self._holders]
        if not holders:
            return -1, 0.0
        shared = np.bincount(np.concatenate(holders), minlength=len(self._sizes))
        similar = shared / (self._sizes + len(groups) - shared)
        best = int(np.argmax(similar))
        return best, float(similar[best])
