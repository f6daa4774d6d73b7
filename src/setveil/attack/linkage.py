"""Record linkage: who knows a few items of somebody looks for that person's record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from setveil.attack.base import LINKAGE, SINGLING_OUT, AuditRole, Finding, check_applies
from setveil.attack.guess import Guess
from setveil.core.errors import ParameterError
from setveil.core.literature import SWEENEY_2002
from setveil.core.params import check_whole, choice, count
from setveil.core.registry import register
from setveil.release.base import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Matches, Release

KNOWLEDGE = ("random", "rarest", "common")
NAMED = 100
"""How many of equally likely candidates are named: enough to tell the chance of the right one."""
SAMPLES = (300, 1200, 4800, 19_200)
"""How many people an audit looks for, until it can tell."""
TIE = 1e-9
"""Weights that differ by less than this share are equal; they are products of many factors."""


@dataclass(frozen=True, kw_only=True)
class Targets:
    """People of whom the adversary knows some items.

    Parameters
    ----------
    records
        Who they are: their places in the original data. Attacks pass them on to the guess.
    known
        For each of them some items that they hold.
    strangers
        Itemsets that nobody in the data holds: the control. Whoever is found by them is a wrong
        one.
    asked
        For each target the items that an attacker is asked about; empty where nobody asks.

    Examples
    --------
    >>> Targets(records=[3], known=[["flu", "gout"]]).known
    (('flu', 'gout'),)
    """

    records: tuple[int, ...]
    known: tuple[tuple[str, ...], ...]
    strangers: tuple[tuple[str, ...], ...] = ()
    asked: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", tuple(int(record) for record in self.records))
        for name in ("known", "strangers", "asked"):
            object.__setattr__(self, name, tuple(tuple(items) for items in getattr(self, name)))
        if len(self.records) != len(self.known):
            raise ParameterError(
                f"there are {len(self.records)} targets, and of {len(self.known)} something is "
                "known",
                fix="say for each target what is known, if it is nothing",
            )


class Link(NamedTuple):
    """What knowing some items of a person leads to.

    Parameters
    ----------
    known
        The items.
    candidates
        How many published records may be the person's.
    chance
        How likely the likeliest of them is, by the weights of the release's form.
    named
        The likeliest records; where more than 100 candidates are equally likely, as many of
        their places as stand for 100, drawn at random.
    learned
        Further items that the person holds for certain, sorted: in every original that the
        release allows.
    each
        For how many candidates a named record stands: one, or less where a cluster has more
        places for records than rows with the items.
    """

    known: tuple[str, ...]
    candidates: int
    chance: float
    named: tuple[int, ...]
    learned: tuple[str, ...]
    each: float = 1.0

    @classmethod
    def checked(cls, values: Iterable[Any]) -> Link:
        """Return a link of values from a file, or refuse them."""
        known, candidates, chance, named, learned, each = values
        link = cls(tuple(known), candidates, chance, tuple(named), tuple(learned), each)
        places = (candidates, *link.named)  # there may be thousands, for thousands of links
        whole = set(map(type, places)) == {int} and min(places) >= 0 and max(places) < 2**63
        texts = all(isinstance(item, str) for item in (*link.known, *link.learned))
        if not whole or not texts or not 0 <= chance <= 1 or not 0 < each <= 1:
            raise ParameterError("a link has numbers that cannot be")
        return link


@dataclass(frozen=True, kw_only=True)
class LinkageGuess(Guess):
    """For each target the records that may be theirs.

    Parameters
    ----------
    k
        From how many candidates on a target counts as hidden.
    targets
        Who was looked for: places in the original data.
    links
        What was found for each.
    strangers
        What was found for people who are not in the data: the control.
    notes
        What a reader should know.

    Examples
    --------
    >>> link = Link(known=("flu",), candidates=2, chance=0.5, named=(0, 3), learned=("gout",))
    >>> guess = LinkageGuess(attack="linkage", k=5, targets=(7,), links=(link,), strangers=())
    >>> LinkageGuess.from_json(guess.to_json()) == guess
    True
    """

    kind: ClassVar[str] = "linkage"
    score_words: ClassVar[dict[str, str]] = {
        "named": "chance of naming the right record of a person of whom a few items are known",
        "advantage": "share of what naming blindly misses that the attack gets",
        "singled": "share of the targets with just one candidate, which is theirs",
        "advantage_singled": "share of what naming blindly misses that singling out gets",
        "sure": "mean chance that the adversary gives to the record it names",
        "single": "share of the targets with just one candidate",
        "below_k": "share of the targets with fewer than k candidates",
        "found": "share of the targets with any candidate",
        "candidates": "mean number of records that may be the target's",
        "learned": "share of the targets of whom a further item is certain",
        "equivocation": "bits lacking about whether a target holds a sensitive item; at most 1",
        "equivocation_before": "the same without anything known of the target",
    }
    beside: ClassVar[tuple[str, ...]] = ("random", "control")

    k: int
    targets: tuple[int, ...]
    links: tuple[Link, ...]
    strangers: tuple[Link, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("k", self.k, least=1)
        object.__setattr__(self, "targets", tuple(self.targets))
        object.__setattr__(self, "notes", tuple(self.notes))
        for name in ("links", "strangers"):
            links = tuple(Link.checked(link) for link in getattr(self, name))
            object.__setattr__(self, name, links)
        if not all(type(record) is int and record >= 0 for record in self.targets):
            raise ParameterError("a target is no place in the original data")
        if len(self.targets) != len(self.links):
            raise ParameterError("a guess says of every target what was found")


@register(
    "attack",
    "linkage",
    paper="Sweeney 2002",
    bibtex=SWEENEY_2002,
)
@dataclass(frozen=True, kw_only=True)
class Linkage:
    """Look for the records of people of whom a few items are known: for every form of release.

    The adversary asks the release which records may belong to somebody who holds the known items
    (:meth:`~setveil.release.base.Release.matches`), and names the likeliest. The one attack that
    puts all forms on one scale: a release that shows the original as it is scores the same in
    every form. `m`, `knowledge` and `sample` say how
    :func:`~setveil.measure.linkage.draw_targets` chooses the people and what is known of them.

    Parameters
    ----------
    m
        How many items of a target are known; all of one who holds fewer.
    knowledge
        Which: drawn at ``random``, the ``rarest``, or the most ``common`` ones of the target.
    sample
        How many targets are drawn.
    k
        A target with fewer candidates than this counts as exposed.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"], ["flu", "hiv"]])
    >>> release, key = publish_suppressed(table, [True, True, False, True])  # without hiv
    >>> targets = Targets(records=(0, 2), known=(("gout",), ("flu", "hiv")))
    >>> for link in Linkage().run(release, targets=targets).links:
    ...     print(link.candidates, link.named, link.learned)
    1 (0,) ('flu',)
    3 (0, 1, 2) ()

    References
    ----------
    L. Sweeney: k-anonymity: a model for protecting privacy. International Journal of Uncertainty,
    Fuzziness and Knowledge-Based Systems 10, 2002.
    """

    applies_to: ClassVar[frozenset[str]] = frozenset(FORMS)
    requires: ClassVar[frozenset[str]] = frozenset({"targets"})
    accepts: ClassVar[frozenset[str]] = frozenset({"taxonomy", "progress"})
    role: ClassVar[AuditRole] = AuditRole(
        family="linkage",
        findings=(
            Finding(
                risk=SINGLING_OUT,
                figure="singled",
                baseline="named_random",
                baseline_name="naming any record",
                advantage="advantage_singled",
                label="Single out a person's record",
                says="An attacker who knows {knows} singles out {count} of 1,000 people: exactly "
                "one record fits, and it is theirs.",
            ),
            Finding(
                risk=LINKAGE,
                figure="named",
                baseline="named_random",
                baseline_name="naming any record",
                label="Link a person to their record",
                says="An attacker who knows {knows} names the right record for {count} of 1,000 "
                "people.",
            ),
        ),
        samples=SAMPLES,
    )

    m: int = count(2, least=0, doc="how many items of a target are known")
    knowledge: str = choice(
        "random", KNOWLEDGE, doc="which of them: any, the rarest or the most common"
    )
    sample: int = count(1000, doc="how many targets are drawn")
    k: int = count(5, doc="a target with fewer candidates counts as exposed")

    def run(
        self,
        release: Release,
        *,
        targets: Targets,
        taxonomy: Taxonomy | None = None,
        rng: np.random.Generator | None = None,
        progress: Callable[..., None] | None = None,
    ) -> LinkageGuess:
        """Return for each target what the release leads to.

        Parameters
        ----------
        release
            Any form.
        targets
            Whom the adversary looks for, and what is known of them.
        taxonomy
            The tree of the items; a generalized release cannot tell without it what its nodes
            stand for.
        rng
            Draws which of many equally likely records are named; without it always the same way.
        progress
            Called with what is done, how much of it, and of how much.
        """
        check_applies("linkage", self.applies_to, release)
        rng = np.random.default_rng(0) if rng is None else rng
        certain = release.certain_items(taxonomy)

        def look(known: tuple[str, ...]) -> Link:
            found = release.matches(known, taxonomy)
            return link_of(known, found, certain.held_by_all(found.records, known), rng)

        links, strangers = look_for(targets, look, progress)
        return LinkageGuess(
            attack="linkage",
            k=self.k,
            targets=targets.records,
            links=links,
            strangers=strangers,
            notes=notes_on(targets),
        )


def look_for(
    targets: Targets,
    look: Callable[[tuple[str, ...]], Link],
    progress: Callable[..., None] | None = None,
) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
    """Return the links of targets and of strangers; the same items are looked up once.

    >>> def look(known):
    ...     return Link(known, 0, 0.0, (), ())
    >>> look_for(Targets(records=[0], known=[["flu"]]), look)
    ((Link(known=('flu',), candidates=0, chance=0.0, named=(), learned=(), each=1.0),), ())
    """
    seen: dict[frozenset[str], Link] = {}
    wanted = [*targets.known, *targets.strangers]
    for done, known in enumerate(wanted):
        if frozenset(known) not in seen:
            seen[frozenset(known)] = look(known)
        if progress is not None and done % 100 == 0:
            progress("attacking", done, len(wanted))
    links = tuple(seen[frozenset(known)]._replace(known=known) for known in wanted)
    return links[: len(targets.known)], links[len(targets.known) :]


def link_of(
    known: tuple[str, ...], found: Matches, learned: Iterable[str], rng: np.random.Generator
) -> Link:
    """Return the link that some matches make.

    >>> from setveil.release import Matches
    >>> found = Matches(records=np.array([4, 6, 9]), weights=np.array([0.5, 0.5, 0.25]))
    >>> link_of(("flu",), found, ["gout"], np.random.default_rng(0))
    Link(known=('flu',), candidates=3, chance=0.4, named=(4, 6), learned=('gout',), each=1.0)
    """
    if not len(found.records):
        return Link(known, 0, 0.0, (), tuple(sorted(learned)))
    chances = found.weights / found.counts  # of one candidate
    heaviest = chances.max()
    best = np.flatnonzero(chances >= heaviest * (1 - TIE))
    each = float(min(found.counts[best].mean(), 1.0))
    most = round(NAMED / each)
    named = best if len(best) <= most else np.sort(rng.choice(best, most, replace=False))
    return Link(
        known=known,
        candidates=found.candidates,
        chance=float(min(heaviest / found.weights.sum(), 1.0)),
        named=tuple(found.records[named].tolist()),
        learned=tuple(sorted(learned)),
        each=each,
    )


def notes_on(targets: Targets) -> tuple[str, ...]:
    """Return what a reader should know about the targets.

    >>> notes_on(Targets(records=[], known=[]))
    ('no control: every set of items that was tried belongs to somebody in the data',)
    """
    if targets.strangers:
        return ()
    return ("no control: every set of items that was tried belongs to somebody in the data",)
