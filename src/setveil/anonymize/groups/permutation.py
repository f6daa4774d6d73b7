"""Permutation: whole records, with the sensitive parts of each group shuffled among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from setveil.anonymize.groups.cahd import BandMethod, band_groups_of, split_feasible
from setveil.core.registry import register
from setveil.guarantee.privacy_degree import PrivacyDegree
from setveil.release.base import Anonymization
from setveil.release.grouped import deal, publish_grouped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

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

    def anonymize(
        self,
        table: TransactionTable,
        *,
        sensitive: Iterable[str],
        engine: Engine | None = None,  # groups are made one after the other
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the shuffled release of `table`, its key and its promise.

        Raises
        ------
        InfeasibleError
            More than one in `p` of all records hold some sensitive item.
        """
        names, split = split_feasible(table, sensitive, self.p, letter="p")
        group_of, log, figures = band_groups_of(split, self.p, self.alpha, progress)
        listed, key = publish_grouped(table, group_of, names, whole=True)
        release = deal(listed)
        promise = PrivacyDegree(p=self.p, sensitive=names)
        return Anonymization(release=release, key=key, promise=promise, log=log, figures=figures)
