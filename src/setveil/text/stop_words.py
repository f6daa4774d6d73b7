"""English words that tell nothing about a document: they are no items and part of none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def with_more(words: Iterable[str]) -> frozenset[str]:
    """Return the stop words and some more of the user's.

    >>> "patient" in with_more(["Patient"]), "the" in with_more([])
    (True, True)
    """
    more = frozenset(word.strip().lower() for word in words)
    spaced = sorted(word for word in more if " " in word)
    if spaced:
        raise ParameterError(
            f"the stop word {spaced[0]!r} is more than one word", fix="write one word per line"
        )
    return STOP_WORDS | more
