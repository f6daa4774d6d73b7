"""Items of a text: noun phrases (noun + noun, adjective + noun, or a noun), nouns, or tokens.

Within a run of adjectives and nouns the first word that is followed by a noun forms a pair with
it, and the search goes on behind the pair; nouns that are left stand alone. This is how the
printed examples come about: "body mass index" gives "body mass" and "index". Stop words are no
part of an item, plurals become singulars, and an item that is a word of a longer item of the
same text is dropped.

References
----------
.. [1] J. Shao, H. Ong: Exploiting contextual information in attacking set-generalized
   transactions. ACM Transactions on Internet Technology 17 (4), 2017, section 6.1.
.. [2] A. AlShuhail, J. Shao: Semantic attack on disassociated transaction data. 2023, section
   "Dataset Preparation and Experiment Setup" (tokens).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from setveil.core.errors import ParameterError
from setveil.text.inflection import lemma, singular
from setveil.text.tagging import tagged_sentences

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from setveil.text.tagging import Sentence, Tagger


_PRONOUNS = """
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it
its itself we us our ours ourselves they them their theirs themselves one oneself who whom whose
which what whoever whatever whichever this that these those someone somebody something anyone
anybody anything everyone everybody everything none nobody nothing
"""
_DETERMINERS = """
a an the each every either neither both all any some no such same other others another own many
much more most few fewer fewest several various certain enough less least half first second third
last next former latter only even whole entire following able due likely further
"""
_PREPOSITIONS = """
about above across after against along amid among around as at before behind below beneath beside
besides between beyond by concerning despite down during except for from in inside into like near
of off on onto out outside over past per regarding round since than through throughout till to
toward towards under underneath until unto up upon via versus vs with within without
"""
_CONJUNCTIONS = """
and or but nor so yet if because although though unless while whereas whether when where why how
once lest hence thus therefore however moreover furthermore otherwise
"""
_VERBS = """
be am is are was were been being have has had having do does did done doing can could may might
must shall should will would ought cannot let get got gotten make
"""
_ADVERBS = """
not never ever always often sometimes usually very too also just rather quite almost again
already here there now then still else instead perhaps maybe soon later together away back well
etc ie eg i.e. e.g. etc. et ibid
"""
_FRAGMENTS = """
ll re ve don doesn didn isn aren wasn weren haven hasn hadn won wouldn couldn shouldn ain lot lots
"""

_LISTS = (_PRONOUNS, _DETERMINERS, _PREPOSITIONS, _CONJUNCTIONS, _VERBS, _ADVERBS, _FRAGMENTS)

STOP_WORDS = frozenset(word for words in _LISTS for word in words.split())
"""Pronouns, determiners, prepositions, conjunctions, auxiliary verbs and their like."""


def extend_stop_words(words: Iterable[str]) -> frozenset[str]:
    """Return the stop words and some more of the user's.

    >>> "patient" in extend_stop_words(["Patient"]), "the" in extend_stop_words([])
    (True, True)
    """
    more = frozenset(word.strip().lower() for word in words)
    spaced = sorted(word for word in more if " " in word)
    if spaced:
        raise ParameterError(
            f"the stop word {spaced[0]!r} is more than one word", fix="write one word per line"
        )
    return STOP_WORDS | more


NOUN, ADJECTIVE, LETTER, BREAK = "noun", "adjective", "letter", ""
"""What a word can be in a phrase; a letter only ends one ("vitamin d")."""

LETTERED = (NOUN, LETTER)

_WORD = re.compile(r"\w(?:[\w.'&+-]*\w)?\.?")
_ADDRESS = re.compile(r"^(?:https?:|ftp:|www\.)|@")


@lru_cache(maxsize=1 << 16)
def is_word(word: str) -> bool:
    """Tell whether a token can be part of an item: it holds a letter and is no address.

    >>> [is_word(w) for w in ("b12", "cancer.org", "12%", "a@b.org", "caf\ufffd")]
    [True, True, False, False, False]
    """
    return (
        _WORD.fullmatch(word) is not None
        and not _ADDRESS.search(word)
        and any(map(str.isalpha, word))
    )


def noun_phrases(
    text: str, tagger: Tagger | None = None, stop_words: Collection[str] = STOP_WORDS
) -> list[str]:
    """Return the noun phrases of a text, in the order of their first appearance.

    Parameters
    ----------
    text
        Plain English text.
    tagger
        What tags parts of speech; TextBlob's bundled tagger if not given.
    stop_words
        Words that are no part of an item, in lower case.

    Returns
    -------
    list of str
        Lower-case items of one or two words, each once.

    Examples
    --------
    >>> noun_phrases("She has a long history of vascular diseases. The disease has no cure.")
    ['long history', 'vascular disease', 'cure']
    >>> noun_phrases("sudden weight loss")
    ['sudden weight', 'loss']
    """
    return without_contained(_phrases(tagged_sentences(text, tagger), stop_words))


def nouns(
    text: str, tagger: Tagger | None = None, stop_words: Collection[str] = STOP_WORDS
) -> list[str]:
    """Return the single nouns of a text in the singular, in the order of first appearance.

    Parameters are those of `noun_phrases`.

    >>> nouns("She has a long history of vascular diseases. The disease has no cure.")
    ['history', 'disease', 'cure']
    """
    found: dict[str, None] = {}
    for sentence in tagged_sentences(text, tagger):
        for word, tag in sentence:
            if _kind(word, tag, stop_words) == NOUN:
                found[noun_form(word, tag)] = None
    return [item for item in found if item not in stop_words]


def _kind(word: str, tag: str, stop_words: Collection[str]) -> str:
    if tag.startswith("NN") or tag == "FW":
        kind = NOUN if len(word) > 1 else LETTER
    elif tag.startswith("JJ"):
        kind = ADJECTIVE
    else:
        return BREAK
    return kind if word.lower() not in stop_words and is_word(word) else BREAK


def noun_form(word: str, tag: str = "NNS") -> str:
    """Return the form that stands for a noun's singular and its plural, in lower case.

    >>> noun_form("Cells"), noun_form("States", "NNPS")
    ('cell', 'states')
    """
    return singular(word.lower()) if tag == "NNS" else word.lower()


def _phrases(sentences: Iterable[Sentence], stop_words: Collection[str]) -> list[str]:
    """Return the phrases of some sentences, each once, contained ones included."""
    found: dict[str, None] = {}
    for sentence in sentences:
        kinds = [_kind(word, tag, stop_words) for word, tag in sentence]
        kinds.append(BREAK)
        place = 0
        while place < len(sentence):
            kind = kinds[place]
            word = noun_form(*sentence[place]) if kind == NOUN else sentence[place][0].lower()
            following = kinds[place + 1]
            if (kind and kind != LETTER and following == NOUN) or (kind, following) == LETTERED:
                place += 1
                found[f"{word} {noun_form(*sentence[place])}"] = None
            elif kind == NOUN and word not in stop_words:
                found[word] = None
            place += 1
    return list(found)


def without_contained(items: Iterable[str]) -> list[str]:
    """Return the items that are not a run of words inside a longer one of them.

    >>> without_contained(["history", "long history", "his", "a long history", "long"])
    ['his', 'a long history']
    """
    listed = list(dict.fromkeys(items))
    inner: set[str] = set()
    for item in listed:
        words = item.split(" ")
        for length in range(1, len(words)):
            for start in range(len(words) - length + 1):
                inner.add(" ".join(words[start : start + length]))
    return [item for item in listed if item not in inner]


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
