"""Primitives over compressed rows: order, grouping, pairs, room for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.bitsets import lowest_bit
from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array, Weights

_ONE = np.uint64(1)
_SIX, _TWELVE, _EIGHTEEN = np.uint64(6), np.uint64(12), np.uint64(18)
_LOW_SIX = np.uint64(63)


@compiled
def ensure_room(values: Weights, size: int | np.int64) -> Weights:
    """Return an array of at least `size` places that begins with `values`, of the same type.

    It doubles, so that filling an array entry by entry copies each entry a few times only.

    >>> ensure_room(np.array([7, 8]), 3)[:2].tolist()
    [7, 8]
    """
    if size <= len(values):
        return values
    longer = np.empty(2 * size, dtype=values.dtype)
    longer[: len(values)] = values
    return longer


@compiled
def row_pairs(offsets: Int64Array, items: Int32Array, width: int) -> Int64Array:
    """Return ``a * width + b`` for all items a before b of a row, row after row.

    >>> row_pairs(np.array([0, 3, 4]), np.array([0, 1, 2, 1], dtype=np.int32), 10).tolist()
    [1, 2, 12]
    """
    # n items of a row make n (n - 1) / 2 pairs: count first, then write without growing.
    total = np.int64(0)
    for row in range(len(offsets) - 1):
        length = offsets[row + 1] - offsets[row]
        total += length * (length - 1) // 2
    pairs = np.empty(total, dtype=np.int64)
    place = 0
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            begin = np.int64(items[i]) * width
            for j in range(i + 1, offsets[row + 1]):
                pairs[place] = begin + items[j]
                place += 1
    return pairs


@compiled
def rank_rows(
    ends: Int64Array, start: int, items: Int32Array, rank: Int32Array, n_ranks: int
) -> int:
    """Replace items by their ranks, sort each row and drop repetitions, all in place.

    The first row begins at `start`, each other one at the end of the one before. Items whose rank
    is negative are dropped; all ranks are below `n_ranks`. Returns where the last row ends now;
    `ends` follows the items.

    Notes
    -----
    A row's ranks become bits of a set, which is read off in order and left empty for the next
    row. Above each 64 words of it a word tells which of them hold bits, and above those again, so
    that reading off costs little more than the row is long. Nothing is compared: a sort would
    branch on comparisons that cannot be foreseen, and repetitions fall together by themselves.

    Examples
    --------
    >>> ends, items = np.array([3, 4]), np.array([2, 0, 2, 1], np.int32)
    >>> kept = rank_rows(ends, 0, items, np.array([7, 5, 6], np.int32), 8)
    >>> ends.tolist(), items[:kept].tolist()
    ([2, 3], [6, 7, 5])
    """
    low = np.zeros((n_ranks >> 6) + 1, dtype=np.uint64)  # a bit for each rank
    middle = np.zeros((n_ranks >> 12) + 1, dtype=np.uint64)  # a bit for each word of `low`
    high = np.zeros((n_ranks >> 18) + 1, dtype=np.uint64)  # a bit for each word of `middle`
    # One word mostly is enough, and then a variable serves: a word in memory that each item of a
    # row changes would have to be awaited each time.
    single = len(high) == 1
    kept = np.uint64(start)
    begin = kept
    for row in range(np.uint64(len(ends))):
        end = np.uint64(ends[row])
        top = np.uint64(0)
        for place in range(begin, end):
            given = rank[np.uint64(items[place])]
            if given >= 0:
                item = np.uint64(given)
                low[item >> _SIX] |= _ONE << (item & _LOW_SIX)
                middle[item >> _TWELVE] |= _ONE << ((item >> _SIX) & _LOW_SIX)
                if single:
                    top |= _ONE << (item >> _TWELVE)
                else:
                    high[item >> _EIGHTEEN] |= _ONE << ((item >> _TWELVE) & _LOW_SIX)
        # All items of the row are read: what is kept may now overwrite them.
        for h in range(np.uint64(len(high))):
            marked_middles = high[h] | top
            high[h] = 0
            while marked_middles != 0:
                m = (h << _SIX) + lowest_bit(marked_middles)
                marked_middles &= marked_middles - _ONE  # without the lowest bit
                marked_lows = middle[m]
                middle[m] = 0
                while marked_lows != 0:
                    w = (m << _SIX) + lowest_bit(marked_lows)
                    marked_lows &= marked_lows - _ONE
                    bits = low[w]
                    low[w] = 0
                    while bits != 0:
                        items[kept] = np.int32((w << _SIX) + lowest_bit(bits))
                        bits &= bits - _ONE
                        kept += _ONE
        ends[row] = np.int64(kept)
        begin = end
    return np.int64(kept)


@compiled
def group_pairs(
    records: Int32Array, items: Int32Array, starts: Int64Array, grouped: Int32Array
) -> None:
    """Put the items of each record together, in the order in which they come.

    Parameters
    ----------
    records, items
        Pairs of a record's and an item's number.
    starts
        Where the items of each record begin; afterwards, where they end.
    grouped
        Receives the items.

    Examples
    --------
    >>> grouped = np.empty(3, np.int32)
    >>> group_pairs(
    ...     np.array([1, 0, 1], np.int32), np.array([7, 8, 9], np.int32), np.array([0, 1]), grouped)
    >>> grouped.tolist()
    [8, 7, 9]
    """
    for pair in range(len(records)):
        record = records[pair]
        grouped[starts[record]] = items[pair]
        starts[record] += 1


@compiled
def count_pairs(records: Int32Array, offsets: Int64Array) -> bool:
    """Add up where the rows of records end that pairs name; tell whether pairs are in order.

    `offsets` holds zeros, one more than there are records.

    >>> offsets = np.zeros(4, np.int64)
    >>> count_pairs(np.array([2, 0, 2], np.int32), offsets), offsets.tolist()
    (False, [0, 1, 1, 3])
    """
    ordered = True
    last = 0
    for pair in range(len(records)):
        record = records[pair]
        offsets[record + 1] += 1
        ordered &= record >= last
        last = record
    for record in range(1, len(offsets)):
        offsets[record] += offsets[record - 1]
    return ordered


@compiled
def number_codes(codes: Int32Array, numbers: Int32Array) -> int:
    """Replace codes by numbers in the order of their first appearance; return how many there are.

    `numbers` holds -1 for each possible code, and afterwards the number of each that occurs.

    Examples
    --------
    >>> codes = np.array([9, 4, 9], np.int32)
    >>> number_codes(codes, np.full(10, -1, np.int32)), codes.tolist()
    (2, [0, 1, 0])
    """
    known = np.int32(0)
    for place in range(len(codes)):
        code = codes[place]
        number = numbers[code]
        if number < 0:
            number = known
            numbers[code] = number
            known += np.int32(1)
        codes[place] = number
    return known


@compiled
def transpose(
    offsets: Int64Array, values: Int32Array, n_values: int
) -> tuple[Int64Array, Int32Array]:
    """Return for each value the rows that hold it, ascending; done twice it sorts every row.

    >>> transpose(np.array([0, 2, 3]), np.array([1, 0, 1], np.int32), 2)
    (array([0, 1, 3]), array([0, 0, 1], dtype=int32))
    """
    starts = np.zeros(n_values + 1, np.int64)
    for value in values:
        starts[value + 1] += 1
    for value in range(n_values):
        starts[value + 1] += starts[value]
    # Rows are visited in order, so each list ascends.
    write = starts[:-1].copy()
    rows = np.empty(len(values), np.int32)
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            rows[write[values[at]]] = row
            write[values[at]] += 1
    return starts, rows
