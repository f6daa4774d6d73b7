"""A release as plain tables: what recipients load, what each term means, how to count with it.

Every form becomes one or two tables with a line per published item, a list of its terms, a
paragraph that says what a line means, and a short example of counting. Nothing is in them that the
release does not show.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.words import plural, visible
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.encoded import EncodedRelease
from setveil.release.generalized import GeneralizedRelease
from setveil.release.grouped import GroupedRelease
from setveil.release.perturbed import PerturbedRelease
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.release.split import SplitRelease
from setveil.release.suppressed import SuppressedRelease

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from setveil.core.table import Int64Array
    from setveil.release.base import Release
    from setveil.release.item_rows import ItemRows

ROW_GROUP = 1 << 20
"""Rows of a Parquet row group: fixed, so that the bytes do not depend on the machine."""
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
    >>> found = export_release(publish_suppressed(table, [True, False])[0])
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
    sink = io.BytesIO()
    if format == "parquet":
        frame.rechunk().write_parquet(
            sink,
            compression="zstd",
            compression_level=6,
            statistics=False,
            row_group_size=ROW_GROUP,
        )
    elif format == "csv":
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


# --- one function per form ------------------------------------------------------------------------


@singledispatch
def export_release(release: Release) -> Export:
    """Return a release as plain tables with their dictionary and an example.

    A form that is not known here is read by its ``to_rows``.
    """
    from setveil.core.table import TransactionTable  # for other packages' forms
    from setveil.release.frames import long_frame

    table = TransactionTable.from_rows(release.to_rows())
    names = table.vocabulary.names
    terms = [
        Term(name, "term", "see the documentation of the method", count, count)
        for name, count in zip(names, table.supports().tolist(), strict=True)
    ]
    return Export(
        meaning="Each record is a set of published terms.",
        tables=(_records(long_frame(table.offsets, table.items, names)),),
        terms=tuple(terms),
        unit="records",
        example=Example(_rows_example(table.to_rows(), terms), _load_only(release)),
    )


@export_release.register
def _(release: SuppressedRelease) -> Export:
    terms = [Term(name, "item", "itself", n, n) for name, n in _supports(release)]
    return Export(
        meaning="Each record is one person's set of items. An item that this data shows was never "
        "removed: it stands in exactly the records that held it, so counts of shown items are "
        "exact. Other items were removed from every record, or never occurred.",
        tables=(_records(release.to_frame()),),
        terms=tuple(terms),
        unit="records",
        example=Example(_rows_example(release.to_rows(), terms), _ask(release, _first(terms))),
    )


@export_release.register
def _(release: SetGeneralizedRelease) -> Export:
    terms = [
        Term(
            name,
            "item" if len(members) == 1 else "set of items",
            "itself" if len(members) == 1 else f"one or more of: {'; '.join(members)}",
            n,
            n,
        )
        for (name, n), members in zip(_supports(release), release.groups, strict=True)
    ]
    most = max(range(len(terms)), key=lambda place: (terms[place].least, -place), default=None)
    asked = [] if most is None else [release.groups[most][0]]
    return Export(
        meaning="Each record is one person's set of terms. A term in brackets, such as (A, B), "
        "is a set of items: the person held one or more of them, and the data does not say which. "
        "A term without brackets is an item as it was. Items that stand in no term were removed "
        "from every record, or never occurred.",
        tables=(_records(release.to_frame()),),
        terms=tuple(terms),
        unit="records",
        example=Example(_rows_example(release.to_rows(), terms), _ask(release, asked)),
    )


@export_release.register
def _(release: GeneralizedRelease) -> Export:
    tree = release.tree
    shown = _holders(release.offsets, release.nodes, len(tree))
    leaves = tree.leaves.tolist()
    terms = [
        Term(
            tree.ids[node],
            "item" if tree.is_leaf[node] else "category",
            "itself"
            if tree.is_leaf[node]
            else f"any of {plural(leaves[node], 'item')} below {tree.names[node]} in the taxonomy",
            int(shown[node]),
            int(shown[node]),
        )
        for node in np.flatnonzero(shown).tolist()
    ]
    exact = [term for term in terms if term.kind == "item"]
    if not release.hides:
        hidden = "Nothing was left out: every item of a person lies below a term of the record."
        stands = "one or more items"
    elif release.whole:
        hidden = (
            "Some items were removed from every record; all others lie below a term of the record."
        )
        stands = "one or more items"
    else:
        hidden = "Items may have been left out of any record. A term may occur twice in a record."
        stands = "exactly one item"
    return Export(
        meaning="Each record is one person's list of terms. A term is an item as it was, or a "
        f"category that stands for {stands} below it in the owner's taxonomy; the data does not "
        f"say which. {hidden}",
        tables=(_records(release.to_frame(ids=True)),),
        terms=tuple(terms),
        unit="records",
        example=Example(
            _rows_example(release.to_rows(ids=True), terms),
            _ask(release, _first(exact)) if exact else _load_only(release),
        ),
    )


@export_release.register
def _(release: EncodedRelease) -> Export:
    terms = [
        Term(
            name,
            "item" if readable else "tag",
            "itself" if readable else "an item whose name is hidden",
            n,
            n,
        )
        for (name, n), readable in zip(_supports(release), release.readable.tolist(), strict=True)
    ]
    names = [term for term in terms if term.kind == "item"]
    return Export(
        meaning="Each record is one person's set of items. An item is written by its name, or by a "
        "tag that hides the name. The same tag is always the same item.",
        tables=(_records(release.to_frame()),),
        terms=tuple(terms),
        unit="records",
        example=Example(
            _rows_example(release.to_rows(), terms),
            _ask(release, _first(names)) if names else _load_only(release),
        ),
    )


@export_release.register
def _(release: SplitRelease) -> Export:
    terms = [Term(name, "item", "itself", n, n) for name, n in _supports(release)]
    return Export(
        meaning="Each record is a profile: all or a part of one person's items. A person may have "
        "several profiles, which have no item in common, and the data does not say which profiles "
        "belong together. Counts of one item are counts of people; counts of several items are "
        "lower bounds.",
        tables=(_records(release.to_frame(), "Number of a profile, from 0, sorted by content."),),
        terms=tuple(terms),
        unit="profiles",
        example=Example(_rows_example(release.to_rows(), terms), _ask(release, _first(terms))),
    )


@export_release.register
def _(release: PerturbedRelease) -> Export:
    channel = release.channel
    terms = [Term(name, "item", "itself, or noise", n, n) for name, n in _supports(release)]
    kept = (
        f"each item of a person was kept with chance {1 - channel.beta}"
        if channel.sizes is None
        else "a random part of each person's items was kept"
    )
    return Export(
        meaning="Each record was randomized, so no single record is true for certain: "
        f"{kept}, and each of the other {channel.domain:,} possible items was added with chance "
        f"{channel.beta}. Do not count items as they stand: estimate, as below.",
        tables=(_records(release.to_frame()),),
        terms=tuple(terms),
        unit="randomized records",
        example=_randomized_example(release, _first(terms, 1)),
    )


@export_release.register
def _(release: GroupedRelease) -> Export:
    frame = release.to_frame()
    sensitive = set(release.sensitive)
    totals = np.zeros(len(release.vocabulary), dtype=np.int64)
    np.add.at(totals, release.items, 1)
    lengths = np.diff(release.part_offsets)
    np.add.at(totals, release.part_items, np.repeat(release.counts, lengths))
    terms = [
        Term(
            name,
            "sensitive item" if name in sensitive else "item",
            "itself",
            int(total),
            int(total),
        )
        for name, total in zip(release.vocabulary.names, totals.tolist(), strict=True)
    ]
    group = "Number of the group, from 0."
    tables: tuple[PlainTable, ...]
    if release.dealt is not None:
        tables = (
            PlainTable(
                name="records",
                frame=frame.select("group", record="row", item="item"),
                about="Each line is an item of a record of a group.",
                columns={
                    "group": group,
                    "record": "Number of the record within its group, from 0.",
                    "item": ITEM,
                },
            ),
        )
        dealt = (
            "The sensitive items of a group were dealt out to its records at random: which record "
            "of a group shows them means nothing, only how many do."
        )
    else:
        tables = _group_tables(release, frame)
        dealt = (
            "The table qit has the other items of each record. The table st says for each group "
            "how often sensitive items occur in it, and not in which record."
        )
    return Export(
        meaning="The records stand in groups. Which sensitive items occur is published for a group "
        f"as a whole. {dealt}",
        tables=tables,
        terms=tuple(terms),
        unit="records",
        example=_group_example(release, terms),
    )


def _group_tables(release: GroupedRelease, frame: pl.DataFrame) -> tuple[PlainTable, PlainTable]:
    import polars as pl

    group = "Number of the group, from 0."
    together = "A set of sensitive items of one record" if release.whole else "A sensitive item"
    rows, parts = (frame.filter(pl.col("kind") == kind) for kind in ("record", "sensitive"))
    return (
        PlainTable(
            name="qit",
            frame=rows.select("group", "row", "item"),
            about="Each line is an item of a record of a group, sensitive ones left out.",
            columns={
                "group": group,
                "row": "Number of the record within its group, from 0.",
                "item": ITEM,
            },
        ),
        PlainTable(
            name="st",
            frame=parts.select("group", part="row", item="item", count="count"),
            about="Each line is a sensitive item of a group.",
            columns={
                "group": group,
                "part": f"{together} has one number within its group, from 0.",
                "item": "A sensitive item.",
                "count": "How many records of the group hold it.",
            },
        ),
    )


@export_release.register
def _(release: DisassociatedRelease) -> Export:
    import polars as pl

    names = release.vocabulary.names
    bounds = [release.support_bounds([name]) for name in names]
    terms = [
        Term(name, "item", "itself", bound.low, bound.high)
        for name, bound in zip(names, bounds, strict=True)
    ]
    sizes = pl.DataFrame({"cluster": np.arange(len(release.sizes)), "records": release.sizes})
    return Export(
        meaning="The records stand in clusters, and each cluster is cut into chunks. A row of a "
        "record chunk is a part of one record of the cluster; which rows of different chunks "
        "belong to the same record is not published. A shared chunk has parts of records of "
        "several neighbouring clusters. A term chunk names items that occur in at least one record "
        "of the cluster, and not how often or with what.",
        tables=(
            PlainTable(
                name="chunks",
                frame=release.to_frame(),
                about="Each line is a published item.",
                columns={
                    "cluster": "Number of the cluster, from 0; of a shared chunk its first one.",
                    "chunk": '"record 0", "record 1", …: a record chunk of the cluster; "shared '
                    '2-4": a chunk that clusters 2 to 4 share; "term": the term chunk.',
                    "row": "Number of the row within its chunk, from 0; 0 in a term chunk.",
                    "item": "A published item.",
                },
            ),
            PlainTable(
                name="clusters",
                frame=sizes,
                about="Each line is a cluster.",
                columns={
                    "cluster": "Number of the cluster, from 0.",
                    "records": "How many records the cluster has.",
                },
            ),
        ),
        terms=tuple(terms),
        unit="records",
        example=_chunk_example(release, terms),
    )


# --- parts of an export ---------------------------------------------------------------------------


def _records(frame: pl.DataFrame, record: str = RECORD) -> PlainTable:
    return PlainTable(
        name="records",
        frame=frame,
        about="Each line is an item of a record.",
        columns={"record": record, "item": ITEM},
    )


def _supports(release: ItemRows) -> Iterator[tuple[str, int]]:
    return zip(release.vocabulary.names, release.supports().tolist(), strict=True)


def _holders(offsets: Int64Array, items: np.typing.NDArray[np.int32], n: int) -> Int64Array:
    """Return how many rows hold each number; one that a row holds twice counts once."""
    row = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    pairs = np.unique(row * n + items) if len(items) else row
    return np.bincount(pairs % max(n, 1), minlength=n)


def _first(terms: Sequence[Term], count: int = 2) -> list[str]:
    """Return the terms that most records hold, by name where they tie."""
    ordered = sorted(terms, key=lambda term: (-term.least, term.term))
    return [term.term for term in ordered[:count]]


# --- how to count ---------------------------------------------------------------------------------


def _literal(name: str) -> str:
    """Write a name as a Python program does, with hidden characters as escapes."""
    if name.isprintable() and visible(name) == name and not set('"\\') & set(name):
        return f'"{name}"'
    return ascii(name)


def _rows_example(rows: Sequence[Sequence[str]], terms: Sequence[Term]) -> str:
    lines = [
        "import polars as pl",
        "",
        'records = pl.read_parquet("data/records.parquet")',
        f'print(records["record"].n_unique())  # {len(rows)}',
    ]
    chosen = _first(terms)
    for name in chosen[:1]:
        held = sum(name in row for row in rows)
        lines += [
            f'holders = records.filter(pl.col("item") == {_literal(name)})',
            f'print(holders["record"].n_unique())  # {held}',
        ]
    if len(chosen) == 2:
        both = sum(set(chosen) <= set(row) for row in rows)
        lines += [
            f"pair = [{', '.join(map(_literal, chosen))}]",
            'found = records.filter(pl.col("item").is_in(pair)).group_by("record")',
            'counts = found.agg(pl.col("item").n_unique())',
            f'print(counts.filter(pl.col("item") == 2).height)  # {both}',
        ]
    return "\n".join(lines)


LOAD = ["import setveil", "", 'release = setveil.load_release("release")']


def _load_only(release: Release) -> str:
    return "\n".join([*LOAD, f"print(len(release))  # {len(release)}"])


def _ask(release: Release, items: Sequence[str]) -> str:
    """Write how to ask for the least and greatest number of people who hold some items."""
    if not items:
        return _load_only(release)
    bounds = release.support_bounds(items)
    return "\n".join(
        [
            *LOAD,
            f"bounds = release.support_bounds([{', '.join(map(_literal, items))}])",
            f"print(bounds.low, bounds.high)  # {bounds.low} {bounds.high}",
        ]
    )


def _randomized_example(release: PerturbedRelease, items: Sequence[str]) -> Example:
    if not items or release.channel.is_noise:
        return Example(_rows_example(release.to_rows(), ()), _load_only(release))
    n, item = len(release), items[0]
    beta = release.channel.beta
    shown = len(release.records_of(release.vocabulary.number(item)))
    lines = [
        "import polars as pl",
        "",
        'records = pl.read_parquet("data/records.parquet")',
        'n = records["record"].n_unique()',
        f'shown = records.filter(pl.col("item") == {_literal(item)}).height',
        f"print(n, shown)  # {n} {shown}",
    ]
    if release.channel.sizes is None:
        estimate = float((shown - n * beta) / (1 - 2 * beta))
        lines += [
            f"beta = {beta.numerator} / {beta.denominator}",
            "estimate = (shown - n * beta) / (1 - 2 * beta)",
            f'print(f"{{estimate:.1f}}")  # {estimate:.1f}',
        ]
    try:
        expected = release.expected_support([item])
    except NotApplicable:  # the published sizes tell too little
        return Example("\n".join(lines), _load_only(release))
    asked = [
        *LOAD,
        f"estimate = release.expected_support([{_literal(item)}])",
        f'print(f"{{estimate:.1f}}")  # {expected:.1f}',
    ]
    return Example("\n".join(lines), "\n".join(asked))


def _group_example(release: GroupedRelease, terms: Sequence[Term]) -> Example:
    ordinary = _first([term for term in terms if term.kind == "item"], 1)
    sensitive = _first([term for term in terms if term.kind != "item"], 1)
    asked = [*ordinary, *sensitive]
    if release.dealt is not None or len(asked) < 2:
        table = "records" if release.dealt is not None else "qit"
        row = "record" if release.dealt is not None else "row"
        lines = [
            "import polars as pl",
            "",
            f'records = pl.read_parquet("data/{table}.parquet")',
            f'print(records.select("group", "{row}").n_unique())  # {len(release)}',
        ]
        if release.dealt is not None and asked:
            held = next(term.least for term in terms if term.term == asked[-1])
            lines += [
                f'holders = records.filter(pl.col("item") == {_literal(asked[-1])})',
                f"print(holders.height)  # {held}",
            ]
        return Example("\n".join(lines), _ask(release, asked))
    estimate = f"{release.expected_support(asked):.1f}"
    lines = [
        "import polars as pl",
        "",
        'qit = pl.read_parquet("data/qit.parquet")',
        'st = pl.read_parquet("data/st.parquet")',
        'sizes = qit.group_by("group").agg(size=pl.col("row").n_unique())',
        f'holders = qit.filter(pl.col("item") == {_literal(ordinary[0])})',
        'holders = holders.group_by("group").agg(holders=pl.col("row").n_unique())',
        f'cases = st.filter(pl.col("item") == {_literal(sensitive[0])})',
        'cases = cases.group_by("group").agg(cases=pl.col("count").sum())',
        f'print(cases["cases"].sum())  # {_total(terms, sensitive[0])}',
        "# If sensitive items fall on any record of a group alike, so many records hold both:",
        'both = sizes.join(holders, on="group").join(cases, on="group")',
        'estimate = (both["holders"] * both["cases"] / both["size"]).sum()',
        f'print(f"{{estimate:.1f}}")  # {estimate}',
    ]
    return Example("\n".join(lines), _ask(release, asked))


def _total(terms: Sequence[Term], name: str) -> int:
    return next(term.least for term in terms if term.term == name)


def _chunk_example(release: DisassociatedRelease, terms: Sequence[Term]) -> Example:
    chosen = _first(terms)
    lines = [
        "import polars as pl",
        "",
        'chunks = pl.read_parquet("data/chunks.parquet")',
        'clusters = pl.read_parquet("data/clusters.parquet")',
        f'print(clusters["records"].sum())  # {len(release)}',
    ]
    if chosen:
        number = release.vocabulary.number(chosen[0])
        rows, listed = len(release.rows_of(number)), release.listing(number)
        high = rows + int(release.sizes[listed].sum())
        lines += [
            f'shown = chunks.filter(pl.col("item") == {_literal(chosen[0])})',
            'in_terms = shown.filter(pl.col("chunk") == "term")',
            "rows = shown.height - in_terms.height",
            'most = rows + in_terms.join(clusters, on="cluster")["records"].sum()',
            "# Each row is another record. A term stands in one to all records of its cluster.",
            f"print(rows + in_terms.height, most)  # {rows + len(listed)} {high}",
        ]
    return Example("\n".join(lines), _ask(release, chosen))


def describe_export(found: Export) -> str:
    """Return in a sentence what an export consists of.

    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu"], ["flu"]])
    >>> describe_export(export_release(publish_suppressed(table, [True])[0]))
    'records (2 lines), 1 term'
    """
    sizes = [f"{table.name} ({plural(table.frame.height, 'line')})" for table in found.tables]
    return f"{', '.join(sizes)}, {plural(len(found.terms), 'term')}"
