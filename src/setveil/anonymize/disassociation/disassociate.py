"""Disassociate: all items stay as they are, but rare combinations are taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from setveil.anonymize.base import MethodRole
from setveil.anonymize.disassociation.disassociation_method import DisassociationMethod
from setveil.core.literature import TERROVITIS_2012
from setveil.core.registry import register
from setveil.guarantee.disassociated import Disassociated

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.core.table import TransactionTable
    from setveil.engine.local import Engine
    from setveil.release.base import Anonymization


@register(
    "anonymizer",
    "disassociate",
    paper="Terrovitis, Liagouris, Mamoulis & Skiadopoulos 2012",
    bibtex=TERROVITIS_2012,
)
@dataclass(frozen=True, kw_only=True)
class Disassociate(DisassociationMethod):
    """Publish every item, but cut records into pieces that show no rare set of items together.

    Nothing is generalized or left out: records are split into clusters by their most frequent
    items; in a cluster, items that are frequent together stay together in a record chunk, a bag
    of sub-records; rare items go to the cluster's term chunk, a plain set. Which pieces belonged
    to one record is not published. Items that are rare in one cluster but not in several are then
    published in chunks that these share.

    Parameters
    ----------
    k
        For any `m` items of a record, some original that the release allows has them in at least
        `k` records.
    m
        Greatest number of items somebody may know.
    max_cluster_size
        Parts of so many records or more are split further, as long as both sides have `k` records
        or more. By default 2k²: clusters then have about k² records, and an item of a record
        chunk that k of them hold is in any one record with probability 1/k.
    refine
        Whether items of term chunks are published in chunks that clusters share.

    Notes
    -----
    Departures from print. Print may leave clusters below k; here a part whose split would do so
    stays whole if it has fewer than twice `max_cluster_size` records, and is split by its next
    item otherwise (print leaves open what happens, and one item in nearly all records would make
    a single cluster of them). The condition on the size of a cluster without a term chunk is
    checked, and mended by moving the rarest item of the last chunk to the term chunk. Items are
    shared between clusters only if they stand in no record chunk of these: print's other rule is
    unsound. Print shuffles the rows of chunks; here they are sorted. Ties go to the first item by
    name.

    Examples
    --------
    Tables 1 and 5 of AlShuhail and Shao (2023):

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([
    ...     ["diabetes", "arthritis", "osteoporosis", "schizophrenia"],
    ...     ["hypertension", "arthritis", "osteoporosis", "calcium"],
    ...     ["hypertension", "diabetes", "osteoporosis", "obesity", "bulimia", "depression"],
    ...     ["hypertension", "diabetes", "arthritis", "obesity", "bulimia", "epilepsy"]])
    >>> made = Disassociate(k=2, m=2, max_cluster_size=5).anonymize(table)
    >>> for row in made.release.to_rows():
    ...     print(*row)
    arthritis diabetes hypertension
    arthritis diabetes osteoporosis
    arthritis hypertension osteoporosis
    diabetes hypertension osteoporosis
    bulimia obesity
    bulimia obesity
    calcium depression epilepsy schizophrenia

    References
    ----------
    M. Terrovitis, J. Liagouris, N. Mamoulis, S. Skiadopoulos: Privacy Preservation by
    Disassociation. PVLDB 5(10), 2012.
    """

    called: ClassVar[str] = "records cut into pieces"
    distributed: ClassVar[str] = "setveil.spark.disassociate:disassociate"
    role: ClassVar[MethodRole] = MethodRole(place=2)

    def anonymize(
        self,
        table: TransactionTable,
        *,
        engine: Engine | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Anonymization:
        """Return the disassociated release of `table`, its key and its promise.

        Raises
        ------
        InfeasibleError
            A record has no items, or there are fewer than `k` records.
        """
        promise = Disassociated(k=self.k, m=self.m)
        return self.made(table, promise, share=None, engine=engine, progress=progress)
