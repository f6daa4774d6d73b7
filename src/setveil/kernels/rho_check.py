"""The exact check of ρ-uncertainty for one sensitive item at a time: counts and certificate.

Rows are distinct and weighted, longest first; items are numbered from the rarest on, so that a
row's first item has the shortest list of rows (see `Index`).

A threshold is three integers (p, q, strict). A rule that `with_item` of the records holding its
antecedent confirm and `without` do not breaks it when ``without <= allowed(with_item)``: its
confidence is then at least p/q or, if strict, more than p/q.

The longer kernels stop after about `steps` steps and go on when called again, so that their
caller can look at the clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import BoolArray, Int32Array, Int64Array, SignArray


MANY = 512  # rows that are looked for at once: a call costs as much as some of them


class Index(NamedTuple):
    """Weighted distinct rows, both ways round.

    `row_items` from ``row_starts[t]`` on are the items of row t, `list_rows` from
    ``list_starts[x]`` on the rows of item x, both ascending. `signs` has one of 64 bits per item
    of a row: a row whose bits lack one of an itemset's cannot hold it. `supports` counts the
    records with each item. `covers` are the rows of the most frequent items as bits, the last
    item's last: reading them is faster than reading a list that holds many of all rows. A row's
    hash is the sum of its items' hashes, and rows of one length are sorted by it.
    """

    row_starts: Int64Array
    row_items: Int32Array
    weights: Int64Array
    signs: SignArray
    list_starts: Int64Array
    list_rows: Int32Array
    supports: Int64Array
    covers: SignArray
    hashes: Int64Array
    item_hashes: Int64Array


class Marks(NamedTuple):
    """Notes on rows that the next item voids by its own, larger tick.

    Row t holds the item if ``holder[t]`` is the tick; ``left[t]`` of its weight is not yet
    reserved if ``left_tick[t]`` is (else all of it).
    """

    holder: Int64Array
    left: Int64Array
    left_tick: Int64Array


@compiled
def allowed(with_item: int, p: int, q: int, strict: int) -> int:
    """Return the most records without the item at which a rule still breaks the threshold.

    >>> allowed(3, 1, 2, 0), allowed(3, 1, 2, 1), allowed(3, 1, 1, 1)
    (3, 2, -1)
    """
    return (with_item * (q - p) - strict) // p


@compiled
def count_pairs(
    index: Index,
    sensitive: Int64Array,
    begin: int,
    p: int,
    q: int,
    strict: int,
    rising: bool,
    found: Int64Array,
    steps: int,
) -> tuple[int, int]:
    """Write the rules {x} → a that break the threshold into `found`, as (a, x, support of both).

    Starts at ``sensitive[begin]`` and ends early when `steps` are used up or the room in `found`
    may not do for the next item. With `rising`, each rule found raises the threshold to its own
    confidence (strictly) and takes the place of the one before: the best is left. Returns where
    to begin next, and how many rules were written.

    The rows {0, 2}, {1, 2} and {2}, with 0 sensitive: one rule, {2} → 0, of confidence 1/3.

    >>> index = Index(np.array([0, 2, 4, 5]), np.array([0, 2, 1, 2, 2], np.int32),
    ...               np.ones(3, np.int64), np.zeros(3, np.uint64), np.array([0, 1, 2, 5]),
    ...               np.array([0, 1, 0, 1, 2], np.int32), np.array([1, 1, 3]),
    ...               np.zeros((0, 1), np.uint64), np.array([5, 6, 4]), np.array([1, 2, 4]))
    >>> found = np.zeros((3, 3), np.int64)
    >>> count_pairs(index, np.array([0]), 0, 1, 3, 0, False, found, 1000)
    (1, 1)
    >>> found[0].tolist()
    [0, 2, 1]
    """
    n_items = len(index.supports)
    tally = np.zeros(n_items, dtype=np.int64)
    touched = np.empty(n_items, dtype=np.int64)
    used, n_found = 0, 0
    for s in range(begin, len(sensitive)):
        if used > steps or len(found) - n_found < n_items:
            return s, n_found
        a = sensitive[s]
        n_touched = 0
        for at in range(index.list_starts[a], index.list_starts[a + 1]):
            row = index.list_rows[at]
            for place in range(index.row_starts[row], index.row_starts[row + 1]):
                x = index.row_items[place]
                if tally[x] == 0:
                    touched[n_touched] = x
                    n_touched += 1
                tally[x] += index.weights[row]
            used += index.row_starts[row + 1] - index.row_starts[row]
        for i in range(n_touched):
            x = touched[i]
            both, tally[x] = tally[x], 0
            if x == a or index.supports[x] - both > allowed(both, p, q, strict):
                continue
            if rising:
                p, q, strict, n_found = both, index.supports[x], 1, 0
            found[n_found, 0], found[n_found, 1], found[n_found, 2] = a, x, both
            n_found += 1
    return len(sensitive), n_found


@compiled
def first_shorter(index: Index, length: int) -> int:
    """Return the first row (they come longest first) with fewer than `length` items."""
    low, high = 0, len(index.weights)
    while low < high:
        middle = (low + high) // 2
        if index.row_starts[middle + 1] - index.row_starts[middle] >= length:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def count_blocks(index: Index, itemset: Int64Array) -> int:
    """Return how many blocks may hold rows with an itemset; see `rows_with`."""
    end, x = first_shorter(index, len(itemset)), itemset[0]
    if x >= len(index.supports) - len(index.covers):
        return (end + 63) >> 6
    first = index.list_starts[x]
    low, high = first, index.list_starts[x + 1]
    while low < high:
        middle = (low + high) // 2
        if index.list_rows[middle] < end:
            low = middle + 1
        else:
            high = middle
    return int(low - first + 63) >> 6


@compiled
def equal_row(index: Index, itemset: Int64Array, value: int) -> int:
    """Return the row that is the (sorted) itemset, whose hash is `value`, or -1."""
    low, end = index.list_starts[itemset[0]], index.list_starts[itemset[0] + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        row = index.list_rows[middle]
        more = index.row_starts[row + 1] - index.row_starts[row] - len(itemset)
        if more > 0 or (more == 0 and index.hashes[row] < value):
            low = middle + 1
        else:
            high = middle
    for at in range(low, end):
        row = index.list_rows[at]
        start = index.row_starts[row]
        if index.row_starts[row + 1] - start != len(itemset) or index.hashes[row] != value:
            break
        same = 0
        while same < len(itemset) and index.row_items[start + same] == itemset[same]:
            same += 1
        if same == len(itemset):
            return int(row)
    return -1


@compiled
def sign_of(itemset: Int64Array) -> np.uint64:
    """Return the bits that every row with the itemset has."""
    sign = np.uint64(0)
    for x in itemset:
        sign |= np.uint64(1) << np.uint64(x & 63)
    return sign


@compiled
def rows_with(
    index: Index, itemset: Int64Array, sign: np.uint64, block: int, enough: int, found: Int64Array
) -> tuple[int, int]:
    """Write the rows with an itemset into `found`, shortest first, until there are `enough`.

    A block is 64 rows if there are covers of all the items, else 64 entries of the list of the
    first item, which is the rarest. Reads the blocks before `block`, the last first; returns the
    block to go on before, and how many rows were found (up to 63 more than enough).
    """
    n_found = 0
    first, rare = itemset[0], len(index.supports) - len(index.covers)
    start, stop = index.list_starts[first], index.list_starts[first + 1]
    while block > 0 and n_found < enough:
        block -= 1
        if first >= rare:
            bits = index.covers[first - rare, block]
            for i in range(1, len(itemset)):
                if bits == 0:
                    break
                bits &= index.covers[itemset[i] - rare, block]
            row = (block << 6) + 63
            while bits:
                if not bits >> np.uint64(56):
                    bits <<= np.uint64(8)
                    row -= 8
                    continue
                if bits >> np.uint64(63):
                    found[n_found] = row
                    n_found += 1
                bits <<= np.uint64(1)
                row -= 1
            continue
        for place in range(min(start + (block << 6) + 64, stop) - 1, start + (block << 6) - 1, -1):
            row = index.list_rows[place]
            if sign & ~index.signs[row]:
                continue
            at, end = index.row_starts[row], index.row_starts[row + 1]
            i = 0
            while i < len(itemset) and at < end and index.row_items[at] <= itemset[i]:
                i += index.row_items[at] == itemset[i]
                at += 1
            if i == len(itemset):
                found[n_found] = row
                n_found += 1
    return block, n_found


@compiled
def reserve(
    index: Index,
    a: int,
    p: int,
    q: int,
    strict: int,
    cap: int,
    tick: int,
    marks: Marks,
    margins: Int64Array,
    unmet: BoolArray,
    begin: int,
    steps: int,
) -> tuple[int, int]:
    """Reserve for each row t with `a` enough rows without `a` that hold the rest of t.

    Reserved weights are private to t. Where every t gets more than ``allowed(weight of t)``, any
    antecedent is held by more records without `a` than allowed, since what is reserved for the
    rows that hold it are different records that hold it: `a` is safe without a search. Longest t
    first; for each t the shortest rows first, which fewer others can use.

    ``margins[j]`` becomes the weight of the rows that hold t without `a`, as far as counted (all
    of them for unmet t, else at least until it passes `cap`); ``unmet[j]`` tells whether the
    reservation fell short. A row that is `a` alone has no antecedent and gets an endless margin.

    Returns where to begin next, and j if t without `a` is itself a violating antecedent, else -1.

    The rows {0, 1} and {1}, with 0 sensitive, at 1/2 or more: {1} → 0 has confidence 1/2. When
    the second row stands for two records it is safe.

    >>> index = Index(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([1, 1]),
    ...               np.array([3, 2], np.uint64), np.array([0, 1, 3]),
    ...               np.array([0, 0, 1], np.int32), np.array([1, 2]),
    ...               np.zeros((0, 1), np.uint64), np.array([3, 2]), np.array([1, 2]))
    >>> marks = Marks(*np.zeros((3, 2), np.int64))
    >>> margins, unmet = np.zeros(1, np.int64), np.zeros(1, np.bool_)
    >>> reserve(index, 0, 1, 2, 0, -1, 1, marks, margins, unmet, 0, 1000)
    (1, 0)
    >>> index.weights[1] = 2
    >>> reserve(index, 0, 1, 2, 0, -1, 2, marks, margins, unmet, 0, 1000)
    (1, -1)
    >>> margins.tolist(), unmet.tolist()
    ([2], [False])
    """
    first, last = index.list_starts[a], index.list_starts[a + 1]
    if begin == 0:
        for at in range(first, last):
            marks.holder[index.list_rows[at]] = tick
    found = np.empty(MANY + 64, dtype=np.int64)
    used = 0
    for j in range(begin, last - first):
        if used > steps:
            return j, -1
        t = index.list_rows[first + j]
        start, length = index.row_starts[t], index.row_starts[t + 1] - index.row_starts[t] - 1
        unmet[j] = False
        margins[j] = np.int64(1) << 62
        if length == 0:
            continue
        rest = np.empty(length, dtype=np.int64)
        at = 0
        for place in range(start, start + length + 1):
            if index.row_items[place] != a:
                rest[at] = index.row_items[place]
                at += 1
        limit = allowed(index.weights[t], p, q, strict)
        seen, kept = np.int64(0), np.int64(0)
        sign, block = sign_of(rest), count_blocks(index, rest)
        used += length
        # A row that is the rest itself serves fewest others, and is found without a scan.
        equal = equal_row(index, rest, index.hashes[t] - index.item_hashes[a])
        found[0], n_found, enough = equal, np.int64(equal >= 0), 8
        while True:
            for row in found[:n_found]:
                if marks.holder[row] == tick or (row == equal and enough > 8):
                    continue
                used += 1
                seen += index.weights[row]
                if marks.left_tick[row] != tick:
                    marks.left_tick[row] = tick
                    marks.left[row] = index.weights[row]
                taken = min(marks.left[row], max(limit + 1 - kept, 0))
                marks.left[row] -= taken
                kept += taken
            if block == 0 or (kept > limit and seen > cap):
                break
            used += 8 * block
            block, n_found = rows_with(index, rest, sign, block, enough, found)
            used -= 8 * block
            enough = MANY
        margins[j] = seen
        unmet[j] = kept <= limit
        if seen <= limit:
            return j + 1, j
    return last - first, -1


@compiled
def count_without(
    index: Index, itemset: Int64Array, tick: int, marks: Marks, limit: int
) -> tuple[int, int]:
    """Return the weight of the rows that hold a (sorted) itemset and are not marked as holders.

    Counting ends once it passes `limit`. Also returns the steps taken.

    >>> index = Index(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([1, 5]),
    ...               np.array([3, 2], np.uint64), np.array([0, 1, 3]),
    ...               np.array([0, 0, 1], np.int32), np.array([1, 6]),
    ...               np.zeros((0, 1), np.uint64), np.array([3, 2]), np.array([1, 2]))
    >>> marks = Marks(*np.zeros((3, 2), np.int64))
    >>> marks.holder[0] = 1
    >>> count_without(index, np.array([1]), 1, marks, 9)
    (5, 10)
    """
    found = np.empty(MANY + 64, dtype=np.int64)
    sign, block = sign_of(itemset), count_blocks(index, itemset)
    seen, used = np.int64(0), 0
    enough = min(limit // 4 + 8, MANY)  # a row may stand for several records
    while block > 0 and seen <= limit:
        used += 8 * block
        block, n_found = rows_with(index, itemset, sign, block, enough, found)
        used += n_found - 8 * block
        for row in found[:n_found]:
            if marks.holder[row] != tick:
                seen += index.weights[row]
    return seen, used
