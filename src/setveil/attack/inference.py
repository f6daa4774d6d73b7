"""Inference: an attacker who knows items of a person asks whether they have a sensitive one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.attack.base import INFERENCE, AuditRole, Finding, check_applies
from setveil.attack.guess import Guess
from setveil.attack.linkage.linkage import KNOWLEDGE, SAMPLES, Targets
from setveil.core.errors import InputError, ParameterError
from setveil.core.interval import Rate, advantage, mean
from setveil.core.params import choice, count
from setveil.core.registry import register
from setveil.release.base import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key, Release


@dataclass(frozen=True, kw_only=True)
class InferenceGuess(Guess):
    """For each person the chances of the sensitive items that an attacker was asked about.

    Parameters
    ----------
    targets
        Who was asked about: places in the original data.
    known, asked
        For each of them the items that are known, and those in question.
    chances
        For each of them the chance of each item in question.
    before
        The same for somebody of whom nothing is known.

    Examples
    --------
    >>> guess = InferenceGuess(attack="inference", targets=(7,), known=(("flu",),),
    ...                        asked=(("hiv",),), chances=((0.5,),), before=((0.25,),))
    >>> InferenceGuess.from_json(guess.to_json()) == guess
    True
    """

    kind: ClassVar[str] = "inference"
    score_words: ClassVar[dict[str, str]] = {
        "believed": "mean chance that is given to a sensitive item that a person has",
        "believed_before": "the same by an attacker who knows nothing of the person",
        "believed_control": "mean chance that is given to one that the person does not have",
        "advantage": "share of what knowing nothing misses that the attack gets",
    }

    targets: tuple[int, ...]
    known: tuple[tuple[str, ...], ...]
    asked: tuple[tuple[str, ...], ...]
    chances: tuple[tuple[float, ...], ...]
    before: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "targets", tuple(self.targets))
        for name in ("known", "asked", "chances", "before"):
            object.__setattr__(self, name, tuple(tuple(row) for row in getattr(self, name)))
        texts = [item for row in (*self.known, *self.asked) for item in row]
        numbers = [chance for row in (*self.chances, *self.before) for chance in row]
        sizes = [[len(row) for row in rows] for rows in (self.asked, self.chances, self.before)]
        if not all(type(each) is int and each >= 0 for each in self.targets):
            raise ParameterError("a target is no place in the original data")
        if not all(isinstance(each, str) for each in texts) or not all(
            isinstance(each, float | int) and 0 <= each <= 1 for each in numbers
        ):
            raise ParameterError("items are texts, and chances lie between 0 and 1")
        if not sizes[0] == sizes[1] == sizes[2] or not (
            len(self.targets) == len(self.known) == len(self.asked)
        ):
            raise ParameterError("a guess says of every target what it was asked")

    def rates(
        self,
        *,
        release: Release,
        original: TransactionTable,
        key: Key,  # the guess is about people, not about records of the release
    ) -> dict[str, Rate | None]:
        """Return how often an attacker rightly believes that people have sensitive items.

        Parameters
        ----------
        guess
            What an attacker believes.
        release, original, key
            What was attacked, what it was made from, and the private link, which is not needed.

        Returns
        -------
        dict of str to Rate or None
            ``believed``: the mean chance that is given to a sensitive item that a target holds.
            ``believed_before``: the same by who knows nothing of the target. ``believed_control``:
            the mean chance given to one that the target does not hold. ``advantage``: the share of
            what knowing nothing misses that the adversary gets, target by target. None where no
            target holds a sensitive item. Intervals count targets.

        Examples
        --------
        >>> from setveil.attack import Inference, Targets
        >>> from setveil import TransactionTable
        >>> from setveil.release import publish_suppressed
        >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"], ["gout"], ["gout"]])
        >>> release, key = publish_suppressed(table, [True, True, True])
        >>> who = Targets(records=(0, 2), known=(("flu",), ("gout",)), asked=(("hiv",), ("hiv",)))
        >>> guess = Inference().run(release, targets=who)
        >>> rates = guess.score(release=release, original=table, key=key)
        >>> {name: round(rate.value, 3) for name, rate in rates.items()}
        {'believed': 0.5, 'believed_before': 0.25, 'believed_control': 0.0, 'advantage': 0.333}
        """
        if max(self.targets, default=-1) >= len(original):
            raise InputError(
                "the self is about other people",
                fix="give the data that the targets were drawn from",
            )
        believed, before, control = list[float](), list[float](), list[float]()
        rows = zip(self.targets, self.asked, self.chances, self.before, strict=True)
        for target, asked, chances, blind in rows:
            row = set(original[target])
            held = [place for place, item in enumerate(asked) if item in row]
            if held:
                believed.append(float(np.mean([chances[place] for place in held])))
                before.append(float(np.mean([blind[place] for place in held])))
            others = [chances[place] for place in range(len(asked)) if place not in held]
            if others:
                control.append(float(np.mean(others)))
        return {
            "believed": mean(believed),
            "believed_before": None if not before else Rate.counted(float(np.mean(before))),
            "believed_control": mean(control),
            "advantage": advantage(believed, before, np.ones(len(believed))),
        }


@register("attack", "inference", paper="Article 29 Working Party, Opinion 05/2014")
@dataclass(frozen=True, kw_only=True)
class Inference:
    """Say how likely somebody has a sensitive item, by other items of theirs: for every form.

    The attacker believes the release: the chance of an item is :func:`item_chance`, and that of
    an item that is not shown is 0. `m`, `knowledge` and `sample` say how
    :func:`~setveil.measure.targets.draw_questions` chooses the people and what is known of them.

    Parameters
    ----------
    m
        How many items of a person are known, none of them sensitive; all of one who has fewer.
    knowledge
        Which: drawn at ``random``, the ``rarest``, or the most ``common`` ones.
    sample
        How many people are drawn among those with a sensitive item.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"], ["gout"], ["gout"]])
    >>> release, _ = publish_suppressed(table, [True, True, True])
    >>> who = Targets(records=(0,), known=(("flu",),), asked=(("hiv",),))
    >>> guess = Inference().run(release, targets=who)
    >>> guess.chances, guess.before
    (((0.5,),), ((0.25,),))
    """

    applies_to: ClassVar[frozenset[str]] = frozenset(FORMS)
    requires: ClassVar[frozenset[str]] = frozenset({"targets", "sensitive"})
    accepts: ClassVar[frozenset[str]] = frozenset({"taxonomy", "progress"})
    role: ClassVar[AuditRole] = AuditRole(
        family="inference",
        findings=(
            Finding(
                risk=INFERENCE,
                figure="believed",
                baseline="believed_before",
                baseline_name="knowing nothing of the person",
                control="believed_control",
                label="Learn a sensitive item",
                says="An attacker who knows {knows} guesses {count} of 1,000 sensitive items "
                "rightly.",
            ),
        ),
        samples=SAMPLES,
    )

    m: int = count(2, least=0, doc="how many items of a person are known")
    knowledge: str = choice(
        "random", KNOWLEDGE, doc="which of them: any, the rarest or the most common"
    )
    sample: int = count(1000, doc="how many people are drawn")

    def run(
        self,
        release: Release,
        *,
        targets: Targets,
        taxonomy: Taxonomy | None = None,
        rng: np.random.Generator | None = None,
        progress: Callable[..., None] | None = None,
    ) -> InferenceGuess:
        """Return for each target the chances of the items in question.

        Parameters
        ----------
        release
            Any form.
        targets
            Whom the attacker knows, and which items are in question.
        taxonomy
            The tree of the items; generalized releases may need it.
        rng
            Not used: nothing is drawn.
        progress
            Called with what is done, how much of it, and of how much.
        """
        check_applies("inference", self.applies_to, release)

        @cache
        def is_shown(item: str) -> bool:
            return release.expected_support([item], taxonomy) > 0

        @cache
        def chance(item: str, known: frozenset[str]) -> float:
            if not is_shown(item):
                return 0.0
            return release.item_chance(item, sorted(known), taxonomy)

        chances = []
        for done, (known, asked) in enumerate(zip(targets.known, targets.asked, strict=True)):
            chances.append([chance(item, frozenset(known)) for item in asked])
            if progress is not None and done % 100 == 0:
                progress("attacking", done, len(targets.records))
        nothing = frozenset[str]()
        return InferenceGuess(
            attack="inference",
            targets=targets.records,
            known=targets.known,
            asked=targets.asked,
            chances=tuple(map(tuple, chances)),
            before=tuple(tuple(chance(item, nothing) for item in row) for row in targets.asked),
        )


def item_chance(
    release: Release, item: str, known: Iterable[str] = (), *, taxonomy: Taxonomy | None = None
) -> float:
    """Return the chance that somebody who is known to hold some items holds another one.

    By what the form says: see :meth:`Release.item_chance
    <setveil.release.base.Release.item_chance>`.

    Parameters
    ----------
    release
        Any form of release.
    item
        What is asked for.
    known
        What is known of the person.
    taxonomy
        The tree of the items; generalized releases may need it.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_sets
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["gout", "rash"], ["gout"]])
    >>> release, _ = publish_sets(table, [0, 0, 1, -1])  # flu or gout; hiv; without rash
    >>> item_chance(release, "gout", ["hiv"]), item_chance(release, "rash", ["hiv"])
    (0.5, 0.5)
    >>> round(item_chance(release, "hiv", ["gout"]), 3)
    0.333
    """
    return release.item_chance(item, known, taxonomy)


def item_equivocation(
    release: Release,
    item: str,
    known: Iterable[str] = (),
    *,
    taxonomy: Taxonomy | None = None,
) -> float:
    """Return the bits that are lacking about whether somebody holds an item.

    The entropy of :func:`item_chance`: 1 where it is as likely as not,
    0 where it is certain, either way.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"], ["gout"], ["gout"]])
    >>> release, _ = publish_suppressed(table, [True, True, True])
    >>> item_equivocation(release, "hiv", ["flu"]), item_equivocation(release, "hiv", ["gout"])
    (1.0, 0.0)
    """
    return two_way_entropy(release.item_chance(item, known, taxonomy))


def two_way_entropy(chance: float) -> float:
    """Return the entropy of yes or no, in bits.

    >>> two_way_entropy(0.5), two_way_entropy(0), two_way_entropy(1)
    (1.0, 0.0, 0.0)
    """
    shares = np.array([chance, 1 - chance])
    shares = shares[shares > 0]
    return abs(float((shares * np.log2(shares)).sum()))
