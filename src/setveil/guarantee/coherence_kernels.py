"""Counting itemsets and the secrets beside them, for the check of coherence.

The check shares nothing with the methods it judges. It walks all itemsets that occur, depth first
and by increasing item number; the records of a set are those of its parent that hold one item
more.
"""

# int and np.int64 are one type in compiled code.
# mypy: disable-error-code="assignment, return-value"

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled
from setveil.kernels.rows import ensure_room

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array

SIZE, FOUND, SETS, STEPS = range(4)


@compiled
def frequent_secret(
    holders: Int64Array, secret_offsets: Int64Array, secrets: Int32Array, tally: Int64Array
) -> tuple[int, int]:
    """Return the secret that most of the records hold, the lowest of equals, and how many do.

    (-1, 0) where they hold none. `tally` is zero before and after.

    >>> frequent_secret(np.array([0, 1]), np.array([0, 2, 3]), np.array([0, 1, 1], np.int32),
    ...                 np.zeros(2, np.int64))
    (1, 2)
    """
    # The greatest tally so far is known at each step, so no second pass over all secrets is needed.
    best, most = -1, np.int64(0)
    for record in holders:
        for at in range(secret_offsets[record], secret_offsets[record + 1]):
            secret = np.int64(secrets[at])
            tally[secret] += 1
            if tally[secret] > most or (tally[secret] == most and secret < best):
                best, most = secret, tally[secret]
    for record in holders:
        tally[secrets[secret_offsets[record] : secret_offsets[record + 1]]] = 0
    return best, most


@compiled
def note_mole(
    itemset: Int64Array,
    support: int,
    secret: int,
    count: int | np.int64,
    shown: Int64Array,
    itemsets: Int64Array,
) -> None:
    """Insert a mole into the list of those shown: the rarest first, then the most certain.

    Ties go by the items, so that the list does not depend on the order of the records.

    `shown` has rows (support, secret, records with the secret); a free row has the support -1.
    """
    # From the end; free rows have the support -1 and are passed over.
    place = len(shown)
    while place > 0:
        before = shown[place - 1]
        if before[0] >= 0:
            order = before[0] - support
            if order == 0:
                order = count - before[2]
            for i in range(len(itemset)):
                if order == 0:
                    order = itemsets[place - 1, i] - itemset[i]
            if order < 0:
                break
        place -= 1
    if place == len(shown):
        return
    for i in range(len(shown) - 1, place, -1):
        shown[i] = shown[i - 1]
        itemsets[i] = itemsets[i - 1]
    shown[place, 0], shown[place, 1], shown[place, 2] = support, secret, count
    itemsets[place] = -1
    itemsets[place, : len(itemset)] = itemset


@compiled
def least_moles(
    offsets: Int64Array,
    items: Int32Array,
    n_items: int,
    secret_offsets: Int64Array,
    secrets: Int32Array,
    n_secrets: int,
    first: int,
    last: int,
    k: int,
    most: Int64Array,
    p: int,
    work: int,
    shown: Int64Array,
    itemsets: Int64Array,
) -> Int64Array:
    """Count the moles of the least size at which there are any, and keep the worst of them.

    Only sets whose first item is in the range from `first` to `last` are looked at. Rows hold
    sorted, distinct items; ``most[s]`` of `s` records may share a secret. As soon as a
    mole is found, larger sets are left alone. A set that is held by the same records as its
    parent is skipped with all that follows: leaving out its last item gives smaller sets held by
    the same records. Returns the least size (0 if there are no moles), how many moles have it,
    how many sets were looked at, and the steps taken; more steps than `work` mean that the search
    was given up.

    The records {0, 1} with the secret, {0, 1} without, {0}; half of the records may share it:

    >>> offsets, items = np.array([0, 2, 4, 5]), np.array([0, 1, 0, 1, 0], np.int32)
    >>> shown, sets = np.full((1, 3), -1), np.full((1, 2), -1)
    >>> least_moles(offsets, items, 2, np.array([0, 1, 1, 1]), np.zeros(1, np.int32), 1,
    ...             0, 2, 3, np.array([0, 0, 1, 1]), 2, 99, shown, sets).tolist()
    [1, 1, 2, 13]
    >>> shown.tolist(), sets.tolist()
    ([[2, 0, 1]], [[1, -1]])
    """
    n = len(offsets) - 1
    state = np.zeros(4, dtype=np.int64)
    # Sets of up to this size are looked for; it falls to that of the smallest mole found.
    size = np.int64(p)
    holder = np.arange(n, dtype=np.int64)  # records of the sets on the way, the root's first
    behind = offsets[:-1].copy()  # for each, the place behind the set's last item
    # Sets that wait for their turn: how long they are, their last item, their run of holders.
    waiting = np.empty((64, 4), dtype=np.int64)
    waiting[0, 0], waiting[0, 2], waiting[0, 3] = 0, 0, n
    n_waiting = 1
    itemset = np.empty(p + 1, dtype=np.int64)
    count = np.zeros(n_items, dtype=np.int64)
    target = np.empty(n_items, dtype=np.int64)
    met = np.empty(n_items, dtype=np.int64)
    tally = np.zeros(n_secrets, dtype=np.int64)
    while n_waiting > 0:
        n_waiting -= 1
        length = waiting[n_waiting, 0]
        start, end = waiting[n_waiting, 2], waiting[n_waiting, 3]
        if length > 0:
            itemset[length - 1] = waiting[n_waiting, 1]
        if length >= size:
            continue
        # One scan behind the last items counts all extensions by one item.
        n_met = 0
        for i in range(start, end):
            row_end = offsets[holder[i] + 1]
            state[STEPS] += row_end - behind[i] + 1
            for at in range(behind[i], row_end):
                item = items[at]
                if count[item] == 0:
                    met[n_met] = item
                    n_met += 1
                count[item] += 1
        if state[STEPS] > work:
            break
        # Runs of holders, one for each extension, above those of the sets on the way.
        needed = end
        for i in range(n_met):
            target[met[i]] = needed
            needed += count[met[i]]
        holder, behind = ensure_room(holder, needed), ensure_room(behind, needed)
        for i in range(start, end):
            for at in range(behind[i], offsets[holder[i] + 1]):
                into = target[items[at]]
                holder[into], behind[into] = holder[i], at + 1
                target[items[at]] += 1
        if n_waiting + n_met > len(waiting):
            longer = np.empty((2 * (n_waiting + n_met), 4), dtype=np.int64)
            longer[:n_waiting] = waiting[:n_waiting]
            waiting = longer
        for i in range(n_met):
            item = met[i]
            support = count[item]
            count[item] = 0
            if length == 0 and not first <= item < last:
                continue
            # The same records as without the item: a smaller set shows the same.
            if length > 0 and support == end - start:
                continue
            state[SETS] += 1
            records = holder[target[item] - support : target[item]]
            secret, sharing = -1, np.int64(0)
            if n_secrets > 0:
                secret, sharing = frequent_secret(records, secret_offsets, secrets, tally)
                state[STEPS] += support
            if support < k or sharing > most[support]:
                # The first mole, or the first of a smaller size: what was noted before no longer
                # counts.
                if length + 1 < size or state[FOUND] == 0:
                    size = length + 1
                    state[FOUND] = 0
                    shown[:] = -1
                state[FOUND] += 1
                itemset[length] = item
                note_mole(itemset[: length + 1], support, secret, sharing, shown, itemsets)
            else:
                # No mole: its extensions are looked at later, if they are still small enough.
                waiting[n_waiting, 0], waiting[n_waiting, 1] = length + 1, item
                waiting[n_waiting, 2] = target[item] - support
                waiting[n_waiting, 3] = target[item]
                n_waiting += 1
    state[SIZE] = size if state[FOUND] > 0 else 0
    return state
