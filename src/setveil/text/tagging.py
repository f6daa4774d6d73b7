"""Parts of speech: sentences of words with Penn Treebank tags.

TextBlob's bundled tagger needs no download. It looks words up in a lexicon and judges unknown
ones by their ending; it does not look at neighbours, so the few confusions that cost most nouns
are put right here. A spaCy model, where the user has one, is used as it is.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Protocol

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Sentence = list[tuple[str, str]]
"""Words in order, each with its tag."""

PATTERN = "pattern"
PIECE = 100_000  # characters tagged at a time: bounds the memory of a long document
LONGEST_WORD = 200  # what is longer is no word, and would cost the tokenizer quadratic time

_OVERLONG = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
_WEB_ADDRESS = re.compile(r"(?:https?:|ftp:)//\S+|\bwww\.\S+")
_MAIL_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
_APOSTROPHES = re.compile("[\u2018\u2019\u02bc\u2032`]")
_DASHES = re.compile("(--+|[\u2013\u2014\u2015\u2022\u00b7\u2026/|\\\\<>])")
_BULLET = re.compile(r"\n[ \t]*(?=[-*+•‣·–—]\s)")
_BLANK_LINE = re.compile(r"\n\s*\n")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SENTENCE_END = re.compile(r"[.!?]\s")


class Tagger(Protocol):
    """Whatever splits text into sentences of tagged words."""

    def sentences(self, text: str) -> Iterator[Sentence]:
        """Yield the sentences of a text, in order."""
        ...


@cache
def _textblob() -> Any:  # noqa: ANN401  (TextBlob has no types)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TextBlob's own making, such as a file left open
        try:
            from textblob import en
        except ImportError:
            raise ParameterError(
                "reading text needs the package textblob, which is not installed",
                fix="pip install 'setveil[text]'",
            ) from None
        en.lexicon.get("")  # loads it, and by this very call makes further ones fast
    return en


@cache
def lexicon() -> Mapping[str, str]:
    """Return TextBlob's lexicon: a word's most frequent tag.

    >>> lexicon()["disease"]
    'NN'
    """
    words: Mapping[str, str] = dict(_textblob().lexicon.items())
    return words


@dataclass(frozen=True, kw_only=True)
class PatternTagger:
    """TextBlob's bundled tagger for English, with its costliest confusions put right.

    Examples
    --------
    >>> next(PatternTagger().sentences("The inherited cause of seizures"))
    [('The', 'DT'), ('inherited', 'JJ'), ('cause', 'NN'), ('of', 'IN'), ('seizures', 'NNS')]
    """

    def sentences(self, text: str) -> Iterator[Sentence]:
        """Yield the sentences of a text, in order."""
        words = lexicon()
        parsed = _textblob().parser.parse(
            text, tags=True, chunks=False, relations=False, lemmata=False, collapse=False
        )
        for sentence in parsed:
            yield _repair([(word, _by_form(word, tag, words)) for word, tag in sentence])


_PROPER_PLURALS = frozenset({"states", "nations", "games"})


def _by_form(word: str, tag: str, words: Mapping[str, str]) -> str:
    """Return the tag of a word for which its form tells more than TextBlob makes of it.

    >>> _by_form("Seizures", "NNP", lexicon()), _by_form("methotrexate", "VBP", lexicon())
    ('NNS', 'NN')
    """
    if word.islower():
        # Verbs in -ate and nouns in -ic that are in no lexicon are rare; substances are not.
        guess = {("NN", "ic"): "JJ", ("VBP", "te"): "NN"}.get((tag, word[-2:]), tag)
        return tag if word in words else guess
    lower = word.lower()
    if tag == "NNPS":
        plural = words.get(lower) == "NNS" and lower not in _PROPER_PLURALS
        return "NNS" if plural else tag
    # Headings capitalise ordinary words too.
    if word not in words and (tag == "NNP" or (word.isupper() and len(word) > 3)):
        return words.get(lower, tag)
    return tag


_BEFORE_NOUNS = frozenset({"DT", "PRP$", "POS", "JJ", "JJR", "JJS"})
_BEFORE_PARTICIPLES = _BEFORE_NOUNS | {"IN", "CD"}
_VERBS = frozenset({"VB", "VBP"})
_PARTICIPLES = frozenset({"VBN", "VBD"})
_SUBJECTS = frozenset({"PRP", "WDT", "WP"})
_AFTER_NOUNS = frozenset({"", ".", "IN", "VBZ", "VBD", "VBP", "MD", "WP", "WDT"})
_NAMING = frozenset({"called", "named", "termed", "known"})


def _repair(sentence: Sentence) -> Sentence:
    """Return the sentence with tags that its neighbours rule out replaced.

    >>> _repair([("may", "MD"), ("cause", "NN")])
    [('may', 'MD'), ('cause', 'VB')]
    """
    before = ""
    for place, (word, tag) in enumerate(sentence):
        new = tag
        after = sentence[place + 1][1] if place + 1 < len(sentence) else ""
        if tag == "NN" and before == "MD":
            new = "VB"  # it may cause
        elif tag in _VERBS and before in _BEFORE_NOUNS:
            new = "NN"  # the cause, a tibial bypass
        elif tag == "NNS" and before in _SUBJECTS:
            new = "VBZ"  # a gene which causes
        elif tag in _PARTICIPLES and before in _BEFORE_PARTICIPLES and word not in _NAMING:
            if after.startswith(("NN", "JJ")):
                new = "JJ"  # an affected child, the left upper lobe
        elif tag == "JJ" and before == "DT" and after in _AFTER_NOUNS:
            new = "NN"  # a cold, the individual
        if new != tag:
            sentence[place] = (word, new)
        before = new
    return sentence


@dataclass(frozen=True, kw_only=True)
class SpacyTagger:
    """A spaCy pipeline that the user has: the name of a package, or its directory.

    Parameters
    ----------
    model
        What ``spacy.load`` takes, such as ``en_core_web_sm``.
    """

    model: str

    @cached_property
    def _pipeline(self) -> Any:  # noqa: ANN401  (spaCy is not installed with setveil)
        try:
            import spacy  # type: ignore[import-not-found]
        except ImportError:
            raise ParameterError(
                f"the tagger {self.model!r} needs spaCy, which is not installed",
                fix=f"pip install spacy, and get the model {self.model}; or leave --tagger out",
            ) from None
        try:
            pipeline = spacy.load(self.model, exclude=["ner", "lemmatizer"])
        except (OSError, ValueError):
            raise ParameterError(
                f"spaCy has no model {self.model!r}",
                fix=f"python -m spacy download {self.model}; or leave --tagger out",
            ) from None
        if not {"tagger", "morphologizer"} & set(pipeline.pipe_names):
            raise ParameterError(
                f"the spaCy model {self.model!r} does not tag parts of speech",
                fix="name a model with a tagger, such as en_core_web_sm",
            )
        return pipeline

    def sentences(self, text: str) -> Iterator[Sentence]:
        """Yield the sentences of a text, in order."""
        sentence: Sentence = []
        for token in self._pipeline(text):
            if token.is_sent_start and sentence:
                yield sentence
                sentence = []
            if not token.is_space:
                sentence.append((token.text, token.tag_))
        if sentence:
            yield sentence


@cache
def find_tagger(name: str | None = None) -> Tagger:
    """Return the tagger of a name: ``pattern`` (also None), or else a spaCy model.

    >>> find_tagger()
    PatternTagger()
    """
    return PatternTagger() if name in {None, PATTERN} else SpacyTagger(model=str(name))


def tagged_sentences(text: str, tagger: Tagger | None = None) -> Iterator[Sentence]:
    """Yield the tagged sentences of a text of any length; bullets and blank lines end them.

    >>> [len(sentence) for sentence in tagged_sentences("Two cells. - a cell")]
    [3, 3]
    """
    tagger = tagger or find_tagger()
    for piece in pieces(tidied(text)):
        yield from tagger.sentences(piece)


def tidied(text: str) -> str:
    r"""Return a text as tokenizers like it: plain apostrophes, dashes apart, no addresses.

    >>> tidied("The patient\u2019s fever\u2014high" + "\n* cough/cold " + "x" * 300)
    "The patient's fever — high\n\n* cough / cold"
    """
    text = unicodedata.normalize("NFKC", text).replace("\r\n", "\n").replace("\r", "\n")
    text = _WEB_ADDRESS.sub(" , ", _OVERLONG.sub(" ", _CONTROLS.sub(" ", text)))
    if "@" in text:  # the pattern is slow, and most texts have none
        text = _MAIL_ADDRESS.sub(" , ", text)
    text = _BULLET.sub("\n\n", _APOSTROPHES.sub("'", text))
    return _BLANK_LINE.sub("\n\n", _DASHES.sub(r" \1 ", text)).strip()


def pieces(text: str, size: int = PIECE) -> Iterator[str]:
    """Yield a text in pieces of at most `size` characters, cut where that does least harm.

    >>> list(pieces("One cell. Two cells", size=12))
    ['One cell. ', 'Two cells']
    """
    start = 0
    while len(text) - start > size:
        end = _cut(text, start, start + size)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _cut(text: str, start: int, limit: int) -> int:
    """Return where to cut: after a paragraph, a sentence or a word, in the second half."""
    window = text[limit - (limit - start) // 2 : limit]
    base = limit - len(window)
    blank = window.rfind("\n\n")
    if blank >= 0:
        return base + blank + 2
    ends = [match.end() for match in _SENTENCE_END.finditer(window)]
    if ends:
        return base + ends[-1]
    space = max(window.rfind(" "), window.rfind("\n"))
    return base + space + 1 if space >= 0 else limit
