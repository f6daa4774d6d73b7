"""(h, k, p)-coherence: what someone knows of a person leads to k records and to no secret."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.core.literature import XU_2008
from setveil.core.params import count, share
from setveil.core.registry import register
from setveil.core.words import share_as_json
from setveil.guarantee.base import MOST_WITNESSES, HidesAmongK, Verdict, Witness, items
from setveil.guarantee.itemset_search import count_totals, rank_items, search_sets
from setveil.guarantee.shown_items import shown_items

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from setveil.core.arrays import Int64Array
    from setveil.guarantee.base import Published
    from setveil.guarantee.itemset_search import SearchRows


@register(
    "guarantee",
    "coherence",
    paper="Xu, Wang, Fu & Yu 2008",
    bibtex=XU_2008,
)
@dataclass(frozen=True, kw_only=True)
class Coherence(HidesAmongK):
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

    def check(self, published: Published) -> Verdict:
        """Look for moles; the witnesses are the smallest, the rarest of them first."""
        found = shown_items(published, self.sensitive)
        totals = count_totals(found.parts)
        secrets = np.array(sorted(set(found.numbers.values())), dtype=np.int64)
        # Neither is it public what only sensitive items can stand behind.
        closed = np.array(sorted(found.closed), dtype=np.int64)
        public = rank_items(totals.supports, np.concatenate([secrets, closed]))
        if not len(public):
            reason = "no record has a public item, so there is nothing to know"
            return Verdict(holds=True, exact=True, reason=reason, checked=totals.records)
        beside = np.full(len(totals.supports), -1, dtype=np.int64)
        beside[secrets] = np.arange(len(secrets))
        look = partial(_find_moles, promise=self, n_public=len(public), n_secrets=len(secrets))
        groups = search_sets(found.parts, public, look, beside=beside)
        checked = sum(group.sets for group in groups)
        gave_up = any(group.gave_up for group in groups)
        least = min((group.size for group in groups if group.number), default=0)
        if least:
            same = [group for group in groups if group.number and group.size == least]
            worst = sorted((mole for group in same for mole in group.worst), key=Mole.rank)
            names = found.parts.sample.names
            return Verdict(
                holds=False,
                exact=True,  # one mole settles it, however many sets were not looked at
                reason=violation(sum(group.number for group in same), least, gave_up=gave_up),
                checked=checked,
                witnesses=tuple(
                    self._witness(names, public, secrets, mole) for mole in worst[:MOST_WITNESSES]
                ),
            )
        if found.doubts and self.h < 1:
            return Verdict(holds=False, exact=False, reason=found.doubt, checked=checked)
        reason = (
            f"none of {checked:,} sets of at most {self.p} public items gives anybody away; "
            f"{len(secrets):,} of {len(self.sensitive):,} sensitive items occur"
        )
        if gave_up:
            reason = (
                f"reading {self.work:,} places did not suffice to look at all sets of at most "
                f"{self.p} public items; none of {checked:,} gives anybody away. Raise work to "
                "go on"
            )
        return Verdict(holds=True, exact=not gave_up, reason=reason, checked=checked)

    def _witness(
        self, names: Sequence[str], public: Int64Array, secrets: Int64Array, mole: Mole
    ) -> Witness:
        """Return a mole with the names of its items."""
        required = [f"at least {self.k}"] if mole.support < self.k else []
        told = names[secrets[mole.secret]] if mole.sharing > self.h * mole.support else None
        if told is not None:
            required.append(
                f"at most {share_as_json(self.h)} of them with {told!r}, not {mole.sharing} "
                f"of {mole.support}"
            )
        return Witness(
            items=tuple(names[i] for i in sorted(public[list(mole.itemset)].tolist())),
            support=mole.support,
            required="; also ".join(required),
            consequent=told,
            confidence=None if told is None else Fraction(mole.sharing, mole.support),
        )

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


class Mole(NamedTuple):
    """A set of public items that tells too much, by ranks.

    Of the `support` records that hold it, `sharing` hold the most frequent secret.
    """

    support: int
    secret: int
    sharing: int
    itemset: tuple[int, ...]

    def rank(self) -> tuple[int, int, tuple[int, ...]]:
        """Return what sorts moles: the rarest first, then the most certain."""
        return self.support, -self.sharing, self.itemset


class Moles(NamedTuple):
    """The moles of the least size in a group, and how far it was searched."""

    size: int
    number: int
    sets: int
    gave_up: bool
    worst: list[Mole]


def _find_moles(
    rows: SearchRows, roots: tuple[int, int], promise: Coherence, n_public: int, n_secrets: int
) -> Moles:
    """Look for moles that begin with one of a range of ranks."""
    # Here, so that guarantees can be named and built without waiting for numba.
    from setveil.guarantee.coherence_kernels import FOUND, SETS, SIZE, STEPS, least_moles

    share = promise.h
    p = min(promise.p, int(np.diff(rows.offsets).max()))
    most = [s * share.numerator // share.denominator for s in range(len(rows.offsets))]
    shown = np.full((MOST_WITNESSES, 3), -1, dtype=np.int64)
    itemsets = np.full((MOST_WITNESSES, p), -1, dtype=np.int64)
    state = least_moles(
        rows.offsets, rows.items, n_public, rows.beside_offsets, rows.beside, n_secrets,
        *roots, promise.k, np.array(most, dtype=np.int64), p, promise.work, shown, itemsets,
    )  # fmt: skip
    size = int(state[SIZE])
    worst = [
        Mole(support, secret, sharing, tuple(itemset[:size]))
        for (support, secret, sharing), itemset in zip(
            shown.tolist(), itemsets.tolist(), strict=True
        )
        if support >= 0
    ]
    gave_up = bool(state[STEPS] > promise.work)
    return Moles(size, int(state[FOUND]), int(state[SETS]), gave_up, worst)


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
