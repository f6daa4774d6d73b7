"""Anatomy: groups of records with different sensitive items, published apart from the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import silent
from setveil.anonymize.groups.cahd import grouping_log, split_feasible
from setveil.core.params import group_size
from setveil.core.registry import register
from setveil.core.table import take_rows
from setveil.guarantee.privacy_degree import PrivacyDegree
from setveil.release.base import Anonymization
from setveil.release.grouped import publish_grouped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

    Rows = tuple[Int64Array, Int32Array]

XIAO_2006 = """
@inproceedings{xiao2006anatomy,
  author    = {Xiao, Xiaokui and Tao, Yufei},
  title     = {Anatomy: Simple and Effective Privacy Preservation},
  booktitle = {Proceedings of the 32nd International Conference on Very Large Data Bases},
  pages     = {139--150}, year = {2006}
}
"""


@register("anonymizer", "anatomy", paper="Xiao & Tao 2006", bibtex=XIAO_2006)
@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """Group records with different sensitive items; publish these apart, for the group.

    Again and again l records are put into a group, each with one of the sensitive items that are
    in most of the records left. Published are two lists: the records' ordinary items with their
    group, and for each group the sensitive parts of its records. Which record is drawn for an
    item is left to chance, so the ordinary items of a group have nothing in common: for those
    who ask about sensitive and ordinary items together, CAHD loses less.

    Parameters
    ----------
    l
        In each group at most one record in `l` holds any one sensitive item.

    Notes
    -----
    Anatomy is about tables in which every record has one sensitive value. A record here has a
    *set* of sensitive items, often none. What is published for a group is the bag of these sets;
    what is limited is each *item*, not each set: otherwise {flu, hiv} and {gout, hiv} would be
    two values, and hiv certain. Records without sensitive items have no value to hide, and fill
    groups when different items run out; what is left of them is one group. Where each record has
    one sensitive item at most, all of this is Anatomy as printed. Where records have several, the
    greedy choice may get stuck; a group is therefore made only if what is left could still be a
    single group, and becomes one if nothing better is found.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([
    ...     ["wine", "flu"], ["cream", "flu"], ["meat", "gout"], ["beer", "hiv"]])
    >>> made = Anatomy(l=2).anonymize(table, sensitive=["flu", "gout", "hiv"],
    ...                               rng=np.random.default_rng(0))
    >>> for group in made.release.groups:
    ...     print(group.rows, group.histogram)
    (('beer',), ('cream',)) {'flu': 1, 'hiv': 1}
    (('meat',), ('wine',)) {'flu': 1, 'gout': 1}

    References
    ----------
    X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006.
    """

    called: ClassVar[str] = "sensitive items shown for mixed groups"
    requires: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    accepts: ClassVar[frozenset[str]] = frozenset({"rng"})

    l: int = group_size(least=2, doc="at most one record in l of a group holds a sensitive item")

    def anonymize(
        self,
        table: TransactionTable,
        *,
        sensitive: Iterable[str],
        rng: np.random.Generator | None = None,
        engine: Engine | None = None,  # groups are made one after the other
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the grouped release of `table`, its key and its promise.

        Without `rng` records are drawn by the operating system's randomness.

        Raises
        ------
        InfeasibleError
            More than one in `l` of all records hold some sensitive item.
        """
        names, split = split_feasible(table, sensitive, self.l, letter="l")
        report = progress or silent
        report("grouping", 0, len(table))
        generator = np.random.default_rng() if rng is None else rng
        shuffled = generator.permutation(len(table))
        found = spread(take_rows(*split.secret, shuffled), self.l)
        group_of = np.empty(len(table), dtype=np.int64)
        group_of[split.order[shuffled]] = found
        report("grouping", len(table), len(table))
        release, key = publish_grouped(table, group_of, names, whole=True)
        left = np.flatnonzero(found < 0)
        secret = np.diff(split.secret[0])[shuffled[left]]
        log, figures = grouping_log(group_of, len(left), int(np.count_nonzero(secret)))
        return Anonymization(
            release=release,
            key=key,
            promise=PrivacyDegree(p=self.l, sensitive=names),
            log=log,
            figures=figures,
        )


def spread(secret: Rows, size: int) -> Int64Array:
    """Return the group of each record, -1 for those that are left over.

    Those left over can be one group. Where they have sensitive items, they are first tried as
    groups of their own whose residues join groups that lack their items; this succeeds wherever
    no record has two sensitive items.

    Six records with a, b and c twice each, in groups of two or more:

    >>> rows = np.arange(7), np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    >>> np.bincount(spread(rows, 2)).tolist()
    [2, 2, 2]
    """
    from setveil.anonymize.groups.group_kernels import spread_groups

    group_of: Int64Array = spread_groups(*secret, size, True)
    left = np.flatnonzero(group_of < 0)
    offsets, items = take_rows(*secret, left)
    if not len(items):
        return group_of
    more = spread_groups(offsets, items, size, False)
    made = int(group_of.max(initial=-1)) + 1
    tried = group_of.copy()
    tried[left[more >= 0]] = made + more[more >= 0]
    return tried if _join(tried, secret) else group_of


def _join(group_of: Int64Array, secret: Rows) -> bool:
    """Let each record left over with sensitive items join a group that lacks them, if all can."""
    offsets, items = secret
    held: list[set[int]] = [set() for _ in range(int(group_of.max(initial=-1)) + 1)]
    for record in np.flatnonzero(np.diff(offsets)).tolist():
        if group_of[record] >= 0:
            held[group_of[record]].update(items[offsets[record] : offsets[record + 1]].tolist())
    for record in np.flatnonzero((group_of < 0) & (np.diff(offsets) > 0)).tolist():
        own = set(items[offsets[record] : offsets[record + 1]].tolist())
        # The groups made last are those of the records that were left over.
        place = next((g for g in reversed(range(len(held))) if not own & held[g]), None)
        if place is None:
            return False
        group_of[record] = place
        held[place] |= own
    return True
