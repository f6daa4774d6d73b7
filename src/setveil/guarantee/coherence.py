"""(h, k, p)-coherence: what someone knows of a person leads to k records and to no secret."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, kept_offsets
from setveil.core.literature import XU_2008
from setveil.core.params import count, share
from setveil.core.registry import register
from setveil.core.words import share_as_json
from setveil.guarantee.base import MOST_WITNESSES, Verdict, Witness
from setveil.guarantee.naming import items
from setveil.guarantee.shown_items import shown_items

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from setveil.core.table import TransactionTable
    from setveil.guarantee.shown_items import ShownItems
    from setveil.release.base import Release
    from setveil.release.views import PublishedRows


@register(
    "guarantee",
    "coherence",
    paper="Xu, Wang, Fu & Yu 2008",
    bibtex=XU_2008,
)
@dataclass(frozen=True, kw_only=True)
class Coherence:
    """Every set of at most p public items leads to at least k records and to no sensitive item.

    Public is every published item that is not sensitive. A *mole* is a set of one to p public
    items that some record holds, but fewer than k do, or more than the share h of those that do
    hold one and the same sensitive item. The promise is that there is no mole. Records without
    sensitive items count in all supports; the comparison with h is in whole numbers.

    The check looks at all sets of public items that occur, smaller ones first in effect: once a
    mole is found, larger sets are left alone. The witnesses are moles of the least size there is,
    so they hold no smaller ones.

    Parameters
    ----------
    h
        Greatest share of the records with a public itemset that may hold one sensitive item; a
        number from 0 to 1, or a text such as ``"4/5"``. Held as an exact fraction.
    k
        Least number of records with a public itemset.
    p
        Greatest number of public items someone may know of a person.
    sensitive
        The sensitive items. Those that were removed are passed over. Of those that stand behind
        categories or sets it is judged what these imply; where they leave it open, the verdict
        is not exact.
    work
        Most places that are read before the check gives up and says so (``exact=False``); it
        depends on the release alone and not on the clock. Not published.

    Examples
    --------
    Table 2.1 of the thesis that borrows the paper's example: {a, b} leads to one record, and both
    records with {b, f} have hepatitis. Without d, x, y and z, the single items are no moles.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([
    ...     ["a", "c", "f", "g", "Diabetes"], ["a", "b", "c", "f", "Hepatitis"],
    ...     ["b", "f", "Hepatitis"], ["b", "c", "g", "HIV"], ["a", "c", "f", "g", "HIV"]])
    >>> promise = Coherence(h=0.8, k=2, p=2, sensitive=("Diabetes", "Hepatitis", "HIV"))
    >>> verdict = promise.check(table)
    >>> verdict.reason
    '3 pairs of public items are moles; single items are not'
    >>> for witness in verdict.witnesses:
    ...     print(*witness.items, witness.support, witness.required)
    a b 1 at least 2; also at most 0.8 of them with 'Hepatitis', not 1 of 1
    b g 1 at least 2; also at most 0.8 of them with 'HIV', not 1 of 1
    b f 2 at most 0.8 of them with 'Hepatitis', not 2 of 2

    Notes
    -----
    The empty itemset counts as no mole, as in print: a sensitive item that more than the share h
    of *all* records hold is not forbidden by itself.

    References
    ----------
    Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu: Anonymizing transaction databases for publication,
    KDD 2008.
    """

    h: Fraction = share(
        Fraction(4, 5), doc="greatest share of records that may hold one sensitive item"
    )
    k: int = count(5, doc="least number of records")
    p: int = count(2, doc="greatest number of public items someone may know")
    sensitive: tuple[str, ...] = items(doc="the sensitive items")
    work: int = count(
        20_000_000_000,
        most=10**15,
        doc="most places of records that are read before the check gives up",
    )

    def check(self, published: Release | TransactionTable) -> Verdict:
        """Look for moles; the witnesses are the smallest, the rarest of them first."""
        # Here, so that guarantees can be named and built without waiting for numba.
        from setveil.guarantee.coherence_kernels import (
            FOUND,
            SETS,
            SIZE,
            STEPS,
            least_moles,
        )

        found = shown_items(published, self.sensitive)
        rows, split = found.rows, _Split.of(found)
        p = min(self.p, split.longest)
        if p == 0:
            reason = "no record has a public item, so there is nothing to know"
            return Verdict(holds=True, exact=True, reason=reason, checked=len(rows))
        most = np.array([s * self.h.numerator // self.h.denominator for s in range(len(rows) + 1)])
        shown = np.full((MOST_WITNESSES, 3), -1, dtype=np.int64)
        itemsets = np.full((MOST_WITNESSES, p), -1, dtype=np.int64)
        state = least_moles(
            split.public_offsets, split.public, len(split.public_numbers),
            split.secret_offsets, split.secrets, len(split.secret_numbers),
            0, len(split.public_numbers),
            self.k, most.astype(np.int64), p, self.work, shown, itemsets,
        )  # fmt: skip
        gave_up = bool(state[STEPS] > self.work)
        if state[FOUND]:
            return Verdict(
                holds=False,
                exact=True,  # one mole settles it, however many sets were not looked at
                reason=violation(int(state[FOUND]), int(state[SIZE]), gave_up=gave_up),
                checked=int(state[SETS]),
                witnesses=self.witnesses(
                    rows.names, split.public_numbers, split.secret_numbers, shown, itemsets
                ),
            )
        if found.doubts and self.h < 1:
            return Verdict(holds=False, exact=False, reason=found.doubt, checked=int(state[SETS]))
        return self.kept(int(state[SETS]), len(split.secret_numbers), gave_up=gave_up)

    def kept(self, sets: int, secrets: int, *, gave_up: bool) -> Verdict:
        """Return the verdict where none of so many sets is a mole and so many secrets occur."""
        reason = (
            f"none of {sets:,} sets of at most {self.p} public items gives anybody away; "
            f"{secrets:,} of {len(self.sensitive):,} sensitive items occur"
        )
        if gave_up:
            reason = (
                f"reading {self.work:,} places did not suffice to look at all sets of at most "
                f"{self.p} public items; none of {sets:,} gives anybody away. Raise work to go on"
            )
        return Verdict(holds=True, exact=not gave_up, reason=reason, checked=sets)

    def witnesses(
        self,
        names: Sequence[str],
        public_numbers: Sequence[int],
        secret_numbers: Sequence[int],
        shown: Int64Array,
        itemsets: Int64Array,
    ) -> tuple[Witness, ...]:
        """Return moles as the kernel lists them with the names of their items."""
        found = []
        for (support, secret, sharing), itemset in zip(
            shown.tolist(), itemsets.tolist(), strict=True
        ):
            if support < 0:
                break
            required = [f"at least {self.k}"] if support < self.k else []
            told = names[secret_numbers[secret]] if sharing > self.h * support else None
            if told is not None:
                required.append(
                    f"at most {share_as_json(self.h)} of them with {told!r}, not {sharing} "
                    f"of {support}"
                )
            numbers = sorted(public_numbers[i] for i in itemset if i >= 0)
            found.append(
                Witness(
                    items=tuple(names[i] for i in numbers),
                    support=support,
                    required="; also ".join(required),
                    consequent=told,
                    confidence=None if told is None else Fraction(sharing, support),
                )
            )
        return tuple(found)

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> Coherence(h=0.8, k=5, p=2, sensitive=["flu", "hiv"]).describe()
        'up to 2 public items ... fit 0 or at least 5 records, at most 0.8 of which share one ...'
        """
        items = "any public item" if self.p == 1 else f"up to {self.p} public items"
        fit = "fits" if self.p == 1 else "fit"
        said = f"{items} of a person {fit} 0 or at least {self.k} records"
        if not self.sensitive:
            return said
        number = len(self.sensitive)
        which = f"one of {number:,} sensitive items" if number > 1 else "the sensitive item"
        return f"{said}, at most {share_as_json(self.h)} of which share {which}"

    def by_hand(self) -> str:
        """Return how to check the promise in the exported tables, without setveil."""
        return (
            f"For each set of up to {self.p} items that are not sensitive and that some record of "
            "the table records holds, collect the records that hold all of it. There must be at "
            f"least {self.k}, and of these at most the share {share_as_json(self.h)} may hold the "
            "same sensitive item."
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

        >>> Coherence(h=0.8, k=5, p=2, sensitive=["hiv"]).unprotected()[0]
        'Someone who knows 3 or more items of a person may find a single record.'
        """
        said = []
        if longest is None or longest > self.p:
            said.append(
                f"Someone who knows {self.p + 1} or more items of a person may find a single "
                "record."
            )
        if self.sensitive:
            said.append(
                "Someone who already knows a sensitive item of a person may find a single record."
            )
            said.append(
                "A sensitive item may still be inferred with a certainty of up to "
                f"{share_as_json(self.h)}."
            )
        said.append("Items that you did not name as sensitive may be learned.")
        return tuple(said)

    def params(self) -> dict[str, Any]:
        """Return the parameters of the promise as JSON values; the bound on work is none."""
        return {
            "h": share_as_json(self.h),
            "k": self.k,
            "p": self.p,
            "sensitive": list(self.sensitive),
        }


@dataclass(frozen=True)
class _Split:
    """The public and the sensitive part of each record, with numbers of their own."""

    public_offsets: Int64Array
    public: Int32Array
    public_numbers: list[int]  # the published item behind each; the rarest first
    secret_offsets: Int64Array
    secrets: Int32Array
    secret_numbers: list[int]

    @classmethod
    def of(cls, found: ShownItems) -> _Split:
        rows = found.rows
        supports = rows.supports()
        secret = np.array(sorted(set(found.numbers.values())), dtype=np.int64)
        is_secret = np.zeros(len(supports), dtype=bool)
        # Neither is it public what only sensitive items can stand behind.
        is_secret[[*secret.tolist(), *found.closed]] = True
        # Sets that begin with a rare item have few records: the search stays small.
        public = np.argsort(supports, kind="stable")
        public = public[(supports[public] > 0) & ~is_secret[public]]
        return cls(
            *_renumbered(rows, public), public.tolist(), *_renumbered(rows, secret), secret.tolist()
        )

    @property
    def longest(self) -> int:
        return int(np.diff(self.public_offsets).max(initial=0))


def _renumbered(rows: PublishedRows, numbers: Int64Array) -> tuple[Int64Array, Int32Array]:
    """Return the rows with these items only, numbered by their places and sorted."""
    place = np.full(len(rows.names), -1, dtype=np.int64)
    place[numbers] = np.arange(len(numbers))
    own = place[rows.items]
    width = np.int64(max(len(numbers), 1))
    record = np.repeat(np.arange(len(rows), dtype=np.int64), rows.lengths)
    keys = np.sort(record[own >= 0] * width + own[own >= 0])
    offsets = kept_offsets(rows.offsets, own >= 0)
    return offsets.astype(np.int64), (keys % width).astype(np.int32)


def violation(number: int, size: int, *, gave_up: bool) -> str:
    """Say how many moles of the least size there are.

    >>> violation(1, 2, gave_up=False)
    '1 pair of public items is a mole; single items are not'
    """
    nouns = {1: "public item", 2: "pair of public items"}
    noun = nouns.get(size, f"set of {size} public items")
    if number > 1:
        head, _, tail = noun.partition(" of ")
        noun = f"{head}s of {tail}" if tail else f"{head}s"
    smaller = {1: "", 2: "; single items are not"}.get(size, "; smaller sets are not")
    least = "at least " if gave_up else ""
    return f"{least}{number:,} {noun} {'is a mole' if number == 1 else 'are moles'}{smaller}"
