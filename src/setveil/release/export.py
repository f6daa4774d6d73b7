"""A release as plain tables: what recipients load, what each term means, how to count with it.

Every form becomes one or two tables with a line per published item, a list of its terms, a
paragraph that says what a line means, and a short example of counting. Nothing is in them that the
release does not show.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from setveil.core.errors import ParameterError
from setveil.core.table import TransactionTable
from setveil.core.words import plural, visible
from setveil.release.data_file import LabelledRows, long_frame, parquet_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from setveil.release.base import Release

FORMATS = ("parquet", "csv", "jsonl")
COLUMNS, TERMS = "dictionary-columns", "dictionary-terms"
"""Names of the two tables of the data dictionary."""

RECORD = "Number of a published record, from 0, sorted by content: it says nothing about a person."
ITEM = "A published item; empty for a record without items."


@dataclass(frozen=True, kw_only=True)
class PlainTable:
    """A table for recipients.

    Parameters
    ----------
    name
        Its file's name, without an ending.
    frame
        Its lines.
    about
        What a line is, in a sentence.
    columns
        What each column means.
    """

    name: str
    frame: pl.DataFrame
    about: str
    columns: Mapping[str, str]


class Term(NamedTuple):
    """A published term: its kind, what it stands for, and how many records hold it."""

    term: str
    kind: str
    stands_for: str
    least: int
    most: int


class Example(NamedTuple):
    """Two programs that count with the exported tables, and with setveil."""

    polars: str
    setveil: str


@dataclass(frozen=True, kw_only=True)
class Export:
    """A release as tables.

    Parameters
    ----------
    meaning
        What a line of the data says about people, for somebody who has never seen such data.
    tables
        The data.
    terms
        Every published term.
    unit
        What the numbers of the terms count, such as "records".
    example
        How to count with the data; it runs in a folder with ``data/`` and ``release/``.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"]])
    >>> found = publish_suppressed(table, [True, False])[0].export()
    >>> found.tables[0].name, found.tables[0].frame.rows()
    ('records', [(0, 'flu'), (1, 'flu')])
    >>> found.terms
    (Term(term='flu', kind='item', stands_for='itself', least=2, most=2),)
    """

    meaning: str
    tables: tuple[PlainTable, ...]
    terms: tuple[Term, ...]
    unit: str
    example: Example

    def dictionary(self) -> tuple[PlainTable, PlainTable]:
        """Return the data dictionary: every column of the data, and every published term."""
        import polars as pl

        columns = [
            (table.name, name, _type_name(table.frame.schema[name]), meaning)
            for table in self.tables
            for name, meaning in table.columns.items()
        ]
        of_columns = {
            "table": "Name of the table.",
            "column": "Name of the column.",
            "type": "Kind of its values.",
            "meaning": "What a value says.",
        }
        of_terms = {
            "term": "The term as the data writes it.",
            "kind": "What kind of term it is.",
            "stands_for": "What a record that shows the term held.",
            "at_least": f"How many {self.unit} hold the term, at least.",
            "at_most": f"How many {self.unit} hold the term, at most.",
        }
        kinds = [pl.String] * 3 + [pl.Int64] * 2
        return (
            PlainTable(
                name=COLUMNS,
                frame=pl.DataFrame(
                    columns, schema=dict.fromkeys(of_columns, pl.String), orient="row"
                ),
                about="Each line explains a column of the data.",
                columns=of_columns,
            ),
            PlainTable(
                name=TERMS,
                frame=pl.DataFrame(
                    list(self.terms),
                    schema=dict(zip(of_terms, kinds, strict=True)),
                    orient="row",
                ),
                about="Each line explains a term of the data.",
                columns=of_terms,
            ),
        )


def _type_name(kind: pl.DataType) -> str:
    return "whole number" if kind.is_integer() else "text"


def table_bytes(frame: pl.DataFrame, format: str) -> bytes:
    r"""Return a table as the content of a file: the same bytes for the same table.

    >>> import polars as pl
    >>> table_bytes(pl.DataFrame({"record": [0, 1], "item": ["flu", None]}), "csv")
    b'record,item\n0,flu\n1,\n'
    """
    if format == "parquet":
        return parquet_bytes(frame)
    sink = io.BytesIO()
    if format == "csv":
        frame.write_csv(sink)
    else:
        frame.write_ndjson(sink)
    return sink.getvalue()


def check_format(name: str) -> str:
    """Return the name of a format, or refuse one in which tables are not written.

    >>> check_format("xlsx")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: tables are not written as 'xlsx'. To fix: choose parquet, \
...
    """
    if name not in FORMATS:
        raise ParameterError(
            f"tables are not written as {name!r}", fix=f"choose {', '.join(FORMATS)}"
        )
    return name


def table_files(tables: Iterable[PlainTable], formats: Sequence[str]) -> dict[str, bytes]:
    """Return the files of some tables by name, one for each format.

    >>> import polars as pl
    >>> table = PlainTable(name="a", frame=pl.DataFrame({"x": [1]}), about="", columns={})
    >>> list(table_files([table], ["csv", "jsonl"]))
    ['a.csv', 'a.jsonl']
    """
    return {
        f"{table.name}.{ending}": table_bytes(table.frame, ending)
        for table in tables
        for ending in dict.fromkeys(formats)
    }


def export_rows(release: Release) -> Export:
    """Return a release of a form that says no more of itself, by its ``to_rows``."""
    table = TransactionTable.from_rows(release.to_rows())
    terms = [
        Term(name, "term", "see the documentation of the method", count, count)
        for name, count in zip(table.vocabulary.names, table.supports().tolist(), strict=True)
    ]
    return export_records(
        release,
        LabelledRows(table.offsets, table.items, table.vocabulary.names),
        terms,
        meaning="Each record is a set of published terms.",
    )


# --- parts of an export ---------------------------------------------------------------------------


def export_records(
    release: Release,
    rows: LabelledRows,
    terms: Sequence[Term],
    *,
    meaning: str,
    unit: str = "records",
    record: str = RECORD,
    asked: Sequence[str] | None = None,
    example: Example | None = None,
) -> Export:
    """Return a release of records that have one line per item.

    Parameters
    ----------
    release, rows, terms, meaning, unit
        What is exported, see :class:`Export`.
    record
        What the number of a record means.
    asked
        The items that the example counts with setveil; the commonest ones that stand for
        themselves if None.
    example
        How to count, where it is done in another way.
    """
    if asked is None:
        asked = commonest_terms([term for term in terms if term.kind == "item"])
    return Export(
        meaning=meaning,
        tables=(
            PlainTable(
                name="records",
                frame=long_frame(*rows),
                about="Each line is an item of a record.",
                columns={"record": record, "item": ITEM},
            ),
        ),
        terms=tuple(terms),
        unit=unit,
        example=example
        or Example(rows_example(list(rows.rows()), terms), ask_example(release, asked)),
    )


def commonest_terms(terms: Sequence[Term], count: int = 2) -> list[str]:
    """Return the terms that most records hold, by name where they tie."""
    ordered = sorted(terms, key=lambda term: (-term.least, term.term))
    return [term.term for term in ordered[:count]]


# --- how to count ---------------------------------------------------------------------------------


def literal(name: str) -> str:
    """Write a name as a Python program does, with hidden characters as escapes."""
    if name.isprintable() and visible(name) == name and not set('"\\') & set(name):
        return f'"{name}"'
    return ascii(name)


def rows_example(rows: Sequence[Sequence[str]], terms: Sequence[Term]) -> str:
    """Write how to count records in the exported table."""
    lines = [
        "import polars as pl",
        "",
        'records = pl.read_parquet("data/records.parquet")',
        f'print(records["record"].n_unique())  # {len(rows)}',
    ]
    chosen = commonest_terms(terms)
    for name in chosen[:1]:
        held = sum(name in row for row in rows)
        lines += [
            f'holders = records.filter(pl.col("item") == {literal(name)})',
            f'print(holders["record"].n_unique())  # {held}',
        ]
    if len(chosen) == 2:
        both = sum(set(chosen) <= set(row) for row in rows)
        lines += [
            f"pair = [{', '.join(map(literal, chosen))}]",
            'found = records.filter(pl.col("item").is_in(pair)).group_by("record")',
            'counts = found.agg(pl.col("item").n_unique())',
            f'print(counts.filter(pl.col("item") == 2).height)  # {both}',
        ]
    return "\n".join(lines)


LOAD = ["import setveil", "", 'release = setveil.load_release("release")']


def load_example(release: Release) -> str:
    """Write how to load the release."""
    return "\n".join([*LOAD, f"print(len(release))  # {len(release)}"])


def ask_example(release: Release, items: Sequence[str]) -> str:
    """Write how to ask for the least and greatest number of people who hold some items."""
    if not items:
        return load_example(release)
    bounds = release.support_bounds(items)
    return "\n".join(
        [
            *LOAD,
            f"bounds = release.support_bounds([{', '.join(map(literal, items))}])",
            f"print(bounds.low, bounds.high)  # {bounds.low} {bounds.high}",
        ]
    )


def describe_export(found: Export) -> str:
    """Return in a sentence what an export consists of.

    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu"], ["flu"]])
    >>> describe_export(publish_suppressed(table, [True])[0].export())
    'records (2 lines), 1 term'
    """
    sizes = [f"{table.name} ({plural(table.frame.height, 'line')})" for table in found.tables]
    return f"{', '.join(sizes)}, {plural(len(found.terms), 'term')}"
