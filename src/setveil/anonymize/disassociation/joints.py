"""Clusters that may still be joined, and what neighbours among them could share."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from setveil.anonymize.disassociation.cluster_chunks import caps_of
from setveil.anonymize.disassociation.cluster_kernels import share_terms
from setveil.core.table import Int32Array, Int64Array, take_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

BoolArray = npt.NDArray[np.bool_]

BATCH = 16_384
"""About how many records with items in term chunks are worked on at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Joints:
    """Clusters that may still be joined, joint or not, in some order, and what they could share.

    Parameters
    ----------
    members
        For each joint cluster its clusters.
    sizes
        For each its number of records.
    borders
        The rows of each begin and end here.
    row_offsets, items
        For each record with items in a term chunk these items.
    row_cluster
        For each such record its cluster.
    banned_borders, banned
        For each joint cluster the items of its record chunks and shared chunks.
    """

    members: list[tuple[int, ...]]
    sizes: Int64Array
    borders: Int64Array
    row_offsets: Int64Array
    items: Int32Array
    row_cluster: Int64Array
    banned_borders: Int64Array
    banned: Int32Array

    def __len__(self) -> int:
        return len(self.members)

    def take(self, order: Int64Array) -> Joints:
        """Return some joint clusters in a given order."""
        borders, rows = take_rows(self.borders, np.arange(len(self.row_cluster)), order)
        row_offsets, items = take_rows(self.row_offsets, self.items, rows)
        banned_borders, banned = take_rows(self.banned_borders, self.banned, order)
        return Joints(
            members=[self.members[j] for j in order.tolist()],
            sizes=self.sizes[order],
            borders=borders,
            row_offsets=row_offsets,
            items=items,
            row_cluster=self.row_cluster[rows],
            banned_borders=banned_borders,
            banned=banned,
        )

    def by_terms(self, n_items: int) -> Joints:
        """Return them sorted by their items, those first that most of them have."""
        joint = np.repeat(np.arange(len(self)), np.diff(self.row_offsets[self.borders]))
        listed = distinct_keys(joint * np.int64(n_items) + self.items)
        having = np.bincount(listed % n_items, minlength=n_items)
        rank = np.empty(n_items, dtype=np.int64)
        rank[np.argsort(-having, kind="stable")] = np.arange(n_items)
        keys = np.sort(listed // n_items * n_items + rank[listed % n_items])
        raw = (keys % n_items).astype(">u4").tobytes()
        ends = (4 * np.searchsorted(keys, np.arange(len(self) + 1) * np.int64(n_items))).tolist()
        names = [raw[a:b] for a, b in pairwise(ends)]
        return self.take(np.array(sorted(range(len(self)), key=names.__getitem__), dtype=np.int64))


def distinct_keys(keys: Int64Array) -> Int64Array:
    """Return the distinct keys, sorted: for millions of them faster than numpy's own way.

    >>> distinct_keys(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(keys)
    fresh = np.ones(len(ordered), dtype=bool)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return ordered[fresh]


def are_among(keys: Int64Array, wanted: Int64Array) -> BoolArray:
    """Tell of each key whether it is one of the wanted ones, which are sorted.

    >>> are_among(np.array([3, 1, 2]), np.array([1, 3])).tolist()
    [True, True, False]
    """
    if not len(wanted):
        return np.zeros(len(keys), dtype=bool)
    found = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    inside: BoolArray = wanted[found] == keys
    return inside


class Sharing(NamedTuple):
    """What decides whether items are shared.

    `cluster_sizes` and `can_empty` say of each cluster how many records it has, and whether its
    term chunk may become empty; `share` is the greatest share of the records of a joint cluster
    that may hold a shared item, or None.
    """

    cluster_sizes: Int64Array
    can_empty: BoolArray
    share: Fraction | None
    n_items: int
    k: int
    m: int

    def caps(self, sizes: Int64Array) -> Int64Array:
        """Return how many records of joint clusters of these sizes may hold a shared item."""
        if self.share is None:
            return sizes
        return caps_of(sizes, self.share)


class Pairs(NamedTuple):
    """Neighbours that may be joined, one pair after the other, with what the kernel needs."""

    number: int
    joints: Joints
    sharing: Sharing


Shared = tuple[Int64Array, Int32Array, Int64Array]


def share_in_pairs(pairs: Pairs) -> dict[int, Shared]:
    """Find what pairs can share; returns the number of the batch → what the kernel says."""
    joints, sharing = pairs.joints, pairs.sharing
    sizes = joints.sizes.reshape(-1, 2).sum(axis=1)
    found = share_terms(
        joints.borders[::2], joints.row_offsets, joints.items, joints.row_cluster,
        sharing.cluster_sizes, sharing.can_empty, joints.banned_borders[::2], joints.banned,
        sizes, sharing.caps(sizes), sharing.n_items, sharing.k, sharing.m,
    )  # fmt: skip
    return {pairs.number: found}


def pair_batches(state: Joints, firsts: Int64Array, sharing: Sharing) -> Iterator[Pairs]:
    """Yield the pairs that begin at `firsts` in batches of about as many records each."""
    rows = np.cumsum(state.borders[firsts + 2] - state.borders[firsts])
    cuts = np.unique(np.searchsorted(rows, np.arange(BATCH, rows[-1], BATCH)) + 1)
    for number, some in enumerate(np.split(firsts, cuts[cuts < len(firsts)])):
        yield Pairs(number, state.take(np.stack([some, some + 1], axis=1).ravel()), sharing)
