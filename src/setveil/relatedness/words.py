"""How a text becomes words to be counted: the same for a corpus and for the terms looked up."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

END = "\0"
"""Ends a text in a list of the words of many; no word holds it."""

_WORD = re.compile(r"[^\W_]+")
_WORD_OR_END = re.compile(rf"[^\W_]+|{END}")
_POSSESSIVE = re.compile("['\u2019]s\\b")
_ENDINGS = (
    ("ies", "y"),
    ("oses", "osis"),
    ("yses", "ysis"),
    ("s", ""),
    ("es", ""),
    ("ves", "f"),
    ("men", "man"),
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in order: runs of letters and digits, in lower case.

    Punctuation and hyphens only separate, so that "x-ray" and "x ray" are the same two words; a
    possessive 's is dropped.

    >>> words_of("An X-ray of Crohn's disease_2, café.")
    ['an', 'x', 'ray', 'of', 'crohn', 'disease', '2', 'café']
    """
    return _WORD.findall(_plain(text))


def _plain(text: str) -> str:
    """Return a text composed, in lower case and without possessives."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    lower = text.lower()
    if "'s" in lower or "\u2019s" in lower:
        lower = _POSSESSIVE.sub("", lower)
    return lower


def words_of_many(texts: Sequence[str]) -> list[str]:
    """Return the words of several texts in one list, with :data:`END` after each text.

    One pass over all of them: for a million short texts faster than one pass over each.

    >>> words_of_many(["An X-ray.", "", "Flu"]) == ["an", "x", "ray", END, END, "flu", END]
    True
    """
    # Between line breaks the mark touches no word: what is normalized or dropped stays the same.
    joined = "".join(f"{text.replace(END, ' ')}\n{END}\n" for text in texts)
    return _WORD_OR_END.findall(_plain(joined))


def possible_singulars(word: str) -> Iterator[str]:
    """Yield what a word would be the plural of, most likely ones first.

    A corpus is turned to singulars with a lexicon. When a term is looked up, the corpus itself
    tells which of these is a word, so that no lexicon needs to be loaded.

    >>> list(possible_singulars("diagnoses")), list(possible_singulars("flu"))
    (['diagnosis', 'diagnose', 'diagnos'], [])
    """
    if len(word) > 3:
        for ending, base in _ENDINGS:
            if word.endswith(ending) and not word.endswith("ss"):
                yield word.removesuffix(ending) + base
