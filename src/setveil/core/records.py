"""Records in parts: the verbs in which an algorithm is written once, for one machine or many.

An algorithm over records says what it finds in a *part* of them, how two findings *merge*, and
what follows in the end. Here there is one part; on Spark there are many, on other machines, and
only findings travel. How often items occur in records that hold at least two:

>>> from operator import add
>>> from setveil import TransactionTable
>>> def long_places(rows):
...     lengths = np.diff(rows.offsets)
...     return int(lengths[lengths > 1].sum())
>>> table = TransactionTable.from_rows([["a", "b"], ["b"], ["a", "b", "c"]])
>>> table.fold(long_places, add, 0)
5

Where records must meet that lie in different parts, they are first sent to where they belong:
``regroup(split, solve)``. `split` gives pieces of a part, each with the number of its group;
`solve` gets a number and all pieces of that group; what it finds comes back. The greatest number
of equal records:

>>> from collections import Counter
>>> def split(rows):
...     found = [tuple(row) for row in np.split(rows.items, rows.offsets[1:-1])]
...     return [(len(row) % 2, row) for row in found]
>>> def solve(number, pieces):
...     return max(Counter(pieces).values())
>>> max(table.regroup(split, solve))
1

Functions go to the workers, so they are functions of a module or partials of these. What they all
read and what is large goes there once: ``shared = records.share(value)``, then ``shared.value``.
A merge must not depend on the order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.table import TransactionTable, Vocabulary

    Numbers = tuple[int, ...]

Part = TypeVar("Part")
Other = TypeVar("Other")
Result = TypeVar("Result")
Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)


class Rows(NamedTuple):
    """Compressed rows: row `i` is ``items[offsets[i]:offsets[i + 1]]``."""

    offsets: Int64Array
    items: Int32Array

    def __repr__(self) -> str:
        return f"<Rows: {len(self.offsets) - 1:,} rows, {len(self.items):,} items>"


class Shared(Protocol[Value_co]):
    """A value that all workers have."""

    @property
    def value(self) -> Value_co:
        """Return it."""
        ...


class Parts(ABC, Generic[Part]):
    """Something in parts of its own kind: rows, tables, or releases of some records.

    Attributes
    ----------
    sample
        A part in which all that is published occurs, though not in all records. It is the whole
        where there is one part.
    room
        About how many places of records a group of :meth:`regroup` may hold; None for any number.
    spread
        Into how many groups all records go that are sent by their content.
    """

    sample: Part
    room: int | None
    spread: int

    @abstractmethod
    def fold(
        self,
        part: Callable[[Part], Result],
        merge: Callable[[Result, Result], Result],
        empty: Result,
    ) -> Result:
        """Return what `part` finds in all parts, merged; `empty` is what it finds in nothing."""

    @abstractmethod
    def regroup(
        self,
        split: Callable[[Part], Iterable[tuple[int, Any]]],
        solve: Callable[[int, list[Any]], Result],
    ) -> list[Result]:
        """Return what `solve` finds in each group of pieces, in any order."""

    @abstractmethod
    def map(self, change: Callable[[Part], Other]) -> Parts[Other]:
        """Return the same parts, each as something else."""

    @abstractmethod
    def share(self, value: Value) -> Shared[Value]:
        """Send a value to all workers once."""


@dataclass(frozen=True, eq=False)
class Held(Generic[Value]):
    """A shared value where there is nobody to share it with."""

    value: Value


@dataclass(frozen=True, eq=False)
class Whole(Parts[Part]):
    """All in one part, here.

    >>> Whole(3).map(str).fold(len, max, 0)
    1
    """

    sample: Part
    room: int | None = None
    spread: int = 1

    def fold(
        self,
        part: Callable[[Part], Result],
        merge: Callable[[Result, Result], Result],  # noqa: ARG002  (nothing to merge)
        empty: Result,  # noqa: ARG002
    ) -> Result:
        """Apply the function to the whole."""
        return part(self.sample)

    def regroup(
        self,
        split: Callable[[Part], Iterable[tuple[int, Any]]],
        solve: Callable[[int, list[Any]], Result],
    ) -> list[Result]:
        """Split the whole and solve one group after the other."""
        groups: dict[int, list[Any]] = {}
        for number, piece in split(self.sample):
            groups.setdefault(number, []).append(piece)
        return [solve(number, pieces) for number, pieces in groups.items()]

    def map(self, change: Callable[[Part], Other]) -> Parts[Other]:
        """Change the whole, once."""
        return Whole(change(self.sample))

    def share(self, value: Value) -> Shared[Value]:
        """Return a holder of the value."""
        return Held(value)


class Records(ABC):
    """Records over a vocabulary, in parts of compressed rows."""

    vocabulary: Vocabulary

    @property
    def n_items(self) -> int:
        """Number of names in the vocabulary."""
        return len(self.vocabulary)

    @property
    @abstractmethod
    def parts(self) -> Parts[Rows]:
        """The parts."""

    @property
    @abstractmethod
    def n_records(self) -> int:
        """Number of records."""

    @property
    @abstractmethod
    def longest(self) -> int:
        """The greatest number of items of a record."""

    @abstractmethod
    def supports(self) -> Int64Array:
        """Return for each item the number of records that hold it."""

    @abstractmethod
    def rows_at(self, places: Iterable[int]) -> Rows:
        """Return the records at some places, in the order of these."""

    def fold(
        self,
        part: Callable[[Rows], Result],
        merge: Callable[[Result, Result], Result],
        empty: Result,
    ) -> Result:
        """Return what `part` finds in all parts, merged."""
        return self.parts.fold(part, merge, empty)

    def regroup(
        self,
        split: Callable[[Rows], Iterable[tuple[int, Any]]],
        solve: Callable[[int, list[Any]], Result],
    ) -> list[Result]:
        """Return what `solve` finds in each group of pieces of rows."""
        return self.parts.regroup(split, solve)

    def share(self, value: Value) -> Shared[Value]:
        """Send a value to all workers once; functions read it as ``.value``."""
        return self.parts.share(value)

    def occurrences(self) -> Int64Array:
        """Return for each item in how many places it stands, twice in a record counted twice."""
        width = len(self.vocabulary)
        return self.fold(partial(count_places, width=width), np.add, np.zeros(width, np.int64))

    def length_counts(self) -> Int64Array:
        """Return how many records have 0, 1, 2 and so on places."""
        return self.fold(count_lengths, add_lengths, np.zeros(1, dtype=np.int64))

    def itemset_supports(self, itemsets: Sequence[Sequence[str]]) -> Int64Array:
        """Return how many records hold all items of each of some itemsets."""
        known = self.vocabulary
        numbers = [
            tuple(map(known.number, names)) if all(name in known for name in names) else None
            for names in itemsets
        ]
        asked = [each for each in numbers if each is not None]
        function = partial(count_holders, width=len(known), itemsets=self.share(asked))
        counts = self.fold(function, np.add, np.zeros(len(asked), dtype=np.int64))
        found = np.zeros(len(itemsets), dtype=np.int64)
        found[[each is not None for each in numbers]] = counts
        return found

    @abstractmethod
    def table_of(self, places: Iterable[int] | None) -> TransactionTable:
        """Return as many records here, with the items of those at some places only; None for all.

        Where all records are here anyway, none is left out.
        """

    @abstractmethod
    def empty_places(self) -> Int64Array:
        """Return the places of records without items, ascending."""

    def every_item(self) -> TransactionTable:
        """Return a table of one record that holds every item that occurs."""
        from setveil.core.table import TransactionTable

        used = np.flatnonzero(self.supports())
        return TransactionTable(
            offsets=np.array([0, len(used)]),
            items=used.astype(np.int32),
            vocabulary=self.vocabulary,
        )


class Holders:
    """The rows that hold each item, for counting without passing over them again.

    >>> rows = Rows(np.array([0, 1, 3]), np.array([0, 0, 1], dtype=np.int32))
    >>> Holders(rows, 2).support((0, 1)), Holders(rows, 2).support(())
    (1, 2)
    """

    def __init__(self, rows: Rows, width: int) -> None:
        self.n = len(rows.offsets) - 1
        row = np.repeat(np.arange(self.n, dtype=np.int64), np.diff(rows.offsets))
        # Item and row in one number: one sort groups by item, and a bag's repetitions meet.
        pairs = np.sort(rows.items * np.int64(self.n) + row)
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        self.rows = pairs % max(self.n, 1)
        self.starts = np.searchsorted(pairs, np.arange(width + 1) * self.n)

    def support(self, itemset: Iterable[int]) -> int:
        """Return the number of rows that hold all items of these numbers."""
        held = sorted((self.rows[self.starts[i] : self.starts[i + 1]] for i in itemset), key=len)
        if not held:
            return self.n
        common = held[0]
        for more in held[1:]:
            place = np.searchsorted(more, common)
            place[place == len(more)] = 0
            common = common[more[place] == common]
        return len(common)


# --- what is found in a part ----------------------------------------------------------------------


def count_places(rows: Rows, width: int) -> Int64Array:
    """Return in how many places of some rows each item stands."""
    return np.bincount(rows.items, minlength=width)


def count_lengths(rows: Rows) -> Int64Array:
    """Return how many of some rows have each length."""
    return np.bincount(np.diff(rows.offsets), minlength=1)


def add_lengths(one: Int64Array, other: Int64Array) -> Int64Array:
    """Return the sums of counts by length.

    >>> add_lengths(np.array([1]), np.array([0, 2])).tolist()
    [1, 2]
    """
    total = np.zeros(max(len(one), len(other)), dtype=np.int64)
    total[: len(one)] += one
    total[: len(other)] += other
    return total


def count_holders(rows: Rows, width: int, itemsets: Shared[Sequence[Numbers]]) -> Int64Array:
    """Return how many of some rows hold each of some itemsets, given as item numbers."""
    holders = Holders(rows, width)
    return np.array([holders.support(itemset) for itemset in itemsets.value], dtype=np.int64)


def draw_keys(numbers: Int64Array, seed: int) -> Int64Array:
    """Return numbers that look drawn at random, by numbers alone (the finalizer of splitmix64)."""
    mixed = numbers.astype(np.uint64) + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def cut_by_cost(costs: Int64Array, most: int) -> Int64Array:
    """Return where groups of neighbours begin and end that cost about `most`, or are single.

    >>> cut_by_cost(np.array([1, 1, 5, 1, 1]), 3).tolist()
    [0, 2, 3, 5]
    """
    bounds, total = [0], 0
    for place, cost in enumerate(costs.tolist()):
        if total and total + cost > most:
            bounds.append(place)
            total = 0
        total += cost
    return np.array([*bounds, len(costs)], dtype=np.int64)
