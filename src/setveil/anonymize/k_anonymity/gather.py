"""Gather: k-anonymity by splitting, growing and exchanging clusters; setveil's own method."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from setveil.anonymize.base import MethodRole
from setveil.anonymize.k_anonymity.clusters import (
    Clustering,
    KAnonymityMethod,
    NodeVectors,
    node_vectors,
    publish_clusters,
)
from setveil.anonymize.k_anonymity.gather_kernels import (
    SEED,
    cells_value,
    cluster_blocks,
    dense_heads,
    exchange,
    row_sums,
    shuffle,
    split_by_counts,
)
from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.core.params import choice
from setveil.core.registry import register
from setveil.core.table import take_rows
from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil.anonymize.base import LeafRows
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

EFFORTS = ("fast", "balanced")

HEADS = 64  # nodes held densely; on query logs they carry more than nine tenths of the weight
SAMPLE = 2048  # records on which a split of a large set is judged
REGION = 8192  # records solved together; regions are independent of each other
BLOCK = 2000  # records among which clusters are grown
NEAREST = 64  # candidates looked at exactly while a cluster grows
REACH = 500  # how many records away, in the order of the splits, an exchange may look
TRIES = 8  # clusters an exchange is tried with exactly
PASSES = 3  # over all records
FEW = 500  # records up to which a second start is tried
VERY_FEW = 64  # records up to which shuffled starts are tried
SHUFFLES = 16  # how many


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """Records that are clustered by themselves, with what the kernels need of them."""

    number: int
    records: Int64Array
    starts: Int64Array
    nodes: Int32Array
    weights: npt.NDArray[Any]
    heavy: Int32Array
    n_nodes: int
    shift: int
    k: int


def solve_region(region: Region) -> dict[int, tuple[Int64Array, Int64Array]]:
    """Cluster a region; returns its number → (records, cluster of each within the region)."""
    own = row_sums(region.starts, region.weights)
    block = max(BLOCK, 4 * region.k)
    order, borders = cluster_blocks(
        region.starts, region.nodes, region.weights, region.heavy, own,
        region.shift, region.n_nodes, region.k, block, max(NEAREST, 2 * region.k),
    )  # fmt: skip
    labels = [_improve(region, order, borders)]
    labels += [_improve(region, start, _even_borders(region)) for start in _starts(region)]
    best = max(labels, key=lambda label: _value_kept(region, own, label))  # the first of equals
    return {region.number: (region.records, best)}


def _starts(region: Region) -> Iterator[Int64Array]:
    """Yield orders whose neighbours are clusters to start from, where that costs nothing.

    In sorted order equal records stand together, which splitting and growing may have torn apart.
    Shuffled starts help only where records are so few that some lead to the best clusters.
    """
    n = len(region.records)
    if n <= FEW:
        yield np.arange(n)
    order, state = np.arange(n), SEED
    for _ in range(SHUFFLES if n <= VERY_FEW else 0):
        state = np.uint64(shuffle(order, state))
        yield order.copy()


def _even_borders(region: Region) -> Int64Array:
    """Return the borders of clusters of k records, the last with what is left."""
    borders: Int64Array = np.arange(len(region.records) // region.k + 1) * region.k
    borders[-1] = len(region.records)
    return borders


def _improve(region: Region, order: Int64Array, borders: Int64Array) -> Int64Array:
    """Return the cluster of each record after the exchanges that start from given clusters."""
    label: Int64Array = exchange(
        region.starts, region.nodes, region.weights, region.heavy, region.n_nodes,
        order, borders, region.k, max(REACH // region.k, 1), TRIES, PASSES,
    )  # fmt: skip
    return label


def _value_kept(region: Region, own: Int64Array, label: Int64Array) -> int:
    """Return what a clustering keeps."""
    borders = offsets_of(np.bincount(label))
    order = np.argsort(label, kind="stable")
    dense = np.zeros(region.n_nodes, dtype=np.int64)
    return cells_value(region.starts, region.nodes, region.weights, own, order, borders, dense)


@register(
    "anonymizer",
    "gather",
    paper="setveil",
    bibtex="""
    @software{setveil,
      title  = {setveil: anonymize, verify, attack and measure set-valued data},
      author = {{The setveil authors}}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class Gather(KAnonymityMethod):
    """Cluster records by what they have in common and publish each cluster as one.

    The same promise and published form as Clump, with about half the loss. A cluster S of
    records keeps |S|·P(S), where P(S) adds up, over the nodes of the taxonomy, the least number
    of items below the node times the leaves its parent has more. Gather makes the total large in
    four stages: (1) records become sparse vectors of these weights; (2) they are split, again
    and again, by the node and count that separate most weight, into regions and blocks;
    (3) within a block clusters are grown around the longest record left, or cut by further
    splits, whichever keeps more; (4) records are swapped or moved between nearby clusters while
    the total grows. Very few records are grouped from several starts, and the best result is taken.

    Parameters
    ----------
    k
        Least number of records that are published alike.
    effort
        ``"fast"`` stops after splitting (2), down to clusters; ``"balanced"`` does all stages.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.from_parents({"flu": "lung", "asthma": "lung", "gout": "joint",
    ...                               "lung": "any", "joint": "any"})
    >>> table = TransactionTable.from_rows([["flu"], ["gout", "flu"], ["asthma"], ["gout"]])
    >>> for row in Gather(k=2).anonymize(table, taxonomy=tree).release.to_rows():
    ...     print(row)
    ['gout']
    ['gout']
    ['lung']
    ['lung']

    Notes
    -----
    Regions are clustered independently of each other, through the engine, and the result does
    not depend on the engine. The pseudo-random order of stage 4 is fixed, so equal data gives
    an equal release.
    """

    called: ClassVar[str] = "similar records made equal"
    role: ClassVar[MethodRole] = MethodRole(place=1)

    effort: str = choice(
        "balanced",
        EFFORTS,
        doc="how hard to look",
        ladder=(None, "fast"),  # changes how records are grouped, which an attack may feel
    )

    def _publish_clusters(self, rows: LeafRows, engine: Engine, progress: Progress) -> Clustering:
        """Cluster the records, region by region."""
        progress("clustering", 0, len(rows))
        if self.k == 1:
            label = np.arange(len(rows))
        else:
            label = self._cluster(node_vectors(rows), engine, progress)
        progress("clustering", len(rows), len(rows))
        sizes = np.bincount(label)
        step = Step(
            action="cluster",
            subject=f"{len(rows):,} records in {len(sizes):,} clusters "
            f"of {sizes.min()} to {sizes.max()}",
            reason="records with most in common are published alike",
        )
        return publish_clusters(rows, label, log=(step,))

    def _cluster(self, vectors: NodeVectors, engine: Engine, progress: Progress) -> Int64Array:
        """Return the cluster of each record."""
        if vectors.n_nodes == 0:  # a tree without branches: records differ in length only
            return np.minimum(np.arange(len(vectors)) // self.k, len(vectors) // self.k - 1)
        greatest = int(row_sums(vectors.starts, vectors.weights).max())
        shift = max(greatest.bit_length() - 30, 0)  # sums of heavy weights stay within 32 bits
        heavy = dense_heads(
            vectors.starts, vectors.nodes, vectors.weights, min(HEADS, vectors.n_nodes), shift
        )
        order = np.arange(len(vectors))
        if self.effort == "fast":
            borders = split_by_counts(heavy, order, self.k, 2 * self.k - 1, self.k, SAMPLE)
            label = np.empty(len(vectors), dtype=np.int64)
            label[order] = np.repeat(np.arange(len(borders) - 1), np.diff(borders))
            return label
        largest = max(REGION, 4 * self.k)
        borders = split_by_counts(heavy, order, self.k, largest, largest, SAMPLE)
        done = 0

        def regions() -> Iterator[Region]:
            for number in range(len(borders) - 1):
                progress("clustering", int(borders[number]), len(vectors))
                records = np.sort(order[borders[number] : borders[number + 1]])
                starts, nodes = take_rows(vectors.starts, vectors.nodes, records)
                yield Region(
                    number=number,
                    records=records,
                    starts=starts,
                    nodes=nodes,
                    weights=take_rows(vectors.starts, vectors.weights, records)[1],
                    heavy=heavy[records],
                    n_nodes=vectors.n_nodes,
                    shift=shift,
                    k=self.k,
                )

        solved = engine.map_reduce(regions(), solve_region, operator.or_)
        label = np.empty(len(vectors), dtype=np.int64)
        for _, (records, within) in sorted(solved.items()):
            label[records] = done + within
            done += int(within.max()) + 1
        return label
