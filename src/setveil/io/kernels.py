"""Cells of delimited text and lines of whole numbers, found in bytes.

A loop that looks at one byte after the other stops for each at a branch, and where cells or
numbers end cannot be foreseen. These kernels read eight bytes at a time and find the end among
them without a branch. They take the first byte of a word for its lowest, as on all processors
that numba supports.

Two kernels share the work on cells, so that several threads can find cells while one numbers
them: `find_cells` needs nothing but its own block of text, `number_cells` keeps the dictionary.
"""

# int and np.int64 are one type in compiled code.
# mypy: disable-error-code="assignment, return-value"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from setveil.kernels.bitsets import lowest_bit
from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.core.arrays import Int32Array, Int64Array


ONES = np.uint64(0x0101010101010101)
HIGHS = np.uint64(0x8080808080808080)


def _word_at(_typing: Any, text: Any, _place: Any) -> tuple[Any, Callable[..., Any]]:
    """Load the eight bytes from a place on, aligned or not, as one number.

    A view of 64-bit numbers begins at multiples of eight; this does not.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        first = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(first, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(text, types.int64), code


def _fetch_ahead(_typing: Any, array: Any, _place: Any) -> tuple[Any, Callable[..., Any]]:
    """Ask for an entry of an array that will be needed soon, without waiting for it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        entry = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        # To read, to be kept in all caches, data.
        builder.call(prefetch, [entry, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), code


word_at: Any = intrinsic(_word_at)
fetch_ahead: Any = intrinsic(_fetch_ahead)


@compiled
def first_mark(marks: np.uint64) -> int:
    """Return which of eight bytes is the first that is not zero; there must be one.

    >>> first_mark(np.uint64(0x8000))
    1
    """
    return np.int64(lowest_bit(marks) >> np.uint64(3))


@compiled
def marks_of(word: np.uint64, pattern: np.uint64) -> np.uint64:
    """Mark the bytes of a word that equal those of a pattern, by their highest bits.

    The first mark is right; marks above it may be wrong, because subtracting borrows.

    >>> hex(marks_of(np.uint64(0x2C61), np.uint64(0x2C) * ONES))
    '0x8000'
    """
    differing = word ^ pattern
    return (differing - ONES) & ~differing & HIGHS


Bytes = npt.NDArray[np.uint8]
UInt32Array = npt.NDArray[np.uint32]
UInt64Array = npt.NDArray[np.uint64]

# How `find_cells` came to its end.
COMPLETE = 0  # at the end of the text
UNFINISHED = 1  # the text ends inside a quoted cell
MALFORMED = 2  # a row is not as it should be
FULL = 3  # there is no room for another row

_AHEAD = 16  # cells
PADDING = 16  # bytes after a text that may be read, though never used

_TAB, _NEWLINE, _RETURN, _BLANK = 9, 10, 13, 32
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_WORD = np.uint64(64)
_EIGHT = np.uint64(8)
_ONE, _TWO = np.uint64(1), np.uint64(2)


@compiled
def hash_of(text: Bytes, start: int, length: int, keys: UInt64Array) -> np.uint32:
    """Return a hash of some bytes under secret keys.

    Two multiplications by secret odd numbers per word: after one alone, a difference in the
    highest bit would survive whatever the key, and texts that collide could be written down.
    """
    state = keys[0] ^ np.uint64(length)
    place = start
    left = length
    while left > 8:
        state = (state ^ word_at(text, place)) * keys[1]
        state = (state ^ (state >> _HALF)) * keys[2]
        state ^= state >> _HALF
        place += 8
        left -= 8
    if left > 0:
        tail = word_at(text, place) & (_ALL >> (_WORD - _EIGHT * np.uint64(left)))
        state = (state ^ tail) * keys[1]
        state = (state ^ (state >> _HALF)) * keys[2]
    return np.uint32(state >> _HALF)


@compiled
def _is_at(text: Bytes, place: int, delimiter: Bytes) -> bool:
    for k in range(len(delimiter)):  # noqa: SIM110  (compiled)
        if text[place + k] != delimiter[k]:
            return False
    return True


@compiled
def find_cells(  # noqa: PLR0911  (it says in one line how it ended)
    text: Bytes,
    first: int,
    size: int,
    delimiter: Bytes,
    quote: int,
    targets: Int64Array,
    kept: int,
    pad: bool,
    required: npt.NDArray[np.bool_],
    keys: UInt64Array,
    starts: Int64Array,
    lengths: Int64Array,
    hashes: UInt32Array,
    ends: Int64Array,
    begins: Int64Array,
) -> tuple[int, int, int, int, int, int, int, int]:
    r"""Find the cells of each row, up to the first row that is not well formed.

    Parameters
    ----------
    text
        Whole lines, the last of them ended, and `PADDING` bytes more than the delimiter has. A
        quoted cell with doubled quotes is overwritten by what it says.
    first, size
        Where to begin, which is the start of a row, and where the text ends.
    delimiter
        What separates cells.
    quote
        The byte that begins and ends a quoted cell; 0, which no text holds, where none does.
    targets
        For each column of a table its place in the rows to give out, -1 to leave it out. Without
        any, a row is whatever a line holds.
    kept
        Number of cells of a row to give out, where there are `targets`.
    pad
        Whether rows that are too short are filled up; else they are malformed.
    required
        For each column of a table whether its cells must not be empty.
    keys
        Three numbers the hashes depend on, the last two odd.
    starts, lengths, hashes
        Receive place, length and hash of each cell.
    ends
        Receives the number of cells up to the end of each row, where there are no `targets`.
    begins
        Receives the number of lines before each row; there must be as much room as in `ends`.

    Returns
    -------
    tuple of int
        How it ended; the place where the next row begins; then what lies before that place:
        cells, rows, lines, blank lines passed over, rows filled up, rows with surplus cells.

    Examples
    --------
    >>> raw = b'a,"b ""c"" "\nd\n'
    >>> text = np.frombuffer(raw + bytes(PADDING + 1), np.uint8).copy()
    >>> starts, lengths = np.empty(9, np.int64), np.empty(9, np.int64)
    >>> hashes, ends, begins = np.empty(9, np.uint32), np.empty(9, np.int64), np.empty(9, np.int64)
    >>> comma, keys = np.array([44], np.uint8), np.array([1, 3, 5], np.uint64)
    >>> none, never = np.empty(0, np.int64), np.empty(0, np.bool_)
    >>> find_cells(text, 0, len(raw), comma, 34, none, 0, False, never, keys, starts, lengths,
    ...            hashes, ends, begins)
    (0, 15, 3, 2, 2, 0, 0, 0)
    >>> [bytes(text[s : s + n]) for s, n in zip(starts[:3], lengths[:3])], ends[:2].tolist()
    ([b'a', b'b "c" ', b'd'], [2, 3])
    """
    room = len(starts)
    width = len(targets)
    d0 = delimiter[0]
    single = len(delimiter) == 1
    delimiters = np.uint64(d0) * ONES
    newlines, returns = np.uint64(_NEWLINE) * ONES, np.uint64(_RETURN) * ONES
    quotes = np.uint64(quote) * ONES
    blank_delimiter = True
    for k in range(len(delimiter)):
        blank_delimiter &= delimiter[k] == _BLANK or delimiter[k] == _TAB
    cells = rows = lines = blank = padded = trimmed = 0
    place = first
    while place < size:
        # Invariant: `row` is the start of a row, and `cells`, `rows`, `lines` and the other counts
        # describe exactly what lies before it. A row that is not well formed leaves them alone.
        row = place
        if (width > 0 and cells + kept > room) or rows == len(ends):
            return FULL, row, cells, rows, lines, blank, padded, trimmed
        fields = 0
        inner_lines = 0  # newlines inside quoted cells of this row
        filled = False  # whether anything but blanks and delimiters stands in this row
        wrong = False  # whether a surplus cell holds something, or a required one nothing
        while True:
            # The blanks before a cell; a delimiter may itself be, or begin with, a blank.
            byte = text[place]
            while byte in (_BLANK, _TAB) and not (
                byte == d0 and (single or _is_at(text, place, delimiter))
            ):
                place += 1
                byte = text[place]
            start = place
            if byte == quote:
                filled = True
                start += 1
                place = stop = start
                # Bytes up to `place` are read, those up to `stop` hold what they say: the same
                # ones until a doubled quote, from then on each is moved.
                while True:
                    if stop == place:
                        word = word_at(text, place)
                        marks = marks_of(word, quotes) | marks_of(word, newlines)
                        place += first_mark(marks) if marks != 0 else 8
                        stop = place
                        if marks == 0:
                            continue
                    byte = text[place]
                    if byte == quote:
                        if text[place + 1] != quote:
                            break
                        place += 1
                    elif byte == _NEWLINE:
                        inner_lines += 1
                        if place + 1 == size:
                            return UNFINISHED, row, cells, rows, lines, blank, padded, trimmed
                    text[stop] = byte
                    stop += 1
                    place += 1
                place += 1
                byte = text[place]
                while byte in (_BLANK, _TAB) and not (
                    byte == d0 and (single or _is_at(text, place, delimiter))
                ):
                    place += 1
                    byte = text[place]
                at_delimiter = byte == d0 and (single or _is_at(text, place, delimiter))
                if not (
                    at_delimiter
                    or byte == _NEWLINE
                    or (byte == _RETURN and text[place + 1] == _NEWLINE)
                ):
                    return MALFORMED, row, cells, rows, lines, blank, padded, trimmed
            else:
                while True:
                    word = word_at(text, place)
                    marks = (
                        marks_of(word, delimiters)
                        | marks_of(word, newlines)
                        | marks_of(word, returns)
                    )
                    if marks == 0:
                        place += 8
                        continue
                    place += first_mark(marks)
                    byte = text[place]
                    at_delimiter = byte == d0 and (single or _is_at(text, place, delimiter))
                    if at_delimiter or byte == _NEWLINE:
                        break
                    if byte == _RETURN:
                        if text[place + 1] == _NEWLINE:
                            break
                        return MALFORMED, row, cells, rows, lines, blank, padded, trimmed
                    place += 1  # the first byte of a longer delimiter, and not the others
                stop = place
                while stop > start and text[stop - 1] in (_BLANK, _TAB):
                    stop -= 1
                filled |= stop > start
            if width == 0:
                target = cells + fields
                if target == room:
                    return FULL, row, cells, rows, lines, blank, padded, trimmed
            elif fields < width:
                target = cells + targets[fields] if targets[fields] >= 0 else -1
                wrong |= required[fields] and stop == start
            else:
                target = -1
                wrong |= stop > start
            if target >= 0:
                starts[target] = start
                lengths[target] = stop - start
                hashes[target] = hash_of(text, start, stop - start, keys)
            fields += 1
            if not at_delimiter:
                break
            place += len(delimiter)
        place += 2 if byte == _RETURN else 1
        if width == 0:
            cells += fields
            ends[rows] = cells
            begins[rows] = lines
            rows += 1
        elif not filled and (fields == 1 or blank_delimiter) and (fields != width or width == 1):
            blank += 1
        else:
            for column in range(fields, width):
                wrong |= required[column] or not pad
                if targets[column] >= 0:
                    lengths[cells + targets[column]] = 0
            if wrong:
                return MALFORMED, row, cells, rows, lines, blank, padded, trimmed
            padded += fields < width
            trimmed += fields > width
            cells += kept
            begins[rows] = lines
            rows += 1
        lines += 1 + inner_lines
    return COMPLETE, place, cells, rows, lines, blank, padded, trimmed


@compiled
def hash_cells(
    text: Bytes, starts: Int64Array, lengths: Int64Array, keys: UInt64Array, hashes: UInt32Array
) -> None:
    """Hash cells that were found otherwise, as `find_cells` hashes those it finds.

    >>> text, hashes = np.zeros(1 + PADDING, np.uint8), np.zeros(2, np.uint32)
    >>> hash_cells(text, np.array([0, 0]), np.array([1, 1]), np.array([1, 3, 5], np.uint64), hashes)
    >>> bool(hashes[0] == hashes[1])
    True
    """
    for cell in range(len(starts)):
        hashes[cell] = hash_of(text, starts[cell], lengths[cell], keys)


@compiled
def number_cells(
    text: Bytes,
    starts: Int64Array,
    lengths: Int64Array,
    hashes: UInt32Array,
    first: int,
    last: int,
    slots: UInt64Array,
    pool: Bytes,
    ends: Int64Array,
    known: int,
    codes: Int32Array,
) -> tuple[int, int]:
    r"""Give each cell the code of its text; a new text gets the next code, the empty one 0.

    Parameters
    ----------
    text, starts, lengths, hashes
        The cells, as `find_cells` gives them; the text must be padded.
    first, last
        The cells to number.
    slots
        A table of codes by their hash, two numbers for each slot: the hash above the code, or 0
        if the slot is free; and the first eight bytes of the text. The number of slots is a power
        of two.
    pool, ends
        The texts of all codes, one after the other, and where each ends; `ends` begins with two
        zeros, the second being the end of the empty text. The pool is padded.
    known
        How many codes there are, with that of the empty text.
    codes
        Receives the codes of cells `first` to `last`.

    Returns
    -------
    tuple of int
        The first cell that is not numbered, for want of room for its text, or `last`; and how
        many codes there are now.

    Examples
    --------
    >>> text = np.frombuffer(b"bab" + bytes(PADDING), np.uint8)
    >>> starts, lengths = np.array([0, 1, 2, 3]), np.array([1, 1, 1, 0])
    >>> hashes = np.array([7, 7, 7, 0], np.uint32)  # they may collide
    >>> slots, pool = np.zeros(16, np.uint64), np.empty(40, np.uint8)
    >>> ends, codes = np.zeros(9, np.int64), np.empty(4, np.int32)
    >>> number_cells(text, starts, lengths, hashes, 0, 4, slots, pool, ends, 1, codes)
    (4, 3)
    >>> codes.tolist(), bytes(pool[:2])
    ([1, 2, 1, 0], b'ba')
    """
    mask = np.uint64(len(slots) // 2 - 1)
    limit = len(slots) // 8 * 3  # three quarters: searches stay short, and end
    for cell in range(first, last):
        # A large table is not in the cache: its slots are asked for before their turn comes.
        if cell + _AHEAD < last:
            fetch_ahead(slots, _TWO * (np.uint64(hashes[cell + _AHEAD]) & mask))
        length = lengths[cell]
        if length == 0:
            codes[cell - first] = 0
            continue
        start = starts[cell]
        # A text of less than eight bytes is its key: none holds a zero byte, so that the zeros
        # behind its end tell its length. Most lookups thus touch one place of memory.
        short = length < 8
        key = word_at(text, start)
        if short:
            key &= _ALL >> (_WORD - _EIGHT * np.uint64(length))
        tag = np.uint64(hashes[cell])
        slot = tag & mask
        code = 0
        while True:
            entry = slots[_TWO * slot]
            if entry == 0:
                break
            if slots[_TWO * slot + _ONE] == key:
                candidate = np.int64(entry & _LOW)
                if short:
                    code = candidate
                    break
                # Equal hashes prove nothing: only equal bytes do.
                if entry >> _HALF == tag:
                    begin = ends[candidate]
                    if ends[candidate + 1] - begin == length and _same(
                        text, start, pool, begin, length
                    ):
                        code = candidate
                        break
            slot = (slot + _ONE) & mask
        if code == 0:
            begin = ends[known]
            if known >= limit or known + 2 > len(ends) or begin + length + PADDING > len(pool):
                return cell, known
            for k in range(length):
                pool[begin + k] = text[start + k]
            code = known
            known += 1
            ends[known] = begin + length
            slots[_TWO * slot] = (tag << _HALF) | np.uint64(code)
            slots[_TWO * slot + _ONE] = key
        codes[cell - first] = code
    return last, known


@compiled
def _same(text: Bytes, start: int, pool: Bytes, begin: int, length: int) -> bool:
    """Compare bytes, eight at a time; what lies behind the end is masked out."""
    left = length
    while left > 8:
        if word_at(text, start) != word_at(pool, begin):
            return False
        start += 8
        begin += 8
        left -= 8
    differing = word_at(text, start) ^ word_at(pool, begin)
    return bool(differing << (_WORD - _EIGHT * np.uint64(left)) == 0)


@compiled
def move_slots(slots: UInt64Array, larger: UInt64Array) -> None:
    """Enter all codes of a table of slots into a larger, empty one.

    >>> larger = np.zeros(8, np.uint64)
    >>> move_slots(np.array([0, 0, (6 << 32) + 1, 97], np.uint64), larger)
    >>> larger[4:6].tolist() == [(6 << 32) + 1, 97]
    True
    """
    mask = np.uint64(len(larger) // 2 - 1)
    for old in range(0, len(slots), 2):
        entry = slots[old]
        if entry != 0:
            slot = (entry >> _HALF) & mask
            while larger[_TWO * slot] != 0:
                slot = (slot + _ONE) & mask
            larger[_TWO * slot] = entry
            larger[_TWO * slot + _ONE] = slots[old + 1]


# How `parse_lines` came to its end, where that is not the place of a wrong byte.
CLEAN = -1
TOO_LARGE = -2

_ZEROS = np.uint64(0x30) * ONES
_PAST_NINE = np.uint64(0x80 - 10) * ONES  # added to a digit's value, it stays below the highest bit
_DIGIT_BITS = np.uint64(0x10) * ONES
_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_FOURS = np.uint64(0x0000FFFF0000FFFF)
_EIGHTS = np.uint64(0x00000000FFFFFFFF)


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
