"""Groups of records of which no two share a sensitive item, the most frequent items first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import Int32Array, Int64Array


@compiled
def spread_groups(
    secret_offsets: Int64Array, secret_items: Int32Array, size: int, careful: bool
) -> Int64Array:
    """Return the group of each record, -1 for those that are left over.

    Again and again a group of `size` records is made: for each sensitive item, from the one that
    is in most of the records left to the one in fewest, the first record that holds it and shares
    no sensitive item with the group; then records without sensitive items. It ends when no
    sensitive item is left or no such group can be made; if `careful`, also when after it some
    item were in more than one in `size` of the records left.

    >>> spread_groups(np.array([0, 1, 2, 3, 4]), np.array([0, 0, 1, 2], np.int32), 2, True)
    array([0, 1, 0, 1])
    """
    n = len(secret_offsets) - 1
    n_secret = np.int64(secret_items.max() + 1 if len(secret_items) else 0)
    starts = np.zeros(n_secret + 1, dtype=np.int64)
    for s in secret_items:
        starts[s + 1] += 1
    starts = np.cumsum(starts)
    at = starts[:-1].copy()
    records = np.empty(len(secret_items), dtype=np.int64)
    bare = np.empty(n, dtype=np.int64)
    n_bare = 0
    for t in range(n):
        for i in range(secret_offsets[t], secret_offsets[t + 1]):
            records[at[secret_items[i]]] = t
            at[secret_items[i]] += 1
        if secret_offsets[t] == secret_offsets[t + 1]:
            bare[n_bare] = t
            n_bare += 1
    at[:] = starts[:-1]
    left = np.diff(starts)
    group_of = np.full(n, -1, dtype=np.int64)
    taken = np.full(n_secret, -1, dtype=np.int64)
    members = np.empty(size, dtype=np.int64)
    next_bare, remaining, n_groups = 0, np.int64(n), np.int64(0)
    while n_secret and left.max() > 0:
        found = 0
        for s in np.argsort(-left, kind="mergesort"):
            if found == size or left[s] == 0:
                break
            if taken[s] == n_groups:
                continue
            while group_of[records[at[s]]] >= 0:
                at[s] += 1
            for j in range(at[s], starts[s + 1]):
                t = records[j]
                free = group_of[t] < 0
                for i in range(secret_offsets[t], secret_offsets[t + 1]):
                    if taken[secret_items[i]] == n_groups:
                        free = False
                        break
                if free:
                    for i in range(secret_offsets[t], secret_offsets[t + 1]):
                        taken[secret_items[i]] = n_groups
                    members[found] = t
                    found += 1
                    break
        fill = min(size - found, n_bare - next_bare)
        members[found : found + fill] = bare[next_bare : next_bare + fill]
        found += fill
        if found < size:
            break
        for t in members:
            for i in range(secret_offsets[t], secret_offsets[t + 1]):
                left[secret_items[i]] -= 1
        if careful and left.max() * size > remaining - size:
            break
        next_bare += fill
        remaining -= size
        for t in members:
            group_of[t] = n_groups
        n_groups += 1
    return group_of
