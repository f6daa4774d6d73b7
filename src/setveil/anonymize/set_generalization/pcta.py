"""PCTA: items clustered into sets until no privacy constraint is rare; nothing is suppressed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003  (fields are read at run time)
from typing import TYPE_CHECKING, ClassVar

from setveil.anonymize.base import MethodRole, check_enough
from setveil.anonymize.set_generalization.constraints import (
    constrained_in_words,
    given_or_drawn,
    utility_sets,
)
from setveil.anonymize.set_generalization.set_recoding import (
    OBJECTIVES,
    Objective,
    SetRecoding,
    published,
    search_recoding,
)
from setveil.core.errors import InfeasibleError
from setveil.core.params import choice, group_size, share
from setveil.core.registry import register

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from setveil.anonymize.set_generalization.set_recoding import Image
    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine
    from setveil.io.wordnet import WordNet
    from setveil.release.base import Anonymization, Step

TOLD_EVERY = 50
"""After how many steps the progress is told."""


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
class PCTA:
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
    """What an audit sets unless it is told otherwise."""
    requires: ClassVar[frozenset[str]] = frozenset()
    accepts: ClassVar[frozenset[str]] = frozenset({"privacy", "utility", "rng"})

    k: int = group_size(doc="least number of records that show a protected itemset")
    objective: Objective = choice(
        "ul_per_gain",
        OBJECTIVES,
        doc="what decides which sets are joined",
        ladder=(None, "ul_gaining"),
    )
    constrained: Fraction | None = share(
        None,
        above=0,
        doc="share of the items to protect where no itemsets are named; 1 takes every item",
        words=constrained_in_words,
        ladder=(0.05, 0.25, 1),
        audited=1,
    )

    def anonymize(
        self,
        table: TransactionTable,
        *,
        privacy: Iterable[Iterable[str]] | None = None,
        utility: Iterable[Iterable[str]] | WordNet | None = None,
        rng: np.random.Generator | None = None,
        engine: Engine | None = None,  # each choice depends on the ones before
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return a release that keeps the constraints, its key and its promise.

        Parameters
        ----------
        table, privacy, utility, rng, engine, progress
            As for :meth:`setveil.anonymize.Coat.anonymize`.

        Raises
        ------
        InfeasibleError
            No way to join items was found that keeps the constraints; the message says so where not
            all were tried.
        """
        check_enough(table, self.k)
        itemsets, log = given_or_drawn(table, privacy, self.constrained, rng)
        utility_of = utility_sets(table, utility, itemsets)
        recoding = SetRecoding.of(table, itemsets, utility_of, self.k, rarest_first=True)
        steps: list[Step] = []
        total = len(recoding.broken)
        while (image := recoding.next_broken()) is not None:
            if progress and len(steps) % TOLD_EVERY == 0:
                progress("constraints", max(total - len(recoding.broken), 0), total)
            step = self._join(recoding, image)
            if step is None:
                start = SetRecoding.of(table, itemsets, utility_of, self.k)
                recoding, steps = _searched(start, recoding.in_words(recoding.broken[image]))
                break
            steps.append(step)
        return published(table, recoding, itemsets, log + steps)

    def _join(self, recoding: SetRecoding, image: Image) -> Step | None:
        """Make the cheapest union of a cluster of a broken constraint with another, if any."""
        breach = recoding.broken[image]
        reason = recoding.in_words(breach)
        found = [
            merger
            for group in image
            if (merger := recoding.best_merger(group, breach, self.objective)) is not None
        ]
        if not found:
            return None
        best = min(found)
        return recoding.step(recoding.merge(best.group, best.other), reason)


def _searched(start: SetRecoding, reason: str) -> tuple[SetRecoding, list[Step]]:
    """Return another way to join items that keeps all constraints, or say that none is known."""
    found = search_recoding(start, enough=0, below=1)
    if found.recoding is None:
        why = "" if found.exhausted else "; other ways to join items were not all tried"
        raise InfeasibleError(
            f"nothing is left to join ({reason}){why}",
            fix="use a smaller k, utility constraints with more items, or coat, which may "
            "suppress items",
        )
    return found.recoding, found.log
