"""The count-tree of k^m-anonymity, walked without being built; and what a split of the cut changes.

In the count-tree, records hold taxonomy nodes: their leaves and all ancestors of these. Nodes are
numbered by rank, ancestors before what is below them, and stand in that order within a record. An
itemset is held as the places in the records where its last node stands; what follows these places
are the itemsets below it in the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled
from setveil.kernels.rows import ensure_room

if TYPE_CHECKING:
    from setveil.core.arrays import BoolArray, Int32Array, Int64Array

LENGTH, NODE, START, END, FRAME = range(5)


@compiled
def with_ancestors(
    offsets: Int64Array, leaves: Int32Array, parents: Int32Array
) -> tuple[Int64Array, Int32Array]:
    """Return the records with the ancestors of their leaves, each node once, in no order.

    >>> found = with_ancestors(np.array([0, 2]), np.array([2, 3], np.int32),
    ...                        np.array([-1, 0, 1, 1], np.int32))
    >>> found[0].tolist(), found[1].tolist()
    ([0, 4], [2, 1, 0, 3])
    """
    seen = np.full(len(parents), -1, dtype=np.int64)
    wide = np.zeros(len(offsets), dtype=np.int64)
    nodes = np.empty(0, dtype=np.int32)
    # First how many, then which.
    for fills in (False, True):
        seen[:] = -1
        filled = 0
        for row in range(len(offsets) - 1):
            for at in range(offsets[row], offsets[row + 1]):
                node = leaves[at]
                # A node that was seen has its ancestors seen.
                while node >= 0 and seen[node] != row:
                    seen[node] = row
                    if fills:
                        nodes[filled] = node
                    filled += 1
                    node = parents[node]
            wide[row + 1] = filled
        if not fills:
            nodes = np.empty(filled, dtype=np.int32)
    return wide, nodes


@compiled
def records_of(
    root: int,
    offsets: Int64Array,
    items: Int32Array,
    places: Int64Array,
    record_of: Int32Array,
    starts: Int32Array,
    ends: Int32Array,
    hidden: BoolArray,
) -> tuple[Int64Array, Int32Array]:
    """Return the records that hold `root`, cut to what can stand below it in the count-tree.

    `places` are those of `root` in `items`; `starts` and `ends` are the nodes' intervals in
    preorder. Each record begins with `root` and ends with -1; the first result tells where.

    The record {0, 1, 2}, where 2 is hidden:

    >>> begins, kept = records_of(0, np.array([0, 3]), np.arange(3, dtype=np.int32), np.array([0]),
    ...     np.zeros(3, np.int32), np.arange(3, dtype=np.int32), np.arange(1, 4, dtype=np.int32),
    ...     np.array([False, False, True]))
    >>> begins.tolist(), kept[: 3].tolist()
    ([0], [0, 1, -1])
    """
    size = 0
    for place in places:
        size += offsets[record_of[place] + 1] - place + 1
    begins = np.empty(len(places), dtype=np.int64)
    kept = np.empty(size, dtype=np.int32)
    filled = 0
    for i in range(len(places)):
        begins[i] = filled
        kept[filled] = root
        filled += 1
        for at in range(places[i] + 1, offsets[record_of[places[i]] + 1]):
            node = items[at]
            # Nodes below the root of this subtree never stand beside it in a set.
            if not hidden[node] and not starts[root] <= starts[node] < ends[root]:
                kept[filled] = node
                filled += 1
        # A mark at the end saves the length of each record.
        kept[filled] = -1
        filled += 1
    return begins, kept


@compiled
def rare_below(
    begins: Int64Array,
    items: Int32Array,
    starts: Int32Array,
    ends: Int32Array,
    k: int,
    m: int,
) -> tuple[int, Int64Array]:
    """Return the shortest itemsets of at most `m` nodes on each way down that are rare.

    The records are those of :func:`records_of`, `starts` and `ends` the nodes' intervals in
    preorder. No itemset holds a node and its ancestor. Each itemset found has support from 1 to
    `k` - 1, takes `m` places of the result and is filled up with -1; nothing below it in the
    count-tree is looked at. The first result is their number.

    Records {0, 1}, {0, 1, 2}, {0, 2} without ancestors, k = 2, m = 3:

    >>> number, found = rare_below(np.array([0, 3, 7]),
    ...     np.array([0, 1, -1, 0, 1, 2, -1, 0, 2, -1], np.int32),
    ...     np.arange(3, dtype=np.int32), np.arange(1, 4, dtype=np.int32), 2, 3)
    >>> found[: 3 * number].tolist()
    [0, 1, 2]
    """
    counts = np.zeros(len(starts), dtype=np.int64)
    touched = np.empty(len(starts), dtype=np.int32)
    prefix = np.empty(m, dtype=np.int32)
    places = np.empty(max(1024, len(begins)), dtype=np.int64)
    frames = np.empty(1024 * FRAME, dtype=np.int64)
    found = np.empty(0, dtype=np.int64)
    n_found = 0
    for i in range(len(begins)):
        places[i] = begins[i]
    # A stack instead of recursion. A frame is a set: its size, its last node, and the run of
    # `places` where that node stands in the records.
    frames[LENGTH], frames[NODE], frames[START], frames[END] = 1, items[0], 0, len(begins)
    depth = FRAME
    while depth > 0:
        depth -= FRAME
        length, start, top = frames[depth], frames[depth + START], frames[depth + END]
        prefix[length - 1] = frames[depth + NODE]
        # One scan behind the places counts all extensions by one node.
        n_touched = 0
        for i in range(start, top):
            at = places[i] + 1
            while items[at] >= 0:
                if counts[items[at]] == 0:
                    touched[n_touched] = items[at]
                    n_touched += 1
                counts[items[at]] += 1
                at += 1
        frames = ensure_room(frames, depth + n_touched * FRAME)
        filled = top
        for i in range(n_touched):
            node = touched[i]
            count = counts[node]
            # From here on: the frame of the extension, or -1 if it gets none.
            counts[node] = -1
            apart = True
            # The first node was tested against all others when the records were cut.
            for j in range(1, length):
                if starts[prefix[j]] <= starts[node] < ends[prefix[j]]:
                    apart = False
            if not apart:
                continue
            # Rare: the whole branch below it is rare too and need not be looked at.
            if count < k:
                found = ensure_room(found, (n_found + 1) * m)
                for j in range(m):
                    found[n_found * m + j] = prefix[j] if j < length else -1
                found[n_found * m + length] = node
                n_found += 1
            elif length + 1 < m:
                counts[node] = depth
                frames[depth + LENGTH] = length + 1
                frames[depth + NODE] = node
                frames[depth + START] = filled
                # The run is empty yet; the scan below fills it, up to filled + count.
                frames[depth + END] = filled
                depth += FRAME
                filled += count
        # Write the places of all extensions in a second scan of the same records.
        if filled > top:
            places = ensure_room(places, filled)
            for i in range(start, top):
                at = places[i] + 1
                while items[at] >= 0:
                    frame = counts[items[at]]
                    if frame >= 0:
                        places[frames[frame + END]] = at
                        frames[frame + END] += 1
                    at += 1
        for i in range(n_touched):
            counts[touched[i]] = 0
    return n_found, found


@compiled
def rows_of_split(
    offsets: Int64Array,
    leaves: Int32Array,
    holders: Int64Array,
    first: int,
    end: int,
    child_of: Int64Array,
    n_children: int,
    rank_of: Int64Array,
    seen: BoolArray,
) -> tuple[Int64Array, Int32Array]:
    """Return the records with a leaf in [first, end), over the children and the rest of the cut.

    A record holds first the numbers of the children above its leaves in [first, end), then
    `n_children` plus the ranks of the cut's nodes above its other leaves, each ascending and
    once. Rows of leaves are sorted; `holders` are the records of these leaves, with repetitions;
    `child_of` numbers the children from `first` on; a negative rank leaves a leaf out; `seen` is
    false before and after.

    The records {2, 3} and {4}: 2 and 3 lie below nodes that become children, 4 has rank 0.

    >>> rows_of_split(np.array([0, 2, 4]), np.array([2, 3, 2, 4], np.int32), np.array([0, 1, 0]),
    ...               2, 4, np.array([0, 1]), 2, np.array([-1, -1, -1, -1, 0]), np.zeros(2, bool))
    (array([0, 2, 4]), array([0, 1, 0, 2], dtype=int32))
    """
    # Each record once, in the order of its first leaf in the interval.
    n_rows, size = 0, 0
    rows = np.empty(len(holders), dtype=np.int64)
    for row in holders:
        if not seen[row]:
            seen[row] = True
            rows[n_rows] = row
            n_rows += 1
            size += offsets[row + 1] - offsets[row]
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    items = np.empty(size, dtype=np.int32)
    at = 0
    for i in range(n_rows):
        seen[rows[i]] = False
        row = leaves[offsets[rows[i]] : offsets[rows[i] + 1]]
        # Leaves ascend, so equal numbers stand side by side: comparing with the last is enough.
        before = np.int64(-1)
        for leaf in row:
            if first <= leaf < end and child_of[leaf - first] != before:
                before = child_of[leaf - first]
                items[at] = before
                at += 1
        before = np.int64(-1)
        for leaf in row:
            outside = leaf < first or leaf >= end
            if outside and rank_of[leaf] >= 0 and rank_of[leaf] != before:
                before = rank_of[leaf]
                items[at] = n_children + before
                at += 1
        starts[i + 1] = at
    return starts, items[:at]


@compiled
def rest_is_frequent(
    offsets: Int64Array,
    leaves: Int32Array,
    holder_offsets: Int64Array,
    holders: Int64Array,
    ends: Int32Array,
    first: int,
    end: int,
    set_offsets: Int64Array,
    sets: Int64Array,
    k: int,
    seen: BoolArray,
) -> BoolArray:
    """Tell for each set of nodes whether `k` records hold what it has outside [first, end).

    Asked only of sets with one node inside; of others, and of pairs, the answer is yes. The
    records of node `v` are ``holders[holder_offsets[v] : holder_offsets[ends[v]]]``, with
    repetitions. `seen` is false before and after.

    The records {1, 2, 3} and {2}: only one holds both 2 and 3.

    >>> rest_is_frequent(np.array([0, 3, 4]), np.array([1, 2, 3, 2], np.int32),
    ...     np.array([0, 0, 1, 3, 4]), np.array([0, 0, 1, 0]), np.array([4, 2, 3, 4], np.int32),
    ...     1, 2, np.array([0, 3, 5]), np.array([1, 2, 3, 1, 2]), 2, np.zeros(2, bool))
    array([False,  True])
    """
    answer = np.ones(len(set_offsets) - 1, dtype=np.bool_)
    for s in range(len(answer)):
        nodes = sets[set_offsets[s] : set_offsets[s + 1]]
        inside = 0
        rarest = np.int64(-1)
        for node in nodes:
            if first <= node < end:
                inside += 1
            elif rarest < 0 or (
                holder_offsets[ends[node]] - holder_offsets[node]
                < holder_offsets[ends[rarest]] - holder_offsets[rarest]
            ):
                rarest = node
        # Pairs: one node is left, and single nodes are frequent already.
        if inside != 1 or len(nodes) < 3:
            continue
        # Only records of the rarest node outside can hold all of them.
        rows = holders[holder_offsets[rarest] : holder_offsets[ends[rarest]]]
        found = 0
        for row in rows:
            if seen[row] or found >= k:
                continue
            seen[row] = True
            held = leaves[offsets[row] : offsets[row + 1]]
            missing = 0
            for node in nodes:
                place = np.searchsorted(held, node)
                # The first leaf not before the node lies below it or nothing does.
                below = place < len(held) and held[place] < ends[node]
                missing += not (below or first <= node < end)
            found += missing == 0
        for row in rows:
            seen[row] = False
        answer[s] = found >= k
    return answer
