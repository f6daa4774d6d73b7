"""What a release says about each original item: its image, and the records that surely show it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import InputError, NotApplicable
from setveil.data.table import Int32Array, Int64Array, TransactionTable
from setveil.release.generalized import GeneralizedRelease
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.release.suppressed import SuppressedRelease

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.data.taxonomy import Taxonomy
    from setveil.release.base import Key, Release


@dataclass(frozen=True, kw_only=True, eq=False)
class Images:
    """What became of the occurrences of the original items.

    Parameters
    ----------
    leaves
        Leaves below a published node, one entry per kind of image; 1 for an item as it was.
    occurrences
        How many original occurrences have such an image.
    lost
        How many have none.
    n_leaves
        All leaves of the tree; 1 where there is no tree.
    """

    leaves: Int64Array
    occurrences: Int64Array
    lost: int
    n_leaves: int = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """A release as records over classes of original items, each record true for certain.

    Parameters
    ----------
    table
        The records that the release shows, over names of classes.
    names
        For each item of the original vocabulary the name of its class, or None where the
        release never shows it.
    exact
        For each item whether it is a class of its own.
    complete
        Whether a record that does not show a class certainly holds none of its items; otherwise
        it may have been left out.
    """

    table: TransactionTable
    names: tuple[str | None, ...]
    exact: tuple[bool, ...]
    complete: bool


def tree_for(
    taxonomy: Taxonomy, original: TransactionTable, sensitive: Iterable[str] = ()
) -> Taxonomy:
    """Return the tree that a release of `original` is about, from the one a user gave.

    Ordinary items that the tree lacks are attached to its root, as a method that was told to do
    so has done (one that was not has refused them). Sensitive items that it lacks stand beside
    it, below a new root.

    >>> from setveil.data import Taxonomy
    >>> table = TransactionTable.from_rows([["pug", "rabies"]])
    >>> tree_for(Taxonomy.from_parents({"pug": "dog"}), table, ["rabies"]).names
    ('*', 'dog', 'pug', 'rabies')
    """
    names = [original.vocabulary[i] for i in np.flatnonzero(original.supports()).tolist()]
    apart = set(taxonomy.missing(set(sensitive).intersection(names)))
    tree = taxonomy.for_items((n for n in names if n not in apart), missing="attach-to-root")
    return tree.beside(sorted(apart))


# --- what became of every occurrence ----------------------------------------------------------


@singledispatch
def images(
    release: Release,
    original: TransactionTable,
    key: Key | None = None,
    taxonomy: Taxonomy | None = None,
) -> Images:
    """Return the images of all original occurrences.

    Where items may have been left out of any record, every published node stands for exactly
    one item. Where no published node lies above another, the taxonomy tells each item's image.
    Elsewhere only `key` and `taxonomy` together tell how many items share a node.

    Raises
    ------
    NotApplicable
        What is needed is missing, or the release has another form.
    """
    raise NotApplicable(f"a release of the form {release.form!r} has no images of items")


@images.register(SuppressedRelease)
def _of_suppressed(
    release: SuppressedRelease,
    original: TransactionTable,
    key: Key | None = None,
    taxonomy: Taxonomy | None = None,
) -> Images:
    kept = len(release.items)
    if len(release) == len(original):  # counts an item that a record holds twice twice
        stays = np.array([name in release.vocabulary for name in original.vocabulary.names])
        kept = int(stays[original.items].sum()) if len(original.items) else 0
    return Images(
        leaves=np.ones(1, dtype=np.int64),
        occurrences=np.array([kept]),
        lost=len(original.items) - kept,
    )


@images.register(SetGeneralizedRelease)
def _of_sets(
    release: SetGeneralizedRelease,
    original: TransactionTable,
    key: Key | None = None,
    taxonomy: Taxonomy | None = None,
) -> Images:
    names = original.vocabulary.names
    group = np.array([_or_gone(release.group_of(name)) for name in names], dtype=np.int64)
    found = group[original.items] if len(names) else group
    counts = np.bincount(found[found >= 0], minlength=len(release.groups))
    return Images(
        leaves=release.sizes,
        occurrences=counts,
        lost=len(original.items) - int(counts.sum()),
        n_leaves=int(np.count_nonzero(original.supports())),
    )


def _or_gone(number: int | None) -> int:
    return -1 if number is None else number


@images.register(GeneralizedRelease)
def _of_generalized(
    release: GeneralizedRelease,
    original: TransactionTable,
    key: Key | None = None,
    taxonomy: Taxonomy | None = None,
) -> Images:
    width, total = len(release.tree), len(original.items)
    if release.hides and not release.whole:
        counts = np.bincount(release.nodes, minlength=width)
        return _counted(release, counts, total)
    if taxonomy is not None and len(release) == len(original) and is_antichain(release):
        image = tops(release, original, taxonomy)[original.items]
        counts = np.bincount(image[image >= 0], minlength=width)
    elif taxonomy is not None and key is not None:
        below, _ = release.items_below(original, key, taxonomy)
        counts = np.zeros(width, dtype=np.int64)
        np.add.at(counts, release.nodes, below)
    else:
        raise NotApplicable(
            "several items may share a published node, so the loss needs to know whose it is",
            fix="give the key and the taxonomy",
        )
    return _counted(release, counts, total)


def _counted(release: GeneralizedRelease, counts: Int64Array, total: int) -> Images:
    tree = release.tree
    return Images(
        leaves=tree.leaves,
        occurrences=counts,
        lost=total - int(counts.sum()),
        n_leaves=tree.n_leaves,
    )


def is_antichain(release: GeneralizedRelease) -> bool:
    """Tell whether no published node lies above another."""
    used = np.unique(release.nodes)
    return bool(np.all(release.tree.ends[used[:-1]] <= used[1:]))


def tops(
    release: GeneralizedRelease, original: TransactionTable, taxonomy: Taxonomy | None
) -> Int32Array:
    """Return for each item the highest published node above it, in the release's tree, or -1."""
    return _up_to(release, original, taxonomy, _highest(release.tree, np.unique(release.nodes)))


def _highest(tree: Taxonomy, nodes: Int32Array) -> Int32Array:
    """Return for each node of a tree the highest of `nodes` at or above it, or -1."""
    highest = np.full(len(tree), -1, dtype=np.int32)
    for v in nodes.tolist():  # in preorder: whoever is above comes first
        if highest[v] < 0:
            highest[v : tree.ends[v]] = v
    return highest


def _up_to(
    release: GeneralizedRelease,
    original: TransactionTable,
    taxonomy: Taxonomy | None,
    marks: Int32Array,
) -> Int32Array:
    """Return for each item the mark of the lowest node of the release's tree above it."""
    tree = release.tree
    if taxonomy is not None:
        check_same(tree, np.unique(release.nodes), taxonomy)
    result = np.full(original.n_items, -1, dtype=np.int32)
    number = {node_id: v for v, node_id in enumerate(tree.ids)}
    for item in np.flatnonzero(original.supports()).tolist():
        whole = tree if taxonomy is None else taxonomy
        try:
            way = whole.ancestors(int(whole.leaf_of([original.vocabulary[item]])[0]))
        except InputError as error:
            if taxonomy is not None:
                raise
            raise NotApplicable(
                f"the release alone does not say where an item belongs ({error.what})",
                fix="give the taxonomy the release was made with",
            ) from None
        above = (number[whole.ids[v]] for v in way if whole.ids[v] in number)
        node = next(above, None)
        if node is not None:
            result[item] = marks[node]
    return result


def check_same(part: Taxonomy, nodes: Int32Array, whole: Taxonomy) -> None:
    """Refuse a taxonomy that does not have the published nodes as the release has them."""
    place = {node_id: v for v, node_id in enumerate(whole.ids)}
    for v in nodes.tolist():
        node = place.get(part.ids[v])
        if node is None or whole.leaves[node] != part.leaves[v]:
            raise InputError(
                f"the taxonomy does not hold the published node {part.ids[v]!r} as the release "
                "does",
                fix="give the taxonomy the release was made with",
            )


# --- what is certain --------------------------------------------------------------------------


@singledispatch
def certain_table(
    release: Release,
    original: TransactionTable,
    taxonomy: Taxonomy | None = None,
) -> TransactionTable:
    """Return the records with the original items that they hold for certain, by name.

    The support of an itemset in it is the lower end of its support bounds; for a disassociated
    release, whose sub-records and terms of term chunks are the rows, it may be less.

    >>> from setveil.data import Taxonomy
    >>> from setveil.release import publish_groups
    >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    >>> table = TransactionTable.from_rows([["a", "b", "c"]])
    >>> pair = tree.node("group 1.1")
    >>> release, _ = publish_groups(tree, group_offsets=[0, 3], group_of=[0], hides=True,
    ...                             group_nodes=[pair, pair, tree.node("group 1.2")])
    >>> certain_table(release, table, tree).to_rows()  # two of two, but one of c and d
    [['a', 'b']]
    """
    raise NotApplicable(f"what a release of the form {release.form!r} makes certain is not known")


@certain_table.register(SuppressedRelease)
def _certain_suppressed(
    release: SuppressedRelease,
    original: TransactionTable,
    taxonomy: Taxonomy | None = None,
) -> TransactionTable:
    return TransactionTable(
        offsets=release.offsets, items=release.items, vocabulary=release.vocabulary
    )


@certain_table.register(SetGeneralizedRelease)
def _certain_sets(
    release: SetGeneralizedRelease,
    original: TransactionTable,
    taxonomy: Taxonomy | None = None,
) -> TransactionTable:
    clear = release.is_trivial[release.items] if len(release.items) else release.is_trivial
    offsets = np.concatenate([[0], np.cumsum(clear)])[release.offsets]
    names = [group[0] for group in release.groups if len(group) == 1]
    place = np.cumsum(release.is_trivial) - 1
    return TransactionTable.from_csr(offsets, place[release.items[clear]], names)


@certain_table.register(GeneralizedRelease)
def _certain_generalized(
    release: GeneralizedRelease, original: TransactionTable, taxonomy: Taxonomy | None = None
) -> TransactionTable:
    rows = release.distinct
    rows.check_sets(release.tree)
    by_node = np.repeat(np.arange(len(release.tree)), np.diff(rows.starts))
    full = rows.free <= rows.taken  # as many published as there are leaves
    items = _up_to(release, original, taxonomy, np.arange(len(release.tree), dtype=np.int32))
    pairs = []
    for v in np.unique(by_node[full]).tolist():
        held = np.flatnonzero((items >= v) & (items < release.tree.ends[v]))
        where = rows.rows[full & (by_node == v)]
        pairs.append(np.repeat(where, len(held)) * original.n_items + np.tile(held, len(where)))
    keys = np.unique(np.concatenate(pairs)) if pairs else np.empty(0, dtype=np.int64)
    return _spread(keys, rows.copies, original)


def _spread(keys: Int64Array, copies: Int64Array, original: TransactionTable) -> TransactionTable:
    """Return the table of distinct records, each as often as it has copies."""
    width = np.int64(max(original.n_items, 1))
    offsets = np.searchsorted(keys, np.arange(len(copies) + 1) * width)
    distinct = TransactionTable(
        offsets=offsets, items=(keys % width).astype(np.int32), vocabulary=original.vocabulary
    )
    return distinct.take(np.repeat(np.arange(len(copies)), copies))


# --- what is shown, if only in general --------------------------------------------------------


@singledispatch
def shown_classes(
    release: Release,
    original: TransactionTable,
    taxonomy: Taxonomy | None = None,
) -> Shown:
    """Return the records over the highest published nodes, which stand for classes of items.

    A record shows a class when it publishes its node or one below: then it certainly holds an
    item of the class.
    """
    raise NotApplicable(f"a release of the form {release.form!r} shows no classes of items")


@shown_classes.register(SuppressedRelease)
def _shown_suppressed(
    release: SuppressedRelease,
    original: TransactionTable,
    taxonomy: Taxonomy | None = None,
) -> Shown:
    names = [name if name in release.vocabulary else None for name in original.vocabulary.names]
    return Shown(
        table=_certain_suppressed(release, original),
        names=tuple(names),
        exact=tuple(name is not None for name in names),
        complete=True,
    )


@shown_classes.register(SetGeneralizedRelease)
def _shown_sets(
    release: SetGeneralizedRelease,
    original: TransactionTable,
    taxonomy: Taxonomy | None = None,
) -> Shown:
    groups = [release.group_of(name) for name in original.vocabulary.names]
    return Shown(
        table=release.to_table(),
        names=tuple(None if g is None else release.vocabulary[g] for g in groups),
        exact=tuple(g is not None and bool(release.is_trivial[g]) for g in groups),
        complete=True,
    )


@shown_classes.register(GeneralizedRelease)
def _shown_generalized(
    release: GeneralizedRelease, original: TransactionTable, taxonomy: Taxonomy | None = None
) -> Shown:
    tree = release.tree
    highest = _highest(tree, np.unique(release.nodes))
    tops = _up_to(release, original, taxonomy, highest).tolist()
    table = TransactionTable.from_csr(release.offsets, highest[release.nodes], tree.ids)
    return Shown(
        table=table,
        names=tuple(tree.ids[v] if v >= 0 else None for v in tops),
        exact=tuple(v >= 0 and int(tree.leaves[v]) == 1 for v in tops),
        complete=release.whole or not release.hides,
    )
