"""How well the records behind randomized ones were found among public ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.attack.public_records import PublicRecordsGuess, likelihoods, place_of_truth
from setveil.core.errors import InputError
from setveil.measure.interval import Rate, mean
from setveil.measure.score import must_be_about, score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.attack.guess import Guess
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release
    from setveil.release.perturbed import PerturbedRelease

SURE = 0.9
"""A chance from which on an attack counts as sure."""


@score.register(PublicRecordsGuess)
def score_public_records(
    guess: PublicRecordsGuess, *, release: Release, original: TransactionTable, key: Key
) -> dict[str, Rate | None]:
    """Return how well the originals were found among the candidates.

    Returns
    -------
    dict of str to Rate or None
        What :func:`score_ranks` says of the records whose original is among the candidates; a
        record is recognised by its items, and equal ones are interchangeable. ``among``: share of
        the attacked records of which that is so. ``precision``: share of the records named with a
        chance of 0.9 and more that are right; ``sure``: share of the records with such a chance;
        ``sure_absent``: the same of records whose original is not among the candidates, where
        whatever is named is wrong.

    Examples
    --------
    >>> from setveil.attack import PublicRecords
    >>> from setveil import TransactionTable
    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["hiv", "pox"], ["flu", "pox"]])
    >>> drawn = TransactionTable.from_rows([["flu", "gout"], ["flu", "pox"], ["flu", "pox"]])
    >>> release, key = publish_perturbed(drawn, ItemChannel(beta="1/10", domain=4))
    >>> guess = PublicRecords().run(release, candidates=table)
    >>> rates = score(guess, release=release, original=table, key=key)
    >>> round(rates["first"].value, 4), round(rates["first_random"].value, 4)
    (0.6667, 0.3333)
    """
    form = same_release(guess, release, original, key)
    if max(guess.records, default=-1) >= len(form):
        raise InputError("the guess is about another release", fix="attack this release")
    places = {row: place for place, row in enumerate(guess.candidates)}
    records = np.array(guess.records, dtype=np.int64)
    truth = np.array(
        [places.get(tuple(sorted(set(original[int(r)]))), -1) for r in key.records[records]],
        dtype=np.int64,
    )
    among = truth >= 0
    copies = np.array(guess.copies, dtype=np.int64)
    right = truth[among]
    other = np.random.default_rng(0).permutation(right)
    ranks, firsts, control = np.zeros(len(right)), np.zeros(len(right)), np.zeros(len(right))
    start = 0
    for logs in likelihoods(form, guess.candidates, records[among]):
        own = slice(start, start + len(logs))
        ranks[own], firsts[own] = place_of_truth(logs, right[own], copies)
        control[own] = place_of_truth(logs, other[own], copies)[1]
        start += len(logs)
    rates = dict(score_ranks(ranks, firsts, int(copies.sum()), control=control))
    sure = np.array(guess.chances) >= SURE
    found = np.array(guess.named, dtype=np.int64) == truth
    rates["among"] = mean(among)
    rates["sure"] = mean(sure[among])
    rates["precision"] = mean(found[sure & among])
    rates["sure_absent"] = mean(sure[~among])
    return rates


def score_ranks(
    ranks: npt.ArrayLike,
    firsts: npt.ArrayLike,
    candidates: int,
    *,
    control: npt.ArrayLike | None = None,
) -> Mapping[str, Rate | None]:
    """Return rates about the ranks of the right candidates.

    Parameters
    ----------
    ranks, firsts
        See :func:`setveil.attack.public_records.place_of_truth`, or
        :func:`setveil.tabular.noise_attacks.public_ranks`.
    candidates
        How many there were.
    control
        The chances of being named first where the truth was exchanged between the records.

    Returns
    -------
    mapping of str to Rate or None
        ``first``: share of the records whose right candidate is named first (equally likely ones
        share it); ``first_random``: of candidates named blindly; ``first_control``: with the truth
        exchanged; both should agree. ``rank``: mean share of the other candidates that are ranked
        above the right one; ½ for blind ranking.

    Examples
    --------
    >>> rates = score_ranks([1, 3], [1.0, 0.0], 5)
    >>> rates["first"].value, rates["first_random"].value, rates["rank"].value
    (0.5, 0.2, 0.25)
    """
    place = np.asarray(ranks, dtype=np.float64)
    if not len(place):
        return dict.fromkeys(("first", "first_random", "first_control", "rank"))
    others = max(candidates - 1, 1)
    return {
        "first": mean(firsts),
        "first_random": Rate.counted(1 / candidates),
        "first_control": None if control is None else mean(control),
        "rank": mean((place - 1) / others),
    }


def same_release(
    guess: Guess, release: Release, original: TransactionTable, key: Key
) -> PerturbedRelease:
    """Return a release of randomized records, or say why it is not the one that is meant."""
    randomized = release.as_randomized()
    must_be_about(guess, release)
    if not release.is_consistent_with(original, key):
        raise InputError(
            "the key does not belong to this release and this original",
            fix="give the key that was written with the release, and its original",
        )
    return randomized
