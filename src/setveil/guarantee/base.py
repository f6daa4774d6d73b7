"""What a guarantee is: a question about a release, answered exactly and with witnesses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from setveil.core.notebook import ROWS, html_table

if TYPE_CHECKING:
    from fractions import Fraction

    from setveil.core.table import TransactionTable
    from setveil.release import Release


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
    the exported tables (:mod:`setveil.release.export`) without setveil.
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
