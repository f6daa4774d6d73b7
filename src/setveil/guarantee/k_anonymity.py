"""k-anonymity of whole records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from setveil.core.literature import HE_2009, SWEENEY_2002
from setveil.core.params import count
from setveil.core.registry import register
from setveil.core.table import TransactionTable
from setveil.guarantee.base import MOST_WITNESSES, HidesAmongK, Verdict, Witness, parts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.guarantee.base import Published
    from setveil.release.base import Release

KEY = np.dtype(">i4")


@register(
    "guarantee",
    "k-anonymity",
    paper="Sweeney 2002; for set-valued data He & Naughton 2009",
    bibtex=SWEENEY_2002 + HE_2009,
)
@dataclass(frozen=True, kw_only=True)
class KAnonymity(HidesAmongK):
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

    def check(self, published: Published) -> Verdict:
        """Count the equal records of `published`; witnesses are the rare ones, rarest first.

        Equal records meet in one group, chosen by their content.
        """
        parts = parts_of(published).map(_rows_with_repeats)
        groups = parts.regroup(
            partial(_count_equal, groups=parts.spread), partial(_judge_group, k=self.k)
        )
        records = sum(group.records for group in groups)
        distinct = sum(group.distinct for group in groups)
        rare = sum(group.rare for group in groups)
        least = min((group.least for group in groups if group.distinct), default=0)
        if not rare:
            reason = f"each of {distinct:,} distinct records occurs at least {least:,} times"
            if not records:
                reason = "there are no records, so none is rare"
            return Verdict(holds=True, exact=True, reason=reason, checked=records)
        names = parts.sample[2]
        # Ties by content, so that the verdict does not depend on the order of the records.
        worst = nsmallest(MOST_WITNESSES, (row for group in groups for row in group.worst))
        return Verdict(
            holds=False,
            exact=True,
            reason=f"{rare:,} of {distinct:,} distinct records occur fewer than "
            f"{self.k} times, the rarest {least} time{'s' if least > 1 else ''}",
            checked=records,
            witnesses=tuple(
                Witness(
                    items=tuple(names[i] for i in np.frombuffer(row, dtype=KEY).tolist()),
                    support=support,
                    required=f"at least {self.k}",
                )
                for support, row in worst
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


class EqualRecords(NamedTuple):
    """How many records a group holds, how many distinct and rare ones, and the rarest of these."""

    records: int
    distinct: int
    rare: int
    least: int
    worst: list[tuple[int, bytes]]


def _rows_with_repeats(
    published: Release | TransactionTable,
) -> tuple[Int64Array, Int32Array, tuple[str, ...]]:
    """Return compressed rows, and what their numbers stand for."""
    if isinstance(published, TransactionTable):
        return published.offsets, published.items, published.vocabulary.names
    return published.rows_with_repeats()


def _count_equal(
    rows: tuple[Int64Array, Int32Array, tuple[str, ...]], groups: int
) -> Iterator[tuple[int, Counter[bytes]]]:
    """Yield for each group the equal records that belong to it."""
    offsets, numbers, _ = rows
    # Big-endian, so that bytes sort as the numbers do.
    raw = numbers.astype(KEY).tobytes()
    bounds = (offsets * KEY.itemsize).tolist()
    counts = Counter(raw[start:end] for start, end in pairwise(bounds))
    if groups == 1:
        yield 0, counts
        return
    split: dict[int, Counter[bytes]] = {}
    for row, copies in counts.items():
        split.setdefault(crc32(row) % groups, Counter())[row] = copies
    yield from split.items()


def _judge_group(number: int, pieces: list[Counter[bytes]], k: int) -> EqualRecords:
    counts = pieces[0]
    for piece in pieces[1:]:
        counts.update(piece)
    rare = [(copies, row) for row, copies in counts.items() if copies < k]
    return EqualRecords(
        records=counts.total(),
        distinct=len(counts),
        rare=len(rare),
        least=min(counts.values(), default=0),
        worst=nsmallest(MOST_WITNESSES, rare),
    )
