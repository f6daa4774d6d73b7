"""The worlds of a disassociated release: what all of them say, and how one is drawn.

:class:`Question` bounds the support of an itemset, :class:`ChunkCertainty` says which items follow
from known ones, :func:`sample` draws a world.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.table import TransactionTable
from setveil.release.base import Bounds
from setveil.release.chunk_arrays import count_unfilled

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.release.chunk_kernels import Clusters, Places
    from setveil.release.disassociated import DisassociatedRelease


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """An itemset, cut into the pieces in which the chunks of each cluster hold it.

    Parameters
    ----------
    release
        Who is asked.
    size
        Number of items.
    asked, support
        For each chunk how many of the items its domain holds, and how many of its sub-records
        hold all of these.
    in_terms
        For each cluster how many of the items its term chunk lists.
    possible
        Which clusters have a place for every item.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "b"], ["a"], ["a", "b", "c"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2], domains=((0,), (1,)), terms=(2,))])
    >>> Question.of(release, ["a", "b"]).bounds(), Question.of(release, ["b", "c"]).bounds()
    (Bounds(low=2, high=2, tight=True), Bounds(low=0, high=2, tight=True))
    """

    release: DisassociatedRelease
    size: int
    asked: Int64Array
    support: Int64Array
    in_terms: Int64Array
    possible: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, release: DisassociatedRelease, itemset: Iterable[str]) -> Question:
        """Cut an itemset into pieces."""
        wanted = set(itemset)
        known = [release.vocabulary.number(name) for name in wanted if name in release.vocabulary]
        chunks, clusters = len(release.chunk_first), len(release.sizes)
        empty = np.zeros(0, dtype=np.int64)
        rows = [release.rows_of(item) for item in known]
        met = [_distinct(release.chunk_of_row[of_item]) for of_item in rows]
        asked = np.bincount(np.concatenate([*met, empty]), minlength=chunks)
        held, counts = np.unique(np.concatenate([*rows, empty]), return_counts=True)
        chunk = release.chunk_of_row[held]
        support = np.bincount(chunk[counts == asked[chunk]], minlength=chunks)
        listed = np.concatenate([*(release.listing(item) for item in known), empty])
        in_terms = np.bincount(listed, minlength=clusters)
        found = in_terms.copy()
        own = release.n_record_chunks
        np.add.at(found, release.chunk_first[:own], asked[:own])
        for q in own + np.flatnonzero(asked[own:]):
            found[release.chunk_first[q] : release.chunk_last[q]] += asked[q]
        return cls(
            release=release,
            size=len(wanted),
            asked=asked,
            support=support,
            in_terms=in_terms,
            possible=found == len(wanted),
        )

    def bounds(self) -> Bounds:
        """Return the least and greatest support over all worlds; clusters add up."""
        low, high, tight = self._alone()
        for first, last in self._joint_blocks(self.possible):
            self._join(first, last, low, high, tight)
        return Bounds(low=int(low.sum()), high=int(high.sum()), tight=bool(tight.all()))

    def _alone(self) -> tuple[Int64Array, Int64Array, npt.NDArray[np.bool_]]:
        """Return the bounds of each cluster as if it were alone; the last says where that is so."""
        release, n = self.release, self.release.sizes
        h, total, least = self._own_pieces
        terms, spare = np.diff(release.term_offsets), release.own_rows - n
        low = np.maximum(total + self.in_terms - (h + self.in_terms - 1) * n, 0)
        # The only term there is must also fill the records that nothing else can fill.
        lone_term = (h == 0) & (self.in_terms == 1) & (terms == 1)
        low[lone_term] = np.maximum(-spare[lone_term], 1)
        high = least.copy()
        scarce = (terms == 0) & (h >= 2) & (spare < (h - 1) * least)
        high[scarce] = np.maximum(spare[scarce], 0) // (h[scarce] - 1)
        low[~self.possible] = 0
        high[~self.possible] = 0
        return low, high, ~(self.possible & (scarce | (lone_term & (low > 1))) & release.in_joint)

    def _join(
        self,
        first: int,
        last: int,
        low: Int64Array,
        high: Int64Array,
        tight: npt.NDArray[np.bool_],
    ) -> None:
        """Replace the bounds of the clusters of a joint cluster by such as hold for it."""
        h, total, least = (values[first:last] for values in self._own_pieces)
        part = slice(first, last)
        n, there, t = self.release.sizes[part], self.possible[part], self.in_terms[part]
        pieces, forced = h + t, total + t
        inner_first = sorted(self._shared_pieces(first, last), key=self._records_of)
        for q in inner_first:
            a, b = int(self.release.chunk_first[q]) - first, int(self.release.chunk_last[q]) - first
            pieces[a:b] += 1
            forced[a:b] += np.maximum(self.support[q] - (self._records_of(q) - n[a:b]), 0)
        # Shared sub-records may fill records, so neither scarcity nor a lone term need bind.
        low[part] = np.where(there, np.maximum(forced - (pieces - 1) * n, 0), 0)
        high[part] = np.where(there, least, 0)
        for q in inner_first:
            span = slice(int(self.release.chunk_first[q]), int(self.release.chunk_last[q]))
            _cap(high[span], int(self.support[q]))
            if self.asked[q] == self.size:
                low[span] = high[span]
        if inner_first:
            tight[part] = low[part].sum() == high[part].sum()

    def independent(self) -> npt.NDArray[np.float64]:
        """Return for each cluster the chance of a record to hold all items.

        Every chunk and every term of a term chunk is placed by itself, as if records could be
        empty.
        """
        release = self.release
        chance = release.sizes.astype(np.float64) ** -self.in_terms
        own = np.flatnonzero(self.asked[: release.n_record_chunks])
        cluster = release.chunk_first[own]
        np.multiply.at(chance, cluster, self.support[own] / release.sizes[cluster])
        for q in (
            release.n_record_chunks + np.flatnonzero(self.asked[release.n_record_chunks :])
        ).tolist():
            share = self.support[q] / self._records_of(q)
            chance[release.chunk_first[q] : release.chunk_last[q]] *= share
        chance[~self.possible] = 0.0
        return chance

    def chances(self) -> npt.NDArray[np.float64]:
        """Return the same chances, but 0 where no world has a record with the items."""
        release, chance = self.release, self.independent()
        _, high, _ = self._alone()
        chance[~release.in_joint & (high == 0)] = 0.0
        for first, last in self._joint_blocks(chance > 0):
            if np.all(np.diff(release.term_offsets[first : last + 1])):
                continue  # terms can fill every record
            for c in (first + np.flatnonzero(chance[first:last])).tolist():
                if not self._fits(first, last, c):
                    chance[c] = 0.0
        return chance

    def candidates(self, chances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return for each cluster how many of its records can hold all items in one world.

        In a joint cluster as many in all as its shared chunks allow. Nothing says in which of
        its members they are: they are shared out by the :meth:`chances` of each.
        """
        _, high, _ = self._alone()
        counts = high.astype(np.float64)
        least = self._own_pieces[2]
        expected = chances * self.release.sizes
        for first, last in self._joint_blocks(chances > 0):
            part = slice(first, last)
            counts[part] = np.where(chances[part] > 0, least[part], 0)
            for q in sorted(self._shared_pieces(first, last), key=self._records_of):
                span = slice(int(self.release.chunk_first[q]), int(self.release.chunk_last[q]))
                counts[span] = _shared_out(int(self.support[q]), counts[span], expected[span])
        return counts

    def _fits(self, first: int, last: int, cluster: int) -> bool:
        """Tell whether a record of a cluster in a joint cluster can hold all items."""
        release = self.release
        bare = np.diff(release.term_offsets)[first:last] == 0
        lacking = (release.sizes - release.own_rows)[first:last].copy()
        lacking[cluster - first] += self._own_pieces[0][cluster] - 1
        q = release.shared_within(first, last)
        begins, ends = release.chunk_first[q], release.chunk_last[q]
        taken = (self.asked[q] > 0) & (begins <= cluster) & (cluster < ends)
        rows = np.diff(release.chunk_offsets)[q] - taken
        ranges = list(zip((begins - first).tolist(), (ends - first).tolist(), strict=True))
        return not count_unfilled(np.where(bare, np.maximum(lacking, 0), 0), ranges, rows.tolist())

    @property
    def _own_pieces(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """For each cluster how many record chunks are met, their supports' sum and minimum."""
        release = self.release
        met = np.flatnonzero(self.asked[: release.n_record_chunks])
        cluster, support = release.chunk_first[met], self.support[met]
        number = np.bincount(cluster, minlength=len(release.sizes))
        total = np.zeros(len(number), dtype=np.int64)
        np.add.at(total, cluster, support)
        least = release.sizes.copy()
        np.minimum.at(least, cluster, support)
        return number, total, least

    def _joint_blocks(self, there: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
        """Return the joint clusters with a member among some clusters."""
        places = self.release.joint_of[there]
        return [self.release.joint_blocks[place] for place in np.unique(places[places >= 0])]

    def _shared_pieces(self, first: int, last: int) -> list[int]:
        q = self.release.shared_within(first, last)
        return [int(chunk) for chunk in q[self.asked[q] > 0]]

    def _records_of(self, chunk: int) -> int:
        starts = self.release.cluster_starts
        first, last = self.release.chunk_first[chunk], self.release.chunk_last[chunk]
        return int(starts[last] - starts[first])


def _distinct(ascending: Int64Array) -> Int64Array:
    fresh = np.ones(len(ascending), dtype=bool)
    fresh[1:] = ascending[1:] != ascending[:-1]
    return ascending[fresh]


def _cap(values: Int64Array, most: int) -> None:
    """Lower values in place, the last ones first, until their sum is at most `most`."""
    before = np.concatenate([[0], np.cumsum(values)[:-1]])
    np.copyto(values, np.clip(most - before, 0, values))


def _shared_out(
    total: float, most: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return shares of a total in proportion to weights, none above the most it can be.

    >>> _shared_out(6, np.array([1.0, 9.0, 9.0]), np.array([2.0, 1.0, 1.0])).tolist()
    [1.0, 2.5, 2.5]
    """
    shares = most.copy()
    free = most > 0
    while free.any() and shares.sum() > total:
        left = total - shares[~free].sum()
        wanted = left * weights / weights[free].sum()
        full = free & (wanted >= most)
        shares = np.where(free, np.minimum(wanted, most), shares)
        if not full.any():
            break
        shares[full] = most[full]
        free &= ~full
        shares[free] = most[free]
    return shares


# --- what known items imply ---


class Certain(NamedTuple):
    """What is certain of a record that holds some known items.

    Parameters
    ----------
    items
        The further items that every such record holds in every world.
    possible
        Whether any world has such a record; without one nothing is certain of it.

    Examples
    --------
    >>> Certain(frozenset({"y"}), True).possible
    True
    """

    items: frozenset[str]
    possible: bool


class CertainSets(NamedTuple):
    """The answers for many known sets, by the numbers of items.

    The certain items of set `s` are ``items[offsets[s]:offsets[s + 1]]``, ascending.
    """

    possible: npt.NDArray[np.bool_]
    offsets: Int64Array
    items: Int32Array


class ChunkCertainty:
    """Says which items follow from known ones in every world of a disassociated release.

    The attacker knows some items of a person, but not the person's cluster. A further item is
    certain if it is in every record of every world that holds the known items. In one cluster
    this comes down to two cases, in lone and in joint clusters:

    - the item's chunk holds known items too, and all its sub-records with these hold the item; or
    - all records of the item's clusters hold it.

    Otherwise some world keeps it out of the record: its sub-record, or its term, can stand in
    another record and only helps to fill it. A cluster that no world lets hold the known items is
    left out: its term chunk is empty and there are too few sub-records to fill the other records.
    What is certain in all remaining clusters is certain. The answer is exact.

    Parameters
    ----------
    release
        What was published. It is indexed once; then each question takes microseconds.

    Examples
    --------
    Records ya, yab, yb and ya as the chunks {ya, ya, ya, y} and {b, b}: all hold y.

    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["y", "a"], ["y", "a", "b"], ["y", "b"], ["y", "a"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2, 3], domains=((0, 2), (1,)), terms=())])
    >>> certainty = ChunkCertainty(release)
    >>> certainty.certain(["b"])
    Certain(items=frozenset({'y'}), possible=True)
    >>> certainty.certain(["b", "z"])
    Certain(items=frozenset(), possible=False)
    """

    def __init__(self, release: DisassociatedRelease) -> None:
        self._release = release

    def certain(self, known: Iterable[str]) -> Certain:
        """Return what is certain of a record that holds all known items."""
        names = self._release.vocabulary
        numbers = [names.number(name) if name in names else -1 for name in set(known)]
        if not numbers:
            return self._of_everybody()
        found = self.certain_sets(
            np.array([0, len(numbers)], dtype=np.int64), np.array(numbers, dtype=np.int32)
        )
        return Certain(frozenset(names[i] for i in found.items.tolist()), bool(found.possible[0]))

    def certain_sets(self, offsets: Int64Array, items: Int32Array) -> CertainSets:
        """Answer for many known sets at once.

        Parameters
        ----------
        offsets, items
            Set `s` is ``items[offsets[s]:offsets[s + 1]]``: distinct numbers of the release's
            vocabulary, at least one; -1 stands for an item that is not published.
        """
        from setveil.release.chunk_kernels import certain_items

        release = self._release
        widest = int(np.diff(release.chunk_offsets).max(initial=1))
        return CertainSets(
            *certain_items(
                self._places,
                self._clusters,
                release.row_offsets,
                release.items,
                widest,
                np.asarray(offsets, dtype=np.int64),
                np.asarray(items, dtype=np.int32),
            )
        )

    def _of_everybody(self) -> Certain:
        """Return what every record holds: no record is empty, so what follows from each item."""
        names = self._release.vocabulary.names
        every = np.arange(len(names), dtype=np.int32)
        found = self.certain_sets(np.arange(len(names) + 1), every)
        common = set(names)
        for item, (start, end) in enumerate(pairwise(found.offsets.tolist())):
            if found.possible[item]:
                common &= {names[item], *(names[y] for y in found.items[start:end].tolist())}
        return Certain(frozenset(common if len(self._release) else ()), len(self._release) > 0)

    @cached_property
    def _places(self) -> Places:
        from setveil.release.chunk_kernels import Places

        release = self._release
        chunk, item, support = release.chunk_items
        first, last = release.chunk_first[chunk], release.chunk_last[chunk]
        slots = release.cluster_starts
        rows = np.repeat(np.arange(len(release.row_offsets) - 1), np.diff(release.row_offsets))
        # The sub-records with an item lie in `holders` by item, then chunk: ranges add up.
        by_item = np.lexsort((chunk, item))
        ends = np.empty(len(item), dtype=np.int64)
        ends[by_item] = np.cumsum(support[by_item])
        members = last - first
        before = np.repeat(np.cumsum(members) - members - first, members)
        terms_of = np.repeat(np.arange(len(release.sizes)), np.diff(release.term_offsets))
        none = np.zeros(len(terms_of), dtype=np.int64)
        cluster = np.concatenate([np.arange(len(before)) - before, terms_of])
        items = np.concatenate([np.repeat(item, members), release.terms])
        order = np.lexsort((cluster, items))
        full = support == slots[last] - slots[first]
        return Places(
            starts=np.searchsorted(items[order], np.arange(len(release.vocabulary) + 1)),
            cluster=cluster[order],
            chunk=np.concatenate([np.repeat(chunk, members), none - 1])[order],
            first=np.concatenate([np.repeat(ends - support, members), none])[order],
            last=np.concatenate([np.repeat(ends, members), none])[order],
            full=np.concatenate([np.repeat(full, members), release.sizes[terms_of] == 1])[order],
            holders=rows[np.argsort(release.items, kind="stable")],
        )

    @cached_property
    def _clusters(self) -> Clusters:
        from setveil.release.chunk_kernels import Clusters

        release, places = self._release, self._places
        blocks = np.array(release.blocks, dtype=np.int64).reshape(-1, 2)
        block_of = np.repeat(np.arange(len(blocks)), blocks[:, 1] - blocks[:, 0])
        shared = np.arange(release.n_record_chunks, len(release.chunk_first))
        begin, end = release.chunk_first[shared], release.chunk_last[shared]
        order = np.lexsort((end - begin, block_of[begin]))
        starts = np.searchsorted(block_of[begin][order], np.arange(len(blocks) + 1))
        item = np.repeat(np.arange(len(places.starts) - 1), np.diff(places.starts))[places.full]
        cluster = places.cluster[places.full]
        by_cluster = np.argsort(cluster, kind="stable")
        bare, spare = np.diff(release.term_offsets) == 0, release.own_rows - release.sizes
        lacking = np.bincount(block_of, np.where(bare, np.maximum(-spare, 0), 0))
        return Clusters(
            bare=bare,
            spare=spare,
            filled=lacking[block_of] == 0,
            block_first=blocks[block_of, 0],
            block_last=blocks[block_of, 1],
            shared_first=starts[:-1][block_of],
            shared_last=starts[1:][block_of],
            begin=begin[order],
            end=end[order],
            rows=np.diff(release.chunk_offsets)[shared][order],
            number=shared[order],
            own_chunks=release.n_record_chunks,
            full_starts=np.searchsorted(cluster[by_cluster], np.arange(len(release.sizes) + 1)),
            full_items=item[by_cluster].astype(np.int32),
        )


# --- drawing worlds ---

ROUNDS = 100
"""How often a cluster, or a joint cluster as a whole, is drawn before another way is taken."""

WIDE = 200
"""From so many slots on, slots are drawn bag by bag and not all bags at once."""

STEPS = 50
"""Steps of the random walk for each piece."""

LARGE = 10_000_000
"""Pieces times slots from which on a cluster is walked through instead of counted out."""


class Bags:
    """What is placed: bags of pieces, those of a bag into distinct slots of a run of slots.

    The bags are the chunks, then the terms of all term chunks, each a bag of one piece. `slot`
    says where each piece is, -1 as long as it is nowhere.

    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["a", "b"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1], domains=((0,),), terms=(1,))])
    >>> Bags(release).of(0, 1), Bags(release).offsets.tolist()
    ([0, 1], [0, 2, 3])
    """

    def __init__(self, release: DisassociatedRelease) -> None:
        self.release = release
        terms = np.repeat(np.arange(len(release.sizes)), np.diff(release.term_offsets))
        self.first = np.concatenate([release.chunk_first, terms])
        self.last = np.concatenate([release.chunk_last, terms + 1])
        self.low = release.cluster_starts[self.first]
        self.high = release.cluster_starts[self.last]
        rows = release.chunk_offsets
        self.offsets = np.concatenate([rows, rows[-1] + 1 + np.arange(len(release.terms))])
        self.slot = np.full(int(self.offsets[-1]), -1, dtype=np.int64)

    def of(self, first: int, last: int) -> list[int]:
        """Return the bags of a block: those of single clusters, then shared ones, inner first."""
        release, chunks = self.release, len(self.release.chunk_first)
        own = range(*release.chunk_starts[[first, last]].tolist())
        terms = range(*(release.term_offsets[[first, last]] + chunks).tolist())
        shared = release.shared_within(first, last)
        width = self.last[shared] - self.first[shared]
        return [*own, *terms, *shared[np.argsort(width, kind="stable")].tolist()]

    def pieces(self, bag: int) -> range:
        """Return the pieces of a bag."""
        return range(int(self.offsets[bag]), int(self.offsets[bag + 1]))

    def work(self, cluster: int) -> int:
        """Return how many pieces there are for the slots of a cluster, times these slots."""
        pieces = sum(len(self.pieces(bag)) for bag in self.of(cluster, cluster + 1))
        return pieces * int(self.release.sizes[cluster])

    def draw(self, chosen: Int64Array, rng: np.random.Generator) -> None:
        """Put the pieces of each chosen bag into distinct slots of its run, all alike likely."""
        number = self.offsets[chosen + 1] - self.offsets[chosen]
        single = chosen[number == 1]
        self.slot[self.offsets[single]] = rng.integers(self.low[single], self.high[single])
        chosen, number = chosen[number > 1], number[number > 1]
        room = self.high[chosen] - self.low[chosen]
        wide = room > WIDE
        for bag, size, slots in zip(chosen[wide], number[wide], room[wide], strict=True):
            taken = self.low[bag] + rng.choice(slots, size, replace=False)
            self.slot[self.offsets[bag] : self.offsets[bag + 1]] = taken
        chosen, number, room = chosen[~wide], number[~wide], room[~wide]
        starts = np.cumsum(room) - room
        bag = np.repeat(np.arange(len(chosen)), room)
        order = np.lexsort((rng.random(len(bag)), bag))
        taken = order[np.arange(len(bag)) - starts[bag] < number[bag]]
        ends = np.cumsum(number)
        piece = np.arange(len(taken)) + np.repeat(self.offsets[chosen] - ends + number, number)
        self.slot[piece] = taken + np.repeat(self.low[chosen] - starts, number)


def sample(release: DisassociatedRelease, rng: np.random.Generator) -> TransactionTable:
    """Draw a world as ``release.sample_world`` describes it.

    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["b"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1], domains=((0,), (1,)), terms=())])
    >>> sorted(sample(release, np.random.default_rng(0)).to_rows())
    [['a'], ['b']]
    """
    bags = Bags(release)
    blocks = np.array(release.blocks, dtype=np.int64).reshape(-1, 2)
    block_of = np.repeat(np.arange(len(blocks)), blocks[:, 1] - blocks[:, 0])
    thin = _thin(release)
    pending = ~thin
    for _ in range(ROUNDS):
        bags.draw(np.flatnonzero(pending[block_of[bags.first]]), rng)
        empty = np.bincount(bags.slot[bags.slot >= 0], minlength=len(release)) == 0
        clusters = np.searchsorted(release.cluster_starts, np.flatnonzero(empty), "right") - 1
        pending[:] = False
        pending[block_of[clusters]] = True
        pending &= ~thin
        if not pending.any():
            break
    extra: list[tuple[int, int]] = []
    for b in np.flatnonzero(pending | thin).tolist():
        first, last = blocks[b].tolist()
        if pending[b] and last == first + 1 and bags.work(first) <= LARGE:
            cover(bags, first, rng)
            continue
        extra += _lay_apart(bags, first, last, rng)
        if pending[b]:
            _walk(bags, first, last, rng)
    return _table(bags, extra)


def _thin(release: DisassociatedRelease) -> npt.NDArray[np.bool_]:
    """Tell which blocks would have an empty record with every term in one record only."""
    held = release.own_rows + np.diff(release.term_offsets)
    lacking = np.maximum(release.sizes - held, 0)
    thin = np.zeros(len(release.blocks), dtype=bool)
    rows = np.diff(release.chunk_offsets)
    for b, (first, last) in enumerate(release.blocks):
        if lacking[first:last].any():
            q = release.shared_within(first, last)
            begins, ends = release.chunk_first[q] - first, release.chunk_last[q] - first
            ranges = list(zip(begins.tolist(), ends.tolist(), strict=True))
            thin[b] = count_unfilled(lacking[first:last], ranges, rows[q].tolist()) > 0
    return thin


def cover(bags: Bags, cluster: int, rng: np.random.Generator) -> None:
    """Place the pieces of one cluster so that no record is empty; all such ways alike likely.

    Bag after bag, it is drawn how many of its slots hold something already, by the number of ways
    in which the bags after it can then fill the rest. These numbers have thousands of digits, so
    that their logarithms are kept.
    """
    n = int(bags.release.sizes[cluster])
    chosen = bags.of(cluster, cluster + 1)
    sizes = [len(bags.pieces(bag)) for bag in chosen]
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    # ways[j][u]: in how many ways the bags from j on fill the n - u slots that are empty.
    ways = [np.append(np.full(n, -np.inf), 0.0)]
    for size in reversed(sizes):
        after, here = ways[-1], np.full(n + 1, -np.inf)
        for new in range(size + 1):
            rows = slice(size - new, n - new + 1)
            more = _ways_to_fill(factorials, rows, size, new) + after[size : n + 1]
            here[rows] = np.logaddexp(here[rows], more)
        ways.append(here)
    ways.reverse()
    slots = rng.permutation(n) + int(bags.release.cluster_starts[cluster])
    used = 0  # the first so many of `slots` hold something
    for bag, size, after in zip(chosen, sizes, ways[1:], strict=True):
        choices = range(max(size - used, 0), min(size, n - used) + 1)
        logs = np.array(
            [
                _ways_to_fill(factorials, slice(used, used + 1), size, new)[0] + after[used + new]
                for new in choices
            ]
        )
        weights = np.exp(logs - logs.max())
        new = int(rng.choice(choices, p=weights / weights.sum()))
        again = rng.choice(slots[:used], size - new, replace=False)
        # The slots behind are in random order: the next ones are as good as any.
        taken = np.concatenate([again, slots[used : used + new]]).astype(np.int64)
        bags.slot[bags.offsets[bag] : bags.offsets[bag + 1]] = rng.permutation(taken)
        used += new


def _ways_to_fill(
    factorials: npt.NDArray[np.float64], used: slice[int, int], size: int, new: int
) -> npt.NDArray[np.float64]:
    """Return in how many ways a bag of `size` pieces takes `new` empty slots, as logarithms.

    A row for each number of slots that are used already; `factorials` has the logarithms of 0! to
    n!, where n is the number of all slots.
    """
    n = len(factorials) - 1
    number = used.stop - used.start
    old = size - new
    empty = n - used.start  # as many at first, then one less in each row
    among_used = factorials[used] - factorials[used.start - old : used.start - old + number]
    among_empty = factorials[empty - number + 1 : empty + 1]
    among_empty = among_empty - factorials[empty - new - number + 1 : empty - new + 1]
    found: npt.NDArray[np.float64]
    found = among_used + among_empty[::-1] - factorials[old] - factorials[new]
    return found


def _lay_apart(
    bags: Bags, first: int, last: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Spread the pieces of a block over as many records as can be.

    Records that stay empty get a term of their cluster; these (slot and item) are returned.
    """
    release = bags.release
    starts, n_chunks = release.cluster_starts, release.n_record_chunks
    n_all = len(release.chunk_first)
    order = {c: rng.permutation(np.arange(starts[c], starts[c + 1])) for c in range(first, last)}
    used = dict.fromkeys(order, 0)
    filled = np.zeros(int(starts[last] - starts[first]), dtype=bool)
    has_terms = np.diff(release.term_offsets[first : last + 1]) > 0
    hopeful = np.repeat(has_terms, release.sizes[first:last]).astype(np.int64)
    for bag in bags.of(first, last):
        pieces, c = bags.pieces(bag), int(bags.first[bag])
        if n_chunks <= bag < n_all:
            low, high = int(bags.low[bag]), int(bags.high[bag])
            run = rng.permutation(np.arange(low, high))
            # Empty ones first, and of these the ones that no term can fill.
            wanted = np.where(filled[run - starts[first]], 2, hopeful[run - starts[first]])
            slots = rng.permutation(run[np.argsort(wanted, kind="stable")][: len(pieces)])
        else:
            slots = order[c][(used[c] + np.arange(len(pieces))) % len(order[c])]
            used[c] += len(pieces)
        bags.slot[pieces.start : pieces.stop] = slots
        filled[slots - starts[first]] = True
    extra = []
    for empty in (np.flatnonzero(~filled) + starts[first]).tolist():
        c = int(np.searchsorted(starts, empty, "right")) - 1
        extra.append(
            (empty, int(rng.choice(release.terms[slice(*release.term_offsets[[c, c + 1]])])))
        )
    return extra


def _walk(bags: Bags, first: int, last: int, rng: np.random.Generator) -> None:
    """Move pieces of a block at random, as long as no record becomes empty.

    A piece goes to any slot of its bag's run; one of its bag that is there changes places with
    it. A step is as likely as its reverse, so that all placements are alike likely in the end.
    """
    from setveil.release.chunk_kernels import walk

    chosen = np.array(bags.of(first, last), dtype=np.int64)
    sizes = bags.offsets[chosen + 1] - bags.offsets[chosen]
    pieces = np.arange(sizes.sum()) + np.repeat(
        bags.offsets[chosen] - np.cumsum(sizes) + sizes, sizes
    )
    start, end = bags.release.cluster_starts[[first, last]].tolist()
    steps = STEPS * len(pieces)
    choice, share = rng.integers(0, len(pieces), steps), rng.random(steps)
    low, room = bags.low[chosen] - start, bags.high[chosen] - bags.low[chosen]
    bag_of = np.repeat(np.arange(len(chosen)), sizes)
    goals = low[bag_of][choice] + (share * room[bag_of][choice]).astype(np.int64)
    slot = bags.slot[pieces] - start
    mapped = np.where(sizes > 1, room, 0)
    bag_map = np.where(sizes > 1, np.cumsum(mapped) - mapped, -1)
    at = np.full(int(mapped.sum()), -1, dtype=np.int64)
    several = np.flatnonzero(bag_map[bag_of] >= 0)
    at[(bag_map - low)[bag_of[several]] + slot[several]] = several
    walk(slot, np.bincount(slot, minlength=end - start), bag_of, low, bag_map, at, choice, goals)
    bags.slot[pieces] = slot + start


def _table(bags: Bags, extra: list[tuple[int, int]]) -> TransactionTable:
    """Return the records that the pieces make, slot by slot."""
    release = bags.release
    rows = int(release.chunk_offsets[-1])
    more = np.array(extra, dtype=np.int64).reshape(-1, 2)
    slot = np.concatenate(
        [np.repeat(bags.slot[:rows], np.diff(release.row_offsets)), bags.slot[rows:], more[:, 0]]
    )
    items = np.concatenate([release.items, release.terms, more[:, 1]])
    order = np.argsort(slot, kind="stable")
    offsets = np.searchsorted(slot[order], np.arange(len(release) + 1))
    return TransactionTable.from_csr(offsets, items[order], release.vocabulary.names)
