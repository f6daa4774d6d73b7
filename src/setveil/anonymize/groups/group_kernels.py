"""Groups in which no two records share a sensitive item.

CAHD puts each sensitive record together with its nearest neighbours in an order of the records;
Anatomy takes one record for each sensitive item, the most frequent items first.
"""

# int and np.int64 are one type in compiled code.
# mypy: disable-error-code="assignment, return-value"

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array

# Both columns of a linked list of the records that are in no group yet.
BEFORE, AFTER = 0, 1


@compiled
def shares_none(
    record: int,
    secret_offsets: Int64Array,
    secret_items: Int32Array,
    taken: Int64Array,
    stamp: int | np.int64,
) -> bool:
    """Tell whether no sensitive item of a record bears this stamp.

    >>> shares_none(0, np.array([0, 1]), np.array([1], np.int32), np.array([5, 4]), 5)
    True
    """
    for i in range(secret_offsets[record], secret_offsets[record + 1]):
        if taken[secret_items[i]] == stamp:
            return False
    return True


@compiled
def stamp_secrets(
    record: int,
    secret_offsets: Int64Array,
    secret_items: Int32Array,
    taken: Int64Array,
    stamp: int | np.int64,
) -> None:
    """Put a stamp on the sensitive items of a record.

    >>> taken = np.array([5, 4])
    >>> stamp_secrets(0, np.array([0, 1]), np.array([1], np.int32), taken, 5)
    >>> taken.tolist()
    [5, 5]
    """
    for i in range(secret_offsets[record], secret_offsets[record + 1]):
        taken[secret_items[i]] = stamp


@compiled
def band_groups(
    offsets: Int64Array,
    items: Int32Array,
    secret_offsets: Int64Array,
    secret_items: Int32Array,
    rank: Int64Array,
    p: int,
    reach: int,
) -> Int64Array:
    """Return the group of each record, -1 for those that are left over.

    Records stand in the order in which they are neighbours. `items` are the ordinary, and
    `secret_items` the sensitive items of each, both numbered from 0. For each record with
    sensitive items, in turn, the candidates are the `reach` nearest records on each side that are
    in no group and share no sensitive item with it. Those that share most ordinary items with it
    come first, then the lower `rank`; the first `p` - 1 that share no sensitive item with each
    other join it. A group is given up if there are fewer, or if then some sensitive item were in
    more than one in `p` of the records that are in no group.

    Four records of one kind, the first and the last with a sensitive item of their own:

    >>> band_groups(np.array([0, 1, 2, 3, 4]), np.array([0, 1, 0, 1], np.int32),
    ...             np.array([0, 1, 1, 1, 2]), np.array([0, 1], np.int32),
    ...             np.array([0, 2, 1, 3]), 2, 6)
    array([0, 1, 0, 1])
    """
    n = len(offsets) - 1
    group_of = np.full(n, -1, dtype=np.int64)
    n_secret = np.int64(secret_items.max() + 1 if len(secret_items) else 0)
    left = np.zeros(n_secret, dtype=np.int64)  # records in no group, by sensitive item
    for s in secret_items:
        left[s] += 1
    items_with = np.zeros(n + 1, dtype=np.int64)  # items by how many such records they have
    top = np.int64(0)
    for count in left:
        items_with[count] += 1
        top = max(top, count)
    # A doubly linked list of the records in no group: neighbours are found without passing over
    # others.
    links = np.empty((n, 2), dtype=np.int64)
    for i in range(n):
        links[i, BEFORE] = i - 1
        links[i, AFTER] = i + 1
    n_items = np.int64(items.max() + 1 if len(items) else 0)
    longest = np.int64(0)
    for i in range(n):
        longest = max(longest, offsets[i + 1] - offsets[i])
    # Stamped with the record they were set for, so that they never need clearing.
    mine = np.full(n_items, -1, dtype=np.int64)
    taken = np.full(n_secret, -1, dtype=np.int64)
    near = np.empty(2 * reach, dtype=np.int64)
    keys = np.empty(2 * reach, dtype=np.int64)
    members = np.empty(p, dtype=np.int64)
    remaining = np.int64(n)
    n_groups = np.int64(0)
    # Invariant: no sensitive item is in more than one in p of the `remaining` records, so that
    # these could be one group whenever the search ends.
    for t in range(n):
        if group_of[t] >= 0 or secret_offsets[t] == secret_offsets[t + 1]:
            continue
        for i in range(offsets[t], offsets[t + 1]):
            mine[items[i]] = t
        stamp_secrets(t, secret_offsets, secret_items, taken, t)
        found = 0
        for side in range(2):
            stop = found + reach
            c = links[t, side]
            while found < stop and 0 <= c < n:
                if shares_none(c, secret_offsets, secret_items, taken, t):
                    shared = np.int64(0)
                    for i in range(offsets[c], offsets[c + 1]):
                        if mine[items[i]] == t:
                            shared += 1
                    near[found] = c
                    # One number for both criteria: most shared items first, then the lower rank.
                    keys[found] = (longest - shared) * n + rank[c]
                    found += 1
                c = links[c, side]
        members[0] = t
        size = 1
        for place in np.argsort(keys[:found]):
            if size == p:
                break
            c = near[place]
            # Those chosen before have put their stamps on their items too.
            if shares_none(c, secret_offsets, secret_items, taken, t):
                stamp_secrets(c, secret_offsets, secret_items, taken, t)
                members[size] = c
                size += 1
        if size < p:
            continue
        # Take the group away, and put it back if what is left could not be one group itself.
        for c in members:
            for i in range(secret_offsets[c], secret_offsets[c + 1]):
                s = secret_items[i]
                items_with[left[s]] -= 1
                left[s] -= 1
                items_with[left[s]] += 1
        # Counts only fall while groups are made, so the greatest is at or below the last one.
        most = top
        while most > 0 and items_with[most] == 0:
            most -= 1
        # The rest could no longer be one group: give this one up and restore the counts.
        if most * p > remaining - p:
            for c in members:
                for i in range(secret_offsets[c], secret_offsets[c + 1]):
                    s = secret_items[i]
                    items_with[left[s]] -= 1
                    left[s] += 1
                    items_with[left[s]] += 1
            continue
        top = most
        remaining -= p
        for c in members:
            group_of[c] = n_groups
            before, after = links[c, BEFORE], links[c, AFTER]
            if before >= 0:
                links[before, AFTER] = after
            if after < n:
                links[after, BEFORE] = before
        n_groups += 1
    return group_of


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
    # The records of each sensitive item, in order; at[s] is where those that are left may begin.
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
    # Invariant: left[s] records with item s are in no group, all of them from at[s] on.
    while n_secret and left.max() > 0:
        found = 0
        # A stable sort: of items in equally many records the lower number comes first.
        for s in np.argsort(-left, kind="mergesort"):
            if found == size or left[s] == 0:
                break
            # A record of the group holds the item already.
            if taken[s] == n_groups:
                continue
            # left[s] > 0: there is such a record, so this ends.
            while group_of[records[at[s]]] >= 0:
                at[s] += 1
            for j in range(at[s], starts[s + 1]):
                t = records[j]
                if group_of[t] < 0 and shares_none(
                    t, secret_offsets, secret_items, taken, n_groups
                ):
                    stamp_secrets(t, secret_offsets, secret_items, taken, n_groups)
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
        # After this group the rest could not be split further: it is left over as a whole.
        if careful and left.max() * size > remaining - size:
            break
        next_bare += fill
        remaining -= size
        for t in members:
            group_of[t] = n_groups
        n_groups += 1
    return group_of
