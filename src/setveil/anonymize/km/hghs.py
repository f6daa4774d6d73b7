"""HgHs: k^m-anonymity by generalizing to a cut and suppressing what still stands out.

The cuts of the taxonomy, with what must be suppressed in them, are priced one split at a time
(:class:`CutSearch`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import check_enough, leaf_rows, shorten_log, silent
from setveil.anonymize.coherence.mole_kernels import COMPLETE, hit_all, minimal_moles
from setveil.anonymize.km.cut_kernels import rest_is_frequent, rows_of_split
from setveil.anonymize.km.km_method import publish_image
from setveil.core.arrays import Int64Array, distinct_in_rows, offsets_of
from setveil.core.params import count, duration, group_size
from setveil.core.registry import register
from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.release.base import Anonymization, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.anonymize.base import LeafRows
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

PAIRS = 500
"""Up to this many pairs of splits are looked at together; of more only a node and its child."""

LIMIT = 2_000_000
"""A split after which there are more threats than this is not made."""

WORK = 2_000_000_000
"""Nor one for which more places of records would have to be read to find them."""

SAFE_WORK = 50_000_000
"""The same where a single threat is enough to know."""

EMPTY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cut:
    """One node above each leaf that occurs, and the nodes among them that are suppressed.

    Parameters
    ----------
    nodes
        The nodes, ascending.
    threat_offsets, threats
        The minimal sets of them that some record holds, but fewer than k.
    suppressed, hits
        What hits all threats, in the order of choice, and how many threats each hit first.
    general
        What generalizing to the nodes costs.
    cost
        What that and the suppression cost together.
    """

    nodes: Int64Array
    threat_offsets: Int64Array
    threats: Int64Array
    suppressed: Int64Array
    hits: Int64Array
    general: int
    cost: int


class CutSearch:
    """The records of a problem, with all that stays the same from cut to cut.

    Costs are whole numbers, in units of 1 / (all leaves - 1): an occurrence below node v costs
    ``leaves(v) - 1`` where v is published, and the whole unit where v is suppressed. A node with
    one child that occurs is never in a cut, but this child in its place: it is held by the same
    records and says more.

    Examples
    --------
    >>> from setveil.anonymize.base import leaf_rows
    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.from_parents({"a": "A", "b": "A", "A": "*", "c": "*"})
    >>> table = TransactionTable.from_rows([["a"], ["b"], ["a", "c"]])
    >>> search = CutSearch(leaf_rows(table, tree), k=2, m=2)
    >>> top = search.start()
    >>> top.cost / search.unit, [tree.names[v] for v in search.splittable(top)]
    (4.0, ['*'])
    >>> below = search.split(top, 0)
    >>> below.cost / search.unit, [tree.names[v] for v in below.suppressed]
    (2.5, ['c'])
    """

    def __init__(self, rows: LeafRows, *, k: int, m: int | None) -> None:
        self.k, self.m = k, m
        self.tree = rows.taxonomy
        self.offsets, self.leaves = distinct_in_rows(rows.offsets, rows.leaves)
        n_nodes = len(self.tree)
        row = np.repeat(np.arange(len(rows), dtype=np.int64), np.diff(self.offsets))
        # Sixteen bits are sorted by their digits, in a tenth of the time.
        narrow = self.leaves.astype(np.min_scalar_type(n_nodes))
        self._holders = row[np.argsort(narrow, kind="stable")]
        self._holder_offsets = offsets_of(np.bincount(self.leaves, minlength=n_nodes))
        # Leaf occurrences below each node.
        self.occurrences = self._holder_offsets[self.tree.ends] - self._holder_offsets[:-1]
        self.unit = max(self.tree.n_leaves - 1, 1)
        self.generalizing = self.occurrences * (self.tree.leaves - 1)
        self.residual = self.occurrences * self.unit - self.generalizing
        self._seen = np.zeros(len(rows), dtype=bool)
        self._below: dict[int, Int64Array] = {}
        self._ranked: tuple[Cut | None, Int64Array, Int64Array] = None, EMPTY, EMPTY
        self.tried = 0

    def start(self) -> Cut:
        """Return the cut of the lowest node above all records."""
        if not len(self.leaves):
            return self._cut(EMPTY, np.zeros(1, dtype=np.int64), EMPTY)
        root = self._lowest(0)
        rare = np.count_nonzero(np.diff(self.offsets)) < self.k
        threats = np.array([root] if rare else [], dtype=np.int64)
        return self._cut(np.array([root], dtype=np.int64), np.arange(len(threats) + 1), threats)

    def splittable(self, cut: Cut) -> list[int]:
        """Return the nodes of a cut that have children, ascending."""
        return [v for v in cut.nodes.tolist() if len(self.children(v))]

    def children(self, node: int) -> Int64Array:
        """Return what a split puts in a node's place."""
        if node not in self._below:
            self._below[node] = np.array(
                [self._lowest(child) for child in self._occurring(node)], dtype=np.int64
            )
        return self._below[node]

    def _occurring(self, node: int) -> list[int]:
        found = []
        child, end = node + 1, int(self.tree.ends[node])
        while child < end:
            if self.occurrences[child]:
                found.append(child)
            child = int(self.tree.ends[child])
        return found

    def _lowest(self, node: int) -> int:
        while len(below := self._occurring(node)) == 1:
            node = below[0]
        return node

    def split(self, cut: Cut, node: int) -> Cut | None:
        """Return the cut with the children of `node` in its place; None if that is too much.

        Threats without the node stay as they are, and those with it go. New ones hold a child,
        so only records that hold the node are looked at.
        """
        self.tried += 1
        fresh = self._new_threats(cut, node)
        if fresh is None:
            return None
        lengths = np.diff(cut.threat_offsets)
        stays = np.ones(len(lengths), dtype=bool)
        stays[np.repeat(np.arange(len(lengths)), lengths)[cut.threats == node]] = False
        old = cut.threats[np.repeat(stays, lengths)]
        sizes = np.concatenate([lengths[stays], np.diff(fresh[0])])
        if len(sizes) > LIMIT:
            return None
        return self._cut(
            self._replaced(cut, node),
            offsets_of(sizes),
            np.concatenate([old, fresh[1]]),
        )

    def _cut(self, nodes: Int64Array, offsets: Int64Array, threats: Int64Array) -> Cut:
        suppressed, hits = hit_all(offsets, threats, self.residual)
        general = int(self.generalizing[nodes].sum())
        return Cut(
            nodes=nodes,
            threat_offsets=offsets,
            threats=threats,
            suppressed=suppressed,
            hits=hits,
            general=general,
            cost=general + int(self.residual[suppressed].sum()),
        )

    def cut_at(self, nodes: Sequence[int]) -> Cut:
        """Return the safe cut of some nodes and the leaves that lie below none of them."""
        free = self.occurrences * self.tree.is_leaf > 0
        for node in nodes:
            free[node : self.tree.ends[node]] = False
        lowest = [self._lowest(node) for node in nodes if self.occurrences[node]]
        chosen = np.union1d(np.flatnonzero(free), np.array(lowest, dtype=np.int64))
        return self._cut(chosen, np.zeros(1, dtype=np.int64), EMPTY)

    def safe_split(self, cut: Cut, node: int) -> Cut | None:
        """Return a cut without threats after a split; None if that would make one.

        Every new threat holds a child. The rarest child comes first: it has the fewest records to
        read and is the most likely to be in a threat.
        """
        children = self.children(node)
        if self.occurrences[children].min() < self.k:
            return None
        after = self._cut(self._replaced(cut, node), cut.threat_offsets, cut.threats)
        for child in children[np.argsort(self.occurrences[children], kind="stable")].tolist():
            found = self._moles(after, child, np.array([child]), limit=0, work=SAFE_WORK)
            if found[2] != COMPLETE:
                return None
        return after

    def _replaced(self, cut: Cut, node: int) -> Int64Array:
        """Return the nodes of a cut with the children of one in its place."""
        return np.sort(np.concatenate([cut.nodes[cut.nodes != node], self.children(node)]))

    def _new_threats(self, cut: Cut, node: int) -> tuple[Int64Array, Int64Array] | None:
        """Return the minimal threats with a child of `node`, or None if they are too many."""
        set_offsets, nodes, state = self._moles(
            cut, node, self.children(node), limit=LIMIT, work=WORK
        )
        if state != COMPLETE:
            return None
        if self.m is not None and self.m < 3:
            return set_offsets, nodes
        # What a threat holds beside its only child was not counted: it may be rare by itself.
        good = rest_is_frequent(
            self.offsets, self.leaves, self._holder_offsets, self._holders, self.tree.ends,
            node, int(self.tree.ends[node]), set_offsets, nodes, self.k, self._seen,
        )  # fmt: skip
        lengths = np.diff(set_offsets)
        return offsets_of(lengths[good]), nodes[np.repeat(good, lengths)]

    def _moles(
        self, cut: Cut, node: int, leading: Int64Array, *, limit: int, work: int
    ) -> tuple[Int64Array, Int64Array, int]:
        """Return the rare sets of some nodes, at or below `node`, and the rest of the cut.

        Each holds one of the leading nodes and is minimal but for what it holds beside them.
        """
        frequent, rank_of = self._ranks(cut)
        first, end = node, int(self.tree.ends[node])
        child_of = np.searchsorted(leading, np.arange(first, end), side="right") - 1
        holders = self._holders[self._holder_offsets[first] : self._holder_offsets[end]]
        offsets, items = rows_of_split(
            self.offsets, self.leaves, holders, first, end, child_of, len(leading), rank_of,
            self._seen,
        )  # fmt: skip
        longest = int(np.diff(offsets).max())
        p = longest if self.m is None else min(self.m, longest)
        set_offsets, sets, state = minimal_moles(
            offsets, items, len(leading) + len(frequent), EMPTY, EMPTY.astype(np.int32), 0,
            self.k, EMPTY, p, len(leading), limit, work,
        )  # fmt: skip
        return set_offsets, np.concatenate([leading, frequent])[sets], state

    def _ranks(self, cut: Cut) -> tuple[Int64Array, Int64Array]:
        """Return the nodes of a cut that are no threats, and for each leaf the place of its own."""
        if self._ranked[0] is not cut:
            single = cut.threats[cut.threat_offsets[:-1][np.diff(cut.threat_offsets) == 1]]
            frequent = np.setdiff1d(cut.nodes, single) if len(single) else cut.nodes
            nodes = np.arange(len(self.tree))
            rank_of = np.searchsorted(frequent, nodes, side="right") - 1
            if len(frequent):
                rank_of[nodes >= self.tree.ends[frequent[rank_of]]] = -1
            self._ranked = cut, frequent, rank_of
        return self._ranked[1], self._ranked[2]


@register(
    "anonymizer",
    "hghs",
    paper="Liu & Wang 2010",
    bibtex="""
    @inproceedings{liu2010anonymizing,
      author    = {Liu, Junqiang and Wang, Ke},
      title     = {Anonymizing Transaction Data by Integrating Suppression and Generalization},
      booktitle = {Advances in Knowledge Discovery and Data Mining (PAKDD)},
      pages     = {171--180},
      year      = {2010}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class HgHs:
    """Generalize to a cut of the taxonomy and suppress the nodes that are still in rare sets.

    A cut has one node above each item; all items are published as their node. A *threat* is a
    set of at most m nodes that some record holds, but fewer than k. The outer search starts with
    the root and splits the node whose split lowers the cost most, as long as one does; if none
    does, it looks one step further, at two splits at once. The inner search suppresses the node
    that is in most minimal threats for what its suppression costs, until none is left. So an
    outlier is suppressed instead of forcing everything up to the root.

    An occurrence costs LM = (leaves below its node - 1) / (all leaves - 1), or 1 where its node
    is suppressed.

    Parameters
    ----------
    k
        Least number of records with a set of published items.
    m
        Greatest number of items someone may know; None for any number.
    budget
        Seconds after which the search stops with the best cut so far, which keeps the promise
        too; None for no limit. A release depends on the clock only where the budget was reached.

    Notes
    -----
    Print charges suppression on top of generalization; we charge the rest up to 1, so that what
    is generalized and then suppressed counts once. Print walks a tree of suppression scenarios;
    a greedy hitting set over the minimal threats is its equivalent here. Suppression creates no
    threats, so they are listed once per cut, and a split changes only those with the node that
    is split.

    A split that once gained little is not asked about again until it is the best that is left:
    the search remembers what each was worth. Two splits at once are tried in all pairs while
    these are at most 500, and otherwise only for a node and one of its children. A node of
    which only one child occurs gives way to this child at once. A split after which the minimal
    threats would be too many to list is not made; the log says so. Ties go to the node that
    comes first in the taxonomy.

    Examples
    --------
    Table 2.2 of the thesis that borrows the paper's example. The outlier {e, i} would force all
    items up to the root; without e, the others need only little generalization:

    >>> from setveil import Taxonomy, TransactionTable
    >>> groups = {"P": "abcd", "Q": "fg", "M": "xyz", "T": ["e", "i", "P", "Q", "M"]}
    >>> tree = Taxonomy.from_parents({c: g for g, members in groups.items() for c in members})
    >>> records = ["bcd", "afg", "dfyz", "cdfx", "abcfg", "ei", "e", "i"]
    >>> table = TransactionTable.from_rows([list(record) for record in records])
    >>> result = HgHs(k=2, m=None).anonymize(table, taxonomy=tree)
    >>> for row in result.release.to_rows():
    ...     print(*row)
    M P f
    M P f
    P f g
    P f g
    P
    i
    i
    <BLANKLINE>
    >>> result.figures["cost"], [step.subject for step in result.log if step.action == "suppress"]
    (5.6, ['e'])

    References
    ----------
    J. Liu, K. Wang: Anonymizing transaction data by integrating suppression and generalization,
    PAKDD 2010.
    """

    called: ClassVar[str] = "broader terms, and rare combinations removed"
    requires: ClassVar[frozenset[str]] = frozenset({"taxonomy"})

    k: int = group_size(doc="least number of records with a set of items")
    m: int | None = count(
        2,
        doc="greatest number of items someone may know; none for any",
        ladder=(1, 2, 3),
        audited=2,
    )
    budget: float | None = duration(doc="seconds after which the search stops")

    def anonymize(
        self,
        table: TransactionTable,
        *,
        taxonomy: Taxonomy,
        engine: Engine | None = None,  # each split depends on the one before
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the k^m-anonymous release of `table`, its key and its promise."""
        started = time.monotonic()
        check_enough(table, self.k)
        rows = leaf_rows(table, taxonomy)
        search = CutSearch(rows, k=self.k, m=self.m)
        deadline = None if self.budget is None else started + self.budget
        descent = Descent(search, deadline=deadline, progress=progress or silent)
        cut = descent.run()
        tree = rows.taxonomy
        image = np.full(len(tree), -1, dtype=np.int32)
        for node in np.setdiff1d(cut.nodes, cut.suppressed).tolist():
            image[node : tree.ends[node]] = node
        release, key = publish_image(table, rows, image)
        longest = int(np.diff(release.offsets).max(initial=1))
        return Anonymization(
            release=release,
            key=key,
            promise=KmAnonymity(k=self.k, m=max(longest, 1) if self.m is None else self.m),
            log=shorten_log(self._log(search, cut, descent)),
            figures={
                "cost": cut.cost / search.unit,
                "cost_generalization": cut.general / search.unit,
                "cost_suppression": (cut.cost - cut.general) / search.unit,
                "splits_tried": search.tried,
            },
        )

    def _log(self, search: CutSearch, cut: Cut, descent: Descent) -> list[Step]:
        """Name what is suppressed, in the order of choice, then what is generalized."""
        tree = search.tree
        log = []
        if descent.out_of_time:
            log.append(
                Step(
                    action="stop",
                    subject=f"{len(cut.nodes):,} nodes",
                    reason=f"the budget of {self.budget:g} s was used up; a finer cut may exist",
                )
            )
        if descent.blocked:
            log.append(
                Step(
                    action="leave",
                    subject=f"{len(descent.blocked):,} nodes",
                    reason="the threats after a split are too many to list",
                )
            )
        for node, hits in zip(cut.suppressed.tolist(), cut.hits.tolist(), strict=True):
            log.append(
                Step(
                    action="suppress",
                    subject=tree.ids[node],
                    reason=f"it is in {hits:,} of the sets of fewer than {self.k} records that "
                    "were left",
                    cost=float(search.occurrences[node]),
                )
            )
        kept = np.setdiff1d(cut.nodes, cut.suppressed)
        kept = kept[search.generalizing[kept] > 0]
        log += [
            Step(
                action="generalize",
                subject=tree.ids[node],
                reason=f"it stands for {tree.leaves[node]:,} items; to split it would cost more",
                cost=float(search.generalizing[node] / search.unit),
            )
            for node in kept[np.argsort(-search.generalizing[kept], kind="stable")].tolist()
        ]
        return log


class Descent:
    """The outer search, from the root down, with what it has learned about splits."""

    def __init__(
        self,
        search: CutSearch,
        *,
        deadline: float | None,
        progress: Progress,
    ) -> None:
        self.search = search
        self.deadline = deadline
        self.progress = progress
        self.blocked: set[int] = set()
        self.out_of_time = False
        self._worth: dict[int, int] = {}

    def run(self) -> Cut:
        """Return the last cut from which no split, and no two splits, are cheaper."""
        cut = self.search.start()
        n_leaves = np.count_nonzero(self.search.occurrences[self.search.tree.is_leaf])
        while not self.out_of_time:
            self.progress("splitting", len(cut.nodes), int(n_leaves))
            after = self._step(cut) or self._two_steps(cut)
            if after is None:
                break
            cut = after
        self.progress("splitting", int(n_leaves), int(n_leaves))
        return cut

    def _late(self) -> bool:
        self.out_of_time = self.out_of_time or (
            self.deadline is not None and time.monotonic() > self.deadline
        )
        return self.out_of_time

    def _open(self, cut: Cut) -> list[int]:
        return [v for v in self.search.splittable(cut) if v not in self.blocked]

    def _ask(self, cut: Cut, node: int) -> Cut | None:
        """Split a node and remember what that is worth, or that it cannot be done."""
        after = None if self._late() else self.search.split(cut, node)
        if after is not None:
            self._worth[node] = after.cost - cut.cost
        elif not self.out_of_time:
            self.blocked.add(node)
        return after

    def _step(self, cut: Cut) -> Cut | None:
        """Return the cut after the best split if that is cheaper.

        Splits whose worth is only remembered are asked about when they seem the best; before
        the answer is no, all are asked.
        """
        best: tuple[int, Cut] | None = None
        fresh: set[int] = set()
        for node in self._open(cut):
            if node not in self._worth:
                best = self._better(best, node, self._ask(cut, node))
                fresh.add(node)
        while (nodes := self._open(cut)) and not self._late():
            node = min(nodes, key=lambda v: (self._worth[v], v))
            if node in fresh:
                stale = [v for v in nodes if v not in fresh]
                if not stale or self._worth[node] < 0:
                    break
                node = stale[0]
            best = self._better(best, node, self._ask(cut, node))
            fresh.add(node)
        return best[1] if best is not None and best[1].cost < cut.cost else None

    def _better(
        self, best: tuple[int, Cut] | None, node: int, after: Cut | None
    ) -> tuple[int, Cut] | None:
        if after is None or (best and (best[1].cost, best[0]) < (after.cost, node)):
            return best
        return node, after

    def _two_steps(self, cut: Cut) -> Cut | None:
        """Return the cut after the best two splits if that is cheaper."""
        nodes = self._open(cut)
        all_pairs = len(nodes) * (len(nodes) - 1) // 2 <= PAIRS
        best = None
        known = set(cut.nodes.tolist())
        for node in nodes:
            once = None if self._late() else self.search.split(cut, node)
            if once is None:
                continue
            for second in self._open(once):
                if second in known and not (all_pairs and second > node):
                    continue
                twice = None if self._late() else self.search.split(once, second)
                if twice is not None and twice.cost < (best or cut).cost:
                    best = twice
        return best
