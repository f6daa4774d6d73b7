"""What a release tells in one shape, whatever form it has.

Its records as sets of numbers, where an original item stands among them, what became of every
occurrence, and what is certain of whoever stands behind a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, distinct_in_rows, kept_offsets, offsets_of
from setveil.core.errors import InputError
from setveil.core.table import TransactionTable, frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy.typing as npt

    from setveil.core.records import Records
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Release


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedRows:
    """The published records as sets of numbers, with what the numbers stand for.

    Parameters
    ----------
    offsets
        Record `j` is ``items[offsets[j]:offsets[j + 1]]``.
    items
        Numbers of published items, ascending and distinct within a record.
    names
        What a reader sees, one text per number; some numbers may occur in no record.
    ids
        Distinct texts, one per number.
    exact
        Which numbers stand for one original item, and not for a category of several.
    finder
        What tells where an original item stands; by the ids if not given.

    Examples
    --------
    >>> rows = published_rows(TransactionTable.from_rows([["flu", "asthma"], ["flu"]]))
    >>> len(rows), rows.items.tolist(), rows.names
    (2, [0, 1, 1], ('asthma', 'flu'))
    """

    offsets: Int64Array
    items: Int32Array
    names: tuple[str, ...]
    ids: tuple[str, ...]
    exact: npt.NDArray[np.bool_]
    finder: Finder | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(self.offsets, np.int64))
        object.__setattr__(self, "items", frozen(self.items, np.int32))
        object.__setattr__(self, "exact", frozen(self.exact, np.bool_))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Int64Array:
        """Number of distinct published items of each record."""
        return np.diff(self.offsets)

    def supports(self) -> Int64Array:
        """Return for each number how many records hold it."""
        return np.bincount(self.items, minlength=len(self.names))

    def number(self, item: str) -> int | None:
        """Return the number under which an original item is published as itself.

        None says that no record shows the item as itself: it may have been suppressed, stand
        behind a category, or never have been there.

        >>> rows = published_rows(TransactionTable.from_rows([["flu"]]))
        >>> rows.number("flu"), rows.number("gout")
        (0, None)
        """
        own = self.standing(item).own
        return own[0] if own else None

    def standing(self, item: str) -> Standing:
        """Return the numbers that occur and may stand for an original item.

        >>> published_rows(TransactionTable.from_rows([["flu"]])).standing("flu")
        Standing(own=(0,), above=(), alike=(), located=True)
        """
        trace = (self.finder or PlainItems(self.ids)).find(item)
        own, above, alike = (
            tuple(number for each in ids if (number := self._occurring.get(each)) is not None)
            for ids in (trace.own, trace.above, trace.alike)
        )
        return Standing(own, above, alike, trace.located)

    @cached_property
    def _occurring(self) -> dict[str, int]:
        return {self.ids[i]: i for i in np.flatnonzero(self.supports()).tolist()}


class Standing(NamedTuple):
    """A :class:`Trace` in numbers of published items that occur."""

    own: tuple[int, ...]
    above: tuple[int, ...]
    alike: tuple[int, ...]
    located: bool

    @property
    def is_plain(self) -> bool:
        """Whether records show the item as itself, or nothing of it."""
        return len(self.own) < 2 and not self.above and not self.alike


def published_rows(published: Release | TransactionTable) -> PublishedRows:
    """Return the published records as sets of numbers: one view for every form.

    The numbers are those of a table's vocabulary or of a generalized release's tree.

    >>> from setveil import Taxonomy
    >>> from setveil.release import publish_groups
    >>> tree = Taxonomy.balanced(["a", "b"])
    >>> release, _ = publish_groups(tree, group_offsets=[0, 3], group_nodes=[0, 0, 1],
    ...                             group_of=[0], hides=True)
    >>> rows = published_rows(release)
    >>> [rows.names[i] for i in rows.items.tolist()], rows.number("a"), rows.number("b")
    (['group 1.1', 'a'], 1, None)
    """
    return (
        rows_of_table(published)
        if isinstance(published, TransactionTable)
        else (published.published_rows())
    )


def rows_of_table(table: TransactionTable) -> PublishedRows:
    """Return the records of a table as sets of numbers, each of which is an item as it was.

    >>> rows_of_table(TransactionTable.from_rows([["flu", "gout"]])).lengths.tolist()
    [2]
    """
    offsets, items = distinct_in_rows(table.offsets, table.items)
    names = table.vocabulary.names
    return PublishedRows(
        offsets=offsets, items=items, names=names, ids=names, exact=np.ones(len(names), dtype=bool)
    )


def leaf_rows(table: TransactionTable, tree: Taxonomy) -> tuple[Int64Array, Int64Array]:
    """Return the records of a table as compressed rows of leaves of a tree.

    >>> from setveil import Taxonomy
    >>> tree = Taxonomy.balanced(["flu", "gout"])
    >>> leaf_rows(TransactionTable.from_rows([["gout"]]), tree)[1].tolist()
    [2]
    """
    leaf = np.zeros(table.n_items, dtype=np.int64)
    used = np.flatnonzero(table.supports())
    leaf[used] = tree.leaf_of([table.vocabulary[i] for i in used.tolist()])
    return table.offsets, leaf[table.items]


# --- what became of every occurrence, and what is certain --------------------------------------


def sums_at(places: Int32Array | Int64Array, counts: Int64Array, width: int) -> Int64Array:
    """Return counts added up by their places; what has the place -1 counts nowhere.

    >>> sums_at(np.array([1, -1, 1]), np.array([2, 5, 3]), 2).tolist()
    [0, 5]
    """
    sums = np.zeros(width, dtype=np.int64)
    np.add.at(sums, places[places >= 0], counts[places >= 0])
    return sums


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

    @classmethod
    def unchanged(cls, kept: int, original: Records) -> Images:
        """Return the images where `kept` occurrences are published as they were, the rest not."""
        return cls(
            leaves=np.ones(1, dtype=np.int64),
            occurrences=np.array([kept]),
            lost=int(original.occurrences().sum()) - kept,
        )


class LabelCounts(NamedTuple):
    """How often each label is published, and what it stands for.

    Parameters
    ----------
    occurrences
        In how many places of records each label stands.
    leaves
        How many leaves, or members of a set, it may stand for.
    levels
        Its level in the taxonomy, the root's being 1; None without a taxonomy.
    """

    occurrences: Int64Array
    leaves: Int64Array
    levels: Int64Array | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ShownClasses:
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

    table: Records
    names: tuple[str | None, ...]
    exact: tuple[bool, ...]
    complete: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class CertainItems:
    """The items that people hold in every original that a release allows.

    Parameters
    ----------
    offsets, items
        Whoever stands behind record `j` holds ``items[offsets[j]:offsets[j + 1]]``, numbers of
        `names`, ascending.
    names
        The items.

    Examples
    --------
    >>> from setveil.release import Plan, publish_disassociated, publish_sets
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["fever", "gout"], ["gout"]])
    >>> release, _ = publish_sets(table, [0, 0, 1])
    >>> certain = release.certain_items()
    >>> release.to_rows()[0], certain.of_record(0), certain.held_by_all([0, 1, 2])
    (['(fever, flu)', 'gout'], frozenset({'gout'}), frozenset({'gout'}))
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2], domains=((1, 2),), terms=(0,))])
    >>> release.certain_items().held_by_all([0, 1, 2], ["flu"])
    frozenset({'gout'})
    """

    offsets: Int64Array
    items: Int64Array
    names: tuple[str, ...]

    @classmethod
    def nothing(cls, records: int) -> CertainItems:
        """Return that nothing is certain of so many records."""
        return cls(
            offsets=np.zeros(records + 1, dtype=np.int64),
            items=np.zeros(0, dtype=np.int64),
            names=(),
        )

    @classmethod
    def of_rows(cls, rows: PublishedRows) -> CertainItems:
        """Return what records show as itself."""
        clear = rows.exact[rows.items]
        return cls(
            offsets=kept_offsets(rows.offsets, clear),
            items=rows.items[clear].astype(np.int64),
            names=rows.ids,
        )

    def of_record(self, record: int) -> frozenset[str]:
        """Return what one record shows."""
        shown = self.items[self.offsets[record] : self.offsets[record + 1]]
        return frozenset(self.names[i] for i in shown.tolist())

    def held_by_all(self, records: Iterable[int], known: Collection[str] = ()) -> frozenset[str]:
        """Return what somebody holds for certain who stands behind one of some records.

        Parameters
        ----------
        records
            The candidates; of none, nothing is certain.
        known
            What is known of the person; it is left out.
        """
        chosen = np.asarray(records, dtype=np.int64)
        if not len(chosen):
            return frozenset()
        return self._implied(chosen, known) - frozenset(known)

    def _implied(self, chosen: Int64Array, known: Collection[str]) -> frozenset[str]:
        """Return what each of some records holds; other forms learn from what is known, too.

        A few are looked at first: where they have nothing in common, the others do not matter.
        """
        common = self.items[self.offsets[chosen[0]] : self.offsets[chosen[0] + 1]]
        start, step = 1, 16
        while start < len(chosen) and len(common):
            part = chosen[start : start + step]
            lengths = self.offsets[part + 1] - self.offsets[part]
            places = np.repeat(self.offsets[part] - np.cumsum(lengths) + lengths, lengths)
            shown = self.items[places + np.arange(len(places))]
            counts = np.bincount(shown, minlength=len(self.names))
            common = common[counts[common] == len(part)]
            start, step = start + step, step * 2
        return frozenset(self.names[i] for i in common.tolist())


# --- where an original item stands --------------------------------------------------------------


class Trace(NamedTuple):
    """The published items, by id, that may stand for one original item.

    Parameters
    ----------
    own
        Published items that stand for this item and no other: it itself, and categories in which
        it is the only item.
    above
        Published items that may stand for this item or for others.
    alike
        Published items that may stand for another meaning of the item's name: a category that is
        called so and does not hold the item, and whatever lies above or below such a category.
    located
        Whether the release says where the item belongs. If not, `above` is all that it may
        stand behind.
    """

    own: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    located: bool = True


class Finder(Protocol):
    """What finds the traces of items in one form of release."""

    def find(self, item: str) -> Trace:
        """Return where an item stands; nowhere if the release cannot hold it."""
        ...


@dataclass(frozen=True, eq=False)
class PlainItems:
    """Items that are published as themselves or not at all.

    >>> PlainItems(("flu", "gout")).find("flu"), PlainItems(("flu",)).find("HIV").own
    (Trace(own=('flu',), above=(), alike=(), located=True), ())
    """

    names: Sequence[str]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.names)

    def find(self, item: str) -> Trace:
        """Return the item itself where it is published."""
        return Trace(own=(item,) if item in self._known else ())


@dataclass(frozen=True, eq=False)
class TaggedItems:
    """Items of which some can be read; any other item may stand behind any tag.

    >>> TaggedItems(("7f", "flu"), [False, True]).find("gout")
    Trace(own=(), above=('7f',), alike=(), located=False)
    """

    names: Sequence[str]
    readable: Sequence[bool]

    @cached_property
    def _clear(self) -> frozenset[str]:
        return frozenset(n for n, clear in zip(self.names, self.readable, strict=True) if clear)

    @cached_property
    def _tags(self) -> tuple[str, ...]:
        return tuple(n for n, clear in zip(self.names, self.readable, strict=True) if not clear)

    def find(self, item: str) -> Trace:
        """Return the item itself where it can be read, else all tags."""
        if item in self._clear:
            return Trace(own=(item,))
        return Trace(above=self._tags, located=False)


@dataclass(frozen=True, eq=False)
class GroupedItems:
    """Items that are published alone or in sets; what is in no set was removed everywhere.

    >>> sets = GroupedItems((("flu",), ("fever", "gout")), ("flu", "(fever, gout)"))
    >>> sets.find("flu").own, sets.find("gout").above, sets.find("HIV").above
    (('flu',), ('(fever, gout)',), ())
    """

    groups: Sequence[tuple[str, ...]]
    ids: Sequence[str]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {item: place for place, group in enumerate(self.groups) for item in group}

    def find(self, item: str) -> Trace:
        """Return the set that an item is a member of."""
        place = self._place.get(item)
        if place is None:
            return Trace()
        alone = len(self.groups[place]) == 1
        shown = (self.ids[place],)
        return Trace(own=shown) if alone else Trace(above=shown)


@dataclass(frozen=True, eq=False)
class TreeItems:
    """Items of a published tree, which names only the leaves that some record shows.

    An item is found by its id, or by its name where one item bears it. A category in which it is
    the only item stands for it as well. An item that the tree does not name may stand behind
    every category that has leaves without a name. A category is no item: of one that is asked
    for, everything below it and above it may speak.

    >>> from setveil import Taxonomy
    >>> whole = Taxonomy.from_parents({"HIV": "immune", "flu": "virus", "mumps": "virus",
    ...                                "immune": "*", "virus": "*"})
    >>> tree, _ = whole.pruned([whole.node("HIV"), whole.node("virus")])
    >>> TreeItems(tree).find("HIV")
    Trace(own=('HIV', 'immune'), above=('*',), alike=(), located=True)
    >>> TreeItems(tree).find("flu")
    Trace(own=(), above=('*', 'virus'), alike=(), located=False)
    """

    tree: Taxonomy

    def find(self, item: str) -> Trace:
        """Return the nodes of the tree that may stand for an item."""
        leaf = self.leaf(item)
        tree, ids = self.tree, self.tree.ids
        called = self._categories.get(item, [])
        if leaf is not None:
            way = tree.ancestors(leaf)
            others = self._near([v for v in called if v not in way])
            return Trace(
                own=tuple(ids[v] for v in way if tree.leaves[v] == 1),
                above=tuple(ids[v] for v in way if tree.leaves[v] > 1),
                alike=tuple(ids[v] for v in others if v not in way),
            )
        if not called:
            return self._anywhere
        return Trace(above=tuple(ids[v] for v in self._near(called)), located=False)

    def _near(self, categories: list[int]) -> list[int]:
        """Return the nodes that lie above or below some categories, and these themselves."""
        near = {v for c in categories for v in self.tree.ancestors(c)}
        near.update(v for c in categories for v in range(c, int(self.tree.ends[c])))
        return sorted(near)

    def leaf(self, item: str) -> int | None:
        """Return the leaf that stands for an item, None where the tree does not name it."""
        found = self._by_id.get(item)
        named = [found] if found is not None else self._by_name.get(item, [])
        if len(named) > 1:
            raise InputError(
                f"the name {item!r} stands for {len(named)} published items",
                fix="use the item's id instead of its name",
            )
        if named:
            return named[0]
        return None

    @cached_property
    def _categories(self) -> dict[str, list[int]]:
        """The categories by their ids and names."""
        found: dict[str, list[int]] = {}
        for v in np.flatnonzero(~self.tree.is_leaf).tolist():
            for text in {self.tree.ids[v], self.tree.names[v]}:
                found.setdefault(text, []).append(v)
        return found

    @cached_property
    def _by_id(self) -> dict[str, int]:
        return {item_id(self.tree, v): v for v in np.flatnonzero(self.tree.is_leaf).tolist()}

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for v in np.flatnonzero(self.tree.is_leaf).tolist():
            found.setdefault(self.tree.names[v], []).append(v)
        return found

    @cached_property
    def _anywhere(self) -> Trace:
        """What an item that the tree does not name may stand behind."""
        before = offsets_of(self.tree.is_leaf)
        named = before[self.tree.ends] - before[:-1]
        wide = np.flatnonzero(self.tree.leaves > named).tolist()
        return Trace(above=tuple(self.tree.ids[v] for v in wide), located=False)


def item_id(tree: Taxonomy, leaf: int) -> str:
    """Return the id of the item that a leaf stands for: a private leaf stands for its parent.

    >>> from setveil import Taxonomy
    >>> tree = Taxonomy.from_parents({"poodle": "dog"}).for_items(["dog", "poodle"])
    >>> tree.ids[1], item_id(tree, 1)
    ('dog (itself)', 'dog')
    """
    return tree.ids[int(tree.parents[leaf]) if tree.pseudo[leaf] else leaf]


# --- what a published tree must be like ---------------------------------------------------------


def find_ambiguity(tree: Taxonomy) -> str | None:
    """Return what makes a published tree ambiguous, or None.

    An item is asked for by its id or by its name, so neither may lead to one item while readers
    see it on another. Two items, or an item and a category, may have the same name as long as it
    is the id of none but an item that shows it.

    >>> from setveil import Taxonomy
    >>> find_ambiguity(Taxonomy.from_nodes(["*", "HIV", "7"], ["*", "flu", "HIV"], [-1, 0, 0]))
    "'HIV' is the id of the item 'flu' and the name of another node"
    """
    return _wrong_private_leaf(tree) or _second_meaning(tree)


def _wrong_private_leaf(tree: Taxonomy) -> str | None:
    """Check that a private leaf is a leaf, has its parent's name, and is its parent's only one."""
    private = np.flatnonzero(tree.pseudo)
    for v in private[~tree.is_leaf[private] | (private == 0)].tolist():
        return f"the private leaf {tree.ids[v]!r} is no leaf"
    parents = tree.parents[private].tolist()
    for v, parent in zip(private.tolist(), parents, strict=True):
        if tree.names[v] != tree.names[parent]:
            return f"the private leaf {tree.ids[v]!r} has another name than the item above it"
    for v, count in zip(*np.unique(parents, return_counts=True), strict=True):
        if count > 1:
            return f"the item {tree.ids[int(v)]!r} has {count} private leaves"
    return None


def _second_meaning(tree: Taxonomy) -> str | None:
    """Check that no text is one item's id and what is shown of another node."""
    leaves = np.flatnonzero(tree.is_leaf).tolist()
    known = {item_id(tree, v): v for v in leaves}
    for v in leaves:
        other = known.get(tree.names[v], v)
        if other != v:
            return _two_nodes(tree, other)
    shown_otherwise = {text: v for text, v in known.items() if tree.names[v] != text}
    for v, name in enumerate(tree.names):
        other = shown_otherwise.get(name, v)
        if other != v:
            return _two_nodes(tree, other)
    return None


def _two_nodes(tree: Taxonomy, v: int) -> str:
    return (
        f"{item_id(tree, v)!r} is the id of the item {tree.names[v]!r} and the name of another node"
    )
