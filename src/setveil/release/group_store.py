"""A grouped release as rows and flat lists of numbers, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import ReleaseError
from setveil.core.table import TransactionTable, take_rows
from setveil.release.grouped import GroupedRelease
from setveil.release.grouping import parts_by_group, split_rows
from setveil.release.manifest import LARGEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.core.table import Int32Array, Int64Array, Vocabulary

LISTED = frozenset({"sizes", "parts", "counts", "whole"})
DEALT = frozenset({"sizes", "sensitive"})


def group_rows(release: GroupedRelease) -> tuple[Int64Array, Int32Array]:
    """Return all records, then all distinct sensitive parts; of a dealt release whole records.

    >>> from setveil.release import publish_grouped
    >>> table = TransactionTable.from_rows([["wine", "flu"], ["flu"]])
    >>> release, _ = publish_grouped(table, [0, 0], ["flu"])
    >>> group_rows(release)[0].tolist(), group_structure(release)
    ([0, 1, 1, 2], {'sizes': [2], 'parts': [1], 'counts': [2], 'whole': False})
    """
    if release.dealt is None:
        ends = len(release.items) + release.part_offsets[1:]
        items = np.concatenate([release.items, release.part_items])
        return np.concatenate([release.offsets, ends]), items
    given = np.flatnonzero(release.dealt >= 0)
    offsets, items = take_rows(release.part_offsets, release.part_items, release.dealt[given])
    width = np.int64(max(len(release.vocabulary), 1))
    record = np.repeat(np.arange(len(release)), np.diff(release.offsets))
    keys = np.concatenate(
        [record * width + release.items, np.repeat(given, np.diff(offsets)) * width + items]
    )
    keys.sort()
    bounds = np.searchsorted(keys, np.arange(len(release) + 1) * width)
    return bounds, (keys % width).astype(np.int32)


def group_structure(release: GroupedRelease) -> dict[str, Any]:
    """Return how the rows belong together.

    ``sizes``: records per group. Where parts are listed: ``parts``, their number per group,
    ``counts``, how many records hold each, and ``whole``. Where they are dealt: ``sensitive``,
    the names of the items that were dealt.
    """
    sizes = release.sizes.tolist()
    if release.dealt is not None:
        return {"sizes": sizes, "sensitive": list(release.sensitive)}
    return {
        "sizes": sizes,
        "parts": np.diff(release.part_starts).tolist(),
        "counts": release.counts.tolist(),
        "whole": release.whole,
    }


def rebuild_groups(
    *,
    vocabulary: Vocabulary,
    offsets: Int64Array,
    items: Int32Array,
    structure: Mapping[str, Any],
) -> GroupedRelease:
    """Return the release of some rows and a structure, or say what is wrong with them.

    >>> from setveil.core.table import Vocabulary
    >>> rebuild_groups(vocabulary=Vocabulary(names=("a",)), offsets=np.array([0, 1]),
    ...                items=np.array([0], dtype=np.int32),
    ...                structure={"sizes": "many", "sensitive": []})
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: manifest.json is damaged: 'sizes' is no list of counts
    """
    if set(structure) not in (LISTED, DEALT):
        raise ReleaseError("manifest.json is damaged: it does not say how records are grouped")
    sizes = _numbers(structure, "sizes")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    if set(structure) == DEALT:
        return _rebuild_dealt(vocabulary, offsets, items, starts, structure["sensitive"])
    parts, counts = _numbers(structure, "parts"), _numbers(structure, "counts")
    n, q = int(sizes.sum()), int(parts.sum())
    if len(parts) != len(sizes) or len(counts) != q or not isinstance(structure["whole"], bool):
        raise ReleaseError("manifest.json is damaged: its lists of groups do not fit")
    if n + q != len(offsets) - 1:
        raise ReleaseError(
            f"the data holds {len(offsets) - 1:,} rows, the manifest says {n:,} records and "
            f"{q:,} sensitive parts"
        )
    return GroupedRelease(
        vocabulary=vocabulary,
        starts=starts,
        offsets=offsets[: n + 1],
        items=items[: offsets[n]],
        part_starts=np.concatenate([[0], np.cumsum(parts)]),
        part_offsets=offsets[n:] - offsets[n],
        part_items=items[offsets[n] :],
        counts=counts,
        whole=structure["whole"],
    )


def _rebuild_dealt(
    vocabulary: Vocabulary,
    offsets: Int64Array,
    items: Int32Array,
    starts: Int64Array,
    sensitive: object,
) -> GroupedRelease:
    if not isinstance(sensitive, list) or not all(
        isinstance(name, str) and name in vocabulary for name in sensitive
    ):
        raise ReleaseError("manifest.json is damaged: it names sensitive items that do not occur")
    if starts[-1] != len(offsets) - 1 or np.any(np.diff(starts) == 0):
        raise ReleaseError(
            f"the data holds {len(offsets) - 1:,} records, the manifest says {starts[-1]:,} in "
            f"{len(starts) - 1:,} groups"
        )
    hidden = np.zeros(len(vocabulary), dtype=bool)
    hidden[[vocabulary.number(name) for name in sensitive]] = True
    table = TransactionTable(offsets=offsets, items=items, vocabulary=vocabulary)
    if table.is_bag:
        raise ReleaseError("a record of the data holds an item twice")
    ordinary, secret = split_rows(table, hidden)
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    parts, kind_of = parts_by_group(group, len(starts) - 1, secret, whole=True)
    return GroupedRelease(
        vocabulary=vocabulary,
        starts=starts,
        offsets=ordinary[0],
        items=ordinary[1],
        part_starts=parts.starts,
        part_offsets=parts.offsets,
        part_items=parts.items,
        counts=parts.counts,
        whole=True,
        dealt=kind_of,
    )


def _numbers(structure: Mapping[str, Any], name: str) -> Int64Array:
    """Return a list of counts from a manifest."""
    given = structure[name]
    if not isinstance(given, list) or not all(
        type(value) is int and 0 <= value < LARGEST for value in given
    ):
        raise ReleaseError(f"manifest.json is damaged: {name!r} is no list of counts")
    return np.array(given, dtype=np.int64)
