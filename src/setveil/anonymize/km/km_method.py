"""Global recoding to a cut of the taxonomy: what methods for k^m-anonymity begin and end with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from setveil.anonymize.base import (
    check_enough,
    leaf_rows,
    occurrences_below,
    price_of_nodes,
    shorten_log,
    silent,
)
from setveil.core.arrays import Int32Array, distinct_in_rows
from setveil.core.errors import InfeasibleError
from setveil.core.params import count, group_size
from setveil.engine import Local
from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.release.base import Anonymization
from setveil.release.generalized import publish_recoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from setveil.anonymize.base import LeafRows
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine
    from setveil.release.base import Key, Step
    from setveil.release.generalized import GeneralizedRelease


@dataclass(frozen=True, kw_only=True)
class KmMethod:
    """What all methods for k^m-anonymity take and promise.

    >>> KmMethod(k=5, m=2).promise.params()
    {'k': 5, 'm': 2}
    """

    requires: ClassVar[frozenset[str]] = frozenset({"taxonomy"})

    k: int = group_size(doc="least number of records")
    m: int = count(2, doc="greatest number of items someone may know", ladder=(1, 2, 3), audited=2)

    @property
    def promise(self) -> KmAnonymity:
        """The guarantee that every release of the method keeps."""
        return KmAnonymity(k=self.k, m=self.m)

    def anonymize(
        self,
        table: TransactionTable,
        *,
        taxonomy: Taxonomy,
        engine: Engine | None = None,  # for methods whose parts are independent of each other
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the k^m-anonymous release of `table`, its key and its promise."""
        rows = recodable_rows(table, taxonomy, self.k)
        recoding = self._recode(rows, engine or Local(), progress or silent)
        image = image_of(rows.taxonomy, recoding.nodes)
        release, key = publish_image(table, rows, image)
        return Anonymization(
            release=release,
            key=key,
            promise=self.promise,
            log=shorten_log(recoding.log),
            figures=recoding.figures,
        )

    def _recode(self, rows: LeafRows, engine: Engine, progress: Progress) -> Recoding:
        """Find what the items of all records are generalized to."""
        raise NotImplementedError


class Recoding(NamedTuple):
    """The nodes that something is generalized to, in all records, and how they were found."""

    nodes: Sequence[int]
    log: Sequence[Step]
    figures: dict[str, int]


def rare_in_words(tree: Taxonomy, itemset: Iterable[int], support: int, where: str = "") -> str:
    """Return why something is generalized: a set of nodes that is too rare.

    >>> from setveil import Taxonomy
    >>> rare_in_words(Taxonomy.balanced(["a", "b"]), [2, 1], 1)
    '{a, b} is in 1 record'
    """
    names = ", ".join(tree.ids[node] for node in sorted(itemset))
    return f"{{{names}}} is in {support:,} record{'s' if support > 1 else ''}{where}"


def check_recodable(n_records: int, n_filled: int, k: int) -> None:
    """Refuse data in which even the root is rare, by the numbers of records and of filled ones."""
    check_enough(range(n_records), k)
    if 0 < n_filled < k:
        raise InfeasibleError(
            f"only {n_filled} records have items, but k is {k}: even the root of the taxonomy "
            "would be too rare",
            fix=f"use k of at most {n_filled}",
        )


def recodable_rows(table: TransactionTable, taxonomy: Taxonomy, k: int) -> LeafRows:
    """Return the records as sorted sets of leaves; refuse data in which even the root is rare.

    >>> from setveil import Taxonomy, TransactionTable
    >>> table = TransactionTable.from_rows([["a"], ["b", "a"], []])
    >>> recodable_rows(table, Taxonomy.balanced(["a", "b"]), 2).leaves.tolist()
    [1, 2, 1]
    """
    check_recodable(len(table), int(np.count_nonzero(table.lengths)), k)
    rows = leaf_rows(table, taxonomy)
    offsets, leaves = distinct_in_rows(rows.offsets, rows.leaves)
    return replace(rows, offsets=offsets, leaves=leaves)


class GrowingCut:
    """A cut of the taxonomy that starts at the leaves and only goes up, and what it costs.

    The cost is NCP in whole numbers: an occurrence of an item that is published as a node costs
    the number of leaves below it, and nothing if it is published as itself.

    >>> from setveil import Taxonomy, TransactionTable
    >>> table = TransactionTable.from_rows([["a"], ["b", "a"], ["c"]])
    >>> cut = GrowingCut(leaf_rows(table, Taxonomy.from_parents(
    ...     {"a": "ab", "b": "ab", "ab": "all", "c": "all"})))
    >>> cut.cost(1), cut.cost(0)
    (6, 12)
    >>> cut.raise_to(1)
    >>> cut.cost(0), cut.nodes, cut.hidden.tolist()
    (6, [1], [False, False, True, True, False])
    """

    def __init__(self, rows: LeafRows) -> None:
        self.tree = rows.taxonomy
        self.hidden = np.zeros(len(self.tree), dtype=bool)
        self._raised: set[int] = set()
        self._held = occurrences_below(self.tree, rows.leaves)
        self._price = price_of_nodes(self.tree)
        self._paid = np.zeros(len(self.tree), dtype=np.int64)  # as published now

    @property
    def nodes(self) -> list[int]:
        """The nodes that something is generalized to."""
        return sorted(v for v in self._raised if not self.hidden[v])

    def covers(self, nodes: Iterable[int], below: int) -> bool:
        """Tell whether one of these nodes lies above `below`."""
        return any(v < below < self.tree.ends[v] for v in nodes)

    def cost(self, node: int) -> int:
        """Return what it costs to publish `node` instead of all below it."""
        return int(self._held[node] * self._price[node] - self._paid[node])

    def raise_to(self, node: int) -> None:
        """Recode all that is below `node` to it."""
        self._paid[self.tree.ancestors(node)] += self.cost(node)
        self._raised.add(node)
        self.hidden[node + 1 : self.tree.ends[node]] = True

    def share(self, cost: int) -> float:
        """Return a cost as a part of what publishing everything as the root costs."""
        return cost / max(int(self._held[0]) * self.tree.n_leaves, 1)


def image_of(tree: Taxonomy, nodes: Sequence[int]) -> Int32Array:
    """Return each node's image when everything below `nodes` is recoded to them.

    >>> from setveil import Taxonomy
    >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    >>> image_of(tree, [1]).tolist()
    [0, 1, 1, 1, 4, 5, 6]
    """
    image = np.arange(len(tree), dtype=np.int32)
    for node in nodes:
        image[node : tree.ends[node]] = node
    return image


def publish_image(
    table: TransactionTable, rows: LeafRows, image: Int32Array
) -> tuple[GeneralizedRelease, Key]:
    """Publish each record as the set of its leaves' images; `image` has one entry per node."""
    occurring = np.flatnonzero(table.supports())
    nodes = np.full(table.n_items, -1, dtype=np.int32)
    names = [table.vocabulary[i] for i in occurring.tolist()]
    nodes[occurring] = image[rows.taxonomy.leaf_of(names)]
    return publish_recoded(rows.taxonomy, table, nodes)
