"""Drawing an original that may stand behind randomized records."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.table import TransactionTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.table import Int64Array
    from setveil.release.item_channel import Floats
    from setveil.release.perturbed import PerturbedRelease

CELLS = 4_000_000
"""Cells that are drawn at a time."""


def posterior_shares(release: PerturbedRelease) -> tuple[Floats, Floats]:
    """Return how likely a record holds each item that it shows, and each that it does not.

    Each item for itself: beforehand it is held with its estimated share, no less than 0 and no
    more than 1.

    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> table = TransactionTable.from_rows([["flu"]] * 2 + [[]] * 2)
    >>> release, _ = publish_perturbed(table, ItemChannel(beta="1/4", domain=1))
    >>> [shares.tolist() for shares in posterior_shares(release)]
    [[0.75], [0.25]]
    """
    beta = float(release.channel.beta)
    share = np.clip(release.estimated_shares(), 0.0, 1.0)
    here, not_here = share * (1 - beta), share * beta
    return here / (here + (1 - share) * beta), not_here / (not_here + (1 - share) * (1 - beta))


def drawn_items(release: PerturbedRelease, rng: np.random.Generator) -> TransactionTable:
    """Draw an original item by item, as :func:`posterior_shares` says."""
    here, not_here = posterior_shares(release)
    step = max(1, CELLS // max(len(here), 1))
    rows: list[Int64Array] = []
    for first in range(0, len(release), step):
        shown = release.cells(first, min(first + step, len(release)))
        held = rng.random(shown.shape) < np.where(shown, here, not_here)
        ends = np.cumsum(held.sum(axis=1))[:-1]
        rows += np.split(np.nonzero(held)[1], ends)
    return _table(release, rows)


def drawn_sizes(release: PerturbedRelease, rng: np.random.Generator) -> TransactionTable:
    """Draw an original of which all lengths, and all sets of a length, were equally likely."""
    width = len(release.vocabulary)
    sizes = lru_cache(lambda shown: _sizes(release, shown))
    rows: list[Int64Array] = []
    for record in range(len(release)):
        bounds = release.offsets[record : record + 2].tolist()
        shown = release.items[slice(*bounds)].astype(np.int64)
        states, chances = sizes(len(shown))
        length, common = states[int(rng.choice(len(states), p=chances))]
        others = np.setdiff1d(np.arange(width), shown, assume_unique=True)
        kept = rng.choice(shown, common, replace=False)
        more = rng.choice(others, length - common, replace=False)
        rows.append(np.sort(np.concatenate([kept, more])))
    return _table(release, rows)


def _sizes(release: PerturbedRelease, shown: int) -> tuple[list[tuple[int, int]], Floats]:
    """Return how long an original may be with how many items in common, and how likely each is."""
    width, channel = len(release.vocabulary), release.channel
    states = [
        (length, common)
        for length in range(min(channel.longest, width) + 1)
        for common in range(max(0, length - (width - shown)), min(length, shown) + 1)
    ]
    lengths, both = np.array(states, dtype=np.int64).T
    ways = [
        math.log(math.comb(shown, c) * math.comb(width - shown, n - c))
        - math.log(math.comb(width, n))
        for n, c in states
    ]
    logs = np.array(ways) + channel.log_likelihood(lengths, np.full_like(lengths, shown), both)
    chances = np.exp(logs - logs.max())
    return states, chances / chances.sum()


def _table(release: PerturbedRelease, rows: Sequence[Int64Array]) -> TransactionTable:
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    items = np.concatenate([np.zeros(0, dtype=np.int64), *rows]).astype(np.int32)
    return TransactionTable(offsets=offsets, items=items, vocabulary=release.vocabulary)
