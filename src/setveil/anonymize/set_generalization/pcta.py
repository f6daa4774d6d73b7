"""PCTA: items clustered into sets until no privacy constraint is rare; nothing is suppressed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003  (fields are read at run time)
from typing import TYPE_CHECKING, ClassVar

from setveil.anonymize.base import MethodRole
from setveil.anonymize.set_generalization.coat import (
    CONSTRAINED_SHARE,
    JOIN_OBJECTIVE,
    ConstrainedMethod,
)
from setveil.anonymize.set_generalization.set_recoding import Objective, search_recoding
from setveil.core.errors import InfeasibleError
from setveil.core.params import declare, group_size
from setveil.core.registry import register

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.anonymize.set_generalization.set_recoding import Image, SetRecoding
    from setveil.release.base import Step


@register(
    "anonymizer",
    "pcta",
    paper="Gkoulalas-Divanis & Loukides 2011",
    bibtex="""
    @inproceedings{gkoulalas2011pcta,
      author    = {Gkoulalas-Divanis, Aris and Loukides, Grigorios},
      title     = {{PCTA}: Privacy-Constrained Clustering-Based Transaction Data Anonymization},
      booktitle = {Proceedings of the 4th International Workshop on Privacy and Anonymity in the
                   Information Society},
      year      = {2011}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class PCTA(ConstrainedMethod):
    """Cluster items into sets until nothing that must be protected is rare; suppress nothing.

    Every item starts as a cluster. The privacy constraints are served one after the other, the
    least supported first: as long as one has a part that some, but fewer than k records show, the
    cheapest union of any of its clusters with any other is made. :class:`~setveil.anonymize.Coat`
    looks at the rarest of them only, and suppresses where nothing can be joined.

    Parameters
    ----------
    k
        Least number of records that show a part of a privacy constraint, unless none does.
    objective
        What is cheapest: least utility loss per record gained (``"ul_per_gain"``), least utility
        loss among what gains records (``"ul_gaining"``), or least utility loss (``"ul"``).
    constrained
        Where no privacy constraints are given: the share of the items that are drawn as
        constraints of one item each. 1 takes every item. Without it, constraints must be given.

    Notes
    -----
    Departures from print. Every part of a constraint counts, not only the whole. A union made for
    one constraint may break another that was kept (parts that no record showed may be shown by
    a few then), so constraints come back to the queue. Ties go to the first item by name.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cough"], ["fever", "cough"],
    ...                                     ["fever"], ["gout"]])
    >>> made = PCTA(k=3).anonymize(table, privacy=[["flu"]])
    >>> made.release.to_rows()
    [['(fever, flu)', 'cough'], ['(fever, flu)', 'cough'], ['(fever, flu)'], ['gout']]

    References
    ----------
    A. Gkoulalas-Divanis, G. Loukides: PCTA: privacy-constrained clustering-based transaction data
    anonymization. PAIS 2011. Utility constraints: the same, Transactions on Data Privacy 5(1),
    2012.
    """

    called: ClassVar[str] = "rare items grouped"
    role: ClassVar[MethodRole] = MethodRole(needs_meaning=True)
    rarest_first: ClassVar[bool] = True

    k: int = group_size(doc="least number of records that show a protected itemset")
    objective: Objective = declare("ul_per_gain", JOIN_OBJECTIVE)
    constrained: Fraction | None = declare(None, CONSTRAINED_SHARE)

    def _mend(self, recoding: SetRecoding, image: Image) -> Step | None:
        """Make the cheapest union of a cluster of a broken constraint with another, if any."""
        breach = recoding.broken[image]
        reason = recoding.in_words(breach)
        mergers = [
            merger
            for group in image
            if (merger := recoding.best_merger(group, breach, self.objective)) is not None
        ]
        if not mergers:
            return None
        best = min(mergers)
        return recoding.step(recoding.merge(best.group, best.other), reason)

    def _settle(
        self, recoding: SetRecoding, steps: list[Step], start: Callable[[], SetRecoding]
    ) -> tuple[SetRecoding, list[Step]]:
        """Look for another way to join items where nothing was left to join."""
        image = recoding.next_broken()
        if image is None:
            return recoding, steps
        found = search_recoding(start(), enough=0, below=1)
        if found.recoding is None:
            reason = recoding.in_words(recoding.broken[image])
            why = "" if found.exhausted else "; other ways to join items were not all tried"
            raise InfeasibleError(
                f"nothing is left to join ({reason}){why}",
                fix="use a smaller k, utility constraints with more items, or coat, which may "
                "suppress items",
            )
        return found.recoding, found.log
