"""What all worlds of a disassociated release say about an itemset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.release.base import Bounds
from setveil.release.chunk_order import unfilled

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from setveil.core.table import Int64Array
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
        return not unfilled(np.where(bare, np.maximum(lacking, 0), 0), ranges, rows.tolist())

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
