"""Tokens of a text: its words in dictionary form, without those that tell nothing.

References
----------
.. [1] A. AlShuhail, J. Shao: Semantic attack on disassociated transaction data. 2023, section
   "Dataset Preparation and Experiment Setup".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.text.inflection import lemma
from setveil.text.noun_phrases import is_word
from setveil.text.stop_words import STOP_WORDS
from setveil.text.tagging import tagged_sentences

if TYPE_CHECKING:
    from collections.abc import Collection

    from setveil.text.tagging import Tagger


def tokens(
    text: str, tagger: Tagger | None = None, stop_words: Collection[str] = STOP_WORDS
) -> list[str]:
    """Return the lemmatised words of a text, in the order of their first appearance.

    Stop words, numbers (in digits or in words), punctuation, web addresses and single characters
    are left out; the parameters are those of `setveil.text.noun_phrases.noun_phrases`.

    >>> tokens("She was studying 12 cells; the study's cells grew.")
    ['study', 'cell', 'grow']
    """
    found: dict[str, None] = {}
    for sentence in tagged_sentences(text, tagger):
        for word, tag in sentence:
            lower = word.lower()
            if tag == "CD" or len(word) < 2 or lower in stop_words or not is_word(word):
                continue
            found[lemma(lower, tag)] = None
    return [item for item in found if len(item) > 1 and item not in stop_words]
