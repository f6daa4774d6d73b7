"""What a release says for certain of its records, whatever form it has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.release.chunk_certainty import ChunkCertainty
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.generalized import GeneralizedRelease
from setveil.release.grouped import GroupedRelease
from setveil.release.published import published_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from setveil.data.table import Int64Array
    from setveil.data.taxonomy import Taxonomy
    from setveil.release.base import Release


@dataclass(frozen=True, kw_only=True, eq=False)
class CertainItems:
    """The items that people hold in every original that a release allows.

    Parameters
    ----------
    offsets, items
        Whoever stands behind record `j` holds ``items[offsets[j]:offsets[j + 1]]``, numbers of
        `names`, ascending.
    names
        The items.
    chunks
        For records in chunks, which show nothing by themselves: what known items imply.
    groups
        For grouped records the release, whose sensitive items are certain by group.

    Examples
    --------
    >>> from setveil.data import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated, publish_sets
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["fever", "gout"], ["gout"]])
    >>> release, _ = publish_sets(table, [0, 0, 1])
    >>> certain = CertainItems.of(release)
    >>> release.to_rows()[0], certain.of_record(0), certain.held_by_all([0, 1, 2])
    (['(fever, flu)', 'gout'], frozenset({'gout'}), frozenset({'gout'}))
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2], domains=((1, 2),), terms=(0,))])
    >>> CertainItems.of(release).held_by_all([0, 1, 2], ["flu"])
    frozenset({'gout'})
    """

    offsets: Int64Array
    items: Int64Array
    names: tuple[str, ...]
    chunks: ChunkCertainty | None = field(default=None, repr=False)
    groups: GroupedRelease | None = field(default=None, repr=False)

    @classmethod
    def of(cls, release: Release, taxonomy: Taxonomy | None = None) -> CertainItems:
        """Read a release; randomized records show nothing for certain of anybody."""
        if isinstance(release, GroupedRelease):
            return cls(
                offsets=release.offsets,
                items=release.items.astype(np.int64),
                names=release.vocabulary.names,
                groups=release,
            )
        if isinstance(release, GeneralizedRelease):
            return cls._of_generalized(release, taxonomy)
        try:
            rows = published_rows(release)
        except NotApplicable:
            chunks = ChunkCertainty(release) if isinstance(release, DisassociatedRelease) else None
            return cls(
                offsets=np.zeros(len(release) + 1, dtype=np.int64),
                items=np.zeros(0, dtype=np.int64),
                names=(),
                chunks=chunks,
            )
        clear = rows.exact[rows.items]
        return cls(
            offsets=np.concatenate([[0], np.cumsum(clear)])[rows.offsets],
            items=rows.items[clear].astype(np.int64),
            names=rows.ids,
        )

    @classmethod
    def _of_generalized(
        cls, release: GeneralizedRelease, taxonomy: Taxonomy | None
    ) -> CertainItems:
        """Find the leaves that are published, and those below nodes that take all their leaves."""
        tree = release.tree if taxonomy is None else taxonomy
        number = {name: v for v, name in enumerate(tree.ids)}
        distinct = release.distinct
        sure = np.flatnonzero(distinct.free == distinct.taken)
        node = np.searchsorted(distinct.starts, sure, side="right") - 1
        leaves = {
            v: np.array(list(_leaves(tree, number.get(release.tree.ids[v]))), dtype=np.int64)
            for v in np.unique(node).tolist()
        }
        below = [leaves[v] for v in node.tolist()]
        row = np.repeat(distinct.rows[sure], [len(each) for each in below])
        leaf = np.concatenate([np.zeros(0, dtype=np.int64), *below])
        keys = np.unique(row * np.int64(len(tree) + 1) + leaf)
        row, leaf = np.divmod(keys, len(tree) + 1)
        starts = np.searchsorted(row, np.arange(len(distinct) + 1))
        of_record = np.repeat(np.arange(len(distinct)), distinct.copies)
        lengths = np.diff(starts)[of_record]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(starts[of_record] - offsets[:-1], lengths) + np.arange(offsets[-1])
        item = np.where(tree.pseudo, tree.parents, np.arange(len(tree)))
        names = tuple(tree.ids[v] for v in item.tolist())
        return cls(offsets=offsets, items=leaf[places], names=names)

    def of_record(self, record: int) -> frozenset[str]:
        """Return what one record shows."""
        shown = self.items[self.offsets[record] : self.offsets[record + 1]]
        return frozenset(self.names[i] for i in shown.tolist())

    def held_by_all(self, records: Iterable[int], known: Collection[str] = ()) -> frozenset[str]:
        """Return what somebody holds for certain who stands behind one of some records.

        Parameters
        ----------
        records
            The candidates; of none, nothing is certain.
        known
            What is known of the person; it is left out.
        """
        chosen = np.asarray(records, dtype=np.int64)
        if not len(chosen):
            return frozenset()
        if self.chunks is not None:
            return self.chunks.certain(known).items
        found = self._shown_by_all(chosen)
        if self.groups is not None:
            found |= _sensitive(self.groups, chosen, known)
        return found - frozenset(known)

    def _shown_by_all(self, chosen: Int64Array) -> frozenset[str]:
        """Look at a few first: where they have nothing in common, the others do not matter."""
        common = self.items[self.offsets[chosen[0]] : self.offsets[chosen[0] + 1]]
        start, step = 1, 16
        while start < len(chosen) and len(common):
            part = chosen[start : start + step]
            lengths = self.offsets[part + 1] - self.offsets[part]
            places = np.repeat(self.offsets[part] - np.cumsum(lengths) + lengths, lengths)
            shown = self.items[places + np.arange(len(places))]
            counts = np.bincount(shown, minlength=len(self.names))
            common = common[counts[common] == len(part)]
            start, step = start + step, step * 2
        return frozenset(self.names[i] for i in common.tolist())


def _leaves(tree: Taxonomy, node: int | None) -> Iterator[int]:
    """Return the leaves below a node; a node that the tree does not have has none."""
    if node is not None:
        yield from (v for v in range(node, int(tree.ends[node])) if tree.is_leaf[v])


def _sensitive(
    release: GroupedRelease, slots: Int64Array, known: Collection[str]
) -> frozenset[str]:
    """Return the sensitive items that each of some slots holds for certain.

    In a group these are the items that all its records hold, and those that stand in every part
    with the known sensitive items.
    """
    names = release.vocabulary
    secret = release.is_sensitive
    asked = {i for i in (names.number(name) for name in known if name in names) if secret[i]}
    common: set[int] | None = None
    for group in np.unique(release.group_of[slots]).tolist():
        held: Counter[int] = Counter()
        matching = []
        for q in range(*release.part_starts[group : group + 2].tolist()):
            part = release.part_items[slice(*release.part_offsets[q : q + 2])].tolist()
            held.update(dict.fromkeys(part, int(release.counts[q])))
            if release.whole and asked and asked <= set(part):
                matching.append(set(part))
        sure = {i for i, count in held.items() if count == release.sizes[group]}
        if matching:
            sure |= set.intersection(*matching)
        common = sure if common is None else common & sure
        if not common:
            return frozenset()
    return frozenset(names[i] for i in common or ())
