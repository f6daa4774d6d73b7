"""Two releases of the same people: what the second tells about records of the first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.attack.base import LINKAGE, AuditRole, Finding, check_applies
from setveil.attack.linkage.linkage import (
    KNOWLEDGE,
    Link,
    LinkageGuess,
    link_of,
    look_for,
    notes_on,
)
from setveil.core.errors import ParameterError
from setveil.core.params import choice, count
from setveil.core.registry import register
from setveil.release.base import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from setveil.attack.linkage.linkage import Targets
    from setveil.core.arrays import BoolArray, Int64Array
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Matches, Release
    from setveil.release.views import CertainItems


@dataclass(frozen=True, kw_only=True)
class IntersectionGuess(LinkageGuess):
    """For each target the records that may be theirs, by two releases and by the first alone.

    Parameters
    ----------
    alone
        The links of the targets by the first release alone; `links` are by both.

    Examples
    --------
    >>> link = Link(known=("flu",), candidates=2, chance=0.5, named=(0, 3), learned=())
    >>> guess = IntersectionGuess(attack="intersection", k=5, targets=(7,), links=(link,),
    ...                           strangers=(), alone=(link,))
    >>> IntersectionGuess.from_json(guess.to_json()) == guess
    True
    """

    kind: ClassVar[str] = "intersection"
    beside: ClassVar[tuple[str, ...]] = ("random", "control", "first")

    alone: tuple[Link, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alone", tuple(Link.checked(link) for link in self.alone))
        if len(self.alone) != len(self.links):
            raise ParameterError("a guess says of every target what one release leads to")

    def compared_links(self) -> Mapping[str, tuple[Link, ...]]:
        """Return what the first release alone leads to."""
        return {"first": self.alone}


@register(
    "attack",
    "intersection",
    paper="Ganta, Kasiviswanathan & Smith 2008",
    bibtex="""
    @inproceedings{ganta2008composition,
      author    = {Ganta, Srivatsava Ranjit and Kasiviswanathan, Shiva Prasad and Smith, Adam},
      title     = {Composition Attacks and Auxiliary Information in Data Privacy},
      booktitle = {Proceedings of the 14th ACM SIGKDD International Conference on Knowledge
                   Discovery and Data Mining},
      pages     = {265--273}, year = {2008}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class Intersection:
    """Look for people in two releases of them at once: what the second adds to the first.

    Nothing links the records of the two releases but their content. A record of the first and
    one of the second can be the same person's if each release allows a record with the known
    items and all that the other shows in clear
    (:meth:`~setveil.release.base.Release.matches`). Candidates in the first release that suit no
    candidate in the second drop out; the target's own never does. What every pair that is left
    shows in clear is learned for certain.

    Parameters
    ----------
    m, knowledge, sample, k
        As in :class:`~setveil.attack.linkage.linkage.Linkage`.
    most
        Where the candidates in a release show more different contents than this, the second
        release is not asked: somebody so well hidden is not found by it, and asking takes long.

    Examples
    --------
    >>> from setveil.attack import Targets
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows(
    ...     [["cold", "flu", "hiv"], ["flu", "gout"], ["cold", "flu", "rash"]])
    >>> first, _ = publish_suppressed(table, [False, True, True, True, True])  # without cold
    >>> second, _ = publish_suppressed(table, [True, True, True, False, True])  # without hiv
    >>> targets = Targets(records=(0,), known=(("cold", "flu"),))
    >>> guess = Intersection().run(first, second=second, targets=targets)
    >>> guess.alone[0].candidates, guess.links[0].candidates
    (3, 2)

    References
    ----------
    S. R. Ganta, S. P. Kasiviswanathan, A. Smith: Composition attacks and auxiliary information in
    data privacy. KDD 2008.

    Departures: the paper intersects the sensitive values of two groups of a relational table;
    here the forms of the releases may differ, and what either shows counts.
    """

    applies_to: ClassVar[frozenset[str]] = frozenset(FORMS)
    requires: ClassVar[frozenset[str]] = frozenset({"targets", "second"})
    accepts: ClassVar[frozenset[str]] = frozenset({"taxonomy", "progress"})
    role: ClassVar[AuditRole] = AuditRole(
        family="second release",
        findings=(
            Finding(
                risk=LINKAGE,
                figure="named",
                baseline="named_random",
                baseline_name="naming any record",
                label="Link a person to their record with a second release",
                says="An attacker who knows {knows} and has a second release of the same people "
                "names the right record for {count} of 1,000 people.",
            ),
        ),
        by_default=False,
        cost=2,
    )

    m: int = count(2, least=0, doc="how many items of a target are known")
    knowledge: str = choice(
        "random", KNOWLEDGE, doc="which of them: any, the rarest or the most common"
    )
    sample: int = count(1000, doc="how many targets are drawn")
    k: int = count(5, doc="a target with fewer candidates counts as exposed")
    most: int = count(50, doc="how many different contents of candidates are compared at most")

    def run(
        self,
        release: Release,
        *,
        second: Release,
        targets: Targets,
        taxonomy: Taxonomy | None = None,
        rng: np.random.Generator | None = None,
        progress: Callable[..., None] | None = None,
    ) -> IntersectionGuess:
        """Return for each target what both releases lead to, and what the first does.

        Parameters
        ----------
        release
            The release whose records are looked for.
        second
            Another one of the same people, of any form.
        targets, taxonomy, rng, progress
            As in :meth:`~setveil.attack.linkage.linkage.Linkage.run`; the tree is that of both.
        """
        for each in (release, second):
            check_applies("intersection", self.applies_to, each)
        rng = np.random.default_rng(0) if rng is None else rng
        here, there = (_Side.of(each, taxonomy) for each in (release, second))
        asked: dict[frozenset[str], bool] = {}

        def look(known: tuple[str, ...]) -> Link:
            found, learned, compared = _intersected(here, there, frozenset(known), self.most)
            asked[frozenset(known)] = compared
            return link_of(known, found, learned - set(known), rng)

        def look_here(known: tuple[str, ...]) -> Link:
            found = here.matches(frozenset(known))
            return link_of(known, found, here.certain.held_by_all(found.records, known), rng)

        links, strangers = look_for(targets, look, progress)
        alone, _ = look_for(targets, look_here)
        left = sum(not asked[frozenset(known)] for known in targets.known)
        said = f"{left} of {len(links)} targets have too many candidates: not compared"
        return IntersectionGuess(
            attack="intersection",
            k=self.k,
            targets=targets.records,
            links=links,
            strangers=strangers,
            notes=(*notes_on(targets), *((said,) if left else ())),
            alone=alone,
        )


@dataclass(frozen=True)
class _Side:
    """One of the releases, what it shows, and what it was asked already."""

    release: Release
    taxonomy: Taxonomy | None
    certain: CertainItems
    asked: dict[frozenset[str], Matches] = field(default_factory=dict)

    @classmethod
    def of(cls, release: Release, taxonomy: Taxonomy | None) -> _Side:
        return cls(release, taxonomy, release.certain_items(taxonomy))

    def matches(self, items: frozenset[str]) -> Matches:
        if items not in self.asked:
            self.asked[items] = self.release.matches(sorted(items), self.taxonomy)
        return self.asked[items]

    def contents(self, records: Int64Array, most: int) -> dict[frozenset[str], list[int]] | None:
        """Return what some records show, each with the places of those that do.

        None where there are more than `most` different contents.
        """
        found: dict[frozenset[str], list[int]] = {}
        for place, record in enumerate(records.tolist()):
            found.setdefault(self.certain.of_record(record), []).append(place)
            if len(found) > most:
                return None
        return found

    def among(self, records: Int64Array, items: frozenset[str]) -> BoolArray:
        """Tell which of some records may belong to somebody with these items."""
        return np.isin(records, self.matches(items).records)


def _intersected(
    here: _Side, there: _Side, known: frozenset[str], most: int
) -> tuple[Matches, frozenset[str], bool]:
    """Return the candidates here that suit one there, what is learned, and whether we compared."""
    found, others = here.matches(known), there.matches(known)
    own = here.contents(found.records, most)
    theirs = None if own is None else there.contents(others.records, most)
    if own is None or theirs is None:
        return found, here.certain.held_by_all(found.records, known), False
    fits_theirs = [here.among(found.records, known | content) for content in theirs]
    left = np.zeros(len(found.records), dtype=bool)
    learned: frozenset[str] | None = None
    for content, places in own.items():
        fits_own = there.among(others.records, known | content)
        for fits, (other, members) in zip(fits_theirs, theirs.items(), strict=True):
            pairs = fits[places] & fits_own[members].any()
            left[places] |= pairs
            if pairs.any():
                both = content | other
                learned = both if learned is None else learned & both
    sure = here.certain.held_by_all(found.records, known) | there.certain.held_by_all(
        others.records, known
    )
    return found.where(left), (learned or frozenset()) | sure, True
