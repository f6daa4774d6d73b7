"""COAT: generalized items that are sets, under privacy and utility constraints.

What COAT shares with PCTA stands here too: the constraints themselves, how they are checked or
drawn, and the way from a table to a release (:class:`ConstrainedMethod`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import Decision, MethodRole, check_enough, shorten_log
from setveil.anonymize.set_generalization.set_recoding import (
    OBJECTIVES,
    Objective,
    SetRecoding,
    search_recoding,
)
from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.core.params import Choice, Share, declare, group_size, share
from setveil.core.records import Rows
from setveil.core.registry import register
from setveil.core.words import share_as_json, some
from setveil.guarantee.support_constraints import SupportConstraints
from setveil.io.wordnet import WordNet
from setveil.release.base import Anonymization, Step
from setveil.release.set_generalized import publish_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from setveil.anonymize.set_generalization.set_recoding import Image, Itemsets
    from setveil.core.arrays import Int64Array
    from setveil.core.records import Records
    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

PROGRESS_EVERY = 50
"""Steps after which progress is reported."""

LARGEST = 64
"""Most items of a privacy constraint: what a record holds of it is kept in one machine word."""

LIKE = 0.5
"""Wu-Palmer similarity above which two nouns may be published together."""


def occurring_names(table: Records) -> list[str]:
    """Return the items that some record holds, by name."""
    return [table.vocabulary[i] for i in np.flatnonzero(table.supports()).tolist()]


def check_privacy(table: Records, given: Iterable[Iterable[str]]) -> Itemsets:
    """Return privacy constraints sorted and once each, or say what is wrong with them.

    >>> from setveil import TransactionTable
    >>> check_privacy(TransactionTable.from_rows([["flu", "hiv"]]), [["hiv", "flu"], ["hiv"]])
    (('flu', 'hiv'), ('hiv',))
    """
    itemsets = _tidy(given, "privacy")
    _check_known(table, itemsets, "privacy")
    long = next((itemset for itemset in itemsets if len(itemset) > LARGEST), ())
    if long:
        raise ParameterError(
            f"a privacy constraint has {len(long)} items: {some(long)}",
            fix=f"use at most {LARGEST}",
        )
    return itemsets


def constrained_in_words(share: Fraction | float) -> str:
    """Return which items are protected where some are drawn.

    >>> constrained_in_words(1), constrained_in_words(0.05)
    ('every item is protected', '5% of the items, drawn at random, are protected')
    """
    if share == 1:
        return "every item is protected"
    return f"{float(share) * 100:g}% of the items, drawn at random, are protected"


def removable_in_words(share: Fraction | float) -> str:
    """Return how many items may be removed.

    >>> removable_in_words(1), removable_in_words(0.15), removable_in_words(0)
    ('any number of items may be removed', 'up to 15% of the items may be removed', 'no item ...')
    """
    if share == 1:
        return "any number of items may be removed"
    if not share:
        return "no item may be removed"
    return f"up to {float(share) * 100:g}% of the items may be removed"


def draw_privacy(
    table: Records, share: Fraction | float, rng: np.random.Generator | None = None
) -> Itemsets:
    """Draw a share of the items, at least one, each a privacy constraint of its own.

    The draw depends on which items occur, not on the order of the records. Without `rng` it
    comes from the operating system.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["gout"]])
    >>> draw_privacy(table, 1), len(draw_privacy(table, 0.1))
    ((('flu',), ('gout',), ('hiv',)), 1)
    """
    names = occurring_names(table)
    count = min(len(names), max(1, round(share * len(names))))
    if count == len(names):
        return tuple((name,) for name in names)
    chosen = (rng or np.random.default_rng()).choice(len(names), count, replace=False)
    return tuple((names[i],) for i in sorted(chosen.tolist()))


def given_or_drawn(
    table: Records,
    privacy: Iterable[Iterable[str]] | None,
    share: Fraction | None,
    rng: np.random.Generator | None,
) -> tuple[Itemsets, list[Step]]:
    """Return the privacy constraints, and a warning where only some items were drawn."""
    if privacy is not None:
        return check_privacy(table, privacy), []
    if share is None:
        raise ParameterError(
            "nothing says what to protect",
            fix="name the itemsets (privacy=..., --privacy FILE), protect every item "
            "(constrained=1, --constrained 1), or for research draw some items "
            "(constrained=0.05, --constrained 0.05)",
        )
    drawn = draw_privacy(table, share, rng)
    if share == 1 or not drawn:
        return drawn, []
    return drawn, [
        Step(
            action="warn",
            subject=f"only {len(drawn):,} of the items, drawn at random, are protected",
            reason="name what must be protected, or protect every item with constrained = 1",
        )
    ]


def utility_sets(
    table: Records,
    utility: Iterable[Iterable[str]] | WordNet | None,
    privacy: Itemsets,
) -> Int64Array:
    """Return for each item of the vocabulary the number of its utility constraint.

    Without utility constraints all items are in one. Items in none of those given are each one
    by themselves: they are published as they are, or not at all.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["gout"]])
    >>> utility_sets(table, None, ()).tolist(), utility_sets(table, [["flu", "hiv"]], ()).tolist()
    ([0, 0, 0], [0, 1, 0])
    """
    if utility is None:
        return np.zeros(len(table.vocabulary), dtype=np.int64)
    sets: Iterable[frozenset[str]]
    if isinstance(utility, WordNet):
        sets = consistent_sets(occurring_names(table), privacy, utility)
    else:
        sets = [frozenset(members) for members in _tidy(utility, "utility")]
    _check_known(table, sets, "utility")
    # Numbers from the items themselves: an item in no set keeps its own.
    number = np.arange(len(table.vocabulary), dtype=np.int64)
    taken: set[str] = set()
    for members in sets:
        twice = sorted(taken & members)
        if twice:
            raise ParameterError(
                f"the item {twice[0]!r} stands in two utility constraints",
                fix="make the utility constraints disjoint",
            )
        taken |= members
        items = [table.vocabulary.number(name) for name in members]
        number[items] = min(items)
    return number


def consistent_sets(
    items: Sequence[str], privacy: Itemsets, wordnet: WordNet, *, least: float = LIKE
) -> tuple[frozenset[str], ...]:
    """Return disjoint sets of items, each of things like one item of a privacy constraint.

    By name, an item of a privacy constraint starts a set if its Wu-Palmer similarity with no
    earlier start exceeds `least`. Every other item joins the start that it is most like, if that
    exceeds `least`, or none. A phrase that WordNet lacks counts as its last word.

    >>> from setveil.io.wordnet import WordNet
    >>> wordnet = WordNet.from_senses(
    ...     {"dog": ["dog.n.01"], "pug": ["pug.n.01"], "rock": ["rock.n.01"]},
    ...     parents={"pug.n.01": "dog.n.01", "dog.n.01": "thing.n.01", "rock.n.01": "thing.n.01"})
    >>> [sorted(u) for u in consistent_sets(["dog", "pug", "rock"], (("pug",),), wordnet)]
    [['dog', 'pug']]

    References
    ----------
    J. Shao, H. Ong: Exploiting contextual information in attacking set-generalized transactions.
    ACM Transactions on Internet Technology 17(4), 2017, section 6.2.3. Print takes all items that
    are like some item of a privacy constraint, which may give an item to several sets; COAT needs
    them disjoint.
    """
    words = [_word(item, wordnet) for item in items]
    protected = {item for itemset in privacy for item in itemset}
    most = np.zeros(len(items))
    start_of = np.full(len(items), -1)
    members: dict[int, set[str]] = {}
    for place in sorted(range(len(items)), key=items.__getitem__):
        if items[place] not in protected or most[place] > least:
            continue
        members[place] = {items[place]}
        if words[place] in wordnet:
            like = np.nan_to_num(wordnet.likeness([words[place]], words)[0])
            closer = like > most  # ties stay with the start that comes first by name
            most[closer], start_of[closer] = like[closer], place
    for place, item in enumerate(items):
        if place not in members and most[place] > least:
            members[int(start_of[place])].add(item)
    return tuple(frozenset(each) for each in members.values())


def _word(item: str, wordnet: WordNet) -> str:
    return item if item in wordnet or not item.split() else item.rsplit(maxsplit=1)[-1]


def _tidy(given: Iterable[Iterable[str]], kind: str) -> Itemsets:
    """Return constraints sorted and once each, or say which is none."""
    fix = "give a list of constraints, each a list of item names"
    if isinstance(given, str):
        raise ParameterError(f"{kind} is the text {given!r}", fix=fix)
    tidy = set()
    for each in given:
        itemset = () if isinstance(each, str) else tuple(each)
        if not itemset or not all(isinstance(item, str) for item in itemset):
            raise ParameterError(f"{each!r} is no {kind} constraint", fix=fix)
        tidy.add(tuple(sorted(set(itemset))))
    return tuple(sorted(tidy))


def _check_known(table: Records, itemsets: Iterable[Iterable[str]], kind: str) -> None:
    """Refuse items that do not occur: a constraint on a misspelt name would protect nothing."""
    named = sorted({item for itemset in itemsets for item in itemset})
    there = set(occurring_names(table))
    unknown = [item for item in named if item not in there]
    if unknown:
        raise InputError(
            f"{len(unknown)} of {len(named)} items in the {kind} constraints do not occur in the "
            f"data: {some(unknown)}",
            fix="check their spelling, or take them out",
        )


JOIN_OBJECTIVE = Choice(
    choices=OBJECTIVES, doc="what decides which sets are joined", ladder=(None, "ul_gaining")
)
CONSTRAINED_SHARE = Share(
    least=0,
    most=1,
    above=0,
    doc="share of the items to protect where no itemsets are named; 1 takes every item",
    words=constrained_in_words,
    ladder=(0.05, 0.25, 1),
    audited=1,
)


class ConstrainedMethod:
    """A method that recodes items into sets until no privacy constraint is broken.

    Its parameters include `k`, `objective` and `constrained`.
    """

    requires: ClassVar[frozenset[str]] = frozenset()
    accepts: ClassVar[frozenset[str]] = frozenset({"privacy", "utility", "rng"})
    distributed: ClassVar[str] = "setveil.spark.methods:set_generalized"
    rarest_first: ClassVar[bool] = False
    """Whether the least supported constraint is served first, and not the most supported one."""

    k: int
    constrained: Fraction | None

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
            The constraints cannot be kept: COAT would suppress more items than `s` allows, or PCTA
            found no way to join items. The message says whether that is proven.
        """
        check_enough(table, self.k)
        decision = self.decide(
            table,
            privacy=privacy,
            utility=utility,
            rng=rng,
            progress=progress,
            read=lambda _: Rows(table.offsets, table.items),
        )
        release, key = publish_sets(table, decision.image)
        return Anonymization(
            release=release,
            key=key,
            promise=decision.promise,
            log=decision.log,
            figures=decision.figures,
        )

    def decide(
        self,
        table: Records,
        *,
        privacy: Iterable[Iterable[str]] | None,
        utility: Iterable[Iterable[str]] | WordNet | None,
        rng: np.random.Generator | None,
        read: Callable[[Itemsets], Rows],
        progress: Progress | None = None,
    ) -> Decision:
        """Return the number of each item's generalized item.

        `read` gives the records that must be looked at for some constraints, see
        :meth:`SetRecoding.of`; of all others the supports of items are enough.
        """
        itemsets, log = given_or_drawn(table, privacy, self.constrained, rng)
        utility_of = utility_sets(table, utility, itemsets)
        start = partial(SetRecoding.of, table, read(itemsets), itemsets, utility_of, self.k)
        recoding = start(rarest_first=self.rarest_first)
        steps: list[Step] = []
        total = len(recoding.broken)
        while (image := recoding.next_broken()) is not None:
            if progress and len(steps) % PROGRESS_EVERY == 0:
                progress("constraints", max(total - len(recoding.broken), 0), total)
            step = self._mend(recoding, image)
            if step is None:
                break
            steps.append(step)
        recoding, steps = self._settle(recoding, steps, start)
        group_of = recoding.group_of(table)
        # A promise must not name suppressed items. What is left of a constraint has the same
        # image, so that nothing less is promised.
        number = table.vocabulary.number
        left = (tuple(i for i in itemset if group_of[number(i)] >= 0) for itemset in itemsets)
        return Decision(
            image=group_of,
            promise=SupportConstraints(itemsets=tuple(filter(None, left)), k=self.k),
            log=shorten_log(log + steps),
            figures={
                "constraints": len(itemsets),
                "generalized": recoding.generalized,
                "largest": int(recoding.sizes[recoding.alive].max(initial=0)),
                "suppressed": recoding.suppressed,
            },
        )

    def _mend(self, recoding: SetRecoding, image: Image) -> Step | None:
        """Do one thing about a broken constraint; None where the method knows nothing."""
        raise NotImplementedError

    def _settle(
        self, recoding: SetRecoding, steps: list[Step], start: Callable[[], SetRecoding]
    ) -> tuple[SetRecoding, list[Step]]:
        """Return what is published and how it was made, or say that there is no way.

        `start` gives the recoding with every item by itself, for another search.
        """
        raise NotImplementedError


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
class Coat(ConstrainedMethod):
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

    k: int = group_size(doc="least number of records that show a protected itemset")
    s: Fraction = share(
        Fraction(15, 100),
        doc="greatest share of the items that may be suppressed, 0 to 1",
        words=removable_in_words,
        audited=1,
    )
    objective: Objective = declare("ul_per_gain", JOIN_OBJECTIVE)
    constrained: Fraction | None = declare(None, CONSTRAINED_SHARE)

    def _mend(self, recoding: SetRecoding, image: Image) -> Step:
        """Join the rarest generalized item of the broken part with another, or suppress it."""
        breach = recoding.broken[image]
        rarest = min(breach.part, key=lambda group: (recoding.supports[group], group))
        reason = recoding.in_words(breach)
        merger = recoding.best_merger(rarest, breach, self.objective)
        if merger is not None:
            return recoding.step(recoding.merge(merger.group, merger.other), reason)
        title = recoding.title(rarest)
        if recoding.sizes[rarest] > 1:
            recoding.dissolve(rarest)
            return Step(action="dissolve", subject=title, reason=reason)
        recoding.suppress(rarest)
        return Step(action="suppress", subject=title, reason=reason)

    def _settle(
        self, recoding: SetRecoding, steps: list[Step], start: Callable[[], SetRecoding]
    ) -> tuple[SetRecoding, list[Step]]:
        """Look for another recoding where too many items are suppressed."""
        allowed = floor(self.s * len(recoding.names))
        if recoding.suppressed > allowed:
            found = search_recoding(start(), enough=allowed, below=recoding.suppressed)
            if found.recoding is not None:
                recoding, steps = found.recoding, found.log
            if recoding.suppressed > allowed:
                raise _too_many(recoding, allowed, proven=found.exhausted)
        return recoding, steps


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
