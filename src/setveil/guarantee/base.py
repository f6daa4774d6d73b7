"""What a guarantee is: a question about a release, answered exactly and with witnesses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from setveil.core.errors import ParameterError
from setveil.core.notebook import ROWS, html_table
from setveil.core.records import Parts, Whole

if TYPE_CHECKING:
    from fractions import Fraction

    from setveil.core.table import TransactionTable
    from setveil.release.base import Release

    Published: TypeAlias = Release | TransactionTable | Parts[Any]
    """A release, a table, or parts that are releases or tables of some records."""

MOST_WITNESSES = 20
"""How many witnesses a verdict carries."""


@dataclass(frozen=True, kw_only=True)
class Witness:
    """An itemset that breaks a guarantee, with its support and what was required of it.

    Where the itemset gives another item away, `consequent` is that item and `confidence` the
    share of the records with the itemset that hold it.
    """

    items: tuple[str, ...]
    support: int
    required: str
    consequent: str | None = None
    confidence: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer of a check.

    Parameters
    ----------
    holds
        Whether the guarantee holds.
    exact
        Whether the answer is certain; a bound on work makes it uncertain and `reason` says so.
    reason
        One sentence for a person.
    checked
        How many things were looked at (records, itemsets).
    witnesses
        What breaks the guarantee, worst first; a sample where there are many.
    """

    holds: bool
    exact: bool
    reason: str
    checked: int
    witnesses: tuple[Witness, ...] = ()

    def _repr_html_(self) -> str:
        says = "holds" if self.holds else "VIOLATED"
        rows = [
            [
                "{" + ", ".join(found.items) + "}",
                found.consequent or "",
                found.support,
                found.required,
            ]
            for found in self.witnesses[:ROWS]
        ]
        columns = ["itemset", "gives away", "records", "required"] if rows else []
        return html_table(
            f"{says}{'' if self.exact else ' (not certain)'}: {self.reason}", columns, rows
        )


@runtime_checkable
class Guarantee(Protocol):
    """A privacy model with its parameters.

    One that hides each person among a number of others has that number as `group_size`.

    One of setveil's own also has a method ``unprotected(shown, longest)``: sentences for the owner
    about what the promise leaves open, given the original items that the release shows and the
    length of the longest published record; and ``by_hand()``: how recipients check the promise in
    the exported tables (:mod:`setveil.release.export`) without setveil. It looks at what is
    published part by part (:mod:`setveil.core.records`), and says so by ``in_parts = True``: only
    such a guarantee can be checked where the records are distributed.
    """

    def check(self, published: Release | TransactionTable) -> Verdict:
        """Decide whether `published` keeps the promise, from nothing but what is in it."""
        ...

    def describe(self) -> str:
        """Return the promise in one plain sentence."""
        ...

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values; they are published with the release."""
        ...


class CheckedInParts:
    """A guarantee that looks at one part of what is published after the other."""

    in_parts: ClassVar[bool] = True


class HidesAmongK(CheckedInParts):
    """A guarantee that hides each person among k."""

    k: int

    @property
    def group_size(self) -> int:
        """Return the number of people among whom each one is hidden."""
        return self.k


def parts_of(published: Published) -> Parts[Any]:
    """Return what is published in parts that are tables or releases; in memory it is one.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu"]])
    >>> parts_of(table).sample is table
    True
    """
    if isinstance(published, Parts):
        return published
    return Whole(published)


def distinct_names(given: object) -> tuple[str, ...]:
    """Return item names sorted and once each.

    >>> distinct_names(["hiv", "flu", "hiv"])
    ('flu', 'hiv')
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(
            f"sensitive is {given!r}", fix="give a list of item names, also for a single one"
        )
    names = set(given)
    for name in names:
        if not isinstance(name, str):
            raise ParameterError(f"sensitive holds {name!r}", fix="give item names as texts")
    return tuple(sorted(names))
