"""From records and the group of each to a grouped release, and what such a release allows."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.core.errors import ParameterError
from setveil.core.table import (
    Int32Array,
    Int64Array,
    TransactionTable,
    Vocabulary,
    canonical_order,
    take_rows,
)
from setveil.release.base import Key
from setveil.release.group_checks import group_keys
from setveil.release.grouped import GroupedRelease
from setveil.release.rows import distinct_in_rows, neighbour_order, occurring

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt


def publish_grouped(
    table: TransactionTable,
    group_of: npt.ArrayLike,
    sensitive: Iterable[str],
    *,
    whole: bool = False,
) -> tuple[GroupedRelease, Key]:
    """Publish the ordinary items of each record, and the sensitive ones for each group only.

    Groups, the records of a group and its sensitive parts come in canonical order: the numbers
    of the groups and the order of the records leave no trace. An item that a record holds several
    times is published once.

    Parameters
    ----------
    table
        The original records.
    group_of
        For each record the number of its group.
    sensitive
        The sensitive items; those that no record holds do no harm.
    whole
        Whether the sensitive items of a record stay together in a part, or are counted one by one
        in a histogram.

    Returns
    -------
    tuple of GroupedRelease and Key
        What may be published, and which original stands behind each record slot.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["wine", "flu", "hiv"], ["cream"], ["meat", "flu"]])
    >>> release, key = publish_grouped(table, [7, 7, 7], ["flu", "hiv"], whole=True)
    >>> release.group(0).rows, release.group(0).parts
    ((('cream',), ('meat',), ('wine',)), ((('flu', 'hiv'), 1), (('flu',), 1)))
    >>> key.records.tolist()
    [1, 2, 0]
    >>> publish_grouped(table, [7, 7, 7], ["flu", "hiv"])[0].group(0).histogram
    {'flu': 2, 'hiv': 1}
    """
    groups = np.asarray(group_of)
    if groups.shape != (len(table),) or (len(groups) and groups.dtype.kind not in "iu"):
        raise ParameterError(
            f"the groups have the type {groups.dtype} and the shape {groups.shape}",
            fix=f"give a whole number for each of the {len(table)} records",
        )
    names = set(sensitive)
    mask = np.array([name in names for name in table.vocabulary.names], dtype=bool)
    ordinary, secret = split_rows(table, mask)
    group = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    n_groups = int(group.max(initial=-1)) + 1
    # Canonical order is stable: equal rows keep the order of their places.
    order = canonical_order(*ordinary)
    order = order[np.argsort(group[order], kind="stable")]
    rows = take_rows(*ordinary, order)
    starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])
    parts, _ = parts_by_group(group, n_groups, secret, whole=whole)
    keys = group_keys(starts, rows, parts)
    by_content = np.array(sorted(range(n_groups), key=keys.__getitem__), dtype=np.int64)
    starts, slots = take_rows(starts, np.arange(len(table)), by_content)
    rows = take_rows(*rows, slots)
    part_starts, places = take_rows(parts.starts, np.arange(len(parts.counts)), by_content)
    part_rows = take_rows(parts.offsets, parts.items, places)
    used = occurring(np.concatenate([rows[1], part_rows[1]]))
    number = np.zeros(table.n_items, dtype=np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    release = GroupedRelease(
        vocabulary=Vocabulary(names=tuple(table.vocabulary[i] for i in used.tolist())),
        starts=starts,
        offsets=rows[0],
        items=number[rows[1]],
        part_starts=part_starts,
        part_offsets=part_rows[0],
        part_items=number[part_rows[1]],
        counts=parts.counts[places],
        whole=whole,
    )
    return release, Key(records=order[slots])


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
        offsets = np.concatenate([[0], np.cumsum(chosen)])[table.offsets]
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


# --- drawing --------------------------------------------------------------------------------------


def deal(release: GroupedRelease) -> GroupedRelease:
    """Deal the sensitive parts of each group out to its records; see :func:`fair_deal`.

    >>> table = TransactionTable.from_rows([["wine", "flu"], ["cream"], ["meat", "gout"]])
    >>> release, _ = publish_grouped(table, [0, 0, 0], ["flu", "gout"], whole=True)
    >>> deal(release).to_rows()
    [['cream', 'flu'], ['meat'], ['gout', 'wine']]
    """
    return replace(release, dealt=fair_deal(release))


def fair_deal(release: GroupedRelease) -> Int64Array:
    """Return for each slot of a release a part of its group, or -1, as it must be dealt.

    The deal is drawn from a hash of what the groups list: their records and their parts, each in
    canonical order. So it says nothing that the lists do not say, and everybody can check that it
    was not chosen: nobody can tell a chosen deal from a random one.

    >>> table = TransactionTable.from_rows([["wine", "flu"], ["cream"]])
    >>> release, _ = publish_grouped(table, [0, 0], ["flu"], whole=True)
    >>> sorted(fair_deal(release).tolist())
    [-1, 0]
    """
    listed = hashlib.sha256(json.dumps(release.vocabulary.names).encode())
    for numbers in (
        release.starts, release.offsets, release.items,
        release.part_starts, release.part_offsets, release.part_items, release.counts,
    ):  # fmt: skip
        listed.update(len(numbers).to_bytes(8) + numbers.astype("<i8").tobytes())
    # Raw numbers of a generator: they stay the same in all versions of numpy.
    raw = np.random.PCG64(int.from_bytes(listed.digest())).random_raw(len(release))
    return _dealt(release, raw)


def _dealt(release: GroupedRelease, drawn: npt.NDArray[Any]) -> Int64Array:
    """Return for each slot a part of its group, or -1; slots are served by the numbers drawn."""
    shuffled = np.lexsort((drawn, release.group_of))
    part = np.repeat(np.arange(len(release.counts)), release.counts)
    group = release.group_of_part[part]
    nth = np.arange(len(part)) - np.searchsorted(group, group)
    dealt = np.full(len(release), -1, dtype=np.int64)
    dealt[shuffled[release.starts[group] + nth]] = part
    return dealt


def drawn_world(release: GroupedRelease, rng: np.random.Generator) -> TransactionTable:
    """Draw one world of a release, all equally likely; records come slot by slot.

    >>> table = TransactionTable.from_rows([["wine", "flu"], ["cream"]])
    >>> release, _ = publish_grouped(table, [0, 0], ["flu"])
    >>> drawn_world(release, np.random.default_rng(0)).to_rows()
    [['cream'], ['flu', 'wine']]
    """
    if release.whole:
        dealt = _dealt(release, rng.random(len(release)))
        slots = np.flatnonzero(dealt >= 0)
        offsets, items = take_rows(release.part_offsets, release.part_items, dealt[slots])
        slots = np.repeat(slots, np.diff(offsets))
    else:
        slots, items = _scattered(release, rng)
    width = np.int64(max(len(release.vocabulary), 1))
    keys = np.concatenate(
        [
            np.repeat(np.arange(len(release)), np.diff(release.offsets)) * width + release.items,
            slots * width + items,
        ]
    )
    keys.sort()
    return TransactionTable(
        offsets=np.searchsorted(keys, np.arange(len(release) + 1) * width),
        items=(keys % width).astype(np.int32),
        vocabulary=release.vocabulary,
    )


def _scattered(release: GroupedRelease, rng: np.random.Generator) -> tuple[Int64Array, Int32Array]:
    """Return slots and items of a histogram, each item in so many distinct slots of its group."""
    group, counts = release.group_of_part, release.counts
    size = release.sizes[group]
    once = counts == 1
    slots = [release.starts[group[once]] + rng.integers(0, size[once])]
    items = [release.part_items[once]]
    for part in np.flatnonzero(~once).tolist():
        chosen = rng.choice(size[part], counts[part], replace=False)
        slots.append(release.starts[group[part]] + chosen)
        items.append(np.full(len(chosen), release.part_items[part]))
    return np.concatenate(slots), np.concatenate(items)


def gives(release: GroupedRelease, original: TransactionTable, key: Key) -> bool:
    """Tell whether `original`, lined up by `key`, could have given a release.

    >>> table = TransactionTable.from_rows([["wine", "flu"], ["cream"]])
    >>> release, key = publish_grouped(table, [0, 0], ["flu"])
    >>> gives(release, table, key), gives(release, table, Key(records=[0, 1]))
    (True, False)
    """
    if len(key) != len(release) or len(original) != len(release):
        return False
    if not np.array_equal(np.sort(key.records), np.arange(len(original))):
        return False
    lined_up = original.take(key.records)
    known = release.vocabulary
    number = np.array(
        [known.number(name) if name in known else -1 for name in original.vocabulary.names],
        dtype=np.int32,
    )
    items = number[lined_up.items]
    if items.min(initial=0) < 0:
        return False
    renamed = TransactionTable(offsets=lined_up.offsets, items=items, vocabulary=known)
    ordinary, secret = split_rows(renamed, release.is_sensitive)
    parts, _ = parts_by_group(release.group_of, len(release.sizes), secret, whole=release.whole)
    given: tuple[npt.NDArray[Any], ...] = (*ordinary, *parts)
    there: tuple[npt.NDArray[Any], ...] = (
        release.offsets, release.items,
        release.part_starts, release.part_offsets, release.part_items, release.counts,
    )  # fmt: skip
    compared = zip(given, there, strict=True)
    return all(np.array_equal(mine, published) for mine, published in compared)
