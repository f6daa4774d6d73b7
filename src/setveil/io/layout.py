"""A layout says what a file is: its format, how its text is written, what each column means."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError, ParameterError, shortened
from setveil.core.files import shown_name
from setveil.core.spelling import nearest
from setveil.core.untrusted import read_settings
from setveil.io.delimited import QUOTE, checked_delimiter

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

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
            lines.append(f"{name} = {_quoted(value)}")
        if self.columns:
            lines.append("columns = [")
            for column in plain["columns"]:
                said = ", ".join(f"{key} = {_quoted(text)}" for key, text in column.items())
                lines.append(f"  {{{said}}},")
            lines.append("]")
        return "".join(f"{line}\n" for line in lines)


def _quoted(value: str | int) -> str:
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
