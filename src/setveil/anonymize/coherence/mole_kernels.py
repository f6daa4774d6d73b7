"""Minimal itemsets that give someone away, and the cheapest items that hit all of them.

A *mole* is a set of items that at least one record holds, but fewer than `k`, or whose records
share a secret too often. Whether a set is a mole depends on nothing but which records hold it.
So a minimal mole is a *generator*: each item it loses makes more records hold it. Generators that
are no moles are closed under taking subsets, and the search below visits only those.
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

COMPLETE, STOPPED = 0, 1


@compiled
def find_edge(keys: Int64Array, key: int | np.int64) -> int:
    """Return the slot of `key` in a table with open addressing, or the free slot where it belongs.

    >>> keys = np.full(8, -1)
    >>> keys[find_edge(keys, 5)] = 5
    >>> int(keys[find_edge(keys, 5)]), int(keys[find_edge(keys, 6)])
    (5, -1)
    """
    slot = (key * 0x9E3779B97F4A7C1 >> 20) & (len(keys) - 1)  # wraps: multiplicative hash
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & (len(keys) - 1)
    return slot


@compiled
def all_subsets_kept(
    prefix: Int64Array,
    item: int | np.int64,
    support: int | np.int64,
    lead: int,
    n_items: int,
    keys: Int64Array,
    targets: Int64Array,
    supports: Int64Array,
) -> bool:
    """Tell whether each subset with one item of `prefix` less was kept and has more records.

    Subsets that hold none of the first `lead` items were never looked at: they pass.
    """
    for left_out in range(len(prefix)):
        vertex = np.int64(0)
        # Subsets are looked up as paths in the trie; the one without `item` is the prefix itself.
        led = item < lead
        for i in range(len(prefix) + 1):
            if i == left_out:
                continue
            following = item if i == len(prefix) else prefix[i]
            led = led or following < lead
            if vertex >= 0:
                slot = find_edge(keys, vertex * n_items + following)
                vertex = targets[slot] if keys[slot] >= 0 else np.int64(-1)
        if led and (vertex < 0 or supports[vertex] <= support):
            return False
    return True


@compiled
def shares_a_secret(
    rows: Int64Array,
    secret_offsets: Int64Array,
    secrets: Int32Array,
    most: Int64Array,
    counts: Int64Array,
) -> bool:
    """Tell whether more than ``most[len(rows)]`` of the rows hold one secret; `counts` is zero.

    Secret 0 is in both rows, of which at most one may hold a secret:

    >>> shares_a_secret(np.array([0, 1]), np.array([0, 1, 3]), np.array([0, 0, 1], np.int32),
    ...                 np.array([0, 0, 1]), np.zeros(2, np.int64))
    True
    """
    greatest = np.int64(0)
    for row in rows:
        for at in range(secret_offsets[row], secret_offsets[row + 1]):
            counts[secrets[at]] += 1
            greatest = max(greatest, counts[secrets[at]])
    for row in rows:
        for at in range(secret_offsets[row], secret_offsets[row + 1]):
            counts[secrets[at]] = 0
    return bool(greatest > most[len(rows)])


@compiled
def minimal_moles(
    offsets: Int64Array,
    items: Int32Array,
    n_items: int,
    secret_offsets: Int64Array,
    secrets: Int32Array,
    n_secrets: int,
    k: int,
    most: Int64Array,
    p: int,
    lead: int,
    limit: int,
    work: int,
) -> tuple[Int64Array, Int64Array, int]:
    """Return the minimal moles of at most `p` items as (offsets, items, COMPLETE or STOPPED).

    Rows hold sorted, distinct items. The search goes depth first and from the last item to the
    first, so that all subsets of a set have been met before it. A visited set keeps the rows that
    hold it, each with the place behind its last item, and meets only items that occur there.

    Parameters
    ----------
    most
        ``most[s]`` of `s` records may share a secret; not read where there are no secrets.
    lead
        Only sets that hold one of the items below `lead` are wanted. Items from `lead` on must
        be no moles themselves; a set may then still hold a mole among them.
    limit, work
        Stop when this many moles were found or this many places were looked at.

    Examples
    --------
    The records {0, 1}, {0, 1, 2}, {0}, with k = 2: only item 2 is rare, and {0, 1} is in two.

    >>> offsets, items = np.array([0, 2, 5, 6]), np.array([0, 1, 0, 1, 2, 0], np.int32)
    >>> none = np.zeros(4, np.int64), np.zeros(0, np.int32)
    >>> minimal_moles(offsets, items, 3, *none, 0, 2, none[0], 2, 3, 99, 999)
    (array([0, 1]), array([2]), 0)
    """
    n = len(offsets) - 1
    found = np.empty(1024, dtype=np.int64)
    found_offsets = np.zeros(256, dtype=np.int64)
    n_found = np.int64(0)
    # The trie of kept sets; vertex 0 is the empty set.
    keys = np.full(1024, -1, dtype=np.int64)
    targets = np.empty(1024, dtype=np.int64)
    supports = np.empty(512, dtype=np.int64)
    supports[0] = n
    n_vertices = np.int64(1)
    # The rows of the sets on the way to the current one, each with the place to go on from.
    rows = np.empty(2 * n + 1024, dtype=np.int64)
    places = np.empty(2 * n + 1024, dtype=np.int64)
    for row in range(n):
        rows[row] = row
        places[row] = offsets[row]
    # Kept children of these sets, ascending, those of the set of `d` items up to high[d]; those
    # from left[d] on have been visited.
    child = np.empty(n_items + 1024, dtype=np.int64)
    first_row = np.empty(n_items + 1024, dtype=np.int64)
    end_row = np.empty(n_items + 1024, dtype=np.int64)
    vertex_of = np.empty(n_items + 1024, dtype=np.int64)
    high = np.zeros(p + 1, dtype=np.int64)
    left = np.zeros(p + 1, dtype=np.int64)
    prefix = np.empty(p + 1, dtype=np.int64)
    vertex = np.zeros(p + 1, dtype=np.int64)
    # An item may be added to a set of `d` items if it was kept as a last item of depth `d`.
    kept_depth = np.zeros(n_items, dtype=np.int64)
    count = np.zeros(n_items, dtype=np.int64)
    cursor = np.full(n_items, -1, dtype=np.int64)
    secret_counts = np.zeros(n_secrets, dtype=np.int64)
    done = np.int64(0)
    depth = 0
    start, end = np.int64(0), np.int64(n)
    # Invariant: rows[start:end] hold all of prefix[:depth], and the trie has every set that comes
    # before this one and is no mole, but those that a smaller set of the same rows stands for.
    while depth >= 0:
        # --- the supports of all sets with one item more than prefix[:depth] -------------------
        for i in range(start, end):
            row_end = offsets[rows[i] + 1]
            done += row_end - places[i] + 1
            for at in range(places[i], row_end):
                if kept_depth[items[at]] == depth:
                    count[items[at]] += 1
        base = high[depth - 1] if depth > 0 else np.int64(0)
        siblings = left[depth - 1] + 1 if depth > 0 else np.int64(0)
        n_candidates = base - siblings if depth > 0 else np.int64(lead)
        done += n_candidates
        if done > work:
            return found_offsets[: n_found + 1], found[: found_offsets[n_found]], STOPPED
        # What stands behind `end` belongs to sets that have been visited: it may be overwritten.
        free = end
        for i in range(n_candidates):
            item = child[siblings + i] if depth > 0 else np.int64(i)
            support = count[item]
            if support == 0:
                continue
            # The item is in all rows of the prefix, so adding it changes nothing; or a subset is a
            # mole or has no more records: then the set is not minimal, or behaves as that subset
            # does.
            if depth > 0 and (
                support == end - start
                or not all_subsets_kept(
                    prefix[:depth], item, support, lead, n_items, keys, targets, supports
                )
            ):
                count[item] = 0
            # A set below k is a mole without a look at its rows, and rows of the last size serve
            # only to look for secrets.
            elif support >= k and (n_secrets > 0 or depth + 1 < p):
                cursor[item] = free
                free += support
        if free > end:
            rows = ensure_room(rows, free)
            places = ensure_room(places, free)
            for i in range(start, end):
                for at in range(places[i], offsets[rows[i] + 1]):
                    into = cursor[items[at]]
                    if into >= 0:
                        rows[into] = rows[i]
                        places[into] = at + 1
                        cursor[items[at]] += 1
        # --- which of them are moles, which are kept -------------------------------------------
        n_children = base
        for i in range(n_candidates):
            item = child[siblings + i] if depth > 0 else np.int64(i)
            support, stop = count[item], cursor[item]
            count[item], cursor[item] = 0, -1
            if support == 0:
                continue
            if support < k or (
                n_secrets > 0
                and shares_a_secret(
                    rows[stop - support : stop], secret_offsets, secrets, most, secret_counts
                )
            ):
                if n_found == limit:
                    return found_offsets[: n_found + 1], found[: found_offsets[n_found]], STOPPED
                n_found += 1
                found_offsets = ensure_room(found_offsets, n_found + 1)
                found_offsets[n_found] = found_offsets[n_found - 1] + depth + 1
                found = ensure_room(found, found_offsets[n_found])
                for j in range(depth):
                    found[found_offsets[n_found - 1] + j] = prefix[j]
                found[found_offsets[n_found] - 1] = item
            elif depth + 1 < p:
                if 2 * n_vertices > len(keys):
                    old_keys, old_targets = keys, targets
                    keys = np.full(4 * len(old_keys), -1, dtype=np.int64)
                    targets = np.empty(4 * len(old_keys), dtype=np.int64)
                    for j in range(len(old_keys)):
                        if old_keys[j] >= 0:
                            slot = find_edge(keys, old_keys[j])
                            keys[slot] = old_keys[j]
                            targets[slot] = old_targets[j]
                edge = vertex[depth] * n_items + item
                slot = find_edge(keys, edge)
                keys[slot] = edge
                targets[slot] = n_vertices
                supports = ensure_room(supports, n_vertices + 1)
                supports[n_vertices] = support
                child = ensure_room(child, n_children + 1)
                first_row = ensure_room(first_row, n_children + 1)
                end_row = ensure_room(end_row, n_children + 1)
                vertex_of = ensure_room(vertex_of, n_children + 1)
                child[n_children] = item
                first_row[n_children], end_row[n_children] = stop - support, stop
                vertex_of[n_children] = n_vertices
                kept_depth[item] = depth + 1
                n_children += 1
                n_vertices += 1
        left[depth] = n_children
        if depth == 0 and p > 1:
            # Items behind the leading ones may follow them, but no set begins with one.
            for item in range(lead, n_items):
                count[item] = 0
                child = ensure_room(child, n_children + 1)
                child[n_children] = item
                kept_depth[item] = 1
                n_children += 1
        high[depth] = n_children
        # --- go on with the last child that is left, or back up ---------------------------------
        while depth >= 0:
            base = high[depth - 1] if depth > 0 else np.int64(0)
            if left[depth] > base:
                break
            for i in range(base, high[depth]):
                kept_depth[child[i]] = depth
            depth -= 1
        if depth >= 0:
            left[depth] -= 1
            at = left[depth]
            prefix[depth] = child[at]
            vertex[depth + 1] = vertex_of[at]
            start, end = first_row[at], end_row[at]
            depth += 1
    return found_offsets[: n_found + 1], found[: found_offsets[n_found]], COMPLETE


@compiled
def hit_all(
    offsets: Int64Array, items: Int64Array, costs: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Choose items until each set holds one of them; most sets hit per cost first.

    The greedy hitting set of all methods that suppress: of moles, of threats, of rules.

    Ties go to the lowest item; an item that costs nothing comes before all others. Returns the
    items in the order of choice, and how many sets each was the first to hit.

    >>> hit_all(np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 0, 2]), np.array([1, 1, 3]))
    (array([0, 1]), array([2, 1]))
    """
    n_sets = len(offsets) - 1
    holders = np.zeros(len(costs) + 1, dtype=np.int64)
    for item in items:
        holders[item + 1] += 1
    present = np.flatnonzero(holders[1:])
    remaining = holders[1:].copy()
    holders = np.cumsum(holders)
    sets = np.empty(len(items), dtype=np.int64)
    # Filled from the back, so that holders[v + 1] comes out as the begin of item v.
    for s in range(n_sets - 1, -1, -1):
        for at in range(offsets[s], offsets[s + 1]):
            holders[items[at] + 1] -= 1
            sets[holders[items[at] + 1]] = s
    hit = np.zeros(n_sets, dtype=np.bool_)
    chosen = np.empty(len(present), dtype=np.int64)
    gains = np.empty(len(present), dtype=np.int64)
    n_present, n_chosen = len(present), 0
    n_hit = np.int64(0)
    # Products of a count and a cost that may leave 64 bits are compared as floats.
    fits = n_sets == 0 or costs.max() <= 2**62 // n_sets
    # Invariant: remaining[v] sets with item v are not hit; `present` ascends, and has all items of
    # sets that are not hit.
    while n_hit < n_sets:
        best, kept = np.int64(-1), 0
        for item in present[:n_present]:
            if remaining[item] == 0:
                continue
            present[kept] = item
            kept += 1
            # remaining / cost compared by cross products: exact, and an item without cost wins.
            if best < 0:
                best = item
            elif fits:
                if remaining[item] * costs[best] > remaining[best] * costs[item]:
                    best = item
            elif float(remaining[item]) * costs[best] > float(remaining[best]) * costs[item]:
                best = item
        n_present = kept
        chosen[n_chosen] = best
        gains[n_chosen] = remaining[best]
        n_chosen += 1
        last = holders[best + 2] if best + 2 < len(holders) else len(items)
        for i in range(holders[best + 1], last):
            s = sets[i]
            if not hit[s]:
                hit[s] = True
                n_hit += 1
                for at in range(offsets[s], offsets[s + 1]):
                    remaining[items[at]] -= 1
    return chosen[:n_chosen], gains[:n_chosen]
