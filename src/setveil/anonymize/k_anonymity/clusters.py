"""Records in clusters that are published alike: what methods for k-anonymity begin and end with.

Clump and Gather compute with records as weighted vectors over the taxonomy (:class:`NodeVectors`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from setveil.anonymize.base import check_enough, leaf_rows, occurrences_below, silent
from setveil.anonymize.k_anonymity.vector_kernels import (
    ancestor_vectors,
    least_common_generalizations,
)
from setveil.core.arrays import Int32Array, Int64Array, distinct_in_rows, offsets_of
from setveil.core.params import group_size
from setveil.engine import Local
from setveil.guarantee.k_anonymity import KAnonymity
from setveil.release.base import Anonymization
from setveil.release.generalized import publish_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.anonymize.base import LeafRows
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine
    from setveil.release.base import Key, Step
    from setveil.release.generalized import GeneralizedRelease


@dataclass(frozen=True, kw_only=True)
class KAnonymityMethod:
    """A method that publishes the records of each cluster alike: what all of them take and do.

    >>> KAnonymityMethod(k=3).k
    3
    """

    requires: ClassVar[frozenset[str]] = frozenset({"taxonomy"})
    distributed: ClassVar[str] = "setveil.spark.methods:bucketed"

    k: int = group_size(doc="least number of records published alike")

    def anonymize(
        self,
        table: TransactionTable,
        *,
        taxonomy: Taxonomy,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the k-anonymous release of `table`, its key and its promise."""
        check_enough(table, self.k)
        rows = leaf_rows(table, taxonomy)
        done = self._publish_clusters(rows, engine or Local(), progress or silent)
        return Anonymization(
            release=done.release,
            key=done.key,
            promise=KAnonymity(k=self.k),
            log=tuple(done.log),
            figures={"clusters": done.clusters},
        )

    def _publish_clusters(self, rows: LeafRows, engine: Engine, progress: Progress) -> Clustering:
        """Put records into clusters of k and more, and publish each as one."""
        raise NotImplementedError


class Clustering(NamedTuple):
    """A release, its key, and the cluster of each record in the order of the given table."""

    release: GeneralizedRelease
    key: Key
    clusters: Int64Array
    log: Sequence[Step] = ()


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
    mass = gamma * occurrences_below(tree, rows.leaves)
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
    rows: LeafRows, label: Int64Array, *, distinct: bool = False, log: Sequence[Step] = ()
) -> Clustering:
    """Publish each cluster of sorted records as copies of its least common generalization."""
    members = np.argsort(label, kind="stable")
    sizes = np.bincount(label)
    offsets, nodes = least_common_generalizations(
        rows.offsets, rows.leaves, rows.taxonomy.parents, offsets_of(sizes), members
    )
    if distinct:
        offsets, nodes = distinct_in_rows(offsets, nodes)
    return publish_nodes(rows, label, offsets, nodes, hides=True, log=log)


def publish_nodes(
    rows: LeafRows,
    label: Int64Array,
    offsets: Int64Array,
    nodes: Int32Array,
    *,
    hides: bool,
    log: Sequence[Step] = (),
) -> Clustering:
    """Publish each cluster of sorted records as copies of its nodes; `hides` as in the release."""
    clusters = np.empty(len(rows), dtype=np.int64)
    clusters[rows.order] = label
    release, key = publish_groups(
        rows.taxonomy, group_offsets=offsets, group_nodes=nodes, group_of=clusters, hides=hides
    )
    return Clustering(release, key, clusters, log)
