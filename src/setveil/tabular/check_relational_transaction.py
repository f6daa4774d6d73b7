"""Checks of tables with a set-valued column: (k, k^m)-anonymity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setveil.core.table import TransactionTable
from setveil.guarantee.base import Verdict, Witness
from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.io.frames import as_polars
from setveil.tabular.check_anonymity import QUASI
from setveil.tabular.classes import (
    answered,
    exact_columns,
    many,
    named_columns,
    plain_row,
    sensitive_column,
    shown,
    whole,
    witness,
)
from setveil.tabular.item_column import item_sets

if TYPE_CHECKING:
    from setveil.tabular.classes import Row


@dataclass(frozen=True, kw_only=True)
class KKmAnonymity:
    """Whoever knows the plain columns of a person and up to m items faces k rows.

    Every class on the plain columns has at least k rows, and within each class every set of at
    most m published items that occurs at all occurs in at least k rows. So nobody is singled out
    by the plain columns, by items, or by both together.

    Parameters
    ----------
    quasi
        The plain columns that somebody may know of a person.
    items
        The set-valued column: lists, or texts with ``|`` between the items.
    k
        Least number of rows.
    m
        Greatest number of items someone may know.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": ["30-39"] * 3, "visits": ["flu|cold", "flu|cold", "flu"]})
    >>> KKmAnonymity(quasi=["age"], items="visits", k=2, m=2).check(people).holds
    True
    >>> verdict = KKmAnonymity(quasi=["age"], items="visits", k=3, m=1).check(people)
    >>> verdict.reason
    'in 1 of 1 class a set of at most 1 item is rare, the rarest in 2 rows'
    >>> verdict.witnesses[0].items
    ('age=30-39', 'visits has cold')

    References
    ----------
    G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos: Anonymizing data with relational
    and transaction attributes, ECML PKDD 2013.
    """

    quasi: tuple[str, ...] = QUASI
    items: str = field(metadata={"doc": "the set-valued column"})
    k: int = field(default=5, metadata={"doc": "least number of rows"})
    m: int = field(default=2, metadata={"doc": "greatest number of items someone may know"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", named_columns("quasi", self.quasi))
        sensitive_column(self.items, self.quasi, name="items")
        whole("k", self.k)
        whole("m", self.m)

    def check(self, frame: Any) -> Verdict:  # noqa: ANN401  (polars, pandas or pyarrow)
        """Count rows of classes, and sets of items in each; witnesses: small classes, rare sets."""
        classes: dict[Row, list[tuple[str, ...]]] = {}
        plain = exact_columns(frame, self.quasi).iter_rows()
        sets = item_sets(as_polars(frame, [self.items])[self.items])
        for row, items in zip(plain, sets, strict=True):
            classes.setdefault(plain_row(row), []).append(items)
        small = [row for row, found in classes.items() if len(found) < self.k]
        bad: list[tuple[int, Witness]] = [
            (-1, witness(shown(self.quasi, row), len(classes[row]), f"at least {self.k} rows"))
            for row in small
        ]
        judge, rare, unsure = KmAnonymity(k=self.k, m=self.m), 0, 0
        for row, found in classes.items():
            verdict = judge.check(TransactionTable.from_rows(found))
            unsure += not verdict.exact
            rare += verdict.exact and not verdict.holds
            bad += [
                (each.support, self._rare(row, each)) for each in verdict.witnesses if verdict.exact
            ]
        told = answered(
            rows=len(sets),
            kept=f"each of {many(len(classes), 'class', 'classes')} has at least {self.k} rows, "
            f"and no set of at most {many(self.m, 'item')} is rare in one",
            broken=self._broken(len(classes), len(small), rare, bad),
            bad=bad,
        )
        if bad or not unsure:
            return told
        reason = f"in {unsure:,} of {many(len(classes), 'class', 'classes')} not all sets of items"
        return Verdict(
            holds=True, exact=False, reason=f"{reason} could be counted", checked=len(sets)
        )

    def _rare(self, row: Row, found: Witness) -> Witness:
        known = tuple(f"{self.items} has {item}" for item in found.items)
        return witness((*shown(self.quasi, row), *known), found.support, f"at least {self.k} rows")

    def _broken(self, classes: int, small: int, rare: int, bad: list[tuple[int, Witness]]) -> str:
        of = f"of {many(classes, 'class', 'classes')}"
        parts = []
        if small:
            parts.append(
                f"{small:,} {of} {'has' if small == 1 else 'have'} fewer than {many(self.k, 'row')}"
            )
        if rare:
            least = min(support for support, _ in bad if support >= 0)
            parts.append(
                f"in {rare:,} {of} a set of at most {many(self.m, 'item')} is rare, the rarest in "
                f"{many(least, 'row')}"
            )
        return "; ".join(parts)

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> KKmAnonymity(quasi=["age"], items="visits", k=5, m=2).describe()
        'who knows age and up to 2 items of visits of a person faces at least 5 rows'
        """
        return (
            f"who knows {', '.join(self.quasi)} and up to {many(self.m, 'item')} of {self.items} "
            f"of a person faces at least {many(self.k, 'row')}"
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {"quasi": list(self.quasi), "items": self.items, "k": self.k, "m": self.m}
