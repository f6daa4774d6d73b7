"""Trees whose nodes have ids and names, and finding the nodes that items are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.core.errors import InputError, ParameterError
from setveil.data.naming import some
from setveil.data.table import Int32Array, frozen
from setveil.data.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedTree(Tree):
    """A rooted tree whose nodes are identified by ids, shown by names, and found by both.

    What the fields mean is said at :class:`~setveil.data.taxonomy.Taxonomy`.

    >>> tree = NamedTree(ids=("1", "2"), names=("pet", "dog"), pseudo=[False, False],
    ...                  parents=[-1, 0], leaves=[1, 1])
    >>> tree.node("dog"), tree.node("1"), tree.missing(["dog", "cat"])
    (1, 0, ['cat'])
    """

    ids: tuple[str, ...]
    names: tuple[str, ...]
    pseudo: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "pseudo", frozen(self.pseudo, np.bool_))
        if not len(self.ids) == len(self.names) == len(self.pseudo) == len(self):
            raise ParameterError("ids, names, parents, leaves and pseudo must have one length")
        if len(self._numbers) != len(self):
            twice = next(i for i, count in Counter(self.ids).items() if count > 1)
            raise InputError(f"two nodes have the id {twice!r}", fix="give each its own id")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {node_id: i for i, node_id in enumerate(self.ids)}

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for i, name in enumerate(self.names):
            if not self.pseudo[i]:
                found.setdefault(name, []).append(i)
        return found

    def _find(self, name: str, *, as_item: bool = False) -> int | None:
        node = self._numbers.get(name)
        if node is not None and not (as_item and self.pseudo[node]):
            return node
        named = self._by_name.get(name, [])
        leaves = [v for v in named if self.is_leaf[v]] if len(named) > 1 else named
        if len(leaves) == 1:
            return leaves[0]
        if named:
            raise InputError(
                f"the name {name!r} stands for {len(named)} nodes of the taxonomy: "
                f"{some([self.ids[v] for v in named])}",
                fix="use the node's id instead of its name",
            )
        return None

    def resolve(self, items: Iterable[str]) -> tuple[dict[int, str], list[str]]:
        """Return the items by their nodes, and the items that have none.

        >>> from setveil.data import Taxonomy
        >>> Taxonomy.from_parents({"poodle": "dog"}).resolve(["cat", "poodle"])
        ({1: 'poodle'}, ['cat'])
        """
        found: dict[int, str] = {}
        absent = []
        for item in dict.fromkeys(items):
            node = self._find(item, as_item=True)
            if node is None:
                absent.append(item)
            elif found.setdefault(node, item) != item:
                raise InputError(
                    f"the items {found[node]!r} and {item!r} are one node of the taxonomy",
                    fix="write each item in one way: by its id or by its name",
                )
        return found, absent

    def missing(self, items: Iterable[str]) -> list[str]:
        """Return the items that are not in the tree.

        >>> from setveil.data import Taxonomy
        >>> Taxonomy.from_parents({"poodle": "dog"}).missing(["cat", "dog", "poodle"])
        ['cat']
        """
        return self.resolve(items)[1]

    @cached_property
    def _private(self) -> Int32Array:
        """The private leaf below each node; -1 where there is none."""
        private = np.full(len(self), -1, dtype=np.int32)
        leaves = np.flatnonzero(self.pseudo)
        private[self.parents[leaves]] = leaves
        return private

    def node(self, name: str) -> int:
        """Return the number of the node with this id, or with this name if only one bears it.

        >>> from setveil.data import Taxonomy
        >>> Taxonomy.from_parents({"poodle": "dog", "dog": "animal"}).node("dog")
        1
        """
        found = self._find(name)
        if found is None:
            raise _absent(name)
        return found

    def leaf_of(self, items: Iterable[str]) -> Int32Array:
        """Return the leaf that stands for each item (its private leaf where it is interior).

        >>> from setveil.data import Taxonomy
        >>> tree = Taxonomy.from_parents({"poodle": "dog", "dog": "animal"}).for_items(["dog"])
        >>> tree.leaf_of(["poodle", "dog"]).tolist()
        [3, 2]
        """
        items = list(items)
        found = [self._find(item, as_item=True) for item in items]
        for item, node in zip(items, found, strict=True):
            if node is None:
                raise _absent(item)
        nodes = np.array(found, dtype=np.int32)
        result = np.where(self.is_leaf[nodes], nodes, self._private[nodes])
        if np.any(result < 0):
            item = items[int(np.flatnonzero(result < 0)[0])]
            raise InputError(
                f"the item {item!r} is an interior node without a leaf of its own",
                fix="call taxonomy.for_items(items) first",
            )
        return result


def _absent(name: str) -> InputError:
    return InputError(
        f"{name!r} is not in the taxonomy", fix="check the spelling, or add it to the tree"
    )
