"""Reading lines of whole numbers from bytes, and putting compressed rows into order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from setveil.kernels.byte_words import HIGHS, ONES, first_mark, lowest_bit, word_at
from setveil.kernels.compiling import compiled

CLEAN = -1
TOO_LARGE = -2

Bytes = npt.NDArray[np.uint8]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

_ZEROS = np.uint64(0x30) * ONES
_PAST_NINE = np.uint64(0x80 - 10) * ONES  # added to a digit's value, it stays below the highest bit
_DIGIT_BITS = np.uint64(0x10) * ONES
_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_FOURS = np.uint64(0x0000FFFF0000FFFF)
_EIGHTS = np.uint64(0x00000000FFFFFFFF)
_WORD = np.uint64(64)
_EIGHT = np.uint64(8)
_ONE = np.uint64(1)
_SIX, _TWELVE, _EIGHTEEN = np.uint64(6), np.uint64(12), np.uint64(18)
_LOW_SIX = np.uint64(63)


@compiled
def parse_lines(  # noqa: PLR0911  (it says in one line how it ended)
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
            # Digits have a bit that blanks and line ends have not. The next number waits for
            # nothing but this: where the present one ends.
            word = word_at(text, place)
            marks = ~word & _DIGIT_BITS
        if marks != 0:
            digits = np.uint64(first_mark(marks))
            if digits > 0:
                # The digits move to the upper end, as values; the zeros that come in below do not
                # change the number. Other signs than digits get their highest bits set.
                word = (word ^ _ZEROS) << (_WORD - _EIGHT * digits)
                if ((word + _PAST_NINE) | word) & HIGHS != 0:
                    return _first_sign(text, place, found, lines, largest)
                # Pairs, fours and eights of digits are put together, all at once.
                word = (word * np.uint64(10) + (word >> np.uint64(8))) & _PAIRS
                word = (word * np.uint64(100) + (word >> np.uint64(16))) & _FOURS
                number = (word * np.uint64(10_000) + (word >> np.uint64(32))) & _EIGHTS
        else:  # eight digits or more, or other signs, or the end of the text
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
def _first_sign(
    text: Bytes, place: np.uint64, found: np.uint64, lines: np.uint64, largest: np.uint64
) -> tuple[int, int, int, int]:
    """Say where the first byte from a digit or other sign on is that does not belong there."""
    if text[place] == 48 and 48 <= text[place + _ONE] <= 57:
        return np.int64(found), np.int64(lines), np.int64(largest), np.int64(place + _ONE)
    while 48 <= text[place] <= 57:
        place += _ONE
    return np.int64(found), np.int64(lines), np.int64(largest), np.int64(place)


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
