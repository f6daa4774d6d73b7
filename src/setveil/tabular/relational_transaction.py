"""Tables with a set-valued column: Mondrian outside, a transaction method in each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.anonymize.base import check_enough
from setveil.anonymize.km.hghs import HgHs
from setveil.core.errors import ParameterError
from setveil.core.table import TransactionTable, frozen
from setveil.core.taxonomy import Taxonomy
from setveil.core.words import fresh_id
from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.io.frames import as_polars
from setveil.tabular.check_anonymity import KKmAnonymity
from setveil.tabular.classes import named_columns
from setveil.tabular.columns import item_sets, whole_table
from setveil.tabular.mondrian import mondrian
from setveil.tabular.recoding import PublishedRows, content_order, content_ranks, random_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from setveil.anonymize.base import Anonymizer
    from setveil.core.arrays import Int64Array
    from setveil.core.table import Frame
    from setveil.core.threads import Progress
    from setveil.tabular.hierarchies import Hierarchy

ROOM = 4
"""Classes have this many times k rows if nothing else is asked for: in a class of k rows a set of
items is rare unless all of them hold it, and hardly any item could be published."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RelationalTransaction(PublishedRows):
    """A table with a set-valued column that keeps one promise for both of its parts.

    Parameters
    ----------
    frame
        What may be published: rows sorted by content, quasi-identifying columns as texts, the
        items (or what stands above them) as lists. Other columns are as they were.
    promise
        What it promises; ``promise.check(frame)`` tells whether it does, from the frame alone.
    classes
        The class of each published row.
    key
        The original row behind each published one; private.
    occurrences
        Occurrences of items in the original, and how many of them were suppressed and how many
        were published as something more general.
    """

    frame: pl.DataFrame
    promise: KKmAnonymity
    classes: Int64Array
    occurrences: dict[str, int]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "classes", frozen(self.classes, np.int64))


def relational_transaction(
    frame: Frame,
    *,
    quasi: Sequence[str],
    items: str,
    k: int = 5,
    m: int = 2,
    rows: int | None = None,
    taxonomy: Taxonomy | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    method: Anonymizer | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> RelationalTransaction:
    """Make a table with a set-valued column (k, k^m)-anonymous.

    Mondrian cuts the table by its plain columns into classes of at least `rows` rows; within each
    class a transaction method makes the items k^m-anonymous on its own. So items need to be
    hidden only among people who look alike anyway.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow frame.
    quasi
        The plain columns that somebody may know of a person.
    items
        The set-valued column: lists, or texts with ``|`` between the items.
    k
        Least number of rows that look alike, also to those who know up to m items.
    m
        Greatest number of items someone may know.
    rows
        Least number of rows of a class, at least k; four times k if not given, or all rows if
        there are fewer. More rows: wider plain columns, but more of the items.
    taxonomy
        The tree of the items; without one an item is published, or as ``*``, or suppressed.
    hierarchies
        Trees of plain columns, as for :func:`~setveil.tabular.mondrian.mondrian`.
    method
        What is run in each class: a method that takes a taxonomy and promises k^m-anonymity with
        at least k and m. HgHs if not given, which generalizes and suppresses, and always can.
    rng
        For research; otherwise the operating system's chance. It draws which of equal rows comes
        first, for methods that publish equal records differently; HgHs and AprioriKm do not.
    progress
        Called with what is done, how many classes and of how many.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [31, 34, 38, 62, 65, 67],
    ...     "visits": ["flu|cold", "flu|cold", "flu|gout", "gout", "gout|flu", "gout"]})
    >>> done = relational_transaction(people, quasi=["age"], items="visits", k=2, m=2, rows=3)
    >>> for row in done.frame.rows():
    ...     print(*row)
    [31-38] ['cold', 'flu']
    [31-38] ['cold', 'flu']
    [31-38] ['flu']
    [62-67] ['gout']
    [62-67] ['gout']
    [62-67] ['gout']
    >>> done.promise.check(done.frame).holds, done.occurrences
    (True, {'original': 10, 'suppressed': 2, 'generalized': 0})

    References
    ----------
    G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos: Anonymizing data with relational
    and transaction attributes, ECML PKDD 2013.

    Departures: the paper joins small clusters step by step; here the plain part is partitioned
    once. The promise is the same.
    """
    promise = KKmAnonymity(quasi=named_columns("quasi", quasi), items=items, k=k, m=m)
    as_polars(frame, [*promise.quasi, items])  # says so where a column is not there
    given = whole_table(frame)
    sorted_items = given.with_columns(_list_column(items, item_sets(given[items])))
    # In an order of their own from here on: nothing that follows can depend on that of the input,
    # nor, among rows that are alike in what is known, on columns that nobody knows.
    known = content_ranks(sorted_items.select(*promise.quasi, items))
    start = random_order(sorted_items, [known], rng)
    table = given[start.tolist()]
    sets = item_sets(table[items])
    originals = TransactionTable.from_rows(sets)
    check_enough(originals, k)
    least = min(ROOM * k, len(sets)) if rows is None else rows
    if isinstance(least, bool) or not isinstance(least, int) or least < k:
        raise ParameterError(f"rows is {rows!r}", fix=f"use a whole number of at least k = {k}")
    check_enough(originals, least)
    inner: Any = HgHs(k=k, m=m) if method is None else method
    _must_fit(inner)
    tree = _flat(originals) if taxonomy is None else taxonomy.for_items(_names(originals))
    plain = mondrian(table.select(promise.quasi), quasi=promise.quasi, k=least,
                     hierarchies=hierarchies)  # fmt: skip
    shown: list[tuple[str, ...]] = [()] * len(sets)
    n_classes = int(plain.classes.max()) + 1
    members = np.split(
        np.argsort(plain.classes, kind="stable"),
        np.cumsum(np.bincount(plain.classes))[:-1],
    )
    for number, places in enumerate(members):
        if progress:
            progress("anonymizing the items of classes", number, n_classes)
        own = plain.key[places].tolist()
        for row, published in zip(
            own, _publish_class(inner, promise, sets, own, tree), strict=True
        ):
            shown[row] = published
    both = table[plain.key.tolist()].with_columns(
        *(plain.frame[name] for name in promise.quasi),
        _list_column(items, [shown[row] for row in plain.key.tolist()]),
    )
    order = content_order(both)
    return RelationalTransaction(
        frame=both[order.tolist()],
        promise=promise,
        classes=plain.classes[order],
        key=start[plain.key[order]],
        occurrences=_occurrences(tree, sets, shown),
    )


def _must_fit(method: Anonymizer) -> None:
    if set(method.requires) != {"taxonomy"}:
        raise ParameterError(
            f"{type(method).__name__} does not work with a taxonomy alone",
            fix="use HgHs, AprioriKm or another method for k^m-anonymity",
        )


def _names(table: TransactionTable) -> list[str]:
    return list(table.vocabulary.names)


def _flat(table: TransactionTable) -> Taxonomy:
    """Return the tree in which nothing but a root stands above the items."""
    names = _names(table)
    root = fresh_id("*", set(names), "*")
    return Taxonomy.from_nodes([*names, root], [*names, root], [len(names)] * len(names) + [-1])


def _publish_class(
    method: Anonymizer,
    promise: KKmAnonymity,
    sets: Sequence[tuple[str, ...]],
    rows: Sequence[int],
    tree: Taxonomy,
) -> list[tuple[str, ...]]:
    """Return what is published for the items of the rows of one class."""
    own = [sets[row] for row in rows]
    if not any(own):
        return own
    result = method.anonymize(TransactionTable.from_rows(own), taxonomy=tree)
    kept = result.promise
    if not isinstance(kept, KmAnonymity) or kept.k < promise.k or kept.m < promise.m:
        raise ParameterError(
            f"{type(method).__name__} promises less than k^m-anonymity with k = {promise.k} and "
            f"m = {promise.m}",
            fix="give it the same k and m",
        )
    found: list[tuple[str, ...]] = [()] * len(own)
    labels: Any = result.release
    for place, row in zip(result.key.records.tolist(), labels.to_rows(ids=True), strict=True):
        found[place] = tuple(sorted(set(row)))
    return found


def _list_column(name: str, sets: Sequence[tuple[str, ...]]) -> pl.Series:
    import polars as pl

    return pl.Series(name, [list(items) for items in sets], dtype=pl.List(pl.String))


def _occurrences(
    tree: Taxonomy, sets: Sequence[tuple[str, ...]], shown: Sequence[tuple[str, ...]]
) -> dict[str, int]:
    """Count the occurrences of items: all, those that are gone, those that are more general."""
    names = sorted({item for items in sets for item in items})
    ways = {
        name: [tree.ids[node] for node in tree.ancestors(leaf)]
        for name, leaf in zip(names, tree.leaf_of(names).tolist(), strict=True)
    }
    gone = general = 0
    for items, published in zip(sets, shown, strict=True):
        for item in items:
            own, *above = ways[item]
            if own not in published:
                hidden = any(node in published for node in above)
                general += hidden
                gone += not hidden
    return {"original": sum(map(len, sets)), "suppressed": gone, "generalized": general}
