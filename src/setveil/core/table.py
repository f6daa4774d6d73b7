"""Set-valued data in memory: one compressed row per record over a sorted vocabulary."""

from __future__ import annotations

import itertools
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import AT_ONCE, Int32Array, Int64Array, offsets_of
from setveil.core.errors import InputError, ParameterError
from setveil.core.notebook import html_of_records
from setveil.core.records import Parts, Records, Rows, Whole
from setveil.core.threads import THREADS, map_ahead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from setveil.core.arrays import Int64Array
    from setveil.io.layout import ReadReport

Frame: TypeAlias = Any
"""A frame of polars, pandas or pyarrow: three libraries, none of them imported here."""

COMPILED = 1 << 19
"""Items from which on kernels pay: numba must be imported first."""


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The item names, sorted and without repetition; an item's number is its place here.

    Sorting makes numbers independent of the order in which records were read.

    >>> words = Vocabulary(names=("asthma", "flu"))
    >>> words.number("flu")
    1
    >>> "gout" in words
    False
    """

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        for before, after in zip(self.names, self.names[1:], strict=False):
            if before >= after:
                raise ParameterError(
                    f"vocabulary names must be sorted and distinct, got {before!r} then {after!r}",
                    fix="build tables with TransactionTable.from_rows or from_csr",
                )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __getitem__(self, number: int) -> str:
        return self.names[number]

    def numbers(self, names: Iterable[str]) -> Int32Array:
        """Return the number of each name, -1 for one that does not occur."""
        return np.array([self._numbers.get(name, -1) for name in names], dtype=np.int32)

    def number(self, name: str) -> int:
        """Return the number of a name, or say that it does not occur."""
        try:
            return self._numbers[name]
        except KeyError:
            raise InputError(
                f"the item {name!r} does not occur in the data",
                fix="check its spelling; `setveil inspect` lists the items",
            ) from None


def frozen(array: npt.ArrayLike, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Return a read-only view (or a converted copy) of `array`; the caller's own stays writable."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def canonical_order(offsets: Int64Array, items: Int32Array) -> Int64Array:
    """Return the order that sorts rows by length descending, then by their item numbers.

    Equal rows keep their relative order. The result depends on nothing but the rows' content,
    which is what lets a release carry no trace of the input's order.

    >>> canonical_order(np.array([0, 1, 3, 4]), np.array([2, 0, 1, 1], dtype=np.int32)).tolist()
    [1, 2, 0]
    """
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    # Rows of one length are byte strings of one width, big-endian so that bytes compare as numbers.
    cuts = np.flatnonzero(np.diff(lengths[order], prepend=-1)).tolist()
    for first, last in itertools.pairwise([*cuts, len(order)]):
        rows = order[first:last]
        length = int(lengths[rows[0]])
        if len(rows) == 1 or length == 0:
            continue
        keys = np.empty((len(rows), length), dtype=">u4")
        step = max(AT_ONCE // length, 1)
        for at in range(0, len(rows), step):
            starts = offsets[rows[at : at + step]]
            keys[at : at + step] = items[starts[:, None] + np.arange(length)]
        found = np.argsort(keys.view(f"S{4 * length}").ravel(), kind="stable")
        order[first:last] = rows[found]
    return order


def take_rows(
    offsets: Int64Array, items: npt.NDArray[Any], order: Int64Array
) -> tuple[Int64Array, npt.NDArray[Any]]:
    """Return the rows `order` of a compressed row structure, in that order."""
    lengths = np.diff(offsets)[order]
    taken = offsets_of(lengths)
    found = np.empty(taken[-1], dtype=items.dtype)
    first = 0
    while first < len(order):
        last = int(np.searchsorted(taken, taken[first] + AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), len(order))
        shift = np.repeat(offsets[order[first:last]] - taken[first:last], lengths[first:last])
        found[taken[first] : taken[last]] = items[np.arange(taken[first], taken[last]) + shift]
        first = last
    return taken, found


def _are_rows(offsets: Int64Array, items: npt.NDArray[Any], n_names: int) -> bool:
    """Return whether arrays are rows of numbers below `n_names`: kernels do not ask."""
    return bool(
        len(offsets)
        and offsets[0] == 0
        and offsets[-1] == len(items)
        and np.all(offsets[1:] >= offsets[:-1])
        and items.dtype.kind in "iu"
        and items.min() >= 0
        and items.max() < n_names
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class TransactionTable(Records):
    """Records, each a set of items (or a bag, where a method needs one), in compressed rows.

    Parameters
    ----------
    offsets
        Row `i` holds ``items[offsets[i]:offsets[i + 1]]``; int64, length n + 1.
    items
        Item numbers, sorted within each row; int32.
    vocabulary
        The names behind the numbers.
    reading
        How the table was read, where `setveil.read` made it.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["flu", "asthma"], [], ["flu"]])
    >>> len(table), table.n_items, table[0]
    (3, 2, ('asthma', 'flu'))
    >>> table.to_rows()
    [['asthma', 'flu'], [], ['flu']]
    """

    offsets: Int64Array
    items: Int32Array
    vocabulary: Vocabulary
    reading: ReadReport | None = None

    def __post_init__(self) -> None:
        offsets = frozen(self.offsets, np.int64)
        items = frozen(self.items, np.int32)
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "items", items)
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(items):
            raise ParameterError(
                f"offsets must run from 0 to the number of items ({len(items)})",
                fix="build tables with TransactionTable.from_rows or from_csr",
            )
        if np.any(offsets[1:] < offsets[:-1]):
            raise ParameterError("offsets must not decrease", fix="use from_rows or from_csr")
        # As unsigned numbers, negative ones are too large as well.
        if len(items) and items.view(np.uint32).max() >= len(self.vocabulary):
            raise ParameterError(
                f"item numbers must lie in 0..{len(self.vocabulary) - 1}",
                fix="build tables with TransactionTable.from_rows or from_csr",
            )
        falls = items[1:] < items[:-1]
        borders = offsets[1:-1]
        falls[borders[(borders > 0) & (borders < len(items))] - 1] = False
        if falls.any():
            raise ParameterError(
                "items must be sorted within each row", fix="use from_rows or from_csr"
            )

    @classmethod
    def unchecked(
        cls,
        *,
        offsets: Int64Array,
        items: Int32Array,
        vocabulary: Vocabulary,
        reading: ReadReport | None = None,
    ) -> TransactionTable:
        """Build a table from arrays that are known to be as the class wants them.

        Kernels make them so, and their tests prove it; looking again would take as long as they
        do.

        >>> table = TransactionTable.from_rows([["flu"]])
        >>> TransactionTable.unchecked(
        ...     offsets=table.offsets, items=table.items, vocabulary=table.vocabulary).to_rows()
        [['flu']]
        """
        table = object.__new__(cls)
        object.__setattr__(table, "offsets", frozen(offsets, np.int64))
        object.__setattr__(table, "items", frozen(items, np.int32))
        object.__setattr__(table, "vocabulary", vocabulary)
        object.__setattr__(table, "reading", reading)
        return table

    def with_reading(self, reading: ReadReport) -> TransactionTable:
        """Return the table with a report of how it was read; nothing is checked again."""
        return TransactionTable.unchecked(
            offsets=self.offsets, items=self.items, vocabulary=self.vocabulary, reading=reading
        )

    def _steps(self) -> npt.NDArray[np.int32]:
        """Differences between neighbours of the same row (positive where rows meet)."""
        steps = np.diff(self.items)
        borders = self.offsets[1:-1]
        borders = borders[(borders > 0) & (borders < len(self.items))]
        steps[borders - 1] = 1
        return steps

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[str]], *, bags: bool = False) -> TransactionTable:
        """Build a table from names; an item repeated within a record counts once unless `bags`.

        >>> TransactionTable.from_rows([["b", "a", "b"]], bags=True)[0]
        ('a', 'b', 'b')
        """
        numbers: dict[str, int] = {}
        flat: list[int] = []
        lengths: list[int] = []
        for place, row in enumerate(rows):
            if isinstance(row, str):
                raise InputError(
                    f"record {place + 1} is the text {row!r}, not a collection of items",
                    fix="pass one list of item names per record",
                )
            before = len(flat)
            for name in row:
                if not isinstance(name, str):
                    raise InputError(
                        f"record {place + 1} holds {name!r}, which is not a text",
                        fix="pass item names as strings",
                    )
                flat.append(numbers.setdefault(name, len(numbers)))
            lengths.append(len(flat) - before)
        offsets = offsets_of(lengths)
        return cls.from_csr(offsets, np.array(flat, dtype=np.int64), list(numbers), bags=bags)

    @classmethod
    def from_csr(
        cls,
        offsets: npt.ArrayLike,
        items: npt.ArrayLike,
        names: Iterable[str],
        *,
        bags: bool = False,
    ) -> TransactionTable:
        """Build a table from arrays in any order: sorts names and rows, merges repetitions.

        `names` must be distinct; names that no row uses stay in the vocabulary.
        """
        offsets = np.asarray(offsets, dtype=np.int64)
        given = np.asarray(items)
        names = list(names)
        order = sorted(range(len(names)), key=names.__getitem__)
        place = np.empty(len(names), dtype=np.int32)
        place[order] = np.arange(len(names), dtype=np.int32)
        if len(given) >= COMPILED and not bags and _are_rows(offsets, given, len(names)):
            offsets, flat = ranked_rows(
                offsets.copy(), given.astype(np.int32), place, n_ranks=len(names)
            )
            return cls.unchecked(
                offsets=offsets,
                items=flat,
                vocabulary=Vocabulary(names=tuple(names[i] for i in order)),
            )
        # Row and item in one 64-bit key: a single numpy sort orders all rows at once.
        width = np.int64(max(len(names), 1))
        keys = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64) * width, np.diff(offsets))
        keys += place[given]
        if np.any(keys[1:] < keys[:-1]):
            keys.sort()
        if not bags and len(keys):
            first = np.empty(len(keys), dtype=bool)
            first[0] = True
            np.not_equal(keys[1:], keys[:-1], out=first[1:])
            if not first.all():
                keys = keys[first]
                borders = np.arange(len(offsets), dtype=np.int64) * width
                offsets = np.searchsorted(keys, borders).astype(np.int64)
        return cls(
            offsets=offsets,
            items=(keys % width).astype(np.int32),
            vocabulary=Vocabulary(names=tuple(names[i] for i in order)),
        )

    @classmethod
    def from_frame(cls, frame: Frame, *, id: str, item: str) -> TransactionTable:
        """Build a table from a long polars, pandas or pyarrow frame: one row per (record, item).

        Records come in the order of their first row; rows whose item is null stand for a record
        that may hold no item at all.

        >>> import polars as pl
        >>> frame = pl.DataFrame({"who": [7, 7, 3], "what": ["flu", "gout", "flu"]})
        >>> TransactionTable.from_frame(frame, id="who", item="what").to_rows()
        [['flu', 'gout'], ['flu']]
        """
        from setveil.io.frames import table_from_frame

        return table_from_frame(frame, id_column=id, item_column=item)

    def to_frame(self) -> pl.DataFrame:
        """Return a long polars frame with columns ``record`` (0, 1, …) and ``item``."""
        import polars as pl

        names = np.array(self.vocabulary.names, dtype=object)
        return pl.DataFrame(
            {
                "record": np.repeat(np.arange(len(self)), self.lengths),
                "item": pl.Series(names[self.items].tolist(), dtype=pl.String),
            }
        )

    def to_rows(self) -> list[list[str]]:
        """Return the records as lists of item names."""
        names = self.vocabulary.names
        flat = [names[i] for i in self.items.tolist()]
        bounds = self.offsets.tolist()
        return [flat[a:b] for a, b in itertools.pairwise(bounds)]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, record: int) -> tuple[str, ...]:
        n = len(self)
        if not -n <= record < n:
            raise IndexError(f"record {record} of a table with {n}")
        record %= n
        row = self.items[self.offsets[record] : self.offsets[record + 1]]
        return tuple(self.vocabulary.names[i] for i in row.tolist())

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"<TransactionTable: {len(self):,} records, {self.n_items:,} items, "
            f"{len(self.items):,} occurrences>"
        )

    def _repr_html_(self) -> str:
        return html_of_records(repr(self).strip("<>"), self, len(self))

    @property
    def n_items(self) -> int:
        """Number of names in the vocabulary."""
        return len(self.vocabulary)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self)

    @cached_property
    def lengths(self) -> Int64Array:
        """Number of items of each record."""
        return np.diff(self.offsets)

    @property
    def longest(self) -> int:
        """The greatest number of items of a record."""
        return int(self.lengths.max(initial=0))

    @property
    def parts(self) -> Parts[Rows]:
        """All records, as one part."""
        return Whole(Rows(self.offsets, self.items))

    def rows_at(self, places: Iterable[int]) -> Rows:
        """Return the records at some places.

        >>> TransactionTable.from_rows([["a"], ["b", "c"]]).rows_at([1]).items.tolist()
        [1, 2]
        """
        return Rows(*take_rows(self.offsets, self.items, np.fromiter(places, dtype=np.int64)))

    def table_of(self, places: Iterable[int] | None) -> TransactionTable:  # noqa: ARG002
        """Return the table itself: all records are here."""
        return self

    def empty_places(self) -> Int64Array:
        """Return the places of records without items, ascending."""
        return np.flatnonzero(self.lengths == 0)

    @cached_property
    def is_bag(self) -> bool:
        """Whether some record holds an item more than once."""
        return bool(np.any(self._steps() == 0))

    def supports(self) -> Int64Array:
        """Return for each item the number of records that hold it.

        >>> TransactionTable.from_rows([["a", "b"], ["b"]]).supports().tolist()
        [1, 2]
        """
        items = self.items
        if self.is_bag:
            fresh = np.ones(len(items), dtype=bool)
            fresh[1:] = self._steps() != 0
            items = items[fresh]
        return np.bincount(items, minlength=self.n_items)

    def take(self, order: npt.ArrayLike) -> TransactionTable:
        """Return the records `order`, in that order, over the same vocabulary."""
        offsets, items = take_rows(self.offsets, self.items, np.asarray(order, dtype=np.int64))
        return TransactionTable(offsets=offsets, items=items, vocabulary=self.vocabulary)

    def canonical_order(self) -> Int64Array:
        """Return the order by length descending, then item names: what every method works in."""
        return canonical_order(self.offsets, self.items)


# --- compressed rows of many items, put into order by kernels and in threads ----------------------


def ranked_rows(
    offsets: Int64Array, items: Int32Array, rank: Int32Array, n_ranks: int
) -> tuple[Int64Array, Int32Array]:
    """Return rows of ranks, sorted and without repetitions; overwrites what it is given.

    Items with a negative rank are dropped; all ranks are below `n_ranks`.

    >>> offsets, items = ranked_rows(
    ...     np.array([0, 3, 4]), np.array([2, 0, 2, 1], np.int32), np.array([7, 5, 6], np.int32), 8)
    >>> offsets.tolist(), items.tolist()
    ([0, 2, 3], [6, 7, 5])
    """
    from setveil.kernels.rows import rank_rows

    # Every thread takes rows that hold about as many items as those of the others. A part gets
    # its start as a number: the entry is overwritten by the part before.
    shares = np.searchsorted(offsets, np.linspace(0, len(items), THREADS + 1)[1:-1])
    cuts = [0, *shares.tolist(), len(offsets) - 1]
    starts = offsets[cuts].tolist()

    def ranked(part: int) -> int:
        ends = offsets[cuts[part] + 1 : cuts[part + 1] + 1]
        return rank_rows(ends, starts[part], items, rank, n_ranks)

    stops = list(map_ahead(ranked, range(THREADS), workers=THREADS))
    # Close the gaps between the parts.
    total = stops[0]
    for part in range(1, THREADS):
        gap = starts[part] - total
        if gap:
            offsets[cuts[part] + 1 : cuts[part + 1] + 1] -= gap
            items[total : stops[part] - gap] = items[starts[part] : stops[part]]
        total = stops[part] - gap
    # A few items too many are cheaper to keep than a second array is to make.
    return offsets, items[:total] if total > 0.8 * len(items) else items[:total].copy()


def grouped_pairs(
    n_records: int, records: npt.NDArray[np.integer], items: Int32Array
) -> tuple[Int64Array, Int32Array]:
    """Return rows from pairs of a record's and an item's number; items keep their order.

    >>> offsets, items = grouped_pairs(2, np.array([1, 0, 1]), np.array([7, 8, 9], np.int32))
    >>> offsets.tolist(), items.tolist()
    ([0, 1, 3], [8, 7, 9])
    """
    offsets = np.zeros(n_records + 1, dtype=np.int64)
    if len(items) < COMPILED:
        np.cumsum(np.bincount(records, minlength=n_records), out=offsets[1:])
        if np.any(records[1:] < records[:-1]):
            items = items[np.argsort(records, kind="stable")]
        return offsets, items
    from setveil.kernels.rows import count_pairs, group_pairs

    numbers = records.astype(np.int32, copy=False)
    if count_pairs(numbers, offsets):
        return offsets, items
    grouped = np.empty(len(items), dtype=np.int32)
    group_pairs(numbers, items, offsets[:-1].copy(), grouped)
    return offsets, grouped


def number_in_place(codes: Int32Array, size: int) -> int:
    """Replace codes by numbers in the order of their first appearance; return how many there are.

    `size` is more than any code.

    >>> codes = np.array([9, 4, 9], np.int32)
    >>> number_in_place(codes, 10), codes.tolist()
    (2, [0, 1, 0])
    """
    if len(codes) < COMPILED:
        known: dict[int, int] = {}
        codes[:] = [known.setdefault(code, len(known)) for code in codes.tolist()]
        return len(known)
    from setveil.kernels.rows import number_codes

    return number_codes(codes, np.full(size, -1, dtype=np.int32))


def _numbering() -> defaultdict[str, int]:
    """Return a dict that gives each new key the next number."""
    return defaultdict(count().__next__)


@dataclass(kw_only=True)
class Collected:
    """What a format's reader hands back: the table and how many repetitions it merged."""

    table: TransactionTable
    duplicates: int
    notes: list[str] = field(default_factory=list)


class RowCollector:
    """Records of names, added one after the other.

    >>> rows = RowCollector()
    >>> rows.add(["b", "a", "b"])
    >>> rows.add([])
    >>> done = rows.finish()
    >>> done.table.to_rows(), done.duplicates
    ([['a', 'b'], []], 1)
    """

    def __init__(self) -> None:
        self._numbers = _numbering()
        self._flat = array("i")
        self._ends = array("q", [0])

    def add(self, names: Iterable[str]) -> None:
        """Add a record."""
        self._flat.extend(map(self._numbers.__getitem__, names))
        self._ends.append(len(self._flat))

    def finish(self) -> Collected:
        """Return the table of all records."""
        table = TransactionTable.from_csr(
            np.frombuffer(self._ends, dtype=np.int64),
            np.frombuffer(self._flat, dtype=np.int32),
            self._numbers,
        )
        return Collected(table=table, duplicates=len(self._flat) - len(table.items))


def collected_pairs(
    n_records: int, rows: npt.NDArray[np.int64], flat: npt.NDArray[np.int32], names: list[str]
) -> Collected:
    """Gather pairs of a record's and an item's number into a table.

    >>> collected_pairs(2, np.array([1, 0]), np.array([0, 0], np.int32), ["a"]).table.to_rows()
    [['a'], ['a']]
    """
    offsets, flat = grouped_pairs(n_records, rows, flat)
    table = TransactionTable.from_csr(offsets, flat, names)
    return Collected(table=table, duplicates=len(flat) - len(table.items))


# --- Cells of generalized items ---


def record_cells(
    table: TransactionTable, groups: Iterable[Iterable[str]]
) -> tuple[Int64Array, Int64Array]:
    """Return for each record its original cells, and all cells of its generalized items.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cold"], ["flu"], ["fever"]])
    >>> [cells.tolist() for cells in record_cells(table, [["flu", "cold"]])]
    [[2, 1, 0], [2, 2, 0]]
    """
    group_of = np.full(table.n_items, -1, dtype=np.int64)
    sizes: list[int] = []
    first_group: dict[str, int] = {}
    for members in (sorted(set(group)) for group in groups):
        if len(members) < 2:
            continue
        for item in members:
            if first_group.setdefault(item, len(sizes)) != len(sizes):
                raise ParameterError(
                    f"the item {item!r} stands in two groups",
                    fix="publish each item in one group only",
                )
            if item in table.vocabulary:
                group_of[table.vocabulary.number(item)] = len(sizes)
        sizes.append(len(members))
    n, n_items, width = len(table), max(table.n_items, 1), max(len(sizes), 1)
    record_of = np.repeat(np.arange(n, dtype=np.int64), table.lengths)
    within = group_of[table.items] >= 0
    # One number per cell and per row of a group's table: a bag may hold an item twice.
    held = _distinct(record_of[within] * n_items + table.items[within])
    original = np.bincount(held // n_items, minlength=n)
    rows = _distinct(np.sort(held // n_items * width + group_of[held % n_items]))
    cells = np.zeros(n, dtype=np.int64)
    np.add.at(cells, rows // width, np.array([*sizes, 0], dtype=np.int64)[rows % width])
    return original, cells


def _distinct(ascending: Int64Array) -> Int64Array:
    """Return sorted numbers once each; much faster than numpy's way through a hash table."""
    first = np.ones(len(ascending), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending[first]
