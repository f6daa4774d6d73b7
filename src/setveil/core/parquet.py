"""Parquet files that may come from strangers.

Polars ends the whole process where a file makes it ask for more memory than there is, and panics
on much else that is damaged. So the lists of columns and pages are read here first, in a few
thousand steps, and a file is refused if a size, a count or an encoding in them cannot be, or if
its values would take more memory than the limit. A panic over what is left becomes a ValueError,
and its report does not reach stderr.
"""

from __future__ import annotations

import io
import itertools
import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError
from setveil.core.untrusted import TABLE_LIMIT, check_size

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator, Mapping

    import polars as pl

    Bytes = bytes | mmap.mmap

MAGIC = b"PAR1"
RATIO = 200
"""How many times its own size a file may take in memory, if that is more than"""
SMALL = 250 * 10**6
"""bytes."""

STEPS = 2_000_000
"""Values in the lists of columns and pages that are read at most, besides one for each"""
STEP_BYTES = 512
"""bytes of the file."""
DEPTH = 24
"""Structures inside each other, in these lists and among the columns."""

# Physical types of Parquet, and the bytes that a value of theirs takes in memory.
BYTE_ARRAY, FIXED = 6, 7
WIDTHS = {0: 1, 1: 4, 2: 8, 3: 16, 4: 4, 5: 8, BYTE_ARRAY: 16}
DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_2 = 0, 2, 3
PLAIN, DICTIONARY, RLE, BIT_PACKED, BY_DICTIONARY = 0, 2, 3, 4, 8
REPEATED = 2


def read_parquet(
    data: bytes, columns: Mapping[str, Any] | None = None, *, own: bool = False
) -> pl.DataFrame:
    """Return the table in a Parquet file whose content nobody vouches for.

    Parameters
    ----------
    data
        The content of the file.
    columns
        The types that its columns must have, by name; anything goes if not given.
    own
        As for :func:`check_parquet`.

    Raises
    ------
    ValueError
        It is no Parquet, it is damaged, or it has other columns.
    InputError
        It would take more memory than the limit.

    Examples
    --------
    >>> import polars as pl
    >>> sink = io.BytesIO()
    >>> pl.DataFrame({"item": ["flu"]}).write_parquet(sink)
    >>> read_parquet(sink.getvalue(), {"item": pl.String})["item"].to_list()
    ['flu']
    >>> read_parquet(sink.getvalue(), {"record": pl.Int64})
    Traceback (most recent call last):
    ValueError: it must have the columns record (Int64), and has item (String)
    """
    import polars as pl

    check_parquet(data, own=own)
    with panics_caught():
        _check_columns(pl.read_parquet_schema(io.BytesIO(data)), columns)
        return pl.read_parquet(io.BytesIO(data))


def parquet_blocks(data: bytes, columns: Mapping[str, Any], rows: int) -> Iterator[pl.DataFrame]:
    """Yield the table in such a file so many rows at a time; errors as for :func:`read_parquet`.

    >>> import polars as pl
    >>> sink = io.BytesIO()
    >>> pl.DataFrame({"item": ["flu", "gout", "flu"]}).write_parquet(sink)
    >>> [len(block) for block in parquet_blocks(sink.getvalue(), {"item": pl.String}, 2)]
    [2, 1]
    """
    import polars as pl

    check_parquet(data)
    with panics_caught():
        lines = pl.scan_parquet(io.BytesIO(data))
        _check_columns(lines.collect_schema(), columns)
    for start in itertools.count(0, rows):
        with panics_caught():
            block = lines.slice(start, rows).collect()
        if not len(block):
            return
        yield block


def _check_columns(schema: Mapping[str, Any], columns: Mapping[str, Any] | None) -> None:
    if columns is not None and dict(schema) != dict(columns):
        wanted, found = (
            ", ".join(f"{name} ({kind})" for name, kind in list(each.items())[:8])
            for each in (columns, schema)
        )
        raise ValueError(f"it must have the columns {wanted}, and has {found or 'none'}")


_silence = threading.Lock()


@contextmanager
def panics_caught() -> Iterator[None]:
    """Turn whatever polars raises over a damaged file into a ValueError of one line.

    A panic is reported on stderr before anyone can catch it, so that stderr leads nowhere while
    polars is at work.
    """
    with _silence:
        kept = None
        with suppress(OSError):  # a closed stderr needs no care
            kept = os.dup(2)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
        try:
            yield
        except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, InputError):
            raise
        except BaseException as error:  # noqa: BLE001  (a panic is no Exception)
            reason = str(error).strip().partition("\n")[0][:200]
            raise ValueError(reason or type(error).__name__) from None
        finally:
            if kept is not None:
                os.dup2(kept, 2)
                os.close(kept)


# --- the lists of columns and pages -------------------------------------------------------------


def check_parquet(data: Bytes, *, own: bool = False) -> None:
    """Refuse a Parquet file with sizes that cannot be, or that would take too much memory.

    Parameters
    ----------
    data
        The content of the file.
    own
        Whether it is data of the user's own. Such a file may be as large as it likes, but what
        comes from others takes no more memory than other tables.

    Raises
    ------
    ValueError
        It is damaged.
    InputError
        It would take more memory than the limit.

    Examples
    --------
    >>> check_parquet(b"PAR1....PAR1")
    Traceback (most recent call last):
    ValueError: its list of columns is damaged
    """
    try:
        size = _memory(data)
    except _OddError as error:
        raise ValueError(str(error)) from None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError):
        raise ValueError("its list of columns is damaged") from None
    many = RATIO * len(data)
    limit = max(TABLE_LIMIT, many) if own else min(TABLE_LIMIT, max(SMALL, many))
    check_size(size, limit, what="its values would take")


class _OddError(Exception):
    """A size, a count or an encoding that cannot be."""


def _memory(data: Bytes) -> int:
    """Return how many bytes the values of a file take in memory, at most."""
    end = len(data) - 8
    if end < 4 or data[:4] != MAGIC or data[end + 4 :] != MAGIC:
        raise _OddError("it does not begin and end as Parquet does")
    steps = [STEPS + len(data) // STEP_BYTES]
    footer = _Compact(data, end - int.from_bytes(data[end : end + 4], "little"), end, steps)
    about = footer.struct()
    leaves = _leaves(about[2])
    groups = about.get(4, [])
    if about[3] != sum(group[3] for group in groups):
        raise _OddError(f"it says that it has {about[3]} rows, and its parts say otherwise")
    total = 0
    for group in groups:
        chunks = group[1]
        if len(chunks) != len(leaves):
            raise _OddError(f"a part has {len(chunks)} of {len(leaves)} columns")
        for chunk, leaf in zip(chunks, leaves, strict=True):
            unpacked = _Chunk(data, chunk[3], leaf, steps).unpacked(group[3])
            total += unpacked + chunk[3][5] * leaf.width
    return total


@dataclass(frozen=True, kw_only=True)
class _Leaf:
    """A column of values: its physical type, the bytes of a value, and whether it is in a list."""

    kind: int
    width: int
    plain_width: int
    repeated: bool
    optional: bool


def _leaves(schema: list[dict[int, Any]]) -> list[_Leaf]:
    """Return the columns of values, in the order in which the tree of columns lists them."""
    leaves: list[_Leaf] = []
    # How many children each node on the way to the next one still has, and how many of these
    # nodes are lists or may be missing.
    waiting: list[tuple[int, int, bool]] = [(1, 0, False)]
    for place, node in enumerate(schema):
        while waiting and waiting[-1][0] == 0:
            waiting.pop()
        if not waiting or len(waiting) > DEPTH:
            raise _OddError("its tree of columns has no end")
        left, lists, optional = waiting[-1]
        waiting[-1] = (left - 1, lists, optional)
        repetition = node.get(3, 0) if place else 0
        if repetition not in {0, 1, REPEATED}:
            raise _OddError(f"a column is repeated in the way {repetition}")
        lists += repetition == REPEATED
        optional = optional or repetition != 0
        children = node.get(5, 0)
        if children < 0 or (place and (children == 0) != (1 in node)):
            raise _OddError(f"a column has {children} columns inside it")
        if 1 not in node:
            waiting.append((children, lists, optional))
            continue
        kind, length = node[1], node.get(2, 0)
        if kind not in WIDTHS and (kind != FIXED or length < 1):
            raise _OddError(f"a column is of the type {kind} with {length} bytes")
        width = WIDTHS.get(kind, length)
        plain = {0: 0, 3: 12, BYTE_ARRAY: 4}.get(kind, width)
        leaves.append(
            _Leaf(
                kind=kind,
                width=max(width, 16 if kind == FIXED else 0) + 16 * lists,
                plain_width=plain,
                repeated=lists > 0,
                optional=optional,
            )
        )
    if any(left for left, _, _ in waiting):
        raise _OddError("its tree of columns ends too early")
    return leaves


class _Chunk:
    """The values of a column in a part of the rows: pages, each with a header."""

    def __init__(self, data: Bytes, about: dict[int, Any], leaf: _Leaf, steps: list[int]) -> None:
        self.data = data
        self.about = about
        self.leaf = leaf
        self.steps = steps
        self.values: int = about[5]
        self.dictionary = False

    def unpacked(self, rows: int) -> int:
        """Look at the header of every page; return the bytes of all pages when unpacked."""
        about, leaf = self.about, self.leaf
        if about[1] != leaf.kind:
            raise _OddError(f"a column of the type {leaf.kind} has values of the type {about[1]}")
        if rows < 0 or (self.values < rows if leaf.repeated else self.values != rows):
            raise _OddError(f"a column of {rows} rows has {self.values} values")
        # The page of the dictionary comes first, if there is one.
        place = min(about[9], about.get(11, about[9]))
        last = min(place + about[7], len(self.data) - 8)
        seen = unpacked = 0
        while seen < self.values:
            if not 4 <= place < last:
                raise _OddError(f"a column ends after {seen} of {self.values} values")
            reader = _Compact(self.data, place, last, self.steps)
            page = reader.struct()
            full, packed = page[2], page[3]
            if min(full, packed) < 0 or packed > last - reader.place:
                raise _OddError(f"a page of {packed} bytes, {full} unpacked")
            if about[4] == 0 and full != packed:
                raise _OddError(f"a page of {packed} bytes that are said to be {full}")
            place = reader.place + packed
            unpacked += full
            seen += self._page_values(page, full, self.values - seen)
        if unpacked > about[6]:
            raise _OddError(f"pages of {unpacked} bytes in a column of {about[6]}")
        return unpacked

    def _page_values(self, page: dict[int, Any], full: int, left: int) -> int:
        """Return how many values of the column a page holds, after a look at how it holds them."""
        if page[1] == DICTIONARY_PAGE:
            head = page[7]
            if self.dictionary or head[2] not in {PLAIN, DICTIONARY}:
                raise _OddError(f"a dictionary in the encoding {head[2]}")
            if not 0 <= head[1] * max(self.leaf.plain_width, 1) <= full:
                raise _OddError(f"a dictionary of {head[1]} values in {full} bytes")
            self.dictionary = True
            return 0
        count, encoding = self._data_page(page, full)
        if not 0 <= count <= left:
            raise _OddError(f"a page of {count} values where {left} are left")
        if encoding in {DICTIONARY, BY_DICTIONARY} and not self.dictionary:
            raise _OddError("a page needs a dictionary, and there is none")
        return count

    def _data_page(self, page: dict[int, Any], full: int) -> tuple[int, int]:
        """Return how many values a page holds, and in which encoding."""
        if page[1] == DATA_PAGE:
            head = page[5]
            if self.leaf.optional and {head[3], head[4]} != {RLE}:
                raise _OddError("the levels of a page are in an encoding of old")
            return head[1], head[2]
        if page[1] != DATA_PAGE_2:
            raise _OddError(f"a page of the kind {page[1]}")
        head = page[8]
        if min(head[5], head[6]) < 0 or head[5] + head[6] > min(full, page[3]):
            raise _OddError("the levels of a page are longer than the page")
        if not 0 <= head[2] <= head[1]:
            raise _OddError(f"a page of {head[1]} values lacks {head[2]}")
        return head[1], head[4]


class _Compact:
    r"""Reads the structures in a Parquet file, written in Thrift's compact protocol.

    >>> _Compact(b"\x15\x06\x18\x02ab\x00", 0, 7, [9]).struct()
    {1: 3, 2: None}
    """

    def __init__(self, data: Bytes, place: int, end: int, steps: list[int]) -> None:
        if place < 0:
            raise IndexError
        self.data = data
        self.place = place
        self.end = end
        self.steps = steps
        self.depth = 0

    def struct(self) -> dict[int, Any]:
        """Return the values of a structure by the numbers of its fields."""
        self.depth += 1
        if self.depth > DEPTH:
            raise _OddError(f"more than {DEPTH} structures stand inside each other")
        held: dict[int, Any] = {}
        field = 0
        while kind := self._byte():
            step, kind = kind >> 4, kind & 15
            field = field + step if step else self._number()
            self._step()
            held[field] = kind == 1 if kind in {1, 2} else self._value(kind)
        self.depth -= 1
        return held

    def _step(self) -> None:
        self.steps[0] -= 1
        if self.steps[0] < 0:
            raise _OddError("its lists of columns and pages are too long for its size")

    def _byte(self) -> int:
        if self.place >= self.end:
            raise IndexError
        self.place += 1
        return self.data[self.place - 1]

    def _varint(self) -> int:
        number = self._byte()
        if number < 128:
            return number
        number &= 127
        for shift in range(7, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError

    def _number(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)

    def _value(self, kind: int) -> Any:  # noqa: ANN401  (one per type)
        if kind in {4, 5, 6}:
            return self._number()
        if kind == 12:
            return self.struct()
        if kind == 8:
            return self._bytes(self._varint())
        if kind in {9, 10}:
            return self._list()
        if kind == 3:
            return self._byte()
        if kind == 7:
            return self._bytes(8)
        raise ValueError  # maps do not occur

    def _list(self) -> list[Any]:
        self.depth += 1
        if self.depth > DEPTH:
            raise _OddError(f"more than {DEPTH} structures stand inside each other")
        size, kind = divmod(self._byte(), 16)
        size = self._varint() if size == 15 else size
        kind = 3 if kind in {1, 2} else kind
        found = []
        for _ in range(size):
            self._step()
            found.append(self._value(kind))
        self.depth -= 1
        return found

    def _bytes(self, size: int) -> None:
        """Pass over a text; none of them is asked for."""
        self.place += size
        if self.place > self.end:
            raise IndexError
