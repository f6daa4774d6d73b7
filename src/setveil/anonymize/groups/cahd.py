"""CAHD: groups of similar records that publish their sensitive items together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from setveil.anonymize.base import MethodRole
from setveil.anonymize.groups.degree_groups import BandMethod, band_groups_of, split_feasible
from setveil.core.literature import GHINITA_2008
from setveil.core.registry import register
from setveil.guarantee.privacy_degree import PrivacyDegree
from setveil.release.base import Anonymization
from setveil.release.grouped import publish_grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from setveil.core.table import TransactionTable
    from setveil.engine.local import Engine


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

    def anonymize(
        self,
        table: TransactionTable,
        *,
        sensitive: Iterable[str],
        engine: Engine | None = None,  # groups are made one after the other
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Anonymization:
        """Return the grouped release of `table`, its key and its promise.

        Raises
        ------
        InfeasibleError
            More than one in `p` of all records hold some sensitive item.
        """
        names, split = split_feasible(table, sensitive, self.p, letter="p")
        group_of, log, figures = band_groups_of(split, self.p, self.alpha, progress)
        release, key = publish_grouped(table, group_of, names)
        promise = PrivacyDegree(p=self.p, sensitive=names)
        return Anonymization(release=release, key=key, promise=promise, log=log, figures=figures)
