"""Where an original item stands in a release: under its own name, or behind something wider."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from setveil.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.data.taxonomy import Taxonomy


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

    >>> from setveil.data import Taxonomy
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
        before = np.concatenate([[0], np.cumsum(self.tree.is_leaf)])
        named = before[self.tree.ends] - before[:-1]
        wide = np.flatnonzero(self.tree.leaves > named).tolist()
        return Trace(above=tuple(self.tree.ids[v] for v in wide), located=False)


def item_id(tree: Taxonomy, leaf: int) -> str:
    """Return the id of the item that a leaf stands for: a private leaf stands for its parent.

    >>> from setveil.data import Taxonomy
    >>> tree = Taxonomy.from_parents({"poodle": "dog"}).for_items(["dog", "poodle"])
    >>> tree.ids[1], item_id(tree, 1)
    ('dog (itself)', 'dog')
    """
    return tree.ids[int(tree.parents[leaf]) if tree.pseudo[leaf] else leaf]
