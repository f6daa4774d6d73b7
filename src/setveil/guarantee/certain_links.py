"""Items that give another one away wherever they occur in a disassociated release."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.guarantee.joint_clusters import Joint, closed_places, keeps_itself

if TYPE_CHECKING:
    import numpy.typing as npt

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.release.disassociated import DisassociatedRelease

PAIRS = 20_000_000
"""Most pairs of items, counted once for each cluster, that are looked at."""


class Holdings(NamedTuple):
    """Every item of every cluster: where it stands, and in how many of how many records.

    `chunk` is the place of the chunk in the release, or -1 for the term chunk, whose items have
    the support 1. A shared item stands under each member that it can enter, with the records of
    all of them.
    """

    cluster: Int64Array
    item: Int32Array
    chunk: Int64Array
    support: Int64Array
    records: Int64Array

    @classmethod
    def of(cls, release: DisassociatedRelease) -> Holdings:
        """Collect them, sorted by cluster and item."""
        chunk, item, support = release.chunk_items
        first, last = release.chunk_first[chunk], release.chunk_last[chunk]
        members = last - first
        ends = np.cumsum(members)
        inside = np.arange(int(members.sum())) - np.repeat(ends - members - first, members)
        starts = release.cluster_starts
        terms_of = np.repeat(np.arange(len(release.sizes)), np.diff(release.term_offsets))
        one = np.ones(len(terms_of), dtype=np.int64)
        cluster = np.concatenate([inside, terms_of])
        items = np.concatenate([np.repeat(item, members), release.terms])
        chunks = np.concatenate([np.repeat(chunk, members), -one])
        order = np.lexsort((items, cluster))
        closed = [c * len(release.chunk_first) + q for c, q in closed_places(release)]
        places = (cluster * len(release.chunk_first) + chunks)[order]
        order = order[~(np.isin(places, closed) & (chunks[order] >= 0))]
        return cls(
            cluster=cluster[order],
            item=items[order],
            chunk=chunks[order],
            support=np.concatenate([np.repeat(support, members), one])[order],
            records=np.concatenate(
                [np.repeat(starts[last] - starts[first], members), release.sizes[terms_of]]
            )[order],
        )

    def universal(self) -> Int64Array:
        """Return which of them all records hold, though something else stands outside its chunk."""
        full = np.flatnonzero(self.support == self.records)
        return full[self.outside()[full] > 0]

    def outside(self) -> Int64Array:
        """Return for each how many items of its cluster do not stand in its chunk.

        Two items of a term chunk do not stand together.
        """
        in_cluster = np.bincount(self.cluster)[self.cluster] if len(self.cluster) else self.cluster
        width = np.int64(self.chunk.max(initial=0) + 2)
        _, place, together = np.unique(
            self.cluster * width + self.chunk + 1, return_inverse=True, return_counts=True
        )
        return in_cluster - np.where(self.chunk < 0, 1, together[place])

    def together(self, one: Int64Array, other: Int64Array) -> npt.NDArray[np.bool_]:
        """Tell which of some pairs of holdings stand in the same chunk."""
        same: npt.NDArray[np.bool_] = self.chunk[one] == self.chunk[other]
        return same & (self.chunk[one] >= 0)


class CertainLinks(NamedTuple):
    """Sets of one or two items, and the item that each gives away wherever it occurs.

    `given` has two columns; a single item stands in both. Only smallest sets are there. `cluster`
    is one where the items stand outside the chunk of what they give away; `largest` is the size
    of the sets that were looked at.
    """

    given: npt.NDArray[np.int64]
    item: Int64Array
    cluster: Int64Array
    largest: int

    def __len__(self) -> int:
        return len(self.item)


def certain_links(release: DisassociatedRelease, held: Holdings, m: int) -> CertainLinks:
    """Find the links that are certain in every cluster where a set can be.

    An item that all records of a cluster hold is certain there, whatever is known. A set gives it
    away everywhere if that is so in each cluster where the set is possible. Sets of one item are
    looked at, and for `m` of two or more those of two, unless there are too many of them.

    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "y"], ["a", "y", "b"], ["b", "y"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2], domains=((0, 2), (1,)), terms=())])
    >>> found = certain_links(release, Holdings.of(release), 2)
    >>> found.given.tolist(), found.item.tolist()
    ([[1, 1]], [2])
    """
    width = np.int64(max(len(release.vocabulary), 1))
    full = np.flatnonzero(held.support == held.records)
    starts = np.searchsorted(held.cluster, np.arange(len(release.sizes) + 1))
    every = np.arange(len(held.item))
    single = _always(held, full, starts, (every, every), width)
    number = np.diff(starts)
    if m < 2 or int((number * (number - 1) // 2).sum()) > PAIRS:
        return CertainLinks(*single, largest=1)
    pairs = _possible_pairs(release, held, starts, width)
    of_cluster = np.searchsorted(held.cluster[pairs[0]], np.arange(len(release.sizes) + 1))
    given, item, cluster = _always(held, full, of_cluster, pairs, width)
    # What one of the two gives away by itself is no news.
    known = single[0][:, 0] * width + single[1]
    fresh = ~np.isin(given[:, 0] * width + item, known)
    fresh &= ~np.isin(given[:, 1] * width + item, known)
    return CertainLinks(
        given=np.concatenate([single[0], given[fresh]]),
        item=np.concatenate([single[1], item[fresh]]),
        cluster=np.concatenate([single[2], cluster[fresh]]),
        largest=2,
    )


def _always(
    held: Holdings,
    full: Int64Array,
    starts: Int64Array,
    sets: tuple[Int64Array, Int64Array],
    width: np.int64,
) -> tuple[npt.NDArray[np.int64], Int64Array, Int64Array]:
    """Return the sets that come with an item in every cluster they occur in, and that item.

    `sets` are pairs of holdings, cluster by cluster (`starts` says where each begins), `full` the
    holdings that all records of their cluster have.
    """
    one, other = sets
    keys = held.item[one] * width + held.item[other]
    distinct, place, occurs = np.unique(keys, return_inverse=True, return_counts=True)
    number = starts[held.cluster[full] + 1] - starts[held.cluster[full]]
    ends = np.cumsum(number)
    beside = np.arange(int(number.sum())) - np.repeat(ends - number, number)
    beside += np.repeat(starts[held.cluster[full]], number)
    y = np.repeat(full, number)
    # A set can only come with an item everywhere if it is in no more clusters than the item fills.
    filled = np.bincount(held.item[full], minlength=int(width))
    keep = occurs[place[beside]] <= filled[held.item[y]]
    keep &= (one[beside] != y) & (other[beside] != y)
    beside, y = beside[keep], y[keep]
    links = place[beside] * width + held.item[y]
    apart = ~held.together(one[beside], y) & ~held.together(other[beside], y)
    found, first, of_link, count = np.unique(
        links, return_index=True, return_inverse=True, return_counts=True
    )
    crosses = np.zeros(len(found), dtype=bool)
    crosses[of_link[apart]] = True
    first[of_link[apart][::-1]] = np.flatnonzero(apart)[::-1]
    sure = crosses & (count == occurs[found // width])
    given = distinct[found[sure] // width]
    return (
        np.stack([given // width, given % width], axis=1),
        found[sure] % width,
        held.cluster[y[first[sure]]],
    )


def _possible_pairs(
    release: DisassociatedRelease, held: Holdings, starts: Int64Array, width: np.int64
) -> tuple[Int64Array, Int64Array]:
    """Return the pairs of items that a record of their cluster can hold, cluster by cluster."""
    corners = {n: np.triu_indices(n, 1) for n in np.unique(np.diff(starts)).tolist()}
    number = np.diff(starts).tolist()
    offset = np.repeat(starts[:-1], [n * (n - 1) // 2 for n in number])
    nothing = [np.zeros(0, dtype=np.int64)]
    one = np.concatenate(nothing + [corners[n][0] for n in number]) + offset
    other = np.concatenate(nothing + [corners[n][1] for n in number]) + offset
    together = held.together(one, other)
    within = (held.chunk[one] * width + held.item[one]) * width + held.item[other]
    possible = ~together | np.isin(within, _pairs_in_rows(release, width))
    # Where there are as many sub-records as records and no terms, each record has one of them.
    tight = (release.own_rows == release.sizes) & (np.diff(release.term_offsets) == 0)
    tight &= ~release.in_joint
    possible &= together | ~tight[held.cluster[one]]
    one, other = one[possible], other[possible]
    meeting = together[possible] | _meet_in_joints(release, held, one, other)
    return one[meeting], other[meeting]


def _meet_in_joints(
    release: DisassociatedRelease, held: Holdings, one: Int64Array, other: Int64Array
) -> npt.NDArray[np.bool_]:
    """Tell which pairs of different chunks a record can hold though all others must be filled.

    Clusters that are not joined are not asked.
    """
    meet = np.ones(len(one), dtype=bool)
    own = release.n_record_chunks
    # Own chunks of a cluster are as good as each other: -2 stands for all, and -1 for terms.
    kind = np.where((held.chunk >= 0) & (held.chunk < own), -2, held.chunk)
    for first, last in release.joint_blocks:
        if keeps_itself(release, first, last, 1, 2):
            continue
        joint = Joint.of(release, first, last)
        shared = {q: s for s, q in enumerate(release.shared_within(first, last).tolist())}
        low, high = np.searchsorted(held.cluster[one], [first, last])
        asked = np.stack([held.cluster[one], kind[one], kind[other]])[:, low:high]
        distinct, place = np.unique(asked, axis=1, return_inverse=True)
        fits = [
            joint.holds(c - first, (a, b).count(-2), [shared[q] for q in {a, b} if q >= 0])
            for c, a, b in distinct.T.tolist()
        ]
        meet[low:high] = np.array(fits, dtype=bool)[place.ravel()]
    return meet


def _pairs_in_rows(release: DisassociatedRelease, width: np.int64) -> Int64Array:
    """Return the pairs that stand in one sub-record, as numbers: chunk, item, item."""
    lengths = np.diff(release.row_offsets)
    found = [np.zeros(0, dtype=np.int64)]
    for length in np.unique(lengths[lengths > 1]).tolist():
        rows = np.flatnonzero(lengths == length)
        items = release.items[release.row_offsets[rows][:, None] + np.arange(length)]
        a, b = np.triu_indices(length, 1)
        chunk = release.chunk_of_row[rows][:, None]
        keys = (chunk * width + items[:, a]) * width + items[:, b]
        found.append(np.unique(keys))
    return np.unique(np.concatenate(found))
