"""Privacy degree: in every group, each sensitive item is held by at most one record in p."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.core.literature import GHINITA_2008
from setveil.core.params import count
from setveil.core.registry import register
from setveil.core.table import TransactionTable
from setveil.guarantee.base import MOST_WITNESSES, CheckedInParts, Verdict, Witness, items, parts_of
from setveil.release.grouped import fair_deal

if TYPE_CHECKING:
    from collections.abc import Collection

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.guarantee.base import Published
    from setveil.release.grouped import GroupedRelease

LARGEST = 2**62
"""A degree beyond this is beyond every number of records."""


@register(
    "guarantee",
    "privacy-degree",
    paper="Ghinita, Tao & Kalnis 2008",
    bibtex=GHINITA_2008,
)
@dataclass(frozen=True, kw_only=True)
class PrivacyDegree(CheckedInParts):
    """In every group, each sensitive item is held by at most one record in p.

    For every group G and every sensitive item s that f of its records hold, |G| / f is at
    least p. Whoever knows ordinary items of a person, even all of them, then finds the person's
    record in some group, and believes s of it with a chance of at most 1/p: all originals that
    the release allows are equally likely to those who know nothing more.

    It is re-derived from the records and the sensitive parts of the groups; a sensitive item
    that stands in a record itself is certain there, and breaks every p above 1. What a release
    shows apart is sensitive, whether it is named or not. Comparisons are in whole numbers.

    Where parts are dealt out to records, all originals are equally likely only if the deal says
    nothing. So it must be the one that follows from the groups themselves
    (:func:`~setveil.release.grouped.fair_deal`); of any other nobody can tell how it was chosen,
    and the verdict is not exact.

    Parameters
    ----------
    p
        The degree, a whole number.
    sensitive
        The items that must not be inferred, besides those that the release shows apart. Those
        that it does not show are named in the reason.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_grouped
    >>> table = TransactionTable.from_rows([["wine", "flu"], ["cream", "flu"], ["meat"]])
    >>> release, _ = publish_grouped(table, [0, 0, 0], ["flu"])
    >>> verdict = PrivacyDegree(p=2, sensitive=("flu",)).check(release)
    >>> verdict.holds, verdict.reason
    (False, '1 of 1 groups has a degree below 2, the worst 3/2: 2 of 3 records hold flu')
    >>> verdict.witnesses[0].consequent, verdict.witnesses[0].confidence
    ('flu', Fraction(2, 3))
    >>> PrivacyDegree(p=1, sensitive=("flu",)).check(release).holds
    True

    Notes
    -----
    The chance is 1/p for those who know *ordinary* items only. Where parts are published whole,
    who knows one sensitive item of a person may learn another one that stands in the same part.
    It is also for those who do not repeat the method: who does may rule out originals from which
    the same groups would not have come (docs/methods/cahd.md says how often).

    References
    ----------
    G. Ghinita, Y. Tao, P. Kalnis: On the Anonymization of Sparse High-Dimensional Data. ICDE 2008.
    """

    p: int = count(5, doc="least size of a group by an item's records in it")
    sensitive: tuple[str, ...] = items(doc="items that must not be inferred")

    def check(self, published: Published) -> Verdict:
        """Count each group's records and sensitive items; witnesses are the groups' worst items.

        The groups are looked at together: a deal of their parts follows from all of them.
        """
        parts = parts_of(published)
        if isinstance(parts.sample, TransactionTable):
            raise NotApplicable(
                "this promise is about records in groups",
                fix="ask it of releases that cahd, anatomy or permutation wrote",
            )
        groups = parts.sample.as_groups()
        if parts.room is not None:
            raise NotApplicable(
                "what is dealt to groups follows from all of them, so they are not cut into parts",
                fix="check it with --engine local",
            )
        return self._check_groups(groups)

    def _check_groups(self, published: GroupedRelease) -> Verdict:
        known = published.vocabulary
        asked = np.zeros(len(known), dtype=bool)
        asked[[known.number(name) for name in self.sensitive if name in known]] = True
        asked[published.part_items] = True
        bare = asked[published.items]
        if self.p > 1 and bare.any():
            return self._bare(published, published.items[bare])
        group, item, held = _counted(published, asked)
        sizes = published.sizes[group]
        # Divided, not multiplied: a product with a large p would not fit.
        low = np.flatnonzero(held > sizes // min(self.p, LARGEST))
        if len(low):
            order = sorted(
                low.tolist(), key=lambda i: (-Fraction(int(held[i]), int(sizes[i])), int(group[i]))
            )
            return self._low(published, group[order], item[order], held[order])
        shown = int(np.count_nonzero(np.bincount(item, minlength=1)))
        if published.dealt is not None and not np.array_equal(
            published.dealt, fair_deal(published)
        ):
            reason = (
                "not decided: the deal of the sensitive parts does not follow from the groups, so "
                "each part may stand beside the very record that it belongs to"
            )
            return Verdict(holds=False, exact=False, reason=reason, checked=len(published.sizes))
        named = int(np.count_nonzero(asked)) + len(self._unknown(published))
        reason = (
            f"in each of {len(published.sizes):,} groups at most one record in {self.p} holds any "
            f"sensitive item ({shown:,} of {named:,} occur{self._absent(published)})"
        )
        return Verdict(holds=True, exact=True, reason=reason, checked=len(published.sizes))

    def _absent(self, release: GroupedRelease) -> str:
        """Name items that were asked about and do not occur: they may be misspelt."""
        absent = self._unknown(release)
        if not absent:
            return ""
        more = f" and {len(absent) - MOST_WITNESSES:,} more" if len(absent) > MOST_WITNESSES else ""
        return f"; not in the release: {', '.join(absent[:MOST_WITNESSES])}{more}"

    def _unknown(self, release: GroupedRelease) -> list[str]:
        return [name for name in self.sensitive if name not in release.vocabulary]

    def _bare(self, release: GroupedRelease, items: Int32Array) -> Verdict:
        numbers, counts = np.unique(items, return_counts=True)
        names = [release.vocabulary[i] for i in numbers.tolist()]
        return Verdict(
            holds=False,
            exact=True,
            reason=f"records show {len(names):,} sensitive items themselves, the first {names[0]}",
            checked=len(release),
            witnesses=tuple(
                Witness(items=(name,), support=count, required="no record that shows it")
                for name, count in list(zip(names, counts.tolist(), strict=True))[:MOST_WITNESSES]
            ),
        )

    def _low(
        self, release: GroupedRelease, group: Int64Array, item: Int64Array, held: Int64Array
    ) -> Verdict:
        n_low, sizes = len(np.unique(group)), release.sizes[group]
        names = [release.vocabulary[i] for i in item[:MOST_WITNESSES].tolist()]
        rows = list(zip(names, group.tolist(), held.tolist(), sizes.tolist(), strict=False))[
            :MOST_WITNESSES
        ]
        name, _, f, n = rows[0]
        return Verdict(
            holds=False,
            exact=True,
            reason=f"{n_low:,} of {len(release.sizes):,} groups "
            f"{'has' if n_low == 1 else 'have'} a degree below {self.p}, the worst "
            f"{Fraction(n, f)}: {f:,} of {n:,} records hold {name}",
            checked=len(release.sizes),
            witnesses=tuple(
                Witness(
                    items=(),
                    support=n,
                    required=f"at most {n // self.p} with it in group {g}, not {f}",
                    consequent=name,
                    confidence=Fraction(f, n),
                )
                for name, g, f, n in rows
            ),
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> PrivacyDegree(p=4, sensitive=("flu", "gout")).describe()
        'in every group at most one record in 4 holds any one of 2 sensitive items'
        >>> PrivacyDegree(p=4, sensitive=()).describe()
        'no sensitive item is published, so none is linked to a record'
        """
        if not self.sensitive:
            return "no sensitive item is published, so none is linked to a record"
        return (
            f"in every group at most one record in {self.p} holds any one of "
            f"{len(self.sensitive):,} sensitive items"
        )

    def by_hand(self) -> str:
        """Return how to check the promise in the exported tables, without setveil."""
        return (
            "For each group, add up how many of its records hold each sensitive item. None may be "
            f"held by more than one record in {self.p} of the group."
        )

    def unprotected(
        self,
        shown: Collection[str] = (),
        longest: int | None = None,
    ) -> tuple[str, ...]:
        """Return what the promise leaves open, in sentences for the owner.

        >>> PrivacyDegree(p=4, sensitive=("flu",)).unprotected()[1]
        'A sensitive item may still be believed of a person with a chance of up to 1 in 4.'
        """
        said = [
            (
                "Ordinary items stay as they are: someone who knows a few items of a person may "
                "find the record and learn its other ordinary items."
            )
        ]
        if self.sensitive:
            said += [
                (
                    "A sensitive item may still be believed of a person with a chance of up to 1 "
                    f"in {self.p}."
                ),
                (
                    "Someone who knows sensitive items of other people in the group can rule these "
                    "people out."
                ),
            ]
        return tuple(said)

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values.

        >>> PrivacyDegree(p=4, sensitive=("flu",)).params()
        {'p': 4, 'sensitive': ['flu']}
        """
        return {"p": self.p, "sensitive": list(self.sensitive)}


def _counted(
    release: GroupedRelease, asked: np.typing.NDArray[np.bool_]
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return group, item and number of records for each asked item of a group's parts."""
    part = np.repeat(np.arange(len(release.counts)), np.diff(release.part_offsets))
    chosen = asked[release.part_items]
    part, item = part[chosen], release.part_items[chosen].astype(np.int64)
    width = np.int64(max(len(release.vocabulary), 1))
    pairs, place = np.unique(release.group_of_part[part] * width + item, return_inverse=True)
    held = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(held, place, release.counts[part])
    return pairs // width, pairs % width, held
