"""Whether the profiles of a split record still find each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.core.interval import clustered_share

if TYPE_CHECKING:
    from setveil.core.arrays import Int64Array
    from setveil.core.interval import Rate
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key
    from setveil.release.split import SplitRelease


PAIRS = 2000
"""How many pairs of profiles are compared."""


def profile_link(
    release: SplitRelease,
    original: TransactionTable,
    key: Key,
    *,
    pairs: int = PAIRS,
    rng: np.random.Generator | None = None,
) -> Rate:
    """Return how well the profiles of one person still find each other.

    The chance that, of two profiles about the same field, a person's own looks more related to
    another profile of the person than a stranger's does: 0.5 says that nothing links them, 1 that
    everything does. Fields are what items link: profiles that share an item are of one.
    Profiles are related as far as their items occur together more often than by chance, in the
    records of everybody else: the strongest knowledge of which interests go together. The
    interval counts people, not pairs of profiles.

    Parameters
    ----------
    release, original, key
        The profiles, the records they are of, and whose each is.
    pairs
        How many pairs of profiles are drawn.
    rng
        Draws them; without it always the same ones.

    Raises
    ------
    NotApplicable
        Nobody has two profiles with items, or no stranger has one about the same field.

    Examples
    --------
    >>> from setveil.anonymize import SplitPersonality
    >>> from setveil.synthetic import clinic
    >>> table = clinic(n=500, seed=1).table
    >>> made = SplitPersonality(topics=4).anonymize(table)
    >>> profile_link(made.release, table, made.key).value > 0.5
    True
    """
    rng = np.random.default_rng(0) if rng is None else rng
    field_of = _fields(release)
    filled = np.flatnonzero(field_of >= 0)
    owner = key.records[filled]
    several = filled[np.bincount(owner)[owner] > 1]
    fields = field_of[filled]
    together = _Together(original)
    wins, compared = np.zeros(len(original)), np.zeros(len(original))
    for one in rng.choice(several, pairs).tolist() if len(several) else ():
        person = key.records[one]
        own = int(rng.choice(filled[(owner == person) & (filled != one)]))
        strangers = filled[(owner != person) & (fields == field_of[own])]
        if not len(strangers):
            continue
        other = int(rng.choice(strangers))
        compared[person] += 1
        mine, strange = (
            together.relatedness(_names(release, one), _names(release, each), gone=(person, whose))
            for each, whose in ((own, person), (other, key.records[other]))
        )
        wins[person] += 1.0 if mine > strange else 0.5 if mine == strange else 0.0
    rate = clustered_share(wins, compared)
    if rate is None:
        raise NotApplicable("nobody has two profiles, so there is nothing to link")
    return rate


def _fields(release: SplitRelease) -> Int64Array:
    """Return the field of each profile: a number that profiles with a common item share, or -1."""
    filled = np.flatnonzero(np.diff(release.offsets))
    lengths = np.diff(release.offsets)[filled]
    field_of = np.full(len(release), -1, dtype=np.int64)
    if not len(filled):
        return field_of
    label = np.arange(len(release.vocabulary), dtype=np.int64)
    while True:
        least = np.minimum.reduceat(label[release.items], release.offsets[filled])
        closer = label.copy()
        np.minimum.at(closer, release.items, np.repeat(least, lengths))
        if np.array_equal(closer, label):
            field_of[filled] = least
            return field_of
        label = closer


def _names(release: SplitRelease, profile: int) -> list[str]:
    numbers = release.items[release.offsets[profile] : release.offsets[profile + 1]]
    return [release.vocabulary[i] for i in numbers.tolist()]


class _Together:
    """How often items stand in one record, without certain records."""

    def __init__(self, table: TransactionTable) -> None:
        self.size = len(table)
        record = np.repeat(np.arange(len(table)), table.lengths)
        order = np.argsort(table.items, kind="stable")
        starts = np.searchsorted(table.items[order], np.arange(table.n_items + 1)).tolist()
        held = record[order].tolist()
        self.records = {
            name: frozenset(held[starts[i] : starts[i + 1]])
            for i, name in enumerate(table.vocabulary.names)
        }

    def relatedness(self, one: list[str], other: list[str], *, gone: tuple[int, int]) -> float:
        """Return the mean over pairs of items of log (times together / times by chance)."""
        apart = set(gone)
        total = 0.0
        for a in one:
            first = self.records[a] - apart
            for b in other:
                second = self.records[b] - apart
                by_chance = len(first) * len(second) / self.size
                total += math.log((len(first & second) + 0.5) / (by_chance + 0.5))
        return total / (len(one) * len(other))
