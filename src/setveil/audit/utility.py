"""Which items may be published as one: the utility constraints that an audit can try."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.anonymize.base import Anonymizer
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Anonymization

    Sets = tuple[tuple[str, ...], ...]

UTILITY = "utility"
"""Name under which utility constraints stand among the parameters of a setting."""
ANY = "any"
"""All items may be joined, as where nothing is said."""
ALONE = "alone"
"""Nothing may be joined: what is rare is left out."""
LEVEL = re.compile(r"tree:(\d+)")


def check_utility(text: object) -> None:
    """Refuse what names no utility constraints.

    >>> check_utility("tree:2")
    >>> check_utility("forest")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: utility is 'forest'. To fix: use any, alone, or tree:1, ...
    """
    if text not in {ANY, ALONE} and not (isinstance(text, str) and LEVEL.fullmatch(text)):
        raise ParameterError(
            f"utility is {text!r}",
            fix="use any, alone, or tree:1, tree:2, … for items below the same node of that level",
        )


def utility_in_words(text: str) -> str:
    """Return what utility constraints allow.

    >>> utility_in_words("alone"), utility_in_words("tree:2")
    ('nothing may be joined', 'only items below the same term of level 2 may be joined')
    """
    if text == ALONE:
        return "nothing may be joined"
    if text == ANY:
        return "any items may be joined"
    level = text.partition(":")[2]
    return f"only items below the same term of level {level} may be joined"


def utility_of(text: str, table: TransactionTable, taxonomy: Taxonomy | None) -> Sets:
    """Return the sets of items that may be published as one.

    Parameters
    ----------
    text
        ``"any"``: all together. ``"alone"``: each item by itself. ``"tree:2"``: items below the
        same node two steps below the top; those that stand higher are by themselves.
    table, taxonomy
        The items that occur, and their tree.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cold"], ["gout"]])
    >>> tree = Taxonomy.from_parents({"flu": "virus", "cold": "virus", "virus": "any",
    ...                               "gout": "any"})
    >>> utility_of("tree:1", table, tree), utility_of("alone", table, None)
    ((('gout',), ('cold', 'flu')), (('cold',), ('flu',), ('gout',)))
    """
    check_utility(text)
    items = sorted(occurring(table))
    if text == ANY:
        return (tuple(items),)
    if text == ALONE:
        return tuple((item,) for item in items)
    if taxonomy is None:
        raise ParameterError(f"utility {text} needs a taxonomy", fix="give one, or use alone")
    level = int(text.partition(":")[2])
    tree = taxonomy.for_items(items)
    found: dict[int, list[str]] = {}
    for item in items:
        way = list(tree.ancestors(tree.node(item)))[::-1]  # from the top down to the item
        found.setdefault(way[min(level, len(way) - 1)], []).append(item)
    return tuple(tuple(members) for _, members in sorted(found.items()))


def occurring(table: TransactionTable) -> list[str]:
    """Return the items that some record holds.

    >>> from setveil import TransactionTable
    >>> occurring(TransactionTable.from_rows([["flu"], []]))
    ['flu']
    """
    return [table.vocabulary[number] for number in np.flatnonzero(table.supports()).tolist()]


@dataclass(frozen=True)
class WithUtility:
    """An anonymizer with its utility constraints, as an adversary runs it who knows both.

    Parameters
    ----------
    method
        The anonymizer.
    sets
        Items that may be published as one; those that do not occur are left out of them.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.anonymize import Coat
    >>> method = WithUtility(Coat(k=2, constrained=1, s=1), (("flu",), ("cold", "gout")))
    >>> made = method.anonymize(TransactionTable.from_rows([["flu"], ["cold"], ["cold"]]))
    >>> made.release.to_rows()
    [['cold'], ['cold'], []]
    """

    method: Anonymizer
    sets: Sets

    @property
    def requires(self) -> frozenset[str]:
        """What the anonymizer needs."""
        return self.method.requires

    @property
    def accepts(self) -> frozenset[str]:
        """What it takes besides."""
        found: frozenset[str] = getattr(self.method, "accepts", frozenset())
        return found

    def anonymize(self, table: TransactionTable, **inputs: Any) -> Anonymization:
        """Anonymize under those constraints that speak of items of `table`."""
        there = set(occurring(table))
        sets = [[item for item in each if item in there] for each in self.sets]
        return self.method.anonymize(table, utility=[each for each in sets if each], **inputs)
