"""Reading tables of records from files and standard input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InputError, ParameterError, Problems, SetveilError
from setveil.core.spelling import near_duplicates
from setveil.core.table import Collected, RowCollector, collected_pairs
from setveil.io.cells import Cells, pairs_of_codes, read_cells, rows_of_codes
from setveil.io.detect import SAMPLE, detect_grid, detect_text, sample_of
from setveil.io.json_lines import read_jsonl
from setveil.io.layout import TABLES, Layout, ReadOptions, ReadReport, listed, read_layout
from setveil.io.number_lines import read_fimi, read_spmf
from setveil.io.roles import header_strength
from setveil.io.sources import Source
from setveil.io.tables import MISSING, Assembled, Cleaning, CodedColumn, Flags, assemble, is_total

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import polars as pl

    from setveil.core.table import TransactionTable
    from setveil.io.containers import Grid
    from setveil.io.detect import Detection
    from setveil.io.identifiers import ColumnSummary

POSITIONS, HEADER_SAMPLE = 64, 100
"""Of baskets whose lines are alike: the fields that are searched, and lines that decide."""
NEAR_LIMIT = 200_000
"""Vocabularies beyond this are not searched for like spellings."""


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    layout: Layout | str | os.PathLike[str] | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    id: str | None = None,
    item: str | None = None,
    items: str | Sequence[str] | None = None,
    separator: str | None = None,
    ignore: str | Sequence[str] | None = None,
    table: str | None = None,
    query: str | None = None,
    on_error: str = "raise",
    empty: str = "keep",
    normalize: bool = False,
    min_support: int = 1,
) -> TransactionTable:
    r"""Read a table of records; ``table.reading`` tells how it was read.

    What is not given is found out. Where the file can be read in two ways that are about as
    plausible, nothing is read: the error shows both and names the option that decides.

    Parameters
    ----------
    path
        A file, plain or compressed by gzip or zstd; ``-`` reads standard input.
    format
        ``fimi``, ``basket``, ``long``, ``wide``, ``one-hot``, ``jsonl`` or ``spmf``. Parquet,
        Excel, ODS and SQLite files are recognised by their first bytes.
    layout
        A `Layout`, or the name of a TOML file that holds one; instead of all that follows up to
        `query`.
    encoding
        How bytes become text, such as ``cp1252``.
    delimiter
        What separates fields; also ``tab`` or ``space``.
    quote
        What surrounds fields that hold the delimiter: ``double``, ``single`` or ``none``.
    header
        Whether the first row names the columns.
    id
        The column that tells records apart; its number, from 1, where columns have no names.
    item
        The column of items of a ``long`` table, or the field of JSON objects that holds them.
    items
        Columns that hold items, by name or pattern: ``"Dx*"``, ``"Dx1,Dx2"``, ``["Dx1", "Dx2"]``.
    separator
        What separates several items in a cell.
    ignore
        Columns to set aside.
    table, query
        The table of a database or the sheet of a workbook; or a query of a database.
    on_error
        ``"raise"`` stops at the first malformed line, ``"skip"`` leaves such lines out.
    empty, normalize, min_support
        Cleaning; see `Cleaning`.

    Returns
    -------
    TransactionTable
        The records in their order; the vocabulary is what occurs in them.

    Raises
    ------
    InputError
        If the input cannot be read, with its line, column and text; or if it is not clear how.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "clinic.csv")
    ...     _ = path.write_text("PatientID,Name,Dx1,Dx2\n7,Ada Roe,flu,gout\n8,Bo Lee,flu,\n")
    ...     table = read(path)
    >>> table.to_rows()
    [['flu', 'gout'], ['flu']]
    >>> [column.role for column in table.reading.layout.columns]
    ['record id', 'identifier', 'item', 'item']
    """
    options = ReadOptions(
        format=format,
        encoding=encoding,
        delimiter=delimiter,
        quote=quote,
        header=header,
        id=id,
        item=item,
        items=column_list(items),
        separator=separator,
        ignore=column_list(ignore),
        table=table,
        query=query,
    )
    if layout is not None and options.given():
        names = ", ".join(options.given())
        raise ParameterError(f"a layout and {names} are given", fix="give one or the other")
    known = layout if layout is None or isinstance(layout, Layout) else read_layout(layout)
    cleaning = Cleaning(normalize=normalize, min_support=min_support, empty=empty)
    with Source(path, encoding=encoding if known is None else known.encoding) as source:
        problems = Problems(name=source.name, on_error=on_error)
        done = _read(source, options, known, problems)
    if not len(done.collected.table):
        what = (
            f"all {problems.count:,} lines are malformed" if problems.count else "no record in it"
        )
        raise InputError(
            what,
            where=source.name,
            fix=f"check that this is {done.layout.format} data, or choose another --format",
        )
    return _clean_table(source, done, cleaning, problems)


def column_list(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return names of columns: a text is split at commas.

    >>> column_list("Dx1, Dx2"), column_list(["a,b"]), column_list(None)
    (('Dx1', 'Dx2'), ('a,b',), ())
    """
    if given is None:
        return ()
    if isinstance(given, str):
        return tuple(name for part in given.split(",") if (name := part.strip()))
    return tuple(given)


def _doubts(done: _Done, table: TransactionTable) -> list[str]:
    """Return what speaks against a layout that the first rows of a table suggested."""
    items = done.layout.names("item")
    if not (done.guessed and items and done.layout.format in TABLES):
        return []
    said = []
    for sign in ";|":
        n = sum(sign in name for name in table.vocabulary.names)
        if n:
            said.append(
                f"{n:,} item{'s' * (n != 1)} hold{'s' * (n == 1)} {sign!r}: if cells list several "
                f"items, add --separator '{sign}'."
            )
    if repeated := [name for name in items if name in table.vocabulary]:
        said.append(f"{listed(repeated)} is a column and an item: the header may stand twice.")
    return said


@dataclass(kw_only=True)
class _Done:
    """What was read, and how."""

    layout: Layout
    collected: Collected
    columns: list[ColumnSummary]
    detection: Detection | None

    @property
    def guessed(self) -> bool:
        """Whether the layout was found out rather than given."""
        return self.detection is not None and self.detection.guessed

    @property
    def why(self) -> str:
        """What the layout rests on."""
        reasons = self.detection.best.reasons if self.detection else ("as the layout says",)
        return "; ".join(reasons)


def _clean_table(
    source: Source, done: _Done, cleaning: Cleaning, problems: Problems
) -> TransactionTable:
    table, said = cleaning.apply(done.collected.table, source.name)
    if not len(table):
        raise InputError(
            "no record is left after cleaning", where=source.name, fix="ask for less cleaning"
        )
    # Numbers have no spellings; long vocabularies take long to compare.
    spelt = done.layout.format != "fimi" and table.n_items <= NEAR_LIMIT and not cleaning.normalize
    near = near_duplicates(table.vocabulary.names) if spelt else []
    report = ReadReport(
        name=source.name,
        layout=done.layout,
        guessed=done.guessed,
        why=done.why,
        records=len(table),
        occurrences=len(table.items),
        items=table.n_items,
        empty_records=int((table.lengths == 0).sum()),
        duplicates_merged=done.collected.duplicates,
        columns=tuple(done.columns),
        cleaned=tuple(said),
        near_duplicates=tuple(tuple(group) for group in near),
        skipped=problems.skipped,
        skipped_count=problems.count,
        notes=(*source.notes, *done.collected.notes, *_doubts(done, table)),
        detection=done.detection,
    )
    return table.with_reading(report)


def _read(source: Source, options: ReadOptions, known: Layout | None, problems: Problems) -> _Done:
    from setveil.io.containers import sniff_container

    if sniff_container(source.head):
        return _read_grid(source, options, known, problems)
    source.refuse_foreign()
    found: Detection | None = None
    if known is None:
        found = detect_text(source, options)
        layout = found.layout
        _refuse_unused(options, layout)
        found = replace(found, private=_private_otherwise(source, options, layout))
    else:
        layout = known
        _check_layout(layout, source)
    reader: dict[str, Callable[[], tuple[Collected, list[ColumnSummary]]]] = {
        "fimi": lambda: (read_fimi(source, problems), []),
        "spmf": lambda: (read_spmf(source, problems), []),
        "jsonl": lambda: (read_jsonl(source, problems, field=layout.field or "items"), []),
        "basket": partial(_read_baskets, source, layout, problems),
        **dict.fromkeys(TABLES, partial(_read_table, source, layout, problems)),
    }
    collected, columns = reader[layout.format]()
    return _Done(layout=layout, collected=collected, columns=columns, detection=found)


def _refuse_unused(options: ReadOptions, layout: Layout) -> None:
    """Refuse a separator where no cell is split at it."""
    if options.separator is not None and not layout.names("items"):
        raise ParameterError(
            f"--separator {options.separator!r} separates nothing: each cell is one item",
            fix="leave it out, or name the column whose cells it splits with --items",
        )


def _private_otherwise(
    source: Source, options: ReadOptions, layout: Layout
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the columns that options publish, and that are private where nothing is said.

    Whoever reads a table as baskets, or takes all its columns for items, may not know what they
    publish.
    """
    forced = options.format == "basket" or any(set("*?[") & set(p) for p in options.items)
    if not forced:
        return ()
    asked = ReadOptions(delimiter=options.delimiter, quote=options.quote)
    try:
        found = detect_text(source, asked).candidates
    except SetveilError:
        return ()
    if not found or found[0].layout.format == "fimi":
        return ()
    kept = set(layout.names("record id", "identifier", "ignore"))
    return tuple(
        (column.name if found[0].layout.header else f"field {column.name}", samples)
        for column, samples in zip(found[0].layout.columns, found[0].samples, strict=True)
        if column.role in {"record id", "identifier"} and column.name not in kept
    )


def _check_layout(layout: Layout, source: Source) -> None:
    """Refuse a layout that a text does not have."""
    if layout.table or layout.query:
        raise InputError(
            "the layout is of a table in a workbook or a database, and this is a text",
            where=source.name,
            fix="give the layout of this file; `setveil inspect FILE --save-layout` writes it",
        )
    if layout.format in TABLES | {"basket"} and not layout.delimiter:
        raise InputError(
            "the layout names no delimiter, and this is a text",
            where=source.name,
            fix='write what separates its fields into the layout, e.g. delimiter = ","',
        )
    if layout.format not in TABLES:
        return
    rows = replace(sample_of(source), quote=layout.quote).all_rows(layout.delimiter)
    if layout.header:
        found = rows[layout.skip] if len(rows) > layout.skip else []
        _check_names(layout, found, source.name)


def _check_names(layout: Layout, found: Sequence[str], where: str) -> None:
    names = [column.name for column in layout.columns]
    missing = [name for name in names if name not in found]
    unknown = [name for name in found if name and name not in names]
    if missing or unknown or list(found[: len(names)]) != names:
        said = []
        said += [f"it lacks {listed(missing)}"] if missing else []
        said += [f"it also has {listed(unknown)}"] if unknown else []
        said += [] if said else ["they stand in another order"]
        raise InputError(
            f"the columns are not those of the layout: {'; '.join(said)}",
            where=where,
            fix="give the layout of this file; `setveil inspect FILE --save-layout` writes it",
        )


def _read_baskets(
    source: Source, layout: Layout, problems: Problems
) -> tuple[Collected, list[ColumnSummary]]:
    """Read one record per line; the field of the record's id, if there is one, is no item."""
    skip = layout.skip + layout.header
    cells = read_cells(source, layout.delimiter, problems, skip_lines=skip, quote=layout.quote)
    record = layout.places("record id")
    lengths = np.diff(cells.ends)
    if not record:
        positions = _positions(cells)
        return rows_of_codes(cells), [column.summary(column.used()) for column in positions]
    place = record[0]
    fields = [
        column.summary(column.used()) for i, column in enumerate(_positions(cells)) if i != place
    ]
    row_of = np.repeat(np.arange(len(cells)), lengths)
    is_id = np.zeros(len(cells.codes), dtype=bool)
    has_id = lengths > place
    is_id[cells.ends[:-1][has_id] + place] = True
    ids = np.zeros(len(cells), dtype=np.int32)
    ids[has_id] = cells.codes[cells.ends[:-1][has_id] + place]
    blank = ids == 0
    used = ~is_id & (cells.codes > 0) & ~blank[row_of]
    seen = np.zeros(len(cells.pool), dtype=bool)
    seen[cells.codes[used]] = True
    names = cells.pool.texts(np.flatnonzero(seen))
    number = (np.cumsum(seen) - 1).astype(np.int32)
    # Lines without an id are blank lines; rows with the same id are one record.
    present, inverse = np.unique(ids[~blank], return_inverse=True)
    record_of = np.full(len(cells), -1, dtype=np.int64)
    record_of[~blank] = inverse
    collected = collected_pairs(
        len(present), record_of[row_of[used]], number[cells.codes[used]], names
    )
    if blank.any():
        n = int(blank.sum())
        collected.notes.append(f"{n:,} line{'s' * (n != 1)} without a record's number left out.")
    return collected, fields


def _positions(cells: Cells) -> list[CodedColumn]:
    """Return the first field of all lines as a column; where lines are alike, every field.

    Whoever reads a table as baskets makes items of its numbers and names: the search for
    identities then has its columns, with their names where the first line has them.
    """
    lengths = np.diff(cells.ends)
    width = int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else 1
    width = width if width <= POSITIONS else 1
    starts = cells.ends[:-1][lengths > 0]
    names = [str(place + 1) for place in range(width)]
    named = False
    if width > 1 and len(starts) > 1:
        sample = cells.codes[: (HEADER_SAMPLE + 1) * width].reshape(-1, width)
        rows = [cells.pool.texts(row) for row in sample]
        named = header_strength(rows[0], rows[1:]) == 2
        names = rows[0] if named else names
    return [
        CodedColumn(
            name=names[place],
            role="item",
            codes=cells.codes[starts[1:] + place] if named else cells.codes[starts + place],
            texts=cells.pool.texts,
            size=len(cells.pool),
            named=named,
        )
        for place in range(width)
    ]


def _is_plain(columns: list[CodedColumn], rows: int) -> bool:
    """Whether pairs of a record and an item hold neither a total nor a word for a missing item."""
    texts = columns[1].texts(columns[1].used())
    return not is_total(columns, rows) and MISSING.isdisjoint(texts)


def _read_table(
    source: Source, layout: Layout, problems: Problems
) -> tuple[Collected, list[ColumnSummary]]:
    """Read the rows of a text table."""
    record = layout.places("record id")
    flagged = layout.places("one-hot")
    own = record + layout.places("item", "items")
    cells = read_cells(
        source,
        layout.delimiter,
        problems,
        width=len(layout.columns),
        short="pad" if layout.format == "wide" else "error",
        columns=own + flagged,
        required={place: layout.columns[place].name for place in record},
        skip_lines=layout.skip + layout.header,
        lines=bool(flagged),
        quote=layout.quote,
    )
    flags = None
    if flagged:
        flags = Flags(
            names=[layout.columns[place].name for place in flagged],
            codes=cells.codes.reshape(-1, cells.width)[:, len(own) :],
            texts=cells.pool.texts,
            size=len(cells.pool),
        )
    columns = [
        CodedColumn(
            name=layout.columns[place].name,
            role=layout.columns[place].role,
            separator=layout.columns[place].separator,
            codes=cells.column(i),
            texts=cells.pool.texts,
            size=len(cells.pool),
            named=layout.header,
        )
        for i, place in enumerate(own)
    ]
    roles = [column.role for column in columns]
    if roles == ["record id", "item"] and flags is None and _is_plain(columns, len(cells)):
        # What most tables are: pairs, which a kernel groups where they stand.
        seen = columns[1].summary(columns[1].used())
        done = Assembled(collected=pairs_of_codes(cells), columns=[seen])
    else:
        done = assemble(columns, len(cells), layout, problems, flags=flags, lines=cells.lines)
    for n, what in ((cells.blank, "blank line"), (cells.padded, "short row")):
        if n:
            verb = "left out" if what == "blank line" else "filled up with empty cells"
            done.collected.notes.append(f"{n:,} {what}{'s' * (n != 1)} {verb}.")
    return done.collected, done.columns


# --- workbooks, databases, Parquet ----------------------------------------------------------


def _read_grid(
    source: Source, options: ReadOptions, known: Layout | None, problems: Problems
) -> _Done:
    from setveil.io.containers import load_grid

    table = options.table if known is None else (known.table or None)
    query = options.query if known is None else (known.query or None)
    once = source.is_stdin or bool(source.compression) or query is not None
    grid = load_grid(source, table=table, query=query, rows=None if once else SAMPLE)
    found: Detection | None = None
    if known is None:
        found = detect_grid(grid, options, source.name)
        layout = found.layout
        _refuse_unused(options, layout)
    else:
        layout = known
        if layout.header:
            names = grid.header if grid.header is not None else _first_row(grid)
            _check_names(layout, names, source.name)
    if not once:
        wanted = layout.names("record id", "item", "items", "one-hot")
        columns = wanted if grid.header is not None else None
        grid = load_grid(source, table=table, query=query, columns=columns)
    collected, columns_seen = _assemble_grid(grid, layout, problems)
    collected.notes[:0] = grid.notes
    return _Done(layout=layout, collected=collected, columns=columns_seen, detection=found)


def _first_row(grid: Grid) -> list[str]:
    return [cell or "" for cell in grid.frame.row(0)] if grid.frame.height else []


def _assemble_grid(
    grid: Grid, layout: Layout, problems: Problems
) -> tuple[Collected, list[ColumnSummary]]:
    import polars as pl

    frame = grid.frame
    if grid.header is None:
        if layout.header:
            frame = frame.slice(1 + layout.skip)
        frame = frame.rename(
            dict(zip(frame.columns, (str(i) for i in range(frame.width)), strict=True))
        )
    series = {
        place: frame.get_column(column.name if grid.header is not None else str(place))
        for place, column in enumerate(layout.columns)
        if column.role in {"record id", "item", "items", "one-hot"}
    }
    record = layout.places("record id")
    if record and series[record[0]].null_count():
        missing = series[record[0]].is_null()
        for row in missing.arg_true().to_list():
            problems.add(
                f"has no {layout.columns[record[0]].name!r}",
                row=row + 1,
                text=", ".join("" if cell is None else str(cell) for cell in frame.row(row)),
                fix="give every row the id of its record",
            )
        series = {place: each.filter(~missing) for place, each in series.items()}
    if any(isinstance(each.dtype, (pl.List, pl.Array)) for each in series.values()):
        return _assemble_lists(series, layout, problems), []
    typed = grid.header is not None
    coded = [_code_column(each, layout, place, typed=typed) for place, each in series.items()]
    rows = len(coded[0].codes) if coded else 0
    columns = [column for column in coded if column.role != "one-hot"]
    flags = _joined_flags([column for column in coded if column.role == "one-hot"])
    done = assemble(columns, rows, layout, problems, flags=flags)
    return done.collected, done.columns


def _joined_flags(columns: list[CodedColumn]) -> Flags | None:
    """Return columns of 0 and 1 with one numbering of what their cells say."""
    if not columns:
        return None
    known: dict[str, int] = {"": 0}
    codes = np.empty((len(columns[0].codes), len(columns)), dtype=np.int32)
    for place, column in enumerate(columns):
        used = column.used()
        number = np.zeros(max(column.size, 1), dtype=np.int32)
        number[used] = [known.setdefault(text, len(known)) for text in column.texts(used)]
        codes[:, place] = number[column.codes]
    said = list(known)
    return Flags(
        names=[column.name for column in columns],
        codes=codes,
        texts=lambda chosen: [said[int(code)] for code in np.asarray(chosen)],
        size=len(said),
    )


def _code_column(series: pl.Series, layout: Layout, place: int, *, typed: bool) -> CodedColumn:
    """Return a column with its texts numbered as they appear; 0 is an empty cell."""
    import polars as pl

    texts = series.cast(pl.String).fill_null("")
    if not typed:  # typed by hand: blanks around a name do not count, as in text
        texts = texts.str.strip_chars(" \t")
    known = pl.concat([pl.Series([""], dtype=pl.String), texts]).unique(maintain_order=True)
    numbers = pl.Series(np.arange(len(known), dtype=np.int32))
    codes = texts.replace_strict(known, numbers, return_dtype=pl.Int32).to_numpy()
    return CodedColumn(
        name=layout.columns[place].name,
        role=layout.columns[place].role,
        separator=layout.columns[place].separator,
        codes=codes,
        texts=lambda chosen: known.gather(np.asarray(chosen, dtype=np.int64)).to_list(),
        size=len(known),
        named=layout.header,
        untyped=not typed,
    )


def _assemble_lists(series: dict[int, pl.Series], layout: Layout, problems: Problems) -> Collected:
    """Put records together from a column of lists; rows with the same id are one record."""
    from setveil.io.frames import gathered_lists

    record = layout.places("record id")
    lists = series[layout.places("items")[0]]
    if not record or series[record[0]].n_unique() == len(lists):
        return gathered_lists(lists, problems)
    rows = RowCollector()
    joined: dict[Any, list[str]] = {}
    for key, held in zip(series[record[0]].to_list(), lists.to_list(), strict=True):
        joined.setdefault(key, []).extend(str(entry) for entry in held or () if entry is not None)
    for held in joined.values():
        rows.add(held)
    done = rows.finish()
    done.notes.append(f"{len(lists):,} rows were joined to {len(joined):,} records.")
    return done
