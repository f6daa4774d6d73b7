"""Constraints on a release of sets: what must not be rare, and what may be published together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.core.words import some
from setveil.io.wordnet import WordNet
from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from setveil.core.arrays import Int64Array
    from setveil.core.table import TransactionTable

    Itemsets = tuple[tuple[str, ...], ...]

LARGEST = 64
"""Most items of a privacy constraint: what a record holds of it is kept in one machine word."""

LIKE = 0.5
"""Wu-Palmer similarity above which two nouns may be published together."""


def occurring_names(table: TransactionTable) -> list[str]:
    """Return the items that some record holds, by name."""
    return [table.vocabulary[i] for i in np.flatnonzero(table.supports()).tolist()]


def check_privacy(table: TransactionTable, given: Iterable[Iterable[str]]) -> Itemsets:
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
    table: TransactionTable, share: Fraction | float, rng: np.random.Generator | None = None
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
    table: TransactionTable,
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
    table: TransactionTable,
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
        return np.zeros(table.n_items, dtype=np.int64)
    sets: Iterable[frozenset[str]]
    if isinstance(utility, WordNet):
        sets = consistent_sets(occurring_names(table), privacy, utility)
    else:
        sets = [frozenset(members) for members in _tidy(utility, "utility")]
    _check_known(table, sets, "utility")
    # Numbers from the items themselves: an item in no set keeps its own.
    number = np.arange(table.n_items, dtype=np.int64)
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


def _check_known(table: TransactionTable, itemsets: Iterable[Iterable[str]], kind: str) -> None:
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
