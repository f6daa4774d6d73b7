"""HgHs: k^m-anonymity by generalizing to a cut and suppressing what still stands out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import check_enough, leaf_rows, shorten_log
from setveil.anonymize.km.cut_search import CutSearch
from setveil.anonymize.km.recoding import publish_image
from setveil.core.params import count, duration, group_size
from setveil.core.registry import register
from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.release.base import Anonymization, Step

if TYPE_CHECKING:
    from setveil.anonymize.km.cut_search import Cut
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

PAIRS = 500
"""Up to this many pairs of splits are looked at together; of more only a node and its child."""


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
        descent = Descent(search, deadline=deadline, progress=progress)
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
        progress: Progress | None,
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
            if self.progress:
                self.progress("splitting", len(cut.nodes), int(n_leaves))
            after = self._step(cut) or self._two_steps(cut)
            if after is None:
                break
            cut = after
        if self.progress:
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
