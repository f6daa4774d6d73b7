"""Whether the sets of a joint cluster can be in k records, although no record is empty."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations, islice
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.release.chunk_arrays import count_unfilled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from setveil.release import Chunk, Cluster, DisassociatedRelease


@dataclass(frozen=True, eq=False)
class Bag:
    """The sub-records of a chunk, and the clusters it belongs to, counted from the joint's first.

    >>> Bag((frozenset("ab"), frozenset("a")), 0, 2).support(frozenset("a"))
    2
    """

    rows: tuple[frozenset[str], ...]
    first: int
    last: int
    counted: dict[frozenset[str], int] = field(default_factory=dict)
    listed: dict[int, dict[frozenset[str], int]] = field(default_factory=dict)

    @classmethod
    def of(cls, chunk: Chunk, first: int) -> Bag:
        """Take a chunk of a joint cluster that begins with this cluster."""
        rows = tuple(map(frozenset, chunk.subrecords))
        return cls(rows, chunk.first - first, chunk.last - first)

    @cached_property
    def domain(self) -> frozenset[str]:
        """The items of the chunk."""
        return frozenset().union(*self.rows)

    def support(self, part: frozenset[str]) -> int:
        """Return how many sub-records hold a part of an itemset."""
        if part not in self.counted:
            self.counted[part] = sum(part <= row for row in self.rows)
        return self.counted[part]

    def pieces(self, m: int) -> dict[frozenset[str], int]:
        """Return the sets of at most m items that some sub-record holds, small ones first.

        Each comes with how many do.
        """
        if m not in self.listed:
            found: Counter[frozenset[str]] = Counter()
            for row, times in Counter(self.rows).items():
                for size in range(1, min(m, len(row)) + 1):
                    for part in combinations(sorted(row), size):
                        found[frozenset(part)] += times
            order = sorted(found, key=lambda part: (len(part), sorted(part)))
            self.listed[m] = {part: found[part] for part in order}
        return self.listed[m]


def piece_choices(
    parts: Sequence[dict[frozenset[str], int]], below: int | None
) -> Iterator[list[list[frozenset[str]]]]:
    """Yield from which pieces of each part unions are to be made.

    Either from all, or with one piece at least that fewer sub-records hold: the first such piece
    is in each part in turn.
    """
    if below is None:
        yield [list(pieces) for pieces in parts]
        return
    for first, pieces in enumerate(parts):
        rare = [piece for piece, support in pieces.items() if support < below]
        if rare:
            before = [[p for p, n in part.items() if n >= below] for part in parts[:first]]
            yield [*before, rare, *(list(part) for part in parts[first + 1 :])]


def unions(parts: Sequence[list[frozenset[str]]], room: int) -> Iterator[frozenset[str]]:
    """Yield the unions of one piece of each part that have at most so many items.

    No item is in two parts, and the pieces of a part are sorted by their size.
    """
    if not parts:
        yield frozenset()
        return
    for piece in parts[0]:
        if len(piece) + len(parts) - 1 > room:
            return
        for rest in unions(parts[1:], room - len(piece)):
            yield piece | rest


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
    """How a cluster can hold an itemset: from so many own chunks, and from these shared ones.

    `most` is the number of its records, or of the sub-records of an own chunk that hold their
    part of the itemset, whichever is least.
    """

    own: int
    shared: frozenset[int]
    most: int


def narrowed_joint(
    release: DisassociatedRelease,
    first: int,
    last: int,
    *,
    k: int,
    m: int,
    work: int,
    rare: Collection[frozenset[str]] = (),
) -> tuple[Narrowed | None, bool]:
    """Return an itemset of a joint cluster that cannot be in k records; and whether all is known.

    Parameters
    ----------
    release, first, last
        The joint cluster.
    k, m
        How many records, and the greatest size of itemsets.
    work
        Most itemsets that are looked at, together with the choices of chunks they come from.
    rare
        Some sets, where a cluster has fewer than k records or a chunk has sets of at most m items
        in fewer than k sub-records; one of those with fewest items is among them. They are looked
        at first and whatever `work` is, and then all like them: other clusters of the joint
        cluster may make up k records together.

    Returns
    -------
    tuple of Narrowed or None, and bool
        What was found, and whether the answer is certain.
    """
    filled = keeps_itself(release, first, last, k, m)
    if k == 1 or (filled and not rare):
        return None, True
    joint = Joint.of(release, first, last)
    looked: set[frozenset[str]] = set()
    known = True
    least = min(map(len, rare), default=m + 1)
    suspects = joint.suspects(k, m, work=work, least=least, filled=filled)
    for items in chain(rare, suspects):
        if items is None or len(looked) > work + len(rare):
            return None, False
        if items in looked:
            continue
        looked.add(items)
        most = joint.most(items, k)
        if most is None:
            known = False
        elif 0 < most < k:
            return Narrowed(tuple(sorted(items)), most, first, last), True
    return None, known


def keeps_itself(release: DisassociatedRelease, first: int, last: int, k: int, m: int) -> bool:
    """Tell whether no cluster ever needs shared sub-records, whatever is stacked k times."""
    # A cluster with no chunk of its own must be filled by others, too: it counts as if it had one.
    chunks = np.clip(np.diff(release.chunk_starts[first : last + 1]), 1, m)
    enough = (release.own_rows - release.sizes)[first:last] >= k * (chunks - 1)
    return bool(np.all(enough | (np.diff(release.term_offsets[first : last + 1]) > 0)))


def closed_places(release: DisassociatedRelease) -> list[tuple[int, int]]:
    """Return the clusters, with shared chunks, of which no record can hold such a sub-record.

    All sub-records of the chunk are needed to fill records of other clusters.

    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["a"], ["b"]])
    >>> plans = [Plan(records=[0, 1], domains=((0,),), terms=()),
    ...          Plan(records=[2], domains=(), terms=())]
    >>> release, _ = publish_disassociated(table, plans, [(0, 2, (1,))])
    >>> closed_places(release)
    [(0, 1)]
    """
    found = []
    for first, last in release.joint_blocks:
        if keeps_itself(release, first, last, 1, 1):
            continue
        joint = Joint.of(release, first, last)
        for s, q in enumerate(release.shared_within(first, last).tolist()):
            members = range(int(release.chunk_first[q]), int(release.chunk_last[q]))
            found += [(c, q) for c in members if not joint.holds(c - first, 0, [s])]
    return found


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint cluster: its clusters, their own chunks, and its shared chunks."""

    clusters: tuple[Cluster, ...]
    own: tuple[tuple[Bag, ...], ...]
    shared: tuple[Bag, ...]
    known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, release: DisassociatedRelease, first: int, last: int) -> Joint:
        """Take a joint cluster out of a release."""
        clusters = tuple(release.clusters[first:last])
        shared = [release.chunk(int(q)) for q in release.shared_within(first, last)]
        return cls(
            clusters,
            tuple(tuple(Bag.of(chunk, first) for chunk in c.chunks) for c in clusters),
            tuple(Bag.of(chunk, first) for chunk in shared),
        )

    @cached_property
    def spare(self) -> list[int]:
        """For each cluster by how many its own sub-records outnumber its records."""
        return [
            sum(len(bag.rows) for bag in own) - c.size
            for c, own in zip(self.clusters, self.own, strict=True)
        ]

    def fits(
        self,
        copies: Mapping[int, int],
        places: Mapping[int, Place],
        limits: Mapping[int, int] | None = None,
    ) -> bool:
        """Tell whether so many records of each cluster can hold an itemset at once.

        `limits` says how many sub-records of a shared chunk hold their part; all if it is not
        there.
        """
        lacking = [-spare for spare in self.spare]
        rows = [len(bag.rows) for bag in self.shared]
        used = [0] * len(rows)
        for cluster, count in copies.items():
            if count > places[cluster].most:
                return False
            lacking[cluster] += count * (places[cluster].own - 1)
            for s in places[cluster].shared:
                used[s] += count
        most = rows if limits is None else [limits.get(s, n) for s, n in enumerate(rows)]
        if any(n > limit for n, limit in zip(used, most, strict=True)):
            return False
        bare = [not cluster.terms for cluster in self.clusters]
        needed = np.where(bare, np.maximum(lacking, 0), 0)
        left = [n - gone for n, gone in zip(rows, used, strict=True)]
        return not count_unfilled(needed, [(bag.first, bag.last) for bag in self.shared], left)

    def holds(self, cluster: int, own: int, shared: Sequence[int]) -> bool:
        """Tell whether a record of a cluster can hold pieces of so many chunks of each kind."""
        place = Place(own, frozenset(shared), 1)
        return self.fits({cluster: 1}, {cluster: place})

    def places(self, met: int) -> Iterator[tuple[int, Place]]:
        """Yield for each cluster how it might hold a set with items of so many chunks."""
        for c, cluster in enumerate(self.clusters):
            over = [s for s, bag in enumerate(self.shared) if bag.first <= c < bag.last]
            for own in range(min(met, len(self.own[c])) + 1):
                for chosen in combinations(over, met - own):
                    yield c, Place(own, frozenset(chosen), cluster.size)

    def suspects(
        self, k: int, m: int, *, work: int, least: int, filled: bool
    ) -> Iterator[frozenset[str] | None]:
        """Yield the itemsets that a cluster may hold, but not in k records by itself.

        That is because it is small; because other records must be filled, unless `filled` says
        that they always can be; or because a chunk holds a part in fewer than k sub-records, which
        only happens with parts of `least` items and more. None where they are too many to list.
        """
        always = filled and min(cluster.size for cluster in self.clusters) >= k
        looked = 0
        for met in range(m + 1):
            rare = m + 1 - met >= least  # each other chunk takes one item at least
            if always and not rare:
                return
            for c, place in self.places(met):
                looked += 1
                if looked > work:
                    yield None
                narrow = self.clusters[c].size < k or (not filled and self.suspicious(c, place, k))
                if narrow or rare:
                    subsets = self.subsets(c, place, m)
                    looked += 0 if narrow else subsets  # all are gone through
                    if max(looked, subsets) > work:
                        yield None
                    yield from self.itemsets(c, place, m, None if narrow else k)

    def suspicious(self, cluster: int, place: Place, k: int) -> bool:
        """Tell whether a cluster alone could hold a set so in some records, but not in k."""
        return self.stacks(cluster, place, 1) and not self.stacks(cluster, place, k)

    def stacks(self, cluster: int, place: Place, k: int) -> bool:
        """Tell whether k records of a cluster can hold such a set, if k sub-records suffice."""
        # Shared chunks of the same clusters and as many sub-records are as good as each other.
        alike = sorted(self.shapes[s] for s in place.shared)
        key = (cluster, place.own, k, *alike)
        if key not in self.known:
            here = {cluster: place._replace(most=k)}
            self.known[key] = self.fits({cluster: k}, here)
        return self.known[key]

    @cached_property
    def shapes(self) -> list[tuple[int, int, int]]:
        """For each shared chunk its clusters and how many sub-records it has."""
        return [(bag.first, bag.last, len(bag.rows)) for bag in self.shared]

    def subsets(self, cluster: int, place: Place, m: int) -> int:
        """Return how many parts of sub-records have to be listed to know the itemsets."""
        most = m + 1 - place.own - len(place.shared)
        bags = [self.shared[s] for s in place.shared]
        bags += self.own[cluster] if place.own else ()
        return sum(
            comb(len(row), size)
            for bag in bags
            for row in set(bag.rows)
            for size in range(1, min(most, len(row)) + 1)
        )

    def itemsets(
        self, cluster: int, place: Place, m: int, below: int | None = None
    ) -> Iterator[frozenset[str]]:
        """Yield the sets of at most m items that a cluster could hold in this way.

        With `below`, only those of which a part is in fewer sub-records of its chunk.
        """
        terms = self.clusters[cluster].terms
        most = m + 1 - place.own - len(place.shared)
        shared = [self.shared[s].pieces(most) for s in sorted(place.shared)]
        own = [bag.pieces(most) for bag in self.own[cluster]] if place.own else []
        for chosen in combinations(own, place.own):
            for parts in piece_choices([*chosen, *shared], below):
                for held in unions(parts, m):
                    for extra in range(0 if held else 1, min(m - len(held), len(terms)) + 1):
                        for added in combinations(terms, extra):
                            yield held.union(added)

    @cached_property
    def members(self) -> dict[str, set[int]]:
        """For each item the clusters that have a place for it."""
        found: dict[str, set[int]] = {}
        for c, cluster in enumerate(self.clusters):
            bags = [*self.own[c], *(bag for bag in self.shared if bag.first <= c < bag.last)]
            for item in chain(cluster.terms, *(bag.domain for bag in bags)):
                found.setdefault(item, set()).add(c)
        return found

    @cached_property
    def sharing(self) -> dict[str, list[int]]:
        """For each item the shared chunks that have it."""
        found: dict[str, list[int]] = {}
        for s, bag in enumerate(self.shared):
            for item in bag.domain:
                found.setdefault(item, []).append(s)
        return found

    def most(self, items: frozenset[str], k: int) -> int | None:
        """Return in how many records an itemset can be, k standing for k and more.

        None where that takes too long to find out.
        """
        common = set.intersection(*(self.members[item] for item in items))
        places = {c: place for c in sorted(common) if (place := self.place(c, items)) is not None}
        if any(place.most >= k and self.stacks(c, place, k) for c, place in places.items()):
            return k
        met = {s for place in places.values() for s in place.shared}
        limits = {s: self.shared[s].support(items & self.shared[s].domain) for s in met}
        copies: dict[int, int] = {}
        for wanted in range(1, k + 1):
            # One record more than before, in some cluster; or all of them spread anew.
            grown = ({**copies, c: copies.get(c, 0) + 1} for c in places)
            fitting = next((new for new in grown if self.fits(new, places, limits)), None)
            if fitting is None:
                spreads = _spreads(wanted, [(c, place.most) for c, place in places.items()])
                tried = islice(spreads, SPREADS)
                fitting = next((new for new in tried if self.fits(new, places, limits)), None)
                if fitting is None:
                    return wanted - 1 if next(spreads, None) is None else None
            copies = fitting
        return k

    def place(self, cluster: int, items: frozenset[str]) -> Place | None:
        """Return how a cluster that has all items can hold them in one record, or None."""
        own, most, met = 0, self.clusters[cluster].size, set()
        for bag in self.own[cluster]:
            if not items.isdisjoint(bag.domain):
                own += 1
                most = min(most, bag.support(items & bag.domain))
        for s in {s for item in items for s in self.sharing.get(item, ())}:
            bag = self.shared[s]
            if bag.first <= cluster < bag.last:
                met.add(s)
                most = min(most, bag.support(items & bag.domain))
        return Place(own, frozenset(met), most) if most else None


def _spreads(number: int, most: Sequence[tuple[int, int]]) -> Iterator[dict[int, int]]:
    """Yield the ways to spread a number over clusters, of which each takes so many at most."""
    if number == 0:
        yield {}
        return
    if sum(limit for _, limit in most) < number:
        return
    (cluster, limit), *others = most
    for here in range(min(number, limit), -1, -1):
        for rest in _spreads(number - here, others):
            yield {cluster: here, **rest} if here else rest
