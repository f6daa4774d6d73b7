"""A cut through the taxonomy of the items that are not sensitive, and what it loses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from setveil.anonymize.base import check_sensitive
from setveil.anonymize.rho.association_rules import ItemRows
from setveil.core.errors import InputError
from setveil.core.words import some
from setveil.release.base import Step
from setveil.release.generalized import publish_recoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.table import Int32Array, Int64Array, TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key
    from setveil.release.generalized import GeneralizedRelease


@dataclass(frozen=True, kw_only=True, eq=False)
class Domain:
    """The items of a table, numbered as the leaves stand in the taxonomy, then the sensitive ones.

    Tokens are the nodes of the taxonomy by their numbers, then the sensitive items: token
    ``len(tree) + j`` is the item numbered ``n_others + j``. An *image* gives each item its token,
    or -1 where it is suppressed. Losses are counted in units of 1 / (all leaves), so that they are
    whole numbers: a suppressed occurrence loses `unit`, one published as node v `lost[v]`.
    """

    table: TransactionTable
    tree: Taxonomy
    sensitive: tuple[str, ...]
    vocabulary: Int64Array
    leaf: Int32Array
    records: ItemRows

    @classmethod
    def of(cls, table: TransactionTable, taxonomy: Taxonomy, sensitive: Iterable[str]) -> Domain:
        """Check the inputs and number the items."""
        names = check_sensitive(table, sensitive)
        inside = sorted(set(names) - set(taxonomy.missing(names)))
        if inside:
            raise InputError(
                f"{len(inside)} of {len(names)} sensitive items are in the taxonomy of the others: "
                f"{some(inside)}",
                fix="take them out of the taxonomy; sensitive items are never generalized",
            )
        hidden = np.array([table.vocabulary.number(name) for name in names], dtype=np.int64)
        supports = table.supports()
        supports[hidden] = 0
        others = np.flatnonzero(supports)
        other_names = [table.vocabulary[i] for i in others.tolist()]
        tree = taxonomy.for_items(other_names)
        leaf = tree.leaf_of(other_names)
        order = np.argsort(leaf)
        vocabulary = np.concatenate([others[order], hidden])
        number = np.full(table.n_items, -1, dtype=np.int32)
        number[vocabulary] = np.arange(len(vocabulary), dtype=np.int32)
        return cls(
            table=table,
            tree=tree,
            sensitive=names,
            vocabulary=vocabulary,
            leaf=leaf[order],
            records=ItemRows.of(table, number, len(vocabulary)),
        )

    @property
    def n_others(self) -> int:
        """Number of items that are not sensitive."""
        return len(self.leaf)

    @property
    def sensitive_from(self) -> int:
        """The first token that is a sensitive item."""
        return len(self.tree)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.tree) + len(self.sensitive)

    @property
    def unit(self) -> int:
        """What a suppressed occurrence loses."""
        return self.tree.n_leaves

    @cached_property
    def lost(self) -> Int64Array:
        """What an occurrence loses that is published as each token."""
        inner = np.where(self.tree.is_leaf, 0, self.tree.leaves)
        return np.concatenate([inner, np.zeros(len(self.sensitive), dtype=np.int64)])

    @cached_property
    def occurrences(self) -> Int64Array:
        """Occurrences of items at or below each token."""
        supports = self.records.supports
        before = np.concatenate([[0], np.cumsum(supports[: self.n_others])])
        low = np.searchsorted(self.leaf, np.arange(len(self.tree)))
        high = np.searchsorted(self.leaf, self.tree.ends)
        return np.concatenate([before[high] - before[low], supports[self.n_others :]])

    @cached_property
    def cost(self) -> Int64Array:
        """What suppressing each token loses beyond what its generalization has lost already."""
        return self.occurrences * (self.unit - self.lost)

    @cached_property
    def children(self) -> dict[int, Int64Array]:
        """The children of each inner node."""
        order = np.argsort(self.tree.parents[1:], kind="stable") + 1
        above = self.tree.parents[order]
        starts = np.flatnonzero(np.diff(above, prepend=-1))
        if not len(order):  # a tree of one node
            return {}
        return dict(zip(above[starts].tolist(), np.split(order, starts[1:]), strict=True))

    def narrowed(self, node: int) -> int:
        """Go down while a node has a single child that is no leaf: both stand for the same."""
        while not self.tree.is_leaf[node]:
            below = self.children[node]
            if len(below) > 1 or self.tree.is_leaf[below[0]]:
                break
            node = int(below[0])
        return node

    def below(self, node: int) -> slice:
        """Return the items at or below a node."""
        low, high = np.searchsorted(self.leaf, [node, self.tree.ends[node]])
        return slice(int(low), int(high))

    def uniform(self, depth: int) -> Int32Array:
        """Return the image that publishes every item as its ancestor at this depth.

        An item that is less deep is published as itself, a sensitive item not at all.
        """
        nodes = self.tree.image(self.tree.cut_at(depth + 1))[self.leaf]
        return np.concatenate([nodes, np.full(len(self.sensitive), -1, dtype=np.int32)])

    def loss(self, image: Int32Array) -> int:
        """Return what all records together lose."""
        each = np.where(image < 0, self.unit, self.lost[image])
        return int(self.records.supports @ each)

    def share(self, loss: int) -> float:
        """Return a loss as the average over all occurrences."""
        whole = self.unit * int(self.records.supports.sum())
        return loss / whole if whole else 0.0

    def units(self, loss: int) -> float:
        """Return a loss as the paper counts it: one for an occurrence that is suppressed."""
        return loss / self.unit

    def name(self, token: int) -> str:
        """Return what a reader calls a token."""
        if token < len(self.tree):
            return self.tree.names[token]
        return self.sensitive[token - len(self.tree)]

    def publish(self, image: Int32Array) -> tuple[GeneralizedRelease, Key, tuple[str, ...]]:
        """Return the release, its key, and the sensitive items that are still in it."""
        occurs = self.records.supports[self.n_others :] > 0
        kept = np.flatnonzero((image[self.n_others :] >= 0) & occurs)
        names = tuple(self.sensitive[j] for j in kept.tolist())
        beside = self.tree.beside(self.sensitive)
        place = np.empty(self.n_tokens + 1, dtype=np.int32)
        moved = {node_id: v for v, node_id in enumerate(beside.ids)}
        place[: len(self.tree)] = [moved[node_id] for node_id in self.tree.ids]
        place[len(self.tree) : -1] = beside.leaf_of(self.sensitive)
        place[-1] = -1
        whole = np.full(self.table.n_items, -1, dtype=np.int32)
        whole[self.vocabulary] = place[image]
        release, key = publish_recoded(beside, self.table, whole)
        return release, key, names

    def generalized(self, image: Int32Array) -> list[Step]:
        """Return one step for each inner node that is published, with what it loses."""
        used = np.unique(image[: self.n_others])
        used = used[used >= 0]
        return [
            Step(
                action="generalize",
                subject=self.tree.names[v],
                reason=f"{self.occurrences[v]:,} occurrences are published as this node",
                cost=self.units(int(self.occurrences[v] * self.lost[v])),
            )
            for v in used[~self.tree.is_leaf[used]].tolist()
        ]
