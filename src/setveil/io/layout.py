"""A layout says what a file is: its format, how its text is written, what each column means.

A report says how a table was read by it: what was set aside, merged, left out and cleaned.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError, ParameterError, shortened
from setveil.core.files import shown_name
from setveil.core.spelling import nearest
from setveil.core.untrusted import read_settings
from setveil.core.words import plural
from setveil.io.delimited import QUOTE, checked_delimiter

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from setveil.io.detect import Detection
    from setveil.io.identifiers import ColumnSummary

FORMATS = {
    "fimi": "one record per line, non-negative whole numbers separated by spaces",
    "basket": "one record per line, item names separated by a delimiter",
    "long": "one row per record and item, with a column that names the record",
    "wide": "one row per record, with several columns of items or several items in a cell",
    "one-hot": "one row per record, with one column of 0 and 1 per item",
    "jsonl": "one JSON array per line, or one object with an array",
    "spmf": "SPMF's transactions: numbers, with @ITEM= lines for their names",
}
TABLES = frozenset({"long", "wide", "one-hot"})
"""Formats whose lines are rows of a table with columns."""
ROLES = {
    "record id": "tells which rows belong to one record; never published",
    "item": "holds one item per cell",
    "items": "holds several items per cell, with a separator between them",
    "one-hot": "is an item; its cells say which records hold it",
    "ignore": "is set aside",
    "identifier": "looks like an identity and is set aside; never published",
}
PUBLISHED = frozenset({"item", "items", "one-hot"})
"""Roles of the columns that items come from."""
QUOTES = {"double": '"', "single": "'", "none": ""}
"""What may surround a field, by name."""


def checked_format(name: str) -> str:
    """Return the format's name, or say which there are.

    >>> checked_format("one_hot")
    'one-hot'
    """
    known = name.lower().replace("_", "-")
    if known not in FORMATS:
        raise ParameterError(
            f"there is no format called {name!r}",
            fix=f"use one of {', '.join(FORMATS)}{nearest(known, FORMATS)}",
        )
    return known


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column and its role; for ``items`` also what separates the items in a cell.

    >>> Column(name="Dx", role="items", separator=";").separator
    ';'
    """

    name: str
    role: str
    separator: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ParameterError(
                f"the column {self.name!r} has the role {self.role!r}",
                fix=f"use one of {', '.join(map(repr, ROLES))}{nearest(self.role, ROLES)}",
            )


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What a file is, and what each of its columns means.

    Parameters
    ----------
    format
        One of `FORMATS`.
    encoding
        How bytes become text, such as ``utf-8`` or ``cp1252``.
    delimiter
        What separates fields, in the delimited formats.
    quote
        What surrounds a field that holds the delimiter; empty where nothing does.
    header
        Whether the first row names the columns.
    skip
        Rows above the header (or above the data) that are passed over.
    columns
        The columns of a table, in their order. Of a basket: the first fields of a line, where
        they mean something else than an item.
    field
        The field of JSON objects that holds the items.
    table, query
        What was read of a workbook or a database.

    Examples
    --------
    >>> layout = Layout(format="wide", header=True, delimiter=",", columns=(
    ...     Column(name="PatientID", role="record id"), Column(name="Dx1", role="item")))
    >>> layout.names("item")
    ['Dx1']
    >>> Layout.from_dict(layout.as_dict()) == layout
    True
    """

    format: str
    encoding: str = "utf-8"
    delimiter: str = ""
    quote: str = QUOTE
    header: bool = False
    skip: int = 0
    columns: tuple[Column, ...] = ()
    field: str = ""
    table: str = ""
    query: str = ""

    def __post_init__(self) -> None:
        checked_format(self.format)
        if self.quote not in QUOTES.values():
            raise ParameterError(f"the quote is {self.quote!r}", fix="use \", ' or nothing")
        if self.skip < 0:
            raise ParameterError(f"skip is {self.skip}", fix="use 0 or more")
        if self.format in TABLES:
            roles = {column.role for column in self.columns}
            if not roles & PUBLISHED:
                raise ParameterError(
                    "no column of this layout holds items",
                    fix="give one of its columns the role 'item', 'items' or 'one-hot'",
                )
            for column in self.columns:
                if column.role == "items" and not column.separator:
                    raise ParameterError(
                        f"the column {column.name!r} holds several items per cell, and nothing "
                        "separates them",
                        fix="name its separator, such as ';'",
                    )
        if sum(column.role == "record id" for column in self.columns) > 1:
            raise ParameterError(
                f"{len(self.names('record id'))} columns are record ids",
                fix="give one of them the role 'record id' and the others 'ignore'",
            )

    def names(self, *roles: str) -> list[str]:
        """Return the names of the columns with these roles."""
        return [column.name for column in self.columns if column.role in roles]

    def places(self, *roles: str) -> list[int]:
        """Return the places of the columns with these roles, counted from 0."""
        return [place for place, column in enumerate(self.columns) if column.role in roles]

    def as_dict(self) -> dict[str, Any]:
        """Return the layout as plain values, as JSON and TOML have them."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        columns = [
            {key: value for key, value in vars(column).items() if value or key != "separator"}
            for column in self.columns
        ]
        return plain | {"columns": columns}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], where: str = "the layout") -> Layout:
        """Return the layout of plain values, or say which of them cannot be."""
        kinds = {"header": bool, "skip": int, "columns": list}
        known = [each.name for each in fields(cls)]
        for name, value in given.items():
            if name not in known:
                raise InputError(
                    f"a layout has no {name!r}",
                    where=where,
                    fix=f"use some of {', '.join(known)}{nearest(name, known)}",
                )
            if type(value) is not kinds.get(name, str):
                raise InputError(
                    f"{name} is {shortened(repr(value))}", where=where, fix="see docs/formats.md"
                )
        if "format" not in given:
            raise InputError("it names no format", where=where, fix='write format = "long"')
        columns = []
        for entry in given.get("columns", []):
            texts = isinstance(entry, dict) and all(isinstance(v, str) for v in entry.values())
            if not texts or not {"name", "role"} <= set(entry) <= {"name", "role", "separator"}:
                raise InputError(
                    f"{shortened(repr(entry))} is not a column",
                    where=where,
                    fix='give each column a name and a role: {name = "Dx1", role = "item"}',
                )
            columns.append(entry)
        plain = {key: value for key, value in given.items() if key != "columns"}
        try:
            if plain.get("delimiter"):
                plain["delimiter"] = checked_delimiter(plain["delimiter"])
            plain["format"] = checked_format(plain["format"])
            return cls(**plain, columns=tuple(Column(**entry) for entry in columns))
        except ParameterError as error:
            raise InputError(error.what, where=where, fix=error.fix) from None

    def as_toml(self) -> str:
        """Return the layout as the text of a TOML file.

        >>> print(Layout(format="basket", delimiter=";").as_toml(), end="")
        format = "basket"
        encoding = "utf-8"
        delimiter = ";"
        """
        plain = self.as_dict()
        usual = {each.name: each.default for each in fields(self)}
        lines = []
        for name, value in plain.items():
            if name == "columns" or (name != "encoding" and value == usual[name]):
                continue
            lines.append(f"{name} = {_toml_value(value)}")
        if self.columns:
            lines.append("columns = [")
            for column in plain["columns"]:
                said = ", ".join(f"{key} = {_toml_value(text)}" for key, text in column.items())
                lines.append(f"  {{{said}}},")
            lines.append("]")
        return "".join(f"{line}\n" for line in lines)


def _toml_value(value: str | int) -> str:
    """Return a value as TOML writes it; JSON does, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_layout(path: str | os.PathLike[str]) -> Layout:
    r"""Read a layout from a TOML file, as `setveil inspect --save-layout` writes it.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "layout.toml")
    ...     _ = file.write_text('format = "basket"\ndelimiter = ";"\n')
    ...     read_layout(file).delimiter
    ';'
    """
    where = shown_name(path)
    try:
        found = read_settings(path)
    except OSError as error:
        raise InputError(
            f"the layout cannot be read: {error.strerror or error}",
            where=where,
            fix="name a file that `setveil inspect --save-layout` wrote",
        ) from None
    except ValueError as error:
        raise InputError(
            f"this is not TOML: {error}", where=where, fix="see docs/formats.md"
        ) from None
    return Layout.from_dict(found, where)


def listed(names: Sequence[str], limit: int = 8) -> str:
    """Return the first names for a message, quoted, and how many more there are.

    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(shortened(name) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What a user says about a file; what is None or empty is to be found out.

    Parameters
    ----------
    format, encoding, delimiter
        As in `Layout`.
    quote
        What surrounds fields: ``double``, ``single`` or ``none``, or the sign itself.
    header
        Whether the first row names the columns.
    id
        The column that tells records apart; of a file without header its number, from 1.
    item
        The column of items of a long table, or the field of JSON objects.
    items
        Names or patterns (``Dx*``) of columns with items.
    separator
        What separates several items in a cell.
    ignore
        Names or patterns of columns to set aside.
    table, query
        What to read of a workbook or a database.

    Examples
    --------
    >>> ReadOptions(items=("Dx*",)).names_columns
    True
    """

    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    header: bool | None = None
    id: str | None = None
    item: str | None = None
    items: tuple[str, ...] = ()
    separator: str | None = None
    ignore: tuple[str, ...] = ()
    table: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if self.format is not None:
            object.__setattr__(self, "format", checked_format(self.format))
        for name in ("delimiter", "separator"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, checked_delimiter(getattr(self, name), name))
        if self.quote is not None:
            quote = QUOTES.get(self.quote, self.quote)
            if quote not in QUOTES.values():
                raise ParameterError(
                    f"the quote is {self.quote!r}", fix=f"use one of {', '.join(QUOTES)}"
                )
            object.__setattr__(self, "quote", quote)
        if self.item is not None and self.items:
            raise ParameterError(
                "--item and --items both say where the items are",
                fix="--item for one column of single items, --items for several columns or for "
                "cells with several items",
            )
        if self.table is not None and self.query is not None:
            raise ParameterError("--table and --query exclude each other", fix="give one of them")

    @property
    def names_columns(self) -> bool:
        """Whether a column is named, which only a table can have."""
        return bool(self.id is not None or self.item is not None or self.items or self.ignore)

    def given(self) -> dict[str, Any]:
        """Return what is given, by name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, ())}


# --- How a table was read ---


SHOWN = 10
NEAR = 3
"""How many groups of like spellings are named."""


@dataclass(frozen=True, kw_only=True)
class ReadReport:
    """How a table was read; `table.reading` of every table that `setveil.read` returns.

    Parameters
    ----------
    name
        What was read.
    layout
        What the file is and what its columns mean.
    guessed
        Whether the layout was found out rather than given.
    why
        What it rests on.
    records, occurrences, items
        Size of the table: rows, items over all rows, different items.
    empty_records
        Records without any item in the table.
    duplicates_merged
        Repetitions of an item within a record; each record keeps one.
    columns
        The columns that items come from, for the search for identities.
    cleaned
        What was changed because it was asked for, as sentences.
    near_duplicates
        Groups of items that differ in case, spaces or punctuation only.
    skipped
        Where, text and problem of what was left out (at most 1,000 entries).
    skipped_count
        How many places were left out in all.
    notes
        Other things a reader should know, as sentences.
    detection
        All layouts that were considered, where it was found out.

    Examples
    --------
    >>> from setveil.io.layout import Layout
    >>> report = ReadReport(name="a.dat", layout=Layout(format="fimi"), guessed=True,
    ...                     why="lines hold only whole numbers", records=2, occurrences=3,
    ...                     items=2, empty_records=0, duplicates_merged=1)
    >>> for sentence in report.sentences():
    ...     print(sentence)
    a.dat: read as fimi (guessed: lines hold only whole numbers).
    2 records, 3 occurrences of 2 items.
    1 repeated item within a record was merged.
    """

    name: str
    layout: Layout
    guessed: bool
    why: str
    records: int
    occurrences: int
    items: int
    empty_records: int
    duplicates_merged: int
    columns: tuple[ColumnSummary, ...] = ()
    cleaned: tuple[str, ...] = ()
    near_duplicates: tuple[tuple[str, ...], ...] = ()
    skipped: list[tuple[str, str, str]] = field(default_factory=list)
    skipped_count: int = 0
    notes: tuple[str, ...] = ()
    detection: Detection | None = field(default=None, repr=False)

    @property
    def format(self) -> str:
        """The format of the layout."""
        return self.layout.format

    def sentences(self) -> list[str]:
        """Return the report as sentences for a person."""
        how = f"guessed: {self.why}" if self.guessed else self.why
        sizes = [plural(self.records, "record"), plural(self.occurrences, "occurrence")]
        said = [f"{self.name}: read as {self.format} ({how})."]
        if self.layout.encoding not in {"utf-8", "utf-8-sig"}:
            said.append(f"The text is {self.layout.encoding}; --encoding names another.")
        for role, words in (
            ("identifier", "Set aside, because it looks like an identity"),
            ("ignore", "Set aside"),
        ):
            if names := self.layout.names(role):
                said.append(f"{words}: {_names(names)}.")
        said.append(f"{', '.join(sizes)} of {plural(self.items, 'item')}.")
        if self.empty_records:
            verb = "holds" if self.empty_records == 1 else "hold"
            said.append(f"{plural(self.empty_records, 'record')} {verb} no item; kept.")
        if self.duplicates_merged == 1:
            said.append("1 repeated item within a record was merged.")
        elif self.duplicates_merged:
            said.append(f"{self.duplicates_merged:,} repeated items within records were merged.")
        said += [*self.notes, *self.cleaned]
        if self.near_duplicates:
            groups = [", ".join(map(repr, group[:4])) for group in self.near_duplicates[:NEAR]]
            more = len(self.near_duplicates) - NEAR
            rest = f"; and {more:,} more groups" if more > 0 else ""
            said.append(
                "These items differ only in case, spaces or punctuation: "
                f"{'; '.join(groups)}{rest}. --normalize joins them."
            )
        if self.skipped_count:
            said.append(f"{plural(self.skipped_count, 'malformed place')} skipped:")
            said += [f"  {where}: {text} {what}" for where, text, what in self.skipped[:SHOWN]]
            more = self.skipped_count - min(len(self.skipped), SHOWN)
            if more:
                said.append(f"  and {more:,} more")
        return said

    def as_dict(self) -> dict[str, Any]:
        """Return what a run record keeps: the layout, and all that was left out or changed."""
        return {
            "layout": self.layout.as_dict(),
            "guessed": self.guessed,
            "why": self.why,
            "records": self.records,
            "occurrences": self.occurrences,
            "items": self.items,
            "empty_records": self.empty_records,
            "duplicates_merged": self.duplicates_merged,
            "set_aside": self.layout.names("identifier", "ignore"),
            "cleaned": list(self.cleaned),
            "near_duplicates": [list(group) for group in self.near_duplicates],
            "skipped": self.skipped_count,
            "notes": list(self.notes),
        }


def _names(names: list[str]) -> str:
    shown = ", ".join(name or "(no name)" for name in names[:8])
    return shown + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
