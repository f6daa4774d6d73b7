"""A table in figures and in plain sentences: its size, and how easily it gives people away."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import ParameterError
from setveil.core.table import record_cells
from setveil.measure.uniqueness import uniqueness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.interval import Rate
    from setveil.core.table import TransactionTable

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PEOPLE = 1000


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What :func:`profile` found.

    Parameters
    ----------
    records, items, occurrences
        Number of records, of items that occur, and of items over all records.
    empty_records
        Records without any item.
    duplicate_records
        Records that equal an earlier one.
    length_min, length_median, length_mean, length_max
        Items per record; all 0 in an empty table.
    density
        Share of all (record, item) pairs that occur.
    ttr
        Type-token ratio: different items per occurrence.
    top_items
        The items that most records hold, with their number of records.
    rare_items
        Number of items that a single record holds.
    uniqueness
        Share of records that 1, 2, 3, … known items single out; empty for an empty table.
    samples
        Number of draws behind those of them that are estimates.
    """

    records: int
    items: int
    occurrences: int
    empty_records: int
    duplicate_records: int
    length_min: int
    length_median: float
    length_mean: float
    length_max: int
    density: float
    ttr: float
    top_items: tuple[tuple[str, int], ...]
    rare_items: int
    uniqueness: tuple[Rate, ...]
    samples: int

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as JSON holds them; ``unique_2`` is the rate for two known items.

        >>> from setveil import TransactionTable
        >>> found = profile(TransactionTable.from_rows([["a", "b"], ["a"]])).as_dict()
        >>> found["records"], found["density"], found["unique_1"], found["unique_1_exact"]
        (2, 0.75, 0.25, True)
        """
        result: dict[str, Any] = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in {"top_items", "uniqueness", "samples"}
        }
        for m, rate in enumerate(self.uniqueness, start=1):
            result[f"unique_{m}"] = rate.value
            result[f"unique_{m}_low"] = rate.low
            result[f"unique_{m}_high"] = rate.high
            result[f"unique_{m}_exact"] = rate.exact
        result["top_items"] = [
            {"item": item, "records": records} for item, records in self.top_items
        ]
        return result

    def sentences(self) -> list[str]:
        r"""Return what matters in words for someone who knows no privacy theory.

        >>> from setveil import TransactionTable
        >>> found = profile(TransactionTable.from_rows([["flu", "HIV"], ["flu"], ["flu"]]), m=1)
        >>> print(*found.sentences(), sep="\n")
        1 record equals an earlier one: equal records hide each other.
        1 item occurs in a single record: whoever knows that someone has it has found the record.
        Of 1,000 people who know one item of a record, about 167 could single it out.
        """
        said = []
        if self.empty_records:
            verb = "record holds" if self.empty_records == 1 else "records hold"
            said.append(f"{self.empty_records:,} {verb} no item at all.")
        if self.duplicate_records:
            verb = "record equals" if self.duplicate_records == 1 else "records equal"
            said.append(
                f"{self.duplicate_records:,} {verb} an earlier one: equal records hide each other."
            )
        if self.rare_items:
            one = self.rare_items == 1
            verb, them = ("item occurs", "it") if one else ("items occur", "one of them")
            said.append(
                f"{self.rare_items:,} {verb} in a single record: whoever knows that someone has "
                f"{them} has found the record."
            )
        said += [self._single_out(m, rate) for m, rate in enumerate(self.uniqueness, start=1)]
        return said

    def _single_out(self, m: int, rate: Rate) -> str:
        number = NUMBERS[m] if m < len(NUMBERS) else f"{m:,}"
        who = f"Of {PEOPLE:,} people who know {number} item{'s' if m > 1 else ''} of a record"
        count = round(PEOPLE * rate.value)
        if rate.exact and rate.value == 0:
            return f"{who}, none could single it out."
        if rate.exact and rate.value == 1:
            return f"{who}, all could single it out."
        if rate.exact:
            about = f"about {count:,}" if count else "fewer than one"
            return f"{who}, {about} could single it out."
        low, high = round(PEOPLE * rate.low), round(PEOPLE * rate.high)
        return (
            f"{who}, about {count:,} could single it out "
            f"(between {low:,} and {high:,}: estimated from {self.samples:,} draws)."
        )


def profile(
    table: TransactionTable,
    *,
    m: int = 3,
    top: int = 5,
    samples: int = 1000,
    rng: np.random.Generator | None = None,
) -> Profile:
    """Describe a table: sizes, lengths, density, rare items, and how many records are unique.

    Parameters
    ----------
    table
        The records.
    m
        Greatest number of known items in the uniqueness curve; 0 leaves it out.
    top
        Number of most frequent items to name (ties by name).
    samples, rng
        As in :func:`setveil.measure.uniqueness.uniqueness`.

    Returns
    -------
    Profile
        The figures.

    Examples
    --------
    >>> from setveil.synthetic import clinic
    >>> found = profile(clinic(n=500, seed=1).table)
    >>> found.records, found.length_min, len(found.uniqueness)
    (500, 1, 3)
    """
    if m < 0:
        raise ParameterError(f"m is {m}", fix="use 0 or more known items")
    n = len(table)
    supports = table.supports()
    items = int(np.count_nonzero(supports))
    occurrences = int(supports.sum())
    lengths = table.lengths if n else np.zeros(1, dtype=np.int64)
    frequent = np.argsort(-supports, kind="stable")[: min(top, items)]
    most = min(m, max(int(lengths.max()), 3))  # beyond the longest record nothing changes
    rates = [uniqueness(table, j, samples=samples, rng=rng) for j in range(1, most + 1) if n]
    return Profile(
        records=n,
        items=items,
        occurrences=occurrences,
        empty_records=int(np.count_nonzero(table.lengths == 0)),
        duplicate_records=n - _distinct_records(table),
        length_min=int(lengths.min()),
        length_median=float(np.median(lengths)),
        length_mean=float(lengths.mean()),
        length_max=int(lengths.max()),
        density=occurrences / (n * items) if items else 0.0,
        ttr=ttr(table),
        top_items=tuple((table.vocabulary[i], int(supports[i])) for i in frequent.tolist()),
        rare_items=int(np.count_nonzero(supports == 1)),
        uniqueness=tuple(rates),
        samples=samples,
    )


def ttr(table: TransactionTable) -> float:
    """Return the type-token ratio: the number of different items per occurrence of an item.

    An item that a record holds twice counts once in it. 1 where no two records share an item, 0
    in a table without items. AlShuhail & Shao (2023) call it data density.

    >>> from setveil import TransactionTable
    >>> ttr(TransactionTable.from_rows([["flu", "cough"], ["flu", "fever"]]))
    0.75
    """
    supports = table.supports()
    occurrences = int(supports.sum())
    return int(np.count_nonzero(supports)) / occurrences if occurrences else 0.0


def _distinct_records(table: TransactionTable) -> int:
    raw = table.items.tobytes()
    ends = (table.offsets * table.items.itemsize).tolist()
    return len({raw[start:end] for start, end in pairwise(ends)})


def cell_density(table: TransactionTable, groups: Iterable[Iterable[str]]) -> float | None:
    """Return the share of original cells among all cells, the density of Shao & Ong (2017).

    A group of items is published as one generalized item. It has a row for each record that
    holds any member and a column for each member; a cell is original where the record holds the
    member, and added otherwise. All groups count together. Not to be confused with the type-token
    ratio (:func:`setveil.measure.profile.ttr`), the density of AlShuhail & Shao (2023).

    Parameters
    ----------
    table
        The original records.
    groups
        The items that are published together. A group of one is that item as it was, and has no
        cells; members that no record holds are columns all the same.

    Returns
    -------
    float or None
        The share; None where there are no cells.

    Raises
    ------
    ParameterError
        If an item stands in two groups.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cold"], ["flu"], ["fever"]])
    >>> cell_density(table, [["flu", "cold"], ["fever"]])
    0.75

    References
    ----------
    J. Shao, H. Ong, "Exploiting contextual information in attacking set-generalized
    transactions", ACM Transactions on Internet Technology 17(4), 2017, section 6.1.
    """
    original, cells = record_cells(table, groups)
    return int(original.sum()) / int(cells.sum()) if cells.any() else None
