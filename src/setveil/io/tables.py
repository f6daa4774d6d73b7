"""From the columns of a table to records: rows with the same record id are one record.

Records are cleaned on request: nothing is changed unless it was asked for, and what was changed is
said.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.arrays import offsets_of
from setveil.core.errors import InputError, ParameterError
from setveil.core.spelling import spelling_key, tidy
from setveil.core.table import Collected, TransactionTable, collected_pairs
from setveil.io.column_names import vocabulary
from setveil.io.identifiers import ColumnSummary
from setveil.io.roles import CELLS, ONES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from setveil.core.arrays import BoolArray, Int32Array, Int64Array
    from setveil.core.errors import Problems
    from setveil.io.layout import Layout

    Texts = Callable[[npt.ArrayLike], list[str]]

MISSING = frozenset(
    {"NaN", "nan", "NA", "N/A", "n/a", "<NA>", "#N/A", "#REF!", "#VALUE!", "NULL", "null", "\\N"}
)
"""Texts that programs write into the empty cells of a table."""
TOTALS = vocabulary("""
    total totals sum summe gesamt gesamtsumme insgesamt somme totale suma totaal count anzahl
""")
"""What the first cell of a last row says that sums up the others."""
SAMPLES = 1000
"""How many different values of a column are kept for the search for identities."""


@dataclass(frozen=True, kw_only=True)
class CodedColumn:
    """A column of a table: a code for each row's cell, and what the codes stand for.

    Parameters
    ----------
    name, role, separator
        As in the layout.
    codes
        One for each row; 0 stands for an empty cell.
    texts
        Returns the texts of codes.
    size
        All codes are smaller.
    named
        Whether the name stands in the file.
    untyped
        Whether an empty cell may be written as a word, as in text.
    """

    name: str
    role: str
    separator: str = ""
    codes: Int32Array
    texts: Texts
    size: int
    named: bool = True
    untyped: bool = True

    def used(self) -> Int64Array:
        """Return the codes that occur, without that of the empty cell, in their order."""
        seen = np.zeros(max(self.size, 1), dtype=bool)
        seen[self.codes] = True
        seen[0] = False
        return np.flatnonzero(seen)

    def summary(self, used: Int64Array) -> ColumnSummary:
        """Return what the search for identities wants to know."""
        return ColumnSummary(
            name=self.name if self.named else f"field {self.name}",
            filled=int(np.count_nonzero(self.codes)),
            distinct=len(used),
            samples=tuple(self.texts(used[:SAMPLES])),
            named=self.named,
        )


@dataclass(frozen=True, kw_only=True)
class Flags:
    """Columns of 0 and 1, one per item: a code for each cell, and what the codes stand for."""

    names: list[str]
    codes: Int32Array
    texts: Texts
    size: int

    def marks(self, problems: Problems, lines: Int64Array | None) -> tuple[BoolArray, BoolArray]:
        """Return which cells say yes, and which rows have a cell that says neither; report these.

        >>> from setveil.core.errors import Problems
        >>> flags = Flags(names=["flu", "gout"], codes=np.array([[1, 2], [1, 0]], np.int32),
        ...               texts=lambda codes: [["", "yes", "0"][code] for code in codes], size=3)
        >>> yes, wrong = flags.marks(Problems(name="x"), None)
        >>> yes.tolist(), wrong.tolist()
        ([[True, False], [True, False]], [False, False])
        """
        seen = np.zeros(max(self.size, 1), dtype=bool)
        seen[self.codes] = True
        seen[0] = False
        used = np.flatnonzero(seen)
        texts = self.texts(used)
        says_yes = np.zeros(len(seen), dtype=bool)
        says_yes[used] = [text in ONES for text in texts]
        neither = np.zeros(len(seen), dtype=bool)
        neither[used] = [text not in CELLS for text in texts]
        wrong: BoolArray = np.zeros(len(self.codes), dtype=bool)
        if neither.any():
            bad = neither[self.codes]
            wrong = np.asarray(bad.any(axis=1))
            for row in np.flatnonzero(wrong).tolist():
                place = int(bad[row].argmax())
                problems.add(
                    f"is neither 0 nor 1 (item {self.names[place]!r})",
                    line=0 if lines is None else int(lines[row]),
                    row=row + 1 if lines is None else 0,
                    text=self.texts([self.codes[row, place]])[0],
                    fix="write 0 or 1, false or true, no or yes, or nothing for 0; a column that "
                    "is not an item can be set aside with --ignore",
                )
        return says_yes[self.codes], wrong


@dataclass(kw_only=True)
class Assembled:
    """Records put together from columns, and what is known of these."""

    collected: Collected
    columns: list[ColumnSummary] = field(default_factory=list)


class _Names:
    """Numbers of item names, over all columns."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def of(self, names: Sequence[str]) -> Int32Array:
        """Return the numbers of names; new ones are counted on."""
        known = self.numbers
        return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int32)


def assemble(
    columns: Sequence[CodedColumn],
    rows: int,
    layout: Layout,
    problems: Problems,
    *,
    flags: Flags | None = None,
    lines: Int64Array | None = None,
) -> Assembled:
    """Put records together from the columns of a table.

    `flags` are the columns of 0 and 1. `lines` are the numbers of the lines on which the rows
    begin, where they come from a text.

    >>> from setveil.core.errors import Problems
    >>> from setveil.io.layout import Column, Layout
    >>> layout = Layout(format="long", columns=(Column(name="who", role="record id"),
    ...                                         Column(name="what", role="item")))
    >>> texts = ["", "p1", "p2", "flu", "gout"]
    >>> def names(codes):
    ...     return [texts[code] for code in codes]
    >>> who = CodedColumn(name="who", role="record id", codes=np.array([1, 2, 1]), texts=names,
    ...                   size=5)
    >>> what = CodedColumn(name="what", role="item", codes=np.array([3, 0, 4]), texts=names, size=5)
    >>> assemble([who, what], 3, layout, Problems(name="x")).collected.table.to_rows()
    [['flu', 'gout'], []]
    """
    notes: list[str] = []
    wrong = np.zeros(rows, dtype=bool)
    if flags is not None:
        yes, wrong = flags.marks(problems, lines)
    if is_total(columns, rows):
        wrong[-1] = True
        notes.append("The last row sums up the others and was left out.")
    if wrong.any():
        rows -= int(wrong.sum())
        columns = [replace(column, codes=column.codes[~wrong]) for column in columns]
    names = _Names()
    held: list[Int64Array] = []
    items: list[Int32Array] = []
    if flags is not None:
        where, places = np.nonzero(yes[~wrong] if wrong.any() else yes)
        held.append(where)
        items.append(names.of(flags.names)[places])
    for group in _sharing(columns):
        where, numbers = _single_items(group, names, notes)
        held.append(where)
        items.append(numbers)
    for column in columns:
        if column.role == "items":
            where, numbers = _listed_items(column, names)
            held.append(where)
            items.append(numbers)
    summaries = [
        column.summary(column.used()) for column in columns if column.role in {"item", "items"}
    ]
    record_of, n_records = _records(columns, rows)
    flat = np.concatenate(items) if items else np.empty(0, dtype=np.int32)
    place = np.concatenate(held) if held else np.empty(0, dtype=np.int64)
    if record_of is not None:
        place = record_of[place]
    flat, kept = _used_names(flat, list(names.numbers))
    collected = collected_pairs(n_records, place, flat, kept)
    if record_of is not None and n_records < rows and layout.format != "long":
        record = next(c.name for c in columns if c.role == "record id")
        collected.notes.append(f"{rows:,} rows were joined to {n_records:,} records by {record!r}.")
    collected.notes += notes
    return Assembled(collected=collected, columns=summaries)


def _used_names(flat: Int32Array, names: list[str]) -> tuple[Int32Array, list[str]]:
    """Return numbers that count only the names that occur, and these names."""
    seen = np.zeros(len(names), dtype=bool)
    seen[flat] = True
    if seen.all():
        return flat, names
    number = (np.cumsum(seen) - 1).astype(np.int32)
    return number[flat], [name for name, used in zip(names, seen.tolist(), strict=True) if used]


def is_total(columns: Sequence[CodedColumn], rows: int) -> bool:
    """Whether the last row has no item and an id such as "Total"."""
    record = next((column for column in columns if column.role == "record id"), None)
    if record is None or rows < 2:
        return False
    if any(column.codes[-1] for column in columns if column.role in {"item", "items"}):
        return False
    text = record.texts([record.codes[-1]])[0]
    return not TOTALS.isdisjoint(text.strip().rstrip(":").casefold().split())


def _records(columns: Sequence[CodedColumn], rows: int) -> tuple[Int64Array | None, int]:
    """Return the number of each row's record, in the order of their first rows, and how many."""
    column = next((each for each in columns if each.role == "record id"), None)
    if column is None:
        return None, rows
    seen = np.zeros(max(column.size, 1), dtype=bool)
    seen[column.codes] = True
    number = np.cumsum(seen) - 1
    record_of = number[column.codes]
    n_records = int(seen.sum())
    # Codes are numbered by first appearance in any column: an id may occur as an item before.
    first = np.empty(n_records, dtype=np.int64)
    first[record_of[::-1]] = np.arange(rows - 1, -1, -1)
    if np.any(first[1:] < first[:-1]):
        place = np.empty(n_records, dtype=np.int64)
        place[np.argsort(first)] = np.arange(n_records)
        record_of = place[record_of]
    return record_of, n_records


def _sharing(columns: Sequence[CodedColumn]) -> list[list[CodedColumn]]:
    """Return the columns of single items in groups whose codes stand for the same texts."""
    groups: list[list[CodedColumn]] = []
    for column in columns:
        if column.role == "item":
            if groups and groups[-1][0].texts == column.texts:
                groups[-1].append(column)
            else:
                groups.append([column])
    return groups


def _single_items(
    columns: list[CodedColumn], names: _Names, notes: list[str]
) -> tuple[Int64Array, Int32Array]:
    """Return the rows and the numbers of the items in columns, row after row.

    What programs write into empty cells is left out, which is noted.
    """
    codes = np.stack([column.codes for column in columns], axis=1)
    seen = np.zeros(max(columns[0].size, 1), dtype=bool)
    seen[codes] = True
    seen[0] = False
    used = np.flatnonzero(seen)
    texts = columns[0].texts(used)
    words = MISSING if columns[0].untyped else frozenset[str]()
    gone = [code for code, text in zip(used.tolist(), texts, strict=True) if text in words]
    if gone:
        n = int(np.isin(codes, gone).sum())
        shown = " or ".join(repr(text) for text in columns[0].texts(gone))
        verb = "was" if n == 1 else "were"
        notes.append(f"{n:,} cell{'s' * (n != 1)} with {shown} {verb} taken as empty.")
        seen[gone] = False
        used = np.flatnonzero(seen)
        texts = columns[0].texts(used)
    number_of = np.full(len(seen), -1, dtype=np.int32)
    number_of[used] = names.of(texts)
    numbers = number_of[codes]
    filled = numbers >= 0
    if filled.all():
        return np.repeat(np.arange(len(codes)), codes.shape[1]), numbers.ravel()
    return np.nonzero(filled)[0], numbers[filled]


def split_cell(text: str, separator: str) -> list[str]:
    """Return the items of a cell; brackets around a list, and quotes around its items, go.

    >>> split_cell("asthma; flu;", ";"), split_cell("['a b', 'c']", ","), split_cell("{x,y}", ",")
    (['asthma', 'flu'], ['a b', 'c'], ['x', 'y'])
    """
    text = text.strip()
    bracketed = len(text) > 1 and (text[0], text[-1]) in {("{", "}"), ("[", "]")}
    parts = (part.strip() for part in (text[1:-1] if bracketed else text).split(separator))
    if bracketed:
        parts = (
            part[1:-1] if len(part) > 1 and part[0] == part[-1] and part[0] in "'\"" else part
            for part in parts
        )
    return [part for part in parts if part]


def _listed_items(column: CodedColumn, names: _Names) -> tuple[Int64Array, Int32Array]:
    """Return the rows and the numbers of a column's items, a cell's items one after the other."""
    used = column.used()
    parts = [split_cell(text, column.separator) for text in column.texts(used)]
    lengths = np.zeros(max(column.size, 1), dtype=np.int64)
    lengths[used] = [len(each) for each in parts]
    starts = np.zeros(max(column.size, 1), dtype=np.int64)
    starts[used] = np.cumsum(lengths[used]) - lengths[used]
    pool = names.of([part for each in parts for part in each])
    counts = lengths[column.codes]
    where = np.repeat(np.arange(len(column.codes)), counts)
    within = np.arange(len(where)) - np.repeat(np.cumsum(counts) - counts, counts)
    return where, pool[np.repeat(starts[column.codes], counts) + within]


# --- Cleaning on request ---


EMPTY = ("keep", "drop", "error")
SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """What to do with records once they are read.

    Parameters
    ----------
    normalize
        Join items that differ only in case, spaces, punctuation at their end, characters that
        nobody sees or the way Unicode spells them. The most frequent spelling stays.
    min_support
        Leave out items that fewer records hold.
    empty
        What to do with records without items: ``"keep"``, ``"drop"`` or ``"error"``.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["Flu", "gout"], ["flu"], ["flu."], ["rare"]])
    >>> cleaned, said = Cleaning(normalize=True, min_support=2, empty="drop").apply(table)
    >>> cleaned.to_rows()
    [['Flu'], ['Flu'], ['Flu']]
    >>> for sentence in said:
    ...     print(sentence)
    3 spellings became 1 item: 'flu', 'flu.' → 'Flu'.
    2 items that fewer than 2 records hold were left out, 2 occurrences in all.
    1 record without items was left out.
    """

    normalize: bool = False
    min_support: int = 1
    empty: str = "keep"

    def __post_init__(self) -> None:
        if self.empty not in EMPTY:
            raise ParameterError(f"empty is {self.empty!r}", fix=f"use {', '.join(EMPTY)}")
        if self.min_support < 1:
            raise ParameterError(f"min_support is {self.min_support}", fix="use 1 or more")

    def apply(self, table: TransactionTable, where: str = "") -> tuple[TransactionTable, list[str]]:
        """Return the cleaned table, and what was changed as sentences."""
        said: list[str] = []
        if self.normalize:
            table = _join_spellings(table, said)
        if self.min_support > 1:
            table = _drop_rare(table, self.min_support, said)
        empty = table.lengths == 0
        n = int(empty.sum())
        if n and self.empty == "error":
            raise InputError(
                f"{n:,} of {len(table):,} records hold no item",
                where=where,
                fix="leave them out with --empty drop, or keep them with --empty keep",
            )
        if n and self.empty == "drop":
            table = table.take(np.flatnonzero(~empty))
            verb = "was" if n == 1 else "were"
            said.append(f"{n:,} record{'s' * (n != 1)} without items {verb} left out.")
        return table, said


def _join_spellings(table: TransactionTable, said: list[str]) -> TransactionTable:
    names = table.vocabulary.names
    supports = table.supports().tolist()
    groups: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        groups[spelling_key(name)].append(number)
    numbers = np.empty(len(names), dtype=np.int64)
    spellings: list[str] = []
    joined: list[str] = []
    before = 0
    for members in groups.values():
        # The most frequent spelling stays; of equally frequent ones the first in the alphabet.
        chosen = max(members, key=lambda number: (supports[number], -number))
        numbers[members] = len(spellings)
        spellings.append(tidy(unicodedata.normalize("NFC", names[chosen])))
        others = [names[number] for number in members if names[number] != spellings[-1]]
        if others:
            before += len(members)
            shown = ", ".join(map(repr, others[:SHOWN]))
            joined.append(f"{shown} → {spellings[-1]!r}")
    if not joined:
        return table
    after = len(joined)
    shown = "; ".join(joined[:SHOWN]) + (f" and {after - SHOWN:,} more" if after > SHOWN else "")
    said.append(
        f"{before:,} spelling{'s' * (before != 1)} became {after:,} item{'s' * (after != 1)}: "
        f"{shown}."
    )
    return TransactionTable.from_csr(table.offsets, numbers[table.items], spellings)


def _drop_rare(table: TransactionTable, least: int, said: list[str]) -> TransactionTable:
    supports = table.supports()
    keep = supports >= least
    n = int((~keep).sum())
    if not n:
        return table
    kept = keep[table.items]
    lost = int((~kept).sum())
    said.append(
        f"{n:,} item{'s' * (n != 1)} that fewer than {least:,} records hold "
        f"{'was' if n == 1 else 'were'} left out, {lost:,} occurrence{'s' * (lost != 1)} in all."
    )
    record_of = np.repeat(np.arange(len(table)), table.lengths)[kept]
    offsets = offsets_of(np.bincount(record_of, minlength=len(table)))
    number = np.cumsum(keep) - 1
    names = [
        name for name, stays in zip(table.vocabulary.names, keep.tolist(), strict=True) if stays
    ]
    return TransactionTable.from_csr(offsets, number[table.items[kept]], names)
