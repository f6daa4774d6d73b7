"""What the columns of a table mean: which one names the record, which ones hold items.

The names of columns and a sample of their cells decide. Where several readings are about as
plausible, all are returned, and whoever reads the file has to choose.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from setveil.core.errors import InputError, ParameterError
from setveil.core.spelling import nearest
from setveil.io.column_names import (
    ITEMS,
    families,
    is_attribute,
    is_generic,
    is_item_name,
    item_strength,
    record_kind,
    words_of,
)
from setveil.io.identifiers import (
    BIRTH_DATES,
    DATES,
    OWN_VALUES,
    URLS,
    ColumnSummary,
    are_people,
    identifier_kind,
)
from setveil.io.layout import PUBLISHED, ReadOptions, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.io.identifiers import Finding

_YES = (
    *("1", "1.0", "true", "t", "yes", "y", "x", "✓", "✔", "☑", "+", "on", "present", "positive"),
    *("selected", "checked", "oui", "vrai", "o", "ja", "j", "wahr", "sí", "si", "sì", "sim", "tak"),
    *("да", "evet", "是", "はい"),
)
_NO = (
    *("", "0", "0.0", "false", "f", "no", "n", "☐", "-", "off", "absent", "negative", "?"),
    *("not selected", "unchecked", "non", "faux", "nein", "falsch", "não", "nao", "nie", "нет"),
    *("hay\u0131r", "否", "いいえ"),
)
ONES = frozenset(form for word in _YES for form in (word, word.upper(), word.capitalize()))
CELLS = ONES | frozenset(form for word in _NO for form in (word, word.upper(), word.capitalize()))
# A single letter may as well be the name of an item: it is a mark only where one-hot is asked for.
MARKS = frozenset(cell for cell in CELLS if not (len(cell) == 1 and cell.isalpha())) | {"是", "否"}
SEPARATORS = (";", "|", ",", "\n")
UNNAMED = re.compile(r"|index|unnamed: ?[0-9]+(_level_[0-9]+)?|\.\.\.[0-9]+|#")

_INTEGER = re.compile(r"[-+]?[0-9]+")
_DECIMAL = re.compile(
    r"[-+]?(?:[0-9]*[.,][0-9]+|[0-9]{1,3}(?:[ .,'][0-9]{3})+(?:[.,][0-9]+)?)(?:[eE][-+]?[0-9]+)?"
    r"(?: ?[€$£%])?"
)
_DATE = re.compile(
    r"(?:[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2})"
    r"|[0-9]{1,2}[ -][A-Za-z]{3,9}[ -][0-9]{2,4}|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)"
    r"(?:[ T][0-9:.]+(?:Z|[-+][0-9:]+)?(?: ?[AP]M)?)?"
)
_CODE = re.compile(r"[A-Za-z]{0,6}[-_.: ]?[0-9][A-Za-z0-9._:\-/]*")
LONG_TEXT = 60
RECEIPTS = frozenset({"bon", "receipt", "basket", "transaction", "trans", "ticket", "cart", "tid"})
"""Events that do not come back: the same number on another day is another one."""
LONG_NAME = 1000
"""A first row with a longer cell names no columns."""
JUDGED, NUMBERED = 500, 5000
"""Columns by which a first row is judged; columns beyond which none are searched for families."""

# How sure a reading is, out of 100.
BY_NAME, BY_FLAGS, TWO_MEANINGS, UNSURE = 95, 90, 50, 35


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One way to read a table: a role for each column, and how plausible it is."""

    format: str
    roles: tuple[str, ...]
    score: int
    reasons: tuple[str, ...]
    separators: tuple[str, ...] = ()
    option: str = ""


class SampledColumn:
    """A column's name and the sampled cells, and what they look like.

    >>> SampledColumn("Dx1", ["J45", "E11", "", "J45"]).kind
    'code'
    >>> SampledColumn("seen", ["2026-01-05", "2026-01-09"]).kind
    'date'
    """

    def __init__(self, name: str, cells: Sequence[str], *, named: bool = True) -> None:
        self.name = name
        self.named = named
        self.cells = cells
        self.filled = [cell for cell in cells if cell]
        self.counts = Counter(self.filled)

    @cached_property
    def kind(self) -> str:
        """What nearly all cells are."""
        if not self.filled:
            return "empty"
        if MARKS.issuperset(self.counts) or self._crosses():
            return "mark"
        for kind, pattern in (("integer", _INTEGER), ("decimal", _DECIMAL), ("date", _DATE)):
            if self._share(pattern) >= 0.9:
                return kind
        if sum(map(len, self.filled)) / len(self.filled) > LONG_TEXT and not self.separator:
            return "text"
        return "code" if self._share(_CODE) >= 0.9 else "word"

    def _crosses(self) -> bool:
        """Whether cells are crossed or left empty, or say Y and N throughout."""
        if len(self.cells) < 3:
            return False
        letters = {cell.lower() for cell in self.counts}
        crossed = letters in ({"x"}, {"y"}, {"j"}) and len(self.filled) < len(self.cells)
        return crossed or letters in ({"y", "n"}, {"t", "f"}, {"j", "n"}, {"o", "n"}, {"t", "?"})

    def _share(self, pattern: re.Pattern[str]) -> float:
        fitting = sum(n for cell, n in self.counts.items() if pattern.fullmatch(cell))
        return fitting / len(self.filled)

    @property
    def distinct(self) -> bool:
        """Whether no two cells are the same."""
        return len(self.counts) == len(self.filled) and len(self.filled) > 1

    @cached_property
    def counts_rows(self) -> bool:
        """Whether the cells are 0, 1, 2 … or 1, 2, 3 …, as a program numbers rows."""
        if self.kind not in {"integer", "mark"} or len(self.filled) != len(self.cells):
            return False
        try:
            numbers = [int(cell) for cell in self.filled]
        except ValueError:
            return False
        return numbers[0] in {0, 1} and all(b - a == 1 for a, b in pairwise(numbers))

    @property
    def loose_separator(self) -> str:
        """A sign that may separate items in a cell, and may as well belong to an item."""
        for sign, share, length in (
            ("/", 0.5, 2.0),
            ("+", 0.5, 2.0),
            ("&", 0.5, 2.0),
            (" ", 0.8, 2.5),
        ):
            parts = [c.split(sign) for c in self.counts if sign in c and "://" not in c]
            pieces = Counter(part.strip() for cell in parts for part in cell)
            again = sum(n for n in pieces.values() if n > 1)
            enough = 2 * len(parts) >= len(self.counts) and pieces.total() >= length * len(parts)
            if parts and enough and again >= share * pieces.total():
                return sign
        return ""

    @cached_property
    def separator(self) -> str:
        """What separates several items in the cells; empty where a cell holds one.

        A separator is one if it stands in many cells and what it separates occurs again.
        """
        if self._bracketed():
            return ","
        for sign in SEPARATORS:
            holding = [cell for cell in self.filled if sign in cell]
            if len(holding) < max(1, 0.2 * len(self.filled)):
                continue
            # A whole cell that occurs again says nothing about its parts.
            parts = [[part.strip() for part in cell.split(sign)] for cell in self.counts]
            pieces = Counter(part for cell in parts for part in dict.fromkeys(cell) if part)
            if not pieces or all(
                _DECIMAL.fullmatch(cell) or _DATE.fullmatch(cell) for cell in holding
            ):
                continue
            again = sum(n for n in pieces.values() if n > 1) / pieces.total()
            short = sum(map(len, pieces)) / len(pieces) <= 40
            clear = sign in ";|\n" or again >= 0.5
            if short and clear and (again >= 0.2 or (sign in ";|\n" and len(self.filled) < 20)):
                return sign
        return ""

    def _bracketed(self) -> bool:
        """Whether cells are lists in brackets, as Python and R write them."""
        return bool(self.filled) and all(
            (cell[0], cell[-1]) in {("{", "}"), ("[", "]")} for cell in self.counts
        )

    @cached_property
    def finding(self) -> Finding | None:
        """Why the column, or what its cells list, looks like an identity."""
        found = self._finding(self.counts)
        if found is None and self.separator:
            parts = (part for cell in self.filled for part in cell.split(self.separator))
            found = self._finding(Counter(part.strip() for part in parts if part.strip()))
        return found

    def _finding(self, counts: Counter[str]) -> Finding | None:
        return identifier_kind(
            ColumnSummary(
                name=self.name,
                filled=counts.total(),
                distinct=len(counts),
                samples=tuple(counts)[:1000],
                named=self.named,
            )
        )

    @property
    def is_index(self) -> bool:
        """Whether this is the column of row numbers that pandas and R write."""
        return UNNAMED.fullmatch(self.name.strip().lower()) is not None and (
            self.counts_rows or self.distinct
        )


def header_strength(first: Sequence[str], body: Sequence[Sequence[str]]) -> int:
    """Return how surely a first row names columns: 2 surely, 1 perhaps, 0 no.

    >>> header_strength(["id", "item"], [["1", "flu"], ["2", "gout"]])
    2
    >>> header_strength(["flu", "cough"], [["flu", "fever"], ["cold", "cough"]])
    0
    """
    if len(first) > JUDGED:
        first, body = first[:JUDGED], [row[:JUDGED] for row in body]
    names = [cell.strip() for cell in first]
    filled = [name for name in names if name]
    if not filled or any(_is_value(name) for name in filled):
        return 0
    if len(filled) > 1 and all(map(is_generic, filled)):
        return 2
    below = {cell for row in body for cell in row if cell}
    known = sum(bool(record_kind(name)) or is_item_name(name) for name in filled)
    known += 2 * sum(len(group) for group in families(names))
    if below & set(filled):
        # A word of the first row that occurs below is an item, unless nearly all say otherwise.
        return 2 if known >= max(2, 0.8 * len(filled)) and len(below & set(filled)) == 1 else 0
    typed, named = _contrasts(names, body)
    known += named
    if known >= 2 or (known and len(filled) <= 2) or (typed and body):
        return 2
    if known:
        return 2 if len(set(filled)) == len(filled) else 1
    again = Counter(cell for row in body for cell in row if cell)
    recurring = sum(n for n in again.values() if n > 1) / max(again.total(), 1)
    return 1 if recurring >= 0.8 and len(body) >= 5 and len(filled) == len(names) else 0


def _is_value(name: str) -> bool:
    """Whether a cell of a first row is a number, a date or a text, which names no column."""
    patterns = (_INTEGER, _DECIMAL, _DATE)
    return len(name) > LONG_NAME or any(pattern.fullmatch(name) for pattern in patterns)


def _contrasts(names: Sequence[str], body: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return how many names are unlike the cells below, and how many say what people are."""
    columns = [
        SampledColumn(name, [row[place] if place < len(row) else "" for row in body])
        for place, name in enumerate(names)
    ]
    typed = sum(
        column.kind in {"mark", "integer", "decimal", "date", "code"} and not _CODE.fullmatch(name)
        for name, column in zip(names, columns, strict=True)
        if name
    )
    named = sum(
        (column.finding is not None and "called" in column.finding.reason)
        or is_attribute(column.name)
        for column in columns
    )
    return typed, named


def resolve(name: str, names: Sequence[str], option: str, where: str) -> int:
    """Return the place of a column that a user named, or say which there are.

    >>> resolve("Dx", ["MRN", "Dx"], "--item", "a.csv")
    1
    >>> resolve("mrn", ["MRN", "ICD"], "--id", "a.csv")
    Traceback (most recent call last):
    setveil.core.errors.InputError: a.csv: there is no column 'mrn' among 'MRN', 'ICD'. \
To fix: correct --id; did you mean 'MRN'?
    """
    if names.count(name) == 1:
        return names.index(name)
    if names.count(name) > 1:
        raise InputError(
            f"{names.count(name)} columns are called {name!r}",
            where=where,
            fix="give every column a name of its own",
        )
    raise InputError(
        f"there is no column {name!r} among {listed(names)}",
        where=where,
        fix=f"correct {option}{nearest(name, names)}",
    )


def resolve_all(
    patterns: Sequence[str], names: Sequence[str], option: str, where: str
) -> list[int]:
    """Return the places of all columns that names or patterns such as ``Dx*`` stand for.

    >>> resolve_all(["Dx*"], ["MRN", "Dx1", "Dx2"], "--items", "a.csv")
    [1, 2]
    """
    places: list[int] = []
    for pattern in patterns:
        if pattern in names:
            found = [resolve(pattern, names, option, where)]
        elif re.search(r"[*?\[]", pattern):
            found = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, pattern)]
            if not found:
                raise InputError(
                    f"no column fits {pattern!r}; there are {listed(names)}",
                    where=where,
                    fix=f"correct {option}",
                )
        else:
            found = [resolve(pattern, names, option, where)]
        places += [place for place in found if place not in places]
    return places


class Table:
    """The sampled columns of a table, and the ways to read it.

    Parameters
    ----------
    names
        The columns' names; numbers from 1 where the file has none.
    body
        Sampled rows, each with a cell for every column.
    named
        Whether the file names its columns.
    where
        What the file is called in messages.
    """

    def __init__(
        self, names: Sequence[str], body: Sequence[Sequence[str]], *, named: bool, where: str
    ) -> None:
        self.names = list(names)
        self.named = named
        self.where = where
        self.one_item_per_row = False
        self.columns = [
            SampledColumn(name, [row[place] for row in body], named=named)
            for place, name in enumerate(names)
        ]

    def readings(self, options: ReadOptions) -> list[Reading]:
        """Return the plausible ways to read the table, the best first."""
        fixed = self._given_roles(options)
        wanted = options.format
        self.one_item_per_row = wanted == "long"
        found = [
            reading
            for reading in self._readings(fixed, options)
            if wanted is None or _fits(reading, wanted)
        ]
        if wanted is not None:
            found = [replace(reading, format=wanted) for reading in found]
        return sorted(found, key=lambda reading: -reading.score)

    def _given_roles(self, options: ReadOptions) -> dict[int, str]:
        """Return the roles that the user gives, and refuse those that contradict each other."""
        fixed: dict[int, str] = {}

        def give(places: list[int], role: str, option: str) -> None:
            for place in places:
                if fixed.setdefault(place, role) != role:
                    raise ParameterError(
                        f"{option} names the column {self.names[place]!r}, which another option "
                        f"makes a column with the role {fixed[place]!r}",
                        fix="name each column in one option",
                    )

        give(resolve_all(options.ignore, self.names, "--ignore", self.where), "ignore", "--ignore")
        if options.id is not None:
            place = resolve(options.id, self.names, "--id", self.where)
            give([place], "record id", "--id")
        if options.item is not None:
            place = resolve(options.item, self.names, "--item", self.where)
            give([place], "items" if options.separator else "item", "--item")
        places = [
            place
            for place in resolve_all(options.items, self.names, "--items", self.where)
            if not (fixed.get(place) == "record id" and self.names[place] not in options.items)
        ]
        several = options.separator or (len(places) == 1 and self.columns[places[0]].separator)
        marks = [place for place in places if self.columns[place].kind == "mark"]
        if options.format == "one-hot" or (marks == places and not several):
            give(places, "one-hot", "--items")
        else:
            give(places, "items" if several else "item", "--items")
        return fixed

    def _readings(self, fixed: dict[int, str], options: ReadOptions) -> list[Reading]:
        free = [place for place in range(len(self.columns)) if place not in fixed]
        given = [place for place, role in fixed.items() if role in PUBLISHED]
        index = [place for place in free if place == 0 and self.columns[place].is_index]
        free = [place for place in free if place not in index]
        if given:
            return self._with_items(fixed, free, given, options)
        return self._finding_items(fixed, free, options)

    def _with_items(
        self, fixed: dict[int, str], free: list[int], given: list[int], options: ReadOptions
    ) -> list[Reading]:
        """Return the readings where the user says which columns hold the items."""
        form = fixed[given[0]]
        shape = "one-hot" if form == "one-hot" else "wide"
        if form == "item" and len(given) == 1:
            shape = "long"
        separator = options.separator or ""
        ids = self._ids(fixed, free)
        if shape == "long" and not ids and options.format != "wide":
            if options.item is None:
                ids = [None]
            else:
                raise InputError(
                    f"no column tells which record a row belongs to; there are "
                    f"{listed(self.names)}",
                    where=self.where,
                    fix="name it with --id, or use --items where every row is a record",
                )
        score = BY_NAME if len(ids) <= 1 else TWO_MEANINGS
        why = f"items are in {listed([self.names[i] for i in given], 4)}, as asked"
        return [
            self._reading(
                "wide" if place is None and shape == "long" else shape,
                fixed,
                place,
                score,
                why,
                separator=separator,
            )
            for place in (ids or [None])
        ]

    def _finding_items(
        self, fixed: dict[int, str], free: list[int], options: ReadOptions
    ) -> list[Reading]:
        """Return the readings where the items have to be found."""
        if options.format == "one-hot":
            return self._flags(fixed, free, asked=True)
        ids = self._ids(fixed, free)
        # A column of numbers that the record is told by is no item, however it is called.
        open_ = [
            p
            for p in free
            if p not in ids
            and (self.columns[p].kind != "empty" or is_item_name(self.names[p]))
            and not (self.named and is_attribute(self.names[p]))
        ]
        safe = [p for p in open_ if not self._identity(p)]
        # In a long table a cell is one item, unless a separator is named.
        several = options.format != "long" or options.separator is not None
        found = several and (
            self._family(fixed, safe, ids) or self._lists(fixed, safe, ids, options)
        )
        if found:
            return found
        if options.format == "long":
            return self._single(fixed, safe, ids)
        flags = self._flags(fixed, open_, asked=False, ids=ids)
        if flags:
            return flags
        return self._single(fixed, safe, ids)

    def _identity(self, place: int) -> bool:
        """Whether a column is set aside as an identity; a column of items may well be distinct."""
        column = self.columns[place]
        return column.finding is not None and not (
            is_item_name(column.name) and column.finding.kind in _NOT_FOR_ITEMS
        )

    def _ids(self, fixed: dict[int, str], free: list[int]) -> list[int | None]:
        """Return the columns that may tell records apart; several only if they disagree."""
        given = [place for place, role in fixed.items() if role == "record id"]
        if given:
            return list(given)
        by_name: dict[str, list[int]] = {"person": [], "event": []}
        for place in free:
            column = self.columns[place]
            kind = record_kind(column.name) if self.named else ""
            if kind and column.kind not in {"decimal", "date", "empty"}:
                by_name[kind].append(place)
        events = by_name["event"]
        if by_name["person"]:
            # `id` or `row` beside a person's number only counts rows.
            events = [p for p in events if not self.columns[p].distinct]
        found = by_name["person"] + events
        different: list[int | None] = []
        for place in found:
            if all(
                not self._same_records(place, other) for other in different if other is not None
            ):
                different.append(place)
        return different or self._ids_by_value(free) or self._ids_by_identity(free)

    def _ids_by_identity(self, free: list[int]) -> list[int | None]:
        """Return the only column that names people: it is never published, but parts the rows."""
        people = [
            place
            for place in free
            if (finding := self.columns[place].finding) is not None
            and not is_item_name(self.names[place])
            and self.columns[place].kind != "date"
            and finding.kind not in {OWN_VALUES, DATES, BIRTH_DATES}
        ]
        return list(people) if len(people) == 1 else []

    def _ids_by_value(self, free: list[int]) -> list[int | None]:
        """Return a first column of numbers or codes that looks like the number of a record."""
        if not free or free[0] != 0 or len(self.columns) < 2:
            return []
        column = self.columns[0]
        numbers = column.kind in {"integer", "code"} and not is_item_name(column.name)
        whole = len(column.filled) == len(column.cells)
        many = len(column.counts) > 1 and not column.counts.keys() <= {"0", "1"}
        return [0] if numbers and whole and many else []

    def _same_records(self, one: int, other: int) -> bool:
        """Whether two columns part the rows in the same way."""
        cells = zip(self.columns[one].cells, self.columns[other].cells, strict=True)
        pairs = {pair for pair in cells if all(pair)}  # a row of totals has but one of them
        return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) > 0

    def _family(
        self, fixed: dict[int, str], safe: list[int], ids: list[int | None]
    ) -> list[Reading]:
        if not self.named:
            return []
        groups = []
        short = [name if len(name) <= LONG_NAME else "" for name in self.names]
        for group in families(short) if len(short) <= NUMBERED else ():
            strong_name = item_strength(self.names[group[0]]) == 2
            members = [p for p in group if p in safe or (strong_name and p not in ids)]
            kinds = {self.columns[p].kind for p in members}
            if len(members) > 1 and kinds & {"word", "code", "integer"}:
                # Dx5 may be empty in the sample, and still be one of the family.
                members = [
                    p
                    for p in group
                    if p not in fixed
                    and p not in ids
                    and (strong_name or p in safe or self.columns[p].kind == "empty")
                ]
                groups += [members] if members else []
        strong = [g for g in groups if item_strength(self.names[g[0]]) == 2]
        texts = [g for g in groups if {self.columns[p].kind for p in g} & {"word", "code"}]
        chosen = strong or texts
        if not chosen:
            return []
        places = sorted({place for group in (strong or chosen[:1]) for place in group})
        places = sorted({*places, *(self._alike_names(places, safe) if strong else ())})
        several = next((s for p in places if (s := self.columns[p].separator)), "")
        score = BY_NAME if strong else UNSURE
        why = f"{listed([self.names[p] for p in places], 3)} are a family of columns"
        marked = fixed | dict.fromkeys(places, "items" if several else "item")
        return [
            self._reading("wide", marked, place, score, why, separator=several)
            for place in self._one_id(ids)
        ]

    def _alike_names(self, family: list[int], safe: list[int]) -> list[int]:
        """Return columns that hold the same things as a family, such as a principal diagnosis."""
        stem = {re.sub(r"[0-9]+$", "", word) for word in words_of(self.names[family[0]])} & ITEMS
        kinds = {self.columns[place].kind for place in family} - {"empty"}
        return [
            place
            for place in safe
            if stem & set(words_of(self.names[place]))
            and item_strength(self.names[place]) == 2
            and self.columns[place].kind in kinds
        ]

    def _one_id(self, ids: list[int | None]) -> list[int | None]:
        """Of several ids in a wide table, the one that every row has for itself decides nothing."""
        if len(ids) > 1:
            repeated = [p for p in ids if p is not None and not self.columns[p].distinct]
            return list(repeated) or ids[:1]
        return ids or [None]

    def _lists(
        self,
        fixed: dict[int, str],
        safe: list[int],
        ids: list[int | None],
        options: ReadOptions,
    ) -> list[Reading]:
        if options.separator is not None:
            cells = [p for p in safe if any(options.separator in c for c in self.columns[p].counts)]
        else:
            cells = [p for p in safe if self.columns[p].separator]
        named = [p for p in cells if self.named and is_item_name(self.names[p])]
        others = [p for p in safe if self.named and item_strength(self.names[p]) == 2]
        repeated = any(p is not None and not self.columns[p].distinct for p in ids)
        if options.separator is None:
            if others and not named:
                return []  # a column that is called after items holds them
            if repeated:  # one row per item: a comma or a bar may well belong to the item
                named = [p for p in named if self.columns[p].separator in ";\n"]
                cells = [p for p in cells if self.columns[p].separator in ";\n"]
        cells = named or cells
        if not cells:
            return []
        separator = options.separator or ""
        if len(cells) > 1 and not named:
            return [self._list_reading(fixed, [p], ids, separator, TWO_MEANINGS) for p in cells[:3]]
        score = BY_NAME if named else UNSURE
        return [self._list_reading(fixed, cells, ids, separator, score)]

    def _list_reading(
        self,
        fixed: dict[int, str],
        cells: list[int],
        ids: list[int | None],
        separator: str,
        score: int,
    ) -> Reading:
        names = listed([self.names[p] for p in cells], 3)
        sign = separator or self.columns[cells[0]].separator
        why = f"the cells of {names} hold several items with {sign!r} between them"
        marked = fixed | dict.fromkeys(cells, "items")
        place = self._one_id(ids)[0]
        return self._reading("wide", marked, place, score, why, separator=separator)

    def _flags(
        self,
        fixed: dict[int, str],
        free: list[int],
        *,
        asked: bool,
        ids: list[int | None] | None = None,
    ) -> list[Reading]:
        """Return the readings as one column of 0 and 1 per item."""
        if ids is None:
            ids = [p for p, role in fixed.items() if role == "record id"]
            if not ids and 0 in free and record_kind(self.names[0]):
                ids = [0]
            free = [p for p in free if p not in ids]
        if asked:
            marks = [p for p in free if self._half_marks(p)]
        else:
            marks = [p for p in free if self.columns[p].kind == "mark"]
            unmarked = [p for p in free if self.columns[p].kind != "mark"]
            others = [p for p in unmarked if not self._identity(p)]
            items = [p for p in others if self.named and is_item_name(self.names[p])]
            if (
                len(marks) < 2
                or not self.named
                or (len(marks) < len(others))
                or (items and len(marks) < 5)
            ):
                return []
            # Empty columns between flags are items that nobody has.
        if not marks:
            return []
        self._refuse_nameless(marks)
        score = UNSURE if are_people([self.names[place] for place in marks]) else BY_FLAGS
        why = f"{len(marks):,} columns hold only 0 and 1, or yes and no"
        marked = fixed | dict.fromkeys(marks, "one-hot")
        return [self._reading("one-hot", marked, self._one_id(ids)[0], score, why)]

    def _refuse_nameless(self, marks: list[int]) -> None:
        """Refuse columns that are items and have no name of their own."""
        for name, times in Counter(self.names[place] for place in marks).items():
            if times > 1 or not name:
                called = f"are called {name!r}" if name else "have no name"
                raise InputError(
                    f"{times} of {len(self.names)} columns {called}",
                    where=self.where,
                    fix="give every item's column its own name",
                )

    def _half_marks(self, place: int) -> bool:
        column = self.columns[place]
        marks = sum(n for cell, n in column.counts.items() if cell in CELLS)
        return not column.filled or 2 * marks >= len(column.filled)

    def _single(
        self, fixed: dict[int, str], safe: list[int], ids: list[int | None]
    ) -> list[Reading]:
        """Return the readings with one column of single items: long tables."""
        items = [p for p in safe if self.named and is_item_name(self.names[p])]
        items = [p for p in items if self.columns[p].kind not in {"decimal", "date"}]
        items = [p for p in items if item_strength(self.names[p]) == 2] or items
        kept: list[int] = []
        for place in items:
            if all(not self._same_records(place, other) for other in kept):
                kept.append(place)
        by_name = bool(kept)
        if not kept:
            kept = [p for p in safe if self.columns[p].kind in {"word", "code"}]
            kept = kept if len(kept) == 1 else []
        if kept and not ids and len(self.columns) == 1 and by_name:
            # A table of one column: every row is a record.
            why = f"the only column is called {self.names[0]!r}"
            return [self._reading("wide", fixed | {0: "item"}, None, BY_NAME, why)]
        if not kept or not ids:
            return []
        score = BY_NAME if len(kept) == len(ids) == 1 else TWO_MEANINGS
        score = score if by_name else UNSURE
        found = []
        for record in ids:
            for item in kept[:3]:
                found += self._pairs(fixed, record, item, score)
        return found

    def _pairs(
        self, fixed: dict[int, str], record: int | None, item: int, score: int
    ) -> list[Reading]:
        """Return the readings as pairs of a record and an item, which may be a list of items."""
        names = f"{self.names[record or 0]!r}", f"{self.names[item]!r}"
        why = [f"{names[0]} tells which record a row belongs to, {names[1]} is the item"]
        if self._spans_dates(record):
            why.append(f"though rows with the same {names[0]} have different dates")
            score = min(score, UNSURE)
        found = [self._reading("long", fixed | {item: "item"}, record, score, *why)]
        column = self.columns[item]
        alone = record is not None and self.columns[record].distinct
        sign = column.separator or (column.loose_separator if alone else "")
        if sign and self.named and not self.one_item_per_row:
            split = self._list_reading(fixed, [item], [record], sign, score)
            found.append(replace(split, option=f"{split.option} --separator '{sign}'"))
        return found

    def _spans_dates(self, record: int | None) -> bool:
        """Whether a number of an event, such as a receipt, comes back on other days."""
        if record is None or not self.named or not RECEIPTS & set(words_of(self.names[record])):
            return False
        ids = self.columns[record].cells
        for column in self.columns:
            if column.kind == "date":
                pairs = set(zip(ids, (cell[:10] for cell in column.cells), strict=True))
                if len(pairs) > 1.2 * len(set(ids)):
                    return True
        return False

    def _reading(
        self,
        form: str,
        fixed: dict[int, str],
        record: int | None,
        score: int,
        *reasons: str,
        separator: str = "",
    ) -> Reading:
        """Complete a reading: what is neither id nor item is set aside."""
        items = [place for place, role in fixed.items() if role in PUBLISHED]
        roles = []
        separators = []
        for place in range(len(self.columns)):
            role = fixed.get(place, "")
            if place == record:
                role = "record id"
            elif not role:
                role = "identifier" if self._set_aside_as_identity(place) else "ignore"
            roles.append(role)
            own = self.columns[place].separator
            separators.append((separator or own) if role == "items" else "")
        if not self.named:
            score -= 35
        return Reading(
            format=form,
            roles=tuple(roles),
            score=score,
            reasons=reasons,
            separators=tuple(separators),
            option=self._option(form, items, record),
        )

    def _set_aside_as_identity(self, place: int) -> bool:
        column = self.columns[place]
        return not column.is_index and (
            column.finding is not None or (self.named and bool(record_kind(column.name)))
        )

    def _option(self, form: str, items: list[int], record: int | None) -> str:
        """Return what a user writes to choose this reading."""
        said = [] if self.named else ["--no-header"]
        if record is not None:
            said.append(f"--id {_shell(self.names[record])}")
        if form == "one-hot":
            said.append("--format one-hot")
        elif form == "long":
            said.append(f"--item {_shell(self.names[items[0]])}")
        else:
            said.append(f"--items {_shell(self._pattern(items))}")
        return " ".join(said)

    def _pattern(self, items: list[int]) -> str:
        """Return a pattern that fits just these columns, or their names."""
        names = [self.names[place] for place in items]
        stem = re.sub(r"[0-9]+[)\]]?$", "", names[0])
        if len(names) > 1 and stem and not re.search(r"[*?\[\],]", stem):
            fitting = [i for i, n in enumerate(self.names) if fnmatch.fnmatchcase(n, f"{stem}*")]
            if fitting == items:
                return f"{stem}*"
        return ",".join(names)


# Kinds of identities that a column called after items may seem to be and is not.
_NOT_FOR_ITEMS = frozenset({OWN_VALUES, URLS})


def _shell(text: str) -> str:
    """Quote a name for a command line where it needs it."""
    return text if re.fullmatch(r"[\w.:-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def _fits(reading: Reading, wanted: str) -> bool:
    """Whether a reading is of the wanted format; long and wide differ in the rows' meaning only."""
    return reading.format == wanted or (wanted in {"long", "wide"} and reading.format != "one-hot")
