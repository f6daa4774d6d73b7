"""Releases whose items are sets of original items, at least one of which a record holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from setveil.core.arrays import (
    Int32Array,
    Int64Array,
    kept_offsets,
    occurring,
    offsets_of,
)
from setveil.core.errors import ParameterError, ReleaseError
from setveil.core.table import TransactionTable
from setveil.core.words import fresh_id, number, plural
from setveil.release.account import (
    MEMBERS,
    Account,
    ChangedTerms,
    Content,
    GlobalRecoding,
    Occurrences,
    count_emptied,
)
from setveil.release.base import Bounds, Key, Matches, Release, unchecked_copy
from setveil.release.export import (
    Export,
    export_records,
)
from setveil.release.suppressed import ItemRows
from setveil.release.views import GroupedItems, Images, LabelCounts, ShownClasses, sums_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from setveil.core.records import Records
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.views import PublishedRows


# --- How a generalized item is written ---

NAMED_MEMBERS = 12
"""Members of a generalized item that a table names."""
OPEN, CLOSE, BETWEEN, QUOTE = "(", ")", ", ", '"'
MARKS = frozenset('(),"')
"""Characters that a member is quoted for."""


def set_label(members: Iterable[str]) -> str:
    """Write a generalized item; different sets are always written differently.

    A single member is written as itself, several in brackets, sorted. A name that could be
    misread (with brackets, commas or quotes, or with blanks at its ends) is written in quotes, as
    JSON has them.

    >>> set_label(["flu"]), set_label(["flu", "fever"]), set_label(["B12, oral", "flu"])
    ('flu', '(fever, flu)', '("B12, oral", flu)')
    >>> set_label(["(flu)"])
    '"(flu)"'
    """
    names = sorted(set(members))
    if len(names) == 1:
        (name,) = names
        return _quote(name) if name.startswith((OPEN, QUOTE)) else name
    return f"{OPEN}{BETWEEN.join(_member(name) for name in names)}{CLOSE}"


def _member(name: str) -> str:
    plain = name and name == name.strip() and MARKS.isdisjoint(name)
    return name if plain else _quote(name)


def _quote(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def members_of(label: str) -> tuple[str, ...]:
    """Return the members of a generalized item as :func:`set_label` wrote it, sorted.

    >>> members_of("flu"), members_of('("B12, oral", flu)'), members_of('"(flu)"')
    (('flu',), ('B12, oral', 'flu'), ('(flu)',))
    >>> members_of("(flu, fever)")
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: '(flu, fever)' is no generalized item as setveil writes them
    """
    if not label.startswith((OPEN, QUOTE)):
        return (label,)
    names = _parse_label(label)
    if not names or set_label(names) != label:
        raise ReleaseError(f"{label!r} is no generalized item as setveil writes them")
    return tuple(names)


def _parse_label(label: str) -> list[str]:
    """Return the names in a label, or as many as can be read: the caller compares."""
    if label.startswith(QUOTE):
        return [name for name, _ in [_read_quote(label, 0)] if name is not None]
    names: list[str] = []
    place = len(OPEN)
    while place < len(label) - len(CLOSE):
        if label.startswith(QUOTE, place):
            name, place = _read_quote(label, place)
            if name is None:
                return []
            names.append(name)
        else:
            stop = label.find(BETWEEN, place)
            stop = len(label) - len(CLOSE) if stop < 0 else stop
            names.append(label[place:stop])
            place = stop
        place += len(BETWEEN)
    return names


def _read_quote(label: str, place: int) -> tuple[str | None, int]:
    """Return the name in quotes that starts at a place, or None, and where it ends."""
    try:
        name, end = json.JSONDecoder().raw_decode(label, place)
    except ValueError:
        return None, place
    return (name, end) if isinstance(name, str) else (None, place)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SetGeneralizedRelease(ItemRows):
    """Published records, each a set of generalized items, in canonical order.

    A generalized item is a set of original items, its members; no item is a member of two. One
    with a single member is that item, in clear. A record shows a generalized item when it held at
    least one member: any non-empty part of them. Items that are members of none may have been
    removed from any record, or never have been there. So an original set t is allowed behind a
    record g when the generalized items that t meets are those of g.

    Parameters
    ----------
    vocabulary
        The generalized items as they are written (:func:`set_label`):
        ``flu`` or ``(fever, flu)``; each occurs in some record. The number of a generalized item
        is its place here.
    offsets
        Record `j` is ``items[offsets[j]:offsets[j + 1]]``.
    items
        Numbers of generalized items, ascending and distinct within each record.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["flu"], ["fever", "hiv"], ["gout", "flu"]])
    >>> release, key = publish_sets(table, [0, 0, 1, -1])
    >>> release.to_rows(), key.records.tolist()
    ([['(fever, flu)', 'gout'], ['(fever, flu)'], ['(fever, flu)']], [2, 0, 1])
    >>> release.groups, release.is_trivial.tolist()
    ((('fever', 'flu'), ('gout',)), [False, True])
    >>> release.support_bounds(["flu"]), release.support_bounds(["gout"])
    (Bounds(low=0, high=3, tight=True), Bounds(low=1, high=1, tight=True))
    """

    form: ClassVar[str] = "set-generalized"
    generalizes: ClassVar[bool] = True
    builder: ClassVar[str] = "publish_sets"
    says_by_records: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self._group_of) < sum(map(len, self.groups)):
            twice = sorted(item for group in self.groups for item in group)
            item = next(a for a, b in pairwise(twice) if a == b)
            raise ParameterError(
                f"the item {item!r} is a member of two generalized items",
                fix=f"build releases with {self.builder}",
            )

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The members of every generalized item, sorted; in the order of the vocabulary."""
        return tuple(members_of(label) for label in self.vocabulary.names)

    @cached_property
    def is_trivial(self) -> npt.NDArray[np.bool_]:
        """For each generalized item whether it is one item in clear."""
        return np.array([len(group) == 1 for group in self.groups], dtype=bool)

    @cached_property
    def sizes(self) -> Int64Array:
        """For each generalized item its number of members."""
        return np.array([len(group) for group in self.groups], dtype=np.int64)

    @property
    def records(self) -> tuple[Int64Array, Int32Array]:
        """The records as compressed rows: offsets, and numbers of generalized items."""
        return self.offsets, self.items

    def members(self, group: int) -> tuple[str, ...]:
        """Return the members of the generalized item of this number."""
        return self.groups[group]

    def group_of(self, item: str) -> int | None:
        """Return the number of the generalized item that an item is a member of, if there is one.

        >>> release, _ = publish_sets(TransactionTable.from_rows([["flu", "fever"]]), [0, 0])
        >>> release.group_of("flu"), release.group_of("gout")
        (0, None)
        """
        return self._group_of.get(item)

    @cached_property
    def _group_of(self) -> dict[str, int]:
        return {item: number for number, group in enumerate(self.groups) for item in group}

    # --- the records in one shape, and what became of the items ---------------------------------

    def published_rows(self) -> PublishedRows:
        """Return the records as sets of numbers, those of the generalized items."""
        rows = super().published_rows()
        # An item in clear goes by its own name, which may be written like a set.
        taken = {group[0] for group in self.groups if len(group) == 1}
        ids = tuple(
            group[0] if len(group) == 1 else fresh_id(label, taken, "*")
            for group, label in zip(self.groups, rows.names, strict=True)
        )
        finder = GroupedItems(self.groups, ids)
        return replace(rows, ids=ids, exact=self.is_trivial, finder=finder)

    def original_items(self) -> list[str]:
        """Return all members, sorted."""
        return sorted(self._group_of)

    def items_taken(self, rows: PublishedRows) -> tuple[Int64Array, Int64Array]:
        """Return how many members each generalized item has; a record shows one or more."""
        return self.sizes, np.ones(len(rows.items), dtype=np.int64)

    def image_finder(
        self, rows: PublishedRows, taxonomy: Taxonomy | None = None
    ) -> Callable[[str], int | None]:
        """Return what tells the generalized item that an item is a member of."""
        return self.group_of

    def images(
        self,
        original: Records,
        key: Key | None = None,
        taxonomy: Taxonomy | None = None,
        *,
        whole: Release | None = None,
    ) -> Images:
        """Return the images of all occurrences: the members of a set are the leaves below it."""
        counts = sums_at(self._groups_of(original), original.occurrences(), len(self.groups))
        return Images(
            leaves=self.sizes,
            occurrences=counts,
            lost=int(original.occurrences().sum() - counts.sum()),
            n_leaves=self.leaves_in_all(original),
        )

    def certain_table(
        self, original: Records, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Return the records with what stands in clear."""
        clear = self.is_trivial[self.items] if len(self.items) else self.is_trivial
        offsets = kept_offsets(self.offsets, clear)
        names = [group[0] for group in self.groups if len(group) == 1]
        place = np.cumsum(self.is_trivial) - 1
        return TransactionTable.from_csr(offsets, place[self.items[clear]], names)

    def shown_classes(self, original: Records, taxonomy: Taxonomy | None = None) -> ShownClasses:
        """Return the records, in which each generalized item is a class."""
        groups = [self.group_of(name) for name in original.vocabulary.names]
        return ShownClasses(
            table=self.to_table(),
            names=tuple(None if g is None else self.vocabulary[g] for g in groups),
            exact=tuple(g is not None and bool(self.is_trivial[g]) for g in groups),
            complete=True,
        )

    def label_counts(self) -> LabelCounts:
        """Return how often each generalized item is published, and how many members it has."""
        return LabelCounts(self.supports(), self.sizes)

    def with_records(self, offsets: Int64Array, items: Int32Array) -> Self:
        """Return other records over the same generalized items."""
        shared = ("groups", "is_trivial", "sizes", "_group_of")
        return unchecked_copy(self, keep=shared, offsets=offsets, items=items)

    def leaves_in_all(self, original: Records) -> int:
        """Return how many different items the original has."""
        return int(np.count_nonzero(original.supports()))

    def nodes_published(
        self, tree: Taxonomy, rng: np.random.Generator
    ) -> tuple[Int64Array, Int64Array]:
        """Return the records with the lowest node above all members of each generalized item."""
        above = np.zeros(len(self.groups), dtype=np.int64)
        for group, members in enumerate(self.groups):
            leaves = tree.leaf_of(members)
            # In preorder, whatever is above the first and the last is above all between.
            above[group] = tree.lca(int(leaves.min()), int(leaves.max()))
        return self.offsets, above[self.items]

    def as_sets(self) -> SetGeneralizedRelease:
        """Return the release itself."""
        return self

    # --- the four verbs -----------------------------------------------------------------------

    def matches(self, known_items: Iterable[str], taxonomy: Taxonomy | None = None) -> Matches:
        """Return the records that show every known item, in clear or among other members.

        A record weighs the product over the known items of the chance that :meth:`sample_world`
        puts the item into it, one by the number of members. Known items that are members of no
        generalized item restrict nothing: they may have been removed from any record.
        """
        shown = self._groups_shown(known_items)
        records = self.holders(set(shown))
        weight = float(np.prod(1 / self.sizes[shown])) if shown else 1.0
        return Matches(records=records, weights=np.full(len(records), weight))

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support of `itemset` over all consistent originals.

        A record that shows all its items can hold them all, whether they share a generalized item
        or not; only items in clear are certain. Both ends are attained.
        """
        wanted = set(itemset)
        shown = self._groups_shown(wanted)
        high = len(self.holders(set(shown)))
        certain = len(shown) == len(wanted) and bool(np.all(self.is_trivial[shown]))
        return Bounds(low=high if certain else 0, high=high)

    def expected_support(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> float:
        """Return the exact mean of the support of `itemset` over :meth:`sample_world`."""
        wanted = set(itemset)
        shown = self._groups_shown(wanted)
        if len(shown) < len(wanted) or len(set(shown)) < len(shown):
            return 0.0  # not published, or two members of one: never drawn together
        return float(len(self.holders(shown)) / np.prod(self.sizes[shown], dtype=np.float64))

    def sample_world(
        self, rng: np.random.Generator, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Draw one original that the release allows; records come in the release's order.

        Every generalized item of every record becomes one of its members, each equally likely,
        as a node of a generalized release becomes one leaf. Nothing is invented for items that
        were removed.
        """
        names = [name for group in self.groups for name in group]
        starts = offsets_of(self.sizes)
        drawn = starts[self.items] + rng.integers(0, self.sizes[self.items])
        return TransactionTable.from_csr(self.offsets, drawn, names)

    def is_consistent_with(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> bool:
        """Tell whether `original`, lined up by `key`, could have given this release."""
        return self.is_recoded(original, key, self._groups_of(original))

    def _groups_of(self, original: Records) -> Int32Array:
        """Return for each item of a table the generalized item it is a member of, or -1."""
        names = original.vocabulary.names
        return np.array([self._group_of.get(name, -1) for name in names], dtype=np.int32)

    def _groups_shown(self, items: Iterable[str]) -> list[int]:
        """Return for each distinct item that is a member of something, of what."""
        return [
            number for item in dict.fromkeys(items) if (number := self.group_of(item)) is not None
        ]

    # --- its words -----------------------------------------------------------------------------

    def content(self) -> Content:
        """Return what the release shows of its items."""
        if len(self.vocabulary) == 1 and not self.is_trivial[0]:
            return Content(
                "This release shows only which records have an item of one large set: all "
                f"{plural(int(self.sizes[0]), 'item')} that it names are published as that set.",
                bare=True,
            )
        return super().content()

    def account_for(self, found: Occurrences, taxonomy: Taxonomy | None, k: int | None) -> Account:
        """Return what became of every original item, for the owner."""
        groups = [self.group_of(name) for name in found.names]
        return GlobalRecoding(
            found=found,
            shown=tuple("" if g is None else _one_of(self.members(g)) for g in groups),
            exact=np.array(
                [g is not None and bool(self.is_trivial[g]) for g in groups], dtype=bool
            ),
            wider=("group of items", "groups of items"),
            emptied=count_emptied(self.offsets, found.original),
            k=k,
        ).account()

    def changed_terms(self, most: int) -> list[ChangedTerms]:
        """Return which generalized items stand most often, with their members.

        >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"]])
        >>> publish_sets(table, [0, 0])[0].changed_terms(5)[0].rows
        [['flu, gout', '2', '2']]
        """
        times = self.supports()
        merged = np.flatnonzero(~self.is_trivial).tolist()
        chosen = sorted(merged, key=lambda group: (-times[group], group))[:most]
        rows = [
            [
                _name_members(self.members(group)),
                number(int(times[group])),
                number(int(self.sizes[group])),
            ]
            for group in chosen
        ]
        how = (
            f"{plural(len(merged), 'generalized item')} in all. Each says that a record holds one "
            "or more of its members, not which."
        )
        return [ChangedTerms("Generalized most", ["members", "records", "members"], rows, how)][
            : len(rows)
        ]

    def export(self) -> Export:
        """Return the release as plain tables with their dictionary and an example."""
        terms = [
            term
            if len(members) == 1
            else term._replace(
                kind="set of items", stands_for=f"one or more of: {'; '.join(members)}"
            )
            for term, members in zip(self.terms(), self.groups, strict=True)
        ]
        most = max(range(len(terms)), key=lambda place: (terms[place].least, -place), default=None)
        asked = [] if most is None else [self.groups[most][0]]
        return export_records(
            self,
            self.labelled_rows,
            terms,
            meaning="Each record is one person's set of terms. A term in brackets, such as (A, B), "
            "is a set of items: the person held one or more of them, and the data does not say "
            "which. A term without brackets is an item as it was. Items that stand in no term were "
            "removed from every record, or never occurred.",
            asked=asked,
        )


def publish_sets(
    table: TransactionTable, group_of: npt.ArrayLike
) -> tuple[SetGeneralizedRelease, Key]:
    """Publish every record with its items replaced by their generalized items, in canonical order.

    Members are the items that occur; generalized items are named after them. Records that lose
    all their items stay, as empty ones.

    Parameters
    ----------
    table
        The original records.
    group_of
        For each item of the table's vocabulary the number of its generalized item, or -1 where
        it is suppressed. Which numbers are used does not matter, only which are equal.

    Returns
    -------
    tuple of SetGeneralizedRelease and Key
        What may be published, and which original stands behind each published record.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["a", "b"], ["b", "c"], ["d"]])
    >>> release, key = publish_sets(table, [7, 7, 2, -1])
    >>> release.to_rows(), key.records.tolist()
    ([['(a, b)', 'c'], ['(a, b)'], []], [1, 0, 2])
    """
    numbers = np.asarray(group_of)
    if not numbers.size:
        numbers = numbers.astype(np.int64)
    if numbers.dtype.kind not in "iu" or numbers.shape != (table.n_items,):
        raise ParameterError(
            f"group_of has the type {numbers.dtype} and the shape {numbers.shape}",
            fix=f"give a whole number for each of the {table.n_items} items of the vocabulary",
        )
    if numbers.min(initial=0) < -1:
        raise ParameterError(
            f"group_of holds {numbers.min()}", fix="use -1 for suppressed items, else 0 or more"
        )
    members: dict[int, list[int]] = {}
    for item in occurring(table.items).tolist():
        members.setdefault(int(numbers[item]), []).append(item)
    members.pop(-1, None)
    labels = {set_label(table.vocabulary[i] for i in group): group for group in members.values()}
    names = tuple(sorted(labels))
    place = np.full(table.n_items, -1, dtype=np.int32)
    for group, name in enumerate(names):
        place[labels[name]] = group
    return SetGeneralizedRelease.of_recoded(table, place, names)


def _one_of(members: Sequence[str]) -> str:
    """Return a set of items as a reader says it: one of these.

    >>> _one_of(("flu",)), _one_of(("cold", "flu")), _one_of(("a", "b", "c", "d", "e"))
    ('flu', 'cold or flu', 'a, b, c or 2 others')
    """
    more = len(members) - MEMBERS
    if more > 0:
        return f"{', '.join(members[:MEMBERS])} or {plural(more, 'other')}"
    return " or ".join(filter(None, [", ".join(members[:-1]), members[-1]]))


def _name_members(members: Sequence[str]) -> str:
    more = len(members) - NAMED_MEMBERS
    return ", ".join(members[:NAMED_MEMBERS]) + (f" and {more:,} more" if more > 0 else "")
