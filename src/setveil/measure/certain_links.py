"""In how many records known items give another one away, in spite of the chunks."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from setveil.errors import NotApplicable
from setveil.guarantee.certain_links import Holdings, certain_links
from setveil.release.disassociated import DisassociatedRelease

if TYPE_CHECKING:
    from setveil.data.table import Int64Array, TransactionTable
    from setveil.release.base import Key, Release


def linked_share(
    release: Release, original: TransactionTable, *, key: Key | None = None, m: int = 2
) -> float:
    """Return the share of records in which at most m items give another one away for certain.

    Whoever knows these items of a person, but not the person's cluster, knows the other item as
    well: in each cluster where a record may hold the items, all records hold it, and it stands in
    another chunk. Sets of at most two items are looked at, or of one where there are too many
    pairs (:func:`setveil.guarantee.cover.cover` says which). Occurrences that the method deleted
    count as not there.

    Parameters
    ----------
    release, original, key
        What was published of what; the key says who is in which cluster.
    m
        Greatest number of items that are known.

    Raises
    ------
    NotApplicable
        The release has no chunks, or there is no key.

    Examples
    --------
    >>> from setveil.data import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["y", "a"], ["y", "a", "b"], ["y", "b"], ["y", "a"]])
    >>> plan = Plan(records=[0, 1, 2, 3], domains=((0, 2), (1,)), terms=())
    >>> release, key = publish_disassociated(table, [plan])
    >>> linked_share(release, table, key=key)
    0.5
    """
    if not isinstance(release, DisassociatedRelease):
        raise NotApplicable("only records cut into chunks have links between chunks")
    if key is None:
        raise NotApplicable("who is in which cluster is not known", fix="give the key")
    if not len(release):
        return 0.0
    held = Holdings.of(release)
    found = certain_links(release, held, m)
    holders = _holders(release, original, key)
    cluster_of = np.repeat(np.arange(len(release.sizes)), release.sizes)
    width = np.int64(len(release.vocabulary))
    keys = held.cluster * width + held.item
    linked = np.zeros(len(release), dtype=bool)
    for (a, b), y in zip(found.given.tolist(), found.item.tolist(), strict=True):
        slots = np.intersect1d(holders[a], holders[b], assume_unique=True)
        places = [np.searchsorted(keys, cluster_of[slots] * width + i) for i in (a, b, y)]
        inside = held.together(places[0], places[2]) | held.together(places[1], places[2])
        linked[slots[~inside]] = True
    return float(linked.mean())


def _holders(
    release: DisassociatedRelease, original: TransactionTable, key: Key
) -> list[Int64Array]:
    """Return for each published item the slots of the records that hold it, ascending."""
    number = {name: i for i, name in enumerate(release.vocabulary.names)}
    as_published = np.array([number.get(name, -1) for name in original.vocabulary.names], np.int64)
    slot_of = np.empty(len(original), dtype=np.int64)
    slot_of[key.records] = np.arange(len(key))
    slot = np.repeat(slot_of, original.lengths)
    item = as_published[original.items]
    width = np.int64(len(number) + 1)
    gone = [int(slot_of[r] * width + number[name]) for r, name in key.removed if name in number]
    kept = (item >= 0) & ~np.isin(slot * width + item, np.array(gone, dtype=np.int64))
    slot, item = slot[kept], item[kept]
    order = np.lexsort((slot, item))
    cuts = np.searchsorted(item[order], np.arange(len(number) + 1)).tolist()
    ordered = slot[order]
    return [ordered[a:b] for a, b in pairwise(cuts)]
