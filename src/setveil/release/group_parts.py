"""The parts of groups: ordinary rows, sensitive parts, their order, and what must hold of them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import (
    Int32Array,
    Int64Array,
    distinct_in_rows,
    kept_offsets,
    neighbour_order,
)
from setveil.core.table import TransactionTable, canonical_order, take_rows

if TYPE_CHECKING:
    from setveil.release.grouped import GroupedRelease

    Rows = tuple[Int64Array, Int32Array]
    AnyParts = tuple[Int64Array, Int64Array, Int32Array, Int64Array]


class Parts(NamedTuple):
    """The sensitive parts of groups: where each group's begin, what they hold, how often."""

    starts: Int64Array
    offsets: Int64Array
    items: Int32Array
    counts: Int64Array


def split_rows(
    table: TransactionTable, sensitive: npt.NDArray[np.bool_]
) -> tuple[tuple[Int64Array, Int32Array], tuple[Int64Array, Int32Array]]:
    """Return the ordinary and the sensitive items of each record, each once, as compressed rows.

    >>> table = TransactionTable.from_rows([["flu", "wine"], ["wine"]])
    >>> ordinary, secret = split_rows(table, np.array([True, False]))
    >>> ordinary[0].tolist(), secret[0].tolist(), secret[1].tolist()
    ([0, 1, 2], [0, 1, 1], [0])
    """
    hidden = sensitive[table.items]
    split = []
    for chosen in (~hidden, hidden):
        offsets = kept_offsets(table.offsets, chosen)
        split.append(distinct_in_rows(offsets, table.items[chosen]))
    return split[0], split[1]


def parts_by_group(
    group: Int64Array, n_groups: int, secret: tuple[Int64Array, Int32Array], *, whole: bool
) -> tuple[Parts, Int64Array]:
    """Return the parts of each group in canonical order, and for each record its part, or -1.

    Where items are counted one by one, no record has a part.

    >>> rows = np.array([0, 1, 1, 2]), np.array([5, 5], dtype=np.int32)
    >>> parts, part_of = parts_by_group(np.array([0, 0, 1]), 2, rows, whole=True)
    >>> parts.starts.tolist(), parts.counts.tolist(), part_of.tolist()
    ([0, 1, 2], [1, 1], [0, -1, 1])
    """
    offsets, items = secret
    lengths = np.diff(offsets)
    part_of = np.full(len(lengths), -1, dtype=np.int64)
    if whole:
        filled = np.flatnonzero(lengths)
        kind, offsets, items = _kinds(*take_rows(offsets, items, filled))
        group = group[filled]
    else:  # a kind for each item, whose number it is
        group = np.repeat(group, lengths)
        kind = items.astype(np.int64)
        n_items = int(items.max(initial=-1)) + 1
        offsets, items = np.arange(n_items + 1), np.arange(n_items, dtype=np.int32)
    width = np.int64(max(len(offsets) - 1, 1))
    pairs, place, counts = np.unique(group * width + kind, return_inverse=True, return_counts=True)
    if whole:
        part_of[filled] = place
    starts = np.searchsorted(pairs, np.arange(n_groups + 1) * width)
    return Parts(starts, *take_rows(offsets, items, pairs % width), counts), part_of


def _kinds(offsets: Int64Array, items: Int32Array) -> tuple[Int64Array, Int64Array, Int32Array]:
    """Return for each row its place among the distinct rows, and those in canonical order."""
    order = canonical_order(offsets, items)
    sorted_rows = take_rows(offsets, items, order)
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = neighbour_order(*sorted_rows) != 0
    kind = np.empty(len(order), dtype=np.int64)
    kind[order] = np.cumsum(fresh) - 1
    return kind, *take_rows(*sorted_rows, np.flatnonzero(fresh))


def first_fault(release: GroupedRelease) -> str | None:
    """Return the first thing that is wrong with a release, or None.

    >>> from setveil.core.table import Vocabulary
    >>> from setveil.release.grouped import GroupedRelease
    >>> GroupedRelease(vocabulary=Vocabulary(names=("a",)), starts=[0, 1], offsets=[0, 1],
    ...                items=[0], part_starts=[0, 1], part_offsets=[0, 1], part_items=[0],
    ...                counts=[1], whole=False)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: the item 'a' stands in a record and among the sensitive \
ones. To fix: build releases with publish_grouped.
    """
    return (
        _bad_offsets(release)
        or _bad_shape(release)
        or _bad_items(release)
        or _bad_counts(release)
        or _bad_order(release)
        or _bad_deal(release)
    )


def _bad_offsets(release: GroupedRelease) -> str | None:
    for offsets, end, what in (
        (release.starts, len(release.offsets) - 1, "groups"),
        (release.offsets, len(release.items), "records"),
        (release.part_starts, len(release.part_offsets) - 1, "the groups' sensitive parts"),
        (release.part_offsets, len(release.part_items), "sensitive parts"),
    ):
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end:
            return f"the offsets of {what} do not fit"
        if np.any(np.diff(offsets) < 0):
            return f"the offsets of {what} decrease"
    return None


def _bad_shape(release: GroupedRelease) -> str | None:
    if len(release.part_starts) != len(release.starts):
        return "the groups and their sensitive parts differ in number"
    if len(release.counts) != len(release.part_offsets) - 1:
        return "not every sensitive part has a count"
    if np.any(np.diff(release.starts) == 0):
        return "a group has no records"
    if np.any(np.diff(release.part_offsets) == 0):
        return "a sensitive part is empty"
    return None


def _bad_items(release: GroupedRelease) -> str | None:
    width = len(release.vocabulary)
    seen = []
    for offsets, items in (
        (release.offsets, release.items),
        (release.part_offsets, release.part_items),
    ):
        if len(items) and (items.min() < 0 or items.max() >= width):
            return "a record holds an item that is not in the vocabulary"
        row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        if np.any((row[1:] == row[:-1]) & (items[1:] <= items[:-1])):
            return "the items of a record are not sorted and distinct"
        seen.append(np.bincount(items, minlength=width) > 0)
    both = np.flatnonzero(seen[0] & seen[1])
    if len(both):
        name = release.vocabulary[int(both[0])]
        return f"the item {name!r} stands in a record and among the sensitive ones"
    unused = np.flatnonzero(~(seen[0] | seen[1]))
    if len(unused):
        return f"nothing publishes the item {release.vocabulary[int(unused[0])]!r}"
    return None


def _bad_counts(release: GroupedRelease) -> str | None:
    if np.any(release.counts < 1):
        return "a sensitive part occurs less than once"
    if release.whole:
        dealt = np.bincount(
            release.group_of_part, weights=release.counts, minlength=len(release.sizes)
        )
        return (
            "a group has more sensitive parts than records"
            if np.any(dealt > release.sizes)
            else None
        )
    if np.any(np.diff(release.part_offsets) != 1):
        return "a histogram counts single items, not sets"
    if np.any(release.counts > release.sizes[release.group_of_part]):
        return "a group counts an item more often than it has records"
    return None


def _bad_order(release: GroupedRelease) -> str | None:
    rows = neighbour_order(release.offsets, release.items)
    group = release.group_of
    if np.any((rows > 0) & (group[1:] == group[:-1])):
        return "the records of a group are not in canonical order"
    parts = neighbour_order(release.part_offsets, release.part_items)
    group = release.group_of_part
    if np.any((parts >= 0) & (group[1:] == group[:-1])):
        return "the sensitive parts of a group are not distinct and in canonical order"
    keys = group_keys(release.starts, (release.offsets, release.items), release.all_parts)
    if any(before > after for before, after in pairwise(keys)):
        return "the groups are not in canonical order"
    return None


def _bad_deal(release: GroupedRelease) -> str | None:
    if release.dealt is None:
        return None
    dealt = release.dealt
    if not release.whole or len(dealt) != len(release):
        return "not every record was dealt a whole sensitive part, or none"
    if np.any((dealt < -1) | (dealt >= len(release.counts))):
        return "a record was dealt a sensitive part that is not there"
    given = dealt >= 0
    if np.any(release.group_of_part[dealt[given]] != release.group_of[given]):
        return "a record was dealt a sensitive part of another group"
    if not np.array_equal(np.bincount(dealt[given], minlength=len(release.counts)), release.counts):
        return "a sensitive part was not dealt as often as it occurs"
    return None


def group_keys(starts: Int64Array, rows: Rows, parts: AnyParts) -> list[bytes]:
    """Return for each group a text of bytes by which groups are sorted: larger ones first.

    Groups of the same size go by their records, then by their sensitive parts: by content alone.

    >>> none = np.zeros(3, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)
    >>> one, two = group_keys(np.array([0, 1, 3]),
    ...                       (np.array([0, 1, 1, 1]), np.array([0], np.int32)), none)
    >>> two < one
    True
    """
    row_code, row_at = _encode_rows(*rows, None)
    part_starts, part_offsets, part_items, counts = parts
    part_code, part_at = _encode_rows(part_offsets, part_items, counts)
    sizes = (np.uint32(0xFFFFFFFF) - np.diff(starts).astype(np.uint32)).astype(">u4").tobytes()
    cuts = zip(
        pairwise(row_at[starts].tolist()),
        pairwise(part_at[part_starts].tolist()),
        range(0, len(sizes), 4),
        strict=True,
    )
    return [sizes[i : i + 4] + row_code[a:b] + part_code[c:d] for (a, b), (c, d), i in cuts]


def _encode_rows(
    offsets: Int64Array, items: Int32Array, counts: Int64Array | None
) -> tuple[bytes, Int64Array]:
    """Return rows as big-endian numbers (length, items, count), and the byte where each begins."""
    n, lengths = len(offsets) - 1, np.diff(offsets)
    extra = 1 if counts is None else 2
    begins = offsets[:-1] + extra * np.arange(n)
    coded = np.zeros(len(items) + extra * n, dtype=">u4")
    is_item = np.ones(len(coded), dtype=bool)
    is_item[begins] = False
    coded[begins] = np.uint32(0xFFFFFFFF) - lengths.astype(np.uint32)
    if counts is not None:
        is_item[begins + lengths + 1] = False
        coded[begins + lengths + 1] = counts
    coded[is_item] = items
    return coded.tobytes(), 4 * np.append(begins, len(coded))
