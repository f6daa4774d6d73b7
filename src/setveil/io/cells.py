"""Cells of delimited text as numbers: every different text is stored once, and decoded on demand.

Few bytes are read in plain Python, many by compiled loops; the result is the same. Rows that a
loop cannot read go through the plain path, which says what is wrong with them and where.
"""

from __future__ import annotations

import secrets
from array import array
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import count, pairwise
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import Int32Array, Int64Array, kept_offsets, offsets_of
from setveil.core.errors import ParameterError
from setveil.core.table import (
    COMPILED,
    Collected,
    TransactionTable,
    grouped_pairs,
    number_in_place,
)
from setveil.core.threads import map_ahead
from setveil.io.delimited import BLANKS, QUOTE, checked_delimiter, field_place, records
from setveil.io.number_lines import GrowingArray, known_size, ranked_table
from setveil.io.sources import Source, block_lines, decode_block, small_or_not

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from setveil.core.errors import Problems

PLAIN_LIMIT = 1 << 20  # bytes that plain Python reads before numba is even imported
BLOCK = 1 << 18  # bytes that a loop reads at once: few enough to stay in the processor's cache
CAREFUL = 1 << 14  # bytes read in plain Python before a loop tries again

Bytes = npt.NDArray[np.uint8]


class TextPool:
    """Different texts by their number, kept as bytes; number 0 is the empty text.

    Parameters
    ----------
    buffer
        The texts in UTF-8, one after the other.
    offsets
        Where each text begins, and where the last one ends.

    Examples
    --------
    >>> pool = TextPool.of(["", "flu", "été"])
    >>> len(pool), pool.texts(), pool.texts([2, 1, 2])
    (3, ['', 'flu', 'été'], ['été', 'flu', 'été'])
    """

    def __init__(self, buffer: Bytes, offsets: Int64Array) -> None:
        self._buffer = buffer
        self._offsets = offsets

    @classmethod
    def of(cls, texts: Iterable[str]) -> TextPool:
        """Return a pool of different texts, the first of which is empty."""
        parts = [text.encode() for text in texts]
        offsets = offsets_of([len(part) for part in parts])
        return cls(np.frombuffer(b"".join(parts), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def texts(self, codes: npt.ArrayLike | None = None) -> list[str]:
        """Decode all texts, or those of the codes asked for, in that order."""
        raw = self._buffer.tobytes()
        if codes is None:
            bounds: Iterable[tuple[int, int]] = pairwise(self._offsets.tolist())
        else:
            chosen = np.asarray(codes, dtype=np.int64)
            bounds = zip(
                self._offsets[chosen].tolist(), self._offsets[chosen + 1].tolist(), strict=True
            )
        if raw.isascii():  # a text's places are then those of its bytes: decode once, and cut
            text = raw.decode()
            return [text[a:b] for a, b in bounds]
        return [raw[a:b].decode() for a, b in bounds]


@dataclass(frozen=True, kw_only=True)
class Cells:
    """The cells of a delimited text, row after row, as codes of a pool of texts.

    Parameters
    ----------
    codes
        The code of every cell; 0 is the empty text. Codes are given in the order in which texts
        first appear.
    pool
        What the codes stand for.
    row_ends
        As `ends`; None where all rows have `width` cells.
    width
        Number of cells of each row; 0 where rows differ.
    blank
        Blank lines that were passed over; only in a table.
    padded
        Rows that were filled up with empty cells.
    trimmed
        Rows whose surplus empty cells were dropped.
    lines
        The line on which each row begins, where that was asked for.

    Examples
    --------
    >>> cells = Cells(codes=np.array([1, 2, 1, 0], np.int32), pool=TextPool.of(["", "a", "b"]),
    ...               width=2)
    >>> len(cells), cells.ends.tolist(), cells.rows()
    (2, [0, 2, 4], [['a', 'b'], ['a', '']])
    """

    codes: Int32Array
    pool: TextPool
    row_ends: Int64Array | None = None
    width: int = 0
    blank: int = 0
    padded: int = 0
    trimmed: int = 0
    lines: Int64Array | None = None

    def __len__(self) -> int:
        if self.row_ends is not None:
            return len(self.row_ends) - 1
        return len(self.codes) // self.width if self.width else 0

    @cached_property
    def ends(self) -> Int64Array:
        """Cells of row `i` are ``codes[ends[i]:ends[i + 1]]``; length n + 1."""
        if self.row_ends is not None:
            return self.row_ends
        return np.arange(len(self) + 1, dtype=np.int64) * self.width

    def column(self, place: int) -> Int32Array:
        """Return the codes of a column of a table, without copying them.

        >>> Cells(codes=np.array([1, 2, 1, 0], np.int32), pool=TextPool.of(["", "a", "b"]),
        ...       width=2).column(1).tolist()
        [2, 0]
        """
        return self.codes.reshape(-1, self.width)[:, place]

    def rows(self) -> list[list[str]]:
        """Return all rows as texts."""
        texts = self.pool.texts()
        flat = [texts[code] for code in self.codes.tolist()]
        return [flat[a:b] for a, b in pairwise(self.ends.tolist())]


def read_cells(
    source: Source,
    delimiter: str,
    problems: Problems,
    *,
    width: int | None = None,
    short: str = "error",
    columns: Sequence[int] | None = None,
    required: Mapping[int, str] | None = None,
    skip_lines: int = 0,
    lines: bool = False,
    quote: str = QUOTE,
) -> Cells:
    r"""Read the cells of delimited text.

    What a row is, and what is wrong with one, is said by `setveil.io.delimited.records`.

    Parameters
    ----------
    source
        Where the text comes from.
    delimiter
        What separates cells; one character or several.
    problems
        Takes what is wrong.
    width
        Number of columns of a table: rows must have as many cells, blank lines are passed over,
        and empty cells beyond the last column are dropped. None: every line is a row.
    short
        What to do with a row that has fewer cells: ``"error"`` reports it, ``"pad"`` fills it up
        with empty cells.
    columns
        The columns to keep, each once, in the order they are wanted; all if None. Only with
        `width`.
    required
        Columns that must not be empty, and their names. Only with `width`; they must be kept.
    skip_lines
        Number of rows to pass over first, as many as `records` gives: a header, lines above it,
        blank ones among them.
    lines
        Whether to keep the number of the line on which each row begins.
    quote
        What begins and ends a cell that may hold the delimiter; empty where nothing does.

    Returns
    -------
    Cells
        The rows that are well formed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from setveil.core.errors import Problems
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "clinic.csv")
    ...     _ = path.write_text("id,age,sign\np1,40,flu\n\np2,50,flu,,\n")
    ...     with Source(path) as source:
    ...         cells = read_cells(source, ",", Problems(name="clinic.csv"), width=3,
    ...                            columns=[0, 2], skip_lines=1)
    >>> cells.codes.tolist(), cells.pool.texts(), cells.blank, cells.trimmed
    ([1, 2, 3, 2], ['', 'p1', 'flu', 'p2'], 1, 1)
    """
    if short not in {"error", "pad"}:
        raise ParameterError(f"short={short!r} is not known", fix='use "error" or "pad"')
    shape = _Shape(
        delimiter=checked_delimiter(delimiter),
        width=width,
        pad=short == "pad",
        columns=tuple(columns if columns is not None else range(width or 0)),
        required=dict(required or {}),
        lines=lines,
        encoding=source.encoding,
        quote=quote,
    )
    blocks, is_small = small_or_not(source.blocks(BLOCK), PLAIN_LIMIT)
    rows = _Rows(shape, problems, skip_lines)
    if is_small:
        return _read_plainly(blocks, rows)
    return _Compiled(rows).read(blocks, known_size(source))


def rows_of_codes(cells: Cells) -> Collected:
    """Return the table whose records are the rows; empty cells are no items.

    The codes are used up: they become the items of the table where they stand.

    >>> cells = Cells(codes=np.array([2, 1, 2, 0], np.int32), pool=TextPool.of(["", "b", "a"]),
    ...               row_ends=np.array([0, 3, 4]))
    >>> done = rows_of_codes(cells)
    >>> done.table.to_rows(), done.duplicates
    ([['a', 'b'], []], 1)
    """
    used = np.ones(len(cells.pool), dtype=bool)
    return _table_of(cells.ends, cells.codes, used, cells.pool)


def pairs_of_codes(cells: Cells) -> Collected:
    """Return the table of rows of a record's id and an item, in this order.

    Records come in the order of their first rows. An empty item only makes sure that the record
    exists. The codes are used up.

    >>> cells = Cells(codes=np.array([1, 2, 3, 0, 1, 4], np.int32), width=2,
    ...               pool=TextPool.of(["", "p2", "flu", "p1", "gout"]))
    >>> pairs_of_codes(cells).table.to_rows()
    [['flu', 'gout'], []]
    """
    ids, items = cells.column(0), cells.column(1)
    n_records = number_in_place(ids, len(cells.pool))
    used = np.zeros(len(cells.pool), dtype=bool)
    used[items] = True
    offsets, flat = grouped_pairs(n_records, ids, items)
    return _table_of(offsets, np.ascontiguousarray(flat), used, cells.pool)


def _table_of(
    offsets: Int64Array, codes: Int32Array, used: npt.NDArray[np.bool_], pool: TextPool
) -> Collected:
    """Return the table of rows of codes; those that are not to be used are left out."""
    used[0] = False
    chosen = np.flatnonzero(used)
    texts = pool.texts(chosen)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    names = [texts[i] for i in order]
    rank = np.full(len(pool), -1, dtype=np.int32)
    rank[chosen[order]] = np.arange(len(order), dtype=np.int32)
    if len(codes) < COMPILED:
        ranks = rank[codes]
        filled = ranks >= 0
        offsets = kept_offsets(offsets, filled)
        table = TransactionTable.from_csr(offsets, ranks[filled], names)
        return Collected(table=table, duplicates=int(filled.sum()) - len(table.items))
    given = int(np.count_nonzero(used[codes]))
    table = ranked_table(offsets, codes, rank, names)
    return Collected(table=table, duplicates=given - len(table.items))


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """What rows look like, and which of their cells are kept."""

    delimiter: str
    width: int | None
    pad: bool
    columns: tuple[int, ...]
    required: dict[int, str]
    lines: bool
    encoding: str
    quote: str

    def __post_init__(self) -> None:
        width = self.width
        if width is None:
            if self.pad or self.columns or self.required:
                raise ParameterError(
                    "short, columns and required need a width", fix="give the number of columns"
                )
        elif (
            width < 1
            or len(set(self.columns)) < len(self.columns)
            or not set(self.columns) <= set(range(width))
            or not set(self.required) <= set(self.columns)
        ):
            raise ParameterError(
                f"columns {self.columns} (required: {tuple(self.required)}) are not different "
                f"columns of a table with {width}",
                fix="give places from 0 on",
            )

    def targets(self) -> Int64Array:
        """Return the place of each column in the rows that are kept, or -1."""
        targets = np.full(self.width or 0, -1, dtype=np.int64)
        targets[list(self.columns)] = np.arange(len(self.columns))
        return targets


class _Rows:
    """Rows in plain Python: which are kept, which are counted, which are problems."""

    def __init__(self, shape: _Shape, problems: Problems, skip: int) -> None:
        self.shape = shape
        self.problems = problems
        self.skip = skip
        self.blank = self.padded = self.trimmed = 0

    def kept(self, number: int, text: str, fields: list[str]) -> list[str] | None:
        """Return the cells to keep of a record at line `number`; None if it is left out."""
        shape = self.shape
        if self.skip:
            self.skip -= 1
            return None
        if shape.width is None:
            return fields
        n = len(fields)
        if (n != shape.width or n == 1) and not text.strip(BLANKS + "\r"):
            self.blank += 1
            return None
        if n != shape.width:
            if (n < shape.width and not shape.pad) or any(fields[shape.width :]):
                self._report(
                    f"has {n} field{'s' * (n != 1)} where the header has {shape.width}",
                    number,
                    text,
                    min(n, shape.width + 1) - 1,
                    "give every line as many fields as the header, and quote fields that hold the "
                    f"delimiter {shape.delimiter!r}",
                )
                return None
            fields += [""] * (shape.width - n)
        for place, name in shape.required.items():
            if not fields[place]:
                fix = "give every line the id of its record"
                self._report(f"has no {name!r}", number, text, min(place, n - 1), fix)
                return None
        self.padded += n < shape.width
        self.trimmed += n > shape.width
        return [fields[place] for place in shape.columns]

    def _report(self, problem: str, number: int, text: str, place: int, fix: str) -> None:
        """Report a problem at one of the fields of a record."""
        line, column = field_place(number, text, place, self.shape.delimiter, self.shape.quote)
        self.problems.add(problem, line=line, column=column, text=text, fix=fix)


def _read_plainly(blocks: Iterator[bytes], rows: _Rows) -> Cells:
    """Read all cells in plain Python."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    numbers[""]  # code 0
    codes = array("i")
    ends = array("q", [0])
    begins = array("q")
    shape = rows.shape
    feed = _Lines(b"", 0, 0, blocks, rows)
    for number, text, fields in records(feed, shape.delimiter, rows.problems, shape.quote):
        kept = rows.kept(number, text, fields)
        if kept is not None:
            codes.extend(map(numbers.__getitem__, kept))
            ends.append(len(codes))
            begins.append(number)
    return Cells(
        codes=np.frombuffer(codes, dtype=np.int32),
        pool=TextPool.of(numbers),
        row_ends=np.frombuffer(ends, dtype=np.int64) if shape.width is None else None,
        width=len(shape.columns),
        blank=rows.blank,
        padded=rows.padded,
        trimmed=rows.trimmed,
        lines=np.frombuffer(begins, dtype=np.int64) if shape.lines else None,
    )


class _Lines:
    """Lines of what is left of a block, then of the blocks that follow, as far as asked for."""

    def __init__(
        self, block: bytes, place: int, before: int, blocks: Iterator[bytes], rows: _Rows
    ) -> None:
        self.block = block
        self.place = place  # the first byte that no slice has taken
        self.before = before  # lines before that place
        self.given = [0]  # numbers of the lines given out
        self._blocks = blocks
        self._rows = rows
        self._slice: Iterator[tuple[int, str]] = iter(())
        self._next: tuple[int, str] | None = None

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return self

    def __next__(self) -> tuple[int, str]:
        while self.is_at_cut():
            if self.place == len(self.block):
                self.block, self.place = next(self._blocks), 0  # StopIteration: no line is left
            self._cut_slice()
        entry, self._next = self._next, None
        assert entry is not None
        self.given.append(entry[0])
        return entry

    def _cut_slice(self) -> None:
        # A block that cannot be decoded is one slice: where it can be is not worth knowing.
        step = CAREFUL if _is_text(self.block) else len(self.block)
        cut = self.block.find(b"\n", self.place + step - 1) + 1 or len(self.block)
        part = self.block[self.place : cut]
        rows = self._rows
        self._slice = block_lines(part, self.before, rows.problems, rows.shape.encoding)
        self.before += part.count(b"\n")
        self.place = cut

    def is_at_cut(self) -> bool:
        """Return whether all lines of the present slice were given out."""
        if self._next is None:
            self._next = next(self._slice, None)
        return self._next is None

    def were_used_by(self, number: int, text: str) -> bool:
        """Return whether no line was given out after those of a record."""
        last = text.count("\n") + 1
        return len(self.given) > last and self.given[-last] == number


def _is_text(block: bytes) -> bool:
    """Return whether bytes are UTF-8 without a zero byte."""
    return b"\0" not in block and (block.isascii() or decode_block(block) is not None)


class _Scratch:
    """Memory for one block: its text, padded, and the cells found in it."""

    def __init__(self) -> None:
        self.text: Bytes = np.empty(0, dtype=np.uint8)
        self.enlarge(0)

    def enlarge(self, cells: int) -> None:
        """Make room for so many cells and rows."""
        self.starts: Int64Array = np.empty(cells, dtype=np.int64)
        self.lengths: Int64Array = np.empty(cells, dtype=np.int64)
        self.hashes: npt.NDArray[np.uint32] = np.empty(cells, dtype=np.uint32)
        self.ends: Int64Array = np.empty(cells, dtype=np.int64)
        self.begins: Int64Array = np.empty(cells, dtype=np.int64)

    def load(self, block: bytes, first: int, padding: int) -> None:
        """Copy a block from a place on, so that a loop may write into it and read beyond it."""
        size = len(block) + padding
        if len(self.text) < size:
            self.text = np.zeros(size, dtype=np.uint8)
        self.text[first : len(block)] = np.frombuffer(block, dtype=np.uint8)[first:]

    def fill(self, cells: list[str], ends: list[int], begins: list[int], padding: int) -> None:
        """Put in rows of cells; the cells have no hashes yet."""
        parts = [cell.encode() for cell in cells]
        self.load(b"".join(parts), 0, padding)
        self.enlarge(len(cells))
        self.lengths[:] = [len(part) for part in parts]
        self.starts[:] = np.cumsum(self.lengths) - self.lengths
        self.ends = np.array(ends, dtype=np.int64)
        self.begins = np.array(begins, dtype=np.int64)


@dataclass(frozen=True)
class _Found:
    """What a loop found in a block up to a place, in the order in which it says so."""

    status: int
    place: int
    cells: int
    rows: int
    lines: int
    blank: int
    padded: int
    trimmed: int


@dataclass(frozen=True, kw_only=True)
class _Parsed:
    """A block, and the cells found in it; `found` is None where it is not UTF-8."""

    block: bytes
    scratch: _Scratch
    found: _Found | None


class _Dictionary:
    """Codes of texts, numbered by the order of first appearance."""

    def __init__(self) -> None:
        from setveil.io import kernels

        self._kernels = kernels
        self._slots = np.zeros(1 << 13, dtype=np.uint64)
        self._pool: Bytes = np.empty(1 << 15, dtype=np.uint8)
        self._ends: Int64Array = np.zeros(1 << 11, dtype=np.int64)
        self._known = 1

    def number(self, scratch: _Scratch, cells: int, codes: GrowingArray) -> None:
        """Append the codes of the cells in `scratch`."""
        out = codes.free(cells)
        done = 0
        while done < cells:
            done, self._known = self._kernels.number_cells(
                scratch.text,
                scratch.starts,
                scratch.lengths,
                scratch.hashes,
                done,
                cells,
                self._slots,
                self._pool,
                self._ends,
                self._known,
                out[done:],
            )
            if done < cells:
                self._grow(int(scratch.lengths[done]))
        codes.used += cells

    def _grow(self, length: int) -> None:
        """Make room for another text of some length."""
        if self._known + 2 > len(self._ends):
            self._ends.resize(len(self._ends) * 3 // 2, refcheck=False)
        needed = int(self._ends[self._known]) + length + self._kernels.PADDING
        if needed > len(self._pool):
            self._pool.resize(max(needed, len(self._pool) * 3 // 2), refcheck=False)
        if self._known >= len(self._slots) // 8 * 3:
            larger = np.zeros(2 * len(self._slots), dtype=np.uint64)
            self._kernels.move_slots(self._slots, larger)
            self._slots = larger

    def finish(self) -> TextPool:
        """Return the texts; the dictionary is spent."""
        self._slots = np.zeros(1, dtype=np.uint64)
        self._ends.resize(self._known + 1, refcheck=False)
        self._pool.resize(int(self._ends[-1]), refcheck=False)
        return TextPool(self._pool, self._ends)


class _Compiled:
    """The reading of many bytes: threads find the cells of blocks, one numbers them in order."""

    def __init__(self, rows: _Rows) -> None:
        from setveil.io import kernels

        self._kernels = kernels
        self._rows = rows
        shape = rows.shape
        self._delimiter = np.frombuffer(shape.delimiter.encode(), dtype=np.uint8)
        self._targets = shape.targets()
        self._required = np.zeros(len(self._targets), dtype=np.bool_)
        self._required[list(shape.required)] = True
        # Which texts share a slot must not be known to whoever wrote the file.
        odd = [secrets.randbits(64), secrets.randbits(64) | 1, secrets.randbits(64) | 1]
        self._keys = np.array(odd, dtype=np.uint64)
        self._dictionary = _Dictionary()
        self._codes = GrowingArray(np.int32)
        self._ends = GrowingArray(np.int64, [0])
        self._begins = GrowingArray(np.int64)
        self._lines = 0  # lines before what is read next
        self._size = 0  # bytes in all, until room for what they hold is set aside
        self._spare: SimpleQueue[_Scratch] = SimpleQueue()

    def read(self, blocks: Iterator[bytes], size: int) -> Cells:
        """Read all blocks; `size` is how many bytes they have, if that is known."""
        self._size = size
        # Parsed in threads, each as if no quoted cell were open at its start; whoever finds one
        # open at the end of the block before parses it anew.
        whole = (b if b.endswith(b"\n") else b + b"\n" for b in blocks)
        following = map_ahead(self._parse, whole)
        try:
            while (parsed := next(following, None)) is not None:
                self._read_from(parsed, following)
        finally:
            following.close()
        rows, shape = self._rows, self._rows.shape
        return Cells(
            codes=self._codes.finish(),
            pool=self._dictionary.finish(),
            row_ends=self._ends.finish() if shape.width is None else None,
            width=len(shape.columns),
            blank=rows.blank,
            padded=rows.padded,
            trimmed=rows.trimmed,
            lines=self._begins.finish() if shape.lines else None,
        )

    def _parse(self, block: bytes) -> _Parsed:
        try:
            scratch = self._spare.get_nowait()
        except Empty:
            scratch = _Scratch()
        return _Parsed(block=block, scratch=scratch, found=self._find(scratch, block, 0))

    def _find(self, scratch: _Scratch, block: bytes, first: int) -> _Found | None:
        """Find the cells of a block from a place on; None if it is not UTF-8."""
        if not _is_text(block):
            return None
        shape = self._rows.shape
        while True:
            # Loaded anew each time: a loop that did not come to the end may have overwritten the
            # quoted cells of the row it stopped at.
            scratch.load(block, first, self._kernels.PADDING + len(self._delimiter))
            found = _Found(
                *self._kernels.find_cells(
                    scratch.text,
                    first,
                    len(block),
                    self._delimiter,
                    ord(shape.quote or "\0"),
                    self._targets,
                    len(shape.columns),
                    shape.pad,
                    self._required,
                    self._keys,
                    scratch.starts,
                    scratch.lengths,
                    scratch.hashes,
                    scratch.ends,
                    scratch.begins,
                )
            )
            # Cells are fewer than bytes, but for rows that are filled up: these come in parts.
            room = len(scratch.starts)
            if found.status != self._kernels.FULL or (found.rows and room > len(block)):
                return found
            scratch.enlarge(max(2 * room, len(block) // 4, len(shape.columns), 16))

    def _read_from(self, parsed: _Parsed, following: Iterator[_Parsed]) -> None:
        """Read a block, and as many after it as a row at its end goes on."""
        kernels = self._kernels
        block, found, place = parsed.block, parsed.found, 0
        while place < len(block):
            stuck = found is None or self._rows.skip > 0
            if found is not None and not stuck:
                self._take(parsed.scratch, found)
                place = found.place
                stuck = found.status in {kernels.MALFORMED, kernels.UNFINISHED}
                if found.status == kernels.UNFINISHED:
                    longer = self._joined(block[place:], following)
                    if longer is not None:
                        block, place, stuck = longer, 0, False
            if stuck:
                block, place = self._read_carefully(block, place, following)
            if place < len(block):
                found = self._find(parsed.scratch, block, place)
        self._spare.put(parsed.scratch)

    def _joined(self, rest: bytes, following: Iterator[_Parsed]) -> bytes | None:
        """Return the start of a row with what follows; None if nothing does.

        It at least doubles: however long a row is, its bytes are read a few times only.
        """
        parts = [rest]
        size = 0
        while size < len(rest) and (parsed := next(following, None)) is not None:
            self._spare.put(parsed.scratch)
            parts.append(parsed.block)
            size += len(parsed.block)
        return b"".join(parts) if size else None

    def _take(self, scratch: _Scratch, found: _Found) -> None:
        """Add the rows that a loop found."""
        rows = self._rows
        rows.blank += found.blank
        rows.padded += found.padded
        rows.trimmed += found.trimmed
        if self._size and found.place:
            times = 1.05 * self._size / found.place
            self._codes.expect(int(times * found.cells))
            if rows.shape.width is None:
                self._ends.expect(int(times * found.rows))
            self._size = 0
        self._add_rows(scratch, found.cells, found.rows)
        self._lines += found.lines

    def _add_rows(self, scratch: _Scratch, cells: int, rows: int) -> None:
        shape = self._rows.shape
        if shape.width is None:
            self._ends.add(scratch.ends[:rows] + self._codes.used)
        if shape.lines:
            self._begins.add(scratch.begins[:rows] + (self._lines + 1))
        self._dictionary.number(scratch, cells, self._codes)

    def _read_carefully(
        self, block: bytes, place: int, following: Iterator[_Parsed]
    ) -> tuple[bytes, int]:
        """Read some rows in plain Python; return block and place where a loop can go on."""
        rows, shape = self._rows, self._rows.shape
        lines = _Lines(block, place, self._lines, self._blocks_of(following), rows)
        flat: list[str] = []
        ends: list[int] = []
        begins: list[int] = []
        for number, text, fields in records(lines, shape.delimiter, rows.problems, shape.quote):
            kept = rows.kept(number, text, fields)
            if kept is not None:
                flat += kept
                ends.append(len(flat))
                begins.append(number - 1 - self._lines)
            # Lines given out beyond this record wait for `records`: only it may go on then.
            if lines.were_used_by(number, text) and lines.is_at_cut():
                break
        scratch = _Scratch()
        scratch.fill(flat, ends, begins, self._kernels.PADDING)
        self._kernels.hash_cells(
            scratch.text, scratch.starts, scratch.lengths, self._keys, scratch.hashes
        )
        self._add_rows(scratch, len(flat), len(ends))
        self._lines = lines.before
        return lines.block, lines.place

    def _blocks_of(self, following: Iterator[_Parsed]) -> Iterator[bytes]:
        while (parsed := next(following, None)) is not None:
            self._spare.put(parsed.scratch)
            yield parsed.block
