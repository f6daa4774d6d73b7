"""Grids of cells from binary files: Parquet, Excel, OpenDocument spreadsheets and SQLite.

``sniff_container(head)`` tells what a file is by its first bytes, ``load_grid(source)`` reads it.
A `Grid` holds texts as a person sees them in the file; what they mean is decided elsewhere.

Files come from strangers. An archive is measured before a library opens it, a database is opened
for reading only, and a query may neither write nor run without end.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import re
import sqlite3
import tempfile
import time
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from weakref import WeakKeyDictionary
from xml.etree import ElementTree as ET

from setveil.core.errors import InputError
from setveil.core.parquet import check_parquet, panics_caught
from setveil.core.spelling import nearest
from setveil.core.untrusted import open_archive
from setveil.core.words import some
from setveil.io.sources import OLE_MAGIC, PARQUET_MAGIC, SQLITE_MAGIC, ZIP_MAGIC, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

ODS_TYPE = b"application/vnd.oasis.opendocument.spreadsheet"

# Archives: what is refused before anything is unpacked.
ARCHIVE_LIMIT = 2 << 30  # bytes of all parts together
ARCHIVE_RATIO = 200  # times the compressed size, for archives of more than
ARCHIVE_SMALL = 64 << 20  # bytes
PART_LIMIT = 16 << 20  # bytes of a part that only lists other parts

# Sheets: the library that reads them lays out every cell up to the last one, also empty ones.
AREA_LIMIT = 200_000_000
SPARSE_AREA = 20_000_000
SPARSE_SHARE = 0.02  # of the cells of a larger sheet must be filled
HEADING = 64  # rows at the top that may hold titles

# Queries: a view or a query may produce rows without end.
QUERY_SECONDS = 120.0
QUERY_CELLS = 50_000_000
QUERY_STEPS = 100_000  # of SQLite's machine, between two looks at the clock
FETCHED = 50_000

NAMES = {
    "parquet": "a Parquet file",
    "excel": "an Excel workbook",
    "ods": "an OpenDocument spreadsheet",
    "sqlite": "an SQLite database",
}


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The cells of a table in a binary file.

    Parameters
    ----------
    kind
        ``"parquet"``, ``"excel"``, ``"ods"`` or ``"sqlite"``.
    header
        The names of the columns where the file has them (Parquet, SQLite). None where the first
        row may be a header or not (Excel, OpenDocument); the columns of `frame` are then called
        by their letters.
    frame
        Texts, with null for an empty cell; lists of texts in Parquet's columns of lists.
    chosen
        The sheet or table that was read; empty if there is nothing to choose or a query was given.
    tables
        The sheets or tables that there are.
    notes
        What was passed over or left out, in sentences.
    """

    kind: str
    header: tuple[str, ...] | None
    frame: pl.DataFrame
    chosen: str = ""
    tables: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def sniff_container(head: bytes) -> str:
    r"""Return which kind of container the first bytes belong to; nothing for text and all else.

    >>> sniff_container(b"PAR1..."), sniff_container(b"id,item"), sniff_container(b"PK\x03\x04")
    ('parquet', '', '')
    """
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    if head.startswith(SQLITE_MAGIC):
        return "sqlite"
    if head.startswith(OLE_MAGIC):
        return "excel"
    if head.startswith(ZIP_MAGIC):
        return _sniff_zip(head)
    return ""


def _sniff_zip(head: bytes) -> str:
    """Tell workbooks from other archives by the names of the parts in the first bytes."""
    for match in re.finditer(re.escape(ZIP_MAGIC), head):
        start = match.start()
        length = int.from_bytes(head[start + 26 : start + 28], "little")
        extra = int.from_bytes(head[start + 28 : start + 30], "little")
        name = head[start + 30 : start + 30 + length]
        body = head[start + 30 + length + extra :]
        if name.startswith(b"xl/"):
            return "excel"
        if name == b"mimetype" and body.startswith(ODS_TYPE):
            return "ods"
        if name == b"[Content_Types].xml" and head[start + 8 : start + 10] == b"\x08\0":
            with contextlib.suppress(zlib.error):
                types = zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, PART_LIMIT)
                if b"spreadsheetml" in types or b"ms-excel.sheet" in types:
                    return "excel"
    return ""


def load_grid(
    source: Source,
    *,
    table: str | None = None,
    query: str | None = None,
    columns: Sequence[str] | None = None,
    rows: int | None = None,
) -> Grid:
    """Read the cells of a container.

    Parameters
    ----------
    source
        An input whose first bytes `sniff_container` knows.
    table
        The sheet of a workbook, or the table or view of a database. Not needed if there is one.
    query
        A single SELECT, for databases.
    columns
        The columns to read, for Parquet and databases; all that hold texts or numbers if not given.
    rows
        Read only so many.

    Raises
    ------
    InputError
        If the file is damaged, protected or too large, or if what is asked for is not in it.

    Examples
    --------
    >>> import polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.parquet")
    ...     pl.DataFrame({"id": [1.0, 2.0], "item": [["flu"], []]}).write_parquet(path)
    ...     with Source(path) as source:
    ...         grid = load_grid(source)
    >>> grid.header, grid.frame.rows()
    (('id', 'item'), [('1', ['flu']), ('2', [])])
    """
    kind = sniff_container(source.head) or _kinds.get(source, "")
    if not kind:
        what = "a table" if query is None else "a query"
        raise InputError(
            "this is neither Parquet, a workbook nor a database"
            + (f", so that {what} cannot be chosen" if table or query else ""),
            where=source.name,
            fix="leave out --table and --query" if table or query else "give such a file",
        )
    _kinds[source] = kind
    if query is not None and kind != "sqlite":
        raise InputError(
            f"a query is for databases, and this is {NAMES[kind]}",
            where=source.name,
            fix="leave out --query" if kind == "parquet" else "choose a sheet with --table NAME",
        )
    if kind == "parquet":
        if table is not None:
            raise InputError(
                "a Parquet file holds one table, so that none can be chosen",
                where=source.name,
                fix="leave out --table",
            )
        return _load_parquet(source, columns, rows)
    if kind == "sqlite":
        if table is not None and query is not None:
            raise InputError(
                "both a table and a query are given",
                where=source.name,
                fix="give --table or --query",
            )
        with _database(source) as connection:
            return _load_sqlite(
                connection, source.name, table=table, query=query, columns=columns, rows=rows
            )
    if columns is not None:
        raise InputError(
            "the columns of a sheet have letters, not names, as long as its header is not known",
            where=source.name,
            fix="read the whole sheet",
        )
    held = _sheets.setdefault(source, {})
    if table not in held:
        held[table] = _load_workbook(source, kind, table)
    grid = held[table]
    return grid if rows is None else replace(grid, frame=grid.frame.head(rows))


# A sheet is laid out as a whole in any case: it is kept for a second look, after the first rows.
_sheets: WeakKeyDictionary[Source, dict[str | None, Grid]] = WeakKeyDictionary()
_kinds: WeakKeyDictionary[Source, str] = WeakKeyDictionary()
_bytes: WeakKeyDictionary[Source, bytes] = WeakKeyDictionary()
_checked: WeakKeyDictionary[Source, bool] = WeakKeyDictionary()


def _is_held(source: Source) -> bool:
    """Tell whether the input can be read only once: standard input, a pipe, compressed data."""
    return source.is_stdin or bool(source.compression) or not Path(source.path).is_file()


def _whole(source: Source) -> bytes:
    if source not in _bytes:
        _bytes[source] = source.read_all()
    return _bytes[source]


def _open(source: Source) -> BinaryIO:
    return io.BytesIO(_whole(source)) if _is_held(source) else Path(source.path).open("rb")


def _damage_error(source: Source, error: BaseException) -> InputError:
    """Return what to raise for a library's error; ends of the program are none of these."""
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError)):
        raise error
    if isinstance(error, InputError):
        return error
    reason = str(error).partition("\n")[0][:200] or type(error).__name__
    return InputError(
        f"cannot be read as {NAMES[_kinds[source]].removeprefix('an ').removeprefix('a ')}: "
        f"{reason}",
        where=source.name,
        fix="check that it opens in the program that wrote it, and write it again",
    )


def _check_columns(asked: Sequence[str], known: Sequence[str], where: str) -> None:
    for name in asked:
        if name not in known:
            raise InputError(
                f"there is no column {name!r}{nearest(name, known)}",
                where=where,
                fix=f"name a column among {some(known, 8)}",
            )


# --- Parquet ------------------------------------------------------------------------------------


def _load_parquet(source: Source, columns: Sequence[str] | None, rows: int | None) -> Grid:
    import polars as pl

    try:
        with _open(source) as opened, panics_caught():
            _check_pages(opened, source)
            opened.seek(0)
            schema = dict(pl.read_parquet_schema(opened))
            wanted = list(schema) if columns is None else list(columns)
            _check_columns(wanted, list(schema), source.name)
            plain = {name: _as_text(pl.col(name), schema[name]) for name in wanted}
            odd = [name for name, text in plain.items() if text is None]
            if odd and columns is not None:
                raise InputError(
                    f"the column {odd[0]!r} is of type {schema[odd[0]]}, not texts, numbers or "
                    "lists of these",
                    where=source.name,
                    fix="name another column, or convert this one to text",
                )
            kept = [name for name in wanted if plain[name] is not None]
            opened.seek(0)
            # Given a path, polars would take the brackets in a file's name for a pattern.
            where: Any = opened if _is_held(source) else Path(source.path)
            frame = pl.read_parquet(where, columns=kept, n_rows=rows, glob=False)
            frame = frame.select(text for text in plain.values() if text is not None)
    except (OSError, ValueError) as error:
        raise _damage_error(source, error) from None
    notes = [_left_out_note(odd, "structures or binary data")] if odd else []
    return Grid(kind="parquet", header=tuple(kept), frame=frame, notes=tuple(notes))


def _check_pages(file: BinaryIO, source: Source) -> None:
    """Refuse a file that would end the process or fill the memory, once for each input."""
    if source in _checked:
        return
    with contextlib.ExitStack() as stack:
        data: bytes | mmap.mmap
        if isinstance(file, io.BytesIO):
            data = file.getvalue()
        else:
            data = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        try:
            check_parquet(data, own=True)
        except InputError as error:
            raise InputError(error.what, where=source.name, fix=error.fix) from None
    _checked[source] = True


def _left_out_note(names: Sequence[str], what: str) -> str:
    if len(names) == 1:
        return f"The column {names[0]!r} holds {what} and was left out."
    return f"The columns {some(names)} hold {what} and were left out."


def _as_text(cell: pl.Expr, kind: Any) -> pl.Expr | None:  # noqa: ANN401, PLR0911  (one per type)
    """Return a column as texts, whole numbers without a fraction; None if that has no sense."""
    import polars as pl

    text = cell.cast(pl.String)
    if kind == pl.String:
        return pl.when(cell != "").then(cell)
    if kind in (pl.Null, pl.Boolean) or kind.is_integer():
        return text
    if kind.is_float():
        whole = (cell == cell.round()) & (cell.abs() < 2**53)
        whole_text = cell.cast(pl.Int64, strict=False).cast(pl.String)
        return pl.when(cell.is_not_nan()).then(pl.when(whole).then(whole_text).otherwise(text))
    if kind.is_decimal():
        return text.str.replace(r"(\.[0-9]*?)0+$", "$1").str.strip_suffix(".")
    if kind in (pl.Categorical, pl.Enum):
        return pl.when(text != "").then(text)
    if kind == pl.Datetime:
        text = text.str.replace(r"(\.[0-9]*?)0+(\D*)$", "$1$2").str.replace(r"\.(\D*)$", "$1")
        return text.str.replace(r"^(\d{4}-\d\d-\d\d) 00:00:00$", "$1")
    if kind in (pl.Date, pl.Time):
        return text.str.replace(r"(\.[0-9]*?)0+$", "$1").str.strip_suffix(".")
    if isinstance(kind, (pl.List, pl.Array)):
        inner = _as_text(pl.element(), kind.inner)
        if inner is None or isinstance(kind.inner, (pl.List, pl.Array)):
            return None
        lists = cell.arr.to_list() if isinstance(kind, pl.Array) else cell
        return lists.list.eval(inner).cast(pl.List(pl.String))
    return None


# --- archives -----------------------------------------------------------------------------------


def _check_archive(file: BinaryIO, name: str) -> zipfile.ZipFile:
    """Open an archive after a look at its list of parts."""
    try:
        archive = open_archive(file, where=name)
        parts = archive.infolist()
    except (OSError, ValueError) as error:
        raise InputError(
            f"the archive that a spreadsheet consists of is damaged: {error}",
            where=name,
            fix="fetch the file again, or save it again",
        ) from None
    total = sum(part.file_size for part in parts)
    packed = sum(part.compress_size for part in parts)
    problem = ""
    if total > ARCHIVE_LIMIT:
        problem = f"it would unpack to {total:,} bytes, more than {ARCHIVE_LIMIT:,}"
    elif total > ARCHIVE_SMALL and total > ARCHIVE_RATIO * packed:
        problem = f"{packed:,} bytes would unpack to {total:,}, more than {ARCHIVE_RATIO} times"
    elif any(part.flag_bits & 1 for part in parts):
        raise _password_error(name)
    if problem:
        raise InputError(
            f"this spreadsheet is not opened: {problem}",
            where=name,
            fix="if you trust it, save the sheet as CSV and read that",
        )
    return archive


def _password_error(name: str) -> InputError:
    return InputError(
        "the workbook is protected by a password",
        where=name,
        fix="save a copy without a password",
    )


def _unpack(file: BinaryIO, part: zipfile.ZipInfo, name: str) -> Iterator[bytes]:
    """Yield a part's bytes, and refuse it once there are more than the archive's list says."""
    file.seek(part.header_offset)
    local = file.read(30)
    file.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), 1)
    if part.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise InputError(
            f"the part {part.filename!r} is compressed in a way that spreadsheets are not",
            where=name,
            fix="save the file again",
        )
    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
    left, given = part.compress_size, 0
    while left > 0 and (packed := file.read(min(left, 1 << 16))):
        left -= len(packed)
        while packed:
            if part.compress_type == zipfile.ZIP_STORED:
                block, packed = packed, b""
            else:
                block = unpack.decompress(packed, 1 << 20)
                packed = unpack.unconsumed_tail
            given += len(block)
            if given > part.file_size:
                raise InputError(
                    f"the part {part.filename!r} unpacks to more than the {part.file_size:,} "
                    "bytes that the archive states: this may be a decompression bomb",
                    where=name,
                    fix="if you trust the file, save the sheet as CSV and read that",
                )
            yield block


# --- workbooks ----------------------------------------------------------------------------------

_REF = re.compile(rb"""\sr=["']([A-Z]{1,3})([0-9]{1,7})["']""")
_MERGE = re.compile(
    rb"""<(?:\w+:)?mergeCell\s[^>]*?ref=["']([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)["']"""
)
_OVERLAP = 256  # bytes of a block that are seen again with the next, for what is cut by its end


@dataclass(frozen=True, kw_only=True)
class Merge:
    """A block of merged cells; rows and columns count from 0, both ends belong to it."""

    top: int
    left: int
    bottom: int
    right: int


def _number_of(letters: str) -> int:
    """Return a column's number, from 0, of its letters.

    >>> _number_of("A"), _number_of("AB")
    (0, 27)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _letters_of(number: int) -> str:
    """Return a column's letters of its number, from 0.

    >>> _letters_of(0), _letters_of(27)
    ('A', 'AB')
    """
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _survey_sheet(blocks: Iterator[bytes], name: str, part: str) -> list[Merge]:
    """Look through a sheet's XML before it is laid out: refuse what has no room, find merges."""
    before = b""
    letters: set[bytes] = set()
    cells = bottom = 0
    merges: dict[tuple[bytes, ...], None] = {}
    for block in blocks:
        text = before + block
        found = _REF.findall(text)
        if found:
            columns, numbers = zip(*found, strict=True)
            letters.update(columns)
            cells += len(found)
            bottom = max(bottom, *map(int, set(numbers)))
        if b"mergeCell" in text:
            merges.update(dict.fromkeys(_MERGE.findall(text)))
        before = text[-_OVERLAP:]
    right = max((_number_of(each.decode()) + 1 for each in letters), default=0)
    area = right * bottom
    if area > AREA_LIMIT or (area > SPARSE_AREA and cells < SPARSE_SHARE * area):
        raise InputError(
            f"the sheet in {part} reaches to cell {_letters_of(right - 1)}{bottom}, which makes "
            f"{area:,} cells, and holds {cells:,}",
            where=name,
            fix="delete the stray cells below and beside the table, or save the sheet as CSV",
        )
    return [
        Merge(
            top=int(top) - 1,
            left=_number_of(left.decode()),
            bottom=int(low) - 1,
            right=_number_of(far.decode()),
        )
        for left, top, far, low in merges
    ]


def _survey(source: Source, kind: str) -> dict[str, list[Merge]]:
    """Check a workbook's archive, and return the merged cells of each sheet."""
    with _open(source) as file:
        if file.read(len(OLE_MAGIC)) == OLE_MAGIC:
            # Such a file may be a new workbook behind a password; old ones have 2^24 cells at most.
            if _is_encrypted(file):
                raise _password_error(source.name)
            return {}
    with _open(source) as file, _check_archive(file, source.name) as archive:
        parts = {part.filename: part for part in archive.infolist()}
        if "xl/workbook.bin" in parts:
            raise InputError(
                "this is a binary workbook (.xlsb)", where=source.name, fix="save it as .xlsx"
            )
        merges: dict[str, list[Merge]] = {}
        for part_name, part in parts.items():
            blocks = _unpack(file, part, source.name)
            if part_name.startswith("xl/worksheets/") and part_name.endswith(".xml"):
                merges[part_name] = _survey_sheet(blocks, source.name, part_name)
            else:
                for _ in blocks:
                    pass
        sheets = _sheet_parts(archive, parts) if kind == "excel" else {}
        return {sheet: merges.get(part_name, []) for sheet, part_name in sheets.items()}


def _is_encrypted(file: BinaryIO) -> bool:
    """Look for the name of the part that holds the encrypted workbook, near the ends."""
    file.seek(0)
    start = file.read(1 << 16)
    size = file.seek(0, io.SEEK_END)
    file.seek(max(size - (1 << 16), 0))
    return "EncryptedPackage".encode("utf-16-le") in start + file.read()


def _sheet_parts(archive: zipfile.ZipFile, parts: dict[str, zipfile.ZipInfo]) -> dict[str, str]:
    """Return which part of the archive holds each sheet, as far as its lists tell."""
    lists = ("xl/workbook.xml", "xl/_rels/workbook.xml.rels")
    if any(part not in parts or parts[part].file_size > PART_LIMIT for part in lists):
        return {}
    try:
        # Expat bounds how far entities may grow.
        book, links = (ET.fromstring(archive.read(part)) for part in lists)  # noqa: S314
    except (ET.ParseError, zipfile.BadZipFile, zlib.error):
        return {}
    targets = {link.get("Id", ""): link.get("Target", "") for link in links}
    found = {}
    for sheet in book.iter():
        if sheet.tag.rpartition("}")[2] == "sheet":
            link = next((v for key, v in sheet.attrib.items() if key.endswith("}id")), "")
            target = targets.get(link, "")
            part = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
            found[sheet.get("name", "")] = part
    return found


def _load_workbook(source: Source, kind: str, table: str | None) -> Grid:
    try:
        import fastexcel
    except ImportError:
        raise InputError(
            f"this is {NAMES[kind]}, and what reads these is not installed",
            where=source.name,
            fix="pip install 'setveil[excel]', or save the sheet as CSV",
        ) from None
    try:
        merges = _survey(source, kind)
        held = _whole(source) if _is_held(source) else None
        book = fastexcel.read_excel(held if held is not None else os.fspath(source.path))
        chosen, frame, notes = _choose_sheet(book, source.name, table)
    except BaseException as error:  # noqa: BLE001  (a panic of the library is no Exception)
        if "password" in str(error).lower():
            raise _password_error(source.name) from None
        raise _damage_error(source, error) from None
    frame, trimmed = _trim(frame, merges.get(chosen, []))
    return Grid(
        kind=kind,
        header=None,
        frame=frame,
        chosen=chosen,
        tables=tuple(book.sheet_names),
        notes=(*notes, *trimmed),
    )


def _choose_sheet(book: Any, name: str, table: str | None) -> tuple[str, pl.DataFrame, list[str]]:  # noqa: ANN401
    """Load the sheet that was named, or the only visible one that is not empty."""
    sheets: list[str] = list(book.sheet_names)
    if table is not None:
        return table, _named_sheet(book, sheets, name, table), []
    found: list[tuple[str, pl.DataFrame]] = []
    hidden: list[str] = []
    for place, sheet in enumerate(sheets):
        frame, visible = _load_sheet(book, sheet)
        if frame.height and not visible:
            hidden.append(sheet)
        elif frame.height and found:
            filled = [found[0][0], sheet, *sheets[place + 1 :]]
            raise InputError(
                f"more than one sheet holds data: {some(filled, 8)}",
                where=name,
                fix=f"choose one with --table, e.g. --table {_quote(sheet)}",
            )
        elif frame.height:
            found.append((sheet, frame))
    if not found:
        where = f"; the hidden sheets are {some(hidden, 8)}" if hidden else ""
        fix = "choose one with --table NAME" if hidden else "give a workbook with data"
        raise InputError(f"no sheet holds data{where}", where=name, fix=fix)
    notes = [f"The sheet {found[0][0]!r} was read."] if len(sheets) > 1 else []
    if hidden:
        plural = len(hidden) > 1
        notes.append(
            f"The hidden sheet{'s' * plural} {some(hidden)} {'were' if plural else 'was'} not read."
        )
    return *found[0], notes


def _named_sheet(book: Any, sheets: list[str], name: str, table: str) -> pl.DataFrame:  # noqa: ANN401
    if table not in sheets:
        raise InputError(
            f"there is no sheet {table!r}{nearest(table, sheets)}",
            where=name,
            fix=f"name a sheet with --table: {some(sheets, 8)}",
        )
    frame, _ = _load_sheet(book, table)
    if not frame.height:
        raise InputError(f"the sheet {table!r} is empty", where=name, fix="name another sheet")
    return frame


def _quote(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else f"'{name}'"


def _load_sheet(book: Any, sheet: str) -> tuple[pl.DataFrame, bool]:  # noqa: ANN401
    """Return a sheet's cells as texts, and whether it is visible."""
    import polars as pl

    # Without a number of rows to skip, rows above the first filled one would be left out.
    loaded = book.load_sheet(
        sheet, header_row=None, skip_rows=0, dtypes="string", whitespace_as_null=True
    )
    visible = loaded.visible == "visible"
    if not loaded.width or not loaded.height:
        return pl.DataFrame(), visible
    frame = loaded.to_polars()
    frame.columns = [_letters_of(each.absolute_index) for each in loaded.available_columns()]
    # A day without a time, a time without a day, as the cell shows them.
    days = r"^(\d{4}-\d\d-\d\d) 00:00:00(?:\.0+)?$"
    times = r"^1899-12-3[01] (\d\d:\d\d:\d\d)(?:\.0+)?$"
    text = pl.all().cast(pl.String).str.replace(times, "$1").str.replace(days, "$1")
    frame = frame.select(pl.when(text.str.strip_chars() != "").then(text).name.keep())
    filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    return (frame if filled.any() else pl.DataFrame()), visible


def _trim(frame: pl.DataFrame, merges: list[Merge]) -> tuple[pl.DataFrame, list[str]]:
    """Cut off empty edges and titles above the header; spread merged cells over their rows."""
    import polars as pl

    notes: list[str] = []
    frame, spread = _spread_merges(frame, merges)
    filled = frame.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
    held = (filled > 0).arg_true()
    first, last = int(held[0]), int(held[-1])
    skipped = _title_rows(filled.to_list()[first : first + HEADING], first, merges)
    if skipped:
        below = first + skipped
        over = [i for i in range(first, below) if filled[i]]
        rows = f"Row {over[0] + 1}" if len(over) == 1 else f"Rows {over[0] + 1} to {over[-1] + 1}"
        verb = "was" if len(over) == 1 else "were"
        notes.append(f"{rows} above the header {verb} passed over.")
        first = below
    frame = frame.slice(first, last - first + 1)
    # A column whose only cell is a title's is no column of the table.
    used = [i for i, column in enumerate(frame.columns) if frame[column].null_count() < len(frame)]
    frame = frame[:, used[0] : used[-1] + 1]
    if spread:
        notes.append("Merged cells count for every row that they span.")
    return frame, notes


def _spread_merges(frame: pl.DataFrame, merges: list[Merge]) -> tuple[pl.DataFrame, int]:
    """Give each row below the first of a merged block the block's text."""
    import polars as pl

    texts: dict[str, list[str | None]] = {}
    count = 0
    for merge in merges:
        name = _letters_of(merge.left)
        if merge.bottom == merge.top or merge.top >= frame.height or name not in frame.columns:
            continue
        column = texts.setdefault(name, frame[name].to_list())
        value = column[merge.top]
        if value is not None:
            count += 1
            end = min(merge.bottom + 1, frame.height)
            column[merge.top : end] = [value] * (end - merge.top)
    changed = [pl.Series(name, column, pl.String) for name, column in texts.items()]
    return frame.with_columns(changed), count


def _title_rows(filled: list[int], first: int, merges: list[Merge]) -> int:
    """Return how many of the first rows are titles above a header, or blank below a title.

    `filled` tells how many cells the rows from `first` on hold. A row is a title if a merged cell
    spans columns and the next filled row has more cells, if a blank row parts it from a row that
    has more cells than any other, or if it has one cell above rows that are about equally full.
    """
    across = {merge.top for merge in merges if merge.right > merge.left}
    skipped = 0
    while skipped < len(filled) - 1:
        below = next((i for i in range(skipped + 1, len(filled)) if filled[i]), None)
        if below is None:
            break
        here, there = filled[skipped], filled[below]
        full = [count for count in filled[below:] if count]
        steady = len(full) > 2 and min(full) > 1 and min(full) * 3 >= max(full) * 2
        is_title = (
            (first + skipped in across and there > here)
            or (here <= 2 and _stands_above_table(filled, skipped))
            or (here == 1 and there >= 3 and steady)
        )
        if not is_title:
            break
        skipped = below
    return skipped


def _stands_above_table(filled: list[int], start: int) -> bool:
    """Tell whether rows of one or two cells end at a blank row above a header, the fullest row."""
    end = start
    while end < len(filled) and 1 <= filled[end] <= 2:
        end += 1
    header = next((i for i in range(end, len(filled)) if filled[i]), None)
    if header is None or header == end:
        return False
    return filled[header] > max(filled[start:end]) and filled[header] == max(filled[header:])


# --- databases ----------------------------------------------------------------------------------


@contextlib.contextmanager
def _database(source: Source) -> Iterator[sqlite3.Connection]:
    """Open a database for reading only; what is no plain file is spooled to a private one."""
    with contextlib.ExitStack() as stack:
        path = Path(source.path)
        if _is_held(source):
            # Such files are made readable by their owner alone.
            spooled = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".sqlite"))
            if source in _bytes:
                spooled.write(_bytes[source])
            else:
                for block in source.blocks(line_limit=ARCHIVE_LIMIT):  # of no lines at all
                    spooled.write(block)
            spooled.flush()
            path = Path(spooled.name)
        else:
            journal = path.with_name(path.name + "-wal")
            if journal.is_file() and journal.stat().st_size:
                raise InputError(
                    f"some of its changes are still in {journal.name}",
                    where=source.name,
                    fix="close the program that writes to the database, or export it with "
                    "sqlite3 FILE '.backup COPY'",
                )
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        try:
            connection = stack.enter_context(
                contextlib.closing(sqlite3.connect(address, uri=True, isolation_level=None))
            )
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA cell_size_check = ON")
            yield connection
        except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
            raise _damage_error(source, error) from None


def _load_sqlite(
    connection: sqlite3.Connection,
    name: str,
    *,
    table: str | None,
    query: str | None,
    columns: Sequence[str] | None,
    rows: int | None,
) -> Grid:
    listed = connection.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name"
    ).fetchall()
    kinds: dict[str, str] = dict(listed)
    chosen = ""
    if query is None:
        chosen = _choose_table(kinds, table, name)
        asked = "*" if columns is None else ", ".join(map(_identifier, columns))
        known = [row[1] for row in connection.execute(f"PRAGMA table_info({_identifier(chosen)})")]
        _check_columns(columns or (), known, name)
        statement = f"SELECT {asked} FROM {_identifier(chosen)}"  # noqa: S608  (names are quoted)
        is_bounded = kinds[chosen] == "table"
    else:
        statement, is_bounded = _checked_query(query, name), False
    _guard(connection)
    header, frame, blobs = _fetch(connection, statement, name, rows=rows, is_bounded=is_bounded)
    if columns is not None and query is not None:
        _check_columns(columns, header, name)
        frame = frame.select(column for column in columns if column in frame.columns)
        blobs = [column for column in blobs if column in columns]
    if blobs and columns is not None:
        raise InputError(
            f"the column {blobs[0]!r} holds binary data (BLOBs)",
            where=name,
            fix="name another column",
        )
    return Grid(
        kind="sqlite",
        header=tuple(frame.columns),
        frame=frame,
        chosen=chosen,
        tables=tuple(kinds),
        notes=(_left_out_note(blobs, "binary data (BLOBs)"),) if blobs else (),
    )


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _choose_table(kinds: dict[str, str], table: str | None, name: str) -> str:
    names = list(kinds)
    if table is not None:
        if table not in kinds:
            raise InputError(
                f"there is no table {table!r}{nearest(table, names)}",
                where=name,
                fix=f"name a table with --table: {some(names, 8) or 'there is none'}",
            )
        return table
    tables = [each for each, kind in kinds.items() if kind == "table"] or names
    if not tables:
        raise InputError("there is no table in it", where=name, fix="give a database with data")
    if len(tables) > 1:
        raise InputError(
            f"the database has several tables: {some(names, 8)}",
            where=name,
            fix=f"choose one, e.g. --table {_quote(tables[0])}, or join them by --query "
            "'SELECT ...'",
        )
    return tables[0]


def _checked_query(query: str, name: str) -> str:
    bare = re.sub(r"\s+|--[^\n]*(?:\n|$)|/\*.*?\*/", " ", query, flags=re.DOTALL).strip()
    if re.match(r"(?:select|with)\b", bare, re.IGNORECASE) is None:
        raise InputError(
            "a query must be a single SELECT (it may begin with WITH)",
            where=name,
            fix="e.g. --query 'SELECT patient, code FROM diagnoses'",
        )
    return query


def _guard(connection: sqlite3.Connection) -> None:
    """Allow nothing but reading: no ATTACH, no PRAGMA, no extension, no writing."""
    allowed = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}

    def authorize(action: int, _one: str | None, two: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            harmless = (two or "").lower() not in {"load_extension", "fts3_tokenizer"}
            return sqlite3.SQLITE_OK if harmless else sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY

    connection.set_authorizer(authorize)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 26)


def _fetch(
    connection: sqlite3.Connection, statement: str, name: str, *, rows: int | None, is_bounded: bool
) -> tuple[list[str], pl.DataFrame, list[str]]:
    """Run a statement; return its columns, those with texts as a frame, and those with BLOBs."""
    import polars as pl

    end = time.monotonic() + QUERY_SECONDS
    if not is_bounded:
        # A table ends; a view or a query need not.
        connection.set_progress_handler(lambda: time.monotonic() > end, QUERY_STEPS)
    parts: list[list[pl.Series]] = []
    blobs: dict[int, None] = {}
    taken = 0
    try:
        cursor = connection.execute(statement)
        header = [column[0] for column in cursor.description]
        _check_names(header, name)
        while rows is None or taken < rows:
            fetched = cursor.fetchmany(FETCHED if rows is None else min(FETCHED, rows - taken))
            if not fetched:
                break
            taken += len(fetched)
            if not is_bounded and taken * len(header) > QUERY_CELLS:
                raise _endless_error(f"returns more than {QUERY_CELLS:,} cells", name)
            columns = [_texts(values) for values in zip(*fetched, strict=True)]
            blobs.update((i, None) for i, column in enumerate(columns) if column is None)
            parts.append([pl.Series([], dtype=pl.String) if c is None else c for c in columns])
    except (sqlite3.DatabaseError, sqlite3.Warning) as error:
        if "interrupted" in str(error):
            raise _endless_error(f"runs for more than {QUERY_SECONDS:.0f} seconds", name) from None
        if is_bounded or "malformed" in str(error) or "not a database" in str(error):
            raise
        raise InputError(
            f"the query cannot be run: {error}",
            where=name,
            fix="give a single SELECT that only reads this database",
        ) from None
    empty = pl.Series([], dtype=pl.String)
    frame = pl.DataFrame(
        [
            pl.concat([empty, *(part[i] for part in parts)], rechunk=True).alias(column)
            for i, column in enumerate(header)
            if i not in blobs
        ]
    )
    return header, frame, [header[i] for i in blobs]


def _endless_error(what: str, name: str) -> InputError:
    return InputError(
        f"the query or view {what}",
        where=name,
        fix="check that a WITH RECURSIVE in it comes to an end, or add a LIMIT",
    )


def _check_names(header: Sequence[str], name: str) -> None:
    twice = next((each for i, each in enumerate(header) if each in header[:i]), None)
    if twice is not None:
        raise InputError(
            f"two columns of the result are called {twice!r}",
            where=name,
            fix="name them apart, e.g. SELECT a.name AS first, b.name AS second",
        )


def _texts(values: tuple[Any, ...]) -> pl.Series | None:
    """Return a column's values as texts; None if there is binary data among them."""
    import polars as pl

    kinds = set(map(type, values))
    if bytes in kinds:
        return None
    if kinds <= {int, type(None)}:
        return pl.Series(values, dtype=pl.Int64).cast(pl.String)
    if float in kinds or int in kinds:
        values = tuple(map(_cell_text, values))
    series = pl.Series(values, dtype=pl.String)
    return series.set(series == "", None)


def _cell_text(value: object) -> str | None:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return None if value is None else str(value)
