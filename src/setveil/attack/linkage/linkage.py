"""Record linkage: who knows a few items of somebody looks for that person's record."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from setveil.attack.base import LINKAGE, SINGLING_OUT, AuditRole, Finding, check_applies
from setveil.attack.guess import Guess, first_items
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.core.interval import Rate, advantage, mean, mean_error
from setveil.core.literature import SWEENEY_2002
from setveil.core.params import check_whole, choice, count
from setveil.core.records import draw_keys
from setveil.core.registry import register
from setveil.release.base import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from setveil.core.arrays import Int64Array
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.relatedness.base import Relatedness
    from setveil.release.base import Key, Matches, Part, Release

KNOWLEDGE = ("random", "rarest", "common")
NAMED = 100
"""How many of equally likely candidates are named: enough to tell the chance of the right one."""
SAMPLES = (300, 1200, 4800, 19_200)
"""How many people an audit looks for, until it can tell."""
UNNAMED = "records that are distributed without numbers are not named"
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

    @property
    def wanted(self) -> tuple[tuple[str, ...], ...]:
        """What is known of targets, then of strangers."""
        return (*self.known, *self.strangers)


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
    scored_with: ClassVar[frozenset[str]] = frozenset({"sensitive", "taxonomy"})

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

    def compared_links(self) -> Mapping[str, tuple[Link, ...]]:
        """Return what targets are led to otherwise, by the end of the names of its scores."""
        return {}

    def examples(
        self,
        *,
        release: Release,
        original: TransactionTable,
        key: Key,
        relatedness: Relatedness | None = None,
        count: int = 3,
    ) -> list[dict[str, Any]]:
        """Return the people who were found with the greatest chances: see :class:`Guess`.

        >>> from setveil import TransactionTable
        >>> from setveil.measure import draw_targets
        >>> from setveil.release import publish_suppressed
        >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"], ["flu"]])
        >>> release, key = publish_suppressed(table, [True, True])
        >>> guess = Linkage().run(release, targets=draw_targets(table, m=1, knowledge="rarest"))
        >>> guess.examples(release=release, original=table, key=key, count=1)
        [{'known': ['gout'], 'published': ['flu', 'gout'], 'original': ['flu', 'gout']}]
        """
        behind = key.records
        right = [
            (link.chance, -place, link, target)
            for place, (target, link) in enumerate(zip(self.targets, self.links, strict=True))
            if any(int(behind[record]) == target for record in link.named)
        ]
        rows: list[list[str]] = []
        with suppress(NotApplicable):
            rows = release.rows_by_record()
        found = []
        for _, _, link, target in nlargest(count, right, key=lambda each: each[:2]):
            record = next(each for each in link.named if int(behind[each]) == target)
            example = {"known": first_items(link.known)}
            if rows:
                example["published"] = first_items(rows[record])
            found.append({**example, "original": first_items(original[target])})
        return found

    def originals(self) -> tuple[int, ...]:
        """Return whose records scores need: those of the targets."""
        return self.targets

    def rates(
        self,
        *,
        release: Release,
        original: TransactionTable,
        key: Key,
        sensitive: Iterable[str] = (),
        taxonomy: Taxonomy | None = None,
    ) -> dict[str, Rate | None]:
        """Return how often people were found, beside naming any record and looking for strangers.

        Parameters
        ----------
        guess
            What was found.
        release, original, key
            What was attacked, what it was made from, and the private link.
        sensitive
            Items of which to say how many bits the adversary still lacks about a target
            (:func:`~setveil.attack.inference.item_equivocation`).
        taxonomy
            The tree of the items, for the same.

        Returns
        -------
        dict of str to Rate or None
            ``named``: the chance of naming the right record, the likeliest one, or any of those
            that are equally likely; ``named_random``: of any record named blindly, 1/n.
            ``advantage``: the share of what naming blindly misses that the attack gets.
            ``singled``: share of the targets with one candidate, which is theirs, with
            ``advantage_singled``. ``below_k``: share of the targets with fewer than k candidates,
            but some; ``single``: with one. ``found``: with any. ``sure``: the mean chance that the
            adversary itself gives to the record it names. ``learned``: share of the targets of whom
            a further item is certain, rightly. ``candidates``: their mean number. ``…_control``:
            the same for strangers, where every record named is a wrong one. Of two releases also
            ``…_first``, by the first alone. With sensitive items ``equivocation``: mean bits that
            are lacking about whether a target holds one, and ``equivocation_before``, without
            anything known of the target.

            All are means over targets, with the interval of :func:`~setveil.core.interval.mean`;
            ``candidates`` has that of :func:`~setveil.core.interval.mean_error`.

        Examples
        --------
        >>> from setveil.attack import Linkage
        >>> from setveil import TransactionTable
        >>> from setveil.measure import draw_targets
        >>> from setveil.release import publish_suppressed
        >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "hiv"], ["flu"], ["flu"]])
        >>> release, key = publish_suppressed(table, [True, True, True])
        >>> targets = draw_targets(table, m=2)
        >>> guess = Linkage(k=2).run(release, targets=targets)
        >>> rates = guess.score(release=release, original=table, key=key)
        >>> rates["named"].value, rates["named_random"].value, rates["below_k"].value
        (0.625, 0.25, 0.5)
        >>> rates["candidates"].value, rates["found_control"].value
        (2.5, 0.0)
        """
        _check(self, release, original, key)
        rates = link_rates(self, {t: original[t] for t in self.targets}, key.records)
        items = tuple(sensitive)
        if items:
            try:
                rates |= _lacking(self, release, items, taxonomy)
            except NotApplicable:
                rates |= {"equivocation": None, "equivocation_before": None}
        return rates


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
    :func:`~setveil.measure.targets.draw_targets` chooses the people and what is known of them.

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
    in_parts: ClassVar[bool] = True
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
        parts = release.in_parts()
        unique: dict[frozenset[str], tuple[str, ...]] = {}
        for known in targets.wanted:
            unique.setdefault(frozenset(known), known)
        asked = list(unique.values())
        seek = partial(look_in, asked=asked, taxonomy=taxonomy)
        if parts.room is None:  # all records are here
            seek = partial(seek, progress=progress)
        else:
            seek(parts.sample)  # what cannot be asked is refused here, before any worker does
            seek = partial(seek, most=NAMED, seed=int(rng.integers(1 << 62)))
        traces = parts.fold(seek, merge_traces, [Trace()] * len(asked))
        found = {
            items: trace.link(known, rng)
            for (items, known), trace in zip(unique.items(), traces, strict=True)
        }
        links = tuple(found[frozenset(known)]._replace(known=known) for known in targets.wanted)
        unnamed = any(trace.counts and not len(trace.best) for trace in traces)
        return LinkageGuess(
            attack="linkage",
            k=self.k,
            targets=targets.records,
            links=links[: len(targets.known)],
            strangers=links[len(targets.known) :],
            notes=(*notes_on(targets), *([UNNAMED] if unnamed else [])),
        )


class Trace(NamedTuple):
    """What some records of a release say about somebody of whom items are known.

    Parameters
    ----------
    counts, weight
        How many candidates there are, and their weights added up.
    heaviest
        The greatest weight of a candidate.
    best
        Numbers of the records with that weight: all, or some of many.
    keys
        A number drawn for each of these, by which some of many are chosen.
    each
        For how many candidates a record of that weight stands, in the mean.
    common
        What the person holds for certain behind any of the records; None without candidates.
    """

    counts: float = 0.0
    weight: float = 0.0
    heaviest: float = 0.0
    best: Int64Array = np.zeros(0, dtype=np.int64)
    keys: Int64Array = np.zeros(0, dtype=np.int64)
    each: float = 1.0
    common: frozenset[str] | None = None

    @classmethod
    def of(
        cls,
        found: Matches,
        numbers: Int64Array,
        common: frozenset[str],
        *,
        most: int | None = None,
        seed: int = 0,
    ) -> Trace:
        """Return what matches say, with at most so many of the records of the greatest weight."""
        if not len(found.records):
            return cls()
        chances = found.weights / found.counts  # of one candidate
        heaviest = float(chances.max())
        best = chances >= heaviest * (1 - TIE)
        own = numbers[best]
        each = float(min(found.counts[best].mean(), 1.0))
        trace = cls(
            float(found.counts.sum()),
            float(found.weights.sum()),
            heaviest,
            own[own >= 0],
            np.zeros(0, dtype=np.int64),
            each,
            common,
        )
        if most is None:
            return trace
        return trace._replace(keys=draw_keys(trace.best, seed)).limited(most)

    def limited(self, most: int) -> Trace:
        """Return the trace with at most so many records, those with the least keys."""
        chosen = np.argsort(self.keys, kind="stable")[:most]
        return self._replace(best=self.best[chosen], keys=self.keys[chosen])

    def merge(self, other: Trace) -> Trace:
        """Return what both say.

        >>> from setveil.release.base import Matches
        >>> one, two = (Matches(records=np.array(records), weights=np.array(weights))
        ...             for records, weights in (([4, 5], [0.5, 0.25]), ([7], [0.5])))
        >>> traces = [Trace.of(one, one.records, frozenset({"flu", "gout"}), most=9),
        ...           Trace.of(two, two.records, frozenset({"flu"}), most=9)]
        >>> traces[0].merge(traces[1]).link(("hiv",), np.random.default_rng(0))
        Link(known=('hiv',), candidates=3, chance=0.4, named=(4, 7), learned=('flu',), each=1.0)
        """
        if self.common is None or other.common is None:
            return other if self.common is None else self
        most = max(self.heaviest, other.heaviest)
        equal = [each for each in (self, other) if each.heaviest >= most * (1 - TIE)]
        return Trace(
            self.counts + other.counts,
            self.weight + other.weight,
            most,
            np.concatenate([each.best for each in equal]),
            np.concatenate([each.keys for each in equal]),
            min(each.each for each in equal),
            self.common & other.common,
        ).limited(NAMED)

    def link(self, known: tuple[str, ...], rng: np.random.Generator) -> Link:
        """Return what the adversary makes of it; of too many equal records some are drawn."""
        if self.common is None:
            return Link(known, 0, 0.0, (), ())
        most = round(NAMED / self.each)
        named = self.best
        if len(named) > most:
            named = rng.choice(named, most, replace=False)
        return Link(
            known=known,
            candidates=max(round(self.counts), 1),
            chance=min(self.heaviest / self.weight, 1.0),
            named=tuple(np.sort(named).tolist()),
            learned=tuple(sorted(self.common)),
            each=self.each,
        )


def merge_traces(one: list[Trace], other: list[Trace]) -> list[Trace]:
    """Return what two parts say about the same people."""
    return [first.merge(second) for first, second in zip(one, other, strict=True)]


def look_in(
    part: Part,
    asked: Sequence[tuple[str, ...]],
    taxonomy: Taxonomy | None,
    *,
    most: int | None = None,
    seed: int = 0,
    progress: Callable[..., None] | None = None,
) -> list[Trace]:
    """Return what a part of a release says about each of some people."""
    release, numbers = part
    certain = release.certain_items(taxonomy)
    traces = []
    for done, known in enumerate(asked):
        found = release.matches(known, taxonomy)
        common = certain.held_by_all(found.records, known)
        traces.append(Trace.of(found, numbers[found.records], common, most=most, seed=seed))
        if progress is not None and done % 100 == 0:
            progress("attacking", done, len(asked))
    return traces


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
    for done, known in enumerate(targets.wanted):
        if frozenset(known) not in seen:
            seen[frozenset(known)] = look(known)
        if progress is not None and done % 100 == 0:
            progress("attacking", done, len(targets.wanted))
    links = tuple(seen[frozenset(known)]._replace(known=known) for known in targets.wanted)
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
    link = Trace.of(found, found.records, frozenset(learned)).link(known, rng)
    return link if len(found.records) else link._replace(learned=tuple(sorted(learned)))


def notes_on(targets: Targets) -> tuple[str, ...]:
    """Return what a reader should know about the targets.

    >>> notes_on(Targets(records=[], known=[]))
    ('no control: every set of items that was tried belongs to somebody in the data',)
    """
    if targets.strangers:
        return ()
    return ("no control: every set of items that was tried belongs to somebody in the data",)


def link_rates(
    guess: LinkageGuess, held: Mapping[int, Sequence[str]], behind: Int64Array
) -> dict[str, Rate | None]:
    """Return the rates of :meth:`LinkageGuess.rates` that need no release.

    Parameters
    ----------
    guess
        What was found.
    held
        For each target the items that it holds.
    behind
        For each published record its original.

    Examples
    --------
    >>> links = [Link(("flu",), 2, 0.5, (0, 1), ("gout",))]
    >>> guess = LinkageGuess(attack="linkage", k=5, targets=(7,), links=links, strangers=())
    >>> rates = link_rates(guess, {7: ["flu", "gout"]}, np.array([7, 3, 4, 5]))
    >>> rates["named"].value, rates["named_random"].value, rates["learned"].value
    (0.5, 0.25, 1.0)
    """
    most = max(guess.targets, default=-1) + 1
    copies = np.bincount(behind[behind < most], minlength=most)[list(guess.targets)]
    blind = copies / max(len(behind), 1)
    rates = _of_links(guess.links, guess, held, behind, blind)
    rates["named_random"] = Rate.counted(float(blind.mean()) if len(blind) else 0.0)
    strangers = guess.strangers
    for name in ("found", "below_k", "single", "sure", "candidates"):
        rates[f"{name}_control"] = _figures(strangers, guess.k)[name] if strangers else None
    for end, links in guess.compared_links().items():
        others = _of_links(links, guess, held, behind, blind)
        rates |= {f"{name}_{end}": rate for name, rate in others.items()}
    return rates


def _check(guess: LinkageGuess, release: Release, original: TransactionTable, key: Key) -> None:
    """Refuse a guess about other people, or about another release."""
    rows = [set(original[t]) if t < len(original) else set() for t in guess.targets]
    links = (guess.links, guess.strangers, *guess.compared_links().values())
    named = (record for each in links for link in each for record in link.named)
    known = all(row.issuperset(link.known) for row, link in zip(rows, guess.links, strict=True))
    inside = max(guess.targets, default=-1) < len(original)
    if not known or not inside or max(named, default=-1) >= len(release):
        raise InputError(
            "the guess is about other people, or about another release",
            fix="give the data that the targets were drawn from, and the release that was attacked",
        )
    if len(key) != len(release) or (key.records >= len(original)).any():
        raise InputError(
            "the key does not belong to this release and this original",
            fix="give the key that was written with the release",
        )


def _of_links(
    links: Sequence[Link],
    guess: LinkageGuess,
    held: Mapping[int, Sequence[str]],
    behind: Int64Array,
    blind: npt.NDArray[np.float64],
) -> dict[str, Rate | None]:
    """Return what the links of targets are worth, given the truth and each one's blind chance."""
    right, singled, learned = [], [], []
    for link, target in zip(links, guess.targets, strict=True):
        hits = int((behind[list(link.named)] == target).sum()) if link.named else 0
        right.append(min(hits / (max(len(link.named), 1) * link.each), 1.0))
        singled.append(float(link.candidates == 1 and hits > 0))
        learned.append(bool(link.learned) and set(link.learned) <= set(held[target]))
    return {
        "named": mean(right),
        "advantage": advantage(right, blind, np.ones(len(right))),
        "singled": mean(singled),
        "advantage_singled": advantage(singled, blind, np.ones(len(right))),
        **_figures(links, guess.k),
        "learned": mean(learned),
    }


def _figures(links: Sequence[Link], k: int) -> dict[str, Rate | None]:
    """Return what the adversary can say without knowing the truth."""
    candidates = [link.candidates for link in links]
    return {
        "sure": mean([link.chance for link in links]),
        "single": mean([number == 1 for number in candidates]),
        "below_k": mean([0 < number < k for number in candidates]),
        "found": mean([number > 0 for number in candidates]),
        "candidates": mean_error(candidates, usual=k),
    }


def _lacking(
    guess: LinkageGuess, release: Release, sensitive: tuple[str, ...], tree: Taxonomy | None
) -> dict[str, Rate | None]:
    """Return the bits that are lacking about sensitive items that are not known already."""
    from setveil.attack.inference import item_equivocation  # it imports this module

    seen: dict[frozenset[str], float] = {}
    bits = []
    before = [item_equivocation(release, item, taxonomy=tree) for item in sensitive]
    for link in guess.links:
        known = frozenset(link.known)
        asked = [item for item in sensitive if item not in known]
        if known not in seen and asked:
            own = [item_equivocation(release, item, sorted(known), taxonomy=tree) for item in asked]
            seen[known] = float(np.mean(own))
        if asked:
            bits.append(seen[known])
    return {
        "equivocation": mean(bits),
        "equivocation_before": Rate.counted(float(np.mean(before))),
    }
