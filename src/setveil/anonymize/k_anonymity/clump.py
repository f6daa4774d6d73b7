"""Clump: k-anonymity by greedy clustering of records around long ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from setveil.anonymize.k_anonymity.clusters import (
    Clustering,
    KAnonymityMethod,
    node_vectors,
    publish_clusters,
)
from setveil.anonymize.k_anonymity.vector_kernels import clump
from setveil.core.params import choice, count, flag
from setveil.core.registry import register
from setveil.release.base import Step

if TYPE_CHECKING:
    from setveil.anonymize.base import LeafRows
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

OBJECTIVES = ("total", "increment")


@register(
    "anonymizer",
    "clump",
    paper="Milani Fard & Wang 2010",
    bibtex="""
    @mastersthesis{milanifard2010clustering,
      author = {Milani Fard, Amin},
      title  = {Clustering-based Web Query Log Anonymization},
      school = {Simon Fraser University},
      year   = {2010}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class Clump(KAnonymityMethod):
    """Cluster records greedily and publish each cluster as its least common generalization.

    Records are sorted by length, longest first; every k-th opens a cluster; each other record
    joins, among the first `r` clusters that are not full, the one whose distortion after joining
    is least. What is left over (fewer than k records) joins the best cluster of all.

    The least common generalization of a cluster is computed in closed form: with M(v) the least
    number of items at or below node v over the cluster's records, v is published as often as
    M(v) exceeds the sum of M over its children. The printed bottom-up procedure drops surplus
    counts instead of passing them to the parent, and so may publish something more general than
    need be; this one does not, and it may be updated record by record.

    Parameters
    ----------
    k
        Least number of records that are published alike.
    r
        How many open clusters are tried for a record; None tries all of them.
    objective
        ``"total"``: least distortion of the cluster after joining, as printed;
        ``"increment"``: least growth of the distortion.
    distinct
        Publish each node at most once per record (the thesis' Clump2).

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> food = Taxonomy.from_parents({
    ...     "Apple": "Fruit", "Orange": "Fruit", "Banana": "Fruit", "Beef": "Meat",
    ...     "Chicken": "Meat", "Milk": "Dairy", "Cheese": "Dairy", "Butter": "Dairy",
    ...     "Fruit": "Food", "Meat": "Food", "Dairy": "Food"})
    >>> table = TransactionTable.from_rows([
    ...     ["Orange", "Chicken", "Beef"], ["Banana", "Beef", "Cheese"],
    ...     ["Chicken", "Milk", "Butter"], ["Apple", "Chicken"], ["Chicken", "Beef"]])
    >>> result = Clump(k=2).anonymize(table, taxonomy=food)
    >>> for row in result.release.to_rows():
    ...     print(row)
    ['Food', 'Fruit', 'Beef']
    ['Food', 'Fruit', 'Beef']
    ['Food', 'Chicken']
    ['Food', 'Chicken']
    ['Food', 'Chicken']

    References
    ----------
    A. Milani Fard, K. Wang: An effective clustering approach to web query log anonymization,
    SECRYPT 2010.
    """

    called: ClassVar[str] = "similar records made equal, in one pass"

    r: int | None = count(10, doc="open clusters tried per record; none tries all")
    objective: str = choice("total", OBJECTIVES, doc="what joining minimises")
    distinct: bool = flag(False, doc="publish each node at most once per record")

    def _publish_clusters(self, rows: LeafRows, engine: Engine, progress: Progress) -> Clustering:
        """Cluster the records in one pass over all of them, in order."""
        vectors = node_vectors(rows)
        progress("clustering", 0, 1)
        label = clump(
            vectors.starts,
            vectors.nodes,
            vectors.weights,
            vectors.lengths,
            vectors.whole,
            vectors.n_nodes,
            self.k,
            -1 if self.r is None else min(self.r, len(rows)),
            self.objective == "increment",
        )
        progress("clustering", 1, 1)
        n_clusters = int(label.max()) + 1
        leftover = len(rows) - n_clusters * self.k
        step = Step(
            action="cluster",
            subject=f"{len(rows):,} records in {n_clusters:,} clusters of {self.k} or more",
            reason=f"{leftover} left over joined the clusters that lose least by it",
        )
        return publish_clusters(rows, label, distinct=self.distinct, log=(step,))
