"""k-anonymity of whole records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.literature import HE_2009, SWEENEY_2002
from setveil.core.params import count
from setveil.core.registry import register
from setveil.core.table import TransactionTable
from setveil.guarantee.base import MOST_WITNESSES, Verdict, Witness

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from setveil.release.base import Release

KEY = np.dtype(">i4")


@register(
    "guarantee",
    "k-anonymity",
    paper="Sweeney 2002; for set-valued data He & Naughton 2009",
    bibtex=SWEENEY_2002 + HE_2009,
)
@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Every published record occurs at least k times.

    However many items of a person are known, the published records that could be theirs then
    come in groups of at least k equal ones. The check counts equal records and nothing else: it
    knows no method, no key and no manifest. Equal means the same nodes (by id) equally often, or
    the same items in a table. A release without records holds: nobody is in it.

    Parameters
    ----------
    k
        Least number of equal records.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["flu"], ["flu"], ["flu", "gout"]])
    >>> verdict = KAnonymity(k=2).check(table)
    >>> verdict.holds, verdict.reason
    (False, '1 of 2 distinct records occur fewer than 2 times, the rarest 1 time')
    >>> verdict.witnesses[0].items
    ('flu', 'gout')
    """

    k: int = count(5, doc="least number of equal records")

    def check(self, published: Release | TransactionTable) -> Verdict:
        """Count the equal records of `published`; witnesses are the rare ones, rarest first."""
        counts, shown = _count_rows(published)
        rare = [row for row, count in counts.items() if count < self.k]
        # Ties by content, so that the verdict does not depend on the order of the records.
        worst = nsmallest(MOST_WITNESSES, rare, key=lambda row: (counts[row], row))
        return self.verdict(
            records=counts.total(),
            distinct=len(counts),
            rare=len(rare),
            least=min(counts.values(), default=0),
            worst=[(shown(row), counts[row]) for row in worst],
        )

    def verdict(
        self,
        *,
        records: int,
        distinct: int,
        rare: int,
        least: int,
        worst: Iterable[tuple[tuple[str, ...], int]],
    ) -> Verdict:
        """Return the verdict on counted records: how many are distinct, and of these rare."""
        if not rare:
            reason = f"each of {distinct:,} distinct records occurs at least {least:,} times"
            if not records:
                reason = "there are no records, so none is rare"
            return Verdict(holds=True, exact=True, reason=reason, checked=records)
        return Verdict(
            holds=False,
            exact=True,
            reason=f"{rare:,} of {distinct:,} distinct records occur fewer than "
            f"{self.k} times, the rarest {least} time{'s' if least > 1 else ''}",
            checked=records,
            witnesses=tuple(
                Witness(items=items, support=support, required=f"at least {self.k}")
                for items, support in worst
            ),
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> KAnonymity(k=5).describe()
        'every published record occurs at least 5 times'
        """
        return f"every published record occurs at least {self.k} times"

    def by_hand(self) -> str:
        """Return how to check the promise in the exported tables, without setveil."""
        return (
            "Write down the items of each record of the table records, and count how often each "
            f"list occurs. No list may occur fewer than {self.k} times."
        )

    @property
    def group_size(self) -> int:
        """Return the number of people among whom each one is hidden."""
        return self.k

    def unprotected(
        self,
        shown: Collection[str] = (),
        longest: int | None = None,
    ) -> tuple[str, ...]:
        """Return what the promise leaves open, in sentences for the owner.

        >>> len(KAnonymity(k=5).unprotected())
        2
        """
        return (
            (
                "Equal records show the same items: whoever finds a person's group learns "
                "everything the group shows, sensitive items included."
            ),
            "Someone who has a second release about the same people can compare the two.",
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {"k": self.k}


def _count_rows(
    published: Release | TransactionTable,
) -> tuple[Counter[bytes], Callable[[bytes], tuple[str, ...]]]:
    """Count equal records; the second result turns a counted record into names."""
    if isinstance(published, TransactionTable):
        offsets, numbers, names = published.offsets, published.items, published.vocabulary.names
    else:
        offsets, numbers, names = published.rows_with_repeats()
    # Big-endian, so that bytes sort as the numbers do.
    raw = numbers.astype(KEY).tobytes()
    bounds = (offsets * KEY.itemsize).tolist()

    def shown(row: bytes) -> tuple[str, ...]:
        return tuple(names[i] for i in np.frombuffer(row, dtype=KEY).tolist())

    return Counter(raw[start:end] for start, end in pairwise(bounds)), shown
