"""The shape of a rooted tree: depths, ancestors, common ancestors, cuts and losses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.data.preorder import is_preorder, sums_below, sums_to_root
from setveil.data.table import Int32Array, Int64Array, frozen


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
