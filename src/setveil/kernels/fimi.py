"""Reading lines of whole numbers from bytes, and putting compressed rows into order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from setveil.kernels.compiling import compiled

CLEAN = -1

Bytes = npt.NDArray[np.uint8]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]


@compiled
def parse_lines(
    text: Bytes, values: Int64Array, ends: Int64Array, seen: npt.NDArray[np.bool_]
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
        nineteenth digit, a carriage return inside a line.

    Examples
    --------
    >>> values, ends, seen = np.empty(4, np.int64), np.empty(7, np.int64), np.zeros(20, bool)
    >>> parse_lines(np.frombuffer(b"3 10\n7\n", np.uint8), values, ends, seen)
    (3, 2, 10, -1)
    >>> values[:3].tolist(), ends[:2].tolist(), np.flatnonzero(seen).tolist()
    ([3, 10, 7], [2, 3], [3, 7, 10])
    """
    found = 0
    lines = 0
    largest = np.int64(0)
    number = np.int64(0)
    digits = 0
    size = len(text)
    for place in range(size):
        byte = text[place]
        digit = np.int64(byte) - 48
        if 0 <= digit <= 9:
            if digits > 0 and (number == 0 or digits == 18):
                return found, lines, largest, place
            number = number * 10 + digit
            digits += 1
            continue
        if digits > 0:
            values[found] = number
            found += 1
            largest = max(largest, number)
            if number < len(seen):
                seen[number] = True
            number = np.int64(0)
            digits = 0
        if byte == 10:
            ends[lines] = found
            lines += 1
        elif byte == 13:
            if place + 1 == size or text[place + 1] != 10:
                return found, lines, largest, place
        elif byte not in (32, 9):
            return found, lines, largest, place
    return found, lines, largest, CLEAN


@compiled
def rank_rows(offsets: Int64Array, items: Int32Array, rank: Int32Array) -> int:
    """Replace items by their ranks, sort each row and drop repetitions, all in place.

    Returns the number of items left; `offsets` follows them.

    Examples
    --------
    >>> offsets, items = np.array([0, 3, 4]), np.array([2, 0, 2, 1], np.int32)
    >>> kept = rank_rows(offsets, items, np.array([7, 5, 6], np.int32))
    >>> offsets.tolist(), items[:kept].tolist()
    ([0, 2, 3], [6, 7, 5])
    """
    kept = 0
    start = offsets[0]
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        window = items[start:end]
        for place in range(len(window)):
            window[place] = rank[window[place]]
        # Shell's sort: plain insertion for short rows, and no quadratic time for long ones.
        gap = 1
        while gap < len(window) // 32:
            gap = 3 * gap + 1
        while gap > 0:
            for place in range(gap, len(window)):
                item = window[place]
                free = place
                while free >= gap and window[free - gap] > item:
                    window[free] = window[free - gap]
                    free -= gap
                window[free] = item
            gap //= 3
        last = np.int32(-1)
        for place in range(len(window)):
            item = window[place]
            if item != last:
                items[kept] = item
                kept += 1
                last = item
        offsets[row + 1] = kept
        start = end
    return kept
