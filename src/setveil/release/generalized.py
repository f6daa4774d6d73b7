"""Releases whose items are nodes of a taxonomy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from setveil.core.arrays import (
    Int32Array,
    Int64Array,
    Signs,
    distinct_in_rows,
    kept_offsets,
    neighbour_order,
    occurring,
)
from setveil.core.errors import InputError, NotApplicable, ParameterError, ReleaseError
from setveil.core.table import TransactionTable, canonical_order, frozen, take_rows
from setveil.core.words import kept, number, plural
from setveil.release.account import (
    MOSTLY,
    NOTHING,
    Account,
    ChangedTerms,
    Content,
    GlobalRecoding,
    LocalRecoding,
    Occurrences,
    climb_to,
    count_emptied,
)
from setveil.release.base import Bounds, Key, Matches, Release, fits_key, unchecked_copy
from setveil.release.data_file import LabelledRows, long_frame
from setveil.release.export import (
    Export,
    Term,
    export_records,
)
from setveil.release.generalized_worlds import DistinctRows, Way, draw_leaves
from setveil.release.manifest import NODE, describe_tree, rebuild_tree
from setveil.release.views import (
    CertainItems,
    Images,
    LabelCounts,
    PublishedRows,
    ShownClasses,
    TreeItems,
    find_ambiguity,
    sums_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt
    import polars as pl

    from setveil.core.records import Records
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
    generalizes: ClassVar[bool] = True
    needs_taxonomy: ClassVar[bool] = True
    says_by_records: ClassVar[bool] = True

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
        fault = find_ambiguity(self.tree)
        if fault is not None:
            raise ParameterError(f"the tree is ambiguous: {fault}", fix="rename one of them")
        if np.any(self._neighbours > 0):
            raise ParameterError("the records are not in canonical order", fix=fix)

    def _check_whole(self, fix: str) -> None:
        if not self.hides:
            raise ParameterError("a release that hides nothing cannot hide it everywhere", fix=fix)
        used = self.used
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
        return list(LabelledRows(self.offsets, self.nodes, labels).rows())

    def to_frame(self, *, ids: bool = False) -> pl.DataFrame:
        """Return a long frame (``record``, ``item``); an empty record has one row, item null."""
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
            if self.whole and not np.isin(way, self.used).any():
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
            if not self.hides or (self.whole and np.isin(way, self.used).any()):
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
        shown = self._must_show(original, taxonomy)
        items = kept_offsets(original.offsets, shown[original.items])
        return bool(np.all(held >= 1) and np.all(covered == np.diff(items)[key.records]))

    def _must_show(
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
        if self.may_be_sets():
            width = np.int64(len(self.tree) + 1)
            every = np.repeat(np.arange(len(self)), np.diff(self.offsets)) * width + self.nodes
            low = np.repeat(np.arange(len(rows)), rows.lengths) * width
            ends = np.searchsorted(every, low + self.tree.ends[rows.items])
            taken = ends - np.searchsorted(every, low + rows.items)
        return self.tree.leaves, taken

    def may_be_sets(self) -> bool:
        """Tell whether no node takes more leaves than it has."""
        return self.distinct.of_sets

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
        self,
        original: Records,
        key: Key | None = None,
        taxonomy: Taxonomy | None = None,
        *,
        whole: Release | None = None,
    ) -> Images:
        """Return the images of all original occurrences; see :meth:`Release.images`."""
        whole = self if whole is None else whole
        held = original.occurrences()
        if self.hides and not self.whole:
            counts = whole.label_counts().occurrences
        elif taxonomy is not None and len(whole) == original.n_records and self.is_antichain:
            counts = sums_at(self.tops(original, taxonomy), held, len(self.tree))
        elif taxonomy is not None and key is not None:
            counts = whole.items_below_labels(original, key, taxonomy)  # type: ignore[arg-type]
        else:
            raise NotApplicable(
                "several items may share a published node, so the loss needs to know whose it is",
                fix="give the key and the taxonomy",
            )
        return Images(
            leaves=self.tree.leaves,
            occurrences=counts,
            lost=int(held.sum() - counts.sum()),
            n_leaves=self.tree.n_leaves,
        )

    def items_below_labels(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy
    ) -> Int64Array:
        """Return how many original items lie below each node in the records that publish it."""
        below, _ = self.items_below(original, key, taxonomy)
        return sums_at(self.nodes, below, len(self.tree))

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
        self, original: Records, taxonomy: Taxonomy | None = None
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

    def shown_classes(self, original: Records, taxonomy: Taxonomy | None = None) -> ShownClasses:
        """Return the records over the highest published nodes."""
        tree, highest = self.tree, self._highest
        tops = self.tops(original, taxonomy).tolist()
        return ShownClasses(
            table=TransactionTable.from_csr(self.offsets, highest[self.nodes], tree.ids),
            names=tuple(tree.ids[v] if v >= 0 else None for v in tops),
            exact=tuple(v >= 0 and int(tree.leaves[v]) == 1 for v in tops),
            complete=self.whole or not self.hides,
        )

    def label_counts(self) -> LabelCounts:
        """Return how often each node is published, its leaves and its level.

        An interior item that is published as itself is at its own level, not at that of its
        private leaf.
        """
        tree = self.tree
        counts = np.bincount(self.nodes, minlength=len(tree))
        return LabelCounts(counts, tree.leaves, tree.depths.astype(np.int64) - tree.pseudo)

    def with_records(self, offsets: Int64Array, items: Int32Array) -> Self:
        """Return other records over the same nodes; what is published stays as it is."""
        return unchecked_copy(self, keep=("used", "_highest"), offsets=offsets, nodes=items)

    def leaves_in_all(self, original: Records) -> int:
        """Return how many leaves the tree has."""
        return self.tree.n_leaves

    def nodes_published(
        self, tree: Taxonomy, rng: np.random.Generator
    ) -> tuple[Int64Array, Int64Array]:
        """Return the records as nodes of the whole tree."""
        used = self.used
        self._check_same(used, tree)
        place = {node_id: v for v, node_id in enumerate(tree.ids)}
        here = np.zeros(len(self.tree), dtype=np.int64)
        here[used] = [place[self.tree.ids[v]] for v in used.tolist()]
        return self.offsets, here[self.nodes]

    @property
    def is_antichain(self) -> bool:
        """Whether no published node lies above another."""
        return bool(np.all(self.tree.ends[self.used[:-1]] <= self.used[1:]))

    @cached_property
    def used(self) -> Int64Array:
        """The published nodes, ascending; of a part those of the whole release."""
        return occurring(self.nodes)

    def tops(self, original: Records, taxonomy: Taxonomy | None) -> Int32Array:
        """Return for each original item the highest published node above it, or -1."""
        return self._up_to(original, taxonomy, self._highest)

    @cached_property
    def _highest(self) -> Int32Array:
        """For each node of the tree the highest published one at or above it, or -1."""
        highest = np.full(len(self.tree), -1, dtype=np.int32)
        for v in self.used.tolist():  # in preorder: whoever is above comes first
            if highest[v] < 0:
                highest[v : self.tree.ends[v]] = v
        return highest

    def _up_to(self, original: Records, taxonomy: Taxonomy | None, marks: Int32Array) -> Int32Array:
        """Return for each item the mark of the lowest node of the release's tree above it."""
        whole = self.tree if taxonomy is None else taxonomy
        if taxonomy is not None:
            self._check_same(self.used, taxonomy)
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
        used = self.used
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

    # --- its bytes -----------------------------------------------------------------------------

    structure_fields: ClassVar[frozenset[str]] = frozenset(
        {"hides", "whole", "nodes", "parts", *NODE}
    )

    def data_rows(self) -> LabelledRows:
        """Return the records by the ids of their nodes."""
        return LabelledRows(self.offsets, self.nodes, self.tree.ids)

    def structure(self) -> dict[str, Any]:
        """Return the tree, and what may have been left out."""
        return {"hides": self.hides, "whole": self.whole, "nodes": describe_tree(self.tree)}

    @classmethod
    def rebuild(cls, rows: LabelledRows, structure: Mapping[str, Any]) -> Self:
        """Return the release of some records and a tree."""
        hides, whole = structure.get("hides"), structure.get("whole", False)
        if not isinstance(hides, bool) or not isinstance(whole, bool):
            raise ReleaseError("manifest.json is damaged: it does not say whether items are hidden")
        tree = rebuild_tree(structure.get("nodes"))
        numbers = {node_id: v for v, node_id in enumerate(tree.ids)}
        unknown = next((label for label in rows.labels if label not in numbers), None)
        if unknown is not None:
            raise ReleaseError(f"the data holds {unknown!r}, which is not in the release's tree")
        node_of = np.array([numbers[label] for label in rows.labels], dtype=np.int32)
        offsets, nodes = rows.offsets, node_of[rows.items]
        if structure.get("parts") is True:  # records in parts have no order, until here
            offsets, nodes = take_rows(offsets, nodes, canonical_order(offsets, nodes))
        if len(tree.pruned(np.unique(nodes))[0]) != len(tree):
            raise ReleaseError("the release's tree holds nodes that no record publishes")
        return cls(tree=tree, offsets=offsets, nodes=nodes, hides=hides, whole=whole)

    # --- its words -----------------------------------------------------------------------------

    def content(self) -> Content:
        """Return what the release shows of its items.

        >>> from setveil import Taxonomy
        >>> tree = Taxonomy.balanced(["apple", "pear", "plum"])
        >>> release, _ = publish_groups(tree, group_offsets=[0, 1], group_nodes=[0],
        ...                             group_of=[0, 0], hides=False)
        >>> release.content().sentence.partition(":")
        ('This release shows only which records have items', ':', " every item is replaced by the \
root of the taxonomy ('group 1.1'), which stands for any of 3 items.")
        """
        share = self.root_share
        if len(self) and not len(self.nodes):
            return Content(NOTHING, bare=True, root_share=share)
        root = f"the root of the taxonomy ({self.tree.names[0]!r})"
        stands = f"which stands for any of {plural(self.tree.n_leaves, 'item')}"
        if share == 1 and self.hides:
            said = (
                "This release shows only how many items a record has, at least: every published "
                f"item is {root}, {stands}."
            )
        elif share == 1:
            said = (
                "This release shows only which records have items: every item is replaced by "
                f"{root}, {stands}."
            )
        elif share >= MOSTLY:
            said = f"At least {kept(share)} of the published items are {root}, {stands}."
        else:
            said = ""
        return Content(said, bare=share == 1, root_share=share)

    def account_for(self, found: Occurrences, taxonomy: Taxonomy | None, k: int | None) -> Account:
        """Return what became of every original item, for the owner."""
        tree = self.tree if taxonomy is None else taxonomy
        leaf = np.zeros(found.original.n_items, dtype=np.int64)
        items, leaves = self.leaves_of(found.original, tree)
        leaf[items] = leaves
        nodes = self.nodes_in(tree).astype(np.int64)
        used = np.unique(nodes)
        if (self.whole or not self.hides) and np.all(tree.ends[used[:-1]] <= used[1:]):
            image = climb_to(tree, leaf[found.items], used)
            text = [
                name if v >= 0 and tree.leaves[v] == 1 else tree.names[v] if v >= 0 else ""
                for name, v in zip(found.names, image.tolist(), strict=True)
            ]
            return GlobalRecoding(
                found=found,
                shown=tuple(text),
                exact=(image >= 0) & (tree.leaves[image] == 1),
                emptied=count_emptied(self.offsets, found.original),
                k=k,
            ).account()
        width = np.int64(len(tree))
        published = np.repeat(np.arange(len(self)), np.diff(self.offsets)) * width + nodes
        # Record and node in one number: an entry climbs from its leaf to a node of its record.
        image = climb_to(tree, leaf[found.items][found.place], np.unique(published), found.row)
        return LocalRecoding(release=self, tree=tree, found=found, image=image).account()

    def changed_terms(self, most: int) -> list[ChangedTerms]:
        """Return which terms became more general most often."""
        tree = self.tree
        times = np.bincount(self.nodes, minlength=len(tree))
        general = np.flatnonzero((times > 0) & (tree.leaves > 1)).tolist()
        chosen = sorted(general, key=lambda node: (-times[node], node))[:most]
        rows = [
            [tree.names[node], number(int(times[node])), number(int(tree.leaves[node]))]
            for node in chosen
        ]
        how = (
            f"{plural(len(general), 'general term')} in all. A term stands for any of the items "
            "below it: the fewer these are, the more it still says."
        )
        return [ChangedTerms("Generalized most", ["term", "times", "items below it"], rows, how)][
            : len(rows)
        ]

    def export(self) -> Export:
        """Return the release as plain tables with their dictionary and an example."""
        tree = self.tree
        shown = _holders(self.offsets, self.nodes, len(tree))
        leaves = tree.leaves.tolist()
        terms = [
            Term(
                tree.ids[node],
                "item" if tree.is_leaf[node] else "category",
                "itself"
                if tree.is_leaf[node]
                else f"any of {plural(leaves[node], 'item')} below {tree.names[node]} in the "
                "taxonomy",
                int(shown[node]),
                int(shown[node]),
            )
            for node in np.flatnonzero(shown).tolist()
        ]
        if not self.hides:
            hidden = "Nothing was left out: every item of a person lies below a term of the record."
            stands = "one or more items"
        elif self.whole:
            hidden = (
                "Some items were removed from every record; all others lie below a term of the "
                "record."
            )
            stands = "one or more items"
        else:
            hidden = (
                "Items may have been left out of any record. A term may occur twice in a record."
            )
            stands = "exactly one item"
        return export_records(
            self,
            self.data_rows(),
            terms,
            meaning="Each record is one person's list of terms. A term is an item as it was, or a "
            f"category that stands for {stands} below it in the owner's taxonomy; the data does "
            f"not say which. {hidden}",
        )


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


def publish_recoded(
    taxonomy: Taxonomy, table: TransactionTable, image: npt.ArrayLike
) -> tuple[GeneralizedRelease, Key]:
    """Publish every record as the set of its items' images, in canonical order.

    Items that share an image are published once. Where an item that occurs is suppressed, the
    release says so (``hides`` and ``whole``); where none is, it hides nothing.

    Parameters
    ----------
    taxonomy
        The tree that `image` numbers, with a leaf for every item.
    table
        The original records.
    image
        For each item of the table's vocabulary the node that stands for it, or -1 where the
        item is suppressed. Each node lies above its item, none above another, and a suppressed
        item below none of them. Items that do not occur do not matter.

    Returns
    -------
    tuple of GeneralizedRelease and Key
        What may be published, and which original stands behind each published record.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    >>> table = TransactionTable.from_rows([["c"], ["a", "b", "d"], ["d"]])
    >>> pair = tree.node("group 1.1")
    >>> release, key = publish_recoded(tree, table, [pair, pair, -1, tree.node("d")])
    >>> release.to_rows(), key.records.tolist(), release.whole
    ([['group 1.1', 'd'], ['d'], []], [1, 2, 0], True)
    """
    nodes = _check_images(taxonomy, table, np.asarray(image))
    mapped = nodes[table.items]
    stays = mapped >= 0
    hides = not bool(stays.all())
    # Record and node in one number: one sort orders every record and lets equal images meet.
    width = np.int64(len(taxonomy))
    record = np.repeat(np.arange(len(table), dtype=np.int64), table.lengths)
    keys = np.sort(record[stays] * width + mapped[stays])
    keys = keys[np.diff(keys, prepend=-1) > 0]
    offsets = np.searchsorted(keys, np.arange(len(table) + 1) * width)
    tree, place = taxonomy.pruned(occurring(mapped[stays]))
    published = place[keys % width]
    order = canonical_order(offsets, published)
    row_offsets, row_nodes = take_rows(offsets, published, order)
    release = GeneralizedRelease(
        tree=tree, offsets=row_offsets, nodes=row_nodes, hides=hides, whole=hides
    )
    return release, Key(records=order)


def _check_images(
    taxonomy: Taxonomy, table: TransactionTable, image: npt.NDArray[np.generic]
) -> Int32Array:
    """Return the images as numbers, or say which item's is impossible."""
    whole_numbers = np.issubdtype(image.dtype, np.integer) or not image.size
    if image.shape != (table.n_items,) or not whole_numbers:
        raise ParameterError(
            f"the image has the type {image.dtype} and the shape {image.shape}",
            fix=f"give one node number for each of the {table.n_items} items of the vocabulary",
        )
    numbers = image.astype(np.int64)
    if numbers.min(initial=0) < -1 or numbers.max(initial=-1) >= len(taxonomy):
        raise ParameterError("an image is no node of the taxonomy", fix="use its numbers, or -1")
    nodes = numbers.astype(np.int32)
    items = occurring(table.items)
    if not len(items):
        return nodes
    leaves = taxonomy.leaf_of([table.vocabulary[i] for i in items.tolist()])
    own = nodes[items]
    used = np.unique(own[own >= 0])
    for v in used[:-1][taxonomy.ends[used[:-1]] > used[1:]].tolist():
        raise ParameterError(
            f"the image {taxonomy.names[v]!r} lies above another",
            fix="recode all items below a node to that node",
        )
    # Nodes of `used` are apart, so at most the last one that starts before a leaf lies above it.
    nearest = np.append(used, -1)[np.searchsorted(used, leaves, side="right") - 1]
    above = np.where((nearest >= 0) & (leaves < taxonomy.ends[nearest]), nearest, -1)
    wrong = np.flatnonzero(above != own)
    if len(wrong):
        item, node = table.vocabulary[int(items[wrong[0]])], int(own[wrong[0]])
        said = f"its image {taxonomy.names[node]!r} does not lie above it"
        if node < 0:
            said = f"it lies below the image {taxonomy.names[int(above[wrong[0]])]!r} of others"
        raise ParameterError(
            f"the item {item!r} cannot be recoded so: {said}",
            fix="give each item a node above it, the same for all items below that node",
        )
    return nodes


def _holders(offsets: Int64Array, items: np.typing.NDArray[np.int32], n: int) -> Int64Array:
    """Return how many rows hold each number; one that a row holds twice counts once."""
    row = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    pairs = np.unique(row * n + items) if len(items) else row
    return np.bincount(pairs % max(n, 1), minlength=n)
