"""What a release shows, and what became of every original item.

:class:`Content` looks at a release as a stranger sees it. :class:`Account` compares it with the
original through the key: what stays, what is coarser, what is gone; for the owner's eyes only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import distinct_in_rows
from setveil.core.words import join_names, join_parts, number, one_or_many, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from setveil.core.arrays import Int64Array
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key, Release
    from setveil.release.generalized import GeneralizedRelease

REMOVED = "(removed)"
CODE = "(code)"
ENTRY = "one item of one record"
MEMBERS = 3
"""Members of a set of items that are named."""
NAMED = 3
"""Items that a sentence names."""
ADDED = 3
"""Invented items that an example names."""

Flags = npt.NDArray[np.bool_]


MOSTLY = 0.5
"""The share of roots from which on a reader is told of them."""
NOTHING = "This release shows only how many records it has: it publishes no item."


class Content(NamedTuple):
    """What a release shows of its items.

    Parameters
    ----------
    sentence
        What a reader must know of it; "" where items are shown in the usual way.
    bare
        Whether it says nothing at all about which items a record has.
    root_share
        The share of the published items that are the root of the taxonomy; None for forms
        without one.
    """

    sentence: str = ""
    bare: bool = False
    root_share: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the content as JSON values; the sentence is None where there is none."""
        return self._asdict() | {"sentence": self.sentence or None}


def content_of_items(items: Release) -> Content:
    """Return what a distributed release shows, where that is nothing; other shares are unknown.

    Parameters
    ----------
    items
        A release of the same form with each published item alone in a record.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.suppressed import publish_suppressed
    >>> alone, _ = publish_suppressed(TransactionTable.from_rows([["flu"]]), [True])
    >>> content_of_items(alone).bare
    False
    """
    if not len(items):
        return Content(NOTHING, bare=True)
    found = items.content()
    return found if found.bare or found.root_share == 0 else Content()


class ChangedTerms(NamedTuple):
    """A small table of what changed most, with its title and the words that explain it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    how: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Account:
    """What a release did with each item that occurs in the original.

    Parameters
    ----------
    names, records
        The items, and how many original records hold each.
    kept
        In how many of these records the release shows the item itself.
    coarser
        In how many it shows only something wider: a group, a code, a list without counts.
    gone
        In how many it shows nothing of the item.
    became
        For each item what became of it, in a few words.
    headline
        One sentence for the owner.
    stays, coarse, lost
        Sentences about what stays, becomes coarser, is gone; "" where there is no such item.
    computable
        Sentences about what a recipient can still count.
    treat
        Tells how the release shows a record with some items: as lines of text.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.suppressed import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu"], ["flu", "hiv"], ["flu"]])
    >>> release, key = publish_suppressed(table, [True, False])
    >>> account = release.account(table, key)
    >>> account.headline
    'Keeps the one item that at least 3 records share as it is and removes the other one.'
    >>> account.treat(["flu", "hiv"])
    ['flu', '(removed)']
    """

    names: tuple[str, ...]
    records: Int64Array
    kept: Int64Array
    coarser: Int64Array
    gone: Int64Array
    became: tuple[str, ...]
    headline: str
    stays: str = ""
    coarse: str = ""
    lost: str = ""
    computable: tuple[str, ...] = ()
    treat: Callable[[Sequence[str]], list[str]] = field(default=list)

    def affected(self, most: int = 10) -> list[tuple[str, int, str]]:
        """Return the items that changed in most records, with their records and what they became.

        They are ordered by the number of records that hold them.
        """
        changed = self.coarser + self.gone
        first = np.argsort(-changed, kind="stable")[:most]
        first = first[changed[first] > 0]
        ordered = first[np.argsort(-self.records[first], kind="stable")].tolist()
        return [(self.names[i], int(self.records[i]), self.became[i]) for i in ordered]


@dataclass(frozen=True, kw_only=True, eq=False)
class Occurrences:
    """The original records without repetitions, in the order of the published ones.

    Parameters
    ----------
    items
        Numbers of the items that occur, ascending.
    names, records
        Their names, and how many records hold each.
    row
        For each entry (one item of one record) the published record.
    place
        For each entry the place of its item in `items`.
    original, key
        The table, and which of its records stands behind which published one.
    """

    items: Int64Array
    names: tuple[str, ...]
    records: Int64Array
    row: Int64Array
    place: Int64Array
    original: TransactionTable
    key: Key

    @classmethod
    def of(cls, original: TransactionTable, key: Key) -> Occurrences:
        """Return the entries of a table; records that the key does not name come last."""
        offsets, numbers = distinct_in_rows(original.offsets, original.items)
        supports = np.bincount(numbers, minlength=original.n_items)
        items = np.flatnonzero(supports)
        place = np.zeros(original.n_items, dtype=np.int64)
        place[items] = np.arange(len(items))
        row_of = np.full(len(original), len(key), dtype=np.int64)
        if not key.parts:
            row_of[key.records] = np.arange(len(key))
        return cls(
            items=items,
            names=tuple(original.vocabulary[i] for i in items.tolist()),
            records=supports[items],
            row=np.repeat(row_of, np.diff(offsets)),
            place=place[numbers],
            original=original,
            key=key,
        )

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.row)

    def counted(self, chosen: Int64Array) -> Int64Array:
        """Return for each item how many of some entries, named by their places, are its own."""
        return np.bincount(self.place[chosen], minlength=len(self.items))

    def among(self, names: Container[str]) -> Flags:
        """Return which of the items bear one of these names."""
        return np.array([name in names for name in self.names], dtype=bool)

    def account(
        self,
        *,
        kept: Flags | Int64Array,
        coarser: Flags | Int64Array | int = 0,
        gone: Flags | Int64Array | int = 0,
        computable: Iterable[str],
        **said: Any,
    ) -> Account:
        """Return an account of the items: in how many records each is kept, coarser and gone.

        Flags stand for all records of an item or none. Empty sentences are left out.
        """
        counts = [
            self.records * each if np.asarray(each).dtype == bool else each + 0 * self.records
            for each in (kept, coarser, gone)
        ]
        return Account(
            names=self.names,
            records=self.records,
            kept=counts[0],
            coarser=counts[1],
            gone=counts[2],
            computable=tuple(filter(None, computable)),
            **said,
        )


# --- one image for every item -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class GlobalRecoding:
    """One image for each item that occurs: global recoding, and what is like it.

    Parameters
    ----------
    found
        The original entries.
    shown
        What is published in place of each item: its own name, a wider one, "" for nothing.
    exact
        Whether that stands for the item and no other.
    wider
        What something is called that stands for several items, and several of these.
    emptied
        How many records lost all their items.
    k
        The promised number of records, if there is one.
    """

    found: Occurrences
    shown: tuple[str, ...]
    exact: Flags
    wider: tuple[str, str] = ("broader term", "broader terms")
    emptied: int = 0
    k: int | None = None

    def account(self) -> Account:
        """Return what became of every item."""
        exact = self.exact
        gone = np.array([not text for text in self.shown], dtype=bool)
        wide = ~exact & ~gone
        image = dict(zip(self.found.names, self.shown, strict=True))
        return self.found.account(
            kept=exact,
            coarser=wide,
            gone=gone,
            became=tuple(
                "stays as it is" if same else f"shown as {text!r}" if text else "removed"
                for same, text in zip(exact.tolist(), self.shown, strict=True)
            ),
            headline=self._headline(exact, wide, gone),
            stays=items_that_stay(self.found, exact),
            coarse=self._coarse(wide),
            lost=items_removed(self.found, gone) + left_empty(self.emptied, self.found),
            computable=self._computable(exact, wide, gone),
            treat=lambda items: [image.get(item) or REMOVED for item in items],
        )

    def _headline(self, exact: Flags, wide: Flags, gone: Flags) -> str:
        stays, broader, removed = (int(np.count_nonzero(each)) for each in (exact, wide, gone))
        if not broader:
            return kept_and_removed(self.found, exact, gone, self.k)
        most = int(np.argmax(np.where(wide, self.found.records, -1)))
        example = f"({self.found.names[most]!r} → {self.shown[most]!r})"
        parts = [
            f"Keeps {plural(stays, 'item')} as {one_or_many(stays, 'it is', 'they are')}"
            if stays
            else "Keeps no item as it is",
            (
                f"{number(broader)} {one_or_many(broader, 'is', 'are')} replaced by "
                f"{one_or_many(broader, f'a {self.wider[0]}', self.wider[1])} {example}"
            ),
        ]
        if removed:
            rare = support_cut(self.found, exact | wide, gone, self.k) is not None
            which = f"the {number(removed)} rarest" if rare else number(removed)
            parts.append(f"{which} {one_or_many(removed, 'is', 'are')} removed")
        return "; ".join(parts) + "."

    def _coarse(self, wide: Flags) -> str:
        count = int(np.count_nonzero(wide))
        if not count:
            return ""
        labels = Counter(text for text, flag in zip(self.shown, wide, strict=True) if flag)
        are = one_or_many(count, "is", "are")
        label, members = max(labels.items(), key=lambda each: (each[1], each[0]))
        if len(labels) == 1:
            return f"{plural(count, 'item')} {are} shown only as {label!r}."
        return (
            f"{plural(count, 'item')} {are} shown only as one of "
            f"{plural(len(labels), *self.wider)}; the widest, {label!r}, takes the place of "
            f"{number(members)}."
        )

    def _computable(self, exact: Flags, wide: Flags, gone: Flags) -> tuple[str, ...]:
        limit = (
            "An upper limit for each item that was replaced: the number of records that show "
            f"its {self.wider[0]}."
        )
        return (
            exact_counts(int(np.count_nonzero(exact))),
            limit if wide.any() else "",
            no_counts(int(np.count_nonzero(gone))),
        )


# --- items of a taxonomy ----------------------------------------------------------------------


def climb_to(
    tree: Taxonomy, leaves: Int64Array, wanted: Int64Array, rows: Int64Array | None = None
) -> Int64Array:
    """Return for each leaf the lowest node at or above it that is wanted, or -1.

    With `rows`, `wanted` holds record and node in one number, and each leaf asks for its record's.
    """
    width = 0 if rows is None else len(tree)
    image = np.full(len(leaves), -1, dtype=np.int64)
    here, node = np.arange(len(leaves)), leaves.astype(np.int64)
    while len(here) and len(wanted):
        asked = node if rows is None else rows[here] * width + node
        place = np.minimum(np.searchsorted(wanted, asked), len(wanted) - 1)
        met = wanted[place] == asked
        image[here[met]] = node[met]
        up = tree.parents[node].astype(np.int64)
        climbs = ~met & (node > 0)
        here, node = here[climbs], up[climbs]
    return image


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalRecoding:
    """Records that are generalized each in its own way: an item may have several images.

    Parameters
    ----------
    release, tree, found
        What is told about.
    image
        For each original entry the lowest published node above it in its record, or -1.
    """

    release: GeneralizedRelease
    tree: Taxonomy
    found: Occurrences
    image: Int64Array

    @property
    def is_bag(self) -> bool:
        """Whether a published node stands for one item, so that others below it were removed."""
        return self.release.hides and not self.release.whole

    def account(self) -> Account:
        """Return what became of every item."""
        found, image = self.found, self.image
        same = (image >= 0) & (self.tree.leaves[image] == 1)
        kept = found.counted(np.flatnonzero(same))
        coarser = found.counted(np.flatnonzero((image >= 0) & ~same))
        gone = found.counted(np.flatnonzero(image < 0))
        commonest, several = self._commonest_images(same)
        became = tuple(
            self._became(*each)
            for each in zip(
                kept.tolist(), coarser.tolist(), gone.tolist(), commonest, several, strict=True
            )
        )
        return found.account(
            kept=kept,
            coarser=coarser,
            gone=gone,
            became=became,
            **self._sentences(kept, coarser, commonest),
            treat=self._treatment(kept, coarser, gone, commonest),
        )

    def _commonest_images(self, same: Flags) -> tuple[list[str], list[bool]]:
        """Return for each item its commonest wider image, and whether it has several."""
        width = np.int64(len(self.tree))
        wide = (self.image >= 0) & ~same
        pairs, times = np.unique(
            self.found.place[wide] * width + self.image[wide], return_counts=True
        )
        names, several = [""] * len(self.found.names), [False] * len(self.found.names)
        for at in np.argsort(times, kind="stable").tolist():  # the commonest is written last
            item, node = divmod(int(pairs[at]), int(width))
            several[item] = bool(names[item])
            names[item] = self.tree.names[node]
        return names, several

    def _became(self, kept: int, coarser: int, gone: int, image: str, several: bool) -> str:
        if not coarser + gone:
            return "stays as it is"
        if not kept + coarser:
            return "removed"
        wide = f"as a broader term, mostly {image!r}" if several else f"as {image!r}"
        if self.is_bag:
            wide += ", or not at all"
        if not kept + gone:
            return f"shown {wide}"
        parts = [
            f"as it is in {plural(kept, 'record')}" if kept else "",
            f"{wide}, in {number(coarser)}" if coarser else "",
            f"removed in {number(gone)}" if gone else "",
        ]
        return "; ".join(filter(None, parts))

    def _totals(self, kept: Int64Array, coarser: Int64Array) -> tuple[int, int, int]:
        """Return how many entries stay, become broader and are removed."""
        stay, broader = int(kept.sum()), int(coarser.sum())
        if self.is_bag:
            leaves = self.release.tree.leaves[self.release.nodes]
            broader = int(np.count_nonzero(leaves > 1))
        return stay, broader, len(self.found) - stay - broader

    def _sentences(
        self, kept: Int64Array, coarser: Int64Array, images: list[str]
    ) -> dict[str, Any]:
        stay, broader, removed = self._totals(kept, coarser)
        entries = f"{plural(len(self.found), 'entry', 'entries')} ({ENTRY})"
        parts = [f"{number(stay)} {one_or_many(stay, 'stays as it is', 'stay as they are')}"]
        if broader:
            most = int(np.argmax(coarser))
            parts.append(
                f"{number(broader)} {one_or_many(broader, 'becomes', 'become')} broader terms "
                f"({self.found.names[most]!r} → {images[most]!r})"
            )
        if removed:
            parts.append(f"{number(removed)} {one_or_many(removed, 'is', 'are')} removed")
        copies = least_size(self.release.distinct.copies)
        opening = (
            f"Makes similar records equal, at least {copies} at a time: of" if copies > 1 else "Of"
        )
        everywhere = int(np.count_nonzero(kept == self.found.records))
        never = int(np.count_nonzero(kept + coarser == 0))
        terms = np.unique(self.image[self.image >= 0])
        wider = int(np.count_nonzero(self.tree.leaves[terms] > 1))
        emptied = count_emptied(self.release.offsets, self.found.original)
        return {
            "headline": f"{opening} {entries}, {join_parts(parts)}.",
            "stays": f"{number(stay)} of {plural(len(self.found), 'entry', 'entries')} "
            f"{one_or_many(stay, 'stays as it is', 'stay as they are')}; {count_items(everywhere)} "
            f"{one_or_many(everywhere or 1, 'does', 'do')} so in every record."
            if stay
            else "",
            "coarse": entries_that(broader, f"shown as one of {plural(wider, 'broader term')}."),
            "lost": entries_that(
                removed,
                f"removed; {count_items(never)} {one_or_many(never or 1, 'is', 'are')} removed "
                f"from every record.{left_empty(emptied, self.found)}",
            ),
            "computable": (self._limits(),),
        }

    def _limits(self) -> str:
        if self.release.hides:
            return (
                "A lower limit for each item: the records that show the item itself. How many more "
                "hold it stays open, because items were removed from some records only."
            )
        return (
            "Two limits for each item: at least the records that show the item itself, at most "
            "those that show it or a broader term for it."
        )

    def _treatment(
        self, kept: Int64Array, coarser: Int64Array, gone: Int64Array, images: list[str]
    ) -> Callable[[Sequence[str]], list[str]]:
        """Return what shows of each item what is shown of it most often."""
        usual = np.argmax(np.stack([kept, coarser, gone]), axis=0).tolist()
        shown = {
            name: (name, wide, REMOVED)[what]
            for name, wide, what in zip(self.found.names, images, usual, strict=True)
        }
        return lambda items: [shown.get(item, REMOVED) for item in items]


# --- sentences --------------------------------------------------------------------------------


def kept_and_removed(found: Occurrences, exact: Flags, gone: Flags, k: int | None) -> str:
    """Tell what stays and what is removed, and whether the number of records decides it."""
    stays, removed = int(np.count_nonzero(exact)), int(np.count_nonzero(gone))
    if not len(found.names):
        return "There is no item in the data: only the number of records is published."
    if not removed:
        return f"Keeps all {plural(stays, 'item')} as they are."
    if not stays:
        return f"Removes all {plural(removed, 'item')}: only the number of records is left."
    cut = support_cut(found, exact, gone, k)
    others = one_or_many(removed, "one", number(removed))
    are = one_or_many(stays, "it is", "they are")
    if cut is None:
        return f"Keeps {plural(stays, 'item')} as {are} and removes the other {others}."
    share = one_or_many(stays, "one item", f"{number(stays)} items")
    return (
        f"Keeps the {share} that at least {plural(cut, 'record')} "
        f"{one_or_many(cut, 'holds', 'share')} as {are} and removes the other {others}."
    )


def support_cut(found: Occurrences, shown: Flags, gone: Flags, k: int | None) -> int | None:
    """Return the number of records that separates shown items from others, if one does.

    Where the promised number does, it is the one.
    """
    if not shown.any() or not gone.any():
        return None
    least, most = int(found.records[shown].min()), int(found.records[gone].max())
    if most >= least:
        return None
    return k if k is not None and most < k <= least else least


def _commonest(found: Occurrences, chosen: Flags) -> list[str]:
    """Return the chosen items that most records hold, by name among equals."""
    places = np.flatnonzero(chosen)
    first = places[np.argsort(-found.records[places], kind="stable")][:NAMED]
    return [found.names[i] for i in first.tolist()]


def items_that_stay(found: Occurrences, chosen: Flags) -> str:
    """Return which items stay as they are, in a sentence; "" for none."""
    count = int(np.count_nonzero(chosen))
    often = join_names(_commonest(found, chosen))
    if count > NAMED:
        return f"{plural(count, 'item')} stay as they are, most often {often}."
    stay = one_or_many(count, "stays as it is", "stay as they are")
    return f"{often} {stay}." if count else ""


def items_removed(found: Occurrences, chosen: Flags) -> str:
    """Return which items are removed everywhere, in a sentence; "" for none."""
    count = int(np.count_nonzero(chosen))
    often = join_names(_commonest(found, chosen))
    if count > NAMED:
        return f"{plural(count, 'item')} are removed from every record, most often {often}."
    return f"{often} {one_or_many(count, 'is', 'are')} removed from every record." if count else ""


def count_emptied(offsets: Int64Array, original: TransactionTable) -> int:
    """Return how many records lost all their items."""
    return int(np.count_nonzero(np.diff(offsets) == 0) - np.count_nonzero(original.lengths == 0))


def left_empty(emptied: int, found: Occurrences) -> str:
    """Return how many records lost everything, in a sentence; "" for none."""
    if not emptied:
        return ""
    of_all = f"{number(emptied)} of {plural(len(found.original), 'record')}"
    return f" {of_all} {one_or_many(emptied, 'is', 'are')} left without any item."


def exact_counts(count: int) -> str:
    """Return what can be counted exactly, in a sentence; "" for nothing."""
    if count < 2:
        return "Exactly: counts of the item that stays." if count else ""
    return f"Exactly: counts of the {number(count)} items that stay, alone or in any combination."


def no_counts(count: int) -> str:
    """Return that nothing is said of removed items, in a sentence; "" for none."""
    return f"Nothing about the {plural(count, 'removed item')}." if count else ""


def entries_that(count: int, what: str) -> str:
    """Return what became of some entries, in a sentence without its end; "" for none.

    >>> entries_that(1, "removed"), entries_that(0, "removed")
    ('1 entry is removed', '')
    """
    are = one_or_many(count, "is", "are")
    return f"{plural(count, 'entry', 'entries')} {are} {what}" if count else ""


def least_size(sizes: Int64Array) -> int:
    """Return the least of some sizes; 0 where there are none."""
    return int(sizes.min()) if len(sizes) else 0


def count_items(count: int) -> str:
    """Return a number of items in words."""
    return "no item" if not count else plural(count, "item")
