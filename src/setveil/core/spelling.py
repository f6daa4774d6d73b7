"""How names are spelled: one name in several spellings, the nearest name, the most similar one.

One mechanism for all of it. :func:`spelling_key` is what the spellings of one name have in common:
``--normalize`` joins items by it, and `inspect` lists them. :func:`variants` goes further: it finds
the items that a list of sensitive ones misses only because they are written otherwise.
:func:`nearest` and :class:`Spellings` look for a similar name where none is the same.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.words import is_hidden

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from setveil.core.arrays import Int64Array


PUNCTUATION = ".,;:!?"
WORDS = re.compile(r"[^\W_]+")

LOOKALIKES = str.maketrans(
    # Cyrillic, Greek, dotless i and script g. Not the small mu, which means a millionth.
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u04cf\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u0500\u04ba\u04c0\u051a\u051c"
    "\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u0131\u0269\u0261",
    "abekmhopctyxijsdhlqwABEKMHOPCTYXIJSDHIQWaeikvoptuxABEZHIKMNOPTYXiig",
)
"""Letters that look like Latin ones, and which."""

JOINTS = re.compile(r"[\s\-\u2010-\u2015_/()\[\]]+|,(?!\d)")
"""What stands between words: spaces, hyphens, slashes, brackets, commas but decimal ones."""
LEFT_OUT = re.compile("['\"`\u00b4\u2018-\u201f\u2032\u2033]|\\.(?!\\d)")
"""What is left out as often as written: quotes, and full stops other than decimal points."""
ENDINGS = (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("s", ""))
"""English plurals, and what stands in their place in the singular."""
NO_PLURALS = ("ss", "us", "is")


def spelling_key(name: str) -> str:
    r"""Return what the spellings of one name have in common.

    They may differ in case, in spaces, in punctuation at the end, in characters that nobody sees,
    and in how Unicode writes a letter: composed or not, in full width.

    >>> spelling_key(" Heart  failure. ") == spelling_key("heart\u00a0fail\u00adure")
    True
    """
    if name.isascii():
        return tidy(name.casefold())
    # Folding the case may take letters apart that the second round composes again.
    folded = unicodedata.normalize("NFKC", name).casefold()
    return tidy(unicodedata.normalize("NFKC", folded))


def tidy(name: str) -> str:
    """Return a name without hidden characters, double spaces and punctuation at its end.

    >>> tidy(" Heart  failure. ")
    'Heart failure'
    """
    text = " ".join(name.split())  # spaces of every kind become plain ones
    if not text.isascii() or not text.isprintable():
        text = " ".join("".join(sign for sign in text if not is_hidden(sign)).split())
    return text.rstrip(PUNCTUATION).rstrip() or text or name


def near_duplicates(names: Iterable[str]) -> list[list[str]]:
    """Return the groups of names that are spellings of one (:func:`spelling_key`).

    >>> near_duplicates(["Flu", "flu", "flu.", "gout"])
    [['Flu', 'flu', 'flu.']]
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[spelling_key(name)].append(name)
    return [group for group in groups.values() if len(group) > 1]


def variants(items: Collection[str], names: Iterable[str]) -> dict[str, str]:
    r"""Return the names that are none of the items but written almost like one, with that one.

    Almost: by :func:`spelling_key`; or but for hyphens, brackets, quotes, full stops, commas and an
    English plural; or with letters of another alphabet that look the same. One letter more, less or
    other is another name: hepatitis A is not hepatitis B.

    >>> variants(["HIV", "hepatitis A"], ["HIV", "hiv", "H.I.V.", "hepatitis B"])
    {'hiv': 'HIV', 'H.I.V.': 'HIV'}
    >>> len(variants(["HIV"], ["HIV\u200b", "\u041dIV", "\uff28\uff29\uff36", "HCV"]))
    3
    """
    known = set(items)
    by_key: dict[str, str] = {}
    for item in items:
        for key in _loose_keys(item):
            by_key.setdefault(key, item)
    found: dict[str, str] = {}
    for name in names:
        if name not in known:
            near = sorted(by_key[key] for key in _loose_keys(name) if key in by_key)
            if near:
                found[name] = near[0]
    return found


def _loose_keys(name: str) -> set[str]:
    """Return what a name and its variants have in common, with the letters it has or looks to have.

    Both, as a name in Greek capitals looks Latin, and the same name in small letters does not.
    """
    texts = {name} if name.isascii() else {name, name.translate(LOOKALIKES)}
    return {
        " ".join(map(_singular, JOINTS.sub(" ", LEFT_OUT.sub("", spelling_key(text))).split()))
        or text
        for text in texts
    }


@lru_cache(maxsize=1 << 16)
def _singular(word: str) -> str:
    """Return an English word without the ending of its plural; codes with digits stay."""
    if len(word) < 4 or not word.isalpha() or word.endswith(NO_PLURALS):
        return word
    for ending, instead in ENDINGS:
        if word.endswith(ending):
            return word.removesuffix(ending) + instead
    return word


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint such as ``; did you mean 'MRN'?``, or nothing where no name is near.

    >>> nearest("mrn", ["MRN", "ICD"])
    "; did you mean 'MRN'?"
    >>> nearest("weather", ["MRN", "ICD"])
    ''
    """
    folded = {spelling_key(each): each for each in known}
    found = difflib.get_close_matches(spelling_key(name), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""


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
