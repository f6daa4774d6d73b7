"""How many tags a guess read rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.attack.token_frequency import TokenGuess
from setveil.core.errors import InputError
from setveil.measure.interval import Rate, clustered_share
from setveil.measure.score import must_be_about, score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release
    from setveil.release.encoded import EncodedRelease

SURE = 0.9


@score.register(TokenGuess)
def score_tokens(
    guess: TokenGuess, *, release: Release, original: TransactionTable, key: Key
) -> dict[str, Rate | None]:
    """Return how many tags were read rightly, beside what guessing gets.

    Returns
    -------
    dict of str to Rate or None
        ``accuracy``: share of the attacked tags whose name is right; ``accuracy_frequency``: the
        same by frequency rank alone; ``accuracy_random``: by names drawn at random;
        ``accuracy_control``: by the attack with an unrelated reference. ``precision``: share of
        the names it was sure of (chance of at least 0.9) that are right; ``sure``: share of the
        attacked tags it was sure of. ``tags_read``: share of all tags, attacked or not, that
        were read; ``occurrences_read``: share of what stands in the records as a tag.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_encoded
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"]])
    >>> release, key = publish_encoded(table, {"flu": "4a", "hiv": "c1"})
    >>> guess = TokenGuess(attack="token-frequency", names={"4a": "flu", "c1": "gout"},
    ...                    chances={"4a": 0.95, "c1": 0.2}, by_frequency={}, control={},
    ...                    candidates=8)
    >>> rates = score(guess, release=release, original=table, key=key)
    >>> rates["accuracy"].value, rates["precision"].value, rates["accuracy_random"].value
    (0.5, 1.0, 0.125)
    """
    tags = release.as_tags()
    if not release.is_consistent_with(original, key) or not key.names:
        raise InputError(
            "the key does not say what the tags of this release stand for",
            fix="give the key that was written with the release, and its original",
        )
    must_be_about(guess, release)
    truth = {
        tag: name
        for tag, name, clear in zip(
            tags.vocabulary.names, key.names, tags.readable.tolist(), strict=True
        )
        if not clear
    }
    if not set(guess.names) <= set(truth):
        raise InputError(
            "the guess is about tags that are not in this release",
            fix="attack this release, or name the one that was attacked",
        )
    if not truth:
        return dict.fromkeys(NAMES)
    attacked = list(guess.names)
    sure = [tag for tag in attacked if guess.chances[tag] >= SURE]
    right = _right(guess.names, truth)
    return {
        "accuracy": _share(right, attacked),
        "accuracy_frequency": _share(_right(guess.by_frequency, truth), attacked),
        "accuracy_random": Rate.counted(1 / guess.candidates) if guess.candidates else None,
        "accuracy_control": _share(_right(guess.control, truth), attacked),
        "precision": _share(right, sure),
        "sure": _share(set(sure), attacked),
        "tags_read": _share(right, list(truth)),
        "occurrences_read": _occurrences(tags, truth, right),
    }


NAMES = (
    "accuracy",
    "accuracy_frequency",
    "accuracy_random",
    "accuracy_control",
    "precision",
    "sure",
    "tags_read",
    "occurrences_read",
)


def _right(said: Mapping[str, str], truth: Mapping[str, str]) -> set[str]:
    return {tag for tag, name in said.items() if truth.get(tag) == name}


def _share(good: set[str], of: list[str]) -> Rate | None:
    return Rate.sampled(sum(tag in good for tag in of), len(of)) if of else None


def _occurrences(release: EncodedRelease, truth: Mapping[str, str], right: set[str]) -> Rate | None:
    """Return the share of occurrences that were read: those of one tag are read all or none."""
    numbers = [release.vocabulary.number(tag) for tag in truth]
    occurrences = release.supports()[numbers].astype(np.float64)
    return clustered_share(occurrences * [tag in right for tag in truth], occurrences)
