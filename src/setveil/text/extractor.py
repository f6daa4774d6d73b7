"""What turns one text into the items of one record."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from setveil.core.errors import ParameterError
from setveil.text.noun_phrases import noun_phrases, nouns
from setveil.text.stop_words import with_more
from setveil.text.tagging import find_tagger
from setveil.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS: dict[str, Callable[..., list[str]]] = {
    "noun-phrases": noun_phrases,
    "nouns": nouns,
    "tokens": tokens,
}


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """The items of a text, as a callable that can be described to another process.

    Parameters
    ----------
    method
        ``noun-phrases``, ``nouns`` or ``tokens``.
    tagger
        ``pattern`` for TextBlob's bundled tagger, or the name of a spaCy model.
    stop_words
        More words that are no items, besides the built-in ones.

    Examples
    --------
    >>> Extractor(method="nouns", stop_words=("patient",))("The patient has a fever.")
    ['fever']
    """

    method: str = "noun-phrases"
    tagger: str = "pattern"
    stop_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(
                f"{self.method!r} is no way to extract items", fix=f"use {', '.join(METHODS)}"
            )
        with_more(self.stop_words)

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return with_more(self.stop_words)

    def __call__(self, text: str) -> list[str]:
        """Return the items of a text, each once."""
        return METHODS[self.method](text, find_tagger(self.tagger), self._stop_words)

    def load(self) -> None:
        """Load the tagger now, so that a missing package is noticed before the work begins."""
        self("A word.")

    def to_json(self) -> dict[str, Any]:
        """Return what `Extractor` takes, as JSON holds it."""
        return asdict(self)
