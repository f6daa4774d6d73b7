"""LRA: k^m-anonymity slice by slice of the records, each with its own generalizations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import shorten_log, silent
from setveil.anonymize.km.apriori_km import Records, solve_parts, whole_cost
from setveil.anonymize.km.km_method import KmMethod, image_of, recodable_rows
from setveil.core.arrays import distinct_in_rows
from setveil.core.errors import InfeasibleError
from setveil.core.literature import TERROVITIS_2011
from setveil.core.params import count
from setveil.core.registry import register
from setveil.core.table import take_rows
from setveil.engine import Local
from setveil.release.base import Anonymization, Step
from setveil.release.generalized import publish_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil.anonymize.base import LeafRows
    from setveil.anonymize.km.apriori_km import Raised
    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

    Slice = tuple[int, int]


@register(
    "anonymizer",
    "lra",
    paper="Terrovitis, Mamoulis & Kalnis 2011",
    bibtex=TERROVITIS_2011,
)
@dataclass(frozen=True, kw_only=True)
class LRA(KmMethod):
    """Slice the records so that similar ones stay together; repair each slice on its own (LRA).

    The records are put into Gray order, where neighbours differ little, and cut into slices.
    Each slice is generalized as AprioriKm does it, so recoding is local: an item may be
    published as itself in one slice and as a category in another. A set of published nodes that
    occurs in a slice has at least k records there, so the whole keeps the promise too.

    Parameters
    ----------
    k
        Least number of records.
    m
        Greatest number of items someone may know.
    parts
        Number of slices, all of nearly one size; None halves slices as long as this pays.

    Notes
    -----
    The paper cuts slices of one size. But a smaller slice has fewer records to hide a rare set
    among, so slicing may cost more than it saves. By default the data is therefore one slice at
    first, and a slice is halved only if its halves together lose less (NCP) than it does: the
    loss is never above AprioriKm's.

    Gray order reads a record as a row of bits, one per item in the order of the taxonomy, so
    that records which hold items of the same branches are near each other.

    Examples
    --------
    One record has a2, so an a1 must be generalized with it, but not every a1:

    >>> from setveil import Taxonomy, TransactionTable
    >>> tree = Taxonomy.from_parents({"a1": "A", "a2": "A", "b1": "B", "b2": "B",
    ...                               "A": "ALL", "B": "ALL"})
    >>> table = TransactionTable.from_rows(
    ...     [["a1", "b1"], ["a2", "b1"], ["a1", "b2"], ["a1", "b2"]])
    >>> LRA(k=2, m=2).anonymize(table, taxonomy=tree).release.to_rows()
    [['A', 'b1'], ['A', 'b1'], ['a1', 'b2'], ['a1', 'b2']]

    References
    ----------
    M. Terrovitis, N. Mamoulis, P. Kalnis: Local and global recoding methods for anonymizing
    set-valued data, The VLDB Journal 20(1), 2011.
    """

    called: ClassVar[str] = "broader terms for rare combinations, slice by slice"
    distributed: ClassVar[str] = "setveil.spark.methods:sliced"

    parts: int | None = count(None, doc="number of slices; none: halved as long as this pays")

    def anonymize(
        self,
        table: TransactionTable,
        *,
        taxonomy: Taxonomy,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the k^m-anonymous release of `table`, its key and its promise."""
        rows = recodable_rows(table, taxonomy, self.k)
        # Canonical order puts the longest first, so records without items stand at the end.
        n_filled = int(np.count_nonzero(np.diff(rows.offsets)))
        self._check_parts(n_filled)
        order = np.arange(len(rows))
        order[:n_filled] = gray_order(rows.offsets[: n_filled + 1], rows.leaves)
        offsets, leaves = take_rows(rows.offsets, rows.leaves, order)
        work = _Slices(
            rows.taxonomy, offsets, leaves, self.k, self.m, engine or Local(), progress or silent
        )
        if self.parts is None:
            solved = work.halve(n_filled)
        else:
            borders = np.linspace(0, n_filled, self.parts + 1).astype(np.int64).tolist()
            solved = work.solve(list(pairwise(borders)))
        nodes = leaves.copy()
        for (first, last), raised in solved.items():
            inside = slice(offsets[first], offsets[last])
            nodes[inside] = image_of(rows.taxonomy, raised.nodes)[leaves[inside]]
        group_offsets, group_nodes = distinct_in_rows(offsets, nodes)
        group_of = np.empty(len(rows), dtype=np.int64)
        group_of[rows.order[order]] = np.arange(len(rows))
        release, key = publish_groups(
            rows.taxonomy,
            group_offsets=group_offsets,
            group_nodes=group_nodes,
            group_of=group_of,
            hides=False,
        )
        return Anonymization(
            release=release,
            key=key,
            promise=self.promise,
            log=_log(rows, solved),
            figures={"slices": len(solved)},
        )

    def share_of_slices(self, n_filled: int, total: int) -> LRA:
        """Return the method for some of `total` records: with their share of the slices.

        >>> LRA(k=5, parts=8).share_of_slices(25, 100).parts, LRA(k=5).share_of_slices(1, 2).parts
        (2, None)
        """
        if self.parts is None or not n_filled:
            return replace(self, parts=None)
        share = -(-self.parts * n_filled // total)
        return replace(self, parts=max(min(share, n_filled // self.k), 1))

    def _check_parts(self, n_filled: int) -> None:
        if self.parts is not None and 0 < n_filled < self.parts * self.k:
            most = n_filled // self.k
            raise InfeasibleError(
                f"{self.parts} slices of at least {self.k} records cannot be made of {n_filled} "
                "records with items",
                fix=f"use at most {most} part{'s' if most > 1 else ''}, or none",
            )


@dataclass(frozen=True, eq=False)
class _Slices:
    """Records in Gray order, of which slices from one place to another are solved."""

    tree: Taxonomy
    offsets: Int64Array
    leaves: Int32Array
    k: int
    m: int
    engine: Engine
    progress: Progress

    def solve(self, slices: list[Slice]) -> dict[Slice, Raised]:
        """Repair each slice on its own."""
        if not slices:
            return {}
        solved = solve_parts(self._records(slices), self.k, self.m, self.engine)
        return {slices[number]: raised for number, raised in sorted(solved.items())}

    def _records(self, slices: list[Slice]) -> Iterator[Records]:
        for number, (first, last) in enumerate(slices):
            self.progress("repairing slices", number, len(slices))
            start, end = self.offsets[first], self.offsets[last]
            yield Records(
                tree=self.tree,
                offsets=self.offsets[first : last + 1] - start,
                leaves=self.leaves[start:end],
                number=number,
            )

    def halve(self, n: int) -> dict[Slice, Raised]:
        """Halve the first `n` records and their halves as long as this costs less."""
        whole = (0, n)
        found = self.solve([whole])
        undecided = [whole]
        while undecided:
            middle = {s: (s[0] + s[1]) // 2 for s in undecided if s[1] - s[0] >= 2 * self.k}
            halves = {(a, b): ((a, middle[a, b]), (middle[a, b], b)) for a, b in middle}
            tried = self.solve([half for both in halves.values() for half in both])
            undecided = []
            for parent, both in halves.items():
                if sum(tried[half].cost for half in both) < found[parent].cost:
                    del found[parent]
                    found |= {half: tried[half] for half in both}
                    undecided += both
        return dict(sorted(found.items()))


def gray_order(offsets: Int64Array, items: Int32Array) -> Int64Array:
    """Return the order of sorted rows in which, read as Gray codes, they count upwards.

    Item 0 is the first bit. Among rows that share their first j items, those with the smaller
    next item come later if j is even and earlier if j is odd; a row that ends there has only
    zeros left, as if its next item were infinite.

    The rows {}, {0}, {1}, {0, 1} are the codes 00, 10, 01, 11:

    >>> gray_order(np.array([0, 0, 1, 2, 4]), np.array([0, 1, 0, 1], dtype=np.int32)).tolist()
    [0, 2, 3, 1]
    """
    n = len(offsets) - 1
    lengths = np.diff(offsets)
    # One byte string per row, big-endian so that bytes compare as numbers, falling items at even
    # places; a string that ends is smaller, so an odd row ends with a number above all items.
    width = lengths + lengths % 2
    ends = np.cumsum(width)
    starts = ends - width
    keyed = np.full(int(width.sum()), 0xFFFFFFFF, dtype=">u4")
    place = np.arange(len(items)) - np.repeat(offsets[:-1], lengths)
    at = np.repeat(starts, lengths) + place
    keyed[at] = np.where(place % 2 == 0, 0xFFFFFFFE - items.astype(np.int64), items)
    raw = keyed.tobytes()
    keys = [
        raw[start:end]
        for start, end in zip((starts * 4).tolist(), (ends * 4).tolist(), strict=True)
    ]
    return np.array(sorted(range(n), key=keys.__getitem__), dtype=np.int64)


def _log(rows: LeafRows, solved: dict[Slice, Raised]) -> tuple[Step, ...]:
    whole = whole_cost(rows.taxonomy, rows.leaves)
    log = [
        Step(
            action="slice",
            subject=f"{len(solved):,} slice{'s' if len(solved) > 1 else ''}",
            reason="records in Gray order, each slice generalized on its own",
        )
    ]
    for number, ((first, last), raised) in enumerate(solved.items()):
        where = f" of slice {number + 1} ({last - first:,} records)" if len(solved) > 1 else ""
        log += raised.steps(rows.taxonomy, whole, where)
    return shorten_log(log)
