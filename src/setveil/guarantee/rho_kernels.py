"""The exact check of ρ-uncertainty for one sensitive item at a time: counts, certificate, search.

Rows are distinct and weighted, longest first; items are numbered from the rarest on, so that a
row's first item has the shortest list of rows (see `Index`).

A threshold is three integers (p, q, strict). A rule that `with_item` of the records holding its
antecedent confirm and `without` do not breaks it when ``without <= allowed(with_item)``: its
confidence is then at least p/q or, if strict, more than p/q.

The longer kernels stop after about `steps` steps and go on when called again, so that their
caller can look at the clock.
"""

# int and np.int64 are one type in compiled code.
# mypy: disable-error-code="assignment, return-value"

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import BoolArray, Int32Array, Int64Array, SignArray


@compiled
def merge_rows(
    offsets: Int64Array, items: Int32Array, hashes_of: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Find the distinct rows: the first of each, how many there are, and its hash.

    The hash of a row is the (wrapping) sum of the hashes of its items. Rows that share a hash are
    compared item by item; empty rows are left out.

    >>> items = np.array([1, 2, 1, 2, 5], dtype=np.int32)
    >>> first, copies, hashes = merge_rows(np.array([0, 2, 2, 4, 5]), items, np.arange(6))
    >>> first.tolist(), copies.tolist(), hashes.tolist()
    ([0, 3], [2, 1], [3, 5])
    """
    n = len(offsets) - 1
    # A hash table with open addressing, at most half full.
    size = 16
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    copies = np.empty(n, dtype=np.int64)
    hashes = np.empty(n, dtype=np.int64)
    found = 0
    for row in range(n):
        start, end = offsets[row], offsets[row + 1]
        if start == end:
            continue
        # A sum: the hash of a row without an item is a difference.
        value = np.int64(0)
        for at in range(start, end):
            value += hashes_of[items[at]]
        slot = value & (size - 1)
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = found
                first[found], copies[found], hashes[found] = row, 1, value
                found += 1
                break
            if hashes[other] == value:
                begin = offsets[first[other]]
                length = end - start
                same = offsets[first[other] + 1] - begin == length
                if same:
                    for at in range(length):
                        if items[begin + at] != items[start + at]:
                            same = False
                            break
                if same:
                    copies[other] += 1
                    break
            slot = (slot + 1) & (size - 1)
    return first[:found].copy(), copies[:found].copy(), hashes[:found].copy()


@compiled
def bit_rows(starts: Int64Array, columns: Int32Array, begin: int, width: int) -> SignArray:
    """Return the rows from `begin` on with one bit per column.

    >>> bit_rows(np.array([0, 1, 3]), np.array([5, 0, 2], dtype=np.int32), 1, 3)
    array([[5]], dtype=uint64)
    """
    bits = np.zeros((len(starts) - 1 - begin, (width + 63) >> 6), dtype=np.uint64)
    for row in range(begin, len(starts) - 1):
        for at in range(starts[row], starts[row + 1]):
            column = columns[at]
            bits[row - begin, column >> 6] |= np.uint64(1) << np.uint64(column & 63)
    return bits


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
    # From with / (with + without) >= p / q, or > if strict, solved for the records without; whole
    # numbers only, so that no rounding decides.
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
        # At most one rule per item of the table can come from the next sensitive item.
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
            # Clear while reading: the tally is zero again for the next item.
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
    # Rows come longest first, so a binary search finds the border.
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
    # Rows shorter than the itemset stand at the end of the list and are left out.
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
    # Rows of one length and hash: nearly always one, but hashes may collide.
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
            # The covers of all items, ANDed: 64 rows at a time. Items ascend from the rarest to the
            # most frequent, so if the first has a cover, all have.
            bits = index.covers[first - rare, block]
            for i in range(1, len(itemset)):
                if bits == 0:
                    break
                bits &= index.covers[itemset[i] - rare, block]
            row = (block << 6) + 63
            while bits:
                # Eight empty rows at once.
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
            # A bit of the itemset is missing: the row cannot hold it.
            if sign & ~index.signs[row]:
                continue
            at, end = index.row_starts[row], index.row_starts[row + 1]
            i = 0
            # Both ascend: one walk along the row.
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
    # The marks of an item are set once, also if its reservation is taken up again later.
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
        # t needs more than this.
        limit = allowed(index.weights[t], p, q, strict)
        seen, kept = np.int64(0), np.int64(0)
        sign, block = sign_of(rest), count_blocks(index, rest)
        used += length
        # A row that is the rest itself serves fewest others, and is found without a scan.
        equal = equal_row(index, rest, index.hashes[t] - index.item_hashes[a])
        found[0], n_found, enough = equal, np.int64(equal >= 0), 8
        while True:
            for row in found[:n_found]:
                # Rows with `a` do not count, and the equal row was counted first.
                if marks.holder[row] == tick or (row == equal and enough > 8):
                    continue
                used += 1
                seen += index.weights[row]
                if marks.left_tick[row] != tick:
                    marks.left_tick[row] = tick
                    marks.left[row] = index.weights[row]
                # What one t takes no other can: reserved weights are disjoint, which the proof
                # rests on.
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
        # All rows without `a` that hold the rest were counted: the rest itself breaks the
        # threshold.
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
    # Dropping rows lowers what is allowed, which may drop more: until nothing changes.
    while True:
        before = size
        most = allowed(total, p, q, strict)
        i = 0
        while i < size:
            j = cover[i]
            if margins[j] > most:
                size -= 1
                # Dropped rows go behind the cover, so that the parent, whose cover is longer, still
                # has them.
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
    # A permutation within the cover: the parent has the same rows afterwards.
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
    # Every violating antecedent lies in an unmet row; there is none in this cover.
    if n_unmet == 0:
        return CUT, size
    cover = frames.cover[:size]
    n_touched, used = tally_cover(index, rows, weights, margins, unmet, cover, tallies, touched)
    n_chosen, first = frames.starts[d], frames.borders[d]
    n_waiting, verdict = first, OPEN
    for i in range(n_touched):
        x = touched[i]
        if tallies.rows[x] == size:
            # All antecedents of this cover hold a barred item: they were seen when it was chosen.
            if frames.is_barred[x]:
                verdict = CUT
            elif x != a and not frames.is_chosen[x]:
                frames.is_chosen[x] = True
                frames.chosen[n_chosen] = x
                n_chosen += 1
        # Only items of unmet rows are worth trying.
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
    # The largest set that all rows of the cover share: no smaller one has fewer records without
    # `a`.
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
        # Try the next item: its subtree is everything with the item, and it is barred afterwards.
        if place < end:
            x = frames.waiting[place]
            frames.places[d] += 1
            if place > first:  # all with the item before has been seen
                frames.is_barred[frames.waiting[place - 1]] = True
            frames.sizes[d + 1] = split_cover(index, rows, frames.cover, frames.sizes[d], x)
            used += frames.sizes[d]
            state[DEPTH], state[FRESH] = d + 1, 1
            continue
        # Back to the parent: what this node barred and chose is free again.
        for i in range(first, end):
            frames.is_barred[frames.waiting[i]] = False
        for i in range(frames.starts[d], frames.starts[d + 1]):
            frames.is_chosen[frames.chosen[i]] = False
        state[DEPTH] = d - 1
    return DONE
