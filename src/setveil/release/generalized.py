"""Releases whose items are nodes of a taxonomy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.core.table import (
    Int32Array,
    Int64Array,
    TransactionTable,
    canonical_order,
    frozen,
    take_rows,
)
from setveil.release.base import Bounds, Key, Matches, Release, fits_key
from setveil.release.rows import Signs, distinct_in_rows, neighbour_order, occurring
from setveil.release.tree_checks import first_fault
from setveil.release.views import CertainItems, Images, PublishedRows, ShownClasses, TreeItems
from setveil.release.worlds import DistinctRows, Way, draw_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt
    import polars as pl

    from setveil.core.taxonomy import Taxonomy


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneralizedRelease(Release):
    """Published records, each a bag of taxonomy nodes, in canonical order.

    Which originals a record allows depends on `hides`. Write n_t(v) for the number of items of an
    original set t below node v (itself included) and c_g(v) for the same count of the published
    bag g.

    - ``hides=True`` (items may have been left out; Clump, Gather): every t with
      c_g(v) ≤ n_t(v) for all v. By Hall's theorem this says that the published nodes can be
      matched with distinct items of t below them.
    - ``hides=False`` (Partition): the nodes of g are a set in which none lies above another;
      every item of t lies below a node of g and every node of g has at least one item of t.
    - ``hides=True, whole=True`` (global recoding with suppression; HgHs, TDControl): what is
      hidden is hidden everywhere. No published node of the *release* lies above another. Every
      node of g has at least one item of t, no item of t lies below a published node that is
      not in g, and t holds any items that lie below no published node.

    Parameters
    ----------
    tree
        The published nodes with their ancestors; leaf counts are those of the whole tree.
    offsets
        Record `j` is ``nodes[offsets[j]:offsets[j + 1]]``.
    nodes
        Node numbers of `tree`, sorted within each record.
    hides
        Whether items may have been left out.
    whole
        Whether an item that is left out of one record is left out of all.

    Examples
    --------
    >>> from setveil import Taxonomy
    >>> food = Taxonomy.from_parents({"apple": "fruit", "pear": "fruit", "beef": "meat",
    ...                               "veal": "meat", "fruit": "food", "meat": "food"})
    >>> release, key = publish_groups(food, group_offsets=[0, 2], group_of=[0, 0], hides=True,
    ...     group_nodes=[food.node("fruit"), food.node("beef")])
    >>> release.to_rows()
    [['fruit', 'beef'], ['fruit', 'beef']]
    >>> release.support_bounds(["beef"])
    Bounds(low=2, high=2, tight=True)
    >>> release.support_bounds(["apple"], food)
    Bounds(low=0, high=2, tight=True)
    """

    form: ClassVar[str] = "generalized"

    tree: Taxonomy
    offsets: Int64Array
    nodes: Int32Array
    hides: bool
    whole: bool = False

    def __post_init__(self) -> None:
        offsets, nodes = frozen(self.offsets, np.int64), frozen(self.nodes, np.int32)
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "nodes", nodes)
        fix = "build releases with publish_groups"
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(nodes):
            raise ParameterError("offsets do not fit the published nodes", fix=fix)
        if np.any(np.diff(offsets) < 0):
            raise ParameterError("offsets decrease", fix=fix)
        if len(nodes) and (nodes.min() < 0 or nodes.max() >= len(self.tree)):
            raise ParameterError("a record holds a node that is not in the tree", fix=fix)
        inside = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        same_record = inside[1:] == inside[:-1]
        # As sets without hiding, the next node must lie beyond all that is below the one before.
        bags = self.hides and not self.whole
        least = nodes[:-1] if bags else self.tree.ends[nodes[:-1]]
        if np.any(same_record & (nodes[1:] < least)):
            raise ParameterError(
                "the nodes of a record are not sorted"
                if bags
                else "a record without hidden items holds a node twice, or one above another",
                fix=fix,
            )
        if self.whole:
            self._check_whole(fix)
        fault = first_fault(self.tree)
        if fault is not None:
            raise ParameterError(f"the tree is ambiguous: {fault}", fix="rename one of them")
        if np.any(self._neighbours > 0):
            raise ParameterError("the records are not in canonical order", fix=fix)

    def _check_whole(self, fix: str) -> None:
        if not self.hides:
            raise ParameterError("a release that hides nothing cannot hide it everywhere", fix=fix)
        used = occurring(self.nodes)
        for v in used[:-1][self.tree.ends[used[:-1]] > used[1:]].tolist():
            raise ParameterError(
                f"the published node {self.tree.names[v]!r} lies above another one", fix=fix
            )

    @cached_property
    def _neighbours(self) -> Signs:
        return neighbour_order(self.offsets, self.nodes)

    @cached_property
    def distinct(self) -> DistinctRows:
        """The distinct records with their numbers of copies; all questions are answered on them."""
        return DistinctRows.of(self.tree, self.offsets, self.nodes, self._neighbours)

    @property
    def root_share(self) -> float:
        """The share of the published items that are the root, which says nothing about them."""
        roots = int(np.count_nonzero(self.nodes == 0)) if self.tree.n_leaves > 1 else 0
        return roots / max(len(self.nodes), 1)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return (
            f"<GeneralizedRelease: {len(self):,} records, {len(self.nodes):,} published items, "
            f"{len(self.tree):,} nodes>"
        )

    def to_rows(self, *, ids: bool = False) -> list[list[str]]:
        """Return the published records as lists of node names, or of node ids."""
        labels = self.tree.ids if ids else self.tree.names
        flat = [labels[v] for v in self.nodes.tolist()]
        bounds = self.offsets.tolist()
        return [flat[a:b] for a, b in pairwise(bounds)]

    def to_frame(self, *, ids: bool = False) -> pl.DataFrame:
        """Return a long frame (``record``, ``item``); an empty record has one row, item null."""
        from setveil.release.frames import long_frame

        return long_frame(self.offsets, self.nodes, self.tree.ids if ids else self.tree.names)

    # --- the four verbs -----------------------------------------------------------------------

    def matches(self, known_items: Iterable[str], taxonomy: Taxonomy | None = None) -> Matches:
        """Return the records that may belong to someone who holds all of `known_items`.

        A record's weight is the product over the known items of the chance that
        :meth:`sample_world` puts the item into the record. Where items may have been left out,
        every record is possible, and an item below none of its nodes weighs 1 / (all leaves).
        Where they were left out everywhere, an item below no published node says nothing about
        any record and weighs 1.
        """
        rows = self.distinct
        rows.check_sets(self.tree)
        weights = np.ones(len(rows))
        for way in self._ways(known_items, taxonomy):
            covered = rows.covered(way)
            if self.whole and not covered.any():
                continue
            elsewhere = 1 / self.tree.n_leaves if self.hides and not self.whole else 0.0
            weights *= np.where(covered, 1 - rows.absent([way]), elsewhere)
        spread = np.repeat(weights, rows.copies)
        records = np.flatnonzero(spread > 0)
        return Matches(records=records, weights=spread[records])

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support of `itemset` over all consistent originals.

        An item is certain in a record where a published node above it has as many published
        nodes below it as leaves. It is possible below a published node, and, where items may
        have been left out, everywhere; where they were left out everywhere, only an item below
        no published node of the release is. Both ends are attained.
        """
        rows = self.distinct
        rows.check_sets(self.tree)
        certain = np.ones(len(rows), dtype=bool)
        possible = np.ones(len(rows), dtype=bool)
        for way in self._ways(itemset, taxonomy):
            certain &= rows.absent([way]) == 0
            covered = rows.covered(way)
            if not self.hides or (self.whole and covered.any()):
                possible &= covered
        low, high = (int(rows.copies[held].sum()) for held in (certain, possible))
        return Bounds(low=low, high=high)

    def expected_support(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> float:
        """Return the exact mean of the support of `itemset` over :meth:`sample_world`.

        Inclusion and exclusion over the subsets of `itemset`: keep it to a handful of items.
        """
        ways = self._ways(itemset, taxonomy)
        rows = self.distinct
        rows.check_sets(self.tree)
        # No product of vectors: its threads wait for each other where cores are busy.
        return float((rows.copies * rows.joint(ways)).sum())

    def sample_world(
        self, rng: np.random.Generator, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Draw one original that the release allows; records come in the release's order.

        Every published node becomes one leaf below it, all of a record's leaves distinct, and
        every such choice is equally likely (deepest nodes first, each uniform over the leaves
        below it that the record does not use yet; a node's leaves never run out, because the
        nodes below it are served before it and count towards it). Nothing is invented for
        items that were left out. Items carry the ids of their nodes.
        """
        tree = taxonomy if taxonomy is not None else self.tree
        rows = self.distinct
        rows.check_sets(self.tree)
        return draw_leaves(tree, self.offsets, self.nodes_in(tree), rng)

    def is_consistent_with(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> bool:
        """Tell whether `original`, lined up by `key`, could have given this release."""
        if not fits_key(self, original, key):
            return False
        held, published = self.items_below(original, key, taxonomy)
        if self.hides and not self.whole:
            return bool(np.all(held >= published))
        record = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        covered = np.bincount(record, weights=held, minlength=len(self))
        shown = self._shown(original, taxonomy)
        items = np.concatenate([[0], np.cumsum(shown[original.items])])[original.offsets]
        return bool(np.all(held >= 1) and np.all(covered == np.diff(items)[key.records]))

    def _shown(
        self, original: TransactionTable, taxonomy: Taxonomy | None
    ) -> npt.NDArray[np.bool_]:
        """Tell which items of a table a record that holds them must show by a node above them."""
        if not self.whole:
            return np.ones(original.n_items, dtype=bool)
        tree = taxonomy if taxonomy is not None else self.tree
        below = np.zeros(len(tree) + 1, dtype=np.int64)
        for v in occurring(self.nodes_in(tree)).tolist():
            below[v : tree.ends[v]] = 1
        shown = np.zeros(original.n_items, dtype=bool)
        items, leaves = self.leaves_of(original, tree)
        shown[items] = below[leaves] > 0
        return shown

    def items_below(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> tuple[Int64Array, Int64Array]:
        """Return for each published item what lies below it in its record.

        First the number of original items, found through `key`, then the number of published
        ones, itself included; both lined up with ``nodes``.
        """
        if not fits_key(self, original, key):
            raise InputError(
                f"the key does not belong to this release of {len(self)} records and this "
                f"original of {len(original)}",
                fix="give the key that was written with the release",
            )
        tree = taxonomy if taxonomy is not None else self.tree
        nodes = self.nodes_in(tree)
        ordered = original.take(key.records)
        leaf = np.full(original.n_items, -1, dtype=np.int64)
        found, leaves = self.leaves_of(ordered, tree)
        leaf[found] = leaves
        # Record and node in one number: what lies below a node is an interval.
        width = np.int64(len(tree) + 1)
        start = np.repeat(np.arange(len(self)) * width, np.diff(self.offsets))
        low, high = start + nodes, start + tree.ends[nodes]
        items = np.repeat(np.arange(len(ordered)) * width, ordered.lengths) + leaf[ordered.items]
        held, published = (
            np.searchsorted(every, high) - np.searchsorted(every, low)
            for every in (np.sort(items), np.sort(low))
        )
        return held, published

    # --- the records in one shape ---------------------------------------------------------------

    def published_rows(self) -> PublishedRows:
        """Return the records as sets of numbers, those of the tree's nodes."""
        offsets, items = distinct_in_rows(self.offsets, self.nodes)
        return PublishedRows(
            offsets=offsets,
            items=items,
            names=self.tree.names,
            ids=self.tree.ids,
            exact=self.tree.is_leaf,
            finder=TreeItems(self.tree),
        )

    def rows_with_repeats(self) -> tuple[Int64Array, Int32Array, tuple[str, ...]]:
        """Return the records as bags of nodes."""
        return self.offsets, self.nodes, self.tree.names

    def items_taken(self, rows: PublishedRows) -> tuple[Int64Array, Int64Array]:
        """Return the nodes' leaves, and for each entry the published nodes at or below it.

        Where more nodes stand below one than it has leaves, originals held some items twice:
        then nothing is said of entries.
        """
        taken = np.ones(len(rows.items), dtype=np.int64)
        if self.distinct.of_sets:
            width = np.int64(len(self.tree) + 1)
            every = np.repeat(np.arange(len(self)), np.diff(self.offsets)) * width + self.nodes
            low = np.repeat(np.arange(len(rows)), rows.lengths) * width
            ends = np.searchsorted(every, low + self.tree.ends[rows.items])
            taken = ends - np.searchsorted(every, low + rows.items)
        return self.tree.leaves, taken

    def image_finder(
        self, rows: PublishedRows, taxonomy: Taxonomy | None = None
    ) -> Callable[[str], int | None]:
        """Return what tells the only published node above an item."""
        tree = self.tree if taxonomy is None else taxonomy
        is_published = rows.supports() > 0
        # A published node that the taxonomy lacks would let its items pass as suppressed.
        self._check_same(np.flatnonzero(is_published), tree)
        number = self._numbers

        def image(item: str) -> int | None:
            try:
                leaf = int(tree.leaf_of([item])[0])
                if taxonomy is None:
                    TreeItems(tree).leaf(item)  # refuses a name that readers see on several items
            except InputError as error:
                if taxonomy is not None:
                    raise
                raise _unplaced(error) from None
            above = [
                v for node in tree.ancestors(leaf) if (v := number.get(tree.ids[node])) is not None
            ]
            nodes = [v for v in above if is_published[v]]
            if len(nodes) > 1:
                raise NotApplicable(
                    f"the item {item!r} is published in several ways: as {rows.names[nodes[0]]!r} "
                    f"and as {rows.names[nodes[1]]!r}",
                    fix="ask this of releases that give every item one image",
                )
            return nodes[0] if nodes else None

        return image

    def as_nodes(self) -> GeneralizedRelease:
        """Return the release itself."""
        return self

    # --- what became of the items ---------------------------------------------------------------

    def images(
        self, original: TransactionTable, key: Key | None = None, taxonomy: Taxonomy | None = None
    ) -> Images:
        """Return the images of all original occurrences; see :meth:`Release.images`."""
        width, total = len(self.tree), len(original.items)
        if self.hides and not self.whole:
            counts = np.bincount(self.nodes, minlength=width)
        elif taxonomy is not None and len(self) == len(original) and self.is_antichain:
            image = self.tops(original, taxonomy)[original.items]
            counts = np.bincount(image[image >= 0], minlength=width)
        elif taxonomy is not None and key is not None:
            below, _ = self.items_below(original, key, taxonomy)
            counts = np.zeros(width, dtype=np.int64)
            np.add.at(counts, self.nodes, below)
        else:
            raise NotApplicable(
                "several items may share a published node, so the loss needs to know whose it is",
                fix="give the key and the taxonomy",
            )
        return Images(
            leaves=self.tree.leaves,
            occurrences=counts,
            lost=total - int(counts.sum()),
            n_leaves=self.tree.n_leaves,
        )

    def certain_items(self, taxonomy: Taxonomy | None = None) -> CertainItems:
        """Return published leaves, and those below nodes that take all their leaves."""
        tree = self.tree if taxonomy is None else taxonomy
        number = {name: v for v, name in enumerate(tree.ids)}
        distinct = self.distinct
        sure = np.flatnonzero(distinct.free == distinct.taken)
        node = np.searchsorted(distinct.starts, sure, side="right") - 1
        leaves = {
            v: _leaves_below(tree, number.get(self.tree.ids[v])) for v in np.unique(node).tolist()
        }
        below = [leaves[v] for v in node.tolist()]
        row = np.repeat(distinct.rows[sure], [len(each) for each in below])
        leaf = np.concatenate([np.zeros(0, dtype=np.int64), *below])
        keys = np.unique(row * np.int64(len(tree) + 1) + leaf)
        row, leaf = np.divmod(keys, len(tree) + 1)
        starts = np.searchsorted(row, np.arange(len(distinct) + 1))
        of_record = np.repeat(np.arange(len(distinct)), distinct.copies)
        offsets, items = take_rows(starts, leaf, of_record)
        item = np.where(tree.pseudo, tree.parents, np.arange(len(tree)))
        return CertainItems(
            offsets=offsets, items=items, names=tuple(tree.ids[v] for v in item.tolist())
        )

    def certain_table(
        self, original: TransactionTable, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Return the records with the items below nodes that take all their leaves.

        >>> from setveil import Taxonomy
        >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
        >>> table = TransactionTable.from_rows([["a", "b", "c"]])
        >>> pair = tree.node("group 1.1")
        >>> release, _ = publish_groups(tree, group_offsets=[0, 3], group_of=[0], hides=True,
        ...                             group_nodes=[pair, pair, tree.node("group 1.2")])
        >>> release.certain_table(table, tree).to_rows()  # two of two, but one of c and d
        [['a', 'b']]
        """
        rows = self.distinct
        rows.check_sets(self.tree)
        by_node = np.repeat(np.arange(len(self.tree)), np.diff(rows.starts))
        full = rows.free <= rows.taken  # as many published as there are leaves
        items = self._up_to(original, taxonomy, np.arange(len(self.tree), dtype=np.int32))
        pairs = []
        for v in np.unique(by_node[full]).tolist():
            held = np.flatnonzero((items >= v) & (items < self.tree.ends[v]))
            where = rows.rows[full & (by_node == v)]
            pairs.append(np.repeat(where, len(held)) * original.n_items + np.tile(held, len(where)))
        keys = np.unique(np.concatenate(pairs)) if pairs else np.empty(0, dtype=np.int64)
        width = np.int64(max(original.n_items, 1))
        distinct = TransactionTable(
            offsets=np.searchsorted(keys, np.arange(len(rows) + 1) * width),
            items=(keys % width).astype(np.int32),
            vocabulary=original.vocabulary,
        )
        return distinct.take(np.repeat(np.arange(len(rows)), rows.copies))

    def shown_classes(
        self, original: TransactionTable, taxonomy: Taxonomy | None = None
    ) -> ShownClasses:
        """Return the records over the highest published nodes."""
        tree, highest = self.tree, self._highest
        tops = self.tops(original, taxonomy).tolist()
        return ShownClasses(
            table=TransactionTable.from_csr(self.offsets, highest[self.nodes], tree.ids),
            names=tuple(tree.ids[v] if v >= 0 else None for v in tops),
            exact=tuple(v >= 0 and int(tree.leaves[v]) == 1 for v in tops),
            complete=self.whole or not self.hides,
        )

    def leaves_published(self) -> Int64Array:
        """Return for each published node of each record how many leaves it has."""
        return self.tree.leaves[self.nodes]

    def leaves_in_all(self, original: TransactionTable) -> int:
        """Return how many leaves the tree has."""
        return self.tree.n_leaves

    def nodes_published(
        self, tree: Taxonomy, rng: np.random.Generator
    ) -> tuple[Int64Array, Int64Array]:
        """Return the records as nodes of the whole tree."""
        used = occurring(self.nodes)
        self._check_same(used, tree)
        place = {node_id: v for v, node_id in enumerate(tree.ids)}
        here = np.zeros(len(self.tree), dtype=np.int64)
        here[used] = [place[self.tree.ids[v]] for v in used.tolist()]
        return self.offsets, here[self.nodes]

    @property
    def is_antichain(self) -> bool:
        """Whether no published node lies above another."""
        used = occurring(self.nodes)
        return bool(np.all(self.tree.ends[used[:-1]] <= used[1:]))

    def tops(self, original: TransactionTable, taxonomy: Taxonomy | None) -> Int32Array:
        """Return for each original item the highest published node above it, or -1."""
        return self._up_to(original, taxonomy, self._highest)

    @cached_property
    def _highest(self) -> Int32Array:
        """For each node of the tree the highest published one at or above it, or -1."""
        highest = np.full(len(self.tree), -1, dtype=np.int32)
        for v in occurring(self.nodes).tolist():  # in preorder: whoever is above comes first
            if highest[v] < 0:
                highest[v : self.tree.ends[v]] = v
        return highest

    def _up_to(
        self, original: TransactionTable, taxonomy: Taxonomy | None, marks: Int32Array
    ) -> Int32Array:
        """Return for each item the mark of the lowest node of the release's tree above it."""
        whole = self.tree if taxonomy is None else taxonomy
        if taxonomy is not None:
            self._check_same(occurring(self.nodes), taxonomy)
        result = np.full(original.n_items, -1, dtype=np.int32)
        number = self._numbers
        for item in np.flatnonzero(original.supports()).tolist():
            way = whole.ancestors(int(self._leaves([original.vocabulary[item]], whole)[0]))
            above = (number[whole.ids[v]] for v in way if whole.ids[v] in number)
            node = next(above, None)
            if node is not None:
                result[item] = marks[node]
        return result

    def _check_same(self, nodes: Int64Array, whole: Taxonomy) -> None:
        """Refuse a taxonomy that does not have the published nodes as the release has them."""
        leaves = dict(zip(whole.ids, whole.leaves.tolist(), strict=True))
        for v in nodes.tolist():
            if leaves.get(self.tree.ids[v]) != int(self.tree.leaves[v]):
                raise InputError(
                    f"the taxonomy does not hold the published node {self.tree.ids[v]!r} as the "
                    "release does",
                    fix="give the taxonomy the release was made with, for_items(all items) "
                    "included",
                )

    # --- finding items and nodes ----------------------------------------------------------------

    def _ways(self, items: Iterable[str], taxonomy: Taxonomy | None) -> list[Way]:
        """Return for each distinct item the published tree's nodes from the root down to it."""
        return [self._way(item, taxonomy) for item in dict.fromkeys(items)]

    def _way(self, item: str, taxonomy: Taxonomy | None) -> Way:
        tree = self.tree
        if taxonomy is None:
            return tuple(reversed(tree.ancestors(int(self._leaves([item], tree)[0]))))
        leaf = int(self._leaves([item], taxonomy)[0])
        above = (self._numbers.get(taxonomy.ids[v]) for v in reversed(taxonomy.ancestors(leaf)))
        return tuple(v for v in above if v is not None)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {node_id: v for v, node_id in enumerate(self.tree.ids)}

    def _leaves(self, items: list[str], tree: Taxonomy) -> Int32Array:
        if tree is not self.tree:
            return tree.leaf_of(items)
        try:
            return tree.leaf_of(items)
        except InputError as error:
            raise _unplaced(error) from None

    def leaves_of(self, table: TransactionTable, tree: Taxonomy) -> tuple[Int64Array, Int32Array]:
        """Return the items that occur in a table, and their leaves."""
        items = occurring(table.items)
        return items, self._leaves([table.vocabulary[i] for i in items.tolist()], tree)

    def nodes_in(self, tree: Taxonomy) -> Int32Array:
        """Return the published nodes as numbers of `tree`, which must be the whole tree."""
        if tree is self.tree:
            place = np.arange(len(tree), dtype=np.int32)
        else:
            place = np.full(len(self.tree), -1, dtype=np.int32)
            for number, node_id in enumerate(tree.ids):
                place[self._numbers.get(node_id, 0)] = number
            place[0] = 0 if tree.ids[0] == self.tree.ids[0] else -1
        used = occurring(self.nodes)
        for v in used[place[used] < 0].tolist():
            raise InputError(
                f"the published node {self.tree.ids[v]!r} is not in the taxonomy",
                fix="give the taxonomy the release was made with",
            )
        for v in used[tree.leaves[place[used]] != self.tree.leaves[used]].tolist():
            raise InputError(
                f"the node {self.tree.ids[v]!r} has {self.tree.leaves[v]} leaves in the release "
                f"and {tree.leaves[place[v]]} in the taxonomy",
                fix="give the taxonomy the release was made with, for_items(all items) included",
            )
        return place[self.nodes]


def _unplaced(error: InputError) -> NotApplicable:
    return NotApplicable(
        f"the release alone does not say where an item belongs ({error.what})",
        fix="give the taxonomy the release was made with",
    )


def _leaves_below(tree: Taxonomy, node: int | None) -> Int64Array:
    """Return the leaves below a node; a node that the tree does not have has none."""
    if node is None:
        return np.zeros(0, dtype=np.int64)
    return node + np.flatnonzero(tree.is_leaf[node : tree.ends[node]])


def publish_groups(
    taxonomy: Taxonomy,
    *,
    group_offsets: npt.ArrayLike,
    group_nodes: npt.ArrayLike,
    group_of: npt.ArrayLike,
    hides: bool,
) -> tuple[GeneralizedRelease, Key]:
    """Publish every record as the nodes of its group, in canonical order, beside the key.

    Parameters
    ----------
    taxonomy
        The tree that `group_nodes` numbers, with a leaf for every item.
    group_offsets, group_nodes
        Group `g` publishes ``group_nodes[group_offsets[g]:group_offsets[g + 1]]``, in any order.
    group_of
        The group of each original record, in the order of the table that was given.
    hides
        Whether items may have been left out; see :class:`GeneralizedRelease`.

    Returns
    -------
    tuple of GeneralizedRelease and Key
        What may be published, and which original stands behind each published record.

    Examples
    --------
    >>> from setveil import Taxonomy
    >>> tree = Taxonomy.balanced(["a", "b"])
    >>> release, key = publish_groups(tree, group_offsets=[0, 1, 3], group_nodes=[0, 2, 1],
    ...                               group_of=[0, 1, 0], hides=True)
    >>> release.to_rows(), key.records.tolist()
    ([['a', 'b'], ['group 1.1'], ['group 1.1']], [1, 0, 2])
    """
    offsets = np.asarray(group_offsets, dtype=np.int64)
    members = np.asarray(group_of, dtype=np.int64)
    lengths = np.diff(offsets)
    if len(members) and (members.min() < 0 or members.max() >= len(lengths)):
        raise ParameterError("a record belongs to a group that is not there")
    width = np.int64(len(taxonomy))
    keys = np.repeat(np.arange(len(lengths)) * width, lengths) + np.asarray(group_nodes)
    nodes = (np.sort(keys) % width).astype(np.int32)
    # Groups without records publish nothing, so their nodes must not enter the tree either.
    occupied = np.flatnonzero(np.bincount(members, minlength=len(lengths)))
    used_offsets, used = take_rows(offsets, nodes, occupied)
    tree, place = taxonomy.pruned(np.unique(used))
    renumbered = place[used]
    order = canonical_order(used_offsets, renumbered)
    rank = np.full(len(lengths), -1, dtype=np.int64)
    rank[occupied[order]] = np.arange(len(order))
    records = np.argsort(rank[members], kind="stable")
    row_offsets, row_nodes = take_rows(used_offsets, renumbered, order[rank[members[records]]])
    release = GeneralizedRelease(tree=tree, offsets=row_offsets, nodes=row_nodes, hides=hides)
    return release, Key(records=records)
