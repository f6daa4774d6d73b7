"""CAHD and Permutation: groups of similar records, which share or shuffle their sensitive items.

What all methods that group records share stands here too: the checks before the work, and groups
along a band.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from setveil.anonymize.base import MethodRole, check_sensitive, silent
from setveil.core.errors import InfeasibleError
from setveil.core.literature import GHINITA_2008
from setveil.core.params import checked, count, group_size
from setveil.core.registry import register
from setveil.core.table import canonical_order, take_rows
from setveil.core.words import some
from setveil.guarantee.privacy_degree import PrivacyDegree
from setveil.release.base import Anonymization, Step
from setveil.release.group_parts import split_rows
from setveil.release.grouped import deal, publish_grouped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine
    from setveil.release.base import Key
    from setveil.release.grouped import GroupedRelease

    Rows = tuple[Int64Array, Int32Array]


@checked
@dataclass(frozen=True, kw_only=True)
class BandMethod:
    """A method whose groups are made along a band: what all of them take.

    >>> BandMethod(p=4).alpha
    3
    >>> BandMethod(alpha=0)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: alpha is 0. To fix: use a whole number of at least 1.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"sensitive"})

    p: int = group_size(least=2, doc="at most one record in p of a group holds a sensitive item")
    alpha: int = count(
        3,
        doc="neighbours looked at on either side, as a multiple of p",
        ladder=(None, 10),  # changes how records are grouped, which an attack may feel
    )

    def anonymize(
        self,
        table: TransactionTable,
        *,
        sensitive: Iterable[str],
        engine: Engine | None = None,  # groups are made one after the other
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the grouped release of `table`, its key and its promise.

        Raises
        ------
        InfeasibleError
            More than one in `p` of all records hold some sensitive item.
        """
        names, split = split_feasible(table, sensitive, self.p, letter="p")
        group_of, log, figures = band_groups_of(split, self.p, self.alpha, progress or silent)
        release, key = self._publish(table, group_of, names)
        promise = PrivacyDegree(p=self.p, sensitive=names)
        return Anonymization(release=release, key=key, promise=promise, log=log, figures=figures)

    def _publish(
        self, table: TransactionTable, group_of: Int64Array, sensitive: tuple[str, ...]
    ) -> tuple[GroupedRelease, Key]:
        """Publish the ordinary items of each record, and for its group the sensitive items."""
        return publish_grouped(table, group_of, sensitive)


class Split(NamedTuple):
    """Records in canonical order, cut into their ordinary and their sensitive items.

    Sensitive items are numbered from 0, by name; ``order[i]`` is the place of row `i` in the
    table that was given.
    """

    order: Int64Array
    ordinary: Rows
    secret: Rows


def split_feasible(
    table: TransactionTable, sensitive: Iterable[str], degree: int, *, letter: str
) -> tuple[tuple[str, ...], Split]:
    """Return the sensitive items and the split records, or say why no grouping has the degree.

    All records as one group have it exactly if every sensitive item is in at most one record in
    `degree`, and no other grouping has more.
    """
    names = check_sensitive(table, sensitive)
    numbers = [table.vocabulary.number(name) for name in names]
    supports = table.supports()[numbers].tolist()
    frequent = [name for name, f in zip(names, supports, strict=True) if f * degree > len(table)]
    if frequent:
        most = len(table) // max(supports)
        raise InfeasibleError(
            f"{letter} is {degree}, but more than one in {degree} of the {len(table):,} records "
            f"hold {some(frequent)}",
            fix=(f"use {letter} of at most {most}, or " if most > 1 else "")
            + "leave these items out of the data, or do not call them sensitive",
        )
    order = table.canonical_order()
    mask = np.zeros(table.n_items, dtype=bool)
    mask[numbers] = True
    ordinary, (offsets, items) = split_rows(table.take(order), mask)
    place = (np.cumsum(mask) - 1).astype(np.int32)
    return names, Split(order, ordinary, (offsets, place[items]))


def band_order(ordinary: Rows) -> Int64Array:
    """Return an order of the records in which neighbours share items: reverse Cuthill–McKee.

    The graph has a node for each record and each item, and an edge for each occurrence. Two steps
    in it lead from a record to those that share an item with it, which are its neighbours in
    A·Aᵀ; that product, which a single common item makes dense, is never formed. Items that more
    than half of the records hold tell none of them apart and are left out.

    >>> band_order((np.array([0, 1, 2, 3, 4]), np.array([0, 1, 0, 1], dtype=np.int32))).tolist()
    [3, 1, 2, 0]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    offsets, items = ordinary
    n, n_items = len(offsets) - 1, int(items.max(initial=-1)) + 1
    common = np.bincount(items, minlength=n_items) * 2 > n
    kept = ~common[items]
    record = np.repeat(np.arange(n), np.diff(offsets))[kept]
    # scipy sorts the neighbours of a node by degree, one by one into place: numbered that way
    # they already are in order, and a frequent item takes linear instead of quadratic time.
    by_degree = np.argsort(np.bincount(record, minlength=n), kind="stable")
    place = np.empty(n, dtype=np.int32)
    place[by_degree] = np.arange(n, dtype=np.int32)
    ends, item = place[record], n + items[kept]
    edges = (np.concatenate([ends, item]), np.concatenate([item, ends]))
    ones = np.ones(len(edges[0]), dtype=np.int8)
    graph = csr_array((ones, edges), shape=(n + n_items, n + n_items))
    graph.sort_indices()
    nodes = reverse_cuthill_mckee(graph, symmetric_mode=True)
    return by_degree[nodes[nodes < n]]


def band_groups_of(
    split: Split, p: int, alpha: int, progress: Progress
) -> tuple[Int64Array, tuple[Step, ...], dict[str, int]]:
    """Return the group of each record of the table, the log, and figures about the groups."""
    from setveil.anonymize.groups.group_kernels import band_groups

    n = len(split.order)
    progress("ordering", 0, n)
    order = band_order(split.ordinary)
    offsets, items = take_rows(*split.ordinary, order)
    secret_offsets, secret_items = take_rows(*split.secret, order)
    # Of records that share equally many items: those with fewer items, then by name.
    lengths = np.diff(split.ordinary[0])
    by_name = canonical_order(*split.ordinary)
    rank = np.empty(n, dtype=np.int64)
    rank[by_name[np.argsort(lengths[by_name], kind="stable")]] = np.arange(n)
    progress("grouping", 0, n)
    found = band_groups(
        offsets, items, secret_offsets, secret_items, rank[order], p, min(alpha * p, n)
    )
    progress("grouping", n, n)
    group_of = np.empty(n, dtype=np.int64)
    group_of[split.order[order]] = found
    left = group_of < 0
    bare = int(np.count_nonzero(np.diff(secret_offsets)[found < 0]))
    return group_of, *grouping_log(group_of, int(np.count_nonzero(left)), bare)


def grouping_log(
    group_of: Int64Array, left: int, with_secret: int
) -> tuple[tuple[Step, ...], dict[str, int]]:
    """Return the log and the figures of a grouping with so many records left over."""
    made = int(group_of.max(initial=-1)) + 1
    log = [
        Step(
            action="group",
            subject=f"{len(group_of) - left:,} records in {made:,} groups",
            reason="no two records of a group share a sensitive item",
        )
    ]
    if left:
        log.append(
            Step(
                action="leave",
                subject=f"{left:,} records in one group, {with_secret:,} of them sensitive",
                reason="they are not needed elsewhere"
                if not with_secret
                else "any other group "
                "of them would leave a rest with too many of one sensitive item",
            )
        )
    return tuple(log), {"groups": made + bool(left), "left": left, "left_sensitive": with_secret}


@register("anonymizer", "cahd", paper="Ghinita, Tao & Kalnis 2008", bibtex=GHINITA_2008)
@dataclass(frozen=True, kw_only=True)
class CAHD(BandMethod):
    """Group similar records; publish ordinary items as they are, sensitive ones per group.

    Correlation-aware anonymization of high-dimensional data. Records are ordered such that
    neighbours share ordinary items (the matrix of records and items becomes a band). Each record
    with sensitive items is grouped with p − 1 of its αp neighbours on either side, those that
    share most ordinary items with it; no two of a group share a sensitive item. What is left is
    one group. A group's records are published without their sensitive items, and beside them
    how many records hold each.

    Parameters
    ----------
    p
        In each group at most one record in `p` holds any one sensitive item.
    alpha
        How far neighbours are looked for: among `alpha` · `p` records on either side.

    Notes
    -----
    Departures from print. Print accepts a group if every sensitive item stays below one in p of
    the records that were there *before* it: in the records {T}, {} and {S} with p = 2 it groups
    the first two and leaves {S} alone. Here the rest *after* the group counts, so what is left
    can always be one group. A record that has too few neighbours stays for others to choose, or
    is left over. Print orders by A·Aᵀ; here the graph of records and items takes its place (see
    `band_order`): groups are closer and memory is bounded. Of records that share equally many items
    those with fewer items are chosen, then by name.

    Examples
    --------
    The example of the paper:

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([
    ...     ["wine", "meat", "viagra"], ["wine", "meat"],
    ...     ["cream", "strawberries", "pregnancy test"], ["cream", "meat"],
    ...     ["wine", "meat", "strawberries"]])
    >>> made = CAHD(p=2).anonymize(table, sensitive=["viagra", "pregnancy test"])
    >>> for group in made.release.groups:
    ...     print(*group.rows, group.histogram)
    ('cream', 'meat') ('cream', 'strawberries') {'pregnancy test': 1}
    ('meat', 'wine') ('meat', 'wine') {'viagra': 1}
    ('meat', 'strawberries', 'wine') {}

    References
    ----------
    G. Ghinita, Y. Tao, P. Kalnis: On the Anonymization of Sparse High-Dimensional Data. ICDE 2008.
    """

    called: ClassVar[str] = "sensitive items shown for groups of similar records"
    role: ClassVar[MethodRole] = MethodRole(place=6)


ZHANG_2007 = """
@inproceedings{zhang2007aggregate,
  author    = {Zhang, Qing and Koudas, Nick and Srivastava, Divesh and Yu, Ting},
  title     = {Aggregate Query Answering on Anonymized Tables},
  booktitle = {Proceedings of the 23rd IEEE International Conference on Data Engineering},
  pages     = {116--125}, year = {2007}
}
"""


@register("anonymizer", "permutation", paper="Zhang, Koudas, Srivastava & Yu 2007",
          bibtex=ZHANG_2007)  # fmt: skip
@dataclass(frozen=True, kw_only=True)
class Permutation(BandMethod):
    """Group similar records and shuffle their sensitive parts within each group.

    Groups are made as by :class:`~setveil.anonymize.CAHD`. Then the sensitive parts of a
    group's records, the empty ones too, are dealt out to them at random. The deal is drawn from a
    hash of the groups' records and parts: it says nothing more about anybody, and whoever checks
    the release sees that nobody chose it. What is published looks like data: whole records that
    every tool reads, in which the ordinary part, and the sensitive part, of each is somebody's;
    that both are the same person's is chance. Sensitive items of one record stay together.

    Parameters
    ----------
    p
        In each group at most one record in `p` holds any one sensitive item.
    alpha
        How far neighbours are looked for: among `alpha` · `p` records on either side.

    Notes
    -----
    The paper permutes a number (a salary) within groups whose numbers lie far enough apart. A set
    has no such distance; here the groups hold each sensitive item at most once in `p` records.
    The groups are published too: without them nobody could tell what the records are worth.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["wine", "meat", "viagra"], ["wine"], ["wine", "meat"]])
    >>> made = Permutation(p=3).anonymize(table, sensitive=["viagra"])
    >>> made.release.to_rows()
    [['meat', 'wine'], ['meat', 'viagra', 'wine'], ['wine']]

    References
    ----------
    Q. Zhang, N. Koudas, D. Srivastava, T. Yu: Aggregate Query Answering on Anonymized Tables.
    ICDE 2007. The groups: G. Ghinita, Y. Tao, P. Kalnis: On the Anonymization of Sparse
    High-Dimensional Data. ICDE 2008.
    """

    called: ClassVar[str] = "sensitive items shuffled within groups"

    def _publish(
        self, table: TransactionTable, group_of: Int64Array, sensitive: tuple[str, ...]
    ) -> tuple[GroupedRelease, Key]:
        """Publish whole records, with the sensitive parts of each group dealt out at random."""
        listed, key = publish_grouped(table, group_of, sensitive, whole=True)
        return deal(listed), key
