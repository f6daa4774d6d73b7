"""Whether the sets of a joint cluster can be in k records, although no record is empty."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.release.chunk_order import unfilled
from setveil.release.disassociated import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from setveil.release.disassociated import Cluster, DisassociatedRelease

SPREADS = 10_000
"""Most ways to spread k records over clusters that are tried for one itemset."""


class Narrowed(NamedTuple):
    """An itemset that is possible, but in `most` records of its clusters only.

    >>> Narrowed(("a", "b"), 1, 3, 5).where
    'clusters 3 to 4'
    """

    items: tuple[str, ...]
    most: int
    first: int
    last: int

    @property
    def where(self) -> str:
        """Return the clusters in words."""
        if self.last == self.first + 1:
            return f"cluster {self.first}"
        return f"clusters {self.first} to {self.last - 1}"


class Place(NamedTuple):
    """How a cluster can hold an itemset: from so many own chunks, and from these shared ones."""

    own: int
    shared: frozenset[int]


def narrowed_joint(
    release: DisassociatedRelease, first: int, last: int, *, k: int, m: int, work: int
) -> tuple[Narrowed | None, bool]:
    """Return an itemset of a joint cluster that cannot be in k records; and whether all is known.

    All clusters must have k records or more, and all chunks be k^m-anonymous.

    Parameters
    ----------
    release, first, last
        The joint cluster.
    k, m
        How many records, and the greatest size of itemsets.
    work
        Most itemsets that are looked at, together with the choices of chunks they come from.

    Returns
    -------
    tuple of Narrowed or None, and bool
        What was found, and whether the answer is certain.
    """
    if k == 1 or _keeps_itself(release, first, last, k, m):
        return None, True
    joint = Joint.of(release, first, last)
    looked, known = 0, True
    for c, place in joint.places(m):
        looked += 1
        if looked > work:
            return None, False
        if not joint.suspicious(c, place, k):
            continue
        if joint.subsets(c, place, m) > work:
            return None, False
        for items in joint.itemsets(c, place, m):
            looked += 1
            if looked > work:
                return None, False
            most = joint.most(items, k)
            if most is None:
                known = False
            elif 0 < most < k:
                return Narrowed(tuple(sorted(items)), most, first, last), True
    return None, known


def _keeps_itself(release: DisassociatedRelease, first: int, last: int, k: int, m: int) -> bool:
    """Tell whether no cluster ever needs shared sub-records, whatever is stacked k times."""
    # A cluster with no chunk of its own must be filled by others, too: it counts as if it had one.
    chunks = np.clip(np.diff(release.chunk_starts[first : last + 1]), 1, m)
    enough = (release.own_rows - release.sizes)[first:last] >= k * (chunks - 1)
    return bool(np.all(enough | (np.diff(release.term_offsets[first : last + 1]) > 0)))


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint cluster: its clusters, and its shared chunks with ranges counted from its first."""

    clusters: tuple[Cluster, ...]
    shared: tuple[Chunk, ...]
    known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, release: DisassociatedRelease, first: int, last: int) -> Joint:
        """Take a joint cluster out of a release."""
        chunks = [release.chunk(int(q)) for q in release.shared_within(first, last)]
        moved = tuple(Chunk(s.subrecords, s.first - first, s.last - first) for s in chunks)
        return cls(tuple(release.clusters[first:last]), moved)

    @cached_property
    def spare(self) -> list[int]:
        """For each cluster by how many its own sub-records outnumber its records."""
        return [sum(len(q.subrecords) for q in c.chunks) - c.size for c in self.clusters]

    def fits(self, copies: Mapping[int, int], places: Mapping[int, Place]) -> bool:
        """Tell whether so many records of each cluster can hold an itemset at once."""
        lacking = [-spare for spare in self.spare]
        rows = [len(chunk.subrecords) for chunk in self.shared]
        for cluster, count in copies.items():
            lacking[cluster] += count * (places[cluster].own - 1)
            for s in places[cluster].shared:
                rows[s] -= count
        if min(rows, default=0) < 0:
            return False
        bare = [not cluster.terms for cluster in self.clusters]
        needed = np.where(bare, np.maximum(lacking, 0), 0)
        return not unfilled(needed, [(s.first, s.last) for s in self.shared], rows)

    def places(self, m: int) -> Iterator[tuple[int, Place]]:
        """Yield for each cluster how it might hold a set of at most m items."""
        for c, cluster in enumerate(self.clusters):
            over = [s for s, chunk in enumerate(self.shared) if chunk.first <= c < chunk.last]
            for own in range(min(m, len(cluster.chunks)) + 1):
                for size in range(0 if own else 1, min(m - own, len(over)) + 1):
                    for chosen in combinations(over, size):
                        yield c, Place(own, frozenset(chosen))

    def suspicious(self, cluster: int, place: Place, k: int) -> bool:
        """Tell whether a cluster alone could hold a set so in some records, but not in k."""
        # Shared chunks of the same clusters and as many sub-records are as good as each other.
        alike = sorted(self.shapes[s] for s in place.shared)
        key = (cluster, place.own, k, *alike)
        if key not in self.known:
            here = {cluster: place}
            self.known[key] = self.fits({cluster: 1}, here) and not self.fits({cluster: k}, here)
        return self.known[key]

    @cached_property
    def shapes(self) -> list[tuple[int, int, int]]:
        """For each shared chunk its clusters and how many sub-records it has."""
        return [(chunk.first, chunk.last, len(chunk.subrecords)) for chunk in self.shared]

    def subsets(self, cluster: int, place: Place, m: int) -> int:
        """Return how many parts of sub-records have to be listed to know the itemsets."""
        most = m + 1 - place.own - len(place.shared)
        chunks = [self.shared[s] for s in place.shared]
        chunks += self.clusters[cluster].chunks if place.own else ()
        return sum(
            comb(len(row), size)
            for chunk in chunks
            for row in set(chunk.subrecords)
            for size in range(1, min(most, len(row)) + 1)
        )

    def itemsets(self, cluster: int, place: Place, m: int) -> Iterator[frozenset[str]]:
        """Yield the sets of at most m items that a cluster could hold in this way."""
        here = self.clusters[cluster]
        most = m + 1 - place.own - len(place.shared)
        shared = [_pieces(self.shared[s], most) for s in sorted(place.shared)]
        own = [_pieces(chunk, most) for chunk in here.chunks] if place.own else []
        for chosen in combinations(own, place.own):
            for held in _unions([*chosen, *shared], m):
                for extra in range(min(m - len(held), len(here.terms)) + 1):
                    for terms in combinations(here.terms, extra):
                        yield held.union(terms)

    def most(self, items: frozenset[str], k: int) -> int | None:
        """Return in how many records an itemset can be, k standing for k and more.

        None where that takes too long to find out.
        """
        places = {
            c: place
            for c in range(len(self.clusters))
            if (place := self.place(c, items)) is not None
        }
        reached = 0
        for wanted in range(1, k + 1):
            spreads = _spreads(wanted, sorted(places))
            for tried, copies in enumerate(spreads):
                if tried > SPREADS:
                    return None
                if self.fits(copies, places):
                    reached = wanted
                    break
            else:
                return reached
        return reached

    def place(self, cluster: int, items: frozenset[str]) -> Place | None:
        """Return how a cluster can hold all items in one record, or None."""
        here = self.clusters[cluster]
        left = items.difference(here.terms)
        own = 0
        for chunk in here.chunks:
            part = items & _domain(chunk)
            if part and not any(part <= set(row) for row in chunk.subrecords):
                return None
            own += bool(part)
            left -= part
        met = set()
        for s, chunk in enumerate(self.shared):
            part = items & _domain(chunk) if chunk.first <= cluster < chunk.last else frozenset()
            if part and not any(part <= set(row) for row in chunk.subrecords):
                return None
            if part:
                met.add(s)
            left -= part
        return None if left else Place(own, frozenset(met))


def _domain(chunk: Chunk) -> frozenset[str]:
    return frozenset(item for row in chunk.subrecords for item in row)


def _pieces(chunk: Chunk, m: int) -> list[frozenset[str]]:
    """Return the sets of at most m items that some sub-record holds."""
    found = {
        frozenset(part)
        for row in set(chunk.subrecords)
        for size in range(1, min(m, len(row)) + 1)
        for part in combinations(row, size)
    }
    return sorted(found, key=lambda part: (len(part), sorted(part)))


def _unions(parts: Sequence[list[frozenset[str]]], room: int) -> Iterator[frozenset[str]]:
    """Yield the unions of one piece of each part that have at most so many items.

    No item is in two parts, and the pieces of a part are sorted by their size.
    """
    if not parts:
        yield frozenset()
        return
    for piece in parts[0]:
        if len(piece) + len(parts) - 1 > room:
            return
        for rest in _unions(parts[1:], room - len(piece)):
            yield piece | rest


def _spreads(number: int, clusters: list[int]) -> Iterable[dict[int, int]]:
    """Yield the ways to spread a number over clusters, all in one cluster first."""
    for cluster in clusters:
        yield {cluster: number}
    for used in range(2, min(number, len(clusters)) + 1):
        for chosen in combinations(clusters, used):
            for cuts in combinations(range(1, number), used - 1):
                bounds = [0, *cuts, number]
                yield {c: b - a for c, (a, b) in zip(chosen, pairwise(bounds), strict=True)}
