"""What workers compute: the group of a record, and counts of sets of nodes.

Groups are found by a walk down a tree of questions about a record's items
(:class:`setveil.spark.splitting.Questions`).

Sets of nodes are counted where records are spread over many places. Records are sorted rows of
ranks, as :func:`setveil.anonymize.km.apriori_kernels.rows_of_ranks` makes them: more general nodes
come first. A *wave* is a range of ranks; sets are counted in the wave of their first node. Sets of
three and more are searched under their first node and the rarest of the others, so that the most
frequent nodes do not draw all records to one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array


@compiled
def first_at_least(row: Int32Array, wanted: int) -> int:
    """Return the place of the first of ascending numbers that is not below `wanted`.

    >>> first_at_least(np.array([2, 5, 9], np.int32), 5), first_at_least(np.array([2], np.int32), 3)
    (1, 1)
    """
    # Binary search: all before `low` are smaller, all from `high` on are not.
    low, high = 0, len(row)
    while low < high:
        middle = (low + high) // 2
        if row[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def route_by_ranges(
    offsets: Int64Array,
    numbers: Int32Array,
    first: Int64Array,
    end: Int64Array,
    least: Int64Array,
    yes: Int64Array,
    no: Int64Array,
) -> Int64Array:
    """Return the group of each record: question `i` is for ``least[i]`` numbers of a range.

    >>> route_by_ranges(np.array([0, 2, 3]), np.array([1, 2, 2], np.int32), np.array([0]),
    ...                 np.array([3]), np.array([2]), np.array([-1]), np.array([-2])).tolist()
    [0, 1]
    """
    n = len(offsets) - 1
    group = np.zeros(n, dtype=np.int64)
    # No questions: one group.
    if len(first) == 0:
        return group
    for record in range(n):
        row = numbers[offsets[record] : offsets[record + 1]]
        at = np.int64(0)
        while at >= 0:
            # A range of ascending numbers is one run: two searches count it.
            held = first_at_least(row, end[at]) - first_at_least(row, first[at])
            at = yes[at] if held >= least[at] else no[at]
        group[record] = -1 - at
    return group


@compiled
def count_histograms(
    offsets: Int64Array,
    leaves: Int32Array,
    ends: Int32Array,
    heads: Int64Array,
    bucket: Int64Array,
    n_buckets: int,
    most: int,
) -> Int64Array:
    """Return for each bucket and head how many records have so many leaves below it.

    Numbers of `most` and more are one; records whose bucket is negative do not count. The last
    axis has the records and their leaves, all of them.

    >>> count_histograms(np.array([0, 2, 3]), np.array([1, 2, 2], np.int32),
    ...                  np.array([3, 2, 3], np.int32), np.array([0, 1]), np.array([0, 0]), 1, 2
    ...                  ).tolist()
    [[[[0, 0], [1, 1], [1, 2]], [[1, 1], [1, 2], [0, 0]]]]
    """
    found = np.zeros((n_buckets, len(heads), most + 1, 2), dtype=np.int64)
    for record in range(len(offsets) - 1):
        if bucket[record] < 0:
            continue
        row = leaves[offsets[record] : offsets[record + 1]]
        for h in range(len(heads)):
            # Leaves below a head are one run of numbers.
            held = first_at_least(row, ends[heads[h]]) - first_at_least(row, heads[h])
            found[bucket[record], h, min(held, most), 0] += 1
            found[bucket[record], h, min(held, most), 1] += len(row)
    return found


@compiled
def item_masks(
    offsets: Int64Array, items: Int32Array, bucket: Int64Array, tops: Int64Array
) -> Int64Array:
    """Return which of the top items of its bucket each record holds: item `i` is bit `i`.

    `tops` has a row for each bucket, filled up with -1; no bucket, no bits.

    >>> item_masks(np.array([0, 2, 3]), np.array([1, 2, 2], np.int32), np.array([0, -1]),
    ...            np.array([[2, 3, 1]])).tolist()
    [5, 0]
    """
    n = len(offsets) - 1
    mask = np.zeros(n, dtype=np.int64)
    for record in range(n):
        if bucket[record] < 0:
            continue
        row = items[offsets[record] : offsets[record + 1]]
        for i in range(tops.shape[1]):
            wanted = tops[bucket[record], i]
            # Rows of `tops` are filled up with -1 at the end.
            if wanted < 0:
                break
            place = first_at_least(row, wanted)
            if place < len(row) and row[place] == wanted:
                mask[record] |= np.int64(1) << i
    return mask


@compiled
def content_buckets(offsets: Int64Array, items: Int32Array, n_buckets: int) -> Int64Array:
    """Return a bucket for each record that depends on its content and nothing else.

    >>> content_buckets(np.array([0, 1, 2]), np.array([7, 7], np.int32), 100).tolist()
    [82, 82]
    """
    n = len(offsets) - 1
    bucket = np.zeros(n, dtype=np.int64)
    for record in range(n):
        # FNV-1a over the items, with a last mix for the low bits.
        mixed = np.uint64(14695981039346656037)
        for at in range(offsets[record], offsets[record + 1]):
            mixed = (mixed ^ np.uint64(items[at])) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
        bucket[record] = np.int64(mixed % np.uint64(n_buckets))
    return bucket


@compiled
def wave_pairs(
    starts: Int64Array, ranks: Int32Array, first: int, last: int, column: Int64Array, width: int
) -> Int32Array:
    """Count pairs of a rank of the wave and a later one; a row per rank of the wave.

    ``column`` tells how many of the ranks before each one are counted, `width` how many of all.

    >>> wave_pairs(np.array([0, 3]), np.array([0, 1, 2], np.int32), 0, 2, np.arange(4), 3).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    base = column[first]
    n = column[last] - base
    counts = np.zeros((n, width), dtype=np.int32)
    for row in range(len(starts) - 1):
        held = ranks[starts[row] : starts[row + 1]]
        # Ranks ascend: the nodes of the wave are one run of the row.
        for i in range(first_at_least(held, first), first_at_least(held, last)):
            own = column[held[i]] - base
            for j in range(i + 1, len(held)):
                counts[own, column[held[j]]] += 1
    return counts


@compiled
def others_of(
    held: Int32Array, i: int, order: Int32Array, ends: Int32Array, place: Int64Array
) -> Int64Array:
    """Return what a row holds behind its node `i`, without what lies below it, rarest first.

    ``place`` is the place of each rank when the rarest come first.

    >>> others_of(np.array([0, 1, 2], np.int32), 0, np.array([1, 3, 4], np.int32),
    ...           np.array([5, 3, 3, 4, 5], np.int32), np.array([2, 1, 0])).tolist()
    [0, 1]
    """
    node = order[held[i]]
    found = np.empty(len(held) - i - 1, dtype=np.int64)
    n = 0
    for j in range(i + 1, len(held)):
        other = order[held[j]]
        # What lies below the node says nothing new beside it.
        if not node <= other < ends[node]:
            found[n] = place[held[j]]
            n += 1
    found = found[:n]
    found.sort()
    return found


@compiled
def tail_costs(
    starts: Int64Array,
    ranks: Int32Array,
    first: int,
    last: int,
    column: Int64Array,
    order: Int32Array,
    ends: Int32Array,
    place: Int64Array,
    width: int,
) -> Int64Array:
    """Return how many places of records a search under two nodes reads; a row per rank of the wave.

    The column is the place of the second node when the rarest come first.
    """
    base = column[first]
    n = column[last] - base
    costs = np.zeros((n, width), dtype=np.int64)
    for row in range(len(starts) - 1):
        held = ranks[starts[row] : starts[row + 1]]
        for i in range(first_at_least(held, first), first_at_least(held, last)):
            others = others_of(held, i, order, ends, place)
            for j in range(len(others)):
                # A search under (node, other j) reads all others from j on.
                costs[column[held[i]] - base, others[j]] += len(others) - j
    return costs


@compiled
def cut_tails(
    starts: Int64Array,
    ranks: Int32Array,
    first: int,
    last: int,
    column: Int64Array,
    order: Int32Array,
    ends: Int32Array,
    place: Int64Array,
    width: int,
    bounds: Int64Array,
) -> tuple[Int64Array, Int64Array, Int64Array, Int32Array]:
    """Return what each part of a search reads: its number, the first node's row, and the others.

    Parts are ranges of `row * width + place`, from one of `bounds` to the next. The others come as
    compressed rows, rarest first, each from the first one in the part's range on.
    """
    base = column[first]
    n_rows, n_places = np.int64(0), np.int64(0)
    part, head = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    offsets, items = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
    # First how many, then which.
    for filling in range(2):
        n_rows, n_places = np.int64(0), np.int64(0)
        for row in range(len(starts) - 1):
            held = ranks[starts[row] : starts[row + 1]]
            for i in range(first_at_least(held, first), first_at_least(held, last)):
                own = column[held[i]] - base
                others = others_of(held, i, order, ends, place)
                before = np.int64(-1)
                for j in range(len(others)):
                    goes = np.searchsorted(bounds, own * width + others[j], side="right") - 1
                    # The others of one part follow each other, since bounds ascend: a row goes to
                    # each part once.
                    if goes == before:
                        continue
                    before = goes
                    if filling:
                        part[n_rows], head[n_rows] = goes, own
                        for at in range(j, len(others)):
                            items[n_places + at - j] = others[at]
                    n_rows += 1
                    n_places += len(others) - j
                    if filling:
                        offsets[n_rows] = n_places
        if not filling:
            part, head = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
            offsets = np.zeros(n_rows + 1, dtype=np.int64)
            items = np.empty(n_places, dtype=np.int32)
    return part, head, offsets, items


@compiled
def rare_sets(
    size: int,
    k: int,
    first: int,
    last: int,
    offsets: Int64Array,
    items: Int32Array,
    nodes: Int64Array,
    ends: Int32Array,
) -> Int64Array:
    """List the sets of `size` ≥ 2 unrelated items in fewer than `k` rows that begin in a range.

    Parameters
    ----------
    size, k
        Of the sets; smaller ones that occur are frequent.
    first, last
        The range of the first item.
    offsets, items
        Ascending rows.
    nodes, ends
        The node of each item, and where what lies below a node ends.

    Returns
    -------
    array
        A line per set: its items and its support.

    Examples
    --------
    >>> rare_sets(2, 2, 0, 2, np.array([0, 3, 5]), np.array([0, 1, 2, 1, 2], np.int32),
    ...           np.array([1, 2, 3]), np.array([4, 2, 3, 4], np.int32)).tolist()
    [[0, 1, 1], [0, 2, 1]]
    """
    # Where each item stands in the rows: places[heads[item] : heads[item + 1]].
    heads = np.zeros(len(nodes) + 1, dtype=np.int64)
    for item in items:
        heads[item + 1] += 1
    heads = np.cumsum(heads)
    places, row_end = np.empty(len(items), dtype=np.int64), np.empty(len(items), dtype=np.int64)
    filled = heads[:-1].copy()
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            row_end[at] = offsets[row + 1]
            places[filled[items[at]]] = at
            filled[items[at]] += 1
    found = np.empty((64, size + 1), dtype=np.int64)
    n_found = 0
    # A stack of sizes instead of recursion: waiting[d] are the items that may follow the first d.
    waiting = np.empty((size - 1, len(nodes)), dtype=np.int64)
    n_waiting, done = np.zeros(size - 1, dtype=np.int64), np.zeros(size - 1, dtype=np.int64)
    positions = np.empty((size - 1, len(items)), dtype=np.int64)
    n_positions = np.zeros(size - 1, dtype=np.int64)
    counts = np.zeros(len(nodes), dtype=np.int64)
    prefix = np.zeros(size, dtype=np.int64)
    for item in range(first, last):
        waiting[0, item - first] = item
    n_waiting[0] = last - first
    depth = 0
    while depth >= 0:
        if done[depth] == n_waiting[depth]:
            depth -= 1
            continue
        item = waiting[depth, done[depth]]
        done[depth] += 1
        prefix[depth] = item
        n = 0
        # positions[d]: where the last item of the prefix stands, in each row that holds the prefix.
        if depth == 0:
            for at in range(heads[item], heads[item + 1]):
                positions[0, n] = places[at]
                n += 1
        else:
            for i in range(n_positions[depth - 1]):
                start = positions[depth - 1, i] + 1
                at = start + first_at_least(items[start : row_end[start - 1]], item)
                if at < row_end[start - 1] and items[at] == item:
                    positions[depth, n] = at
                    n += 1
        n_positions[depth] = n
        # One scan behind the positions counts all extensions by one item.
        for i in range(n):
            for at in range(positions[depth, i] + 1, row_end[positions[depth, i]]):
                counts[items[at]] += 1
        follows = 0
        for other in range(item + 1, len(nodes)):
            count = counts[other]
            counts[other] = 0
            if count == 0:
                continue
            # Nodes of a set must not lie below each other.
            apart = True
            for d in range(depth + 1):
                a, b = nodes[prefix[d]], nodes[other]
                apart = apart and not (a <= b < ends[a] or b <= a < ends[b])
            if not apart:
                continue
            if depth < size - 2:
                # In all rows of the set: what it makes rarer is rare without it.
                if count < n:
                    waiting[depth + 1, follows] = other
                    follows += 1
            elif count < k:
                if n_found == len(found):
                    more = np.empty((2 * len(found), size + 1), dtype=np.int64)
                    more[:n_found] = found
                    found = more
                prefix[size - 1] = other
                found[n_found, :size] = prefix
                found[n_found, size] = count
                n_found += 1
        if depth < size - 2:
            depth += 1
            done[depth], n_waiting[depth] = 0, follows
    return found[:n_found]
