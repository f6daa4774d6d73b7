"""The tree of item generalizations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from setveil.data.balanced import balanced_nodes
from setveil.data.naming import fresh_id, some, way
from setveil.data.preorder import find_cycle, preorder_places, sums_below, sums_to_root
from setveil.data.table import Int32Array, frozen
from setveil.data.tree import Tree
from setveil.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

ADDED_ROOT = "*"
ITSELF = " (itself)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Taxonomy(Tree):
    """A rooted tree over items, its nodes numbered in preorder (the root is 0).

    The nodes below `v`, itself included, are ``v .. ends[v] - 1``. Siblings stand in the order of
    their names, so the numbering does not depend on the order of a file. A node is identified by
    its id and shown by its name; ids are distinct, names need not be.

    An item that is an interior node gets a private leaf below it (``pseudo``), so that an item
    published as it is costs nothing and differs from the category of the same name.

    Parameters
    ----------
    ids
        Distinct identifiers, in preorder.
    names
        What a reader sees.
    parents, leaves
        The shape: see :class:`~setveil.data.tree.Tree`.
    pseudo
        Which nodes are private leaves of interior items.

    Examples
    --------
    >>> food = Taxonomy.from_parents({"apple": "fruit", "pear": "fruit", "beef": "meat",
    ...                               "fruit": "food", "meat": "food"})
    >>> food.names
    ('food', 'fruit', 'apple', 'pear', 'meat', 'beef')
    >>> food.leaves.tolist()
    [3, 2, 1, 1, 1, 1]
    >>> float(food.loss_metric()[food.node("fruit")])
    0.5
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

    @classmethod
    def from_parents(cls, parents: Mapping[str, str | None]) -> Taxonomy:
        """Build a tree from child → parent; a top has the parent None, or is nobody's child.

        >>> Taxonomy.from_parents({"poodle": "dog", "tabby": "cat"}).names
        ('*', 'cat', 'tabby', 'dog', 'poodle')
        """
        ids = list(dict.fromkeys([*parents, *(p for p in parents.values() if p is not None)]))
        place = {name: i for i, name in enumerate(ids)}
        above = [place[p] if (p := parents.get(i)) is not None else -1 for i in ids]
        return cls.from_nodes(ids, ids, above)

    @classmethod
    def from_nodes(
        cls,
        ids: Sequence[str],
        names: Sequence[str],
        parents: Sequence[int],
        *,
        pseudo: Iterable[int] = (),
    ) -> Taxonomy:
        """Build a tree from nodes in any order; `parents` holds places in `ids`, -1 for a top.

        Several tops get an added root. A cycle is an error. `pseudo` are places of private leaves.

        >>> Taxonomy.from_nodes(["1", "2", "3"], ["pear", "fruit", "apple"], [1, -1, 1]).names
        ('fruit', 'apple', 'pear')
        """
        ids, names = list(ids), list(names)
        above = np.array(parents, dtype=np.int64)
        if not len(ids) == len(names) == len(above) or np.any(above >= len(ids)):
            raise ParameterError("each node needs an id, a name and a place of its parent")
        n_tops = np.count_nonzero(above < 0)
        if n_tops > 1:
            above = np.append(np.where(above < 0, len(ids), above), -1)
            ids.append(fresh_id(ADDED_ROOT, set(ids), ADDED_ROOT))
            names.append(ADDED_ROOT)
        n = len(ids)
        if n == 0:
            raise InputError("a taxonomy needs at least one node", fix="give it a root")
        depths = sums_to_root(above, np.ones(n, dtype=np.int64)) if n_tops else None
        if depths is None:
            loop = [ids[v] for v in find_cycle(above.tolist())]
            raise InputError(
                f"the taxonomy has a cycle: {way([*loop, loop[0]])}",
                fix="remove one of these edges",
            )
        rank = np.empty(n, dtype=np.int64)
        rank[sorted(range(n), key=lambda i: (names[i], ids[i]))] = np.arange(n)
        place = preorder_places(above, sums_below(above, depths, np.ones(n)), rank)
        order = np.argsort(place)
        childless = np.ones(n, dtype=bool)
        childless[above[above >= 0]] = False
        is_pseudo = np.zeros(n, dtype=bool)
        is_pseudo[list(pseudo)] = True
        visited = order.tolist()
        return cls(
            ids=tuple(ids[i] for i in visited),
            names=tuple(names[i] for i in visited),
            parents=np.append(place, -1)[above][order],
            leaves=sums_below(above, depths, childless)[order],
            pseudo=is_pseudo[order],
        )

    @classmethod
    def balanced(cls, items: Iterable[str], *, fanout: int = 4) -> Taxonomy:
        """Build a tree over `items`, in their order, with up to `fanout` children per node.

        A node that would have one child is left out, so that every category joins something.

        >>> Taxonomy.balanced(["a", "b", "c"], fanout=2).names
        ('group 2.1', 'c', 'group 1.1', 'a', 'b')
        """
        ids, parents = balanced_nodes(items, fanout)
        return cls.from_nodes(ids, ids, parents)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        format: Literal["edges", "paths", "nodes"] | None = None,  # noqa: A002  (as setveil.read)
        id: str | None = None,  # noqa: A002  (the name of a column, as in from_frame)
        name: str | None = None,
        parent: str | None = None,
        parents: Literal["error", "first"] = "error",
        separator: str = "|",
        delimiter: str | None = None,
        header: bool | None = None,
    ) -> Taxonomy:
        r"""Read a tree from a text file, plain or compressed (.gz, .zst); ``-`` is stdin.

        The formats and the options are those of :func:`setveil.data.taxonomy_files.read_taxonomy`,
        which also reports what was guessed, added and dropped.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "food.csv")
        ...     _ = file.write_text("apple,fruit,food\nbeef,meat,food\n")
        ...     Taxonomy.read(file).names
        ('food', 'fruit', 'apple', 'meat', 'beef')
        """
        from setveil.data.taxonomy_files import read_taxonomy  # noqa: PLC0415  (imports this file)

        return read_taxonomy(
            path,
            format=format,
            id=id,
            name=name,
            parent=parent,
            parents=parents,
            separator=separator,
            delimiter=delimiter,
            header=header,
        )[0]

    def for_items(self, items: Iterable[str], *, missing: str = "error") -> Taxonomy:
        """Return this tree with a leaf for every item: interior items get their private leaf.

        Parameters
        ----------
        items
            Item names (ids, or names that only one node bears).
        missing
            ``"error"`` names the missing items; ``"attach-to-root"`` adds them below the root.

        Examples
        --------
        >>> tree = Taxonomy.from_parents({"poodle": "dog", "dog": "animal"})
        >>> tree.for_items(["dog", "poodle"]).ids
        ('animal', 'dog', 'dog (itself)', 'poodle')
        """
        if missing not in {"error", "attach-to-root"}:
            raise ParameterError(
                f"missing={missing!r} is not known", fix='use "error" or "attach-to-root"'
            )
        found, absent = self._resolved(items)
        if absent and missing == "error":
            raise InputError(
                f"{len(absent)} of {len(absent) + len(found)} items are not in the taxonomy: "
                f"{some(absent)}",
                fix='add them to the tree, or pass missing="attach-to-root" '
                "(--missing attach-to-root)",
            )
        wanted = np.array(sorted(found), dtype=np.int64)
        # What is attached below a tree of one node makes that node interior.
        interior = ~self.is_leaf[wanted] | (bool(absent) & (wanted == 0))
        inner = wanted[interior & (self._private[wanted] < 0)].tolist()
        if not inner and not absent:
            return self
        taken = set(chain(self.ids, absent))
        private = [fresh_id(self.ids[v] + ITSELF, taken, ITSELF) for v in inner]
        # Only the id of another item's private leaf can stand in the way of an absent item's own.
        attached = [
            fresh_id(item, taken, ITSELF) if item in self._numbers else item for item in absent
        ]
        return Taxonomy.from_nodes(
            [*self.ids, *private, *attached],
            [*self.names, *(self.names[v] for v in inner), *absent],
            [*self.parents.tolist(), *inner, *([0] * len(absent))],
            pseudo=[
                *np.flatnonzero(self.pseudo).tolist(),
                *range(len(self), len(self) + len(inner)),
            ],
        )

    def write(self, path: str | Path) -> None:
        """Write an edge list (or a table of nodes, if names differ from ids) that `read` reads.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Taxonomy.from_parents({"pug": "dog", "dog": "pet"}).write(f"{folder}/pets.csv")
        ...     Taxonomy.read(f"{folder}/pets.csv").ids
        ('pet', 'dog', 'pug')
        """
        from setveil.data.taxonomy_files import write_edges  # noqa: PLC0415  (imports this file)

        write_edges(self, path)

    def write_arx(self, path: str | Path, *, names: bool = False) -> None:
        """Write ARX's hierarchy: per leaf one line, leaf to root, all of one length.

        A shorter way repeats its leaf. Nodes are shown by their ids; with `names` by their names,
        where a name belongs to one node only.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Taxonomy.from_parents({"pug": "dog", "dog": "pet"}).write_arx(f"{folder}/pets.csv")
        ...     Taxonomy.read(f"{folder}/pets.csv").ids
        ('pet', 'dog', 'pug')
        """
        from setveil.data.taxonomy_files import write_paths  # noqa: PLC0415  (imports this file)

        write_paths(self, path, names=names)

    def pruned(self, nodes: npt.ArrayLike) -> tuple[Taxonomy, Int32Array]:
        """Return the tree of these nodes and their ancestors, and each old node's new number.

        Leaf counts stay those of the whole tree; nodes that are left out get the number -1.

        >>> tree = Taxonomy.from_parents({"poodle": "dog", "dog": "animal", "cat": "animal"})
        >>> part, numbers = tree.pruned([tree.node("dog")])
        >>> part.names, part.leaves.tolist(), numbers.tolist()
        (('animal', 'dog'), [2, 1], [0, -1, 1, -1])
        """
        keep = np.zeros(len(self), dtype=bool)
        keep[0] = True
        fresh = np.unique(np.asarray(nodes, dtype=np.int32))
        while len(fresh):
            keep[fresh] = True
            above = np.unique(self.parents[fresh[fresh > 0]])
            fresh = above[~keep[above]]
        kept = np.flatnonzero(keep)
        place = np.full(len(self) + 1, -1, dtype=np.int32)
        place[kept] = np.arange(len(kept), dtype=np.int32)
        part = Taxonomy(
            ids=tuple(self.ids[i] for i in kept.tolist()),
            names=tuple(self.names[i] for i in kept.tolist()),
            parents=place[self.parents[kept]],
            leaves=self.leaves[kept],
            pseudo=self.pseudo[kept],
        )
        return part, place[:-1]

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

    def _resolved(self, items: Iterable[str]) -> tuple[dict[int, str], list[str]]:
        """Return the items by their nodes, and the items that have none."""
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

        >>> Taxonomy.from_parents({"poodle": "dog"}).missing(["cat", "dog", "poodle"])
        ['cat']
        """
        return self._resolved(items)[1]

    @cached_property
    def _private(self) -> Int32Array:
        """The private leaf below each node; -1 where there is none."""
        private = np.full(len(self), -1, dtype=np.int32)
        leaves = np.flatnonzero(self.pseudo)
        private[self.parents[leaves]] = leaves
        return private

    def node(self, name: str) -> int:
        """Return the number of the node with this id, or with this name if only one bears it.

        >>> Taxonomy.from_parents({"poodle": "dog", "dog": "animal"}).node("dog")
        1
        """
        found = self._find(name)
        if found is None:
            raise _absent(name)
        return found

    def leaf_of(self, items: Iterable[str]) -> Int32Array:
        """Return the leaf that stands for each item (its private leaf where it is interior).

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

    def __repr__(self) -> str:
        return f"<Taxonomy: {len(self):,} nodes, {self.n_leaves:,} leaves, height {self.height}>"


def _absent(name: str) -> InputError:
    return InputError(
        f"{name!r} is not in the taxonomy", fix="check the spelling, or add it to the tree"
    )
