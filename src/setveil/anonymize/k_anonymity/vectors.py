"""Records as weighted vectors over the taxonomy: what Clump and Gather compute with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from setveil.anonymize.k_anonymity.vector_kernels import (
    ancestor_vectors,
    least_common_generalizations,
)
from setveil.core.arrays import Int32Array, Int64Array, distinct_in_rows, offsets_of
from setveil.release.generalized import publish_groups

if TYPE_CHECKING:
    from setveil.anonymize.base import LeafRows
    from setveil.release.base import Key
    from setveil.release.generalized import GeneralizedRelease


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeVectors:
    """Sparse vectors of records over taxonomy nodes, heaviest nodes first.

    Row `t` holds ``gamma(v) * n_t(v)`` for every node `v` but the root, where ``gamma(v)`` is the
    number of leaves that its parent has more than `v` itself. The weight a group of records has
    in common (the sum of pointwise minima) times its size is what publishing the group as its
    least common generalization keeps, in units of 1 / `whole`.
    """

    starts: Int64Array
    nodes: Int32Array
    weights: npt.NDArray[Any]
    lengths: Int64Array
    n_nodes: int
    whole: int

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.starts.nbytes + self.nodes.nbytes + self.weights.nbytes + self.lengths.nbytes


def node_vectors(rows: LeafRows) -> NodeVectors:
    """Build the vectors of records; nodes are renumbered by the weight all records give them."""
    tree = rows.taxonomy
    gamma = np.zeros(len(tree), dtype=np.int64)
    gamma[1:] = tree.leaves[tree.parents[1:]] - tree.leaves[1:]
    occurrences = np.bincount(rows.leaves, minlength=len(tree)).astype(np.int64)
    # Preorder: the occurrences below v are a run, so differences of running sums give them.
    running = offsets_of(occurrences)
    mass = gamma * (running[tree.ends] - running[np.arange(len(tree))])
    order = np.argsort(-mass, kind="stable")
    n_nodes = int(np.count_nonzero(mass))
    rank = np.full(len(tree), -1, dtype=np.int32)
    rank[order[:n_nodes]] = np.arange(n_nodes, dtype=np.int32)
    lengths = np.diff(rows.offsets)
    greatest = int(gamma.max()) * int(lengths.max(initial=0))
    dtype = np.int32 if greatest < 2**31 else np.int64
    starts, nodes, weights = ancestor_vectors(
        rows.offsets, rows.leaves, tree.parents, gamma, rank, np.empty(0, dtype=dtype)
    )
    return NodeVectors(
        starts=starts,
        nodes=nodes,
        weights=weights,
        lengths=lengths,
        n_nodes=n_nodes,
        whole=max(tree.n_leaves - 1, 1),
    )


def publish_clusters(
    rows: LeafRows, label: Int64Array, *, distinct: bool = False
) -> tuple[GeneralizedRelease, Key, Int64Array]:
    """Publish each cluster of sorted records as copies of its least common generalization.

    Returns the release, its key, and the cluster of each record in the order of the given table.
    """
    members = np.argsort(label, kind="stable")
    sizes = np.bincount(label)
    group_offsets = offsets_of(sizes)
    offsets, nodes = least_common_generalizations(
        rows.offsets, rows.leaves, rows.taxonomy.parents, group_offsets, members
    )
    if distinct:
        offsets, nodes = distinct_in_rows(offsets, nodes)
    clusters = np.empty(len(rows), dtype=np.int64)
    clusters[rows.order] = label
    release, key = publish_groups(
        rows.taxonomy, group_offsets=offsets, group_nodes=nodes, group_of=clusters, hides=True
    )
    return release, key, clusters
