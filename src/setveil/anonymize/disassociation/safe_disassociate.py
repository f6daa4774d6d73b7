"""SafeDisassociate: disassociation without links that are certain; setveil's own variant."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from setveil.anonymize.base import MethodRole
from setveil.anonymize.disassociation.disassociation_method import DisassociationMethod
from setveil.core.params import share
from setveil.core.registry import register
from setveil.guarantee.safe_disassociated import SafeDisassociated

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.core.table import TransactionTable
    from setveil.engine.local import Engine
    from setveil.release.base import Anonymization


@register(
    "anonymizer",
    "safe-disassociate",
    paper="Awad, Al Bouna, Couchot & Philippe 2019",
    bibtex="""
    @article{awad2019safe,
      author  = {Awad, Nancy and Al Bouna, Bechara and Couchot, Jean-Fran{\\c c}ois
                 and Philippe, Laurent},
      title   = {Safe Disassociation of Set-Valued Datasets},
      journal = {Journal of Intelligent Information Systems},
      volume  = {53}, number = {3}, pages = {547--562}, year = {2019}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class SafeDisassociate(DisassociationMethod):
    """Disassociate, and delete occurrences where a cluster would give a link away.

    An item of a record chunk that all records of its cluster hold is linked with certainty to
    whatever else is published of these records: the cover problem. Splitting by frequent items
    makes such clusters all the time. Here such an item is deleted from a few records, from those
    with the shortest sub-records and only where the sets of its chunk stay frequent; where that
    cannot be, it gets a chunk of its own or goes to the term chunk, whichever loses less. The term
    chunk hides how often it occurs.

    Parameters
    ----------
    k, m, max_cluster_size, refine
        As for :class:`~setveil.anonymize.Disassociate`.
    max_share
        Greatest share of the records of a cluster, or of a joint cluster, that may hold an item
        of its record chunks or shared chunks; 1 rules out certainty only. A cluster of n records
        keeps an item in a record chunk only if ``max_share`` times n is k or more.

    Notes
    -----
    Links inside a chunk are published as they are. Somebody who knows the method may guess from
    an item that is in as many records as are allowed that it was in more. Shared items come only
    from clusters that keep another item in their term chunk.

    Examples
    --------
    y is in all four records, so whoever has b has y. It is deleted from the longest.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["y", "a"], ["y", "a", "b"], ["y", "b"], ["y", "a"]])
    >>> made = SafeDisassociate(k=2, m=2).anonymize(table)
    >>> made.release.to_rows()
    [['a', 'y'], ['a', 'y'], ['a'], ['y'], ['b'], ['b']]
    >>> made.key.removed
    ((1, 'y'),)

    References
    ----------
    N. Awad, B. Al Bouna, J.-F. Couchot, L. Philippe: Safe Disassociation of Set-Valued Datasets.
    Journal of Intelligent Information Systems 53(3), 2019. They name partial suppression as the
    remedy; which occurrences are deleted is a derivation of our own.
    """

    called: ClassVar[str] = "records cut into pieces without certain links"
    role: ClassVar[MethodRole] = MethodRole(place=3)

    max_share: Fraction = share(
        Fraction(1),
        above=0,
        doc="greatest share of a cluster's records with an item of a chunk, 0 to 1",
        ladder=(None, 0.5, 0.25, 0.1),
    )

    def anonymize(
        self,
        table: TransactionTable,
        *,
        engine: Engine | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Anonymization:
        """Return the safe disassociated release of `table`, its key and its promise.

        Raises
        ------
        InfeasibleError
            A record has no items, or there are fewer than `k` records.
        """
        promise = SafeDisassociated(k=self.k, m=self.m, max_share=self.max_share)
        return self.made(table, promise, share=self.max_share, engine=engine, progress=progress)
