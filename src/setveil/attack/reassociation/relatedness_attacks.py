"""Putting disassociated records together again: at random, and by how related terms are.

References
----------
.. [1] A. AlShuhail, J. Shao: Semantic attack on disassociated transaction data. SN Computer
   Science 4, 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from setveil.attack.reassociation.piece_scores import (
    average,
    most_related,
    piece_scores,
    place_best,
    related_group,
)
from setveil.attack.reassociation.pieces import (
    SAMPLE_DOC,
    place_at_random,
    reassociation_role,
)
from setveil.attack.reassociation.prior import COPIES_DOC, Placing, ReassociationAttack
from setveil.core.params import count, flag
from setveil.core.registry import register

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from setveil.attack.base import AuditRole
    from setveil.attack.reassociation.piece_scores import Merge
    from setveil.attack.reassociation.pieces import Pool
    from setveil.relatedness.base import Relatedness
    from setveil.release.disassociated import DisassociatedRelease

PAPER = "AlShuhail & Shao 2023"
BIBTEX = """
    @article{alshuhail2023semantic,
      author  = {AlShuhail, Asma and Shao, Jianhua},
      title   = {Semantic Attack on Disassociated Transaction Data},
      journal = {SN Computer Science},
      volume  = {4}, year = {2023}
    }"""
EVERYWHERE_DOC = "use it for record chunks too, which otherwise are attached as aba does"


@register("attack", "random", paper=PAPER, bibtex=BIBTEX)
@dataclass(frozen=True, kw_only=True)
class Random(ReassociationAttack):
    """Attach every piece to rows drawn at random: what knowing nothing gives.

    The pieces of one chunk go to different rows, as in any original.

    Parameters
    ----------
    term_copies
        How many rows a term of the term chunk is attached to.
    sample
        How many clusters are drawn to be attacked; all of them by default.

    Examples
    --------
    >>> import numpy as np
    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "t"], ["a"]])
    >>> plan = Plan(records=[0, 1], domains=((0,),), terms=(1,))
    >>> release, _ = publish_disassociated(table, [plan])
    >>> guess = Random().run(release, rng=np.random.default_rng(2))
    >>> sorted(guess.clusters[0].records())
    [('a',), ('a', 't')]
    """

    term_copies: int = count(1, doc=COPIES_DOC)
    sample: int | None = count(None, doc=SAMPLE_DOC)

    def place(
        self, release: DisassociatedRelease, found: Sequence[Pool], rng: np.random.Generator
    ) -> Placing:
        """Return the rows of a world drawn at random."""
        return Placing([place_at_random(pool, rng, term_copies=self.term_copies) for pool in found])


@dataclass(frozen=True, kw_only=True)
class RelatednessAttack(ReassociationAttack):
    """What the attacks by relatedness share: pieces are scored, and go to the rows of best scores.

    A distinct sub-record goes to as many rows as it has copies, those of the best scores,
    whatever other sub-records of its chunk went there: so the paper has it. Rows with equal
    anchors are interchangeable, and ties are broken at random. Rows without an anchor are taken
    last.

    Parameters
    ----------
    term_copies
        How many rows a term of the term chunk is attached to; a release does not say how many
        records held it. More copies find more, and more of them are wrong.
    sample
        How many clusters are drawn to be attacked; all of them by default.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"relatedness"})
    role: ClassVar[AuditRole] = reassociation_role(cost=2)

    term_copies: int = count(1, doc=COPIES_DOC)
    sample: int | None = count(None, doc=SAMPLE_DOC)

    def place(
        self,
        release: DisassociatedRelease,
        found: Sequence[Pool],
        rng: np.random.Generator,
        *,
        relatedness: Relatedness,
    ) -> Placing:
        """Return the rows whose anchors pieces are most related to."""
        scored = piece_scores(found, relatedness, self.merges())
        placed = [
            place_best(pool, scores, rng, term_copies=self.term_copies)
            for pool, scores in zip(found, scored.tables, strict=True)
        ]
        return Placing(placed, scored.notes)

    def merges(self) -> dict[str, Merge]:
        """Return for each kind of piece how the numbers for an anchor's terms become one."""
        raise NotImplementedError


@register("attack", "aba", paper=PAPER, bibtex=BIBTEX)
@dataclass(frozen=True, kw_only=True)
class ABA(RelatednessAttack):
    """Averaging-based attack: attach a piece where the mean over the anchor's terms is best.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["flu", "fever"], ["gout", "toe"]])
    >>> plan = Plan(records=[0, 1], domains=((1, 2),), terms=(0, 3))
    >>> release, _ = publish_disassociated(table, [plan])
    >>> corpus = RecordCounts.from_rows([["flu", "fever"], ["gout", "toe"], ["flu"]])
    >>> ABA().run(release, relatedness=NGD(corpus)).clusters[0].records()
    (('fever', 'flu'), ('gout', 'toe'))

    References
    ----------
    A. AlShuhail, J. Shao: Semantic attack on disassociated transaction data. SN Computer Science
    4, 2023.
    """

    def merges(self) -> dict[str, Merge]:
        """Return the mean, for every kind of piece."""
        return {"record": average, "shared": average, "term": average}


@dataclass(frozen=True, kw_only=True)
class TermAttack(RelatednessAttack):
    """What the attacks on term chunks share: record chunks are left to ABA unless asked for."""

    role: ClassVar[AuditRole] = reassociation_role(cost=2, by_default=False)

    everywhere: bool = flag(False, doc=EVERYWHERE_DOC)

    @staticmethod
    def merge(related: np.ndarray) -> np.ndarray:
        """Return one number per piece from those for the terms of an anchor."""
        raise NotImplementedError

    def merges(self) -> dict[str, Merge]:
        """Return the attack's own for terms, the mean for sub-records unless asked for."""
        others: Merge = self.merge if self.everywhere else average
        return {"record": others, "shared": others, "term": self.merge}


@register("attack", "rga", paper=PAPER, bibtex=BIBTEX)
@dataclass(frozen=True, kw_only=True)
class RGA(TermAttack):
    """Related-group attack: only the more related half of the anchor's terms counts.

    A record may be about several things; a term then fits some terms of its anchor only. The
    mean is taken over those that are at least as related as the median.

    Parameters
    ----------
    everywhere
        Do so for the sub-records of chunks too; the paper leaves these to ABA.
    term_copies
        How many rows a term of the term chunk is attached to.
    sample
        How many clusters are drawn to be attacked; all of them by default.

    Examples
    --------
    >>> import numpy as np
    >>> related_group(np.array([[0.41], [0.50], [0.53]])).round(3).tolist()
    [0.515]

    References
    ----------
    A. AlShuhail, J. Shao: Semantic attack on disassociated transaction data. SN Computer Science
    4, 2023.
    """

    merge = staticmethod(related_group)


@register("attack", "mra", paper=PAPER, bibtex=BIBTEX)
@dataclass(frozen=True, kw_only=True)
class MRA(TermAttack):
    """Most-related attack: only the most related term of an anchor counts.

    Parameters
    ----------
    everywhere
        Do so for the sub-records of chunks too; the paper leaves these to ABA.
    term_copies
        How many rows a term of the term chunk is attached to.
    sample
        How many clusters are drawn to be attacked; all of them by default.

    Examples
    --------
    >>> import numpy as np
    >>> most_related(np.array([[0.41], [0.50], [0.53]])).tolist()
    [0.53]

    References
    ----------
    A. AlShuhail, J. Shao: Semantic attack on disassociated transaction data. SN Computer Science
    4, 2023.
    """

    merge = staticmethod(most_related)
