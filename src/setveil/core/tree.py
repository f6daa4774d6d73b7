"""The shape of a rooted tree: depths, ancestors, common ancestors, cuts and losses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.core.params import is_whole
from setveil.core.table import frozen
from setveil.core.words import fresh_id, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from setveil.core.arrays import Int32Array, Int64Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """A rooted tree without names, its nodes numbered in preorder (the root is 0).

    The nodes below `v`, itself included, are ``v .. ends[v] - 1``.

    Parameters
    ----------
    parents
        Number of each node's parent; -1 for the root.
    leaves
        Number of leaves below each node (1 for a leaf). In a published part of a tree these are
        the counts of the whole tree.

    Examples
    --------
    >>> tree = Tree(parents=[-1, 0, 1, 1, 0], leaves=[3, 2, 1, 1, 1])
    >>> tree.depths.tolist(), tree.ends.tolist(), tree.height
    ([1, 2, 3, 3, 2], [5, 4, 3, 4, 5], 2)
    """

    parents: Int32Array
    leaves: Int64Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", frozen(self.parents, np.int32))
        object.__setattr__(self, "leaves", frozen(self.leaves, np.int64))
        n = len(self.parents)
        if n == 0:
            raise InputError("a taxonomy needs at least one node", fix="give it a root")
        if len(self.leaves) != n:
            raise ParameterError(f"there are {n} parents and {len(self.leaves)} counts of leaves")
        if self.parents[0] != -1 or np.any(self.parents[1:] < 0):
            raise ParameterError("node 0 must be the only root", fix="use Taxonomy.from_nodes")
        if np.any(self.parents >= np.arange(n)) or not is_preorder(self.parents, self._sizes):
            raise ParameterError("nodes must stand in preorder", fix="use Taxonomy.from_nodes")
        known = np.bincount(self.parents[1:], weights=self.leaves[1:], minlength=n)
        if np.any(self.leaves < np.maximum(known, 1)):
            raise ParameterError("a node has fewer leaves than the nodes below it")

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of the whole tree."""
        return int(self.leaves[0])

    @cached_property
    def depths(self) -> Int32Array:
        """Level of each node; the root is at level 1."""
        steps = sums_to_root(self.parents, np.ones(len(self), dtype=np.int64))
        assert steps is not None
        return (steps + 1).astype(np.int32)

    @cached_property
    def _sizes(self) -> Int64Array:
        return sums_below(self.parents, self.depths, np.ones(len(self), dtype=np.int64))

    @property
    def height(self) -> int:
        """Number of edges on the longest way from the root to a leaf."""
        return int(self.depths.max()) - 1

    @cached_property
    def ends(self) -> Int32Array:
        """One past the last node below each node, in preorder."""
        return (np.arange(len(self)) + self._sizes).astype(np.int32)

    @cached_property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Whether a node has nothing below it and stands for one leaf of the *whole* tree.

        In a published part this also holds for a category whose only leaf was left out: it
        stands for that leaf.
        """
        leaf: npt.NDArray[np.bool_] = (self._sizes == 1) & (self.leaves == 1)
        return leaf

    def ancestors(self, node: int) -> list[int]:
        """Return the nodes from `node` itself up to the root.

        >>> Tree(parents=[-1, 0, 1, 1, 0], leaves=[3, 2, 1, 1, 1]).ancestors(3)
        [3, 1, 0]
        """
        way = [node]
        while way[-1] != 0:
            way.append(int(self.parents[way[-1]]))
        return way

    @overload
    def lca(self, a: int, b: int) -> int: ...
    @overload
    def lca(self, a: npt.NDArray[np.integer], b: npt.ArrayLike) -> Int32Array: ...
    def lca(self, a: int | npt.NDArray[np.integer], b: npt.ArrayLike) -> int | Int32Array:
        """Return the lowest common ancestor of two nodes, or of each pair of two arrays.

        A node is its own ancestor. Of a whole set of nodes it is that of the smallest and the
        largest number.

        >>> tree = Tree(parents=[-1, 0, 1, 1, 0], leaves=[3, 2, 1, 1, 1])
        >>> tree.lca(2, 3), tree.lca(3, 4), tree.lca(1, 3)
        (1, 0, 1)
        >>> tree.lca(np.array([2, 2]), [3, 4]).tolist()
        [1, 0]
        """
        given = np.broadcast_arrays(np.asarray(a), np.asarray(b))
        node = np.minimum(*given).astype(np.int32)
        last = np.maximum(*given)
        # In preorder an ancestor of the first node is one of the last as soon as it reaches it.
        while np.any(outside := self.ends[node] <= last):
            node = np.where(outside, self.parents[node], node)
        return int(node) if node.ndim == 0 else node

    # --- losses -------------------------------------------------------------------------------

    def loss_metric(self) -> npt.NDArray[np.float64]:
        """Return LM of each node: (leaves below - 1) / (all leaves - 1); 0 in a tree of one leaf.

        >>> Tree(parents=[-1, 0, 1, 1, 0], leaves=[3, 2, 1, 1, 1]).loss_metric().tolist()
        [1.0, 0.5, 0.0, 0.0, 0.0]
        """
        return (self.leaves - 1) / max(self.n_leaves - 1, 1)

    def ncp(self) -> npt.NDArray[np.float64]:
        """Return the normalized certainty penalty of each node: leaves below / all leaves.

        A leaf costs nothing.

        >>> Tree(parents=[-1, 0, 1, 1, 0], leaves=[3, 2, 1, 1, 1]).ncp().round(2).tolist()
        [1.0, 0.67, 0.0, 0.0, 0.0]
        """
        return np.where(self.is_leaf, 0.0, self.leaves / self.n_leaves)

    # --- cuts: sets of nodes with exactly one above (or at) every leaf -------------------------

    def is_cut(self, nodes: npt.ArrayLike) -> bool:
        """Tell whether every leaf has exactly one of these nodes above it (or is one of them).

        >>> tree = Tree(parents=[-1, 0, 1, 1, 0], leaves=[3, 2, 1, 1, 1])
        >>> tree.is_cut([1, 4]), tree.is_cut([1]), tree.is_cut([0, 4])
        (True, False, False)
        """
        cut = np.sort(np.asarray(nodes, dtype=np.int64))
        apart = bool(np.all(self.ends[cut[:-1]] <= cut[1:]))
        return apart and int(self.leaves[cut].sum()) == self.n_leaves

    def cut_at(self, level: int) -> Int32Array:
        """Return the cut of the nodes at a level (the root is at 1) and the leaves above it.

        >>> Tree(parents=[-1, 0, 1, 1, 0], leaves=[3, 2, 1, 1, 1]).cut_at(2).tolist()
        [1, 4]
        """
        if level < 1:
            raise ParameterError(f"there is no level {level}", fix="the root is at level 1")
        return np.flatnonzero(
            (self.depths == level) | (self.is_leaf & (self.depths < level))
        ).astype(np.int32)

    def image(self, cut: npt.ArrayLike) -> Int32Array:
        """Return for each node the node of the cut above it (or itself); -1 above the cut.

        >>> Tree(parents=[-1, 0, 1, 1, 0], leaves=[3, 2, 1, 1, 1]).image([1, 4]).tolist()
        [-1, 1, 1, 1, 4]
        """
        if not self.is_cut(cut):
            raise ParameterError(
                "these nodes are no cut", fix="give one node above each leaf, itself included"
            )
        starts = np.sort(np.asarray(cut, dtype=np.int64))
        numbers = np.arange(len(self))
        above = starts[np.maximum(np.searchsorted(starts, numbers, side="right") - 1, 0)]
        inside = (above <= numbers) & (numbers < self.ends[above])
        return np.where(inside, above, -1).astype(np.int32)

    def number_of_cuts(self) -> int:
        """Return the exact number of cuts: C(leaf) = 1, C(v) = 1 + the product over v's children.

        >>> Tree(parents=[-1, 0, 1, 1, 0], leaves=[3, 2, 1, 1, 1]).number_of_cuts()
        3
        """
        childless = self._sizes == 1
        if np.count_nonzero(childless) != self.n_leaves:
            raise NotApplicable(
                "the cuts of a published part of a tree cannot be counted",
                fix="count those of the whole tree",
            )
        factors: list[list[int]] = [[] for _ in range(len(self))]
        parents = self.parents.tolist()
        leaf = childless.tolist()
        for node in range(len(self) - 1, 0, -1):
            if not leaf[node]:
                factors[parents[node]].append(_product(factors[node]) + 1)
                factors[node] = []
        return 1 if leaf[0] else _product(factors[0]) + 1


def _product(factors: list[int]) -> int:
    """Multiply big integers in pairs: two numbers of one size multiply faster than one by one."""
    while len(factors) > 1:
        pairs = zip(factors[::2], factors[1::2], strict=False)
        odd = factors[-1:] if len(factors) % 2 else []
        factors = [a * b for a, b in pairs] + odd
    return factors[0] if factors else 1


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedTree(Tree):
    """A rooted tree whose nodes are identified by ids, shown by names, and found by both.

    What the fields mean is said at :class:`~setveil.core.taxonomy.Taxonomy`.

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

        >>> from setveil import Taxonomy
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

        >>> from setveil import Taxonomy
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

        >>> from setveil import Taxonomy
        >>> Taxonomy.from_parents({"poodle": "dog", "dog": "animal"}).node("dog")
        1
        """
        found = self._find(name)
        if found is None:
            raise _absent(name)
        return found

    def leaf_of(self, items: Iterable[str]) -> Int32Array:
        """Return the leaf that stands for each item (its private leaf where it is interior).

        >>> from setveil import Taxonomy
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


def sums_to_root(parents: npt.NDArray[np.integer], weights: npt.ArrayLike) -> Int64Array | None:
    """Return for each node the sum of the weights from itself up to the root, without the root's.

    The result is None when some node does not lead to the root: it then leads into a cycle.

    >>> sums_to_root(np.array([-1, 0, 1, 0]), [9, 1, 1, 1]).tolist()
    [0, 1, 2, 1]
    >>> sums_to_root(np.array([-1, 2, 1]), [1, 1, 1]) is None
    True
    """
    root = int(np.flatnonzero(parents < 0)[0])
    total = np.array(weights, dtype=np.int64)
    total[root] = 0
    above = np.asarray(parents, dtype=np.int64).copy()
    above[root] = root
    # Each round doubles the distance that `total` covers, so log2(height) rounds reach the root.
    for _ in range(len(parents).bit_length() + 1):
        if np.all(above == root):
            return total
        total += total[above]
        above = above[above]
    return None


def sums_below(
    parents: npt.NDArray[np.integer], depths: npt.NDArray[np.integer], weights: npt.ArrayLike
) -> Int64Array:
    """Return for each node the sum of the weights of the nodes below it, itself included.

    >>> sums_below(np.array([-1, 0, 1, 0]), np.array([0, 1, 2, 1]), [1, 1, 1, 1]).tolist()
    [4, 2, 1, 1]
    """
    total = np.array(weights, dtype=np.int64)
    by_depth = np.argsort(depths, kind="stable")
    borders = np.flatnonzero(np.diff(depths[by_depth])) + 1
    for level in np.split(by_depth, borders)[:0:-1]:
        np.add.at(total, parents[level], total[level])
    return total


def preorder_places(
    parents: npt.NDArray[np.integer], sizes: Int64Array, rank: npt.NDArray[np.integer]
) -> Int64Array:
    """Return each node's number in the preorder that visits siblings by ascending `rank`.

    `sizes` holds the number of nodes below each node, itself included.

    >>> preorder_places(np.array([-1, 0, 0, 1]), np.array([4, 2, 1, 1]), np.arange(4)).tolist()
    [0, 1, 3, 2]
    """
    siblings = np.lexsort((rank, parents))
    ahead = np.cumsum(sizes[siblings]) - sizes[siblings]
    family = parents[siblings]
    first = np.ones(len(parents), dtype=bool)
    first[1:] = family[1:] != family[:-1]
    ahead -= np.repeat(ahead[first], np.diff(np.append(np.flatnonzero(first), len(parents))))
    step = np.empty(len(parents), dtype=np.int64)
    step[siblings] = ahead + 1
    places = sums_to_root(parents, step)
    assert places is not None
    return places


def is_preorder(parents: Int32Array, sizes: Int64Array) -> bool:
    """Tell whether the nodes 0, 1, … of a tree with root 0 already stand in a preorder.

    >>> is_preorder(np.array([-1, 0, 1, 0]), np.array([4, 2, 1, 1]))
    True
    >>> is_preorder(np.array([-1, 0, 0, 1]), np.array([4, 2, 1, 1]))
    False
    """
    numbers = np.arange(len(parents))
    return bool(np.array_equal(preorder_places(parents, sizes, numbers), numbers))


def find_cycle(parents: Sequence[int]) -> list[int]:
    """Return the nodes of one cycle, each followed by its parent; empty if there is none.

    >>> find_cycle([-1, 0, 3, 4, 3])
    [3, 4]
    """
    clear = {-1}
    for start in range(len(parents)):
        way: dict[int, None] = {}
        node = start
        while node not in clear and node not in way:
            way[node] = None
            node = parents[node]
        if node in way:
            seen = list(way)
            return seen[seen.index(node) :]
        clear.update(way)
    return []


def balanced_nodes(items: Iterable[str], fanout: int) -> tuple[list[str], list[int]]:
    """Return ids and places of the parents of a tree in which each `fanout` neighbours are joined.

    The items come first, then the nodes above them level by level. Their names tell level and
    place and no item: a release shows the names of published nodes and of all above them, and a
    rare item must not be named there.

    >>> balanced_nodes(["a", "b", "c"], 2)
    (['a', 'b', 'c', 'group 1.1', 'group 2.1'], [3, 3, 4, 4, -1])
    """
    if not is_whole(fanout, 2):
        raise ParameterError(f"fanout is {fanout!r}", fix="use a whole number of 2 or more")
    ids = list(dict.fromkeys(items))
    if not ids:
        raise InputError("a taxonomy needs at least one item", fix="give data with items")
    taken = set(ids)
    parents = [-1] * len(ids)
    level = list(range(len(ids)))
    height = 0
    while len(level) > 1:
        height += 1
        above: list[int] = []
        width = len(str(-(-len(level) // fanout)))  # leading zeros: names sort as places do
        for start in range(0, len(level), fanout):
            group = level[start : start + fanout]
            if len(group) == 1:  # a category of one would say nothing: it joins a level higher
                above.append(group[0])
                continue
            for child in group:
                parents[child] = len(ids)
            above.append(len(ids))
            parents.append(-1)
            ids.append(fresh_id(f"group {height}.{start // fanout + 1:0{width}}", taken, "'"))
        level = above
    return ids, parents
