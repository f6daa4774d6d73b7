"""Readers of records made of numbers: FIMI's format and SPMF's.

Numbers become compressed rows in plain Python where they are few, by kernels where they are many.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from setveil.core.table import Collected, RowCollector, TransactionTable, Vocabulary, ranked_rows
from setveil.core.threads import map_ahead
from setveil.io.sources import Source, block_lines, small_or_not, text_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.errors import Problems
    from setveil.io.sources import Source

PLAIN_LIMIT = 4 << 20  # bytes that plain Python parses before numba is even imported
PARSED_AT_ONCE = 1 << 18
MARKED = 1 << 20  # numbers below are marked while they are parsed
DENSE = 1 << 26  # numbers below are looked up in an array, larger ones by sorting

NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
TOKEN = re.compile(r"[^ \t]+")
_DIRTY = re.compile(rb"[^0-9 \t\r\n]|\b0[0-9]|[0-9]{19}|\r(?!\n)")
_ITEM_LINE = re.compile(r"@ITEM=(-?[0-9]+)=(.*)", re.DOTALL)


def read_fimi(source: Source, problems: Problems) -> Collected:
    """Read one record of numbers per line; an empty line is an empty record."""
    lines = (b if b.endswith(b"\n") else b + b"\n" for b in source.blocks(PARSED_AT_ONCE))
    blocks, is_small = small_or_not(lines, PLAIN_LIMIT)
    compiled = not is_small
    numbers = NumberCollector()
    numbers.add_all(
        blocks,
        lambda block, before: _parse_carefully(block, before, problems),
        compiled=compiled,
        size=known_size(source) if compiled else 0,
    )
    return numbers.finish(compiled=compiled)


def _parse_carefully(block: bytes, before: int, problems: Problems) -> Numbers:
    """Parse line by line, reporting every line that is not as expected."""
    values: list[int] = []
    ends: list[int] = []
    for number, line in block_lines(block, before, problems):
        tokens = list(_tokens(line))
        wrong = next((t for t in tokens if not NUMBER.fullmatch(t[1])), None)
        if wrong is None:
            values += [int(token) for _, token in tokens]
            ends.append(len(values))
        else:
            _report_number(wrong[1], number, wrong[0], problems)
    return Numbers(
        values=np.array(values, dtype=np.int64),
        ends=np.array(ends, dtype=np.int64),
        largest=max(values, default=0),
    )


def _tokens(line: str) -> Iterator[tuple[int, str]]:
    """Yield column and text of what blanks separate."""
    return ((m.start() + 1, m.group()) for m in TOKEN.finditer(line.removesuffix("\r")))


def _report_number(token: str, line: int, column: int, problems: Problems) -> None:
    problem = "is not a whole number of 0 or more"
    if token.isascii() and token.isdigit():
        problem = "has a leading zero" if token[0] == "0" else "has more than 18 digits"
    problems.add(
        problem,
        line=line,
        column=column,
        text=token,
        fix="separate non-negative whole numbers by spaces, or read names and codes with "
        "--format basket --delimiter space",
    )


def read_spmf(source: Source, problems: Problems) -> Collected:
    """Read SPMF's transactions, or its sequences without their order.

    Lines that begin with ``#``, ``%`` or ``@`` are comments; ``@ITEM=3=bread`` names an item.
    """
    rows = RowCollector()
    names: dict[str, str] = {}
    taken: set[str] = set()
    sequences = 0
    for number, line in text_lines(source, problems):
        if line.startswith("@ITEM="):
            _name_item(line.removesuffix("\r"), number, names, taken, problems)
        elif not line.startswith(("#", "%", "@")):
            tokens = list(_tokens(line))
            record = [entry for entry in tokens if entry[1] not in {"-1", "-2"}]
            sequences += len(record) < len(tokens)
            wrong = next((t for t in record if not NUMBER.fullmatch(t[1])), None)
            unnamed = next((t for t in record if names and t[1] not in names), None)
            if wrong is not None:
                _report_spmf(wrong[1], number, wrong[0], problems)
            elif unnamed is not None:
                problems.add(
                    "has no name",
                    line=number,
                    column=unnamed[0],
                    text=unnamed[1],
                    fix=f"add a line @ITEM={unnamed[1]}=its name, or remove all such lines",
                )
            else:
                rows.add([names.get(token, token) for _, token in record])
    done = rows.finish()
    if sequences:
        done.notes.append(
            f"{sequences:,} line{'s' * (sequences != 1)} with -1 or -2: "
            "the order within sequences is dropped."
        )
    return done


def _name_item(
    line: str, number: int, names: dict[str, str], taken: set[str], problems: Problems
) -> None:
    match = _ITEM_LINE.fullmatch(line)
    problem = ""
    if match is None or not match[2]:
        problem = "does not name an item"
    elif match[1] in names:
        problem = f"names item {match[1]} again"
    elif match[2] in taken:
        problem = "gives two items one name"
    if match is None or problem:
        problems.add(
            problem, line=number, column=1, text=line, fix="write @ITEM=number=name, each once"
        )
        return
    names[match[1]] = match[2]
    taken.add(match[2])


def _report_spmf(token: str, line: int, column: int, problems: Problems) -> None:
    if ":" in token:
        problems.add(
            "looks like a utility, which has no place in a set",
            line=line,
            column=column,
            text=token,
            fix="give plain transactions: item numbers separated by spaces",
        )
        return
    _report_number(token, line, column, problems)


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Records of numbers: all of them in a row, and how many there are up to each record's end."""

    values: npt.NDArray[np.integer]
    ends: Int64Array
    largest: int


def parse_plainly(block: bytes) -> Numbers | None:
    r"""Parse whole lines in plain Python; None if something else than numbers is in them.

    >>> parse_plainly(b"3 10\n7\n").values.tolist()
    [3, 10, 7]
    >>> parse_plainly(b"3 x\n") is None
    True
    """
    if _DIRTY.search(block):
        return None
    ends = np.cumsum([len(line.split()) for line in block.split(b"\n")[:-1]], dtype=np.int64)
    values = np.array(list(map(int, block.split())), dtype=np.int64)
    return Numbers(values=values, ends=ends, largest=int(values.max(initial=0)))


class GrowingArray:
    """An array that grows by an eighth: most systems then move pages, not bytes.

    >>> grown = GrowingArray(np.int64, [0])
    >>> grown.add(np.array([5, 7]))
    >>> grown.finish().tolist()
    [0, 5, 7]
    """

    def __init__(self, kind: type[np.generic], start: Sequence[int] = ()) -> None:
        self._array: npt.NDArray[Any] = np.array(start, dtype=kind)
        self.used = len(start)

    def expect(self, n: int) -> None:
        """Set aside room for `n` entries in all; what is not used of it costs nothing."""
        if n > len(self._array):
            larger = np.empty(n, dtype=self._array.dtype)
            larger[: self.used] = self._array[: self.used]
            self._array = larger

    def free(self, n: int) -> npt.NDArray[Any]:
        """Return room for `n` entries; count them in `used` once they are there."""
        if self.used + n > len(self._array):
            wanted = max(self.used + n, len(self._array) + len(self._array) // 8, 1 << 12)
            self._array.resize(wanted, refcheck=False)  # nobody holds a view across calls
        return self._array[self.used : self.used + n]

    def add(self, entries: npt.NDArray[Any]) -> None:
        """Append entries; all become wider if these are."""
        if entries.dtype.itemsize > self._array.dtype.itemsize:
            self._array = self._array.astype(entries.dtype)
        self.free(len(entries))[:] = entries
        self.used += len(entries)

    def finish(self) -> npt.NDArray[Any]:
        """Return what is there."""
        self._array.resize(self.used, refcheck=False)
        return self._array


def known_size(source: Source) -> int:
    """Return how many bytes a source gives, about; 0 where only reading can tell."""
    if source.is_stdin or source.compression:
        return 0
    return os.stat(source.path).st_size  # noqa: PTH116  (any path)


class _Scratch:
    """Memory for the numbers of one block; `room` is in bytes of text."""

    def __init__(self, room: int, kind: type[np.signedinteger[Any]]) -> None:
        self.room = room
        self.values: npt.NDArray[np.signedinteger[Any]] = np.empty(room // 2 + 1, dtype=kind)
        self.ends: Int64Array = np.empty(room, dtype=np.int64)


class NumberCollector:
    r"""Records of non-negative numbers, added in blocks; a number's name is its decimal text.

    >>> numbers = NumberCollector()
    >>> numbers.add_all([b"10 9\n", b"10\n"], lambda block, before: None, compiled=False)
    >>> numbers.finish().table.to_rows()
    [['10', '9'], ['10']]
    """

    def __init__(self) -> None:
        self._values = GrowingArray(np.int32)
        self._ends = GrowingArray(np.int64, [0])
        self._largest = 0
        self._seen = np.zeros(MARKED, dtype=bool)
        self._marked = True
        self._spare: SimpleQueue[_Scratch] = SimpleQueue()

    def add_all(
        self,
        blocks: Iterable[bytes],
        otherwise: Callable[[bytes, int], Numbers],
        *,
        compiled: bool,
        size: int = 0,
    ) -> None:
        """Parse and add blocks of whole lines.

        A block that holds anything but numbers goes to `otherwise`, with the number of lines
        before it. `size` is how many bytes there are in all, if that is known.
        """
        lines = 0
        parsed = self._in_threads(blocks) if compiled else ((b, parse_plainly(b)) for b in blocks)
        for block, clean in parsed:
            numbers = otherwise(block, lines) if clean is None else clean
            if not lines and size:
                times = 1.05 * size / len(block)
                self._ends.expect(int(times * len(numbers.ends)))
                self._values.expect(int(times * len(numbers.values)))
            lines += block.count(b"\n") if clean is None else len(clean.ends)
            room = self._ends.free(len(numbers.ends))
            np.add(numbers.ends, self._values.used, out=room)
            self._ends.used += len(numbers.ends)
            fits = numbers.largest < 1 << 31
            self._values.add(numbers.values.astype(np.int32 if fits else np.int64, copy=False))
            self._largest = max(self._largest, numbers.largest)
            # The kernel marks what it parses, also in a line that is then left out.
            self._marked = self._marked and compiled and clean is not None

    def _in_threads(self, blocks: Iterable[bytes]) -> Iterator[tuple[bytes, Numbers | None]]:
        """Parse blocks by the kernel, a few ahead of what is asked for, and keep their order."""
        for block, scratch, numbers in map_ahead(self._parse, blocks):
            yield block, numbers
            self._spare.put(scratch)  # once the numbers are taken

    def _parse(self, block: bytes) -> tuple[bytes, _Scratch, Numbers | None]:
        from setveil.io.kernels import CLEAN, TOO_LARGE, parse_lines

        text = np.frombuffer(block, dtype=np.uint8)
        try:
            scratch = self._spare.get_nowait()
        except Empty:
            scratch = _Scratch(len(block), np.int32)
        if scratch.room < len(block):
            scratch = _Scratch(len(block), np.int32)
        found, lines, largest, wrong = parse_lines(text, scratch.values, scratch.ends, self._seen)
        if wrong == TOO_LARGE:
            scratch = _Scratch(len(block), np.int64)
            found, lines, largest, wrong = parse_lines(
                text, scratch.values, scratch.ends, self._seen
            )
        if wrong != CLEAN:
            return block, scratch, None
        numbers = Numbers(values=scratch.values[:found], ends=scratch.ends[:lines], largest=largest)
        return block, scratch, numbers

    def finish(self, *, compiled: bool = False) -> Collected:
        """Return the table; `compiled` orders its rows by a kernel, which pays for large data."""
        given = self._values.used
        offsets, values = self._ends.finish(), self._values.finish()
        names, rank, values = self._ranked(values)
        if compiled:
            table = ranked_table(offsets, values.astype(np.int32, copy=False), rank, names)
        else:
            table = TransactionTable.from_csr(offsets, rank[values], names)
        return Collected(table=table, duplicates=given - len(table.items))

    def _ranked(
        self, values: npt.NDArray[np.integer]
    ) -> tuple[list[str], Int32Array, npt.NDArray[np.integer]]:
        """Return the sorted names, and ranks and values such that a value's rank is its name's."""
        if self._largest < DENSE:
            seen = self._seen
            if not self._marked or self._largest >= MARKED:
                seen = np.zeros(self._largest + 1, dtype=bool)
                seen[values] = True
            numbers = places = np.flatnonzero(seen)
        else:
            numbers, values = np.unique(values, return_inverse=True)
            places = np.arange(len(numbers))
        order = by_text(numbers)
        rank = np.empty(places[-1] + 1 if len(places) else 0, dtype=np.int32)
        rank[places[order]] = np.arange(len(order), dtype=np.int32)
        return list(map(str, numbers[order].tolist())), rank, values


def by_text(numbers: npt.NDArray[np.integer]) -> Int64Array:
    """Return the order of different numbers of up to 18 digits by their decimal texts.

    >>> numbers = np.array([2, 10, 1, 100])
    >>> numbers[by_text(numbers)].tolist()
    [1, 10, 100, 2]
    """
    powers = 10 ** np.arange(19, dtype=np.int64)
    digits = np.maximum(np.searchsorted(powers, numbers, side="right"), 1)
    # As fractions with as many digits they compare like texts; of equal ones the shorter is first.
    return np.lexsort((digits, numbers.astype(np.int64) * powers[18 - digits]))


def ranked_table(
    offsets: Int64Array, items: Int32Array, rank: Int32Array, names: Sequence[str]
) -> TransactionTable:
    """Return the table of rows of ranks, whose names are sorted; overwrites both arrays.

    >>> ranked_table(np.array([0, 2]), np.array([0, 1], np.int32), np.array([1, 0], np.int32),
    ...              ["a", "b"]).to_rows()
    [['a', 'b']]
    """
    offsets, items = ranked_rows(offsets, items, rank, len(names))
    return TransactionTable.unchecked(
        offsets=offsets, items=items, vocabulary=Vocabulary(names=tuple(names))
    )
