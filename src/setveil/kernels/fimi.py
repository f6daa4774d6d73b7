"""Reading lines of whole numbers from bytes, and putting compressed rows into order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from setveil.kernels.byte_words import HIGHS, ONES, first_mark, word_at
from setveil.kernels.compiling import compiled

CLEAN = -1
TOO_LARGE = -2

Bytes = npt.NDArray[np.uint8]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

_ZEROS = np.uint64(0x30) * ONES
_PAST_NINE = np.uint64(0x80 - 10) * ONES  # added to a digit's value, it stays below the highest bit
_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_FOURS = np.uint64(0x0000FFFF0000FFFF)
_EIGHTS = np.uint64(0x00000000FFFFFFFF)
_WORD = np.uint64(64)
_EIGHT = np.uint64(8)
_ONE = np.uint64(1)
_NONE = np.int32(2**31 - 1)  # larger than any item


@compiled
def parse_lines(
    text: Bytes,
    values: npt.NDArray[np.signedinteger],
    ends: Int64Array,
    seen: npt.NDArray[np.bool_],
) -> tuple[int, int, int, int]:
    r"""Parse whole lines of non-negative numbers that blanks separate.

    Parameters
    ----------
    text
        Bytes that end with a newline.
    values
        Receives the numbers; room for half the bytes is enough.
    ends
        Receives for each line how many numbers there are up to its end; room for one entry per
        byte is enough.
    seen
        The numbers that occur are marked here, as far as it reaches.

    Returns
    -------
    tuple of int
        Numbers found, lines found, the largest number, and the place of the first byte that is
        not as expected (-1 if all are): neither digit, blank nor line end, a leading zero, a
        nineteenth digit, a carriage return inside a line. Instead of a place, -2 says that a
        number is too large for `values`.

    Examples
    --------
    >>> values, ends, seen = np.empty(4, np.int64), np.empty(7, np.int64), np.zeros(20, bool)
    >>> parse_lines(np.frombuffer(b"3 10\n7\n", np.uint8), values, ends, seen)
    (3, 2, 10, -1)
    >>> values[:3].tolist(), ends[:2].tolist(), np.flatnonzero(seen).tolist()
    ([3, 10, 7], [2, 3], [3, 7, 10])
    """
    # Places are unsigned: an index that may be negative costs a comparison each time.
    size = np.uint64(len(text))
    reach = np.uint64(len(seen))
    limit = np.uint64(2**31) if values.itemsize == 4 else np.uint64(10**18)
    place = found = lines = largest = number = np.uint64(0)
    while place < size:
        digits = np.uint64(0)
        marks = np.uint64(0)
        if place + _EIGHT <= size:
            # Bytes become the values of digits; others get their highest bit set. The first such
            # bit is right, whatever is carried into the bytes above it.
            word = word_at(text, place) ^ _ZEROS
            marks = ((word + _PAST_NINE) | word) & HIGHS
        if marks != 0:
            digits = np.uint64(first_mark(marks))
            if digits > 0:
                # The digits move to the upper end: zeros before them do not change the number.
                # Then pairs, fours and eights of digits are put together, all at once.
                word <<= _WORD - _EIGHT * digits
                word = (word * np.uint64(10) + (word >> np.uint64(8))) & _PAIRS
                word = (word * np.uint64(100) + (word >> np.uint64(16))) & _FOURS
                number = (word * np.uint64(10_000) + (word >> np.uint64(32))) & _EIGHTS
        else:  # eight digits or more, or the end of the text
            number = np.uint64(0)
            while place + digits < size and 48 <= text[place + digits] <= 57:
                if digits == 18 and text[place] != 48:
                    return (
                        np.int64(found),
                        np.int64(lines),
                        np.int64(largest),
                        np.int64(place + digits),
                    )
                number = number * np.uint64(10) + np.uint64(text[place + digits] - 48)
                digits += _ONE
                if text[place] == 48 and digits == 2:
                    break
        if digits > 0:
            if digits > 1 and text[place] == 48:
                return np.int64(found), np.int64(lines), np.int64(largest), np.int64(place + _ONE)
            if number >= limit:
                return np.int64(found), np.int64(lines), np.int64(largest), TOO_LARGE
            values[found] = number
            found += _ONE
            largest = max(largest, number)
            if number < reach:
                seen[number] = True
            place += digits
            if place == size:
                break
        byte = text[place]
        if byte == 10:
            ends[lines] = found
            lines += _ONE
        elif byte == 13:
            if place + _ONE == size or text[place + _ONE] != 10:
                return np.int64(found), np.int64(lines), np.int64(largest), np.int64(place)
        elif byte not in (32, 9):
            return np.int64(found), np.int64(lines), np.int64(largest), np.int64(place)
        place += _ONE
    return np.int64(found), np.int64(lines), np.int64(largest), CLEAN


@compiled
def rank_rows(offsets: Int64Array, items: Int32Array, rank: Int32Array) -> int:
    """Replace items by their ranks, sort each row and drop repetitions, all in place.

    Items whose rank is negative are dropped. Returns the number of items left; `offsets` follows
    them.

    Examples
    --------
    >>> offsets, items = np.array([0, 3, 4]), np.array([2, 0, 2, 1], np.int32)
    >>> kept = rank_rows(offsets, items, np.array([7, 5, 6], np.int32))
    >>> offsets.tolist(), items[:kept].tolist()
    ([0, 2, 3], [6, 7, 5])
    """
    longest = 0
    for row in range(len(offsets) - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    spare = np.empty(longest, dtype=np.int32)
    kept = 0
    start = offsets[0]
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        # What is kept never overtakes what is read: kept <= place throughout.
        first = kept
        last = np.int32(-1)
        rising = True
        for place in range(start, end):
            item = rank[items[place]]
            items[kept] = item
            rising &= item > last
            last = item
            kept += item >= 0
        if not rising:
            sort_row(items, first, kept, spare)
            # Keep each item that differs from the one before: written always, counted if new.
            stop = kept
            kept = first
            last = np.int32(-1)
            for place in range(first, stop):
                item = items[place]
                items[kept] = item
                kept += item != last
                last = item
        offsets[row + 1] = kept
        start = end
    return kept


@compiled
def sort_row(items: Int32Array, first: int, stop: int, spare: Int32Array) -> None:
    """Sort some items, with a spare array of at least as many.

    Eights are sorted by a network and then merged. Neither branches on a comparison: in short
    rows there is nothing to foresee, and a wrong guess costs more than the comparison.

    >>> items = np.array([9, 5, 3, 4, 0], np.int32)
    >>> sort_row(items, 1, 4, np.empty(3, np.int32))
    >>> items.tolist()
    [9, 3, 4, 5, 0]
    """
    for begin in range(first, stop, 8):
        _sort_eight(items, begin, min(begin + 8, stop))
    width = 8
    while width < stop - first:
        # Invariant: runs of `width` items are sorted. Two become one; the first moves out first.
        for begin in range(first, stop - width, 2 * width):
            middle = begin + width
            end = min(middle + width, stop)
            if items[middle - 1] <= items[middle]:
                continue
            for k in range(width):
                spare[k] = items[begin + k]
            left, right, out = 0, middle, begin
            while left < width and right < end:
                a = spare[left]
                b = items[right]
                items[out] = min(a, b)
                left += a <= b
                right += a > b
                out += 1
            while left < width:
                items[out] = spare[left]
                left += 1
                out += 1
        width *= 2


@compiled
def _sort_eight(items: Int32Array, first: int, stop: int) -> None:
    """Sort up to eight items by Batcher's network of 19 comparisons; up to four by one of five."""
    n = stop - first
    if n < 2:
        return
    a = items[first]
    b = items[first + 1]
    c = items[first + 2] if n > 2 else _NONE
    d = items[first + 3] if n > 3 else _NONE
    a, b = min(a, b), max(a, b)
    c, d = min(c, d), max(c, d)
    a, c = min(a, c), max(a, c)
    b, d = min(b, d), max(b, d)
    b, c = min(b, c), max(b, c)
    if n <= 4:
        items[first] = a
        items[first + 1] = b
        if n > 2:
            items[first + 2] = c
        if n > 3:
            items[first + 3] = d
        return
    e = items[first + 4]
    f = items[first + 5] if n > 5 else _NONE
    g = items[first + 6] if n > 6 else _NONE
    h = items[first + 7] if n > 7 else _NONE
    e, f = min(e, f), max(e, f)
    g, h = min(g, h), max(g, h)
    e, g = min(e, g), max(e, g)
    f, h = min(f, h), max(f, h)
    f, g = min(f, g), max(f, g)
    # Both fours are sorted: merge them.
    a, e = min(a, e), max(a, e)
    b, f = min(b, f), max(b, f)
    c, g = min(c, g), max(c, g)
    d, h = min(d, h), max(d, h)
    c, e = min(c, e), max(c, e)
    d, f = min(d, f), max(d, f)
    b, c = min(b, c), max(b, c)
    d, e = min(d, e), max(d, e)
    f, g = min(f, g), max(f, g)
    items[first] = a
    items[first + 1] = b
    items[first + 2] = c
    items[first + 3] = d
    items[first + 4] = e
    if n > 5:
        items[first + 5] = f
    if n > 6:
        items[first + 6] = g
    if n > 7:
        items[first + 7] = h
