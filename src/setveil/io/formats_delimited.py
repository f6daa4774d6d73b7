"""Readers of delimited text: baskets, long tables and one-hot tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from setveil.data.collectors import Collected, PairCollector, RowCollector
from setveil.data.problems import Problems, shortened
from setveil.data.sources import Source, text_lines
from setveil.errors import InputError
from setveil.io.delimited import field_place, records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from setveil.io.layout import Layout

ID_NAMES = (
    *("id", "record", "record_id", "tid", "transaction", "transaction_id", "basket", "basket_id"),
    *("invoice", "invoice_id", "invoiceno", "order", "order_id", "patient", "patient_id"),
    *("user", "user_id", "customer", "customer_id", "session", "session_id"),
)
ITEM_NAMES = (
    *("item", "items", "item_id", "product", "product_id", "stockcode", "code"),
    *("diagnosis", "condition", "query", "term"),
)
_YES = ("1", "1.0", "true", "t", "yes", "y", "x")
_NO = ("", "0", "0.0", "false", "f", "no", "n")
ONES = frozenset(form for word in _YES for form in (word, word.upper(), word.capitalize()))
CELLS = ONES | frozenset(form for word in _NO for form in (word, word.upper(), word.capitalize()))

Record = tuple[int, str, list[str]]


def read_basket(source: Source, layout: Layout, problems: Problems) -> Collected:
    """Read one record per line; empty fields are no items, an empty line is an empty record."""
    rows = RowCollector()
    for _, _, fields in records(text_lines(source, problems), layout.delimiter, problems):
        rows.add([field for field in fields if field])
    return rows.finish()


def read_long(source: Source, layout: Layout, problems: Problems) -> Collected:
    """Read one pair of id and item per line; an empty item leaves a record that may be empty."""
    lines = records(text_lines(source, problems), layout.delimiter, problems)
    first, header = _header(lines, problems)
    where = problems.place(line=first)
    id_place = column_place(header, layout.id_column, ID_NAMES, "id", where)
    item_place = column_place(header, layout.item_column, ITEM_NAMES, "item", where)
    pairs = PairCollector()
    body = _Body(lines, header, layout.delimiter, problems)
    for number, text, fields in body:
        if fields[id_place]:
            pairs.add(fields[id_place], fields[item_place])
        else:
            line, column = field_place(number, text, id_place, layout.delimiter)
            problems.add(
                f"has no {header[id_place]!r}",
                line=line,
                column=column,
                text=text,
                fix="give every line the id of its record",
            )
    done = pairs.finish()
    done.notes += [
        f"Records are told apart by {header[id_place]!r}, items are {header[item_place]!r}.",
        *body.notes(),
    ]
    return done


def read_one_hot(source: Source, layout: Layout, problems: Problems) -> Collected:
    """Read one record per line of 0 and 1 below a header of item names."""
    lines = records(text_lines(source, problems), layout.delimiter, problems)
    first, header = _header(lines, problems)
    id_place = one_hot_id(header, layout.id_column, problems.place(line=first))
    names = [name for place, name in enumerate(header) if place != id_place]
    for name, times in Counter(names).items():
        if times > 1 or not name:
            called = f"are called {shortened(name)}" if name else "have no name"
            raise InputError(
                f"{times} of {len(header)} columns {called}",
                where=problems.place(line=first),
                fix="give every item's column its own name",
            )
    rows = RowCollector()
    body = _Body(lines, header, layout.delimiter, problems)
    for number, text, fields in body:
        if id_place is not None:
            del fields[id_place]
        if not CELLS.issuperset(fields):
            wrong = next(place for place, cell in enumerate(fields) if cell not in CELLS)
            whole = wrong + (id_place is not None and wrong >= id_place)
            line, column = field_place(number, text, whole, layout.delimiter)
            problems.add(
                f"is neither 0 nor 1 (item {shortened(names[wrong])})",
                line=line,
                column=column,
                text=fields[wrong],
                fix="write 0 or 1, false or true, no or yes, or nothing for 0",
            )
            continue
        rows.add([name for name, cell in zip(names, fields, strict=True) if cell in ONES])
    done = rows.finish()
    if id_place is not None:
        done.notes.append(f"The column {header[id_place]!r} is taken for the records' id.")
    done.notes += body.notes()
    return done


def column_place(
    header: Sequence[str], asked: str | None, usual: Sequence[str], what: str, where: str
) -> int:
    """Return the place of a column, by the name asked for or by a usual one.

    >>> column_place(["Patient_ID", "code"], None, ID_NAMES, "id", "x.csv")
    0
    """
    place = find_column(header, asked, usual)
    if place is None:
        wanted = repr(asked) if asked is not None else f"for the {what}"
        raise InputError(
            f"there is no column {wanted} among {_some(header)}",
            where=where,
            fix=f"name the column with --{what} ({what}= in Python)",
        )
    return place


def find_column(header: Sequence[str], asked: str | None, usual: Sequence[str]) -> int | None:
    """Return the place of a column, or None; usual names are tried in their order.

    >>> find_column(["a", "b"], "b", ()), find_column(["a", "b"], None, ID_NAMES)
    (1, None)
    """
    if asked is not None:
        return header.index(asked) if asked in header else None
    lower = [column.lower().replace(" ", "_") for column in header]
    return next((lower.index(name) for name in usual if name in lower), None)


def one_hot_id(header: Sequence[str], asked: str | None, where: str) -> int | None:
    """Return the place of the records' id in a one-hot table: as asked, or the first by its name.

    >>> one_hot_id(["tid", "milk"], None, "x.csv"), one_hot_id(["milk", "id"], None, "x.csv")
    (0, None)
    """
    if asked is not None:
        return column_place(header, asked, (), "id", where)
    return 0 if header and find_column(header[:1], None, ID_NAMES) == 0 else None


def _header(lines: Iterator[Record], problems: Problems) -> tuple[int, list[str]]:
    """Return the line and the fields of the first record that is not blank."""
    for number, _, fields in lines:
        if any(fields):
            return number, fields
    raise InputError(
        "there is no header", where=problems.name, fix="write the names of the columns first"
    )


def _some(names: Sequence[str], limit: int = 8) -> str:
    shown = ", ".join(shortened(name) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


class _Body:
    """The lines below a header that have as many fields; blank ones are left out and counted."""

    def __init__(
        self, lines: Iterator[Record], header: list[str], delimiter: str, problems: Problems
    ) -> None:
        self._lines = lines
        self._width = len(header)
        self._delimiter = delimiter
        self._problems = problems
        self._blank = 0

    def __iter__(self) -> Iterator[Record]:
        for record in self._lines:
            number, text, fields = record
            if len(fields) == self._width:
                if text or self._width > 1:
                    yield record
                    continue
                self._blank += 1
            elif text.strip():
                self._report(number, text, len(fields))
            else:
                self._blank += 1

    def _report(self, number: int, text: str, width: int) -> None:
        place = min(width, self._width + 1) - 1
        line, column = field_place(number, text, place, self._delimiter)
        self._problems.add(
            f"has {width} field{'s' * (width != 1)} where the header has {self._width}",
            line=line,
            column=column,
            text=text,
            fix="give every line as many fields as the header, and quote fields that hold the "
            f"delimiter {self._delimiter!r}",
        )

    def notes(self) -> list[str]:
        """Return what was left out, as sentences."""
        if not self._blank:
            return []
        return [f"{self._blank:,} blank line{'s' * (self._blank != 1)} below the header left out."]
