"""The exact check of ρ-uncertainty: the search through closed antecedents, depth first.

See :mod:`setveil.kernels.rho_check` for the arrays and for what a threshold is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.kernels.compiling import compiled
from setveil.kernels.rho_check import Index, Marks, allowed, count_without

if TYPE_CHECKING:
    from setveil.kernels.types import BoolArray, Int32Array, Int64Array

DEPTH, FRESH, TOTAL, WITHOUT, CHOSEN = range(5)  # places in the state of a search
DONE, PAUSED, FOUND = range(3)  # what a search says
CUT, OPEN, HIT = range(3)  # what becomes of a node


class Frames(NamedTuple):
    """Where a search stands, so that it can be left and taken up again.

    The cover of depth d is ``cover[:sizes[d]]`` (a child's cover is a part of its parent's, so
    one array serves all), its items to try are ``waiting[borders[d]:borders[d + 1]]``, those
    before ``places[d]`` being barred, and ``chosen[starts[d]:starts[d + 1]]`` is what it adds to
    the antecedent. `state` holds the numbers named above.
    """

    cover: Int64Array
    sizes: Int64Array
    borders: Int64Array
    places: Int64Array
    starts: Int64Array
    waiting: Int64Array
    chosen: Int64Array
    is_chosen: BoolArray
    is_barred: BoolArray
    state: Int64Array


class Tallies(NamedTuple):
    """Per item, over the rows of a cover: rows, weight, least margin, whether one is unmet."""

    rows: Int64Array
    weight: Int64Array
    least: Int64Array
    near: BoolArray


@compiled
def shrink(
    cover: Int64Array,
    size: int,
    weights: Int64Array,
    margins: Int64Array,
    p: int,
    q: int,
    strict: int,
) -> tuple[int, int]:
    """Drop from ``cover[:size]`` the rows that no violating antecedent of the cover lies in.

    An antecedent in row j is held by at least ``margins[j]`` records without the item; where the
    whole cover allows fewer, j is none of its rows. What is left allows fewer still, and so on.
    Returns the new size and weight.

    >>> shrink(np.array([0, 1, 2]), 3, np.array([1, 1, 1]), np.array([9, 2, 1]), 1, 2, 0)
    (2, 2)
    """
    total = 0
    for i in range(size):
        total += weights[cover[i]]
    while True:
        before = size
        most = allowed(total, p, q, strict)
        i = 0
        while i < size:
            j = cover[i]
            if margins[j] > most:
                size -= 1
                cover[i], cover[size] = cover[size], j
                total -= weights[j]
            else:
                i += 1
        if size == before:
            return size, total


@compiled
def sort_numbers(numbers: Int64Array) -> None:
    """Sort in place (a shell sort: numba's own takes longer to compile than all the rest).

    >>> numbers = np.array([3, 1, 2])
    >>> sort_numbers(numbers)
    >>> numbers.tolist()
    [1, 2, 3]
    """
    gap = 1
    while gap < len(numbers) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(numbers)):
            value, at = numbers[i], i
            while at >= gap and numbers[at - gap] > value:
                numbers[at] = numbers[at - gap]
                at -= gap
            numbers[at] = value
        gap //= 3


@compiled
def split_cover(index: Index, rows: Int32Array, cover: Int64Array, size: int, x: int) -> int:
    """Move the rows with item `x` to the front of ``cover[:size]``; return how many they are."""
    front = 0
    for i in range(size):
        j = cover[i]
        low, end = index.row_starts[rows[j]], index.row_starts[rows[j] + 1]
        high = end
        while low < high:
            middle = (low + high) // 2
            if index.row_items[middle] < x:
                low = middle + 1
            else:
                high = middle
        if low < end and index.row_items[low] == x:
            cover[i], cover[front] = cover[front], j
            front += 1
    return front


@compiled
def tally_cover(
    index: Index,
    rows: Int32Array,
    weights: Int64Array,
    margins: Int64Array,
    unmet: BoolArray,
    cover: Int64Array,
    tallies: Tallies,
    touched: Int64Array,
) -> tuple[int, int]:
    """Fill the tallies for a cover; return how many items it touches and how many it read."""
    n_touched, read = 0, 0
    for j in cover:
        start, end = index.row_starts[rows[j]], index.row_starts[rows[j] + 1]
        read += end - start
        for place in range(start, end):
            x = index.row_items[place]
            if tallies.rows[x] == 0:
                touched[n_touched] = x
                n_touched += 1
                tallies.weight[x] = 0
                tallies.least[x] = margins[j]
                tallies.near[x] = False
            tallies.rows[x] += 1
            tallies.weight[x] += weights[j]
            tallies.least[x] = min(tallies.least[x], margins[j])
            tallies.near[x] |= unmet[j]
    return n_touched, read


@compiled
def open_node(
    index: Index,
    a: int,
    p: int,
    q: int,
    strict: int,
    tick: int,
    marks: Marks,
    weights: Int64Array,
    margins: Int64Array,
    unmet: BoolArray,
    frames: Frames,
    tallies: Tallies,
    touched: Int64Array,
) -> tuple[int, int]:
    """Close and test the node at ``state[DEPTH]`` and list the items to try; see `search`.

    Returns what becomes of the node, and the steps taken.
    """
    state, d = frames.state, frames.state[DEPTH]
    rows = index.list_rows[index.list_starts[a] : index.list_starts[a + 1]]
    size, total = shrink(frames.cover, frames.sizes[d], weights, margins, p, q, strict)
    frames.sizes[d] = size
    frames.starts[d + 1] = frames.starts[d]
    frames.borders[d + 1] = frames.borders[d]
    frames.places[d] = frames.borders[d]
    n_unmet = 0
    for i in range(size):
        n_unmet += unmet[frames.cover[i]]
    if n_unmet == 0:
        return CUT, size
    cover = frames.cover[:size]
    n_touched, used = tally_cover(index, rows, weights, margins, unmet, cover, tallies, touched)
    n_chosen, first = frames.starts[d], frames.borders[d]
    n_waiting, verdict = first, OPEN
    for i in range(n_touched):
        x = touched[i]
        if tallies.rows[x] == size:
            if frames.is_barred[x]:
                verdict = CUT
            elif x != a and not frames.is_chosen[x]:
                frames.is_chosen[x] = True
                frames.chosen[n_chosen] = x
                n_chosen += 1
        elif tallies.near[x] and not frames.is_barred[x]:
            frames.waiting[n_waiting] = x
            n_waiting += 1
    frames.starts[d + 1] = n_chosen
    if verdict == OPEN:
        # Items in no violating antecedent of this cover are barred at once; they come first.
        place = first
        for i in range(first, n_waiting):
            x = frames.waiting[i]
            if tallies.least[x] > allowed(tallies.weight[x], p, q, strict):
                frames.is_barred[x] = True
                frames.waiting[i], frames.waiting[place] = frames.waiting[place], x
                place += 1
        sort_numbers(frames.waiting[place:n_waiting])
        frames.places[d] = place
        frames.borders[d + 1] = n_waiting
    for i in range(n_touched):
        tallies.rows[touched[i]] = 0
    if verdict == OPEN and n_chosen > 0:
        most = allowed(total, p, q, strict)
        itemset = frames.chosen[:n_chosen].copy()
        sort_numbers(itemset)
        seen, taken = count_without(index, itemset, tick, marks, most)
        used += taken
        if seen <= most:
            state[TOTAL], state[WITHOUT], state[CHOSEN] = total, seen, n_chosen
            verdict = HIT
    return verdict, used


@compiled
def search(
    index: Index,
    a: int,
    p: int,
    q: int,
    strict: int,
    tick: int,
    marks: Marks,
    margins: Int64Array,
    unmet: BoolArray,
    frames: Frames,
    steps: int,
) -> int:
    """Look for an antecedent of `a` that breaks the threshold; DONE says that there is none.

    A node stands for the violating antecedents that hold the chosen items and none of the barred;
    all rows with `a` that hold one of them are in its cover. The cover shrinks, what all its rows
    share is chosen too, and each further item is tried in turn and barred from then on. Cut are
    nodes whose shared items are barred (all was seen before) and those without unmet rows (see
    `reserve`): every violating antecedent lies in an unmet row, so only their items are tried.

    FOUND leaves the antecedent in ``chosen[:state[CHOSEN]]``, with ``state[TOTAL]`` records that
    confirm the rule and ``state[WITHOUT]`` that do not. PAUSED says that the steps are used up.
    ``state[FRESH]`` says that the node at ``state[DEPTH]`` is yet to be opened; a new search
    starts so, at depth 0 with the whole cover.
    """
    state = frames.state
    rows = index.list_rows[index.list_starts[a] : index.list_starts[a + 1]]
    weights = np.empty(len(rows), dtype=np.int64)
    for j in range(len(rows)):
        weights[j] = index.weights[rows[j]]
    n_items = len(index.supports)
    tallies = Tallies(
        np.zeros(n_items, dtype=np.int64),
        np.empty(n_items, dtype=np.int64),
        np.empty(n_items, dtype=np.int64),
        np.empty(n_items, dtype=np.bool_),
    )
    touched = np.empty(n_items, dtype=np.int64)
    used = 0
    while state[DEPTH] >= 0:
        if used > steps:
            return PAUSED
        d = state[DEPTH]
        if state[FRESH]:
            state[FRESH] = 0
            verdict, taken = open_node(
                index, a, p, q, strict, tick, marks, weights, margins, unmet,
                frames, tallies, touched,
            )  # fmt: skip
            used += taken
            if verdict == HIT:
                return FOUND
        first, place, end = frames.borders[d], frames.places[d], frames.borders[d + 1]
        if place < end:
            x = frames.waiting[place]
            frames.places[d] += 1
            if place > first:  # all with the item before has been seen
                frames.is_barred[frames.waiting[place - 1]] = True
            frames.sizes[d + 1] = split_cover(index, rows, frames.cover, frames.sizes[d], x)
            used += frames.sizes[d]
            state[DEPTH], state[FRESH] = d + 1, 1
            continue
        for i in range(first, end):
            frames.is_barred[frames.waiting[i]] = False
        for i in range(frames.starts[d], frames.starts[d + 1]):
            frames.is_chosen[frames.chosen[i]] = False
        state[DEPTH] = d - 1
    return DONE
