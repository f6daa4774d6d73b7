"""Coherence: suppress public items until none of their combinations gives anyone away."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import (
    MethodRole,
    check_enough,
    check_sensitive,
    rows_of_items,
    shorten_log,
    silent,
)
from setveil.anonymize.coherence.mole_kernels import COMPLETE, hit_all, minimal_moles
from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import InfeasibleError, InputError
from setveil.core.literature import XU_2008
from setveil.core.params import count, group_size, share
from setveil.core.registry import register
from setveil.core.words import share_as_json
from setveil.guarantee import coherence as promised
from setveil.release.base import Anonymization, Step
from setveil.release.suppressed import publish_suppressed

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

LIMIT = 5_000_000
"""How many minimal moles are held at once; where there are more, they are hit in several goes."""

WORK = 50_000_000_000
"""How many places of records one search for moles reads before it stops."""


@register(
    "anonymizer",
    "coherence",
    paper="Xu, Wang, Fu & Yu 2008",
    bibtex=XU_2008,
)
@dataclass(frozen=True, kw_only=True)
class Coherence:
    """Suppress public items everywhere until no small set of them is rare or tells a secret.

    A *mole* is a set of one to p public items that some record holds, but fewer than k do, or
    more than the share h of those that do hold one and the same sensitive item. First all items
    that are moles by themselves are suppressed. Then the minimal moles among the others are
    found, and the item that is in most of them per occurrence lost goes first, until none is
    left. Sensitive items are never touched. Since an item is suppressed in all records or in
    none, the support of every itemset that stays is that of the original.

    Parameters
    ----------
    h
        Greatest share of the records with a public itemset that may hold one sensitive item; a
        number from 0 to 1, or a text such as ``"4/5"``. Held as an exact fraction.
    k
        Least number of records with a public itemset.
    p
        Greatest number of public items someone may know of a person.

    Notes
    -----
    A set may be harmless and a larger one a mole, so the search leaves out what holds a mole and
    nothing else that could be one. It walks generators only (sets that no smaller set of the
    same records makes superfluous): whether a set is a mole depends on its records alone, so
    every minimal mole is a generator. Print describes a tree of moles; an index from items to
    moles does the same.

    Ties go to the item that comes first by name. Where there are more than five million minimal
    moles, those found first are hit, and the search starts again on what is left: suppression
    creates no moles, so the last, complete search proves the promise. The log says so.

    Examples
    --------
    Table 2.1 of the thesis that borrows the paper's example. x, y and z are rare by themselves;
    then d is in four minimal moles and two records, and b in three of the rest and three records:

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([
    ...     ["a", "c", "d", "f", "g", "Diabetes"], ["a", "b", "c", "f", "Hepatitis"],
    ...     ["b", "d", "f", "x", "Hepatitis"], ["b", "c", "g", "y", "z", "HIV"],
    ...     ["a", "c", "f", "g", "HIV"]])
    >>> result = Coherence(h=0.8, k=2, p=2).anonymize(
    ...     table, sensitive=["Diabetes", "Hepatitis", "HIV"])
    >>> [step.subject for step in result.log]
    ['x', 'y', 'z', 'd', 'b']
    >>> for row in result.release.to_rows():
    ...     print(*row)
    Diabetes a c f g
    HIV a c f g
    Hepatitis a c f
    HIV c g
    Hepatitis f

    References
    ----------
    Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu: Anonymizing transaction databases for publication,
    KDD 2008.
    """

    called: ClassVar[str] = "revealing items removed"
    role: ClassVar[MethodRole] = MethodRole(place=8)
    requires: ClassVar[frozenset[str]] = frozenset({"sensitive"})

    h: Fraction = share(
        Fraction(4, 5),
        doc="greatest share of records that may hold one sensitive item",
        ladder=(0.8, 0.5, 0.3, 0.1),
    )
    k: int = group_size(doc="least number of records")
    p: int = count(2, doc="greatest number of public items someone may know", ladder=(1, 2, 3))

    def anonymize(
        self,
        table: TransactionTable,
        *,
        sensitive: Iterable[str],
        engine: Engine | None = None,  # a mole's records may be anywhere
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the coherent release of `table`, its key and its promise."""
        check_enough(table, self.k)
        is_secret = sensitive_items(table, sensitive)
        supports = table.supports()
        keep = supports > 0
        log = self._notes(table, is_secret)
        n_public = int(np.count_nonzero(keep & ~is_secret))
        report = progress or silent
        complete = False
        while not complete:
            report("suppressing", n_public - int(np.count_nonzero(keep & ~is_secret)), n_public)
            offsets, moles, complete = self._moles(table, keep, is_secret)
            if not complete and len(offsets) == 1:
                raise InfeasibleError(
                    f"with p = {self.p} there are too many sets of public items to look at",
                    fix="use a smaller p",
                )
            keep[self._suppress(table, supports, offsets, moles, log)] = False
            if not complete:
                log.append(
                    Step(
                        action="search again",
                        subject=f"{np.count_nonzero(keep & ~is_secret):,} public items",
                        reason=f"there were more moles than could be listed; the first "
                        f"{len(offsets) - 1:,} are hit",
                    )
                )
        report("suppressing", n_public, n_public)
        release, key = publish_suppressed(table, keep)
        names = (table.vocabulary[i] for i in np.flatnonzero(is_secret).tolist())
        promise = promised.Coherence(h=self.h, k=self.k, p=self.p, sensitive=tuple(names))
        lost = (supports > 0) & ~keep
        return Anonymization(
            release=release,
            key=key,
            promise=promise,
            log=shorten_log(log),
            figures={
                "items_suppressed": int(np.count_nonzero(lost)),
                "occurrences_suppressed": int(supports[lost].sum()),
            },
        )

    def _notes(self, table: TransactionTable, is_secret: npt.NDArray[np.bool_]) -> list[Step]:
        """Say which sensitive items are more frequent among all records than h allows."""
        supports = table.supports()
        return [
            Step(
                action="warn",
                subject=table.vocabulary[i],
                reason=f"{supports[i]:,} of {len(table):,} records hold this sensitive item, more "
                f"than the share {share_as_json(self.h)}: no suppression of public items hides it",
            )
            for i in np.flatnonzero(is_secret).tolist()
            if int(supports[i]) > self.h * len(table)
        ]

    def _moles(
        self,
        table: TransactionTable,
        keep: npt.NDArray[np.bool_],
        is_secret: npt.NDArray[np.bool_],
    ) -> tuple[Int64Array, Int64Array, bool]:
        """Return the minimal moles of the kept items, and whether these are all."""
        # Rare items first: sets that begin with one have few records.
        supports = table.supports()
        public = np.argsort(supports, kind="stable")
        public = public[(keep & ~is_secret)[public]]
        offsets, items = rows_of_items(table, public)
        secret_numbers = np.flatnonzero(is_secret)
        secret_offsets, secrets = rows_of_items(table, secret_numbers)
        p = min(self.p, int(np.diff(offsets).max(initial=0)))
        if p == 0:
            return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), True
        shares = (s * self.h.numerator // self.h.denominator for s in range(len(table) + 1))
        mole_offsets, moles, state = minimal_moles(
            offsets, items, len(public), secret_offsets, secrets, len(secret_numbers),
            self.k, np.fromiter(shares, dtype=np.int64), p, len(public), LIMIT, WORK,
        )  # fmt: skip
        return mole_offsets, public[moles], state == COMPLETE

    def _suppress(
        self,
        table: TransactionTable,
        supports: Int64Array,
        offsets: Int64Array,
        moles: Int64Array,
        log: list[Step],
    ) -> Int64Array:
        """Choose what to suppress and say why; single moles first, by name."""
        single = np.diff(offsets) == 1
        alone = np.sort(moles[offsets[:-1][single]])
        for i in alone.tolist():
            rare = supports[i] < self.k
            log.append(
                Step(
                    action="suppress",
                    subject=table.vocabulary[i],
                    reason=f"only {supports[i]:,} records hold it"
                    if rare
                    else f"more than {share_as_json(self.h)} of its records share a secret",
                    cost=float(supports[i]),
                )
            )
        lengths = np.diff(offsets)[~single]
        others = moles[np.repeat(~single, np.diff(offsets))]
        chosen, gains = hit_all(offsets_of(lengths), others, supports)
        for i, gain in zip(chosen.tolist(), gains.tolist(), strict=True):
            log.append(
                Step(
                    action="suppress",
                    subject=table.vocabulary[i],
                    reason=f"{gain:,} of the combinations left that give people away contain it",
                    cost=float(supports[i]),
                )
            )
        return np.concatenate([alone, chosen])


def sensitive_items(table: TransactionTable, sensitive: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Return which items of the vocabulary are sensitive, or say what is wrong with the list.

    >>> from setveil import TransactionTable
    >>> sensitive_items(TransactionTable.from_rows([["flu", "hiv"]]), ["hiv"]).tolist()
    [False, True]
    """
    names = check_sensitive(table, sensitive)
    known = table.vocabulary
    is_secret = np.zeros(len(known), dtype=bool)
    is_secret[[known.number(name) for name in names]] = True
    if not np.any((table.supports() > 0) & ~is_secret):
        raise InputError(
            "all items of the data are sensitive, so there is no public item to suppress",
            fix="name as sensitive only what must not be learned from the other items",
        )
    return is_secret
