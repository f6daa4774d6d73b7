"""COAT: generalized items that are sets, under privacy and utility constraints."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, ClassVar

from setveil.anonymize.base import MethodRole, check_enough
from setveil.anonymize.set_generalization.constraints import (
    constrained_in_words,
    given_or_drawn,
    removable_in_words,
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
from setveil.core.words import share_as_json
from setveil.release.base import Anonymization, Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine
    from setveil.io.wordnet import WordNet


TOLD_EVERY = 50
"""After how many steps the progress is told."""


@register(
    "anonymizer",
    "coat",
    paper="Loukides, Gkoulalas-Divanis & Malin 2011",
    bibtex="""
    @article{loukides2011coat,
      author  = {Loukides, Grigorios and Gkoulalas-Divanis, Aris and Malin, Bradley},
      title   = {{COAT}: Constraint-Based Anonymization of Transactions},
      journal = {Knowledge and Information Systems},
      volume  = {28}, number = {2}, pages = {251--282}, year = {2011}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class Coat:
    """Replace items by sets of items until nothing that must be protected is rare.

    A privacy constraint is an itemset that somebody may know; a utility constraint is a set of
    items that may be published as one. As long as a privacy constraint has a part that some, but
    fewer than k records show, its least supported generalized item is joined with another of the
    same utility constraint, or suppressed where there is none. A generalized item that has taken in
    its whole utility constraint and is still too rare is dissolved, and only its members that are
    too rare are suppressed. If more items than `s` allows would be suppressed, other recodings are
    searched for, on small data all of them.

    Parameters
    ----------
    k
        Least number of records that show a part of a privacy constraint, unless none does.
    s
        Greatest share of the items that may be suppressed.
    objective
        What a generalized item is joined with: the one of least utility loss per needed record
        gained (``"ul_per_gain"``), of least utility loss among those that gain any
        (``"ul_gaining"``), or of least utility loss (``"ul"``).
    constrained
        Where no privacy constraints are given: the share of the items that are drawn as
        constraints of one item each. 1 takes every item. Without it, constraints must be given.

    Notes
    -----
    Departures from print. Every part of a constraint counts, not only the whole (see
    :class:`~setveil.guarantee.SupportConstraints`). Print minimises utility loss; with all items
    in one utility constraint that joins items which occur together first, since their union
    stays rare, and ends with very large sets. So the loss is divided by the records gained (as
    far as the constraint needs them: else every rare item would join the most frequent one),
    unless another objective is chosen. That makes pairs of a rare item and a more frequent one;
    ``"ul_gaining"`` makes sets of about k items that are all rare, which cost more and are harder
    to take apart. The unsatisfied constraint of greatest support is served
    first. Weights are 1. Ties go to the first item by name.

    Examples
    --------
    Figures 1 and 2 of Shao and Ong: bp and icd are to be in four records.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([
    ...     ["heart disease", "bp", "icd", "weakness", "dizziness"],
    ...     ["anesthesia", "icd", "pain", "diabetes"],
    ...     ["gangrene", "limbs", "injury"], ["knee", "injury"]])
    >>> made = Coat(k=4).anonymize(table, privacy=[["bp"], ["icd"]],
    ...                            utility=[["bp", "icd", "limbs", "injury"]])
    >>> [step.subject for step in made.log]
    ['(icd, injury)', '(bp, limbs)', '(bp, icd, injury, limbs)']
    >>> made.release.to_rows()[-1]
    ['(bp, icd, injury, limbs)', 'knee']

    References
    ----------
    G. Loukides, A. Gkoulalas-Divanis, B. Malin: COAT: COnstraint-based Anonymization of
    Transactions. Knowledge and Information Systems 28(2), 2011.
    """

    called: ClassVar[str] = "rare items grouped or removed"
    role: ClassVar[MethodRole] = MethodRole(place=5, needs_meaning=True)
    called_if: ClassVar[tuple[tuple[str, dict[str, object]], ...]] = (
        ("common items only", {"utility": "alone", "constrained": 1}),
        ("some rare items removed", {"utility": "alone"}),
    )
    """What else it is called, with certain parameters."""
    """What an audit sets unless it is told otherwise."""
    requires: ClassVar[frozenset[str]] = frozenset()
    accepts: ClassVar[frozenset[str]] = frozenset({"privacy", "utility", "rng"})

    k: int = group_size(doc="least number of records that show a protected itemset")
    s: Fraction = share(
        Fraction(15, 100),
        doc="greatest share of the items that may be suppressed, 0 to 1",
        words=removable_in_words,
        audited=1,
    )
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
        table
            The original records.
        privacy
            Itemsets of up to 64 items that must not be rare. Without them `constrained` says how
            many items are drawn.
        utility
            Disjoint sets of items that may be published as one; items in none are published as
            they are or not at all. A WordNet gives sets of things that are alike. Without it, any
            items may be published as one.
        rng
            Draws the constraints; without it the operating system does.
        engine, progress
            As for every method.

        Raises
        ------
        ParameterError
            Neither `privacy` nor `constrained` says what to protect.
        InfeasibleError
            More items than `s` allows would be suppressed; the message says whether that is proven.
        """
        check_enough(table, self.k)
        itemsets, log = given_or_drawn(table, privacy, self.constrained, rng)
        utility_of = utility_sets(table, utility, itemsets)
        recoding = SetRecoding.of(table, itemsets, utility_of, self.k)
        steps = self._mend(recoding, progress)
        allowed = floor(self.s * len(recoding.names))
        if recoding.suppressed > allowed:
            start = SetRecoding.of(table, itemsets, utility_of, self.k)
            found = search_recoding(start, enough=allowed, below=recoding.suppressed)
            if found.recoding is not None:
                recoding, steps = found.recoding, found.log
            if recoding.suppressed > allowed:
                raise _too_many(recoding, allowed, proven=found.exhausted)
        return published(table, recoding, itemsets, log + steps)

    def _mend(self, recoding: SetRecoding, progress: Progress | None) -> list[Step]:
        """Join and suppress until no constraint is broken."""
        log: list[Step] = []
        total = len(recoding.broken)
        while (image := recoding.next_broken()) is not None:
            if progress and len(log) % TOLD_EVERY == 0:
                progress("constraints", max(total - len(recoding.broken), 0), total)
            breach = recoding.broken[image]
            rarest = min(breach.part, key=lambda group: (recoding.supports[group], group))
            reason = recoding.in_words(breach)
            merger = recoding.best_merger(rarest, breach, self.objective)
            if merger is None and recoding.sizes[rarest] > 1:
                log.append(Step(action="dissolve", subject=recoding.title(rarest), reason=reason))
                recoding.dissolve(rarest)
            elif merger is None:
                title = recoding.title(rarest)
                recoding.suppress(rarest)
                log.append(Step(action="suppress", subject=title, reason=reason))
            else:
                kept = recoding.merge(merger.group, merger.other)
                log.append(recoding.step(kept, reason))
        return log


def _too_many(recoding: SetRecoding, allowed: int, *, proven: bool) -> InfeasibleError:
    """Say that more items are suppressed than allowed, and whether that need be so."""
    items, gone = len(recoding.names), recoding.suppressed
    needed = Fraction(ceil(Fraction(gone, items) * 1000), 1000)
    return InfeasibleError(
        f"{gone:,} of {items:,} items would have to be suppressed, but s allows only {allowed:,}"
        if proven
        else f"the best release found suppresses {gone:,} of {items:,} items, but s allows only "
        f"{allowed:,}",
        fix=f"use s of at least {share_as_json(needed)}, a smaller k, or utility constraints "
        "with more items",
    )
