"""Reading tables of records from files and standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.data.problems import Problems
from setveil.data.sources import PARQUET_MAGIC, Source
from setveil.errors import InputError
from setveil.io.delimited import checked_delimiter
from setveil.io.formats_delimited import read_basket, read_long, read_one_hot
from setveil.io.guess import guess, sample_of
from setveil.io.json_lines import read_jsonl
from setveil.io.layout import Layout, checked_format
from setveil.io.number_lines import read_fimi, read_spmf
from setveil.io.read_report import ReadReport

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from setveil.data.collectors import Collected
    from setveil.data.table import TransactionTable

READERS: dict[str, Callable[[Source, Layout, Problems], Collected]] = {
    "fimi": read_fimi,
    "basket": read_basket,
    "long": read_long,
    "one-hot": read_one_hot,
    "jsonl": read_jsonl,
    "spmf": read_spmf,
}


def read(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002  (the word users know)
    *,
    delimiter: str | None = None,
    id: str | None = None,  # noqa: A002
    item: str | None = None,
    on_error: str = "raise",
) -> TransactionTable:
    r"""Read a table of records; `read_reported` also tells what was guessed, merged or skipped.

    Parameters
    ----------
    path
        A file, plain or compressed by gzip or zstd; ``-`` reads standard input.
    format
        ``fimi``, ``basket``, ``long``, ``one-hot``, ``jsonl`` or ``spmf``; guessed from the name
        and the first lines if not given. Parquet is recognised by its first bytes.
    delimiter
        What separates fields of ``basket``, ``long`` and ``one-hot``; also ``tab`` or ``space``.
    id, item
        Names of the columns of a ``long`` table; `id` also names the column of a ``one-hot``
        table that is no item, `item` the field of JSON objects that holds the items.
    on_error
        ``"raise"`` stops at the first malformed line, ``"skip"`` leaves such lines out.

    Returns
    -------
    TransactionTable
        The records in their order; the vocabulary is what occurs in them.

    Raises
    ------
    InputError
        If the input cannot be read, with its line, column and text.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "baskets.csv")
    ...     _ = path.write_text('milk,"bread, brown"\nmilk\n')
    ...     read(path).to_rows()
    [['bread, brown', 'milk'], ['milk']]
    """
    return read_reported(path, format, delimiter=delimiter, id=id, item=item, on_error=on_error)[0]


def read_reported(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    delimiter: str | None = None,
    id: str | None = None,  # noqa: A002
    item: str | None = None,
    on_error: str = "raise",
) -> tuple[TransactionTable, ReadReport]:
    r"""Read a table of records and report how; the parameters are those of `read`.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "clinic.dat")
    ...     _ = path.write_text("3 1 3\n\n2\n")
    ...     table, report = read_reported(path)
    >>> report.format, report.why
    ('fimi', 'the name ends in .dat and the first 3 lines hold only whole numbers')
    >>> report.empty_records, report.duplicates_merged
    (1, 1)
    """
    asked = Layout(
        format=checked_format(format) if format is not None else "",
        delimiter=checked_delimiter(delimiter) if delimiter is not None else "",
        id_column=id,
        item_column=item,
    )
    with Source(path) as source:
        problems = Problems(name=source.name, on_error=on_error)
        if source.head.startswith(PARQUET_MAGIC):
            from setveil.io.parquet import read_parquet  # noqa: PLC0415  (polars on demand)

            layout, done = read_parquet(source, asked, problems)
        else:
            source.refuse_foreign()
            layout = guess(sample_of(source), asked)
            done = READERS[layout.format](source, layout, problems)
    if not len(done.table):
        what = (
            f"all {problems.count:,} lines are malformed" if problems.count else "no record in it"
        )
        raise InputError(
            what,
            where=source.name,
            fix=f"check that this is {layout.format} data, or choose another --format",
        )
    return done.table, _report(source.name, layout, done, problems)


def _report(name: str, layout: Layout, done: Collected, problems: Problems) -> ReadReport:
    table = done.table
    return ReadReport(
        name=name,
        format=layout.format,
        guessed=layout.guessed,
        why=layout.why or "as asked",
        records=len(table),
        occurrences=len(table.items),
        items=table.n_items,
        empty_records=int((table.lengths == 0).sum()),
        duplicates_merged=done.duplicates,
        skipped=problems.skipped,
        skipped_count=problems.count,
        notes=tuple(done.notes),
    )
