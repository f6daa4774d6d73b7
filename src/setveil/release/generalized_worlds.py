"""The originals that a generalized release allows: chances per record, and random draws."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.core.errors import NotApplicable
from setveil.core.table import TransactionTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from setveil.core.arrays import Signs
    from setveil.core.taxonomy import Taxonomy

Way = tuple[int, ...]
"""The nodes of a published tree that lie above an item, from the root down."""

BLOCK = 1 << 22
"""How many leaves are drawn at once: bounds memory where few records are very long."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DistinctRows:
    """The distinct records of a release, and its distinct (node, record) pairs grouped by node.

    A pair is described by how many leaves below the node are free when its turn comes
    (``free``: all leaves less those that published nodes below it take) and how many it takes
    (``taken``: the node's multiplicity in the record).

    Parameters
    ----------
    copies
        How often each distinct record occurs.
    starts
        The pairs of node `v` stand at ``starts[v] .. starts[v + 1] - 1``.
    rows, free, taken
        The pairs.
    """

    copies: Int64Array
    starts: Int64Array
    rows: Int64Array
    free: Int64Array
    taken: Int64Array

    @classmethod
    def of(
        cls, tree: Taxonomy, offsets: Int64Array, nodes: Int32Array, neighbours: Signs
    ) -> DistinctRows:
        """Collect the distinct records of canonically ordered rows."""
        n = len(offsets) - 1
        first = np.flatnonzero(np.concatenate([[True], neighbours != 0])[:n])
        copies = np.diff(np.append(first, n))
        lengths = np.diff(offsets)
        keep = np.zeros(n, dtype=bool)
        keep[first] = True
        entries = nodes[np.repeat(keep, lengths)].astype(np.int64)
        row = np.repeat(np.arange(len(first)), lengths[first])
        # Rows are sorted, so row and node in one number are sorted too: counts are differences
        # of places.
        width = np.int64(len(tree) + 1)
        keys = row * width + entries
        fresh = np.ones(len(keys), dtype=bool)
        fresh[1:] = keys[1:] != keys[:-1]
        row, node = row[fresh], entries[fresh]
        low = np.flatnonzero(fresh)
        taken = np.diff(np.append(low, len(keys)))
        below = np.searchsorted(keys, row * width + tree.ends[node]) - low
        by_node = np.argsort(node, kind="stable")
        return cls(
            copies=copies,
            starts=np.searchsorted(node[by_node], np.arange(len(tree) + 1)),
            rows=row[by_node],
            free=(tree.leaves[node] - below + taken)[by_node],
            taken=taken[by_node],
        )

    def __len__(self) -> int:
        return len(self.copies)

    @cached_property
    def of_sets(self) -> bool:
        """Whether sets can stand behind the records: no node takes more leaves than it has."""
        return bool(np.all(self.free >= self.taken))

    def check_sets(self, tree: Taxonomy) -> None:
        """Refuse a release of bags, behind which no sets can stand."""
        if self.of_sets:
            return
        place = int(np.flatnonzero(self.free < self.taken)[0])
        node = int(np.searchsorted(self.starts, place, side="right")) - 1
        raise NotApplicable(
            f"a record publishes more items below {tree.names[node]!r} than it has leaves, "
            "so the originals held items more than once",
            fix="ask this only of releases made from sets",
        )

    def covered(self, way: Way) -> npt.NDArray[np.bool_]:
        """Tell which records publish a node above an item."""
        covered = np.zeros(len(self), dtype=bool)
        for v in way:
            covered[self.rows[self.starts[v] : self.starts[v + 1]]] = True
        return covered

    def absent(self, ways: Sequence[Way]) -> npt.NDArray[np.float64]:
        """Return the chance of each record to be drawn without any of some items.

        A node with `free` leaves left takes `taken` of them at random; it misses m given leaves
        with chance ∏_{i<m} (free - taken - i) / (free - i).
        """
        absent = np.ones(len(self))
        for v, m in Counter(v for way in ways for v in way).items():
            pairs = slice(self.starts[v], self.starts[v + 1])
            if pairs.start < pairs.stop:
                absent[self.rows[pairs]] *= self._missed(m)[pairs]
        return absent

    def _missed(self, m: int) -> npt.NDArray[np.float64]:
        """Return for each pair the chance to miss `m` given leaves that are still free."""
        if m not in self._chances:
            chance = np.ones(len(self.rows))
            for i in range(m):
                # Where fewer than m leaves were free, an earlier factor is 0 and decides.
                chance *= np.maximum(self.free - self.taken - i, 0) / np.maximum(self.free - i, 1)
            self._chances[m] = chance
        return self._chances[m]

    @cached_property
    def _chances(self) -> dict[int, npt.NDArray[np.float64]]:
        return {}

    def joint(self, ways: Sequence[Way]) -> npt.NDArray[np.float64]:
        """Return the chance of each record to be drawn with all of some distinct items."""
        chance = np.zeros(len(self))
        for size in range(len(ways) + 1):
            for chosen in combinations(ways, size):
                chance += (-1) ** size * self.absent(chosen)
        return np.clip(chance, 0.0, 1.0)


def draw_leaves(
    tree: Taxonomy, offsets: Int64Array, nodes: Int32Array, rng: np.random.Generator
) -> TransactionTable:
    """Replace every node by a leaf below it, uniformly among all ways to take distinct leaves.

    `tree` must hold every leaf below the nodes; longer records stand before shorter ones. Within
    a record the nodes are served from the last in preorder to the first, hence those below a
    node before the node itself.
    """
    before = offsets_of(tree.is_leaf)
    used_nodes = np.unique(nodes)
    short = used_nodes[
        before[tree.ends[used_nodes]] - before[used_nodes] != tree.leaves[used_nodes]
    ]
    for v in short.tolist():
        raise NotApplicable(
            f"the release alone does not name the items below {tree.names[v]!r}",
            fix="give the taxonomy the release was made with",
        )
    lengths = np.diff(offsets)
    width = np.int64(len(tree))
    keys = np.sort(np.repeat(np.arange(len(lengths)) * width, lengths) + nodes)
    ordered = keys % width
    drawn = np.empty(len(ordered), dtype=np.int64)
    start = 0
    while start < len(lengths) and lengths[start]:
        stop = min(start + max(BLOCK // int(lengths[start]), 1), len(lengths))
        part = slice(offsets[start], offsets[stop])
        drawn[part] = _draw_block(tree, before, lengths[start:stop], ordered[part], rng)
        start = stop
    return _name_leaves(tree, offsets, drawn)


def _draw_block(
    tree: Taxonomy,
    before: Int64Array,
    lengths: Int64Array,
    nodes: Int64Array,
    rng: np.random.Generator,
) -> Int64Array:
    """Draw for the nodes of some records, longest first, and return the leaves' ranks.

    ``before[v]`` counts the leaves that precede node `v`, so a node's leaves have neighbouring
    ranks.
    """
    ends = np.cumsum(lengths)
    longest = int(lengths[0])
    ranks = np.zeros((len(lengths), longest), dtype=np.int64)
    # Longest first: the records that have a node in this place are always the first ones.
    for place, count in enumerate(np.searchsorted(-lengths, -np.arange(longest)).tolist()):
        node = nodes[ends[:count] - 1 - place]
        low = before[node]
        taken = ranks[:count, :place]
        taken.sort(axis=1)
        # Ranks taken so far are not less than `low`, since later nodes were served before; those
        # below the node come first. The u-th free leaf lies beyond every taken one that has at
        # most u free leaves before it.
        inside = taken < before[tree.ends[node]][:, None]
        u = rng.integers(0, tree.leaves[node] - inside.sum(axis=1))
        free_before = taken - low[:, None] - np.arange(place)
        u += (inside & (free_before <= u[:, None])).sum(axis=1)
        ranks[:count, place] = low + u
    return ranks[np.arange(longest) < lengths[:, None]]


def _name_leaves(tree: Taxonomy, offsets: Int64Array, ranks: Int64Array) -> TransactionTable:
    """Turn ranks of leaves into a table over the items' ids."""
    used, items = np.unique(ranks, return_inverse=True)
    leaves = np.flatnonzero(tree.is_leaf)[used]
    shown = np.where(tree.pseudo[leaves], tree.parents[leaves], leaves)
    return TransactionTable.from_csr(offsets, items, [tree.ids[v] for v in shown.tolist()])
