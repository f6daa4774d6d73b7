"""Clump: k-anonymity by greedy clustering of records around long ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from setveil.anonymize.base import check_enough, leaf_rows
from setveil.anonymize.k_anonymity.vector_kernels import clump
from setveil.anonymize.k_anonymity.vectors import node_vectors, publish_clusters
from setveil.core.params import choice, count, flag, group_size
from setveil.core.registry import register
from setveil.guarantee.k_anonymity import KAnonymity
from setveil.release.base import Anonymization, Step

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
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
class Clump:
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
    distributed: ClassVar[str] = "setveil.spark.generalize:bucketed"
    requires: ClassVar[frozenset[str]] = frozenset({"taxonomy"})

    k: int = group_size(doc="least number of records published alike")
    r: int | None = count(10, doc="open clusters tried per record; none tries all")
    objective: str = choice("total", OBJECTIVES, doc="what joining minimises")
    distinct: bool = flag(False, doc="publish each node at most once per record")

    def anonymize(
        self,
        table: TransactionTable,
        *,
        taxonomy: Taxonomy,
        engine: Engine | None = None,  # one pass over all records, in order
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the k-anonymous release of `table`, its key and its promise."""
        check_enough(table, self.k)
        rows = leaf_rows(table, taxonomy)
        vectors = node_vectors(rows)
        if progress:
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
        if progress:
            progress("clustering", 1, 1)
        release, key, clusters = publish_clusters(rows, label, distinct=self.distinct)
        n_clusters = int(label.max()) + 1
        leftover = len(rows) - n_clusters * self.k
        log = (
            Step(
                action="cluster",
                subject=f"{len(rows):,} records in {n_clusters:,} clusters of {self.k} or more",
                reason=f"{leftover} left over joined the clusters that lose least by it",
            ),
        )
        return Anonymization(
            release=release,
            key=key,
            promise=KAnonymity(k=self.k),
            log=log,
            figures={"clusters": clusters},
        )
