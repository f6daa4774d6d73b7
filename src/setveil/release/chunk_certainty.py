"""What whoever knows some items of a person learns for certain from chunks."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.release.chunk_kernels import Clusters, Places, certain_items

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.release.disassociated import DisassociatedRelease


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
