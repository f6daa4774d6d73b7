"""Own count queries: how well a release answers the questions that its recipients will ask."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.core.errors import InputError, NotApplicable
from setveil.core.spelling import nearest
from setveil.core.untrusted import LIST_LIMIT, parse_json, read_file
from setveil.measure.queries import query_error

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Release

SEPARATORS = ("\t", ";", "|", ",", "+", " ")
"""What may stand between the items of a line, unless the line is a list in JSON."""


def read_workload(
    path: str | os.PathLike[str], table: TransactionTable
) -> tuple[tuple[str, ...], ...]:
    r"""Read count queries from a file: one itemset per line, in the file's order and once each.

    A line holds an item, or several, separated as in a basket file (tab, semicolon, bar, comma,
    plus or space; the same in all lines), or a list of texts as JSON has it, or an object with such
    a list as ``items``. Spaces around items and empty lines do not count.

    Parameters
    ----------
    path
        A text file in UTF-8: ``.txt``, ``.csv`` or ``.jsonl``.
    table
        The original records: what their vocabulary does not hold is refused.

    Raises
    ------
    InputError
        The file cannot be read, holds no query, or names an item that the data does not have; the
        message names the line and the nearest item.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["heart failure", "flu"], ["gout"]])
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "questions.csv")
    ...     _ = file.write_text('flu\nheart failure, flu\n["gout"]\n')
    ...     read_workload(file, table)
    (('flu',), ('flu', 'heart failure'), ('gout',))
    """
    where = str(path)
    try:
        text = read_file(path, limit=LIST_LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            "this is no text in UTF-8", where=where, fix="save it as UTF-8, one itemset per line"
        ) from None
    except OSError as error:
        raise InputError(
            f"the count queries cannot be read: {error.strerror or error}",
            where=where,
            fix="name a text file with one itemset per line",
        ) from None
    lines = [(place, line.strip()) for place, line in enumerate(text.splitlines(), 1)]
    filled = [(place, line) for place, line in lines if line]
    if not filled:
        raise InputError("no count query is in this file", where=where, fix="write one per line")
    known = frozenset(table.vocabulary.names)
    separator = _separator([line for _, line in filled], known)
    queries = [_query(line, separator, known, f"{where}:{place}") for place, line in filled]
    return tuple(dict.fromkeys(queries))


def _separator(lines: Sequence[str], known: frozenset[str]) -> str:
    """Return the separator with which most lines, then most items, are known; the first of equals.

    >>> _separator(["flu;heart failure"], frozenset({"flu", "heart failure"}))
    ';'
    """

    def fit(separator: str) -> tuple[int, int]:
        rows = [_items(line, separator, known) for line in lines]
        whole = sum(known.issuperset(row) for row in rows)
        return whole, sum(item in known for row in rows for item in row)

    return max(SEPARATORS, key=fit)


def _items(line: str, separator: str, known: frozenset[str]) -> list[str]:
    """Return the items of a line; a line that is an item is that item."""
    if line in known:
        return [line]
    if line.startswith(("[", "{")):
        listed = _from_json(line)
        if listed is not None:
            return listed
    try:
        (row,) = csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        row = line.split(separator)
    return [item.strip() for item in row if item.strip()]


def _from_json(line: str) -> list[str] | None:
    try:
        found: Any = parse_json(line)
    except ValueError:
        return None  # an item may begin with a bracket
    if isinstance(found, dict):
        found = found.get("items")
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        return None
    return found


def _query(line: str, separator: str, known: frozenset[str], where: str) -> tuple[str, ...]:
    items = _items(line, separator, known)
    unknown = next((item for item in items if item not in known), None)
    if unknown is not None:
        hint = nearest(unknown, known)
        raise InputError(
            f"the item {unknown!r} is not in the data{hint}",
            where=where,
            fix="check its spelling; `setveil inspect` lists the items",
        )
    if not items:
        raise InputError("this line names no item", where=where, fix="name one, or remove the line")
    return tuple(sorted(set(items)))


class QueryAnswer(NamedTuple):
    """What a release answers to one count query, beside the truth.

    Parameters
    ----------
    items
        The itemset.
    records
        How many original records hold all of it.
    estimate
        What the release leads one to expect; None where its form gives no estimate.
    low, high
        Between which numbers the release places the count; None where its form gives no bounds.
    error
        The relative error of the estimate, by the rule of
        :func:`~setveil.measure.queries.average_relative_error`; None without an estimate.
    """

    items: tuple[str, ...]
    records: int
    estimate: float | None
    low: int | None
    high: int | None
    error: float | None

    def as_json(self) -> list[Any]:
        """Return the answer as JSON values: ``[items, records, estimate, low, high, error]``."""
        return [list(self.items), *self[1:]]


def workload_error(
    release: Release,
    table: TransactionTable,
    queries: Iterable[Iterable[str]],
    taxonomy: Taxonomy | None = None,
) -> list[QueryAnswer]:
    """Return what a release answers to count queries, in their order.

    Parameters
    ----------
    release, table
        What was published, and the original records.
    queries
        Itemsets, for instance from :func:`read_workload`.
    taxonomy
        The tree that the release was made with; only a release that generalizes needs it.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_sets
    >>> table = TransactionTable.from_rows([["flu"], ["fever"], ["fever"], ["gout"]])
    >>> release, _ = publish_sets(table, [0, 0, 1])
    >>> for answer in workload_error(release, table, [["fever"], ["gout"]]):
    ...     print(answer.as_json())
    [['fever'], 2, 1.5, 0, 3, 0.25]
    [['gout'], 1, 1.0, 1, 1, 0.0]
    """
    asked = [tuple(dict.fromkeys(query)) for query in queries]
    answers = []
    for items, records in zip(asked, table.itemset_supports(asked).tolist(), strict=True):
        estimate = _estimate(release, items, taxonomy)
        low, high = _bounds(release, items, taxonomy)
        error = None
        if estimate is not None:
            error = query_error([estimate], [records], len(table), drawn=False).value
        answers.append(QueryAnswer(items, records, estimate, low, high, error))
    return answers


def _estimate(release: Release, items: tuple[str, ...], taxonomy: Taxonomy | None) -> float | None:
    try:
        found = release.expected_support(items, taxonomy)
    except NotApplicable:
        return None
    return found if np.isfinite(found) else None


def _bounds(
    release: Release, items: tuple[str, ...], taxonomy: Taxonomy | None
) -> tuple[int | None, int | None]:
    try:
        found = release.support_bounds(items, taxonomy)
    except NotApplicable:
        return None, None
    return int(found.low), int(found.high)
